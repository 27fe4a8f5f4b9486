/* The proxy does to connections what it was told to do, and nothing else. */
#include "tests/unit/tools.h"

#include "tests/support/child.h"
#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Fixture of the tests with a proxy before a real server. */
struct way_station {
	struct server *server;
	struct proxy *proxy;
};

static struct way_station
way_station(bool tcp)
{
	struct way_station w;

	w.server = server_start(NULL);
	w.proxy = tcp ? proxy_start_tcp(server_socket(w.server)) : proxy_start(server_socket(w.server));
	return w;
}

static void
tear_down(struct way_station w)
{
	proxy_stop(w.proxy);
	server_stop(w.server);
}

SENTENCE(a_proxy_passes_everything)
{
	static char big[300001];

	for (int tcp = 0; tcp < 2; tcp++) {
		struct way_station w = way_station(tcp);
		redisContext *c = dial(proxy_target(w.proxy));
		redisReply *reply;

		memset(big, 'x', sizeof big - 1);
		reply = redisCommand(c, "SET big %s", big);
		assert_non_null(reply);
		freeReplyObject(reply);
		assert_true(says(c, big, "GET big"));
		assert_int_equal(proxy_accepted(w.proxy), 1);
		assert_int_equal(proxy_requests(w.proxy), 2);
		assert_int_equal(proxy_bytes(w.proxy, PROXY_TO_CLIENT), strlen("+OK\r\n$300000\r\n\r\n") + 300000);
		assert_true(proxy_bytes(w.proxy, PROXY_BOTH) > 600000);
		redisFree(c);
		await_true(proxy_open(w.proxy) == 0);
		tear_down(w);
	}
}

static int64_t
shortest_trip_us(redisContext *c, int times)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < times; i++) {
		int64_t start = await_now_ns(), took;

		assert_true(says(c, "PONG", "PING"));
		took = (await_now_ns() - start) / 1000;
		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}

SENTENCE(a_proxy_delays_each_way_by_what_was_asked)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t delayed;

	proxy_delay(w.proxy, PROXY_BOTH, 250);
	assert_true(shortest_trip_us(c, 20) >= 500);
	proxy_delay(w.proxy, PROXY_TO_CLIENT, 5000);
	assert_true(shortest_trip_us(c, 5) >= 5250);
	proxy_delay(w.proxy, PROXY_TO_SERVER, 3000);
	delayed = shortest_trip_us(c, 5);
	assert_true(delayed >= 8000);
	proxy_delay(w.proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(c, 20) < delayed);
	redisFree(c);
	tear_down(w);
}

/* So many commands in one go, and all their answers. */
static int64_t
time_at_once(redisContext *c, int commands)
{
	int64_t start = await_now_ns();
	redisReply *reply;

	for (int i = 0; i < commands; i++)
		redisAppendCommand(c, "ECHO %d", i);
	for (int i = 0; i < commands; i++) {
		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		assert_int_equal(atoi(reply->str), i);
		freeReplyObject(reply);
	}
	return await_now_ns() - start;
}

static int64_t
time_one_by_one(redisContext *c, int commands)
{
	int64_t start = await_now_ns();

	for (int i = 0; i < commands; i++)
		assert_true(says(c, "PONG", "PING"));
	return await_now_ns() - start;
}

SENTENCE(a_delay_does_not_cost_throughput)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t shortest = INT64_MAX;

	proxy_delay(w.proxy, PROXY_BOTH, 10000);
	for (int i = 0; i < 3; i++) {
		int64_t took = time_at_once(c, 30);

		assert_true(took >= 20000000);
		shortest = took < shortest ? took : shortest;
	}
	assert_true(shortest * 2 < time_one_by_one(c, 30));
	redisFree(c);
	tear_down(w);
}

SENTENCE(a_holding_proxy_delivers_nothing_until_it_is_released)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));

	for (enum proxy_way way = PROXY_TO_SERVER; way <= PROXY_BOTH; way++) {
		proxy_hold(w.proxy, way);
		say(fd, "INCR key\r\n");
		assert_true(silent_for(fd, 20));
		if (way == PROXY_TO_CLIENT)
			await_true(server_text(w.server, "GET key")[0] == '2');
		proxy_release(w.proxy);
		hear(fd, way == PROXY_TO_SERVER ? ":1\r\n" : way == PROXY_TO_CLIENT ? ":2\r\n" : ":3\r\n");
	}
	close(fd);
	tear_down(w);
}

SENTENCE(a_client_that_left_is_no_reason_to_lose_its_commands)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));

	proxy_hold(w.proxy, PROXY_TO_SERVER);
	say(fd, "INCR key\r\nINCR key\r\n");
	close(fd);
	assert_null(server_text(w.server, "GET key"));
	proxy_release(w.proxy);
	await_true(server_text(w.server, "GET key") && server_text(w.server, "GET key")[0] == '2');
	await_true(proxy_open(w.proxy) == 0);
	tear_down(w);
}

SENTENCE(an_answer_that_finds_its_client_gone_stops_no_command)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));

	proxy_hold(w.proxy, PROXY_TO_CLIENT);
	say(fd, "PING\r\n");
	await_true(proxy_bytes(w.proxy, PROXY_TO_CLIENT) == strlen("+PONG\r\n"));
	proxy_drip(w.proxy, PROXY_TO_SERVER, 5000);
	say(fd, "INCR key\r\n");
	close(fd);
	proxy_release(w.proxy);   /* the answer fails at once, while the command is on its way */
	await_true(proxy_open(w.proxy) == 0);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	tear_down(w);
}

SENTENCE(a_cut_request_never_reaches_the_server)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	proxy_cut_request(w.proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(proxy_hit(w.proxy));
	assert_false(says(c, "OK", "SET key:2 x"));
	proxy_wait_hit(w.proxy);
	redisFree(c);
	assert_int_equal(server_integer(w.server, "EXISTS key:1"), 1);
	assert_int_equal(server_integer(w.server, "EXISTS key:2"), 0);

	c = dial(proxy_target(w.proxy));   /* once is enough */
	assert_true(says(c, "OK", "SET key:2 x"));
	redisFree(c);
	tear_down(w);
}

SENTENCE(a_cut_reply_is_of_a_request_that_was_executed)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	proxy_cut_reply(w.proxy, "INCR", 0);
	assert_true(says(c, "PONG", "PING"));
	assert_null(redisCommand(c, "INCR key"));
	proxy_wait_hit(w.proxy);
	redisFree(c);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	tear_down(w);
}

SENTENCE(a_reply_is_cut_at_the_byte_among_other_replies)
{
	static const char before[] = "+PONG\r\n$4\r\npast\r\n", answer[] = "$6\r\nanswer\r\n";
	struct way_station w = way_station(false);
	char heard[256];

	for (size_t n = 0; n <= strlen(answer); n++) {
		int fd = dial_raw(proxy_target(w.proxy));

		proxy_skip(w.proxy, 1);
		proxy_cut_reply(w.proxy, "echo", n);
		say(fd, "PING\r\nECHO past\r\nECHO answer\r\nECHO future\r\n");
		assert_int_equal(hear_all(fd, heard, sizeof heard), strlen(before) + n);
		assert_memory_equal(heard, before, strlen(before));
		assert_memory_equal(heard + strlen(before), answer, n);
		proxy_wait_hit(w.proxy);
		close(fd);
	}
	tear_down(w);
}

SENTENCE(a_cut_over_tcp_is_a_reset)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));
	char byte;

	proxy_cut_request(w.proxy, NULL);
	say(fd, "PING\r\n");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close(fd);
	tear_down(w);
}

SENTENCE(a_disarmed_fault_does_not_happen)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	proxy_cut_request(w.proxy, "PING");
	proxy_disarm(w.proxy);
	assert_true(says(c, "PONG", "PING"));
	assert_false(proxy_hit(w.proxy));
	redisFree(c);
	tear_down(w);
}

SENTENCE(a_held_reply_comes_when_it_is_released)
{
	struct way_station w = way_station(false);
	int held = dial_raw(proxy_target(w.proxy)), other = dial_raw(proxy_target(w.proxy));

	proxy_hold_reply(w.proxy, "INCR");
	say(held, "INCR key\r\n");
	proxy_wait_hit(w.proxy);
	say(other, "GET key\r\n");
	hear(other, "$1\r\n1\r\n");
	assert_true(silent_for(held, 5));
	proxy_release(w.proxy);
	hear(held, ":1\r\n");
	close(held);
	close(other);
	tear_down(w);
}

SENTENCE(all_connections_can_be_reset_and_refused)
{
	struct way_station w = way_station(true);
	int first = dial_raw(proxy_target(w.proxy)), second = dial_raw(proxy_target(w.proxy));
	char byte;

	say(first, "PING\r\n");
	hear(first, "+PONG\r\n");
	say(second, "PING\r\n");
	hear(second, "+PONG\r\n");
	proxy_reset_all(w.proxy);
	assert_int_equal(proxy_open(w.proxy), 0);
	assert_true(recv(first, &byte, 1, 0) <= 0);
	assert_true(recv(second, &byte, 1, 0) <= 0);
	close(first);
	close(second);

	proxy_refuse(w.proxy, true);
	first = dial_raw(proxy_target(w.proxy));
	assert_true(recv(first, &byte, 1, 0) <= 0);
	close(first);
	proxy_refuse(w.proxy, false);
	first = dial_raw(proxy_target(w.proxy));
	say(first, "PING\r\n");
	hear(first, "+PONG\r\n");
	close(first);
	assert_int_equal(proxy_accepted(w.proxy), 4);
	tear_down(w);
}

SENTENCE(a_child_does_not_keep_a_connection_open)
{
	struct way_station w = way_station(true);
	int fd = dial_raw(proxy_target(w.proxy));
	pid_t child;
	char byte;

	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	child = child_run(sleep_for_ever, NULL);
	proxy_reset_all(w.proxy);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	child_kill(child);
	close(fd);
	tear_down(w);
}

SENTENCE(a_proxy_outlives_its_target)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));
	char byte;

	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	server_kill(w.server);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
	fd = dial_raw(proxy_target(w.proxy));
	assert_true(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
	server_restart(w.server);
	fd = dial_raw(proxy_target(w.proxy));
	say(fd, "PING\r\n");
	hear(fd, "+PONG\r\n");
	close(fd);
	tear_down(w);
}

SENTENCE(a_dripping_proxy_takes_its_time_for_each_byte)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));
	int64_t dripped;

	assert_true(says(c, "PONG", "PING"));
	proxy_drip(w.proxy, PROXY_TO_CLIENT, 2000);
	dripped = shortest_trip_us(c, 2);
	assert_true(dripped >= 6 * 2000);   /* "+PONG\r\n": six times from one byte to the next */
	proxy_drip(w.proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(c, 20) < dripped);
	redisFree(c);
	tear_down(w);
}

/* Messages that reach a subscriber through the proxy, of so many that are published. */
static int
messages_of(struct way_station w, int published)
{
	redisContext *c = dial(proxy_target(w.proxy));
	redisReply *reply = redisCommand(c, "SUBSCRIBE news");
	int count = -1;

	assert_non_null(reply);
	assert_string_equal(reply->element[0]->str, "subscribe");
	freeReplyObject(reply);
	for (int i = 0; i < published; i++)
		assert_int_equal(server_integer(w.server, "PUBLISH news %d", i), 1);
	redisAppendCommand(c, "UNSUBSCRIBE news");
	do {
		assert_int_equal(redisGetReply(c, (void **)&reply), REDIS_OK);
		count++;
		published = strcmp(reply->element[0]->str, "message") == 0;
		freeReplyObject(reply);
	} while (published);
	redisFree(c);
	return count;
}

SENTENCE(a_proxy_loses_as_many_messages_as_was_asked)
{
	struct way_station w = way_station(false);
	int some;

	assert_int_equal(messages_of(w, 20), 20);
	proxy_drop_messages(w.proxy, 100);
	assert_int_equal(messages_of(w, 20), 0);
	assert_int_equal(proxy_dropped(w.proxy), 20);
	proxy_drop_messages(w.proxy, 50);
	some = messages_of(w, 200);
	assert_int_equal(proxy_dropped(w.proxy), 20 + 200 - some);
	assert_true(some > 50 && some < 150);
	proxy_drop_messages(w.proxy, 0);
	assert_int_equal(messages_of(w, 20), 20);
	tear_down(w);
}

SENTENCE(a_stranded_request_is_executed_when_its_client_is_long_gone)
{
	struct way_station w = way_station(false);
	redisContext *c = dial(proxy_target(w.proxy));

	proxy_strand_request(w.proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(says(c, "OK", "SET key:2 x"));   /* the connection has ended */
	proxy_wait_hit(w.proxy);
	redisFree(c);
	c = dial(proxy_target(w.proxy));
	assert_true(says(c, "OK", "SET key:3 x"));
	assert_int_equal(server_integer(w.server, "EXISTS key:2"), 0);
	proxy_release(w.proxy);
	await_true(server_integer(w.server, "EXISTS key:2") == 1);
	redisFree(c);
	await_true(proxy_open(w.proxy) == 0);
	tear_down(w);
}

SENTENCE(held_messages_come_when_they_are_let_go_and_other_answers_before)
{
	struct way_station w = way_station(false);
	redisContext *subscriber = dial(proxy_target(w.proxy)), *c = dial(proxy_target(w.proxy));
	redisReply *reply = redisCommand(subscriber, "SUBSCRIBE news");

	freeReplyObject(reply);
	proxy_hold_messages(w.proxy, true);
	assert_int_equal(server_integer(w.server, "PUBLISH news 1"), 1);
	assert_true(says(c, "PONG", "PING"));
	redisSetTimeout(subscriber, (struct timeval){ .tv_usec = 50000 });
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_ERR);
	assert_int_equal(proxy_dropped(w.proxy), 0);
	redisFree(subscriber);

	subscriber = dial(proxy_target(w.proxy));
	freeReplyObject(redisCommand(subscriber, "SUBSCRIBE news"));
	server_integer(w.server, "PUBLISH news 2");
	proxy_hold_messages(w.proxy, false);
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_OK);
	assert_string_equal(reply->element[2]->str, "2");
	freeReplyObject(reply);
	redisFree(subscriber);
	redisFree(c);
	tear_down(w);
}

SENTENCE(the_weather_drops_doubles_and_delays_as_many_as_was_asked)
{
	struct way_station w = way_station(false);
	int64_t begun;
	redisContext *c;

	proxy_weather(w.proxy, &(struct proxy_weather){ .messages_dropped = 100, .seed = 1 });
	assert_int_equal(messages_of(w, 20), 0);
	assert_int_equal(proxy_dropped(w.proxy), 20);
	proxy_weather(w.proxy, &(struct proxy_weather){ .messages_doubled = 100, .seed = 1 });
	assert_int_equal(messages_of(w, 20), 40);
	assert_int_equal(proxy_doubled(w.proxy), 20);
	assert_int_equal(proxy_late(w.proxy), 0);
	proxy_weather(w.proxy, &(struct proxy_weather){ .late = 100, .late_us = 10000, .seed = 1 });
	c = dial(proxy_target(w.proxy));
	begun = await_now_ns();
	for (int i = 0; i < 20; i++)
		assert_true(says(c, "PONG", "PING"));
	/* 40 times something between 0 and 10 ms */
	assert_true(await_now_ns() - begun > 50000000);
	assert_int_equal(proxy_late(w.proxy), 40);
	proxy_weather(w.proxy, NULL);
	assert_true(says(c, "PONG", "PING"));
	assert_int_equal(proxy_late(w.proxy), 40);
	redisFree(c);
	tear_down(w);
}

SENTENCE(what_was_late_when_the_weather_ended_its_connection_is_executed)
{
	struct way_station w = way_station(false);
	int fd = dial_raw(proxy_target(w.proxy));
	char rest[64];

	proxy_delay(w.proxy, PROXY_TO_SERVER, 100000);
	say(fd, "INCR key\r\n");
	await_true(proxy_requests(w.proxy) == 1);
	proxy_weather(w.proxy, &(struct proxy_weather){ .lost = 10000, .seed = 1 });
	say(fd, "INCR lost\r\nINCR lost\r\n");
	assert_int_equal(hear_all(fd, rest, sizeof rest), 0);
	assert_int_equal(proxy_lost(w.proxy), 1);
	close(fd);
	await_true(proxy_open(w.proxy) == 0);
	assert_string_equal(server_text(w.server, "GET key"), "1");
	assert_null(server_text(w.server, "GET lost"));
	tear_down(w);
}
