/* Sharded channels: a node's pubsub asks for them and leaves them while messages come, and each answer is of the
 * channel that it is of. With a fake f that says anything, and with a real cluster.
 *
 *     open [reads [URI]]   a node of f, or of another; reads: it expects messages
 *     join CHANNEL, leave CHANNEL   it is asked for: was there room for that?
 *     told                 what the node was told of channels and messages, with ", " between; tells WORDS: how often
 *     subscriptions        of the node
 *     up                   is there a connection for messages? waiters N: so many threads wait for them from now on */
#include "redis/pubsub.h"

#include "base/clock.h"
#include "base/thread.h"
#include "redis/node.h"
#include "redis/slot.h"
#include "tests/redis/fakes.h"
#include "tests/support/cluster.h"
#include "tests/support/server.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static char told[1 << 21];
static size_t told_size;
static atomic_int subscriptions;

static void
note(const char *what, const char *text, size_t size, const char *more)
{
	pthread_mutex_lock(&mutex);
	assert_true(sizeof told - told_size > size + strlen(more) + 32);
	told_size += (size_t)sprintf(told + told_size, "%s%s %.*s%s%s", told_size > 0 ? ", " : "", what, (int)size, text,
	                             more[0] != '\0' ? ": " : "", more);
	pthread_mutex_unlock(&mutex);
}

static const char *
seen_told(const char *counted)
{
	pthread_mutex_lock(&mutex);
	const char *is = counted != NULL ? seen_number(times_in(told, counted)) : seen("%s", told);
	pthread_mutex_unlock(&mutex);
	return is;
}

SEES(told, seen_told(NULL))
SEES(tells, seen_told(word[1]))

CALLED(ignore, )

CALLED(subscribed, subscriptions++)

static bool
is_set(void *flag)
{
	return *(atomic_bool *)flag;
}

#define NOTES(what) \
	static void what(void *ctx, const char *text, size_t size) \
	{ \
		(void)ctx; \
		note(#what, text, size, ""); \
	}

NOTES(joined)
NOTES(left)

static void
message(void *ctx, const struct lsh_item *channel, const char *text, size_t size)
{
	(void)ctx, (void)channel;
	note("message", text, size, "");
}

static void
refused(void *ctx, const char *channel, size_t size, const char *text)
{
	(void)ctx;
	note("refused", channel, size, text);
}

static const struct lsh_node_ops ops = {
	.connected = ignore, .subscribed = subscribed, .work = ignore, .expects_messages = is_set,
};

static const struct lsh_pubsub_ops pubsub_ops = {
	.message = message, .subscribed = joined, .unsubscribed = left, .refused = refused,
};

static struct lsh_uri uri;
static struct lsh_node *node;
static struct lsh_pubsub *pubsub;
static atomic_bool expecting;

DEED(open)
{
	struct lsh_node_options options = {
		.uri = &uri, .name = "leash:test", .messages = &pubsub_ops, .timeout = 20 * LSH_S,
	};
	leash_error err = {0};

	told[0] = '\0';
	told_size = 0;
	subscriptions = 0;
	expecting = *word[1] != '\0';
	assert_int_equal(lsh_uri_parse(&uri, *word[2] != '\0' ? word[2] : fake_uri(fake_of("f")), &err), LEASH_OK);
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
ask(bool joins, const char *channel)
{
	return lsh_pubsub_ask(pubsub, true, joins, channel, strlen(channel));
}

SEES(join, seen_whether(ask(true, word[1])))
SEES(leave, seen_whether(ask(false, word[1])))
SEES(subscriptions, seen_number(subscriptions))
SEES(up, seen_whether(lsh_pubsub_is_up(pubsub) && lsh_node_is_subscribed(node)))

/* Of a channel the beginning says what is to be answered. */
static void
start_fake(void)
{
	fakes_start("f", false);
	play("on f SSUBSCRIBE *3\r\n{ssubscribe}@:1\r\n; on f SUNSUBSCRIBE *3\r\n{sunsubscribe}@:0\r\n;"
	     "on f 'SSUBSCRIBE moved' '-MOVED 7 127.0.0.1:7\r\n'; on f 'SSUBSCRIBE noperm' '-NOPERM No permissions\r\n'");
}

static void
stop_fake(void)
{
	close_node();
	fakes_stop();
}

FIXTURE(start_fake, stop_fake);

SCENE(a_node_without_a_channel_listens_to_none, /* on the other connection */
      "open; heard f SUBSCRIBE = 0; heard f TIME = 1; accepted f = 2; await subscriptions = 1")
SCENE(each_answer_is_of_its_own_channel, /* nobody waits for messages: the keeper reads what is due */
      "open; join 'moved {a}' = yes; join 'yes {b}' = yes; join 'noperm {c}' = yes; join 'yes {d}' = yes;"
      "leave 'yes {b}' = yes; await told = 'refused moved {a}: MOVED 7 127.0.0.1:7, joined yes {b}, refused noperm "
      "{c}: NOPERM No permissions, joined yes {d}, left yes {b}'; up = yes")
SCENE(a_channel_that_the_server_takes_away_is_told, /* while another answer is awaited, for which it is not taken */
      "on f 'SSUBSCRIBE take' '*3\r\n{sunsubscribe}{yes a}:1\r\n*3\r\n{ssubscribe}@:2\r\n'; open reads;"
      "join 'yes a' = yes; join take = yes; join 'yes b' = yes;"
      "await told = 'joined yes a, left yes a, joined take, joined yes b'")
SCENE(an_answer_that_nobody_asked_for_ends_the_connection, /* and it is connected anew */
      "on f 'SSUBSCRIBE other' '*3\r\n{ssubscribe}{that}:1\r\n'; open; join other = yes;"
      "await subscriptions = 2; told = ''; await up = yes; join yes = yes; await told = 'joined yes'")
SCENE(a_connection_that_breaks_takes_its_channels_with_it, /* what is answered now is not what was asked for then */
      "open; join 'yes a' = yes; await told = 'joined yes a'; on f 'SSUBSCRIBE yes b' silent; join 'yes b' = yes;"
      "await heard f 'SSUBSCRIBE yes b' = 1; hang_up f; await subscriptions = 2; await up = yes; join moved = yes;"
      "await told = 'joined yes a, refused moved: MOVED 7 127.0.0.1:7'")

SENTENCE(there_is_an_end_to_what_can_be_asked_for)
{
	char *channel = calloc(1, LSH_CHANNEL_MOST + 2);
	int n = 0;

	play("open; on f 'SSUBSCRIBE c' silent");
	memset(channel, 'c', LSH_CHANNEL_MOST + 1);
	assert_false(ask(true, channel));
	channel[LSH_CHANNEL_MOST] = '\0';
	while (n < 1000 && ask(true, channel))
		n++;
	assert_in_range(n, 100, 999);
	play("up = yes; hang_up f; await subscriptions = 2; await up = yes; off f 'SSUBSCRIBE c'");
	assert_true(ask(true, channel));
	play("await tells 'joined c' = 1");
	free(channel);
}

static atomic_bool over; /* nobody waits for messages any more */

static void *
wait_for_messages(void *arg)
{
	while (!over)
		lsh_pubsub_wait(pubsub, &lsh_self()->parker, lsh_after_ms(lsh_now_ns(), 5), is_set, &over);
	return arg;
}

DEED(waiters)
{
	static pthread_t threads[4];
	static int there;

	for (over = true; there > 0;)
		pthread_join(threads[--there], NULL);
	for (over = false; there < number_of(word[1], 0); there++)
		assert_int_equal(pthread_create(&threads[there], NULL, wait_for_messages, NULL), 0);
}

/* Not by whoever asked for it, who has gone on: by the keeper, by a thread that waits for messages, and by those who
 * take the seat and leave it while others ask. */
SENTENCE(what_the_server_does_not_take_at_once_is_sent_later)
{
	enum { CHANNELS = 4000 };
	static const int waiters[] = {0, 1, 4};
	char channel[128];

	play("open");
	for (int round = 0; round < 3; round++) {
		play("waiters %d; %s", waiters[round], round < 2 ? "on f '' waits" : "");
		for (int i = 0; i < CHANNELS; i++) { /* half a MiB: more than a socket holds */
			snprintf(channel, sizeof channel, "yes {%0100d}", i);
			while (!ask(true, channel))
				assert_int_equal(round, 2);
		}
		if (round == 0)
			await_true((lsh_pubsub_poll(pubsub, false).events & POLLOUT) != 0); /* the keeper looks now and then */
		play("off f ''; await tells joined = %d; waiters 0", (round + 1) * CHANNELS);
	}
	play("subscriptions = 1");
}

/* ---- with a real cluster ---- */

SENTENCE(a_real_cluster_says_of_its_channels_that_they_are_elsewhere_or_have_moved)
{
	struct cluster *cluster = cluster_start(&(struct nodes_options){.no_replicas = true});
	int here = cluster_master_of(cluster, "orders"), there = (here + 1) % CLUSTER_MASTERS, slot = 0;
	char name[CLUSTER_NAME];

	while (cluster_master_of_slot(cluster, slot) != there)
		slot++;
	cluster_name_in_slot(slot, name);
	play("open reads redis://127.0.0.1:%d", cluster_port(cluster, here));
	play("join leash:{%s}:wake = yes; join leash:{orders}:wake = yes; await told = 'refused leash:{%s}:wake: MOVED %d "
	     "127.0.0.1:%d, joined leash:{orders}:wake'", name, name, slot, cluster_port(cluster, there));
	assert_int_equal(server_integer(cluster_node(cluster, here), "SPUBLISH leash:{orders}:wake hello"), 1);
	play("await tells 'message hello' = 1; leave leash:{orders}:wake = yes;"
	     "await tells 'left leash:{orders}:wake' = 1");
	assert_int_equal(server_integer(cluster_node(cluster, here), "SPUBLISH leash:{orders}:wake anybody?"), 0);
	play("leave leash:{orders}:wake:2 = yes; await tells 'left leash:{orders}:wake:2' = 1;" /* it never had it */
	     "join leash:{orders}:wake = yes; await tells 'joined leash:{orders}:wake' = 2");
	cluster_move_slot(cluster, (int)lsh_slot_of("orders", 6), there);
	play("await tells 'left leash:{orders}:wake' = 3; join leash:{orders}:wake = yes;"
	     /* over one connection, all of it */
	     "await tells 'refused leash:{orders}:wake: MOVED' = 1; subscriptions = 1");
	close_node();
	cluster_stop(cluster);
}
