/* A pipeline: what is appended, sent and answered, how many there is room for, and what becomes of it when a connection
 * breaks and another follows. Those who wait at one, and who reads for them: test_pipeline_waits.c.
 *
 * This thread has the other end of the connection, too, and nobody else is there:
 *
 *     ping [asking, old or new]   is said, for the old or the new connection alone: yes, down or full
 *     reattach                    to a new connection
 *     far BYTES                   are said by the other end; heard: for the ping, or what became of it
 *     break_if_silent             since before it was made new */
#include "base/clock.h"
#include "base/thread.h"
#include "tests/redis/caller.h"
#include "tests/redis/scenes.h"
#include "tests/support/counted.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

GROUP(counted_start, NULL);

enum { FEW = 64, MANY = 4096, PONG = 7 }; /* commands that a pipe has room for, at first and at most; bytes */

static struct line *line;
static int far;            /* the other end */
static uint64_t old_epoch; /* of the connection before */
static int64_t before_ns;  /* a moment when there was none */

static void
detach_far(void)
{
	line_cut(line);
	close(far);
}

static void
reattach_pair(void)
{
	old_epoch = lsh_pipeline_epoch(line->pipeline);
	detach_far();
	before_ns = lsh_now_ns();
	far = line_attach_pair(line, false);
}

/* A pipeline without a thread of its own. */
static void
begin(void)
{
	line = line_new();
	far = line_attach_pair(line, false);
}

static void
end(void)
{
	line_stop(line);
	close(far);
}

FIXTURE(begin, end);

static enum lsh_appended
append_ping(struct command *command)
{
	struct lsh_arg ping[] = {LSH_ARG("PING")};

	return command_append(command, ping, 1, PATIENT_NS);
}

/* A PING that is appended. */
static struct command *
ping(const char *expected)
{
	struct command *command = command_new(line, expected);

	assert_int_equal(append_ping(command), LSH_APPENDED);
	return command;
}

static void
far_says(const char *bytes)
{
	assert_int_equal(send(far, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
}

static void
far_hears_all(void)
{
	char bytes[65536];

	lsh_pipeline_flush(line->pipeline);
	while (recv(far, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
		;
}

static struct command *pinged;

VERB(ping)
{
	struct command *command = command_new(line, "");

	command->ticket.asking = strcmp(word[1], "asking") == 0;
	if (strcmp(word[1], "old") == 0 || strcmp(word[1], "new") == 0)
		command->ticket.epoch = word[1][0] == 'o' ? old_epoch : lsh_pipeline_epoch(line->pipeline);
	enum lsh_appended appended = append_ping(command);
	if (appended == LSH_APPENDED)
		pinged = command;
	else
		command_drop(command);
	far_hears_all();
	return appended == LSH_APPENDED ? "yes" : appended == LSH_PIPELINE_FULL ? "full" : "down";
}

VERB(heard)
{
	int outcome = command_await(pinged, lsh_now_ns() + 30 * LSH_S);
	const char *is = outcome == LSH_ANSWERED ? seen("%s", pinged->text) : outcome_names[outcome];

	command_drop(pinged);
	return is;
}

DOES(far, far_says(word[1]))
DOES(reattach, reattach_pair())
DOES(break_if_silent, lsh_pipeline_break_if_silent(line->pipeline, before_ns))

/* They are answered, and end. */
static void
answer_pings(struct command **commands, size_t n)
{
	char pongs[MANY * PONG];

	far_hears_all();
	for (size_t i = 0; i < n; i++)
		memcpy(pongs + i * PONG, "+PONG\r\n", PONG);
	assert_int_equal(send(far, pongs, n * PONG, MSG_NOSIGNAL), n * PONG);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(command_await(commands[i], LSH_NEVER), LSH_ANSWERED);
		command_drop(commands[i]);
	}
}

/* ---- connections, one after the other ---- */

/* Callers read the epoch first and skip what is only asked of a pipeline that is up (the restart guard): a command with
 * the new epoch would then be sent unguarded. */
enum { EPOCHS = 20000 };

static atomic_uint_fast64_t epochs_seen;
static uint64_t epochs_down; /* how often the pipeline was down in spite of it */

static void *
watch(void *arg)
{
	uint64_t epoch, before = *(const uint64_t *)arg;

	for (uint64_t round = 1; round <= EPOCHS; round++, before = epoch) {
		for (unsigned spins = 0; (epoch = lsh_pipeline_epoch(line->pipeline)) == before; spins++)
			if (spins % 4096 == 4095)
				sched_yield();
		epochs_down += !lsh_pipeline_is_up(line->pipeline);
		epochs_seen = round;
	}
	return NULL;
}

SENTENCE(the_epoch_of_a_connection_is_not_known_before_it_is_up)
{
	uint64_t epoch = lsh_pipeline_epoch(line->pipeline);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch, &epoch), 0);
	for (uint64_t round = 1; round <= EPOCHS; round++) {
		int64_t end = await_limit_ns(30);

		reattach_pair();
		while (epochs_seen != round) {
			assert_false(await_is_past(end));
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(epochs_down, 0);
}

static bool
always(void *arg)
{
	(void)arg;
	return true;
}

static void *
serve_in_vain(void *arg)
{
	lsh_park(&lsh_self()->parker, lsh_now_ns()); /* no wake-up is left over from another thread that had it */
	lsh_pipeline_serve(line->pipeline, &lsh_self()->parker, always, NULL);
	line->calls += 100;
	return arg;
}

SENTENCE(whoever_has_to_go_before_it_serves_does_and_is_called_again)
{
	struct command *command = command_new(line, "");
	pthread_t thread;

	command->ticket.reader = NULL;
	assert_int_equal(append_ping(command), LSH_APPENDED);
	assert_int_equal(line->calls, 1);
	assert_int_equal(pthread_create(&thread, NULL, serve_in_vain, NULL), 0);
	await_true_for(line->calls == 102, 4);
	pthread_join(thread, NULL);
	lsh_pipeline_break(line->pipeline, 0);
	assert_int_equal(command->outcome, LSH_UNKNOWN);
	command_drop(command);
}

/* Somebody whose mutex is held while it ends its call. */
enum { CALLS = 32, FIRST_WRITE = 16 }; /* at which answer the reader writes what was appended meanwhile */

static struct command *calls[CALLS];
static bool has_mutex;
static int tells, tells_under_mutex;

static void
append_another(struct command *command)
{
	tells++;
	command->arg = ping("PONG");
}

static void
end_another(struct command *command)
{
	struct lsh_ticket *next = &calls[FIRST_WRITE]->ticket;

	tells++;
	assert_false(lsh_pipeline_is_up(command->line->pipeline)); /* what was appended could not be written */
	has_mutex = true;
	lsh_pipeline_leave(command->line->pipeline, next->epoch, next->number);
	has_mutex = false;
}

static void
note_told(struct command *command)
{
	(void)command;
	tells++;
	tells_under_mutex += has_mutex;
}

/* They may need the mutex of whoever ends its call. */
SENTENCE(who_ends_its_call_with_a_mutex_held_tells_nobody_of_a_broken_connection)
{
	for (int i = 0; i < CALLS; i++) {
		calls[i] = ping("PONG"); /* which goes at the flush */
		calls[i]->then = i == 0 ? append_another : i == FIRST_WRITE - 1 ? end_another : note_told;
	}
	far_hears_all();
	for (int i = 0; i < CALLS; i++)
		far_says("+PONG\r\n");
	shutdown(far, SHUT_RD); /* what it has said arrives, and nothing can be said to it */
	shutdown(far, SHUT_WR);
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(command_await(calls[i], LSH_NEVER), i < FIRST_WRITE ? LSH_ANSWERED : LSH_UNKNOWN);
	assert_int_equal(tells, CALLS);
	assert_int_equal(tells_under_mutex, 0);
	command_drop(calls[0]->arg);
	for (int i = 0; i < CALLS; i++)
		command_drop(calls[i]);
}

SCENE(who_breaks_the_connection_itself_does_not_sleep_on, /* who sleeps looks again by itself every 5 s */
      "ping = yes; clock; far HTTP/1.1\r\n; heard = garbled; took < 4000")
SCENE(a_connection_that_was_just_made_is_not_silent,
      "reattach; ping = yes; break_if_silent; far +PONG\r\n; heard = PONG")
SCENE(a_command_for_another_connection_is_not_sent,
      "reattach; ping old = down; ping new = yes; far +PONG\r\n; heard = PONG")

SENTENCE(no_two_connections_have_the_same_epoch)
{
	uint64_t first = lsh_pipeline_epoch(line->pipeline);
	struct line *other = line_start();
	int end = line_attach_pair(other, false);

	uint64_t second = lsh_pipeline_epoch(other->pipeline);
	assert_true(first != 0 && second > first);
	assert_int_equal(lsh_pipeline_connects(line->pipeline), 1);
	lsh_pipeline_break(line->pipeline, second); /* not its own */
	assert_true(lsh_pipeline_is_up(line->pipeline));
	lsh_pipeline_break(line->pipeline, first);
	assert_false(lsh_pipeline_is_up(line->pipeline));
	assert_int_equal(lsh_pipeline_connects(other->pipeline), 1);
	line_stop(other);
	close(end);
	reattach_pair();
	assert_true(lsh_pipeline_epoch(line->pipeline) > second);
	assert_int_equal(lsh_pipeline_connects(line->pipeline), 2);
}

/* ---- how many there is room for ---- */

static struct command *commands[MANY + 1];

/* Append PINGs, and no more than `most`: how many there is room for. */
static size_t
append_pings(size_t most)
{
	size_t n = 0;

	for (; n < most; n++) {
		commands[n] = command_new(line, "PONG");
		if (append_ping(commands[n]) != LSH_APPENDED) {
			command_drop(commands[n]);
			break;
		}
	}
	return n;
}

/* So many and no more there is room for; and the keeper is told if it can take more then. */
static void
fill(size_t most, size_t room)
{
	assert_int_equal(append_pings(most), room);
	unsigned long told = line->calls;
	answer_pings(commands, room);
	assert_true(room == most || line->calls > told);
}

SENTENCE(the_keeper_is_told_once_of_a_pipe_that_grew)
{
	for (int round = 0; round < 4; round++) {
		fill(FEW + 1, FEW + 1);
		assert_int_equal(line->calls, 1 + round / 2);
		if (round % 2 == 1) /* it becomes small again, and grows anew */
			assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
}

SENTENCE(a_full_pipe_takes_no_more_until_there_is_room)
{
	fill(MANY + 1, MANY);
	fill(1, 1);
}

SENTENCE(a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is)
{
	for (int round = 0; round < 3; round++) {
		counted.calls = 0;
		counted.fail_at = 1;
		counted.fail_on = true;
		fill(MANY, FEW);
		assert_true(counted.calls > 0);
		counted.fail_at = 0;
		counted.fail_on = false;
	}
	fill(MANY, MANY);
}

SENTENCE(a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken)
{
	int64_t before = counted.bytes;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
		fill(1, 1);
		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
		assert_true(counted.bytes == before);
		line->calls = 0;
		fill(MANY, MANY);
		assert_true(line->calls > 0);
		assert_true(counted.bytes > before + 60000);
		if (round == 2)
			break;
		int64_t at = lsh_pipeline_shrink(line->pipeline, lsh_now_ns());
		assert_true(at != LSH_NEVER && counted.bytes > before + 60000);
		assert_int_equal(append_pings(1), 1);
		assert_true(lsh_pipeline_shrink(line->pipeline, at) > at); /* it is not quiet */
		answer_pings(commands, 1);
		assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
	detach_far();
	assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns()), LSH_NEVER);
	assert_true(counted.bytes == before);
	far = line_attach_pair(line, false);
}

/* ---- ASKING ---- */

SENTENCE(an_asking_goes_with_its_command_or_not_at_all)
{
	struct command *last = command_new(line, "PONG");

	assert_int_equal(append_pings(MANY - 1), MANY - 1);
	/* there is room for one */
	last->ticket.asking = true;
	assert_int_equal(append_ping(last), LSH_PIPELINE_FULL);
	commands[MANY - 1] = ping("PONG");
	answer_pings(commands, MANY);
	assert_int_equal(lsh_pipeline_commands(line->pipeline), MANY);
	/* of a connection that is gone nothing is appended */
	last->ticket.epoch = lsh_pipeline_epoch(line->pipeline) + 1;
	assert_int_equal(append_ping(last), LSH_PIPELINE_DOWN);
	last->ticket.epoch = 0;
	assert_int_equal(append_ping(last), LSH_APPENDED);
	far_says("+OK\r\n");
	answer_pings(&last, 1);
	assert_int_equal(lsh_pipeline_commands(line->pipeline), MANY + 2);
}

#define NOPERM "NOPERM User locks has no permissions to run the 'asking' command"

#define REFUSED "ping asking = yes; far \"-" NOPERM "\r\n"

SCENE(who_is_sent_elsewhere_because_asking_was_refused_is_told_that,
      REFUSED "-MOVED 7 127.0.0.1:7\r\n\"; heard = \"" NOPERM "\";"
      "ping = yes; far '-MOVED 7 127.0.0.1:7\r\n'; heard = 'MOVED 7 127.0.0.1:7';" /* nor of a refusal before */
      REFUSED "$5\r\nhello\r\n\"; heard = hello;" REFUSED "-OOM no\r\n\"; heard = 'OOM no';"
      REFUSED "-MOVED 7 127.0.0.1:7\r\n\"; heard = \"" NOPERM "\"")
