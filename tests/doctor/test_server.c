/* The doctor at one server: what server.txt cannot say. Servers that cannot be reached, or are none:
 * test_strangers.c. */
#include "tests/doctor/findings.h"

#include "tests/support/proxy.h"
#include "tests/support/test.h"

GROUP(start_server, stop_server);

SENTENCE(a_healthy_server_gets_no_warning)
{
	static const char *const topics[] = {"connection", "version", "eviction", "memory", "persistence", "replication",
	                                     "limits", "permissions", "clock", "speed"};

	assert_status(LEASH_OK, examine(server_uri(server)));
	check_at_worst(NOTE);
	for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
		the(topics[i], FINE, "");
	the("permissions", FINE, "a lock was acquired, renewed, waited for, handed over and released");
	for (size_t i = 0; i < found_count; i++)
		assert_string_equal(found[i].server, server_uri(server));
	check_nothing_is_left(server);
}

SENTENCE(options_that_are_wrong_are_refused_and_nothing_is_looked_at)
{
	assert_status(LEASH_INVALID, examine("nonsense"));
	assert_status(LEASH_INVALID, examine("redis+quorum://a,b"));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .prefix = "a b")));
	assert_status(LEASH_INVALID, examine_with(LEASH_OPTIONS(.uri = server_uri(server), .timeout_ms = -1)));
	assert_int_equal(found_count, 0);
}

SENTENCE(a_server_that_loads_is_not_fit_yet)
{
	struct server *slow = SERVER("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024",
	                             "--enable-debug-command", "yes");
	leash_status status;

	ask(slow, "DEBUG POPULATE 20000");
	ask(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	status = examine(server_uri(slow));
	ask(slow, "CONFIG SET key-load-delay 0");
	if (status == LEASH_OK) /* it let the hello pass */
		the("persistence", ERROR, "loading");
	else
		check_remedy(the("connection", ERROR, "LOADING"), "wait");
	server_stop(slow);
}

SENTENCE(connections_that_run_out_are_told)
{
	struct server *small = SERVER("--appendonly", "yes", "--maxclients", "4", "--timeout", "3600");
	redisContext *guests[3];

	ask(small, "PING");
	for (int i = 0; i < 2; i++)
		guests[i] = server_connect(small);
	assert_status(LEASH_OK, examine(server_uri(small)));
	the("limits", WARNING, "4 of at most 4");
	the("connection", ERROR, "second connection");
	the("limits", NOTE, "3600 s");
	guests[2] = server_connect(small);
	assert_status(LEASH_UNAVAILABLE, examine(server_uri(small)));
	check_remedy(the("connection", ERROR, "max number of clients"), "CONFIG SET maxclients");
	for (int i = 0; i < 3; i++)
		redisFree(guests[i]);
	server_stop(small);
}

SENTENCE(a_slow_line_is_told_by_what_leash_has_patience_for)
{
	struct proxy *proxy = proxy_start(server_socket(server));

	proxy_delay(proxy, PROXY_TO_SERVER, 260000);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 2500)));
	check_remedy(the("speed", WARNING, "tenth"), "?timeout=");
	proxy_stop(proxy);
	check_nothing_is_left(server);
}
