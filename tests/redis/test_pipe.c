/* The pipe: every reply goes to whoever asked, nobody hangs, and a caller ends when its time ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "redis/dial.h"
#include "redis/pipe.h"
#include "tests/support/await.h"
#include "tests/support/counted.h"
#include "tests/support/fake.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 24 };

#define PATIENT_NS INT64_C(30000000000)

static _Atomic int breaks, growths;

static int
start(void **state)
{
	start_server(state);
	return counted_start(state);
}

static void
broke(void *ctx)
{
	(void)ctx;
	breaks++;
}

static void
grew(void *ctx)
{
	(void)ctx;
	growths++;
}

static const struct lsh_pipe_ops ops = {.broke = broke, .grew = grew};

/* A connected wire, by the library's own way of connecting. */
static struct lsh_wire
connect_to(const char *to)
{
	struct lsh_uri parsed;
	struct lsh_dial *dial;
	struct lsh_hello hello = {.wire = LSH_NO_WIRE};
	enum lsh_dialed dialed;
	leash_error err;

	assert_int_equal(lsh_uri_parse(&parsed, to, &err), LEASH_OK);
	dial = lsh_dial_new(&parsed, "test", NULL);
	assert_non_null(dial);
	lsh_dial_start(dial, lsh_now_ns() + PATIENT_NS);
	while ((dialed = lsh_dial_step(dial, &hello, &err)) == LSH_DIAL_WAIT) {
		int64_t deadline;
		struct pollfd polled = lsh_dial_poll(dial, &deadline);

		poll(&polled, 1, 1000);
	}
	assert_int_equal(dialed, LSH_DIAL_DONE);
	lsh_dial_free(dial);
	lsh_uri_clear(&parsed);
	return hello.wire;
}

static struct lsh_pipe *
pipe_to(const char *to, int send_buffer)
{
	struct lsh_pipe *pipe = lsh_pipe_new(&ops, NULL);
	struct lsh_wire wire = connect_to(to);

	assert_non_null(pipe);
	if (send_buffer > 0)
		setsockopt(wire.fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
	assert_true(lsh_pipe_attach(pipe, wire));
	return pipe;
}

static void
end_pipe(struct lsh_pipe *pipe)
{
	struct lsh_wire wire;

	lsh_pipe_break(pipe, 0);
	await_true((wire = lsh_pipe_detach(pipe)).fd >= 0);
	lsh_wire_close(&wire);
	lsh_pipe_free(pipe);
}

/* ECHO id, padded; the outcome, and whether the answer was its own. */
static enum lsh_outcome
echo(struct lsh_pipe *pipe, const char *id, size_t padding, int64_t deadline, int64_t patience, bool *mine)
{
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
	static const char spaces[60001] = {' '};
	char text[64];
	struct lsh_arg args[] = {LSH_ARG("EVAL"), LSH_ARG("return ARGV[1]"), LSH_ARG("0"), lsh_arg_text(id), {spaces, padding}};
	enum lsh_appended appended;
	enum lsh_outcome outcome;

	snprintf(text, sizeof text, "%s", id);
	while ((appended = lsh_pipe_append(pipe, &ticket, args, 5, lsh_now_ns(), patience)) == LSH_PIPE_FULL)
		lsh_pipe_await_room(pipe, LSH_NEVER);
	if (appended == LSH_PIPE_DOWN)
		return LSH_UNSENT;
	outcome = lsh_pipe_await(pipe, &ticket, deadline);
	*mine = outcome == LSH_ANSWERED && strcmp(ticket.reply.text, text) == 0;
	return outcome;
}

struct caller {
	struct lsh_pipe *pipe;
	int n;
	int64_t end;
	bool gives_up;
	size_t padding;
	uint64_t outcomes[6], misattributed;
	int64_t latest; /* past its deadline */
	pthread_t thread;
};

static void *
call(void *arg)
{
	struct caller *c = arg;
	unsigned seed = (unsigned)c->n;

	for (int i = 0; lsh_now_ns() < c->end; i++) {
		bool hasty = c->gives_up && rand_r(&seed) % 3 == 0, mine = false;
		int64_t now = lsh_now_ns(), deadline = hasty ? now + 20000 + rand_r(&seed) % 400000 : LSH_NEVER;
		size_t padding = c->padding > 0 && rand_r(&seed) % 20 == 0 ? (size_t)rand_r(&seed) % c->padding : 0;
		char id[32];
		enum lsh_outcome outcome;

		snprintf(id, sizeof id, "%d.%d", c->n, i);
		outcome = echo(c->pipe, id, padding, deadline, PATIENT_NS, &mine);
		c->outcomes[outcome]++;
		c->misattributed += outcome == LSH_ANSWERED && !mine;
		if (outcome == LSH_GIVEN_UP && lsh_now_ns() - deadline > c->latest)
			c->latest = lsh_now_ns() - deadline;
		if (outcome == LSH_UNSENT || outcome == LSH_UNKNOWN)
			break;
	}
	return NULL;
}

static void
run_callers(struct lsh_pipe *pipe, struct caller *callers, int seconds, bool gives_up, size_t padding)
{
	for (int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){.pipe = pipe, .n = i, .end = lsh_now_ns() + seconds * LSH_S, .gives_up = gives_up, .padding = padding};
		assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
	}
}

static struct caller
join_callers(struct caller *callers)
{
	struct caller sum = {0};

	for (int i = 0; i < THREADS; i++) {
		pthread_join(callers[i].thread, NULL);
		for (int k = 0; k < 6; k++)
			sum.outcomes[k] += callers[i].outcomes[k];
		sum.misattributed += callers[i].misattributed;
		sum.latest = callers[i].latest > sum.latest ? callers[i].latest : sum.latest;
	}
	printf("# %llu answered, %llu given up (at most %.2f ms late), %llu unsent, %llu unknown\n", (unsigned long long)sum.outcomes[LSH_ANSWERED],
	       (unsigned long long)sum.outcomes[LSH_GIVEN_UP], (double)sum.latest / 1e6, (unsigned long long)sum.outcomes[LSH_UNSENT],
	       (unsigned long long)sum.outcomes[LSH_UNKNOWN]);
	return sum;
}

static void
one_caller_gets_its_answers_in_turn(void **state)
{
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	bool mine;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		char id[16];

		snprintf(id, sizeof id, "%d", i);
		assert_int_equal(echo(pipe, id, 0, LSH_NEVER, PATIENT_NS, &mine), LSH_ANSWERED);
		assert_true(mine);
	}
	end_pipe(pipe);
}

static void
every_answer_goes_to_whoever_asked_though_callers_give_up_and_the_server_stutters(void **state)
{
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 8192);
	struct caller callers[THREADS], sum;

	(void)state;
	/* a small send buffer and long commands, so that writes are partial */
	run_callers(pipe, callers, 4, true, 60000);
	for (int i = 0; i < 20; i++) {
		await_ms(150);
		server_pause(server);
		await_ms(3);
		server_resume(server);
	}
	sum = join_callers(callers);
	assert_int_equal(sum.misattributed, 0);
	assert_int_equal(sum.outcomes[LSH_UNSENT] + sum.outcomes[LSH_UNKNOWN], 0);
	assert_true(sum.outcomes[LSH_GIVEN_UP] > 0);
	assert_true(sum.outcomes[LSH_ANSWERED] > 100);
	end_pipe(pipe);
}

static void
a_broken_connection_ends_every_caller(void **state)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	(void)state;
	for (int round = 0; round < 5; round++) {
		struct lsh_pipe *pipe = pipe_to(proxy_uri(proxy), 0);
		struct caller callers[THREADS], sum;

		run_callers(pipe, callers, 600, round % 2 == 0, 0);
		await_ms(100);
		if (round % 2 == 0)
			proxy_reset_all(proxy);
		else
			lsh_pipe_break(pipe, 0);
		sum = join_callers(callers);
		assert_int_equal(sum.misattributed, 0);
		assert_int_equal(sum.outcomes[LSH_UNSENT] + sum.outcomes[LSH_UNKNOWN], THREADS);
		end_pipe(pipe);
	}
	proxy_stop(proxy);
}

static void
a_command_that_is_overdue_breaks_the_connection_for_all(void **state)
{
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	bool mine;
	int before = breaks;

	(void)state;
	server_pause(server);
	assert_int_equal(echo(pipe, "late", 0, LSH_NEVER, 50 * LSH_MS, &mine), LSH_UNKNOWN);
	assert_true(breaks > before);
	assert_false(lsh_pipe_is_up(pipe));
	assert_int_equal(echo(pipe, "later", 0, LSH_NEVER, PATIENT_NS, &mine), LSH_UNSENT);
	server_resume(server);
	end_pipe(pipe);
}

static void
a_caller_who_gives_up_leaves_the_connection_as_it_is(void **state)
{
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	bool mine;

	(void)state;
	server_pause(server);
	for (int i = 0; i < 10; i++)
		assert_int_equal(echo(pipe, "gone", 0, lsh_now_ns() + 5 * LSH_MS, PATIENT_NS, &mine), LSH_GIVEN_UP);
	server_resume(server);
	assert_int_equal(echo(pipe, "there", 0, LSH_NEVER, PATIENT_NS, &mine), LSH_ANSWERED);
	assert_true(mine);
	end_pipe(pipe);
}

static void
a_command_for_another_connection_is_not_sent(void **state)
{
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &lsh_self()->parker, .epoch = lsh_pipe_epoch(pipe)};
	struct lsh_arg ping[] = {LSH_ARG("PING")};
	struct lsh_wire wire;

	(void)state;
	lsh_pipe_break(pipe, 0);
	await_true((wire = lsh_pipe_detach(pipe)).fd >= 0);
	lsh_wire_close(&wire);
	assert_true(lsh_pipe_attach(pipe, connect_to(server_uri(server))));
	assert_int_equal(lsh_pipe_append(pipe, &ticket, ping, 1, lsh_now_ns(), PATIENT_NS), LSH_PIPE_DOWN);
	ticket.epoch = lsh_pipe_epoch(pipe);
	assert_int_equal(lsh_pipe_append(pipe, &ticket, ping, 1, lsh_now_ns(), PATIENT_NS), LSH_APPENDED);
	assert_int_equal(lsh_pipe_await(pipe, &ticket, LSH_NEVER), LSH_ANSWERED);
	assert_string_equal(ticket.reply.text, "PONG");
	end_pipe(pipe);
}

/* Append PINGs, as many as it takes, and no more than `most`. */
static size_t
say_many(struct lsh_pipe *pipe, struct lsh_ticket *tickets, size_t most)
{
	struct lsh_arg args[] = {LSH_ARG("PING")};
	size_t n = 0;

	for (; n < most; n++) {
		tickets[n] = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
		if (lsh_pipe_append(pipe, &tickets[n], args, 1, lsh_now_ns(), PATIENT_NS) != LSH_APPENDED)
			break;
	}
	return n;
}

static void
await_answers(struct lsh_pipe *pipe, struct lsh_ticket *tickets, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lsh_pipe_await(pipe, &tickets[i], LSH_NEVER), LSH_ANSWERED);
}

static void
a_full_pipe_takes_no_more_until_there_is_room(void **state)
{
	enum { MANY = 4096 };
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	struct lsh_ticket *tickets = calloc(MANY + 1, sizeof *tickets);

	(void)state;
	assert_non_null(tickets);
	assert_int_equal(say_many(pipe, tickets, MANY + 1), MANY);
	await_answers(pipe, tickets, MANY);
	assert_int_equal(say_many(pipe, tickets, 1), 1);
	await_answers(pipe, tickets, 1);
	end_pipe(pipe);
	free(tickets);
}

static void
a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is(void **state)
{
	enum { FEW = 64, MANY = 4096 };
	struct lsh_ticket *tickets = calloc(MANY, sizeof *tickets);
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);

	(void)state;
	assert_non_null(tickets);
	for (int round = 0; round < 3; round++) {
		counted.calls = 0;
		counted.fail_at = 1;
		counted.fail_on = true;
		assert_int_equal(say_many(pipe, tickets, MANY), FEW);
		lsh_pipe_await_room(pipe, lsh_now_ns() + PATIENT_NS);
		await_answers(pipe, tickets, FEW);
		assert_true(counted.calls > 0);
		counted.fail_at = 0;
		counted.fail_on = false;
	}
	assert_int_equal(say_many(pipe, tickets, MANY), MANY);
	await_answers(pipe, tickets, MANY);
	end_pipe(pipe);
	free(tickets);
}

static void
a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken(void **state)
{
	enum { MANY = 4096 };
	struct lsh_ticket *tickets = calloc(MANY, sizeof *tickets);
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	int64_t before = counted.bytes;
	struct lsh_wire wire;

	(void)state;
	assert_non_null(tickets);
	for (int round = 0; round < 3; round++) {
		int grown = growths;
		int64_t at;

		assert_int_equal(lsh_pipe_shrink(pipe, lsh_now_ns()), LSH_NEVER);
		assert_int_equal(say_many(pipe, tickets, 1), 1);
		await_answers(pipe, tickets, 1);
		assert_int_equal(growths, grown);
		assert_true(counted.bytes == before);
		assert_int_equal(say_many(pipe, tickets, MANY), MANY);
		await_answers(pipe, tickets, MANY);
		assert_int_equal(growths, grown + 1);
		assert_true(counted.bytes > before + 60000);
		if (round == 2)
			break;
		at = lsh_pipe_shrink(pipe, lsh_now_ns());
		assert_true(at != LSH_NEVER && counted.bytes > before + 60000);
		assert_int_equal(say_many(pipe, tickets, 1), 1);
		assert_true(lsh_pipe_shrink(pipe, at) > at); /* it is not quiet */
		await_answers(pipe, tickets, 1);
		assert_int_equal(lsh_pipe_shrink(pipe, lsh_now_ns() + 2 * LSH_S), LSH_NEVER);
	}
	lsh_pipe_break(pipe, 0);
	await_true((wire = lsh_pipe_detach(pipe)).fd >= 0);
	assert_int_equal(lsh_pipe_shrink(pipe, lsh_now_ns()), LSH_NEVER);
	assert_true(counted.bytes == before);
	lsh_wire_close(&wire);
	lsh_pipe_free(pipe);
	free(tickets);
}

static void
no_two_connections_have_the_same_epoch(void **state)
{
	struct lsh_pipe *one = pipe_to(server_uri(server), 0), *other = pipe_to(server_uri(server), 0);
	uint64_t first = lsh_pipe_epoch(one), second = lsh_pipe_epoch(other);
	struct lsh_wire wire;

	(void)state;
	assert_true(first != 0 && second > first);
	assert_int_equal(lsh_pipe_connects(one), 1);
	lsh_pipe_break(one, second); /* not its own */
	assert_true(lsh_pipe_is_up(one));
	lsh_pipe_break(one, first);
	await_true((wire = lsh_pipe_detach(one)).fd >= 0);
	lsh_wire_close(&wire);
	assert_true(lsh_pipe_attach(one, connect_to(server_uri(server))));
	assert_true(lsh_pipe_epoch(one) > second);
	assert_int_equal(lsh_pipe_connects(one), 2);
	assert_int_equal(lsh_pipe_connects(other), 1);
	end_pipe(one);
	end_pipe(other);
}

/* ---- ASKING ---- */

static size_t
answer_asking(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx;
	return fake_is(argc, argv, argl, 0, "ASKING") ? fake_say(out, size, "-ERR nobody hears this\r\n") : FAKE_DEFAULT;
}

struct asker {
	struct lsh_pipe *pipe;
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
		struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
		enum lsh_appended appended = (a->asks ? lsh_pipe_append_asking : lsh_pipe_append)(a->pipe, &ticket, args, 2, lsh_now_ns(), PATIENT_NS);

		a->wrong += appended != LSH_APPENDED || lsh_pipe_await(a->pipe, &ticket, LSH_NEVER) != LSH_ANSWERED ||
			strcmp(ticket.reply.text, text) != 0;
	}
	return NULL;
}

static void
nothing_comes_between_an_asking_and_its_command(void **state)
{
	struct fake *fake = fake_start(answer_asking, NULL);
	struct lsh_pipe *pipe = pipe_to(fake_uri(fake), 0);
	struct asker askers[ASKERS] = {{0}};
	size_t begun = fake_count(fake, NULL), asked = 0;
	bool asking = false;

	(void)state;
	for (int i = 0; i < ASKERS; i++) {
		askers[i] = (struct asker){.pipe = pipe, .asks = i % 2 == 0};
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
	end_pipe(pipe);
	fake_stop(fake);
}

static void
an_asking_goes_with_its_command_or_not_at_all(void **state)
{
	enum { MANY = 4096 };
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	struct lsh_ticket *tickets = calloc(MANY, sizeof *tickets);
	struct lsh_arg ping[] = {LSH_ARG("PING")};
	int64_t begun = await_now_ns();

	(void)state;
	assert_non_null(tickets);
	for (size_t i = 0; i < MANY; i++)
		tickets[i] = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
	for (size_t i = 0; i < MANY - 1; i++)
		assert_int_equal(lsh_pipe_append(pipe, &tickets[i], ping, 1, begun, PATIENT_NS), LSH_APPENDED);
	/* there is room for one */
	assert_int_equal(lsh_pipe_append_asking(pipe, &tickets[MANY - 1], ping, 1, begun, PATIENT_NS), LSH_PIPE_FULL);
	assert_int_equal(lsh_pipe_append(pipe, &tickets[MANY - 1], ping, 1, begun, PATIENT_NS), LSH_APPENDED);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(lsh_pipe_await(pipe, &tickets[i], LSH_NEVER), LSH_ANSWERED);
	assert_int_equal(lsh_pipe_commands(pipe), MANY);
	/* of a connection that is gone nothing is appended */
	tickets[0].epoch = lsh_pipe_epoch(pipe) + 1;
	assert_int_equal(lsh_pipe_append_asking(pipe, &tickets[0], ping, 1, begun, PATIENT_NS), LSH_PIPE_DOWN);
	tickets[0].epoch = 0;
	assert_int_equal(lsh_pipe_append_asking(pipe, &tickets[0], ping, 1, begun, PATIENT_NS), LSH_APPENDED);
	assert_int_equal(lsh_pipe_await(pipe, &tickets[0], LSH_NEVER), LSH_ANSWERED);
	assert_string_equal(tickets[0].reply.text, "PONG");
	assert_int_equal(lsh_pipe_commands(pipe), MANY + 2);
	end_pipe(pipe);
	free(tickets);
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
check_get(struct lsh_pipe *pipe, const char *key, bool asking, const char *expected)
{
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
	struct lsh_arg get[] = {LSH_ARG("GET"), lsh_arg_text(key)};

	assert_int_equal((asking ? lsh_pipe_append_asking : lsh_pipe_append)(pipe, &ticket, get, 2, await_now_ns(), PATIENT_NS), LSH_APPENDED);
	assert_int_equal(lsh_pipe_await(pipe, &ticket, LSH_NEVER), LSH_ANSWERED);
	if (strncmp(ticket.reply.text, expected, strlen(expected)) != 0)
		fail_msg("%s: %s", key, ticket.reply.text);
}

static void
who_is_sent_elsewhere_because_asking_was_refused_is_told_that(void **state)
{
	struct fake *fake = fake_start(answer_without_asking, NULL);
	struct lsh_pipe *pipe = pipe_to(fake_uri(fake), 0);

	(void)state;
	check_get(pipe, "away", true, "NOPERM User locks has no permissions to run the 'asking' command");
	check_get(pipe, "away", false, "MOVED 7"); /* nor is it told of one that was before */
	check_get(pipe, "hello", true, "hello");
	check_get(pipe, "here", true, "OOM");
	check_get(pipe, "away", true, "NOPERM");
	end_pipe(pipe);
	fake_stop(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_caller_gets_its_answers_in_turn),
		cmocka_unit_test(every_answer_goes_to_whoever_asked_though_callers_give_up_and_the_server_stutters),
		cmocka_unit_test(a_broken_connection_ends_every_caller),
		cmocka_unit_test(a_command_that_is_overdue_breaks_the_connection_for_all),
		cmocka_unit_test(a_caller_who_gives_up_leaves_the_connection_as_it_is),
		cmocka_unit_test(a_command_for_another_connection_is_not_sent),
		cmocka_unit_test(a_full_pipe_takes_no_more_until_there_is_room),
		cmocka_unit_test(a_pipe_without_memory_to_grow_is_full_and_goes_on_as_it_is),
		cmocka_unit_test(a_pipe_gives_back_what_it_grew_by_once_it_is_quiet_or_broken),
		cmocka_unit_test(no_two_connections_have_the_same_epoch),
		cmocka_unit_test(nothing_comes_between_an_asking_and_its_command),
		cmocka_unit_test(an_asking_goes_with_its_command_or_not_at_all),
		cmocka_unit_test(who_is_sent_elsewhere_because_asking_was_refused_is_told_that),
	};

	return cmocka_run_group_tests_name("pipe", tests, start, stop_server);
}
