/* Limits in the pipeline: whoever waits leaves when its own time comes, whoever reads for it, and however the readers come
 * and go.
 *
 * Those who sleep have no timer of their own if the reader wakes in time for them. So with a limit that gets lost on
 * the way from one reader to the next nobody leaves: what these tests look for. No time is measured for that. There are
 * anchors, callers without any limit, whose answers the peer withholds: what has to end must end while they wait.
 * Whatever wakes a reader makes up for a limit that was lost before, so there are rounds with few callers, after which
 * nothing else happens.
 *
 * The peer is a thread with the other end of a socketpair. Each command is a number, and so is its answer. */
#include "base/clock.h"
#include "base/thread.h"
#include "redis/pipeline.h"
#include "tests/redis/caller.h"
#include "tests/support/test.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS = 20, ANCHORS = 2, ALL = CALLERS + ANCHORS };

#define PATIENT_NS (600 * LSH_S)
#define SOON 4 /* s: whoever sleeps looks again by itself every 5 s */

/* ---- the peer ---- */

enum { FRAME = 21 }; /* *1 $10 and a number of ten digits */

struct peer {
	int fd;
	atomic_size_t heard;    /* commands so far */
	atomic_size_t allowed;  /* so many of them may be answered */
	atomic_bool stutters;   /* its answers come in pieces */
	atomic_bool confused;   /* it heard what nobody said */
	pthread_t thread;
};

static unsigned
next_random(unsigned *seed, unsigned below)
{
	return (unsigned)rand_r(seed) % below;
}

static void
say(const struct peer *peer, const char *text, size_t size, unsigned *seed)
{
	while (size > 0) {
		size_t piece = atomic_load(&peer->stutters) ? 1 + next_random(seed, (unsigned)size) : size;
		ssize_t n = send(peer->fd, text, piece, MSG_NOSIGNAL);

		if (n < 0)
			return; /* the end is seen by whoever reads */
		text += n;
		size -= (size_t)n;
		if (size > 0 && next_random(seed, 4) == 0)
			sched_yield();
	}
}

static void *
serve(void *arg)
{
	struct peer *peer = arg;
	static _Thread_local unsigned long numbers[8192]; /* more than can be on their way */
	char bytes[FRAME * 512], text[32 * 64];
	size_t kept = 0, answered = 0;
	unsigned seed = 1;

	for (;;) {
		struct pollfd polled = {.fd = peer->fd, .events = POLLIN};
		size_t size = 0, n;

		if (poll(&polled, 1, 1) > 0) {
			ssize_t got = recv(peer->fd, bytes + kept, sizeof bytes - kept, MSG_DONTWAIT);

			if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
				return NULL;
			kept += got > 0 ? (size_t)got : 0;
		}
		for (n = 0; kept - n * FRAME >= FRAME; n++) {
			const char *frame = bytes + n * FRAME;

			if (memcmp(frame, "*1\r\n$10\r\n", 9) != 0)
				peer->confused = true;
			numbers[peer->heard % 8192] = strtoul(frame + 9, NULL, 10);
			peer->heard++;
		}
		kept -= n * FRAME;
		memmove(bytes, bytes + n * FRAME, kept);
		for (; answered < peer->heard && answered < peer->allowed && size < sizeof text - 32; answered++)
			size += (size_t)snprintf(text + size, sizeof text - size, ":%lu\r\n", numbers[answered % 8192]);
		say(peer, text, size, &seed);
	}
}

/* Another connection of the line, to a peer that has said nothing yet. */
static void
connect_to(struct peer *peer, struct line *line)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	*peer = (struct peer){.fd = fds[1]};
	line_attach(line, (struct lsh_stream){.fd = fds[0]});
	assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static void
disconnect(struct peer *peer, struct line *line)
{
	struct lsh_stream stream = line_detach(line);

	lsh_stream_close(&stream);
	pthread_join(peer->thread, NULL);
	close(peer->fd);
	assert_false(peer->confused);
}

static struct line *
line_to(struct peer *peer)
{
	struct line *line = line_start();

	connect_to(peer, line);
	return line;
}

static void
end_line(struct line *line, struct peer *peer)
{
	disconnect(peer, line);
	line_stop(line);
}

/* ---- callers ---- */

static atomic_uint_fast32_t last_number;

/* A command that is appended; its answer is its number. NULL: it was not, because the pipeline is down. */
static struct command *
say_number(struct line *line, struct lsh_parker *reader, int64_t patience, void (*then)(struct command *command))
{
	unsigned number = (unsigned)++last_number;
	struct command *command;
	struct lsh_arg arg;
	char digits[16];

	snprintf(digits, sizeof digits, "%u", number);
	command = command_new(line, digits);
	command->ticket.reader = reader;
	command->then = then;
	snprintf(digits, sizeof digits, "%010u", number);
	arg = lsh_arg_text(digits);
	if (command_append(command, &arg, 1, patience) == LSH_APPENDED)
		return command;
	command_drop(command);
	return NULL;
}

static struct lsh_parker *
own_parker(void)
{
	return &lsh_self()->parker;
}

struct caller {
	struct line *line;
	int64_t wait, patience; /* LSH_NEVER as a wait: an anchor */
	void (*then)(struct command *command);
	int64_t deadline, overdue, returned; /* moments */
	int outcome; /* or LEFT */
	atomic_bool appended, over;
	pthread_t thread;
};

static void
call_once(struct caller *c)
{
	int64_t now = lsh_now_ns();
	struct command *command;

	c->deadline = c->wait == LSH_NEVER ? LSH_NEVER : now + c->wait;
	c->overdue = now + c->patience;
	c->outcome = LSH_UNSENT;
	command = say_number(c->line, own_parker(), c->patience, c->then);
	if (command != NULL) {
		atomic_store(&c->appended, true);
		c->outcome = command_await(command, c->deadline);
		command_drop(command);
	}
	c->returned = lsh_now_ns();
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
start(struct caller *c, struct line *line, int64_t wait, int64_t patience)
{
	*c = (struct caller){.line = line, .wait = wait, .patience = patience};
	assert_int_equal(pthread_create(&c->thread, NULL, run_once, c), 0);
}

/* Those who have a limit, over or not. */
static size_t
count_over(const struct caller *callers, size_t n)
{
	size_t over = 0;

	for (size_t i = 0; i < n; i++)
		over += callers[i].wait != LSH_NEVER && atomic_load(&callers[i].over);
	return over;
}

/* How it ended and when it left: of those that are over. */
static void
assert_right(const struct caller *c)
{
	assert_true(c->outcome == LSH_ANSWERED || c->outcome == LEFT);
	if (c->outcome == LEFT)
		assert_true(c->returned >= c->deadline);
}

/* The peer answers all; everybody comes home. */
static void
answer_all(struct peer *peer, struct caller *callers, size_t n)
{
	atomic_store(&peer->allowed, SIZE_MAX);
	for (size_t i = 0; i < n; i++) {
		pthread_join(callers[i].thread, NULL);
		assert_right(&callers[i]);
		if (callers[i].wait == LSH_NEVER)
			assert_int_equal(callers[i].outcome, LSH_ANSWERED);
	}
}

static void
shuffle(int64_t *values, size_t n, unsigned *seed)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = next_random(seed, (unsigned)i);
		int64_t value = values[i - 1];

		values[i - 1] = values[k];
		values[k] = value;
	}
}

/* ---- tests; what other threads touch outlives a test that fails ---- */

SENTENCE(those_whom_nobody_answers_leave_when_their_time_comes)
{
	enum order { SOONEST_FIRST, LATEST_FIRST, ANY_ORDER, ORDERS };
	unsigned seed = 7;

	for (int order = 0; order < ORDERS; order++) {
		static struct caller callers[ALL];
		int64_t waits[ALL];
		static struct peer peer;
		struct line *line = line_to(&peer);

		for (int i = 0; i < ALL; i++)
			waits[i] = i < CALLERS ? (5 + i * 295 / (CALLERS - 1)) * LSH_MS : LSH_NEVER;
		if (order == LATEST_FIRST) {
			for (int i = 0; i < ALL / 2; i++) {
				int64_t wait = waits[i];

				waits[i] = waits[ALL - 1 - i];
				waits[ALL - 1 - i] = wait;
			}
		} else if (order == ANY_ORDER) {
			shuffle(waits, ALL, &seed);
		}
		for (int i = 0; i < ALL; i++)
			start(&callers[i], line, waits[i], PATIENT_NS);
		await_true(count_over(callers, ALL) == CALLERS);
		for (int i = 0; i < ALL; i++) {
			assert_int_equal(atomic_load(&callers[i].over), waits[i] != LSH_NEVER);
			if (waits[i] != LSH_NEVER)
				assert_int_equal(callers[i].outcome, LEFT);
		}
		answer_all(&peer, callers, ALL);
		end_line(line, &peer);
	}
}

SENTENCE(a_limit_outlives_the_reader_that_was_to_watch_it)
{
	enum { READER, SLEEPER, FIRST_ANCHOR, SECOND_ANCHOR, FOUR };
	static struct peer peer;
	struct line *line = line_to(&peer);
	size_t said = 0;
	unsigned seed = 11;

	for (int round = 0; round < 150; round++) {
		int64_t wait = (1 + next_random(&seed, 6)) * LSH_MS + next_random(&seed, 1000) * LSH_US;
		bool answered = round % 3 == 0; /* else it leaves */
		static struct caller callers[FOUR];
		int64_t order[] = {SLEEPER, FIRST_ANCHOR, SECOND_ANCHOR};

		atomic_store(&peer.allowed, said);
		start(&callers[READER], line, wait, PATIENT_NS);
		await_true(peer.heard == said + 1);
		shuffle(order, 3, &seed);
		for (size_t i = 0; i < 3; i++) {
			bool anchor = order[i] != SLEEPER;

			start(&callers[order[i]], line, anchor ? LSH_NEVER : wait + next_random(&seed, 8000) * LSH_US, PATIENT_NS);
			if (next_random(&seed, 2) == 0)
				await_true(callers[order[i]].appended);
		}
		if (answered)
			atomic_store(&peer.allowed, said + 1);
		await_true(count_over(callers, FOUR) == 2);
		assert_false(atomic_load(&callers[FIRST_ANCHOR].over) || atomic_load(&callers[SECOND_ANCHOR].over));
		assert_int_equal(callers[SLEEPER].outcome, LEFT);
		answer_all(&peer, callers, FOUR);
		said += FOUR;
		await_true(peer.heard == said);
	}
	end_line(line, &peer);
}

/* Everybody calls once; the peer answers some, more and more of them, and then no more. */
SENTENCE(no_limit_is_lost_while_answers_come_and_callers_leave)
{
	static struct peer peer;
	struct line *line = line_to(&peer);
	size_t said = 0, left = 0, answered = 0;
	unsigned seed = 13;

	atomic_store(&peer.stutters, true);
	for (int round = 0; round < 120; round++) {
		static struct caller callers[ALL];
		size_t anchor = next_random(&seed, ALL), other = next_random(&seed, ALL);

		atomic_store(&peer.allowed, said + next_random(&seed, 4));
		for (size_t i = 0; i < ALL; i++) {
			bool limited = i != anchor && i != other;

			start(&callers[i], line, limited ? (50 + next_random(&seed, 10000)) * LSH_US : LSH_NEVER, PATIENT_NS);
			if (next_random(&seed, 3) == 0)
				atomic_fetch_add(&peer.allowed, next_random(&seed, 3));
		}
		await_true(count_over(callers, ALL) == (anchor == other ? ALL - 1 : ALL - 2));
		answer_all(&peer, callers, ALL);
		said += ALL;
		await_true(peer.heard == said);
		for (size_t i = 0; i < ALL; i++) {
			left += callers[i].outcome == LEFT;
			answered += callers[i].outcome == LSH_ANSWERED;
		}
	}
	printf("# %zu answered, %zu left\n", answered, left);
	assert_true(left > 0 && answered > 0);
	end_line(line, &peer);
}

SENTENCE(an_overdue_command_ends_all_who_wait)
{
	unsigned seed = 17;

	for (int round = 0; round < 25; round++) {
		static struct peer peer;
		struct line *line = line_to(&peer);
		static struct caller callers[CALLERS];
		int overdue = round == 0 ? 0 : (int)next_random(&seed, CALLERS), hasty = (int)next_random(&seed, CALLERS);

		for (int i = 0; i < CALLERS; i++) {
			bool leaves = i != overdue && (i == hasty || next_random(&seed, 4) == 0);

			start(&callers[i], line, leaves ? (1 + next_random(&seed, 40)) * LSH_MS : LSH_NEVER,
			      i == overdue ? 20 * LSH_MS : PATIENT_NS);
		}
		for (int i = 0; i < CALLERS; i++)
			await_true(atomic_load(&callers[i].over));
		for (int i = 0; i < CALLERS; i++)
			pthread_join(callers[i].thread, NULL);
		for (int i = 0; i < CALLERS; i++) {
			const struct caller *c = &callers[i];

			if (c->outcome == LEFT) {
				assert_true(c->wait != LSH_NEVER);
				assert_true(c->returned >= c->deadline);
			} else {
				assert_true(c->outcome == LSH_UNKNOWN || c->outcome == LSH_UNSENT);
				assert_true(c->returned >= callers[overdue].overdue);
			}
		}
		assert_int_equal(callers[overdue].outcome, LSH_UNKNOWN);
		assert_false(lsh_pipeline_is_up(line->pipeline));
		end_line(line, &peer);
	}
}

struct stormer {
	struct caller call;
	unsigned seed;
	uint64_t outcomes[OUTCOMES];
	atomic_size_t left;
	bool early;
};

static struct storm {
	struct stormer stormers[CALLERS];
	atomic_bool ending;
	uint64_t outcomes[OUTCOMES]; /* of all, in the end */
} storm;

static void *
call_on(void *arg)
{
	struct stormer *s = arg;

	while (!atomic_load(&storm.ending)) {
		s->call.wait = (20 + next_random(&s->seed, next_random(&s->seed, 4) == 0 ? 20000 : 500)) * LSH_US;
		call_once(&s->call);
		s->outcomes[s->call.outcome]++;
		if (s->call.outcome == LSH_UNSENT)
			usleep(100);
		if (s->call.outcome == LEFT) {
			s->early |= s->call.returned < s->call.deadline;
			atomic_fetch_add(&s->left, 1);
		}
	}
	return NULL;
}

/* Callers who call again and again, and go on with `then` at each end. */
static void
storm_begin(struct line *line, void (*then)(struct command *command))
{
	memset(&storm, 0, sizeof storm);
	for (int i = 0; i < CALLERS; i++) {
		struct stormer *s = &storm.stormers[i];

		*s = (struct stormer){.call = {.line = line, .patience = PATIENT_NS, .then = then}, .seed = (unsigned)i};
		assert_int_equal(pthread_create(&s->call.thread, NULL, call_on, s), 0);
	}
}

/* Nobody has left early. */
static void
storm_end(struct peer *peer)
{
	atomic_store(&peer->allowed, SIZE_MAX);
	atomic_store(&storm.ending, true);
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(storm.stormers[i].call.thread, NULL);
		assert_false(storm.stormers[i].early);
		for (int k = 0; k < OUTCOMES; k++)
			storm.outcomes[k] += storm.stormers[i].outcomes[k];
	}
	printf("# %" PRIu64 " answered, %" PRIu64 " left, %" PRIu64 " unsent, %" PRIu64 " unknown\n",
	       storm.outcomes[LSH_ANSWERED], storm.outcomes[LEFT], storm.outcomes[LSH_UNSENT],
	       storm.outcomes[LSH_UNKNOWN]);
}

SENTENCE(each_answer_goes_to_whoever_asked_though_the_peer_falls_silent_again_and_again)
{
	static struct peer peer;
	struct line *line = line_to(&peer);
	unsigned seed = 19;

	atomic_store(&peer.stutters, true);
	storm_begin(line, NULL);
	for (int round = 0; round < 40; round++) {
		size_t before[CALLERS];

		atomic_store(&peer.allowed, SIZE_MAX);
		await_ms(1 + next_random(&seed, 30));
		/* silent, but for a few more: each of them has nothing but its limit to end by */
		atomic_store(&peer.allowed, peer.heard + next_random(&seed, 10));
		for (int i = 0; i < CALLERS; i++)
			before[i] = storm.stormers[i].left;
		for (int i = 0; i < CALLERS; i++)
			await_true(storm.stormers[i].left > before[i]);
	}
	storm_end(&peer);
	assert_int_equal(storm.outcomes[LSH_UNKNOWN] + storm.outcomes[LSH_UNSENT] + storm.outcomes[LSH_GARBLED], 0);
	assert_true(storm.outcomes[LSH_ANSWERED] > 0);
	end_line(line, &peer);
}

/* ---- a thread that sleeps, and for which somebody else keeps the time ---- */

struct sleeper {
	struct line *line;
	struct command *command; /* it waits while this is on its way, */
	struct command *other;   /* and until this has ended; NULL: for ever */
	int64_t deadline;
	atomic_bool said, go, over;
	pthread_t thread;
};

static bool
has_other_ended(void *arg)
{
	const struct sleeper *s = arg;

	return s->other != NULL && atomic_load(&s->other->over);
}

static void *
sleep_in_pipe(void *arg)
{
	struct sleeper *s = arg;
	bool has_other = s->other != NULL;

	s->command = say_number(s->line, own_parker(), PATIENT_NS, NULL);
	if (has_other)
		s->other = say_number(s->line, own_parker(), PATIENT_NS, NULL);
	lsh_pipeline_flush(s->line->pipeline);
	atomic_store(&s->said, true);
	while (!atomic_load(&s->go))
		sched_yield();
	lsh_pipeline_wait(s->line->pipeline, own_parker(), s->command->ticket.epoch, s->command->ticket.number, has_other_ended, s,
	              s->deadline);
	atomic_store(&s->over, true);
	return NULL;
}

/* It sleeps, and another thread, which came later, reads for it for 100 ms. */
static void
put_to_sleep(struct sleeper *s, struct caller *reader, struct line *line, struct peer *peer, bool has_other,
             int64_t wait)
{
	static struct command some;
	size_t commands = has_other ? 3 : 2;

	*s = (struct sleeper){.line = line, .other = has_other ? &some : NULL};
	s->deadline = wait == LSH_NEVER ? LSH_NEVER : lsh_now_ns() + wait;
	assert_int_equal(pthread_create(&s->thread, NULL, sleep_in_pipe, s), 0);
	await_true(atomic_load(&s->said));
	start(reader, line, 100 * LSH_MS, PATIENT_NS);
	await_true(peer->heard == commands);
	await_ms(5);
	atomic_store(&s->go, true);
	await_ms(20);
}

SENTENCE(a_sleeper_leaves_in_time_whatever_becomes_of_its_command)
{
	enum fate { ENDED, LEFT_BY_ANOTHER, BROKEN, FATES };

	for (int fate = 0; fate < FATES; fate++) {
		static struct sleeper s;
		static struct caller reader;
		static struct peer peer;
		struct line *line = line_to(&peer);

		put_to_sleep(&s, &reader, line, &peer, false, 200 * LSH_MS);
		if (fate == ENDED)
			atomic_store(&peer.allowed, 1);
		else if (fate == LEFT_BY_ANOTHER)
			lsh_pipeline_leave(line->pipeline, s.command->ticket.epoch, s.command->ticket.number);
		else
			lsh_pipeline_break(line->pipeline, 0);
		await_true(atomic_load(&s.over));
		assert_true(lsh_now_ns() >= s.deadline);
		pthread_join(s.thread, NULL);
		pthread_join(reader.thread, NULL);
		command_drop(s.command);
		end_line(line, &peer);
	}
}

SENTENCE(a_thread_reads_for_each_of_its_commands_whichever_it_waits_with)
{
	static struct sleeper s;
	static struct caller reader;
	static struct peer peer;
	struct line *line = line_to(&peer);

	put_to_sleep(&s, &reader, line, &peer, true, LSH_NEVER);
	atomic_store(&peer.allowed, 1); /* the one that it waits with ends, and then the reader leaves */
	await_true(atomic_load(&reader.over));
	assert_int_equal(reader.outcome, LEFT);
	atomic_store(&peer.allowed, SIZE_MAX);
	await_true(atomic_load(&s.over));
	pthread_join(s.thread, NULL);
	pthread_join(reader.thread, NULL);
	command_drop(s.command);
	command_drop(s.other);
	end_line(line, &peer);
}

SENTENCE(a_thread_that_will_not_read_leaves_its_turn_to_another)
{
	static struct caller reader, sleeper;
	static struct peer peer;
	struct line *line = line_to(&peer);
	struct command *first = say_number(line, own_parker(), PATIENT_NS, NULL);

	start(&reader, line, 100 * LSH_MS, PATIENT_NS);
	await_true(peer.heard == 2);
	await_ms(5);
	start(&sleeper, line, LSH_NEVER, PATIENT_NS);
	await_true(peer.heard == 3);
	await_true(atomic_load(&reader.over)); /* and the turn is ours */
	lsh_pipeline_leave(line->pipeline, first->ticket.epoch, first->ticket.number);
	atomic_store(&peer.allowed, SIZE_MAX);
	await_true(atomic_load(&sleeper.over));
	pthread_join(reader.thread, NULL);
	pthread_join(sleeper.thread, NULL);
	command_drop(first);
	end_line(line, &peer);
}

SENTENCE(a_later_command_with_less_patience_breaks_the_connection_in_time)
{
	for (int alone = 0; alone < 2; alone++) {
		static struct caller patient, hasty;
		static struct peer peer;
		struct line *line = line_to(&peer);

		start(&patient, line, LSH_NEVER, PATIENT_NS);
		await_true(peer.heard == 1);
		await_ms(100); /* it sleeps in poll(), even if it was woken once for nothing */
		if (alone == 1) {
			command_drop(say_number(line, NULL, 30 * LSH_MS, NULL));
			lsh_pipeline_flush(line->pipeline);
		} else {
			start(&hasty, line, LSH_NEVER, 30 * LSH_MS);
		}
		await_true_for(atomic_load(&patient.over), SOON);
		pthread_join(patient.thread, NULL);
		assert_int_equal(patient.outcome, LSH_UNKNOWN);
		if (alone == 0)
			pthread_join(hasty.thread, NULL);
		end_line(line, &peer);
	}
}

/* ---- the pipeline's own thread, without the line's ---- */

static atomic_int calls;

static void
count_call(void *ctx)
{
	(void)ctx;
	calls++;
}

static bool
always(void *arg)
{
	(void)arg;
	return true;
}

static void
note_end(struct lsh_ticket *ticket, enum lsh_outcome outcome, const struct lsh_message *message)
{
	(void)message;
	ticket->overdue = (int64_t)outcome;
}

static void *
serve_in_vain(void *pipeline)
{
	lsh_park(own_parker(), lsh_now_ns()); /* no wake-up is left over from another thread that had it */
	lsh_pipeline_serve(pipeline, own_parker(), always, NULL);
	calls += 100;
	return NULL;
}

SENTENCE(whoever_has_to_go_before_it_serves_does_and_is_called_again)
{
	static struct lsh_ticket ticket;
	struct lsh_pipeline *pipeline = lsh_pipeline_new(count_call, NULL);
	struct lsh_arg ping[] = {LSH_ARG("PING")};
	pthread_t thread;
	int fds[2];

	calls = 0;
	ticket = (struct lsh_ticket){.done = note_end};
	assert_non_null(pipeline);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_true(lsh_pipeline_attach(pipeline, (struct lsh_stream){.fd = fds[0]}));
	assert_int_equal(lsh_pipeline_append(pipeline, &ticket, ping, 1, lsh_now_ns(), PATIENT_NS), LSH_APPENDED);
	assert_int_equal(calls, 1);
	assert_int_equal(pthread_create(&thread, NULL, serve_in_vain, pipeline), 0);
	await_true_for(calls == 102, SOON);
	pthread_join(thread, NULL);
	lsh_pipeline_break(pipeline, 0);
	assert_int_equal(ticket.overdue, LSH_UNKNOWN);
	lsh_pipeline_free(pipeline);
	close(fds[1]);
}

/* ---- what ends a command ---- */

static atomic_uint ends;

/* Called in-line when a command has ended: it appends another, which nobody waits for, flushes, or breaks the
 * connection. */
static void
go_on(struct command *command)
{
	unsigned seed = ++ends;
	struct command *more = NULL;

	if (next_random(&seed, 3) > 0)
		more = say_number(command->line, NULL, PATIENT_NS, next_random(&seed, 2) == 0 ? go_on : NULL);
	if (more != NULL)
		command_drop(more);
	if (next_random(&seed, 3) == 0)
		lsh_pipeline_flush(command->line->pipeline);
	if (next_random(&seed, 2000) == 0)
		lsh_pipeline_break(command->line->pipeline, command->ticket.epoch);
}

SENTENCE(each_command_ends_once_whatever_its_end_does_and_whenever_the_connection_breaks)
{
	static struct peer peer;
	struct line *line = line_to(&peer);
	unsigned seed = 23;

	storm_begin(line, go_on);
	for (int round = 0; round < 150; round++) {
		atomic_store(&peer.stutters, round % 3 == 0);
		atomic_store(&peer.allowed, round % 5 == 0 ? next_random(&seed, 100) : SIZE_MAX);
		await_ms(next_random(&seed, 12));
		disconnect(&peer, line);
		connect_to(&peer, line);
	}
	storm_end(&peer);
	printf("# %u ended commands appended others\n", ends);
	assert_int_equal(storm.outcomes[LSH_GARBLED], 0);
	assert_true(storm.outcomes[LSH_ANSWERED] > 0 && storm.outcomes[LSH_UNKNOWN] > 0);
	end_line(line, &peer);
}

struct watcher {
	struct lsh_pipeline *pipeline;
	uint64_t rounds;
	atomic_uint_fast64_t seen; /* how many epochs it has looked at */
	uint64_t down;             /* how often the pipeline was down in spite of it */
};

static void *
watch(void *arg)
{
	struct watcher *w = arg;
	uint64_t epoch = 0, before = 0;

	for (uint64_t round = 1; round <= w->rounds; round++, before = epoch) {
		for (unsigned spins = 0; (epoch = lsh_pipeline_epoch(w->pipeline)) == before; spins++)
			if (spins % 4096 == 4095)
				sched_yield();
		w->down += !lsh_pipeline_is_up(w->pipeline);
		atomic_store(&w->seen, round);
	}
	return NULL;
}

/* Callers read the epoch first and skip what is only asked of a pipeline that is up (the restart guard): a command with the
 * new epoch would then be sent unguarded. */
SENTENCE(the_epoch_of_a_connection_is_not_known_before_it_is_up)
{
	struct line *line = line_start();
	struct watcher w = {.pipeline = line->pipeline, .rounds = 20000};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch, &w), 0);
	for (uint64_t round = 1; round <= w.rounds; round++) {
		int64_t end = await_limit_ns(30);
		int fds[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		line_attach(line, (struct lsh_stream){.fd = fds[0]});
		while (atomic_load(&w.seen) != round) {
			assert_true(await_now_ns() < end);
			sched_yield();
		}
		assert_int_equal(line_detach(line).fd, fds[0]);
		close(fds[0]);
		close(fds[1]);
	}
	pthread_join(thread, NULL);
	assert_int_equal(w.down, 0);
	line_stop(line);
}
