/* A node whose server the sentinels know: it goes where they say, both lines, and leaves when they name another. The
 * servers are h0, which the sentinels name at first, and h1.
 *
 *     make [TIMEOUT_MS]  a node; hello: what awaiting it comes to; trouble: what the node says of itself
 *     at SERVER          is it there, with both lines? up: does it have a connection for commands?
 *     connects, denials  how many it was told of
 *     replica SERVER     it is one; master SERVER: or not
 *     locked SERVER      it wants a password */
#include "redis/node.h"

#include "base/clock.h"
#include "redis/pubsub.h"
#include "tests/redis/seers.h"

#include <stdatomic.h>

static struct lsh_node *node;
static _Atomic int connects, denials;

CALLED(on_connected, connects++)

static void
on_denied(void *ctx, const leash_error *why)
{
	(void)ctx, (void)why;
	denials++;
}

CALLED(on_nothing, )

static const struct lsh_pubsub_ops pubsub_ops; /* no message comes */

static const struct lsh_node_ops node_ops = {
	.connected = on_connected, .denied = on_denied, .subscribed = on_nothing, .work = on_nothing,
};

DOES(replica, play("on %s 'INFO replication' {role:slave}", word[1]))
DOES(master, play("on %s 'INFO replication' {role:master}", word[1]))
DOES(locked, play("on %s '' '-NOAUTH Authentication required.\r\n'", word[1]))

static void
start_hosts(void)
{
	start_seers();
	for (int i = 0; i < 2; i++)
		play("fake h%d tcp; on h%d 'INFO server' '{redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%040d\r\n"
		     "uptime_in_seconds:86400\r\n}'; master h%d", i, i, i, i);
	play("let p port h0; names all $p 7");
}

static void
stop_hosts(void)
{
	if (node != NULL)
		lsh_node_stop(node);
	lsh_node_free(node);
	node = NULL;
	lsh_uri_clear(&uri);
	stop_seers();
}

FIXTURE(start_hosts, stop_hosts);

VERB(make)
{
	struct lsh_node_options options = {
		.uri = &uri, .name = "leash:node", .courier = courier, .messages = &pubsub_ops, .channel = "wake",
		.timeout = number_of(word[1], 20000) * LSH_MS,
	};

	connects = denials = 0;
	write_uri(2, "");
	node = lsh_node_new(&options, &node_ops, NULL);
	assert_non_null(node);
	assert_true(lsh_node_start(node));
	return NULL;
}

SEES(hello, seen_end(lsh_node_await_hello(node, &err), &err))
SEES(trouble, (lsh_node_trouble(node, &err), seen_end(err.status, &err)))
SEES(up, seen_whether(lsh_node_is_up(node)))
SEES(at, seen_whether(lsh_node_is_up(node) && lsh_node_is_subscribed(node) && fake_open(fake_of(word[1])) == 2))
SEES(connects, seen_number(connects))
SEES(denials, seen_number(denials))

#define SECOND "let p port h1; names all $p 8;"

SENTENCE(a_node_goes_where_the_sentinels_say_with_both_lines)
{
	struct lsh_uri moved;

	play("make; hello = OK; await at h0 = yes; accepted h1 = 0; heard h0 'INFO replication' >= 1");
	const struct lsh_uri *where = lsh_node_where(node, &moved);
	assert_non_null(where);
	assert_int_equal(where->port, port_of("h0"));
	lsh_uri_clear(&moved);
	/* known as a master only just now, however long it has been up */
	assert_true(lsh_node_uptime(node, lsh_now_ns()) < 3600 * LSH_S);
}

SCENE(it_asks_before_every_connect,
      "make; hello = OK; repeat 5; await at h0 = yes; pass 50;" /* what was asked after the subscription is answered */
      "forget s0; forget s1; let c connects; hang_up h0; await connects !~ $c; asked all >= 1")
SCENE(when_the_master_is_another_one_it_goes_there_at_once,
      "make; hello = OK; await at h0 = yes; await hears s1 = 1;" SECOND "switch s1; await at h1 = yes;"
      "await inside h0 = 0; connects = 2; accepted h1 = 2;"
      "let p port h0; names all $p 9; switch s0; await at h0 = yes") /* and back, with the same run id as before */

SCENE(a_dial_to_a_master_that_is_one_no_more_is_given_up, /* and says nothing */
      "on h0 '' silent; make 3600000; await hears s0 = 1; await hears s1 = 1; up = no;" SECOND
      "switch s1; await at h1 = yes; hello = OK")
SCENE(a_replica_in_the_masters_place_is_not_taken_for_it, /* and the sentinels are asked before each attempt */
      "replica h0; make; hello ~ UNAVAILABLE: 'this is a replica, not the master' '/main: redis://127.0.0.1:';"
      "trouble ~ UNAVAILABLE:; forget s0; await asked s0 >= 3; master h0; await at h0 = yes; connects = 1")

SCENE(the_first_attempt_has_not_failed_before_all_sentinels_have_answered,
      "stop h0; let p port h1; names s1 $p 8; on s1 SENTINEL waits; make; await log ~ 'Connection refused';"
      "off s1 SENTINEL; hello = OK; await at h1 = yes")
SCENE(nobody_is_denied_before_all_sentinels_have_answered, /* by a server that only the first of them names */
      "locked h0; let p port h1; names s1 $p 8; on s1 SENTINEL waits; make; await log ~ 'wants a password';"
      "off s1 SENTINEL; await at h1 = yes; denials = 0")
SCENE(a_master_that_all_sentinels_name_and_that_refuses_us_is_a_denial,
      "locked h0; make; await denials >= 1; hello ~ DENIED:")
SCENE(without_sentinels_a_connection_is_kept_and_none_is_made,
      "make; hello = OK; await at h0 = yes; stop s0; stop s1; pass 100; at h0 = yes; hang_up h0;"
      "await log ~ 'no sentinel answered'; trouble ~ UNAVAILABLE: 'no sentinel answered'; up = no;"
      "accepted h0 <= 3") /* messages: they go where the commands went */

SENTENCE(a_server_that_is_left_is_asked_about_anew)
{
	play("make; hello = OK; await at h0 = yes; pass 50; forget s0;" SECOND);
	uint64_t epoch = lsh_pipeline_epoch(lsh_node_pipeline(node));
	lsh_node_leave(node, epoch - 1, "LATE"); /* of a connection that is gone: it does not end the one after it */
	assert_int_equal(lsh_pipeline_epoch(lsh_node_pipeline(node)), epoch);
	assert_true(lsh_pipeline_is_up(lsh_node_pipeline(node)));
	lsh_node_leave(node, epoch, "READONLY You can't write against a read only replica.");
	play("await at h1 = yes; asked s0 >= 1; log ~ READONLY !~ LATE");
}
