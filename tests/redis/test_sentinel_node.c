/* A node whose server the sentinels know: it goes where they say, both lines, and leaves when they name another. */
#include "redis/node.h"

#include "base/clock.h"
#include "redis/pubsub.h"
#include "tests/redis/seers.h"
#include "tests/support/fake.h"
#include "tests/support/socket.h"
#include "tests/support/test.h"

#include <stdatomic.h>

#define PATIENCE (20 * LSH_S)

/* ---- servers, one of which is the master ---- */

struct host {
	struct fake *fake;
	atomic_bool replica, locked;
	char run_id[41];
};

static struct host hosts[2];
static struct lsh_node *node;
static _Atomic int connects, subscribes, denials;

static size_t
be_server(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct host *h = ctx;
	const char *role = h->replica ? "# Replication\r\nrole:slave\r\n" : "# Replication\r\nrole:master\r\n";

	if (h->locked)
		return fake_say(out, size, "-NOAUTH Authentication required.\r\n");
	if (fake_is(argc, argv, argl, 0, "INFO") && fake_is(argc, argv, argl, 1, "replication"))
		return fake_say(out, size, "$%zu\r\n%s\r\n", strlen(role), role);
	if (fake_is(argc, argv, argl, 0, "INFO") && fake_is(argc, argv, argl, 1, "server"))
		return fake_info(out, size, "7.0.15", h->run_id, 86400);
	return FAKE_DEFAULT;
}

static void
on_connected(void *ctx)
{
	(void)ctx;
	connects++;
}

static void
on_denied(void *ctx, const leash_error *why)
{
	(void)ctx, (void)why;
	denials++;
}

static void
on_subscribed(void *ctx)
{
	(void)ctx;
	subscribes++;
}

static void
on_nothing(void *ctx)
{
	(void)ctx;
}

static void
on_message(void *ctx, const char *text, size_t size)
{
	(void)ctx, (void)text, (void)size;
}

static const struct lsh_pubsub_ops pubsub_ops = {.message = on_message};

static const struct lsh_node_ops node_ops = {
	.connected = on_connected,
	.denied = on_denied,
	.subscribed = on_subscribed,
	.work = on_nothing,
};

static void
start_hosts(void)
{
	start_seers();
	for (int i = 0; i < 2; i++) {
		memset(hosts[i].run_id, i == 0 ? 'a' : 'b', 40);
		hosts[i].replica = hosts[i].locked = false;
		hosts[i].fake = fake_start_tcp(be_server, &hosts[i]);
	}
	for (int i = 0; i <= SEERS; i++)
		seer_names(&seers[i], port_of(hosts[0].fake), 7);
}

static void
stop_hosts(void)
{
	if (node != NULL)
		lsh_node_stop(node);
	lsh_node_free(node);
	node = NULL;
	lsh_uri_clear(&uri);
	for (int i = 0; i < 2; i++)
		fake_stop(hosts[i].fake);
	stop_seers();
}

FIXTURE(start_hosts, stop_hosts);

static void
make_node(int64_t timeout)
{
	struct lsh_node_options options = {
		.uri = &uri, .name = "leash:node", .courier = courier, .messages = &pubsub_ops, .channel = "wake",
		.timeout = timeout,
	};

	forget_told();
	connects = subscribes = denials = 0;
	write_uri(2, "");
	node = lsh_node_new(&options, &node_ops, NULL);
	assert_non_null(node);
	assert_true(lsh_node_start(node));
}

static bool
is_at(struct host *h)
{
	return lsh_node_is_up(node) && lsh_node_is_subscribed(node) && fake_open(h->fake) == 2;
}

static void
name_second(void)
{
	for (int i = 0; i < SEERS; i++)
		seer_names(&seers[i], port_of(hosts[1].fake), 8);
}

SENTENCE(a_node_goes_where_the_sentinels_say_with_both_lines)
{
	struct lsh_uri moved;
	const struct lsh_uri *where;

	make_node(PATIENCE);
	if (lsh_node_await_hello(node, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	await_true(is_at(&hosts[0]));
	assert_int_equal(fake_accepted(hosts[1].fake), 0);
	assert_true(fake_saw(hosts[0].fake, "INFO replication"));
	where = lsh_node_where(node, &moved);
	assert_non_null(where);
	assert_int_equal(where->port, port_of(hosts[0].fake));
	lsh_uri_clear(&moved);
	/* known as a master only just now, however long it has been up */
	assert_true(lsh_node_uptime(node, lsh_now_ns()) < 3600 * LSH_S);
}

SENTENCE(it_asks_before_every_connect)
{
	make_node(PATIENCE);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	for (int i = 0; i < 5; i++) {
		int before;

		await_true(is_at(&hosts[0]));
		await_ms(50); /* what was asked after the subscription is answered */
		fake_forget(seers[0].fake);
		fake_forget(seers[1].fake);
		before = connects;
		fake_hang_up(hosts[0].fake);
		await_true(connects > before);
		assert_true(seer_asked(&seers[0]) + seer_asked(&seers[1]) > 0);
	}
}

SENTENCE(when_the_master_is_another_one_it_goes_there_at_once)
{
	int64_t began;

	make_node(PATIENCE);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	await_true(is_at(&hosts[0]));
	await_true(fake_count(seers[1].fake, "SUBSCRIBE") == 1);
	name_second();
	began = lsh_now_ns();
	fake_publish(seers[1].fake, "+switch-master", "main 127.0.0.1 1 127.0.0.1 2");
	await_true(is_at(&hosts[1]));
	print_message("# %.1f ms\n", (double)(lsh_now_ns() - began) / 1e6);
	await_true(fake_open(hosts[0].fake) == 0);
	assert_int_equal(connects, 2);
	assert_int_equal(fake_accepted(hosts[1].fake), 2);
	/* and back, with the same run id as before */
	for (int i = 0; i < SEERS; i++)
		seer_names(&seers[i], port_of(hosts[0].fake), 9);
	fake_publish(seers[0].fake, "+switch-master", "main 127.0.0.1 2 127.0.0.1 1");
	await_true(is_at(&hosts[0]));
}

SENTENCE(a_dial_to_a_master_that_is_one_no_more_is_given_up)
{
	int port, pubsub = socket_listen_tcp(&port); /* takes connections and says nothing */

	for (int i = 0; i < SEERS; i++)
		seer_names(&seers[i], port, 7);
	make_node(3600 * LSH_S);
	await_true(fake_count(seers[0].fake, "SUBSCRIBE") == 1 && fake_count(seers[1].fake, "SUBSCRIBE") == 1);
	assert_false(lsh_node_is_up(node));
	name_second();
	fake_publish(seers[0].fake, "+switch-master", "main 127.0.0.1 1 127.0.0.1 2");
	await_true(is_at(&hosts[1]));
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	socket_close(pubsub);
}

SENTENCE(a_replica_in_the_masters_place_is_not_taken_for_it)
{
	size_t asked;

	hosts[0].replica = true;
	make_node(PATIENCE);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_UNAVAILABLE);
	if (strstr(err.text, "this is a replica, not the master") == NULL ||
	    strstr(err.text, "/main: redis://127.0.0.1:") == NULL)
		fail_msg("%s", err.text);
	lsh_node_trouble(node, &err);
	assert_int_equal(err.status, LEASH_UNAVAILABLE);
	asked = seer_asked(&seers[0]);
	await_true(seer_asked(&seers[0]) >= asked + 3); /* before each attempt */
	hosts[0].replica = false;
	await_true(is_at(&hosts[0]));
	assert_int_equal(connects, 1);
}

SENTENCE(the_first_attempt_has_not_failed_before_all_sentinels_have_answered)
{
	struct seer *late = &seers[1];

	seer_names(&seers[0], socket_free_port(), 7);
	seer_names(late, port_of(hosts[1].fake), 8);
	pthread_mutex_lock(&late->gate);
	make_node(PATIENCE);
	await_true(was_told("Connection refused"));
	pthread_mutex_unlock(&late->gate);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	await_true(is_at(&hosts[1]));
}

/* Who waits gives up for a refusal: not for that of a server which only the first sentinel to answer takes for the
 * master. */
SENTENCE(nobody_is_denied_before_all_sentinels_have_answered)
{
	struct seer *late = &seers[1];

	hosts[0].locked = true;
	seer_names(late, port_of(hosts[1].fake), 8);
	pthread_mutex_lock(&late->gate);
	make_node(PATIENCE);
	await_true(was_told("wants a password"));
	pthread_mutex_unlock(&late->gate);
	await_true(is_at(&hosts[1]));
	assert_int_equal(denials, 0);
}

SENTENCE(a_master_that_all_sentinels_name_and_that_refuses_us_is_a_denial)
{
	hosts[0].locked = true;
	make_node(PATIENCE);
	await_true(denials > 0);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_DENIED);
}

SENTENCE(without_sentinels_a_connection_is_kept_and_none_is_made)
{
	size_t accepted;

	make_node(PATIENCE);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	await_true(is_at(&hosts[0]));
	stop_seer(&seers[0]);
	stop_seer(&seers[1]);
	await_ms(100);
	assert_true(is_at(&hosts[0]));
	accepted = fake_accepted(hosts[0].fake);
	fake_hang_up(hosts[0].fake);
	await_true(was_told("no sentinel answered"));
	lsh_node_trouble(node, &err);
	assert_int_equal(err.status, LEASH_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no sentinel answered"));
	assert_false(lsh_node_is_up(node));
	assert_true(fake_accepted(hosts[0].fake) <= accepted + 1); /* messages: they go where the commands went */
}

SENTENCE(a_server_that_is_left_is_asked_about_anew)
{
	size_t asked;
	uint64_t epoch;

	make_node(PATIENCE);
	assert_int_equal(lsh_node_await_hello(node, &err), LEASH_OK);
	await_true(is_at(&hosts[0]));
	await_ms(50);
	asked = seer_asked(&seers[0]);
	name_second();
	epoch = lsh_pipeline_epoch(lsh_node_pipeline(node));
	lsh_node_leave(node, epoch - 1, "LATE"); /* of a connection that is gone: it does not end the one after it */
	assert_int_equal(lsh_pipeline_epoch(lsh_node_pipeline(node)), epoch);
	assert_true(lsh_pipeline_is_up(lsh_node_pipeline(node)));
	lsh_node_leave(node, epoch, "READONLY You can't write against a read only replica.");
	await_true(is_at(&hosts[1]));
	assert_true(seer_asked(&seers[0]) > asked);
	assert_true(was_told("READONLY"));
	assert_false(was_told("LATE"));
}
