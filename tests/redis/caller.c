#include "tests/redis/caller.h"
#include "tests/support/test.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"

#include <inttypes.h>
#include <sys/socket.h>

static void
tell(void *keeper)
{
	struct line *line = keeper;
	struct lsh_parker *parker = line->parker;

	line->calls++;
	line->called = true;
	if (parker != NULL)
		lsh_unpark(parker);
}

static bool
is_called(void *line)
{
	return ((struct line *)line)->called || ((struct line *)line)->ending;
}

static void *
serve(void *arg)
{
	struct line *line = arg;
	struct lsh_parker *parker = &lsh_self()->parker;

	line->parker = parker;
	while (!line->ending) {
		line->called = false;
		lsh_pipeline_serve(line->pipeline, parker, is_called, line);
		while (!is_called(line))
			lsh_park(parker, LSH_NEVER);
	}
	return NULL;
}

struct line *
line_new(bool has_thread)
{
	struct line *line = calloc(1, sizeof *line);

	line->pipeline = lsh_pipeline_new(tell, line);
	assert_non_null(line->pipeline);
	if (has_thread) {
		assert_int_equal(pthread_create(&line->thread, NULL, serve, line), 0);
		await_true(line->parker != NULL);
	}
	return line;
}

int
line_attach(struct line *line, bool cramped)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	if (cramped)
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	assert_true(lsh_pipeline_attach(line->pipeline, (struct lsh_stream){.fd = fds[0]}));
	line->attached = true;
	return fds[1];
}

void
line_cut(struct line *line)
{
	struct lsh_stream stream;

	lsh_pipeline_break(line->pipeline, 0);
	await_true((stream = lsh_pipeline_detach(line->pipeline)).fd >= 0);
	line->attached = false;
	lsh_stream_close(&stream);
}

void
line_stop(struct line *line)
{
	if (line->attached)
		line_cut(line);
	await_true(line->ended == line->appended);
	line->ending = true;
	if (line->parker != NULL) {
		lsh_unpark(line->parker);
		pthread_join(line->thread, NULL);
	}
	assert_int_equal(line->ended, line->appended);
	assert_int_equal(line->wrong, 0);
	lsh_pipeline_free(line->pipeline);
	free(line);
}

/* ---- commands ---- */

const char *const outcome_names[OUTCOMES] = {"answered", "unsent", "unknown", "garbled", "left"};

static void
ended(struct lsh_ticket *ticket, enum lsh_outcome outcome, const struct lsh_message *message)
{
	struct command *command = lsh_container(ticket, struct command, ticket);
	struct line *line = command->line;
	struct lsh_parker *parker = command->parker;
	const struct lsh_item *item = message != NULL && message->count > 0 ? &message->item[0] : NULL;

	command->outcome = outcome;
	if (item != NULL && item->type == LSH_INTEGER)
		snprintf(command->text, sizeof command->text, "%" PRId64, item->integer);
	else if (item != NULL && item->type != LSH_NIL)
		snprintf(command->text, sizeof command->text, "%s", item->text);
	line->wrong += command->over || (outcome == LSH_ANSWERED) != (message != NULL) ||
	               (message != NULL && command->expected[0] != '\0' && strcmp(command->text, command->expected) != 0);
	if (command->then != NULL)
		command->then(command);
	command->over = true;
	if (parker != &lsh_self()->parker) /* a thread does not wake itself, as in the library */
		lsh_unpark(parker);
	command_drop(command);
	line->answered += outcome == LSH_ANSWERED;
	line->ended++;
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
	command->uses = 1;
	return command;
}

enum lsh_appended
command_append(struct command *command, const char *word, int64_t patience)
{
	struct line *line = command->line;
	struct lsh_arg arg = lsh_arg_text(word);

	/* in front of the append, behind which it may have ended */
	command->uses++;
	line->appended++;
	enum lsh_appended is = lsh_pipeline_append(line->pipeline, &command->ticket, &arg, 1, lsh_now_ns(), patience);
	if (is != LSH_APPENDED) {
		line->appended--;
		command->uses--;
	}
	return is;
}

static bool
is_over(void *command)
{
	return ((struct command *)command)->over;
}

int
command_await(struct command *command, int64_t deadline)
{
	struct lsh_pipeline *pipeline = command->line->pipeline;
	const struct lsh_ticket *ticket = &command->ticket;

	lsh_pipeline_wait(pipeline, &lsh_self()->parker, ticket->epoch, ticket->number, is_over, command, deadline);
	return command->over ? (int)command->outcome : LEFT;
}

void
command_drop(struct command *command)
{
	if (command->uses-- == 1)
		free(command);
}
