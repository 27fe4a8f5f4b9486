/* Sharded channels: a node's pubsub asks for them and leaves them while messages come, and each answer is of the
 * channel that it is of. With a fake that says anything, and with a real cluster. */
#include "redis/pubsub.h"

#include "base/clock.h"
#include "base/thread.h"
#include "redis/node.h"
#include "redis/slot.h"
#include "tests/support/cluster.h"
#include "tests/support/fake.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- what a node is told ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char told[1 << 21]; /* one line each */
static size_t told_size;
static atomic_int subscriptions, confirmed; /* of the node; of channels */

static void
note(const char *what, const char *text, size_t size, const char *more)
{
	pthread_mutex_lock(&mutex);
	assert_true(sizeof told - told_size > size + strlen(more) + 32);
	told_size += (size_t)sprintf(told + told_size, "%s %.*s%s%s\n", what, (int)size, text,
	                             more[0] != '\0' ? ": " : "", more);
	pthread_mutex_unlock(&mutex);
}

static bool
was_told(const char *line)
{
	char whole[512];
	bool was;

	snprintf(whole, sizeof whole, "%s\n", line);
	pthread_mutex_lock(&mutex);
	was = strstr(told, whole) != NULL;
	pthread_mutex_unlock(&mutex);
	return was;
}

static int
count_told(const char *what)
{
	int n = 0;

	pthread_mutex_lock(&mutex);
	for (const char *at = told; (at = strstr(at, what)) != NULL; at++)
		n++;
	pthread_mutex_unlock(&mutex);
	return n;
}

static void
ignore(void *ctx)
{
	(void)ctx;
}

static void
subscribed(void *ctx)
{
	(void)ctx;
	subscriptions++;
}

static bool
expects_messages(void *ctx)
{
	return *(atomic_bool *)ctx;
}

static void
message(void *ctx, const char *text, size_t size)
{
	(void)ctx;
	note("message", text, size, "");
}

static void
channel_subscribed(void *ctx, const char *channel, size_t size)
{
	(void)ctx;
	note("subscribed", channel, size, "");
	confirmed++;
}

static void
channel_unsubscribed(void *ctx, const char *channel, size_t size)
{
	(void)ctx;
	note("unsubscribed", channel, size, "");
}

static void
channel_refused(void *ctx, const char *channel, size_t size, const char *text)
{
	(void)ctx;
	note("refused", channel, size, text);
}

static const struct lsh_node_ops ops = {
	.connected = ignore, .subscribed = subscribed, .work = ignore, .expects_messages = expects_messages,
};

static const struct lsh_pubsub_ops pubsub_ops = {
	.message = message, .subscribed = channel_subscribed, .unsubscribed = channel_unsubscribed,
	.refused = channel_refused,
};

static struct lsh_uri uri;
static struct lsh_node *node;
static struct lsh_pubsub *pubsub;
static atomic_bool expecting;

static void
open_node(const char *to, bool reads)
{
	struct lsh_node_options options = {
		.uri = &uri, .name = "leash:test", .messages = &pubsub_ops, .timeout = 20 * LSH_S,
	};
	leash_error err = {0};

	told[0] = '\0';
	told_size = 0;
	subscriptions = confirmed = 0;
	expecting = reads;
	assert_int_equal(lsh_uri_parse(&uri, to, &err), LEASH_OK);
	node = lsh_node_new(&options, &ops, &expecting);
	assert_non_null(node);
	assert_true(lsh_node_start(node));
	if (lsh_node_await_hello(node, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	await_true(lsh_node_is_subscribed(node));
	pubsub = lsh_node_pubsub(node);
}

static void
close_node(void)
{
	if (node == NULL)
		return;
	lsh_node_stop(node);
	lsh_node_free(node);
	lsh_uri_clear(&uri);
	node = NULL;
}

static bool
subscribe(const char *channel)
{
	return lsh_pubsub_ask(pubsub, true, channel, strlen(channel));
}

static bool
unsubscribe(const char *channel)
{
	return lsh_pubsub_ask(pubsub, false, channel, strlen(channel));
}

/* ---- with a fake ---- */

static struct fake *fake;
static atomic_bool mute, deaf;

/* Of a channel the beginning says what is to be answered. */
static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	int n = argc > 1 ? (int)argl[1] : 0;

	(void)ctx;
	while (deaf)
		await_ms(1);
	if (fake_is(argc, argv, argl, 0, "SSUBSCRIBE")) {
		if (mute)
			return FAKE_SILENT;
		if (n >= 5 && memcmp(argv[1], "moved", 5) == 0)
			return fake_say(out, size, "-MOVED 7 127.0.0.1:7001\r\n");
		if (n >= 6 && memcmp(argv[1], "noperm", 6) == 0)
			return fake_say(out, size, "-NOPERM No permissions to access a channel\r\n");
		if (n >= 5 && memcmp(argv[1], "other", 5) == 0)
			return fake_say(out, size, "*3\r\n$10\r\nssubscribe\r\n$4\r\nthat\r\n:1\r\n");
		return fake_say(out, size, "*3\r\n$10\r\nssubscribe\r\n$%d\r\n%.*s\r\n:1\r\n", n, n, argv[1]);
	}
	if (fake_is(argc, argv, argl, 0, "SUNSUBSCRIBE"))
		return fake_say(out, size, "*3\r\n$12\r\nsunsubscribe\r\n$%d\r\n%.*s\r\n:0\r\n", n, n, argv[1]);
	return FAKE_DEFAULT;
}

static void
start_fake(void)
{
	mute = deaf = false;
	fake = fake_start(answer, NULL);
}

static void
stop_fake(void)
{
	close_node();
	fake_stop(fake);
}

FIXTURE(start_fake, stop_fake);

SENTENCE(a_node_without_a_channel_listens_to_none)
{
	open_node(fake_uri(fake), false);
	assert_int_equal(fake_count(fake, "SUBSCRIBE"), 0);
	assert_int_equal(fake_count(fake, "TIME"), 1); /* the other connection */
	assert_int_equal(fake_accepted(fake), 2);
	await_true(subscriptions == 1);
}

SENTENCE(each_answer_is_of_its_own_channel)
{
	open_node(fake_uri(fake), false);
	/* nobody waits for messages: the keeper reads what is due */
	assert_true(subscribe("moved {a}") && subscribe("yes {b}") && subscribe("noperm {c}") && subscribe("yes {d}") &&
	            unsubscribe("yes {b}"));
	await_true(was_told("unsubscribed yes {b}"));
	assert_string_equal(told, "refused moved {a}: MOVED 7 127.0.0.1:7001\nsubscribed yes {b}\n"
	                          "refused noperm {c}: NOPERM No permissions to access a channel\nsubscribed yes {d}\n"
	                          "unsubscribed yes {b}\n");
	assert_true(lsh_node_is_subscribed(node));
}

/* While another answer is awaited, for which it is not taken. */
static size_t
take_away(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	if (fake_is(argc, argv, argl, 0, "SSUBSCRIBE") && fake_is(argc, argv, argl, 1, "take"))
		return fake_say(out, size, "*3\r\n$12\r\nsunsubscribe\r\n$5\r\nyes a\r\n:1\r\n"
		                "*3\r\n$10\r\nssubscribe\r\n$4\r\ntake\r\n:2\r\n");
	return answer(ctx, argc, argv, argl, out, size);
}

SENTENCE(a_channel_that_the_server_takes_away_is_told)
{
	fake_stop(fake);
	fake = fake_start(take_away, NULL);
	open_node(fake_uri(fake), true);
	assert_true(subscribe("yes a") && subscribe("take") && subscribe("yes b"));
	await_true(was_told("subscribed yes b"));
	assert_string_equal(told, "subscribed yes a\nunsubscribed yes a\nsubscribed take\nsubscribed yes b\n");
}

SENTENCE(an_answer_that_nobody_asked_for_ends_the_connection)
{
	open_node(fake_uri(fake), false);
	assert_true(subscribe("other"));
	await_true(subscriptions == 2); /* it was connected anew */
	assert_int_equal(count_told("subscribed"), 0);
	await_true(lsh_pubsub_is_up(pubsub));
	assert_true(subscribe("yes"));
	await_true(was_told("subscribed yes"));
}

SENTENCE(a_connection_that_breaks_takes_its_channels_with_it)
{
	open_node(fake_uri(fake), false);
	assert_true(subscribe("yes a"));
	await_true(was_told("subscribed yes a"));
	mute = true;
	assert_true(subscribe("yes b"));
	await_true(fake_saw(fake, "SSUBSCRIBE yes b"));
	fake_hang_up(fake);
	await_true(subscriptions == 2);
	await_true(lsh_node_is_subscribed(node));
	mute = false;
	/* what is answered now is not what was asked for then */
	assert_true(subscribe("moved"));
	await_true(count_told("refused") == 1);
	assert_string_equal(told, "subscribed yes a\nrefused moved: MOVED 7 127.0.0.1:7001\n");
}

SENTENCE(there_is_an_end_to_what_can_be_asked_for)
{
	char *channel = calloc(1, LSH_CHANNEL_MOST + 2);
	int n = 0;

	open_node(fake_uri(fake), false);
	mute = true;
	memset(channel, 'c', LSH_CHANNEL_MOST + 1);
	assert_false(subscribe(channel));
	channel[LSH_CHANNEL_MOST] = '\0';
	while (n < 1000 && subscribe(channel))
		n++;
	assert_in_range(n, 100, 999);
	assert_true(lsh_node_is_subscribed(node));
	fake_hang_up(fake);
	await_true(subscriptions == 2);
	await_true(lsh_pubsub_is_up(pubsub));
	mute = false;
	assert_true(subscribe(channel));
	await_true(count_told("subscribed c") == 1);
	free(channel);
}

struct waiter {
	int64_t deadline;
	atomic_bool over;
	pthread_t thread;
};

static bool
is_over(void *arg)
{
	return ((struct waiter *)arg)->over;
}

static void *
wait_for_messages(void *arg)
{
	struct waiter *w = arg;

	while (!w->over && lsh_now_ns() < w->deadline)
		lsh_pubsub_wait(pubsub, &lsh_self()->parker, lsh_after_ms(lsh_now_ns(), 5), is_over, w);
	return NULL;
}

/* Threads take the seat and leave it, others ask for channels, and the server is slow to read. */
SENTENCE(all_is_sent_and_answered_whoever_reads)
{
	enum { WAITERS = 4, CHANNELS = 2000 };
	struct waiter waiters[WAITERS];
	char channel[128];

	open_node(fake_uri(fake), false);
	for (int i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){.deadline = lsh_now_ns() + 60 * LSH_S};
		assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_for_messages, &waiters[i]), 0);
	}
	for (int i = 0; i < CHANNELS; i++) {
		snprintf(channel, sizeof channel, "moved {%0100d}", i);
		while (!subscribe(channel))
			await_ms(1);
	}
	await_true(was_told("refused moved {00000000000000000000000000000000000000000000000000"
	                    "00000000000000000000000000000000000000000000001999}: MOVED 7 127.0.0.1:7001"));
	assert_int_equal(count_told("refused moved"), CHANNELS);
	assert_int_equal(subscriptions, 1);
	for (int i = 0; i < WAITERS; i++) {
		waiters[i].over = true;
		pthread_join(waiters[i].thread, NULL);
	}
	assert_true(subscribe("yes"));
	await_true(was_told("subscribed yes"));
}

/* Not by whoever asked for it, who has gone on: by the keeper, and by a thread that waits for messages. */
SENTENCE(what_the_server_does_not_take_at_once_is_sent_later)
{
	enum { CHANNELS = 4000 };
	struct waiter waiter;
	char channel[128];

	open_node(fake_uri(fake), false);
	for (int round = 0; round < 2; round++) {
		waiter = (struct waiter){.deadline = lsh_now_ns() + 60 * LSH_S};
		if (round == 1)
			assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_messages, &waiter), 0);
		deaf = true;
		for (int i = 0; i < CHANNELS; i++) {
			snprintf(channel, sizeof channel, "yes {%0100d}", i);
			assert_true(subscribe(channel)); /* half a MiB: more than a socket holds */
		}
		if (round == 0)
			await_true((lsh_pubsub_poll(pubsub, false).events & POLLOUT) != 0); /* the keeper looks now and then */
		deaf = false;
		await_true(confirmed == (round + 1) * CHANNELS);
		waiter.over = true;
		if (round == 1)
			pthread_join(waiter.thread, NULL);
	}
	assert_int_equal(subscriptions, 1);
}

/* ---- with a real cluster ---- */

static struct cluster *cluster;

static void
start_cluster(void)
{
	cluster = cluster_start(&(struct cluster_options){.no_replicas = true});
}

static void
stop_cluster(void)
{
	close_node();
	cluster_stop(cluster);
	cluster = NULL;
}

static void
open_master_of(const char *key)
{
	char to[64];

	snprintf(to, sizeof to, "redis://127.0.0.1:%d", cluster_port(cluster, cluster_master_of(cluster, key)));
	open_node(to, true);
}

static int64_t
publish(const char *channel, const char *text)
{
	return server_integer(cluster_server_of(cluster, channel), "SPUBLISH %s %s", channel, text);
}

SENTENCE(messages_of_a_sharded_channel_come, BETWEEN(start_cluster, stop_cluster))
{
	open_master_of("orders");
	assert_true(subscribe("leash:{orders}:wake:1"));
	await_true(was_told("subscribed leash:{orders}:wake:1"));
	assert_int_equal(publish("leash:{orders}:wake:1", "hello"), 1);
	await_true(was_told("message hello"));
	assert_true(unsubscribe("leash:{orders}:wake:1"));
	await_true(was_told("unsubscribed leash:{orders}:wake:1"));
	assert_int_equal(publish("leash:{orders}:wake:1", "anybody?"), 0);
	assert_true(unsubscribe("leash:{orders}:wake:2")); /* never had */
	await_true(was_told("unsubscribed leash:{orders}:wake:2"));
}

SENTENCE(a_channel_of_another_servers_slot_is_refused_and_says_where_it_is,
         BETWEEN(start_cluster, stop_cluster))
{
	int here, there;
	char name[32], channel[64], line[128];

	open_master_of("orders");
	here = cluster_master_of(cluster, "orders");
	there = (here + 1) % CLUSTER_MASTERS;
	for (int slot = 0;; slot++)
		if (cluster_master_of_slot(cluster, slot) == there) {
			cluster_name_in_slot(slot, name);
			snprintf(channel, sizeof channel, "leash:{%s}:wake", name);
			snprintf(line, sizeof line, "refused %s: MOVED %d 127.0.0.1:%d", channel, slot,
			         cluster_port(cluster, there));
			assert_int_equal(lsh_slot_of(channel, strlen(channel)), slot);
			break;
		}
	assert_true(subscribe(channel) && subscribe("leash:{orders}:wake"));
	await_true(was_told("subscribed leash:{orders}:wake"));
	assert_true(was_told(line));
	assert_true(lsh_node_is_subscribed(node));
}

SENTENCE(a_channel_is_taken_away_when_its_slot_moves, BETWEEN(start_cluster, stop_cluster))
{
	int slot = (int)lsh_slot_of("orders", 6), from;

	open_master_of("orders");
	from = cluster_master_of(cluster, "orders");
	assert_true(subscribe("leash:{orders}:wake"));
	await_true(was_told("subscribed leash:{orders}:wake"));
	cluster_move_slot(cluster, slot, (from + 1) % CLUSTER_MASTERS);
	await_true(was_told("unsubscribed leash:{orders}:wake"));
	assert_true(subscribe("leash:{orders}:wake"));
	await_true(count_told("refused leash:{orders}:wake: MOVED") == 1);
	assert_int_equal(subscriptions, 1); /* over one connection, all of it */
}
