/* The pipeline: every reply goes to whoever asked, nobody hangs, and a caller leaves when its time ends. */
#include "base/clock.h"
#include "redis/connector.h"
#include "redis/pipeline.h"
#include "tests/redis/caller.h"
#include "tests/support/counted.h"
#include "tests/support/fake.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 24 };

#define PATIENT_NS INT64_C(30000000000)

static void
start(void)
{
	start_server();
	counted_start();
}

GROUP(start, stop_server);

/* A connected stream, by the library's own way of connecting. */
static struct lsh_stream
connect_to(const char *to)
{
	struct lsh_uri parsed;
	struct lsh_connector *connector;
	struct lsh_hello hello = {.stream = LSH_NO_STREAM};
	enum lsh_progress progress;
	leash_error err;

	assert_int_equal(lsh_uri_parse(&parsed, to, &err), LEASH_OK);
	connector = lsh_connector_new(&parsed, LSH_WANT_SERVER, "test", NULL);
	assert_non_null(connector);
	lsh_connector_start(connector, lsh_now_ns() + PATIENT_NS);
	while ((progress = lsh_connector_step(connector, &hello, &err)) == LSH_WAIT) {
		int64_t deadline = LSH_NEVER;
		struct pollfd polled;

		lsh_connector_poll(connector, &polled, &deadline);
		poll(&polled, 1, 1000);
	}
	assert_int_equal(progress, LSH_DONE);
	lsh_connector_free(connector);
	lsh_uri_clear(&parsed);
	return hello.stream;
}

static struct line *
line_to(const char *to, int send_buffer)
{
	struct line *line = line_start();
	struct lsh_stream stream = connect_to(to);

	if (send_buffer > 0)
		setsockopt(stream.fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
	line_attach(line, stream);
	return line;
}

/* Another connection in the place of the one before. */
static void
connect_anew(struct line *line, const char *to)
{
	struct lsh_stream stream = line_detach(line);

	lsh_stream_close(&stream);
	line_attach(line, connect_to(to));
}

/* ECHO id, padded: its outcome, or LEFT. */
static int
echo(struct line *line, const char *id, size_t padding, int64_t deadline, int64_t patience)
{
	static const char spaces[60001] = {' '};
	struct lsh_arg args[] = {LSH_ARG("EVAL"), LSH_ARG("return ARGV[1]"), LSH_ARG("0"), lsh_arg_text(id), {spaces, padding}};
	struct command *command = command_new(line, id);
	unsigned long calls = atomic_load(&line->calls);
	enum lsh_appended appended;
	int outcome = LSH_UNSENT;

	while ((appended = command_append(command, args, 5, patience)) == LSH_PIPELINE_FULL) {
		lsh_pipeline_flush(line->pipeline);
		while (atomic_load(&line->calls) == calls)
			usleep(100);
		calls = atomic_load(&line->calls);
	}
	if (appended == LSH_APPENDED)
		outcome = command_await(command, deadline);
	command_drop(command);
	return outcome;
}

static enum lsh_appended
append_ping(struct command *command)
{
	struct lsh_arg ping[] = {LSH_ARG("PING")};

	return command_append(command, ping, 1, PATIENT_NS);
}

/* A PING that is appended. */
static struct command *
ping(struct line *line, const char *expected)
{
	struct command *command = command_new(line, expected);

	assert_int_equal(append_ping(command), LSH_APPENDED);
	return command;
}

struct caller {
	struct line *line;
	int n;
	int64_t end;
	bool leaves;
	size_t padding;
	uint64_t outcomes[OUTCOMES];
	int64_t latest; /* past its deadline */
	pthread_t thread;
};

static void *
call(void *arg)
{
	struct caller *c = arg;
	unsigned seed = (unsigned)c->n;

	for (int i = 0; lsh_now_ns() < c->end; i++) {
		bool hasty = c->leaves && rand_r(&seed) % 3 == 0;
		int64_t now = lsh_now_ns(), deadline = hasty ? now + 20000 + rand_r(&seed) % 400000 : LSH_NEVER;
		size_t padding = c->padding > 0 && rand_r(&seed) % 20 == 0 ? (size_t)rand_r(&seed) % c->padding : 0;
		char id[24];
		int outcome;

		snprintf(id, sizeof id, "%d.%d", c->n, i);
		outcome = echo(c->line, id, padding, deadline, PATIENT_NS);
		c->outcomes[outcome]++;
		if (outcome == LEFT && lsh_now_ns() - deadline > c->latest)
			c->latest = lsh_now_ns() - deadline;
		if (outcome == LSH_UNSENT || outcome == LSH_UNKNOWN)
			break;
	}
	return NULL;
}

static void
run_callers(struct line *line, struct caller *callers, int seconds, bool leaves, size_t padding)
{
	for (int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){.line = line, .n = i, .end = lsh_now_ns() + seconds * LSH_S, .leaves = leaves, .padding = padding};
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	}
}

static struct caller
join_callers(struct caller *callers)
{
	struct caller sum = {0};

	for (int i = 0; i < THREADS; i++) {
		pthread_join(callers[i].thread, NULL);
		for (int k = 0; k < OUTCOMES; k++)
			sum.outcomes[k] += callers[i].outcomes[k];
		sum.latest = callers[i].latest > sum.latest ? callers[i].latest : sum.latest;
	}
	printf("# %llu answered, %llu left (at most %.2f ms late), %llu unsent, %llu unknown\n", (unsigned long long)sum.outcomes[LSH_ANSWERED],
	       (unsigned long long)sum.outcomes[LEFT], (double)sum.latest / 1e6, (unsigned long long)sum.outcomes[LSH_UNSENT],
	       (unsigned long long)sum.outcomes[LSH_UNKNOWN]);
	return sum;
}

SENTENCE(every_answer_goes_to_whoever_asked_though_callers_leave_and_the_server_stutters)
{
	struct line *line = line_to(server_uri(server), 8192);
	struct caller callers[THREADS], sum;

	/* a small send buffer and long commands, so that writes are partial */
	run_callers(line, callers, 4, true, 60000);
	for (int i = 0; i < 20; i++) {
		await_ms(150);
		server_pause(server);
		await_ms(3);
		server_resume(server);
	}
	sum = join_callers(callers);
	assert_int_equal(sum.outcomes[LSH_UNSENT] + sum.outcomes[LSH_UNKNOWN], 0);
	assert_true(sum.outcomes[LEFT] > 0);
	assert_true(sum.outcomes[LSH_ANSWERED] > 100);
	await_true(line->answered == sum.outcomes[LSH_ANSWERED] + sum.outcomes[LEFT]);
	line_stop(line);
}

SENTENCE(a_broken_connection_ends_every_caller)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	for (int round = 0; round < 5; round++) {
		struct line *line = line_to(proxy_uri(proxy), 0);
		struct caller callers[THREADS], sum;

		run_callers(line, callers, 600, round % 2 == 0, 0);
		await_ms(100);
		if (round % 2 == 0)
			proxy_reset_all(proxy);
		else
			lsh_pipeline_break(line->pipeline, 0);
		sum = join_callers(callers);
			assert_int_equal(sum.outcomes[LSH_UNSENT] + sum.outcomes[LSH_UNKNOWN], THREADS);
		line_stop(line);
	}
	proxy_stop(proxy);
}

SENTENCE(a_command_that_is_overdue_breaks_the_connection_for_all)
{
	struct line *line = line_to(server_uri(server), 0);
	unsigned long before = atomic_load(&line->calls);

	server_pause(server);
	assert_int_equal(echo(line, "late", 0, LSH_NEVER, 50 * LSH_MS), LSH_UNKNOWN);
	assert_true(atomic_load(&line->calls) > before);
	assert_false(lsh_pipeline_is_up(line->pipeline));
	assert_int_equal(echo(line, "later", 0, LSH_NEVER, PATIENT_NS), LSH_UNSENT);
	server_resume(server);
	line_stop(line);
}

SENTENCE(what_was_left_is_read_by_the_pipes_own_thread)
{
	struct line *line = line_to(server_uri(server), 0);
	struct command *command = command_new(line, "PONG");

	server_pause(server);
	for (int i = 0; i < 10; i++)
		assert_int_equal(echo(line, "gone", 0, lsh_now_ns() + 5 * LSH_MS, PATIENT_NS), LEFT);
	assert_int_equal(line->answered, 0);
	server_resume(server);
	await_true(line->answered == 10);
	assert_int_equal(echo(line, "there", 0, LSH_NEVER, PATIENT_NS), LSH_ANSWERED);
	/* and what nobody was to read for */
	command->ticket.reader = NULL;
	assert_int_equal(append_ping(command), LSH_APPENDED);
	await_true(line->answered == 12);
	command_drop(command);
	line_stop(line);
}

struct echo {
	struct line *line;
	int64_t within; /* LSH_NEVER: as long as it takes */
	int outcome;
	pthread_t thread;
};

static void *
echo_once(void *arg)
{
	struct echo *e = arg;

	e->outcome = echo(e->line, "once", 0, e->within == LSH_NEVER ? LSH_NEVER : lsh_now_ns() + e->within, PATIENT_NS);
	return NULL;
}

/* Whoever reads leaves while two answers are on their way: of a thread that does not come, and of one that sleeps. */
SENTENCE(nobody_waits_for_a_thread_that_was_to_read_and_does_not_come)
{
	struct line *line = line_to(server_uri(server), 0);
	struct command *absent;
	struct echo reads = {.line = line, .within = 300 * LSH_MS}, sleeps = {.line = line, .within = LSH_NEVER};

	server_pause(server);
	absent = ping(line, "PONG");
	pthread_create(&reads.thread, NULL, echo_once, &reads);
	await_true(line->appended == 2);
	usleep(50000);
	pthread_create(&sleeps.thread, NULL, echo_once, &sleeps);
	pthread_join(reads.thread, NULL);
	server_resume(server);
	pthread_join(sleeps.thread, NULL);
	assert_int_equal(sleeps.outcome, LSH_ANSWERED);
	await_true(line->answered == 3);
	command_drop(absent);
	line_stop(line);
}

/* ---- one thread, which has the other end of the connection, too ---- */

static int times_told; /* the keeper */

static void
note_news(void *keeper)
{
	(void)keeper;
	times_told++;
}

/* A pipeline without a thread of its own. `*peer` is the other end. */
static struct line
line_to_peer(int *peer)
{
	struct line line = {.pipeline = lsh_pipeline_new(note_news, NULL)};
	int fds[2];

	assert_non_null(line.pipeline);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	*peer = fds[1];
	line_attach(&line, (struct lsh_stream){.fd = fds[0]});
	return line;
}

static void
end_line(struct line *line)
{
	struct lsh_stream stream = line_detach(line);

	lsh_stream_close(&stream);
	assert_int_equal(line->ended, line->appended);
	assert_int_equal(line->wrong, 0);
	lsh_pipeline_free(line->pipeline);
}

/* Somebody whose mutex is held while it ends its call. */
enum { CALLS = 32, FIRST_WRITE = 16 }; /* at which answer the reader writes what was appended meanwhile */

static struct {
	struct command *commands[CALLS];
	bool has_mutex;
	int told, told_under_mutex;
} ends;

static void
append_another(struct command *command)
{

	ends.told++;
	command->arg = ping(command->line, "PONG");
}

static void
end_another(struct command *command)
{
	struct lsh_ticket *next = &ends.commands[FIRST_WRITE]->ticket;

	ends.told++;
	assert_false(lsh_pipeline_is_up(command->line->pipeline)); /* what was appended could not be written */
	ends.has_mutex = true;
	lsh_pipeline_leave(command->line->pipeline, next->epoch, next->number);
	ends.has_mutex = false;
}

static void
note_told(struct command *command)
{
	(void)command;
	ends.told++;
	ends.told_under_mutex += ends.has_mutex;
}

/* They may need the mutex of whoever ends its call. */
SENTENCE(who_ends_its_call_with_a_mutex_held_tells_nobody_of_a_broken_connection)
{
	char bytes[CALLS * 14];
	int peer;
	struct line line = line_to_peer(&peer);

	for (int i = 0; i < CALLS; i++) {
		ends.commands[i] = ping(&line, "PONG"); /* which goes at the flush */
		ends.commands[i]->then = i == 0 ? append_another : i == FIRST_WRITE - 1 ? end_another : note_told;
	}
	lsh_pipeline_flush(line.pipeline);
	assert_int_equal(recv(peer, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes);
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(send(peer, "+PONG\r\n", 7, 0), 7);
	close(peer); /* what it has said arrives, and nothing can be said to it */
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(command_await(ends.commands[i], LSH_NEVER), i < FIRST_WRITE ? LSH_ANSWERED : LSH_UNKNOWN);
	assert_int_equal(ends.told, CALLS);
	assert_int_equal(ends.told_under_mutex, 0);
	command_drop(ends.commands[0]->arg);
	for (int i = 0; i < CALLS; i++)
		command_drop(ends.commands[i]);
	end_line(&line);
}

SENTENCE(who_breaks_the_connection_itself_does_not_sleep_on)
{
	int64_t deadline = lsh_now_ns() + 10 * LSH_S;
	int peer;
	struct line line = line_to_peer(&peer);
	struct command *command = ping(&line, "");

	lsh_pipeline_flush(line.pipeline);
	assert_int_equal(send(peer, "HTTP/1.1\r\n", 10, 0), 10);
	assert_int_equal(command_await(command, deadline), LSH_GARBLED);
	assert_true(lsh_now_ns() < deadline - 6 * LSH_S); /* whoever sleeps looks again by itself every 5 s */
	command_drop(command);
	close(peer);
	end_line(&line);
}

SENTENCE(a_connection_that_was_just_made_is_not_silent)
{
	int64_t before = lsh_now_ns();
	int peer;
	struct line line = line_to_peer(&peer);
	struct command *command = ping(&line, "PONG");

	lsh_pipeline_flush(line.pipeline);
	lsh_pipeline_break_if_silent(line.pipeline, before);
	assert_int_equal(send(peer, "+PONG\r\n", 7, MSG_NOSIGNAL), 7);
	assert_int_equal(command_await(command, LSH_NEVER), LSH_ANSWERED);
	command_drop(command);
	close(peer);
	end_line(&line);
}

SENTENCE(the_keeper_is_told_once_of_a_pipe_that_grew)
{
	enum { MORE = 65, SIZE = 7 }; /* than a pipe has room for at first */
	struct command *sent[MORE];
	char pongs[MORE * SIZE];
	int peer;
	struct line line = line_to_peer(&peer);

	times_told = 0;
	for (int i = 0; i < MORE; i++)
		memcpy(pongs + i * SIZE, "+PONG\r\n", SIZE);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < MORE; i++)
			sent[i] = ping(&line, "PONG");
		lsh_pipeline_flush(line.pipeline);
		assert_int_equal(send(peer, pongs, sizeof pongs, 0), sizeof pongs);
		assert_int_equal(command_await(sent[MORE - 1], LSH_NEVER), LSH_ANSWERED);
		for (int i = 0; i < MORE; i++)
			command_drop(sent[i]);
		assert_int_equal(times_told, 1 + round / 2);
		if (round % 2 == 1) /* it becomes small again, and grows anew */
			assert_int_equal(lsh_pipeline_shrink(line.pipeline, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
	close(peer);
	end_line(&line);
}

SENTENCE(a_command_for_another_connection_is_not_sent)
{
	struct line *line = line_to(server_uri(server), 0);
	struct command *command = command_new(line, "PONG");

	command->ticket.epoch = lsh_pipeline_epoch(line->pipeline);
	connect_anew(line, server_uri(server));
	assert_int_equal(append_ping(command), LSH_PIPELINE_DOWN);
	command->ticket.epoch = lsh_pipeline_epoch(line->pipeline);
	assert_int_equal(append_ping(command), LSH_APPENDED);
	assert_int_equal(command_await(command, LSH_NEVER), LSH_ANSWERED);
	command_drop(command);
	line_stop(line);
}

/* Append PINGs, as many as it takes before any is answered, and no more than `most`. */
static size_t
say_many(struct line *line, struct command **commands, size_t most)
{
	size_t n = 0;

	server_pause(server);
	for (; n < most; n++) {
		commands[n] = command_new(line, "PONG");
		if (append_ping(commands[n]) != LSH_APPENDED) {
			command_drop(commands[n]);
			break;
		}
	}
	server_resume(server);
	return n;
}

static void
await_answers(struct command **commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(command_await(commands[i], LSH_NEVER), LSH_ANSWERED);
		command_drop(commands[i]);
	}
}

enum { FEW = 64, MANY = 4096 };

static struct command *commands[MANY + 1];

SENTENCE(a_full_pipe_takes_no_more_until_there_is_room)
{
	struct line *line = line_to(server_uri(server), 0);
	unsigned long calls;

	assert_int_equal(say_many(line, commands, MANY + 1), MANY);
	calls = line->calls;
	await_answers(commands, MANY);
	assert_true(line->calls > calls);
	assert_int_equal(say_many(line, commands, 1), 1);
	await_answers(commands, 1);
	line_stop(line);
}

SENTENCE(a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is)
{
	struct line *line = line_to(server_uri(server), 0);

	for (int round = 0; round < 3; round++) {
		unsigned long calls;

		counted.calls = 0;
		counted.fail_at = 1;
		counted.fail_on = true;
		assert_int_equal(say_many(line, commands, MANY), FEW);
		calls = line->calls;
		await_answers(commands, FEW);
		assert_true(line->calls > calls);
		assert_true(counted.calls > 0);
		counted.fail_at = 0;
		counted.fail_on = false;
	}
	assert_int_equal(say_many(line, commands, MANY), MANY);
	await_answers(commands, MANY);
	line_stop(line);
}

SENTENCE(a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken)
{
	struct line *line = line_to(server_uri(server), 0);
	int64_t before = counted.bytes;
	struct lsh_stream stream;

	for (int round = 0; round < 3; round++) {
		unsigned long calls;
		int64_t at;

		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
		assert_int_equal(say_many(line, commands, 1), 1);
		await_answers(commands, 1);
		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
		assert_true(counted.bytes == before);
		calls = line->calls;
		assert_int_equal(say_many(line, commands, MANY), MANY);
		await_answers(commands, MANY);
		assert_true(line->calls > calls);
		assert_true(counted.bytes > before + 60000);
		if (round == 2)
			break;
		at = lsh_pipeline_shrink(line->pipeline, lsh_now_ns());
		assert_true(at != LSH_NEVER && counted.bytes > before + 60000);
		assert_int_equal(say_many(line, commands, 1), 1);
		assert_true(lsh_pipeline_shrink(line->pipeline, at) > at); /* it is not quiet */
		await_answers(commands, 1);
		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
	stream = line_detach(line);
	assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
	assert_true(counted.bytes == before);
	lsh_stream_close(&stream);
	line_stop(line);
}

SENTENCE(no_two_connections_have_the_same_epoch)
{
	struct line *one = line_to(server_uri(server), 0), *other = line_to(server_uri(server), 0);
	uint64_t first = lsh_pipeline_epoch(one->pipeline), second = lsh_pipeline_epoch(other->pipeline);

	assert_true(first != 0 && second > first);
	assert_int_equal(lsh_pipeline_connects(one->pipeline), 1);
	lsh_pipeline_break(one->pipeline, second); /* not its own */
	assert_true(lsh_pipeline_is_up(one->pipeline));
	lsh_pipeline_break(one->pipeline, first);
	assert_false(lsh_pipeline_is_up(one->pipeline));
	connect_anew(one, server_uri(server));
	assert_true(lsh_pipeline_epoch(one->pipeline) > second);
	assert_int_equal(lsh_pipeline_connects(one->pipeline), 2);
	assert_int_equal(lsh_pipeline_connects(other->pipeline), 1);
	line_stop(one);
	line_stop(other);
}

/* ---- ASKING ---- */

static size_t
answer_asking(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	return fake_is(argc, argv, argl, 0, "ASKING") ? fake_say(out, size, "-ERR nobody hears this\r\n") : FAKE_DEFAULT;
}

struct asker {
	struct line *line;
	bool asks;
	uint64_t wrong;
	pthread_t thread;
};

enum { ASKS = 300, ASKERS = 6 };

static void *
ask(void *arg)
{
	struct asker *a = arg;
	const char *text = a->asks ? "asked" : "plain";
	struct lsh_arg args[] = {LSH_ARG("ECHO"), lsh_arg_text(text)};

	for (int i = 0; i < ASKS; i++) {
		struct command *command = command_new(a->line, text);

		command->ticket.asking = a->asks;
		a->wrong += command_append(command, args, 2, PATIENT_NS) != LSH_APPENDED || command_await(command, LSH_NEVER) != LSH_ANSWERED;
		command_drop(command);
	}
	return NULL;
}

SENTENCE(nothing_comes_between_an_asking_and_its_command)
{
	struct fake *fake = fake_start(answer_asking, NULL);
	struct line *line = line_to(fake_uri(fake), 0);
	struct asker askers[ASKERS] = {{0}};
	size_t begun = fake_count(fake, NULL), asked = 0;
	bool asking = false;

	for (int i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){.line = line, .asks = i % 2 == 0};
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
	}
	for (int i = 0; i < ASKERS; i++) {
		pthread_join(askers[i].thread, NULL);
		assert_int_equal(askers[i].wrong, 0);
	}
	for (size_t i = begun; i < fake_count(fake, NULL); i++) {
		char *command = fake_command(fake, i);

		assert_int_equal(strcmp(command, "ECHO asked") == 0, asking);
		asked += asking;
		asking = strcmp(command, "ASKING") == 0;
		free(command);
	}
	assert_int_equal(asked, ASKS * ASKERS / 2);
	line_stop(line);
	fake_stop(fake);
}

SENTENCE(an_asking_goes_with_its_command_or_not_at_all)
{
	struct line *line = line_to(server_uri(server), 0);

	for (size_t i = 0; i <= MANY; i++)
		commands[i] = command_new(line, "PONG");
	for (size_t i = 0; i < MANY - 1; i++)
		assert_int_equal(append_ping(commands[i]), LSH_APPENDED);
	/* there is room for one */
	commands[MANY - 1]->ticket.asking = commands[MANY]->ticket.asking = true;
	assert_int_equal(append_ping(commands[MANY - 1]), LSH_PIPELINE_FULL);
	commands[MANY - 1]->ticket.asking = false;
	assert_int_equal(append_ping(commands[MANY - 1]), LSH_APPENDED);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(command_await(commands[i], LSH_NEVER), LSH_ANSWERED);
	assert_int_equal(lsh_pipeline_commands(line->pipeline), MANY);
	/* of a connection that is gone nothing is appended */
	commands[MANY]->ticket.epoch = lsh_pipeline_epoch(line->pipeline) + 1;
	assert_int_equal(append_ping(commands[MANY]), LSH_PIPELINE_DOWN);
	commands[MANY]->ticket.epoch = 0;
	assert_int_equal(append_ping(commands[MANY]), LSH_APPENDED);
	assert_int_equal(command_await(commands[MANY], LSH_NEVER), LSH_ANSWERED);
	assert_int_equal(lsh_pipeline_commands(line->pipeline), MANY + 2);
	line_stop(line);
	for (size_t i = 0; i <= MANY; i++)
		command_drop(commands[i]);
}

/* Nothing is permitted but to be sent elsewhere; "hello" is served all the same, and "here" is refused. */
static size_t
answer_without_asking(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	if (fake_is(argc, argv, argl, 0, "ASKING"))
		return fake_say(out, size, "-NOPERM User locks has no permissions to run the 'asking' command\r\n");
	if (!fake_is(argc, argv, argl, 0, "GET"))
		return FAKE_DEFAULT;
	if (fake_is(argc, argv, argl, 1, "hello"))
		return fake_say(out, size, "$5\r\nhello\r\n");
	return fake_say(out, size, fake_is(argc, argv, argl, 1, "here") ? "-OOM no\r\n" : "-MOVED 7 127.0.0.1:7\r\n");
}

static void
check_get(struct line *line, const char *key, bool asking, const char *expected)
{
	struct command *command = command_new(line, "");
	struct lsh_arg get[] = {LSH_ARG("GET"), lsh_arg_text(key)};

	command->ticket.asking = asking;
	assert_int_equal(command_append(command, get, 2, PATIENT_NS), LSH_APPENDED);
	assert_int_equal(command_await(command, LSH_NEVER), LSH_ANSWERED);
	if (strncmp(command->text, expected, strlen(expected)) != 0)
		fail_msg("%s: %s", key, command->text);
	command_drop(command);
}

SENTENCE(who_is_sent_elsewhere_because_asking_was_refused_is_told_that)
{
	struct fake *fake = fake_start(answer_without_asking, NULL);
	struct line *line = line_to(fake_uri(fake), 0);

	check_get(line, "away", true, "NOPERM User locks has no permissions to run the 'asking' command");
	check_get(line, "away", false, "MOVED 7"); /* nor is it told of one that was before */
	check_get(line, "hello", true, "hello");
	check_get(line, "here", true, "OOM");
	check_get(line, "away", true, "NOPERM");
	line_stop(line);
	fake_stop(fake);
}
