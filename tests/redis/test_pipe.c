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
#include "tests/support/proxy.h"
#include "tests/support/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { THREADS = 24 };

#define PATIENT_NS INT64_C(30000000000)

static struct server *server;
static _Atomic int breaks;

static int
start(void **state)
{
	(void)state;
	server = server_start(NULL);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

static void
broke(void *ctx)
{
	(void)ctx;
	breaks++;
}

static const struct lsh_pipe_ops ops = {.broke = broke};

/* A connected socket, by the library's own way of connecting. */
static int
connect_to(const char *uri)
{
	struct lsh_uri parsed;
	struct lsh_dial *dial;
	struct lsh_hello hello = {.fd = -1};
	enum lsh_dialed dialed;
	leash_error err;

	assert_int_equal(lsh_uri_parse(&parsed, uri, &err), LEASH_OK);
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
	return hello.fd;
}

static struct lsh_pipe *
pipe_to(const char *uri, int send_buffer)
{
	struct lsh_pipe *pipe = lsh_pipe_new(&ops, NULL);
	int fd = connect_to(uri);

	assert_non_null(pipe);
	if (send_buffer > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
	assert_true(lsh_pipe_attach(pipe, fd));
	return pipe;
}

static void
end_pipe(struct lsh_pipe *pipe)
{
	int fd;

	lsh_pipe_break(pipe, 0);
	await_true((fd = lsh_pipe_detach(pipe)) >= 0);
	close(fd);
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
	int fd;

	(void)state;
	lsh_pipe_break(pipe, 0);
	await_true((fd = lsh_pipe_detach(pipe)) >= 0);
	close(fd);
	assert_true(lsh_pipe_attach(pipe, connect_to(server_uri(server))));
	assert_int_equal(lsh_pipe_append(pipe, &ticket, ping, 1, lsh_now_ns(), PATIENT_NS), LSH_PIPE_DOWN);
	ticket.epoch = lsh_pipe_epoch(pipe);
	assert_int_equal(lsh_pipe_append(pipe, &ticket, ping, 1, lsh_now_ns(), PATIENT_NS), LSH_APPENDED);
	assert_int_equal(lsh_pipe_await(pipe, &ticket, LSH_NEVER), LSH_ANSWERED);
	assert_string_equal(ticket.reply.text, "PONG");
	end_pipe(pipe);
}

static void
a_full_pipe_takes_no_more_until_there_is_room(void **state)
{
	enum { MANY = 4096 };
	struct lsh_pipe *pipe = pipe_to(server_uri(server), 0);
	struct lsh_ticket *tickets = calloc(MANY + 1, sizeof *tickets);
	struct lsh_arg ping[] = {LSH_ARG("PING")};
	size_t n = 0;

	(void)state;
	assert_non_null(tickets);
	for (; n <= MANY; n++) {
		tickets[n] = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &lsh_self()->parker};
		if (lsh_pipe_append(pipe, &tickets[n], ping, 1, lsh_now_ns(), PATIENT_NS) == LSH_PIPE_FULL)
			break;
	}
	assert_int_equal(n, MANY);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lsh_pipe_await(pipe, &tickets[i], LSH_NEVER), LSH_ANSWERED);
	assert_int_equal(lsh_pipe_append(pipe, &tickets[n], ping, 1, lsh_now_ns(), PATIENT_NS), LSH_APPENDED);
	assert_int_equal(lsh_pipe_await(pipe, &tickets[n], LSH_NEVER), LSH_ANSWERED);
	end_pipe(pipe);
	free(tickets);
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
	};

	return cmocka_run_group_tests_name("pipe", tests, start, stop);
}
