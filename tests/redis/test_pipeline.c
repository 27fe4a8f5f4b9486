/* A pipeline: what is appended, sent and answered, how many there is room for, and what becomes of it when a connection
 * breaks and another follows. Those who wait at one, and who reads for them: test_pipeline_waits.c.
 *
 * This thread has the other end of the connection, too, and nobody else is there:
 *
 *     ping [asking, old or new]   is said, for the old or the new connection alone: yes, down or full
 *     pings N                     for so many there was room; pongs: they are answered; sent: how many commands were
 *     reattach                    to a new connection; cut: to none
 *     shrink [MS]                 what is not needed is given back, as MS from now, or as when it said then: never
 *                                 again, or later; grown: by how many bytes; withhold, give: memory, which is asked for
 *     far BYTES                   are said by the other end; heard: for the ping, or what became of it
 *     break_if_silent             since before it was made new
 *     told                        how often the keeper was, since that was asked for last */
#include "base/clock.h"
#include "base/thread.h"
#include "tests/redis/caller.h"
#include "tests/redis/scenes.h"
#include "tests/support/counted.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

GROUP(counted_start, NULL);

enum { MANY = 4096 }; /* commands that a pipe has room for; at first 64 */

static struct line *line;
static int far;              /* the other end */
static uint64_t old_epoch;   /* of the connection before */
static int64_t before_ns;    /* a moment when there was none */
static int64_t bytes_before; /* that leash had at first */

static void
detach_far(void)
{
	line_cut(line);
	close(far);
	far = -1;
}

static void
reattach_pair(void)
{
	old_epoch = lsh_pipeline_epoch(line->pipeline);
	detach_far();
	before_ns = lsh_now_ns();
	far = line_attach(line, false);
}

/* A pipeline without a thread of its own. */
static void
begin(void)
{
	line = line_new(false);
	far = line_attach(line, false);
	bytes_before = counted.bytes;
}

static void
end(void)
{
	line_stop(line);
	close(far);
}

FIXTURE(begin, end);

/* A PING that is appended. */
static struct command *
ping(const char *expected)
{
	struct command *command = command_new(line, expected);

	assert_int_equal(command_append(command, "PING", PATIENT_NS), LSH_APPENDED);
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

static struct command *pinged, *commands[MANY];
static size_t pings;

VERB(ping)
{
	struct command *command = command_new(line, "");

	command->ticket.asking = strcmp(word[1], "asking") == 0;
	for (char **at = word + 1; **at != '\0'; at++)
		if (strcmp(*at, "old") == 0 || strcmp(*at, "new") == 0)
			command->ticket.epoch = **at == 'o' ? old_epoch : lsh_pipeline_epoch(line->pipeline);
	enum lsh_appended appended = command_append(command, "PING", PATIENT_NS);
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

VERB(pings)
{
	for (pings = 0; pings < (size_t)number_of(word[1], 0); pings++) {
		commands[pings] = command_new(line, "PONG");
		if (command_append(commands[pings], "PING", PATIENT_NS) == LSH_APPENDED)
			continue;
		command_drop(commands[pings]);
		break;
	}
	return seen_number(pings);
}

DEED(pongs)
{
	char bytes[MANY * 7 + 1] = "";

	for (size_t i = 0; i < pings; i++)
		memcpy(bytes + i * 7, "+PONG\r\n", 8);
	far_hears_all();
	far_says(bytes);
	for (size_t i = 0; i < pings; i++) {
		assert_int_equal(command_await(commands[i], LSH_NEVER), LSH_ANSWERED);
		command_drop(commands[i]);
	}
}

VERB(shrink)
{
	static int64_t then;
	const int64_t now = strcmp(word[1], "then") == 0 ? then : lsh_now_ns() + number_of(word[1], 0) * LSH_MS;

	then = lsh_pipeline_shrink(line->pipeline, now);
	return then == LSH_NEVER ? "never" : then > now ? "later" : "now";
}

SEES(told, seen_number(atomic_exchange(&line->calls, 0)))
SEES(grown, seen_number(counted.bytes - bytes_before))
SEES(sent, seen_number(lsh_pipeline_commands(line->pipeline)))
DOES(cut, detach_far())
DOES(withhold, counted_withhold(true))

DEED(give)
{
	assert_true(counted.calls > 0);
	counted_withhold(false);
}

/* ---- connections, one after the other ---- */

/* Callers read the epoch first and skip what is only asked of a pipeline that is up (the restart guard): a command with
 * the new epoch would then be sent unguarded. */
enum { EPOCHS = 20000 };

static atomic_uint_fast64_t epochs_seen, epochs_down; /* of those: how often the pipeline was down in spite of it */

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
		reattach_pair();
		for (int64_t end = await_limit_ns(30); epochs_seen != round; sched_yield())
			assert_false(await_is_past(end));
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
	assert_int_equal(command_append(command, "PING", PATIENT_NS), LSH_APPENDED);
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

static struct command *calls[CALLS], *another;
static bool has_mutex;
static int tells, tells_under_mutex;

/* At the first another is appended, and before that is written one ends its call. */
static void
note_told(struct command *command)
{
	const struct lsh_ticket *next = &calls[FIRST_WRITE]->ticket;

	tells++;
	tells_under_mutex += has_mutex;
	if (command == calls[0])
		another = ping("PONG");
	if (command != calls[FIRST_WRITE - 1])
		return;
	assert_false(lsh_pipeline_is_up(line->pipeline)); /* what was appended could not be written */
	has_mutex = true;
	lsh_pipeline_leave(line->pipeline, next->epoch, next->number);
	has_mutex = false;
}

/* They may need the mutex of whoever ends its call. */
SENTENCE(who_ends_its_call_with_a_mutex_held_tells_nobody_of_a_broken_connection)
{
	for (int i = 0; i < CALLS; i++) {
		calls[i] = ping("PONG"); /* which goes at the flush */
		calls[i]->then = note_told;
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
	command_drop(another);
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
	struct line *other = line_new(true);
	int end = line_attach(other, false);

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

SCENE(the_keeper_is_told_once_of_a_pipe_that_grew, /* it becomes small again, and grows anew */
      "repeat 2; pings 65 = 65; pongs; told = 1; pings 65 = 65; pongs; told = 0; shrink 2000 = never")
SCENE(a_full_pipe_takes_no_more_until_there_is_room, "pings 4096 = 4096; told; ping = full; pongs; told >= 1;"
      "ping = yes; far +PONG\r\n; heard = PONG")
SCENE(a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is,
      "repeat 3; withhold; pings 4096 = 64; told; pongs; told >= 1; give; next; pings 4096 = 4096; pongs")

#define GROW \
	"shrink = never; pings 1 = 1; pongs; shrink = never; grown = 0; told; pings 4096 = 4096; pongs; told >= 1;" \
	"grown > 60000;"

SCENE(a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken,
      "repeat 2;" GROW "shrink = later; grown > 60000; pings 1 = 1; shrink then = later; pongs; shrink 2000 = never;"
      "next;" GROW "cut; shrink = never; grown = 0")
SCENE(an_asking_goes_with_its_command_or_not_at_all, /* where there is room for one; and of a connection that is gone */
      "pings 4095 = 4095; ping asking = full; ping = yes; pongs; far +PONG\r\n; heard = PONG; sent = 4096; reattach;"
      "ping asking old = down; ping asking = yes; far '+OK\r\n+PONG\r\n'; heard = PONG; sent = 4098")

#define NOPERM "NOPERM User locks has no permissions to run the 'asking' command"

#define REFUSED "ping asking = yes; far \"-" NOPERM "\r\n"

SCENE(who_is_sent_elsewhere_because_asking_was_refused_is_told_that,
      REFUSED "-MOVED 7 127.0.0.1:7\r\n\"; heard = \"" NOPERM "\";"
      "ping = yes; far '-MOVED 7 127.0.0.1:7\r\n'; heard = 'MOVED 7 127.0.0.1:7';" /* nor of a refusal before */
      REFUSED "$5\r\nhello\r\n\"; heard = hello;" REFUSED "-OOM no\r\n\"; heard = 'OOM no';"
      REFUSED "-MOVED 7 127.0.0.1:7\r\n\"; heard = \"" NOPERM "\"")
