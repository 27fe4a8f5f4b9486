/* Those who wait at a pipeline: every answer goes to whoever asked, nobody hangs, and whoever waits leaves when its own
 * time comes, whoever reads for it, and however the readers come and go. What is said and answered: test_pipeline.c.
 *
 * Those who sleep have no timer of their own if the reader wakes in time for them. So with a limit that gets lost on
 * the way from one reader to the next nobody leaves: what most of these tests look for. No time is measured for that.
 * There are anchors, callers without any limit, whose answers the peer withholds: what has to end must end while they
 * wait. Whatever wakes a reader makes up for a limit that was lost before, so there are rounds with few callers, after
 * which nothing else happens.
 *
 * The peer is a thread with the other end of a socketpair, which withholds all answers at first. Each command is a
 * number, and so is its answer; each third has an ASKING in front of it, and nothing comes between. In a scene the
 * callers are a, b, c and d, each with a thread:
 *
 *     call WHO LIMIT [PATIENCE]   it says a number and waits for the answer, for LIMIT ms, or never without an end
 *     hold WHO LIMIT COMMANDS     it says so many, and waits, while the first is on its way, until the last has ended,
 *                                 and with 0 says one and waits for nothing; but not before go WHO
 *     over WHO                    what it came to: left, answered, unknown, ..., or no
 *     leave WHO                   it is said to the pipeline that it is not going to read for its first
 *     say                         this thread says a number, which another is to read for, if none leaves it; leaves
 *     unread [PATIENCE]           this thread says a number, for which nobody reads
 *     reached                     how many commands the peer has heard; allow N: so many are answered; allow all
 *     answered                    how many were
 *     break                       the connection; up: is there one?
 *     told                        is the keeper, since that was asked for last? */
#include "base/clock.h"
#include "base/thread.h"
#include "tests/redis/caller.h"
#include "tests/redis/scenes.h"
#include "tests/support/random.h"

#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FOUR = 4, CALLERS = 20 };

static struct line *line;

/* ---- the peer ---- */

enum { NUMBERS = 8192 }; /* more than can be on their way */

static struct peer {
	int fd;
	atomic_size_t heard;    /* commands so far */
	atomic_size_t allowed;  /* so many of them may be answered */
	atomic_bool stutters;   /* its answers come in pieces */
	atomic_bool deaf;       /* it takes nothing from the socket */
	atomic_bool confused;   /* it heard what nobody said */
	pthread_t thread;
	bool asking;            /* the rest is the thread's: the last that came is one */
	redisReader *reader;
	unsigned long numbers[NUMBERS];
} peer;

static void
answer(const char *text, size_t size, uint64_t *seed)
{
	while (size > 0) {
		size_t piece = peer.stutters ? 1 + random_below(seed, (unsigned)size) : size;
		ssize_t n = send(peer.fd, text, piece, MSG_NOSIGNAL);

		if (n < 0)
			return; /* the end is seen by whoever reads */
		text += n;
		size -= (size_t)n;
		if (size > 0 && random_below(seed, 4) == 0)
			sched_yield();
	}
}

/* False: it has ended. */
static bool
hear(void)
{
	char bytes[8192];
	ssize_t got = recv(peer.fd, bytes, sizeof bytes, MSG_DONTWAIT);
	redisReply *command;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		return false;
	redisReaderFeed(peer.reader, bytes, got > 0 ? (size_t)got : 0);
	while (redisReaderGetReply(peer.reader, (void **)&command) == REDIS_OK && command != NULL) {
		unsigned long number = strtoul(command->element[0]->str, NULL, 10); /* 0: it is ASKING */

		peer.confused |= command->elements != 1 || (number == 0 ? peer.asking : (number % 3 == 0) != peer.asking);
		peer.asking = number == 0;
		if (number != 0)
			peer.numbers[peer.heard++ % NUMBERS] = number;
		freeReplyObject(command);
	}
	peer.confused |= peer.reader->err != 0;
	return true;
}

static void *
serve(void *arg)
{
	char text[64 * 64];
	size_t answered = 0;
	uint64_t seed = 1;

	for (;;) {
		struct pollfd polled = {.fd = peer.fd, .events = peer.deaf ? 0 : POLLIN};
		size_t size = 0;

		if (poll(&polled, 1, 1) > 0 && !hear())
			return arg;
		for (; answered < peer.heard && answered < peer.allowed && size < sizeof text - 64; answered++) {
			unsigned long number = peer.numbers[answered % NUMBERS];

			size += (size_t)sprintf(text + size, "%s:%lu\r\n", number % 3 == 0 ? "-ERR no answer\r\n" : "", number);
		}
		answer(text, size, &seed);
	}
}

/* To a peer that has said nothing yet. Cramped: there is little room in the socket, so writes are partial or wait. */
static void
connect_peer(bool cramped)
{
	peer = (struct peer){.fd = line_attach(line, cramped), .reader = redisReaderCreate()};
	assert_int_equal(pthread_create(&peer.thread, NULL, serve, &peer), 0);
}

static void
disconnect_peer(void)
{
	line_cut(line);
	pthread_join(peer.thread, NULL);
	close(peer.fd);
	redisReaderFree(peer.reader);
	assert_false(peer.confused);
}

static void
reconnect_peer(void)
{
	disconnect_peer();
	connect_peer(true);
}

SEES(reached, seen_number(peer.heard))
DOES(allow, peer.allowed = strcmp(word[1], "all") == 0 ? SIZE_MAX : (size_t)number_of(word[1], 0))
SEES(answered, seen_number(line->answered))
DOES(break, lsh_pipeline_break(line->pipeline, 0))
SEES(up, seen_whether(lsh_pipeline_is_up(line->pipeline)))
SEES(told, seen_whether(atomic_exchange(&line->calls, 0) > 0))

/* ---- callers ---- */

/* A command that is appended, each third with an ASKING; its answer is its number. NULL: it was not, because the
 * pipeline is down, or is full and this is not to wait for room. */
static struct command *
say_number(struct lsh_parker *reader, int64_t patience, void (*then)(struct command *command), bool waits)
{
	static atomic_uint last_number;
	unsigned number = ++last_number;
	char digits[16];
	enum lsh_appended appended;

	snprintf(digits, sizeof digits, "%u", number);
	struct command *command = command_new(line, digits);
	command->ticket.asking = number % 3 == 0;
	command->ticket.reader = reader;
	command->then = then;
	snprintf(digits, sizeof digits, "%010u", number);
	while ((appended = command_append(command, digits, patience)) == LSH_PIPELINE_FULL && waits)
		usleep(100);
	if (appended == LSH_APPENDED)
		return command;
	command_drop(command);
	return NULL;
}

static struct caller {
	int64_t wait, patience; /* LSH_NEVER as a wait: an anchor */
	void (*then)(struct command *command);
	int commands;           /* that it says; 0: one, and it waits for none */
	bool held;              /* it does not wait before: */
	atomic_bool go;
	struct command *command[2];
	int64_t deadline;
	int outcome; /* or LEFT */
	atomic_bool appended, over;
	uint64_t seed;          /* in a storm: of what it does next, */
	atomic_size_t left;     /* and how often it has */
	bool called;            /* by a scene: it has a thread */
	pthread_t thread;
} callers[CALLERS];
static atomic_bool left_early;

static bool
is_over(void *arg)
{
	const struct caller *c = arg;

	return c->commands > 0 && c->command[c->commands - 1]->over;
}

static void *
call_once(void *arg)
{
	struct caller *c = arg;
	int said = 0;

	c->deadline = c->wait == LSH_NEVER ? LSH_NEVER : lsh_now_ns() + c->wait;
	c->outcome = LSH_UNSENT;
	do
		c->command[said] = say_number(&lsh_self()->parker, c->patience, c->then, true);
	while (c->command[said] != NULL && ++said < c->commands);
	if (c->command[0] != NULL) {
		const struct lsh_ticket *first = &c->command[0]->ticket;

		if (c->held)
			lsh_pipeline_flush(line->pipeline);
		c->appended = true;
		while (c->held && !c->go)
			sched_yield();
		lsh_pipeline_wait(line->pipeline, &lsh_self()->parker, first->epoch, first->number, is_over, c, c->deadline);
		c->outcome = is_over(c) ? (int)c->command[said - 1]->outcome : LEFT;
	}
	if (c->outcome == LEFT && lsh_now_ns() < c->deadline)
		left_early = true;
	while (said > 0)
		command_drop(c->command[--said]);
	c->over = true;
	return NULL;
}

static void
start(struct caller *c, void *(*run)(void *arg))
{
	assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

/* ---- those of scenes ---- */

static struct command *own; /* of this thread; NULL: none */

static struct caller *
caller_of(const char *name)
{
	return &callers[place_of(name, (const char *[]){"a", "b", "c", "d"}, 4)];
}

static void
come_home(struct caller *c)
{
	if (c->called)
		pthread_join(c->thread, NULL);
	c->called = false;
}

/* Its thread, when there is no other any more. */
static struct caller *
let_call(char **word, bool held, int64_t commands, int64_t patience)
{
	struct caller *c = caller_of(word[1]);

	come_home(c);
	*c = (struct caller){.patience = patience, .commands = (int)commands, .held = held, .called = true};
	c->wait = strcmp(word[2], "never") == 0 ? LSH_NEVER : number_of(word[2], 0) * LSH_MS;
	start(c, call_once);
	return c;
}

DOES(call, let_call(word, false, 1, *word[3] != '\0' ? number_of(word[3], 0) * LSH_MS : PATIENT_NS))

DEED(hold)
{
	const struct caller *c = let_call(word, true, number_of(word[3], 1), PATIENT_NS);

	await_true(c->appended);
}

DOES(go, caller_of(word[1])->go = true)

SEES(over, caller_of(word[1])->over ? outcome_names[caller_of(word[1])->outcome] : "no")

DEED(leave)
{
	const struct command *command = *word[1] != '\0' ? caller_of(word[1])->command[0] : own;

	lsh_pipeline_leave(line->pipeline, command->ticket.epoch, command->ticket.number);
}

DOES(say, own = say_number(&lsh_self()->parker, PATIENT_NS, NULL, true))

DEED(unread)
{
	command_drop(say_number(NULL, number_of(word[1], 600000) * LSH_MS, NULL, true));
	lsh_pipeline_flush(line->pipeline);
}

static void
begin(void)
{
	line = line_new(true);
	connect_peer(false);
}

static void
end(void)
{
	peer.allowed = SIZE_MAX;
	for (int i = 0; i < CALLERS; i++)
		come_home(&callers[i]);
	if (own != NULL)
		command_drop(own);
	own = NULL;
	assert_false(left_early);
	disconnect_peer();
	line_stop(line);
}

FIXTURE(begin, end);

/* ---- limits, and who reads ---- */

#define SLEEPS "await reached = 1; call b 100; await reached = 2; pass 5; go a; pass 20;" /* a, and b reads for it */

SCENE(a_sleeper_leaves_in_time_when_its_command_has_ended, "hold a 200 0;" SLEEPS "allow 1; await over a = left")
SCENE(a_sleeper_leaves_in_time_when_its_command_was_left, "hold a 200 0;" SLEEPS "leave a; await over a = left")
SCENE(a_sleeper_leaves_in_time_when_the_connection_is_broken, "hold a 200 0;" SLEEPS "break; await over a = left")
SCENE(a_thread_reads_for_each_of_its_commands_whichever_it_waits_with,
      "hold a never 2; await reached = 2; call b 100; await reached = 3; pass 5; go a; pass 20;"
      "allow 1; await over b = left;" /* the one that it waits with ends, and then the reader leaves */
      "allow all; await over a = answered")
SCENE(a_thread_that_will_not_read_leaves_its_turn_to_another,
      /* the turn is ours */
      "say; call a 100; await reached = 2; pass 5; call b never; await reached = 3; await over a = left;"
      "leave; allow all; await over b = answered")
SCENE(nobody_waits_for_a_thread_that_was_to_read_and_does_not_come, "say; call a 300; await reached = 2; pass 50;"
      "call b never; await reached = 3; await over a = left; allow all; await over b = answered; await answered = 3")
SCENE(what_was_left_is_read_by_the_pipes_own_thread, /* and what nobody was to read for */
      "repeat 10; call a 5; await over a = left; next; answered = 0; allow all; await answered = 10;"
      "call a never; await over a = answered; unread; await answered = 12")
SCENE(a_later_command_with_less_patience_breaks_the_connection_in_time,
      /* a sleeps in poll(), even if woken once for nothing */
      "call a never; await reached = 1; pass 100; call b never 30; await 4 over a = unknown; await over b = unknown")
SCENE(a_later_command_with_less_patience_for_which_nobody_reads_breaks_the_connection_in_time,
      "call a never; await reached = 1; pass 100; unread 30; await 4 over a = unknown")
SCENE(a_command_that_is_overdue_breaks_the_connection_for_all, "call a never; call c never; call d 10;"
      "await reached = 3; told; clock; call b never 50; await over b = unknown; took >= 50; await over a = unknown;"
      "await over c = unknown; await over d = left; told = yes; up = no; call c never; await over c = unsent")

/* Who has a limit is over. */
static bool
are_over(void)
{
	for (struct caller *c = callers; c < callers + FOUR; c++)
		if (c->wait != LSH_NEVER && !c->over)
			return false;
	return true;
}

/* Everybody calls once, those who leave first first or last or anywhere; the peer answers some, more and more of them,
 * and then no more, or none at all. */
SENTENCE(a_limit_outlives_the_reader_that_was_to_watch_it)
{
	size_t came_to[OUTCOMES] = {0};
	uint64_t seed = 13;

	for (unsigned round = 0; round < 200; round++) {
		unsigned anchor = random_below(&seed, FOUR), other = random_below(&seed, FOUR), order = random_below(&seed, 3);
		bool silent = random_below(&seed, 3) == 0;

		peer.allowed = round * FOUR + (silent ? 0 : random_below(&seed, 2));
		for (unsigned i = 0; i < FOUR; i++) {
			unsigned turn = order == 0 ? i : order == 1 ? FOUR - i : random_below(&seed, FOUR);
			int64_t wait = (50 + turn * 2475 + random_below(&seed, 450)) * LSH_US;

			wait = i == anchor || i == other ? LSH_NEVER : wait;
			callers[i] = (struct caller){.wait = wait, .patience = PATIENT_NS, .commands = 1};
			start(&callers[i], call_once);
			if (random_below(&seed, FOUR) == 0)
				await_true(callers[i].appended);
			peer.allowed += !silent && random_below(&seed, 3) == 0;
		}
		await_true(are_over());
		for (struct caller *c = callers; c < callers + FOUR && silent; c++)
			assert_true(c->wait == LSH_NEVER ? !c->over : c->outcome == LEFT);
		peer.allowed = SIZE_MAX;
		for (struct caller *c = callers; c < callers + FOUR; c++) {
			pthread_join(c->thread, NULL);
			came_to[c->outcome]++;
		}
		await_true(peer.heard == (round + 1) * FOUR);
	}
	assert_int_equal(came_to[LEFT] + came_to[LSH_ANSWERED], 200 * FOUR);
	assert_true(came_to[LEFT] > 0 && came_to[LSH_ANSWERED] > 0);
}

SENTENCE(what_the_socket_does_not_take_at_once_is_sent_later_and_once)
{
	enum { SAID = 2500 };
	static struct command *said[SAID];

	reconnect_peer();
	peer.deaf = true;
	for (int i = 0; i < SAID; i++)
		said[i] = say_number(&lsh_self()->parker, PATIENT_NS, NULL, true);
	lsh_pipeline_flush(line->pipeline);
	play("hold a never; go a"); /* who writes the rest, although nothing comes to be read */
	await_ms(20);
	peer.deaf = false;
	await_true(peer.heard == SAID + 1);
	play("allow all; await over a = answered");
	for (int i = 0; i < SAID; i++) {
		assert_int_equal(command_await(said[i], lsh_now_ns() + 30 * LSH_S), LSH_ANSWERED);
		command_drop(said[i]);
	}
}

/* ---- storms: callers who call again and again ---- */

static atomic_bool storm_ends;
static atomic_size_t outcomes[OUTCOMES]; /* of all */

static void *
call_on(void *arg)
{
	struct caller *c = arg;

	while (!storm_ends) {
		c->wait = (20 + random_below(&c->seed, random_below(&c->seed, 4) == 0 ? 20000 : 500)) * LSH_US;
		call_once(c);
		outcomes[c->outcome]++;
		if (c->outcome == LSH_UNSENT)
			usleep(100);
		c->left += c->outcome == LEFT;
	}
	return NULL;
}

/* At the end of each call goes on `then`. */
static void
storm_begin(void (*then)(struct command *command))
{
	memset(outcomes, 0, sizeof outcomes);
	storm_ends = false;
	reconnect_peer();
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){.patience = PATIENT_NS, .then = then, .commands = 1, .seed = (uint64_t)i + 1};
		start(&callers[i], call_on);
	}
}

static void
storm_end(void)
{
	peer.allowed = SIZE_MAX;
	peer.deaf = false;
	storm_ends = true;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	assert_int_equal(outcomes[LSH_GARBLED], 0);
	assert_true(outcomes[LSH_ANSWERED] > 0);
}

/* And the socket is full in between. */
SENTENCE(every_answer_goes_to_whoever_asked_though_the_peer_falls_silent_and_deaf_again_and_again)
{
	uint64_t seed = 19;

	storm_begin(NULL);
	peer.stutters = true;
	for (int round = 0; round < 40; round++) {
		size_t before[CALLERS];

		peer.allowed = SIZE_MAX;
		await_ms(1 + random_below(&seed, 30));
		/* silent, but for a few more: each of them has nothing but its limit to end by */
		peer.allowed = peer.heard + random_below(&seed, 10);
		peer.deaf = round % 2 == 0;
		for (int i = 0; i < CALLERS; i++)
			before[i] = callers[i].left;
		for (int i = 0; i < CALLERS; i++)
			await_true(callers[i].left > before[i]);
		peer.deaf = false;
	}
	storm_end();
	assert_int_equal(outcomes[LSH_UNKNOWN] + outcomes[LSH_UNSENT], 0);
}

static atomic_uint ends;

/* Called in-line when a command has ended: it appends another, which nobody waits for, flushes, or breaks the
 * connection. */
static void
go_on(struct command *command)
{
	uint64_t seed = ++ends;
	struct command *more = NULL;

	if (random_below(&seed, 3) > 0)
		more = say_number(NULL, PATIENT_NS, random_below(&seed, 2) == 0 ? go_on : NULL, false);
	if (more != NULL)
		command_drop(more);
	if (random_below(&seed, 3) == 0)
		lsh_pipeline_flush(line->pipeline);
	if (random_below(&seed, 2000) == 0)
		lsh_pipeline_break(line->pipeline, command->ticket.epoch);
}

SENTENCE(each_command_ends_once_whatever_its_end_does_and_whenever_the_connection_breaks)
{
	uint64_t seed = 23;

	storm_begin(go_on);
	for (int round = 0; round < 150; round++) {
		peer.stutters = round % 3 == 0;
		peer.deaf = round % 7 == 0;
		peer.allowed = round % 5 == 0 ? random_below(&seed, 100) : SIZE_MAX;
		await_ms(random_below(&seed, 12));
		reconnect_peer();
	}
	storm_end();
	assert_true(ends > 0 && outcomes[LSH_UNKNOWN] > 0);
}
