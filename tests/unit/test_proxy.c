/* The proxy does what it was told to do: a fault that does not happen would let tests pass. Those that wait for theirs
 * (proxy_wait_hit), or see it at once, are not tried here. */
#include "tests/unit/tools.h"

#include "tests/support/proxy.h"
#include "tests/support/test.h"

#include <sys/socket.h>
#include <unistd.h>

static struct server *server;
static struct proxy *proxy;

static void
start(void)
{
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
}

static void
stop(void)
{
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

static int64_t
shortest_trip_us(redisContext *c, int times)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < times; i++) {
		int64_t begun = await_now_ns(), took;

		assert_true(says(c, "PONG", "PING"));
		took = (await_now_ns() - begun) / 1000;
		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}

SENTENCE(each_way_is_delayed_and_drips_as_was_asked)
{
	redisContext *c = dial(proxy_target(proxy));
	int64_t delayed;

	proxy_delay(proxy, PROXY_BOTH, 250);
	assert_true(shortest_trip_us(c, 20) >= 500);
	proxy_delay(proxy, PROXY_TO_CLIENT, 5000);
	assert_true(shortest_trip_us(c, 5) >= 5250);
	proxy_delay(proxy, PROXY_TO_SERVER, 3000);
	delayed = shortest_trip_us(c, 5);
	assert_true(delayed >= 8000);
	proxy_delay(proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(c, 20) < delayed);
	proxy_drip(proxy, PROXY_TO_CLIENT, 2000);
	assert_true(shortest_trip_us(c, 2) >= 6 * 2000); /* "+PONG\r\n": six times from one byte to the next */
	redisFree(c);
}

SENTENCE(a_holding_proxy_delivers_nothing_until_it_is_released)
{
	int fd = dial_raw(proxy_target(proxy));

	for (enum proxy_way way = PROXY_TO_SERVER; way <= PROXY_BOTH; way++) {
		proxy_hold(proxy, way);
		say(fd, "INCR key\r\n");
		assert_true(silent_for(fd, 20));
		if (way == PROXY_TO_CLIENT)
			await_true(server_text(server, "GET key")[0] == '2');
		proxy_release(proxy);
		hear(fd, way == PROXY_TO_SERVER ? ":1\r\n" : way == PROXY_TO_CLIENT ? ":2\r\n" : ":3\r\n");
	}
	close(fd);
}

SENTENCE(a_client_that_left_is_no_reason_to_lose_its_commands)
{
	int fd = dial_raw(proxy_target(proxy));

	proxy_hold(proxy, PROXY_TO_SERVER);
	say(fd, "INCR key\r\nINCR key\r\n");
	close(fd);
	assert_null(server_text(server, "GET key"));
	proxy_release(proxy);
	await_true(server_text(server, "GET key") && server_text(server, "GET key")[0] == '2');
	await_true(proxy_open(proxy) == 0);
}

SENTENCE(a_cut_request_never_reaches_the_server)
{
	redisContext *c = dial(proxy_target(proxy));

	proxy_cut_request(proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(proxy_hit(proxy));
	assert_false(says(c, "OK", "SET key:2 x"));
	proxy_wait_hit(proxy);
	redisFree(c);
	assert_int_equal(server_integer(server, "EXISTS key:1"), 1);
	assert_int_equal(server_integer(server, "EXISTS key:2"), 0);

	c = dial(proxy_target(proxy));   /* once is enough */
	assert_true(says(c, "OK", "SET key:2 x"));
	redisFree(c);
}

SENTENCE(a_reply_is_cut_at_the_byte_among_other_replies)
{
	static const char before[] = "+PONG\r\n$4\r\npast\r\n", answer[] = "$6\r\nanswer\r\n";
	char heard[256];

	for (size_t n = 0; n <= strlen(answer); n++) {
		int fd = dial_raw(proxy_target(proxy));

		proxy_skip(proxy, 1);
		proxy_cut_reply(proxy, "echo", n);
		say(fd, "PING\r\nECHO past\r\nECHO answer\r\nECHO future\r\n");
		assert_int_equal(hear_all(fd, heard, sizeof heard), strlen(before) + n);
		assert_memory_equal(heard, before, strlen(before));
		assert_memory_equal(heard + strlen(before), answer, n);
		proxy_wait_hit(proxy);
		close(fd);
	}
}

/* Messages that reach a subscriber through the proxy, of so many that are published. */
static int
messages_of(int published)
{
	redisContext *c = dial(proxy_target(proxy));
	redisReply *reply = redisCommand(c, "SUBSCRIBE news");
	int count = -1;

	assert_non_null(reply);
	assert_string_equal(reply->element[0]->str, "subscribe");
	freeReplyObject(reply);
	for (int i = 0; i < published; i++)
		assert_int_equal(server_integer(server, "PUBLISH news %d", i), 1);
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

SENTENCE(a_stranded_request_is_executed_when_its_client_is_long_gone)
{
	redisContext *c = dial(proxy_target(proxy));

	proxy_strand_request(proxy, "key:2");
	assert_true(says(c, "OK", "SET key:1 x"));
	assert_false(says(c, "OK", "SET key:2 x"));   /* the connection has ended */
	proxy_wait_hit(proxy);
	redisFree(c);
	c = dial(proxy_target(proxy));
	assert_true(says(c, "OK", "SET key:3 x"));
	assert_int_equal(server_integer(server, "EXISTS key:2"), 0);
	proxy_release(proxy);
	await_true(server_integer(server, "EXISTS key:2") == 1);
	redisFree(c);
	await_true(proxy_open(proxy) == 0);
}

SENTENCE(held_messages_come_when_they_are_let_go_and_other_answers_before)
{
	redisContext *subscriber = dial(proxy_target(proxy)), *c = dial(proxy_target(proxy));
	redisReply *reply = redisCommand(subscriber, "SUBSCRIBE news");

	freeReplyObject(reply);
	proxy_hold_messages(proxy, true);
	assert_int_equal(server_integer(server, "PUBLISH news 1"), 1);
	assert_true(says(c, "PONG", "PING"));
	redisSetTimeout(subscriber, (struct timeval){ .tv_usec = 50000 });
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_ERR);
	assert_int_equal(proxy_dropped(proxy), 0);
	redisFree(subscriber);

	subscriber = dial(proxy_target(proxy));
	freeReplyObject(redisCommand(subscriber, "SUBSCRIBE news"));
	server_integer(server, "PUBLISH news 2");
	proxy_hold_messages(proxy, false);
	assert_int_equal(redisGetReply(subscriber, (void **)&reply), REDIS_OK);
	assert_string_equal(reply->element[2]->str, "2");
	freeReplyObject(reply);
	redisFree(subscriber);
	redisFree(c);
}

SENTENCE(the_weather_drops_doubles_and_delays_as_many_as_was_asked)
{
	int64_t begun;
	redisContext *c;

	assert_int_equal(messages_of(20), 20);
	proxy_drop_messages(proxy, 100);
	assert_int_equal(messages_of(20), 0);
	proxy_drop_messages(proxy, 0);
	assert_int_equal(proxy_dropped(proxy), 20);
	proxy_weather(proxy, &(struct proxy_weather){ .messages_dropped = 100, .seed = 1 });
	assert_int_equal(messages_of(20), 0);
	assert_int_equal(proxy_dropped(proxy), 40);
	proxy_weather(proxy, &(struct proxy_weather){ .messages_doubled = 100, .seed = 1 });
	assert_int_equal(messages_of(20), 40);
	assert_int_equal(proxy_doubled(proxy), 20);
	assert_int_equal(proxy_late(proxy), 0);
	proxy_weather(proxy, &(struct proxy_weather){ .late = 100, .late_us = 10000, .seed = 1 });
	c = dial(proxy_target(proxy));
	begun = await_now_ns();
	for (int i = 0; i < 20; i++)
		assert_true(says(c, "PONG", "PING"));
	/* 40 times something between 0 and 10 ms */
	assert_true(await_now_ns() - begun > 50000000);
	assert_int_equal(proxy_late(proxy), 40);
	proxy_weather(proxy, NULL);
	assert_true(says(c, "PONG", "PING"));
	assert_int_equal(proxy_late(proxy), 40);
	redisFree(c);
}

SENTENCE(what_was_late_when_the_weather_ended_its_connection_is_executed)
{
	int fd = dial_raw(proxy_target(proxy));
	char rest[64];

	proxy_delay(proxy, PROXY_TO_SERVER, 100000);
	say(fd, "INCR key\r\n");
	await_true(proxy_requests(proxy) == 1);
	proxy_weather(proxy, &(struct proxy_weather){ .lost = 10000, .seed = 1 });
	say(fd, "INCR lost\r\nINCR lost\r\n");
	assert_int_equal(hear_all(fd, rest, sizeof rest), 0);
	assert_int_equal(proxy_lost(proxy), 1);
	close(fd);
	await_true(proxy_open(proxy) == 0);
	assert_string_equal(server_text(server, "GET key"), "1");
	assert_null(server_text(server, "GET lost"));
}
