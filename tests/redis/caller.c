#include "tests/redis/caller.h"
#include "tests/support/test.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"

#include <inttypes.h>
#include <sys/socket.h>

/* ---- lines ---- */

static void
tell(void *keeper)
{
	struct line *line = keeper;
	struct lsh_parker *parker = atomic_load(&line->parker);

	atomic_fetch_add(&line->calls, 1);
	atomic_store(&line->called, true);
	if (parker != NULL)
		lsh_unpark(parker);
}

static bool
is_called(void *arg)
{
	const struct line *line = arg;

	return atomic_load(&line->called) || atomic_load(&line->ending);
}

static void *
serve(void *arg)
{
	struct line *line = arg;
	struct lsh_parker *parker = &lsh_self()->parker;

	atomic_store(&line->parker, parker);
	while (!atomic_load(&line->ending)) {
		atomic_store(&line->called, false);
		lsh_pipeline_serve(line->pipeline, parker, is_called, line);
		while (!is_called(line))
			lsh_park(parker, LSH_NEVER);
	}
	return NULL;
}

struct line *
line_new(void)
{
	struct line *line = calloc(1, sizeof *line);

	assert_non_null(line);
	line->pipeline = lsh_pipeline_new(tell, line);
	assert_non_null(line->pipeline);
	return line;
}

struct line *
line_start(void)
{
	struct line *line = line_new();

	assert_int_equal(pthread_create(&line->thread, NULL, serve, line), 0);
	await_true(atomic_load(&line->parker) != NULL);
	return line;
}

void
line_attach(struct line *line, struct lsh_stream stream)
{
	assert_true(lsh_pipeline_attach(line->pipeline, stream));
	line->attached = true;
}

struct lsh_stream
line_detach(struct line *line)
{
	struct lsh_stream stream;

	lsh_pipeline_break(line->pipeline, 0);
	await_true((stream = lsh_pipeline_detach(line->pipeline)).fd >= 0);
	line->attached = false;
	return stream;
}

int
line_attach_pair(struct line *line, bool cramped)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	if (cramped)
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	line_attach(line, (struct lsh_stream){.fd = fds[0]});
	return fds[1];
}

void
line_cut(struct line *line)
{
	struct lsh_stream stream = line_detach(line);

	lsh_stream_close(&stream);
}

void
line_stop(struct line *line)
{
	if (line->attached)
		line_cut(line);
	await_true(atomic_load(&line->ended) == atomic_load(&line->appended));
	if (atomic_load(&line->parker) != NULL) {
		atomic_store(&line->ending, true);
		lsh_unpark(atomic_load(&line->parker));
		pthread_join(line->thread, NULL);
	}
	assert_int_equal(atomic_load(&line->ended), atomic_load(&line->appended));
	assert_int_equal(atomic_load(&line->wrong), 0);
	lsh_pipeline_free(line->pipeline);
	free(line);
}

/* ---- commands ---- */

const char *const outcome_names[OUTCOMES] = {"answered", "unsent", "unknown", "garbled", "left"};

static void
keep(struct command *command, const struct lsh_message *message)
{
	const struct lsh_item *item = &message->item[0];

	if (message->count == 0)
		return;
	if (item->type == LSH_INTEGER)
		snprintf(command->text, sizeof command->text, "%" PRId64, item->integer);
	else if (item->type != LSH_NIL)
		snprintf(command->text, sizeof command->text, "%s", item->text);
}

static void
ended(struct lsh_ticket *ticket, enum lsh_outcome outcome, const struct lsh_message *message)
{
	struct command *command = lsh_container(ticket, struct command, ticket);
	struct line *line = command->line;
	struct lsh_parker *parker = command->parker;

	command->outcome = outcome;
	if (outcome == LSH_ANSWERED)
		keep(command, message);
	if (atomic_load(&command->over) || (outcome == LSH_ANSWERED) != (message != NULL) ||
	    (outcome == LSH_ANSWERED && command->expected[0] != '\0' && strcmp(command->text, command->expected) != 0))
		atomic_fetch_add(&line->wrong, 1);
	if (command->then != NULL)
		command->then(command);
	atomic_store(&command->over, true);
	if (parker != &lsh_self()->parker) /* a thread does not wake itself, as in the library */
		lsh_unpark(parker);
	command_drop(command);
	atomic_fetch_add(&line->answered, outcome == LSH_ANSWERED);
	atomic_fetch_add(&line->ended, 1);
}

struct command *
command_new(struct line *line, const char *expected)
{
	struct command *command = calloc(1, sizeof *command);

	if (command == NULL)
		abort(); /* a test fails on its own thread only */
	command->line = line;
	command->parker = &lsh_self()->parker;
	command->ticket.done = ended;
	command->ticket.reader = command->parker;
	snprintf(command->expected, sizeof command->expected, "%s", expected);
	atomic_init(&command->uses, 1);
	return command;
}

enum lsh_appended
command_append(struct command *command, const struct lsh_arg *args, size_t count, int64_t patience)
{
	enum lsh_appended appended;

	/* in front of the append, behind which it may have ended */
	atomic_fetch_add(&command->uses, 1);
	atomic_fetch_add(&command->line->appended, 1);
	appended = lsh_pipeline_append(command->line->pipeline, &command->ticket, args, count, lsh_now_ns(), patience);
	if (appended != LSH_APPENDED) {
		atomic_fetch_sub(&command->line->appended, 1);
		atomic_fetch_sub(&command->uses, 1);
	}
	return appended;
}

static bool
is_over(void *arg)
{
	const struct command *command = arg;

	return atomic_load(&command->over);
}

int
command_await(struct command *command, int64_t deadline)
{
	const struct lsh_ticket *ticket = &command->ticket;

	lsh_pipeline_wait(command->line->pipeline, &lsh_self()->parker, ticket->epoch, ticket->number, is_over, command, deadline);
	return is_over(command) ? (int)command->outcome : LEFT;
}

void
command_drop(struct command *command)
{
	if (atomic_fetch_sub(&command->uses, 1) == 1)
		free(command);
}
