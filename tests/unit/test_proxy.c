/* The proxy does what it was told to do: a fault that does not happen would let tests pass. Those that wait for theirs
 * (proxy_wait_hit), or see it at once, are not tried here; that a cut request never reaches the server is seen by
 * doctor/test_strangers. */
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server *server;
static struct proxy *proxy;
static int client; /* a connection through it */

static int
dial(void)
{
	int fd = socket_dial(proxy_target(proxy));

	assert_true(fd >= 0);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static void
start(void)
{
	server = server_start(NULL);
	proxy = proxy_start(server_socket(server));
	client = dial();
}

static void
stop(void)
{
	close(client);
	proxy_stop(proxy);
	server_stop(server);
}

FIXTURE(start, stop);

static void
say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* So much comes, and perhaps more; */
static void
hear(int fd, const char *expected)
{
	char text[256];
	size_t size = strlen(expected);

	assert_int_equal(recv(fd, text, size, MSG_WAITALL), size);
	assert_memory_equal(text, expected, size);
}

/* or that is all before the connection ends. */
static void
hear_last(int fd, const char *expected, size_t size)
{
	char text[256];

	assert_int_equal(recv(fd, text, sizeof text, MSG_WAITALL), size);
	assert_memory_equal(text, expected, size);
}

static bool
is_silent_for(int fd, int ms)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms) == 0;
}

static bool
server_has(const char *key)
{
	return server_integer(server, "EXISTS %s", key) == 1;
}

static int64_t
shortest_trip_us(int times)
{
	int64_t shortest = INT64_MAX;

	for (int i = 0; i < times; i++) {
		int64_t begun = await_now_ns();

		say(client, "PING\r\n");
		hear(client, "+PONG\r\n");
		int64_t took = (await_now_ns() - begun) / 1000;
		shortest = took < shortest ? took : shortest;
	}
	return shortest;
}

SENTENCE(each_way_is_delayed_and_drips_as_was_asked)
{
	proxy_delay(proxy, PROXY_BOTH, 250);
	assert_true(shortest_trip_us(20) >= 500);
	proxy_delay(proxy, PROXY_TO_CLIENT, 5000);
	assert_true(shortest_trip_us(5) >= 5250);
	proxy_delay(proxy, PROXY_TO_SERVER, 3000);
	int64_t delayed = shortest_trip_us(5);
	assert_true(delayed >= 8000);
	proxy_delay(proxy, PROXY_BOTH, 0);
	assert_true(shortest_trip_us(20) < delayed);
	proxy_drip(proxy, PROXY_TO_CLIENT, 2000);
	assert_true(shortest_trip_us(2) >= 6 * 2000); /* "+PONG\r\n": six times from one byte to the next */
}

SENTENCE(a_holding_proxy_delivers_nothing_until_it_is_released)
{
	for (enum proxy_way way = PROXY_TO_SERVER; way <= PROXY_BOTH; way++) {
		proxy_hold(proxy, way);
		say(client, "INCR key\r\n");
		assert_true(is_silent_for(client, 20));
		if (way == PROXY_TO_CLIENT)
			await_true(server_text(server, "GET key")[0] == '2');
		proxy_release(proxy);
		hear(client, way == PROXY_TO_SERVER ? ":1\r\n" : way == PROXY_TO_CLIENT ? ":2\r\n" : ":3\r\n");
	}
}

SENTENCE(a_client_that_left_is_no_reason_to_lose_its_commands)
{
	int fd = dial();

	proxy_hold(proxy, PROXY_TO_SERVER);
	say(fd, "INCR key\r\nINCR key\r\n");
	close(fd);
	assert_false(server_has("key"));
	proxy_release(proxy);
	await_true(proxy_open(proxy) == 1);
	assert_string_equal(server_text(server, "GET key"), "2");
}

SENTENCE(a_reply_is_cut_at_the_byte_among_other_replies)
{
	static const char answers[] = "+PONG\r\n$4\r\npast\r\n$6\r\nanswer\r\n";
	const size_t size = strlen("$6\r\nanswer\r\n");

	for (size_t n = 0; n <= size; n++) {
		int fd = dial();

		proxy_skip(proxy, 1);
		proxy_cut_reply(proxy, "echo", n);
		say(fd, "PING\r\nECHO past\r\nECHO answer\r\nECHO future\r\n");
		hear_last(fd, answers, strlen(answers) - size + n);
		proxy_wait_hit(proxy);
		close(fd);
	}
}

SENTENCE(a_stranded_request_is_executed_when_its_client_is_long_gone)
{
	int fd = dial();

	proxy_strand_request(proxy, "key:2");
	say(fd, "SET key:1 x\r\n");
	hear(fd, "+OK\r\n");
	say(fd, "SET key:2 x\r\n");
	hear_last(fd, "", 0);
	proxy_wait_hit(proxy);
	close(fd);
	say(client, "SET key:3 x\r\n");
	hear(client, "+OK\r\n");
	assert_false(server_has("key:2"));
	proxy_release(proxy);
	await_true(server_has("key:2") && proxy_open(proxy) == 1);
}

#define MESSAGE(digit) "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n" digit "\r\n"

static int
subscribe(void)
{
	int fd = dial();

	say(fd, "SUBSCRIBE news\r\n");
	hear(fd, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
	return fd;
}

SENTENCE(held_messages_come_when_they_are_let_go_and_other_answers_before)
{
	int fd = subscribe();

	proxy_hold_messages(proxy, true);
	assert_int_equal(server_integer(server, "PUBLISH news 1"), 1);
	say(client, "PING\r\n");
	hear(client, "+PONG\r\n");
	assert_true(is_silent_for(fd, 50));
	assert_int_equal(proxy_counts(proxy).dropped, 0);
	proxy_hold_messages(proxy, false);
	hear(fd, MESSAGE("1"));
	close(fd);
}

/* So many of a message come through the proxy, each time. */
static void
check_messages(int times)
{
	int fd = subscribe();

	for (int i = 0; i < 20; i++)
		assert_int_equal(server_integer(server, "PUBLISH news 7"), 1);
	say(fd, "UNSUBSCRIBE news\r\n");
	for (int i = 0; i < 20 * times; i++)
		hear(fd, MESSAGE("7"));
	hear(fd, "*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n");
	close(fd);
}

SENTENCE(the_weather_drops_doubles_and_delays_as_many_as_was_asked)
{
	check_messages(1);
	proxy_drop_messages(proxy, 100);
	check_messages(0);
	proxy_drop_messages(proxy, 0);
	assert_int_equal(proxy_counts(proxy).dropped, 20);
	proxy_weather(proxy, &(struct proxy_weather){.messages_dropped = 100, .seed = 1});
	check_messages(0);
	assert_int_equal(proxy_counts(proxy).dropped, 40);
	proxy_weather(proxy, &(struct proxy_weather){.messages_doubled = 100, .seed = 1});
	check_messages(2);
	assert_int_equal(proxy_counts(proxy).doubled, 20);
	assert_int_equal(proxy_counts(proxy).late, 0);
	proxy_weather(proxy, &(struct proxy_weather){.late = 100, .late_us = 10000, .seed = 1});
	int64_t begun = await_now_ns();
	shortest_trip_us(20);
	assert_true(await_now_ns() - begun > 50 * MS); /* 40 times something between 0 and 10 ms */
	assert_int_equal(proxy_counts(proxy).late, 40);
	proxy_weather(proxy, NULL);
	shortest_trip_us(1);
	assert_int_equal(proxy_counts(proxy).late, 40);
}

SENTENCE(what_was_late_when_the_weather_ended_its_connection_is_executed)
{
	int fd = dial();

	proxy_delay(proxy, PROXY_TO_SERVER, 100000);
	say(fd, "INCR key\r\n");
	await_true(proxy_counts(proxy).requests == 1);
	proxy_weather(proxy, &(struct proxy_weather){.lost = 10000, .seed = 1});
	say(fd, "INCR lost\r\nINCR lost\r\n");
	hear_last(fd, "", 0);
	assert_int_equal(proxy_counts(proxy).lost, 1);
	close(fd);
	await_true(proxy_open(proxy) == 1); /* nothing is left to be delivered of it */
	assert_string_equal(server_text(server, "GET key"), "1");
	assert_false(server_has("lost"));
}
