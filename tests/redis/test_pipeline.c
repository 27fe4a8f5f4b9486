/* The pipeline: every reply goes to whoever asked, nobody hangs, and whoever waits leaves when its own time comes,
 * whoever reads for it, and however the readers come and go.
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
 *     told                        is the keeper, since that was asked for last?
 *
 * Where this thread has the other end, too, and nobody else is there:
 *
 *     ping [asking, old or new]   is said, for the old or the new connection alone: yes, down or full
 *     reattach                    to a new connection
 *     far BYTES                   are said by the other end; heard: for the ping, or what became of it
 *     break_if_silent             since before it was made new */
#include "base/clock.h"
#include "base/thread.h"
#include "redis/pipeline.h"
#include "tests/redis/caller.h"
#include "tests/redis/scenes.h"
#include "tests/support/counted.h"
#include "tests/support/random.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS = 20, ANCHORS = 2, ALL = CALLERS + ANCHORS };

#define PATIENT_NS (600 * LSH_S)
#define SOON 4 /* s: whoever sleeps looks again by itself every 5 s */

GROUP(counted_start, NULL);

static struct line *line;

/* ---- the peer ---- */

#define ASKING_FRAME "*1\r\n$6\r\nASKING\r\n"

enum {
	FRAME = 21,            /* *1 $10 and a number of ten digits */
	ASKING = 16,           /* in front of each number with a 1 in front, */
	ASKED = 1000000000,    /* so from this one on, and of no other */
	NUMBERS = 8192,        /* more than can be on their way */
};

static struct peer {
	int fd;
	atomic_size_t heard;    /* commands so far */
	atomic_size_t allowed;  /* so many of them may be answered */
	atomic_bool stutters;   /* its answers come in pieces */
	atomic_bool deaf;       /* it takes nothing from the socket */
	atomic_bool confused;   /* it heard what nobody said */
	pthread_t thread;
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
hear(char *bytes, size_t *kept, bool *asking, unsigned long *numbers)
{
	ssize_t got = recv(peer.fd, bytes + *kept, FRAME * 512 - *kept, MSG_DONTWAIT);
	size_t at = 0;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		return false;
	*kept += got > 0 ? (size_t)got : 0;
	while (*kept - at >= FRAME) {
		const char *frame = bytes + at;
		bool asks = memcmp(frame, ASKING_FRAME, ASKING) == 0;

		if (asks ? *asking : memcmp(frame, "*1\r\n$10\r\n", 9) != 0 || (frame[9] == '1') != *asking)
			peer.confused = true;
		*asking = asks;
		at += asks ? ASKING : FRAME;
		if (asks)
			continue;
		numbers[peer.heard % NUMBERS] = strtoul(frame + 9, NULL, 10);
		peer.heard++;
	}
	*kept -= at;
	memmove(bytes, bytes + at, *kept);
	return true;
}

static void *
serve(void *arg)
{
	static unsigned long numbers[NUMBERS];
	char bytes[FRAME * 512], text[64 * 64];
	size_t kept = 0, answered = 0;
	uint64_t seed = 1;
	bool asking = false;

	for (;;) {
		struct pollfd polled = {.fd = peer.fd, .events = peer.deaf ? 0 : POLLIN};
		size_t size = 0;

		if (poll(&polled, 1, 1) > 0 && !hear(bytes, &kept, &asking, numbers))
			return arg;
		for (; answered < peer.heard && answered < peer.allowed && size < sizeof text - 64; answered++)
			size += (size_t)snprintf(text + size, sizeof text - size, "%s:%lu\r\n",
			                         numbers[answered % NUMBERS] > ASKED ? "-ERR nobody hears this\r\n" : "",
			                         numbers[answered % NUMBERS]);
		answer(text, size, &seed);
	}
}

static bool cramped; /* there is little room in the socket: writes are partial, or have to wait */

/* Another connection of a line: its other end. */
static int
attach_pair(struct line *to)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	if (cramped)
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	line_attach(to, (struct lsh_stream){.fd = fds[0]});
	return fds[1];
}

static void
detach_pair(void)
{
	struct lsh_stream stream = line_detach(line);

	lsh_stream_close(&stream);
}

/* To a peer that has said nothing yet. */
static void
connect_peer(void)
{
	peer = (struct peer){.fd = attach_pair(line)};
	assert_int_equal(pthread_create(&peer.thread, NULL, serve, NULL), 0);
}

static void
disconnect_peer(void)
{
	detach_pair();
	pthread_join(peer.thread, NULL);
	close(peer.fd);
	assert_false(peer.confused);
}

static void
reconnect_peer(void)
{
	disconnect_peer();
	connect_peer();
}

SEES(reached, seen_number((int64_t)peer.heard))
DOES(allow, peer.allowed = strcmp(word[1], "all") == 0 ? SIZE_MAX : (size_t)number_of(word[1], 0))
SEES(answered, seen_number((int64_t)line->answered))
DOES(break, lsh_pipeline_break(line->pipeline, 0))
SEES(up, seen_whether(lsh_pipeline_is_up(line->pipeline)))
SEES(told, seen_whether(atomic_exchange(&line->calls, 0) > 0))

/* ---- callers ---- */

static struct lsh_parker *
own_parker(void)
{
	return &lsh_self()->parker;
}

/* A command that is appended, each third with an ASKING; its answer is its number. NULL: it was not, because the
 * pipeline is down, or is full and this is not to wait for room. */
static struct command *
say_number(struct lsh_parker *reader, int64_t patience, void (*then)(struct command *command), bool waits)
{
	static atomic_uint last_number;
	unsigned number = ++last_number;
	bool asking = number % 3 == 0;
	char digits[16];
	enum lsh_appended appended;

	number += asking ? ASKED : 0;
	snprintf(digits, sizeof digits, "%u", number);
	struct command *command = command_new(line, digits);
	command->ticket.asking = asking;
	command->ticket.reader = reader;
	command->then = then;
	snprintf(digits, sizeof digits, "%010u", number);
	struct lsh_arg arg = lsh_arg_text(digits);
	while ((appended = command_append(command, &arg, 1, patience)) == LSH_PIPELINE_FULL && waits)
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
	int64_t deadline, returned; /* moments */
	int outcome; /* or LEFT */
	atomic_bool appended, over;
	pthread_t thread;
} callers[ALL];

static bool
is_over(void *arg)
{
	const struct caller *c = arg;

	return c->commands > 0 && atomic_load(&c->command[c->commands - 1]->over);
}

static void
call_once(struct caller *c)
{
	int said = 0;

	c->deadline = c->wait == LSH_NEVER ? LSH_NEVER : lsh_now_ns() + c->wait;
	c->outcome = LSH_UNSENT;
	do
		c->command[said] = say_number(own_parker(), c->patience, c->then, true);
	while (c->command[said] != NULL && ++said < c->commands);
	if (c->command[0] != NULL) {
		const struct lsh_ticket *first = &c->command[0]->ticket;

		if (c->held)
			lsh_pipeline_flush(line->pipeline);
		atomic_store(&c->appended, true);
		while (c->held && !c->go)
			sched_yield();
		lsh_pipeline_wait(line->pipeline, own_parker(), first->epoch, first->number, is_over, c, c->deadline);
		c->outcome = is_over(c) ? (int)c->command[said - 1]->outcome : LEFT;
	}
	c->returned = lsh_now_ns();
	while (said > 0)
		command_drop(c->command[--said]);
}

static void *
run_once(void *arg)
{
	struct caller *c = arg;

	call_once(c);
	atomic_store(&c->over, true);
	return NULL;
}

static void
start(struct caller *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, run_once, c), 0);
}

static void
call(int i, int64_t wait, int64_t patience)
{
	callers[i] = (struct caller){.wait = wait, .patience = patience, .commands = 1};
	start(&callers[i]);
}

/* Those who have a limit, over or not. */
static size_t
count_over(size_t n)
{
	size_t over = 0;

	for (size_t i = 0; i < n; i++)
		over += callers[i].wait != LSH_NEVER && callers[i].over;
	return over;
}

/* The peer answers all; everybody comes home. How they ended, and when they left, is right. */
static void
answer_all(size_t n)
{
	peer.allowed = SIZE_MAX;
	for (struct caller *c = callers; c < callers + n; c++) {
		pthread_join(c->thread, NULL);
		assert_true(c->outcome == LSH_ANSWERED ||
		            (c->outcome == LEFT && c->wait != LSH_NEVER && c->returned >= c->deadline));
	}
}

/* ---- those of scenes ---- */

static bool called[4]; /* who has a thread */
static struct command *own; /* of this thread; NULL: none */

static struct caller *
caller_of(const char *name)
{
	return &callers[place_of(name, (const char *[]){"a", "b", "c", "d"}, 4)];
}

static void
come_home(struct caller *c)
{
	if (called[c - callers])
		pthread_join(c->thread, NULL);
	called[c - callers] = false;
}

static struct caller *
prepare(char **word)
{
	struct caller *c = caller_of(word[1]);

	come_home(c);
	*c = (struct caller){.patience = PATIENT_NS, .commands = 1};
	c->wait = strcmp(word[2], "never") == 0 ? LSH_NEVER : number_of(word[2], 0) * LSH_MS;
	called[c - callers] = true;
	return c;
}

VERB(call)
{
	struct caller *c = prepare(word);

	if (*word[3] != '\0')
		c->patience = number_of(word[3], 0) * LSH_MS;
	start(c);
	return NULL;
}

VERB(hold)
{
	struct caller *c = prepare(word);

	c->held = true;
	c->commands = (int)number_of(word[3], 1);
	start(c);
	await_true(c->appended);
	return NULL;
}

DOES(go, caller_of(word[1])->go = true)

static const char *const outcome_names[] = {"answered", "unsent", "unknown", "garbled", "left"};

VERB(over)
{
	const struct caller *c = caller_of(word[1]);

	if (!c->over)
		return "no";
	if (c->outcome == LEFT)
		assert_true(c->returned >= c->deadline);
	return outcome_names[c->outcome];
}

VERB(leave)
{
	const struct command *command = *word[1] != '\0' ? caller_of(word[1])->command[0] : own;

	lsh_pipeline_leave(line->pipeline, command->ticket.epoch, command->ticket.number);
	return NULL;
}

DOES(say, own = say_number(own_parker(), PATIENT_NS, NULL, true))

VERB(unread)
{
	command_drop(say_number(NULL, number_of(word[1], 600000) * LSH_MS, NULL, true));
	lsh_pipeline_flush(line->pipeline);
	return NULL;
}

static void
begin(void)
{
	line = line_start();
	connect_peer();
}

static void
end(void)
{
	peer.allowed = SIZE_MAX;
	for (size_t i = 0; i < COUNT(called); i++)
		come_home(&callers[i]);
	if (own != NULL)
		command_drop(own);
	own = NULL;
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
SCENE(nobody_waits_for_a_thread_that_was_to_read_and_does_not_come,
      "say; call a 300; await reached = 2; pass 50; call b never; await reached = 3; await over a = left;"
      "allow all; await over b = answered; await answered = 3")
SCENE(what_was_left_is_read_by_the_pipes_own_thread, /* and what nobody was to read for */
      "repeat 10; call a 5; await over a = left; next; answered = 0; allow all; await answered = 10;"
      "call a never; await over a = answered; unread; await answered = 12")
SCENE(a_later_command_with_less_patience_breaks_the_connection_in_time,
      /* a sleeps in poll(), even if woken once for nothing */
      "call a never; await reached = 1; pass 100; call b never 30; await 4 over a = unknown; await over b = unknown")
SCENE(a_later_command_with_less_patience_for_which_nobody_reads_breaks_the_connection_in_time,
      "call a never; await reached = 1; pass 100; unread 30; await 4 over a = unknown")
SCENE(a_command_that_is_overdue_breaks_the_connection_for_all,
      "call a never; call c never; call d 10; await reached = 3; told; clock; call b never 50;"
      "await over b = unknown; took >= 50; await over a = unknown; await over c = unknown; await over d = left;"
      "told = yes; up = no; call c never; await over c = unsent")

SENTENCE(a_limit_outlives_the_reader_that_was_to_watch_it)
{
	enum { READER, SLEEPER, FIRST_ANCHOR, SECOND_ANCHOR, FOUR };
	uint64_t seed = 11;

	for (size_t round = 0; round < 150; round++) {
		int64_t wait = (1 + random_below(&seed, 6)) * LSH_MS + random_below(&seed, 1000) * LSH_US;
		unsigned first = random_below(&seed, 3), step = 1 + random_below(&seed, 2);

		peer.allowed = round * FOUR;
		call(READER, wait, PATIENT_NS);
		await_true(peer.heard == round * FOUR + 1);
		for (unsigned i = 0; i < 3; i++) { /* in any order */
			int who = SLEEPER + (int)((first + i * step) % 3);

			call(who, who == SLEEPER ? wait + random_below(&seed, 8000) * LSH_US : LSH_NEVER, PATIENT_NS);
			if (random_below(&seed, 2) == 0)
				await_true(callers[who].appended);
		}
		if (round % 3 == 0) /* the reader is answered; else it leaves */
			peer.allowed = round * FOUR + 1;
		await_true(count_over(FOUR) == 2);
		assert_false(callers[FIRST_ANCHOR].over || callers[SECOND_ANCHOR].over);
		assert_int_equal(callers[SLEEPER].outcome, LEFT);
		answer_all(FOUR);
		await_true(peer.heard == (round + 1) * FOUR);
	}
}

/* Everybody calls once, those who leave first first or last or anywhere; the peer answers some, more and more of them,
 * and then no more, or none at all. */
SENTENCE(those_whom_nobody_answers_leave_when_their_time_comes_while_answers_come_and_callers_leave)
{
	size_t left = 0, answered = 0;
	uint64_t seed = 13;

	peer.stutters = true;
	for (unsigned round = 0; round < 120; round++) {
		int anchor = (int)random_below(&seed, ALL), other = (int)random_below(&seed, ALL);
		unsigned order = random_below(&seed, 3);
		bool silent = random_below(&seed, 3) == 0;

		peer.allowed = round * ALL + (silent ? 0 : random_below(&seed, 4));
		for (int i = 0; i < ALL; i++) {
			int turn = order == 0 ? i : order == 1 ? ALL - i : (int)random_below(&seed, ALL);
			bool limited = i != anchor && i != other;

			call(i, limited ? (50 + turn * 450 + (int)random_below(&seed, 450)) * LSH_US : LSH_NEVER, PATIENT_NS);
			if (!silent && random_below(&seed, 3) == 0)
				peer.allowed += random_below(&seed, 3);
		}
		await_true(count_over(ALL) == (anchor == other ? ALL - 1 : ALL - 2));
		for (int i = 0; i < ALL && silent; i++)
			assert_true(callers[i].wait == LSH_NEVER ? !callers[i].over : callers[i].outcome == LEFT);
		answer_all(ALL);
		await_true(peer.heard == (round + 1) * ALL);
		for (size_t i = 0; i < ALL; i++) {
			left += callers[i].outcome == LEFT;
			answered += callers[i].outcome == LSH_ANSWERED;
		}
	}
	assert_true(left > 0 && answered > 0);
}

SENTENCE(what_the_socket_does_not_take_at_once_is_sent_later_and_once)
{
	enum { SAID = 2500 };
	static struct command *said[SAID];

	cramped = true;
	reconnect_peer();
	cramped = false;
	peer.deaf = true;
	for (int i = 0; i < SAID; i++)
		said[i] = say_number(own_parker(), PATIENT_NS, NULL, true);
	lsh_pipeline_flush(line->pipeline);
	call(0, LSH_NEVER, PATIENT_NS); /* who writes the rest, although nothing comes to be read */
	await_true(callers[0].appended);
	await_ms(20);
	peer.deaf = false;
	await_true(peer.heard == SAID + 1);
	answer_all(1);
	for (int i = 0; i < SAID; i++) {
		assert_int_equal(command_await(said[i], lsh_now_ns() + 30 * LSH_S), LSH_ANSWERED);
		command_drop(said[i]);
	}
}

/* ---- storms: callers who call again and again ---- */

static struct stormer {
	struct caller call;
	uint64_t seed;
	atomic_size_t left;
} stormers[CALLERS];

static atomic_bool storm_ends, left_early;
static atomic_size_t outcomes[OUTCOMES]; /* of all */

static void *
call_on(void *arg)
{
	struct stormer *s = arg;

	while (!storm_ends) {
		s->call.wait = (20 + random_below(&s->seed, random_below(&s->seed, 4) == 0 ? 20000 : 500)) * LSH_US;
		call_once(&s->call);
		outcomes[s->call.outcome]++;
		if (s->call.outcome == LSH_UNSENT)
			usleep(100);
		if (s->call.outcome == LEFT) {
			if (s->call.returned < s->call.deadline)
				left_early = true;
			s->left++;
		}
	}
	return NULL;
}

/* At the end of each call goes on `then`. */
static void
storm_begin(void (*then)(struct command *command))
{
	memset(outcomes, 0, sizeof outcomes);
	storm_ends = false;
	cramped = true;
	reconnect_peer();
	for (int i = 0; i < CALLERS; i++) {
		struct stormer *s = &stormers[i];

		*s = (struct stormer){.call = {.patience = PATIENT_NS, .then = then, .commands = 1}, .seed = (uint64_t)i + 1};
		assert_int_equal(pthread_create(&s->call.thread, NULL, call_on, s), 0);
	}
}

/* Nobody has left early. */
static void
storm_end(void)
{
	peer.allowed = SIZE_MAX;
	peer.deaf = cramped = false;
	storm_ends = true;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(stormers[i].call.thread, NULL);
	printf("# %zu answered, %zu left, %zu unsent, %zu unknown\n", outcomes[LSH_ANSWERED], outcomes[LEFT],
	       outcomes[LSH_UNSENT], outcomes[LSH_UNKNOWN]);
	assert_false(left_early);
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
			before[i] = stormers[i].left;
		for (int i = 0; i < CALLERS; i++)
			await_true(stormers[i].left > before[i]);
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

/* Callers read the epoch first and skip what is only asked of a pipeline that is up (the restart guard): a command with
 * the new epoch would then be sent unguarded. */
static struct {
	atomic_uint_fast64_t seen; /* how many epochs it has looked at */
	uint64_t down;             /* how often the pipeline was down in spite of it */
} watcher;

enum { EPOCHS = 20000 };

static void *
watch(void *arg)
{
	uint64_t epoch, before = *(const uint64_t *)arg;

	for (uint64_t round = 1; round <= EPOCHS; round++, before = epoch) {
		for (unsigned spins = 0; (epoch = lsh_pipeline_epoch(line->pipeline)) == before; spins++)
			if (spins % 4096 == 4095)
				sched_yield();
		watcher.down += !lsh_pipeline_is_up(line->pipeline);
		watcher.seen = round;
	}
	return NULL;
}

/* ---- one thread, which has the other end of the connection, too ---- */

enum { FEW = 64, MANY = 4096, PONG = 7 }; /* commands that a pipe has room for, at first and at most; bytes */

static int far; /* the other end */

static void
detach_far(void)
{
	detach_pair();
	close(far);
}

static uint64_t old_epoch; /* of the connection before */
static int64_t before_ns;  /* a moment when there was none */

static void
reattach_pair(void)
{
	old_epoch = lsh_pipeline_epoch(line->pipeline);
	detach_far();
	before_ns = lsh_now_ns();
	far = attach_pair(line);
}

/* A pipeline without a thread of its own. */
static void
begin_bare(void)
{
	line = line_new();
	far = attach_pair(line);
}

static void
end_bare(void)
{
	line_stop(line);
	close(far);
}

#define BARE BETWEEN(begin_bare, end_bare)

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

SENTENCE(the_epoch_of_a_connection_is_not_known_before_it_is_up, BARE)
{
	uint64_t epoch = lsh_pipeline_epoch(line->pipeline);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch, &epoch), 0);
	for (uint64_t round = 1; round <= EPOCHS; round++) {
		int64_t end = await_limit_ns(30);

		reattach_pair();
		while (watcher.seen != round) {
			assert_false(await_is_past(end));
			sched_yield();
		}
	}
	pthread_join(thread, NULL);
	assert_int_equal(watcher.down, 0);
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
	lsh_park(own_parker(), lsh_now_ns()); /* no wake-up is left over from another thread that had it */
	lsh_pipeline_serve(line->pipeline, own_parker(), always, NULL);
	line->calls += 100;
	return arg;
}

SENTENCE(whoever_has_to_go_before_it_serves_does_and_is_called_again, BARE)
{
	struct command *command = command_new(line, "");
	pthread_t thread;

	command->ticket.reader = NULL;
	assert_int_equal(append_ping(command), LSH_APPENDED);
	assert_int_equal(line->calls, 1);
	assert_int_equal(pthread_create(&thread, NULL, serve_in_vain, NULL), 0);
	await_true_for(line->calls == 102, SOON);
	pthread_join(thread, NULL);
	lsh_pipeline_break(line->pipeline, 0);
	assert_int_equal(command->outcome, LSH_UNKNOWN);
	command_drop(command);
}

/* Somebody whose mutex is held while it ends its call. */
enum { CALLS = 32, FIRST_WRITE = 16 }; /* at which answer the reader writes what was appended meanwhile */

static struct {
	struct command *commands[CALLS];
	bool has_mutex;
	int told, told_under_mutex;
} held;

static void
append_another(struct command *command)
{
	held.told++;
	command->arg = ping("PONG");
}

static void
end_another(struct command *command)
{
	struct lsh_ticket *next = &held.commands[FIRST_WRITE]->ticket;

	held.told++;
	assert_false(lsh_pipeline_is_up(command->line->pipeline)); /* what was appended could not be written */
	held.has_mutex = true;
	lsh_pipeline_leave(command->line->pipeline, next->epoch, next->number);
	held.has_mutex = false;
}

static void
note_told(struct command *command)
{
	(void)command;
	held.told++;
	held.told_under_mutex += held.has_mutex;
}

/* They may need the mutex of whoever ends its call. */
SENTENCE(who_ends_its_call_with_a_mutex_held_tells_nobody_of_a_broken_connection, BARE)
{
	for (int i = 0; i < CALLS; i++) {
		held.commands[i] = ping("PONG"); /* which goes at the flush */
		held.commands[i]->then = i == 0 ? append_another : i == FIRST_WRITE - 1 ? end_another : note_told;
	}
	far_hears_all();
	for (int i = 0; i < CALLS; i++)
		far_says("+PONG\r\n");
	shutdown(far, SHUT_RD); /* what it has said arrives, and nothing can be said to it */
	shutdown(far, SHUT_WR);
	for (int i = 0; i < CALLS; i++)
		assert_int_equal(command_await(held.commands[i], LSH_NEVER), i < FIRST_WRITE ? LSH_ANSWERED : LSH_UNKNOWN);
	assert_int_equal(held.told, CALLS);
	assert_int_equal(held.told_under_mutex, 0);
	command_drop(held.commands[0]->arg);
	for (int i = 0; i < CALLS; i++)
		command_drop(held.commands[i]);
}

SCENE(who_breaks_the_connection_itself_does_not_sleep_on, /* who sleeps looks again by itself every 5 s */
      "ping = yes; clock; far HTTP/1.1\r\n; heard = garbled; took < 4000", BARE)
SCENE(a_connection_that_was_just_made_is_not_silent,
      "reattach; ping = yes; break_if_silent; far +PONG\r\n; heard = PONG", BARE)
SCENE(a_command_for_another_connection_is_not_sent,
      "reattach; ping old = down; ping new = yes; far +PONG\r\n; heard = PONG", BARE)

SENTENCE(no_two_connections_have_the_same_epoch, BARE)
{
	uint64_t first = lsh_pipeline_epoch(line->pipeline);
	struct line *other = line_start();
	int end = attach_pair(other);

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

SENTENCE(the_keeper_is_told_once_of_a_pipe_that_grew, BARE)
{
	for (int round = 0; round < 4; round++) {
		fill(FEW + 1, FEW + 1);
		assert_int_equal(line->calls, 1 + round / 2);
		if (round % 2 == 1) /* it becomes small again, and grows anew */
			assert_int_equal(lsh_pipeline_shrink(line->pipeline, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
}

SENTENCE(a_full_pipe_takes_no_more_until_there_is_room, BARE)
{
	fill(MANY + 1, MANY);
	fill(1, 1);
}

SENTENCE(a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is, BARE)
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

SENTENCE(a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken, BARE)
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
	far = attach_pair(line);
}

/* ---- ASKING ---- */

SENTENCE(an_asking_goes_with_its_command_or_not_at_all, BARE)
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
      REFUSED "-MOVED 7 127.0.0.1:7\r\n\"; heard = \"" NOPERM "\"", BARE)
