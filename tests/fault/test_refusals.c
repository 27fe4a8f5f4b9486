/* What servers say instead of doing what they were asked: every refusal, in every phase of a lock's life. Each has its status
 * and one line of text that says what and where, nothing is held that is not known, nothing of others is touched, nobody is asked
 * in a tight loop or behind anybody's back, and when the trouble is over all goes on by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/await.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static _Thread_local leash_error err; /* what the last call said */

/* ---- what every refusal must be ---- */

/* One line of printable characters that fits, names what it is about, and ends without a full stop. */
static void
check_text(const char *text, const char *names)
{
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof err.text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, text);
	if (strcasestr(text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, text);
	if (text[n - 1] == '.' && (n < 3 || strcmp(text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", text);
}

/* The call is refused with `expected`, and its text names the server and `names`. */
#define assert_refused(expected, uri, names, call) \
	do { \
		memset(&err, 0x5a, sizeof err); \
		assert_status((expected), (call)); \
		assert_int_equal(err.status, (expected)); \
		check_text(err.text, (names)); \
		check_text(err.text, (uri)); \
	} while (0)

/* No key of leash is there for ever. */
static void
check_ttls(struct server *server)
{
	redisReply *keys = server_command(server, "KEYS leash:*");

	for (size_t i = 0; i < keys->elements; i++)
		if (server_integer(server, "PTTL %b", keys->element[i]->str, (size_t)keys->element[i]->len) == -1)
			fail_msg("%s is there for ever", keys->element[i]->str);
	freeReplyObject(keys);
}

static void
ask_server(struct server *server, const char *command)
{
	redisReply *reply = server_command(server, command);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, reply->str);
	freeReplyObject(reply);
}

/* A number of INFO; `field` with its colon. */
static long long
info(struct server *server, const char *section, const char *field)
{
	const char *at = strstr(server_text(server, "INFO %s", section), field);

	return at != NULL ? atoll(at + strlen(field)) : 0;
}

/* A thread that waits for a lock, and releases it at once. */
struct waiting {
	leash_lock *lock;
	int64_t wait_ms;
	_Atomic int ended;
	leash_status status, released;
	leash_error err;
	pthread_t thread;
};

static void *
wait_and_release(void *arg)
{
	struct waiting *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	if (w->status == LEASH_OK)
		w->released = leash_lock_release(w->lock, &w->err);
	w->ended = 1;
	return NULL;
}

static void
begin_waiting(struct waiting *w, leash_lock *lock, int64_t wait_ms)
{
	*w = (struct waiting){.lock = lock, .wait_ms = wait_ms};
	assert_int_equal(pthread_create(&w->thread, NULL, wait_and_release, w), 0);
}

static void
end_waiting(struct waiting *w, leash_status expected)
{
	pthread_join(w->thread, NULL);
	assert_status(expected, (err = w->err, w->status));
	if (expected == LEASH_OK)
		assert_status(LEASH_OK, (err = w->err, w->released));
}

static leash_client *client;
static leash_lock *lock;
static struct leashed_events events;
static struct server *server;

static int
start_real(void **state)
{
	(void)state;
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	lock = leashed_lock(client, "refused", NULL);
	return 0;
}

static int
stop_real(void **state)
{
	(void)state;
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
	return 0;
}

static void
check_that_all_is_well(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

/* ---- scripts that the server does not have ---- */

static _Atomic bool flushing;

static void *
flush_scripts(void *arg)
{
	redisContext *c = server_connect(arg);

	while (flushing) {
		freeReplyObject(redisCommand(c, "SCRIPT FLUSH"));
		await_ms(1);
	}
	redisFree(c);
	return NULL;
}

static void
scripts_that_are_flushed_all_the_time_are_sent_again(void **state)
{
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 400, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *theirs = leashed_lock(other, "refused", NULL), *kept = leashed_lock(other, "kept", NULL);
	pthread_t flusher;
	int64_t end = await_now_ns() + 2 * INT64_C(1000000000);

	(void)state;
	flushing = true;
	assert_int_equal(pthread_create(&flusher, NULL, flush_scripts, server), 0);
	assert_status(LEASH_OK, leash_lock_acquire(kept, 5000, &err));
	for (int i = 0; i < 50 || await_now_ns() < end; i++) {
		struct waiting w;

		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		begin_waiting(&w, theirs, 30000);
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_extend(lock, 2000, &err));
		await_true(server_integer(server, "ZCARD leash:{refused}:queue") == 2);
		ask_server(server, "SCRIPT FLUSH");
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		end_waiting(&w, LEASH_OK);
		assert_true(leash_lock_held(kept)); /* it is being renewed */
	}
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	flushing = false;
	pthread_join(flusher, NULL);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_int_equal(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue leash:{kept}"), 0);
	leash_lock_free(theirs);
	leash_lock_free(kept);
	leash_close(other);
}

static void
without_evalsha_all_goes_by_eval(void **state)
{
	struct server *lacking = server_start((const char *const[]){"--rename-command", "EVALSHA", "", NULL});
	leash_client *one = leashed_open(server_uri(lacking), LEASH_OPTIONS(.lease_ms = 600)), *two = leashed_open(server_uri(lacking), NULL);
	leash_lock *held = leashed_lock(one, "eval", NULL), *wanted = leashed_lock(two, "eval", NULL);
	struct waiting w;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	begin_waiting(&w, wanted, LEASH_FOREVER);
	await_ms(1200);
	assert_true(leash_lock_held(held));
	assert_false(w.ended);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	end_waiting(&w, LEASH_OK);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(one);
	leash_close(two);
	server_stop(lacking);
}

static void
without_evalsha_and_eval_it_is_unsupported(void **state)
{
	struct server *lacking = server_start((const char *const[]){"--rename-command", "EVALSHA", "", "--rename-command", "EVAL", "", NULL});
	leash_client *one = leashed_open(server_uri(lacking), NULL);
	leash_lock *wanted = leashed_lock(one, "eval", NULL);

	(void)state;
	assert_refused(LEASH_UNSUPPORTED, server_uri(lacking), "EVAL", leash_lock_acquire(wanted, 0, &err));
	assert_refused(LEASH_UNSUPPORTED, server_uri(lacking), "EVAL", leash_lock_acquire(wanted, LEASH_FOREVER, &err));
	leash_lock_free(wanted);
	leash_close(one);
	server_stop(lacking);
}

/* ---- not now ---- */

static void
a_lock_outlives_a_restart_that_takes_seconds_to_load(void **state)
{
	struct server *slow = server_start((const char *const[]){"--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024",
	                                                                 "--enable-debug-command", "yes", NULL});
	leash_client *holder = leashed_open(server_uri(slow), LEASH_OPTIONS(.lease_ms = 60000, .on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = leashed_open(server_uri(slow), NULL);
	leash_lock *held = leashed_lock(holder, "kept", NULL), *wanted = leashed_lock(other, "kept", NULL), *third = leashed_lock(other, "third", NULL);
	struct waiting w;

	(void)state;
	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	begin_waiting(&w, wanted, LEASH_FOREVER);
	await_true(server_integer(slow, "ZCARD leash:{kept}:queue") == 2);
	ask_server(slow, "DEBUG POPULATE 2000");
	ask_server(slow, "SAVE");
	server_kill(slow);
	server_boot(slow);
	assert_refused(LEASH_UNAVAILABLE, server_uri(slow), "LOADING", leash_lock_acquire(third, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(third, 60000, &err));
	await_true(events.count[LEASH_EVENT_RECOVERED] >= 1 && events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_int_equal(info(slow, "commandstats", "cmdstat_script|kill:calls="), 0);
	assert_status(LEASH_OK, leash_lock_release(third, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	end_waiting(&w, LEASH_OK);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_lock_free(third);
	leash_close(holder);
	leash_close(other);
	server_stop(slow);
}

static void *
run_a_long_script(void *arg)
{
	redisContext *c = server_connect(arg);

	freeReplyObject(redisCommand(c, "EVAL %s 0", "while true do end"));
	redisFree(c);
	return NULL;
}

static bool
is_busy(redisContext *c)
{
	redisReply *reply = redisCommand(c, "PING");
	bool busy = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY", 4) == 0;

	freeReplyObject(reply);
	return busy;
}

static void
a_script_that_runs_for_seconds_is_waited_for_and_not_killed(void **state)
{
	leash_lock *held = leashed_lock(client, "held", LEASH_LOCK_OPTIONS(.lease_ms = 20000)), *brief;
	redisContext *killer = server_connect(server);
	pthread_t runner;
	struct waiting w;

	(void)state;
	ask_server(server, "CONFIG SET busy-reply-threshold 100");
	brief = leashed_lock(client, "brief", LEASH_LOCK_OPTIONS(.lease_ms = 4000));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(brief, 0, &err));
	assert_int_equal(pthread_create(&runner, NULL, run_a_long_script, server), 0);
	await_true(is_busy(killer));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "BUSY", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "BUSY", leash_lock_acquire(lock, 300, &err));
	begin_waiting(&w, lock, LEASH_FOREVER);
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1); /* of the one with the short lease */
	assert_true(leash_lock_held(held) && leash_lock_held(brief));
	freeReplyObject(redisCommand(killer, "SCRIPT KILL"));
	pthread_join(runner, NULL);
	end_waiting(&w, LEASH_OK);
	await_true(events.count[LEASH_EVENT_RECOVERED] == 1);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_status(LEASH_OK, leash_lock_release(brief, &err));
	assert_int_equal(info(server, "commandstats", "cmdstat_script|kill:calls="), 1);
	redisFree(killer);
	leash_lock_free(held);
	leash_lock_free(brief);
}

/* ---- not here ---- */

/* The server turns into a replica, whose word is `word`, and back. */
static void
be_a_replica_for_a_while(const char *word)
{
	leash_client *holder = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 300, .on_event = leashed_note_event, .event_arg = &events));
	leash_client *other = leashed_open(server_uri(server), NULL);
	leash_lock *held = leashed_lock(holder, "held", NULL), *wanted = leashed_lock(other, "held", NULL);
	leash_lock *released = leashed_lock(holder, "released", NULL);
	struct waiting w, asking;
	long long connections;

	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(released, 0, &err));
	begin_waiting(&w, wanted, LEASH_FOREVER);
	await_true(server_integer(server, "ZCARD leash:{held}:queue") == 2);
	ask_server(server, "REPLICAOF 127.0.0.1 1");

	assert_refused(LEASH_UNAVAILABLE, server_uri(server), word, leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), word, leash_lock_acquire(lock, 400, &err));
	assert_false(leash_lock_held(lock));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), word, leash_lock_extend(held, 40000, &err));
	assert_refused(LEASH_UNKNOWN, server_uri(server), word, leash_lock_release(released, &err));
	assert_true(leash_lock_held(held));
	begin_waiting(&asking, lock, LEASH_FOREVER);

	/* with a holder, a waiter, one who asks, and a release that is owed: the server is looked for, but not all the time */
	connections = info(server, "stats", "total_connections_received:");
	await_ms(1500);
	connections = info(server, "stats", "total_connections_received:") - connections;
	if (connections > 100)
		fail_msg("%lld connections of three clients in 1.5 s", connections);

	ask_server(server, "REPLICAOF NO ONE");
	end_waiting(&asking, LEASH_OK);
	await_true(server_integer(server, "EXISTS leash:{released}") == 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_extend(held, 40000, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	end_waiting(&w, LEASH_OK);
	leash_lock_free(held);
	leash_lock_free(released);
	leash_lock_free(wanted);
	leash_close(holder);
	leash_close(other);
}

static void
a_replica_is_left_alone_until_it_is_a_master_again(void **state)
{
	(void)state;
	be_a_replica_for_a_while("READONLY");
}

static void
a_replica_without_its_master_is_left_alone_too(void **state)
{
	(void)state;
	ask_server(server, "CONFIG SET replica-serve-stale-data no");
	be_a_replica_for_a_while("MASTERDOWN");
}

/* ---- refused ---- */

static void
a_full_server_grants_nothing_new_and_keeps_and_hands_on_what_there_is(void **state)
{
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 400, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *held = leashed_lock(other, "held", NULL), *wanted = leashed_lock(client, "held", NULL);
	struct waiting w;
	int64_t end;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	begin_waiting(&w, wanted, LEASH_FOREVER);
	await_true(server_integer(server, "ZCARD leash:{held}:queue") == 2);
	ask_server(server, "CONFIG SET maxmemory 1");
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "OOM", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "OOM", leash_lock_acquire(lock, LEASH_FOREVER, &err));
	end = await_now_ns() + 1500 * INT64_C(1000000);
	while (await_now_ns() < end) {
		assert_true(leash_lock_held(held)); /* which takes renewals */
		await_ms(5);
	}
	assert_status(LEASH_OK, leash_lock_extend(held, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	end_waiting(&w, LEASH_OK);
	assert_int_equal(server_integer(server, "EXISTS leash:{held} leash:{held}:queue"), 0);
	check_ttls(server);
	assert_int_equal(events.total, 0);
	ask_server(server, "CONFIG SET maxmemory 0");
	check_that_all_is_well();
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(other);
}

/* A server that writes nothing any more: who holds loses at the end of the lease and knows it. */
static void
write_nothing(struct server *of, const char *stop_command, const char *go_on, const char *word)
{
	leash_client *holder = leashed_open(server_uri(of), LEASH_OPTIONS(.timeout_ms = 500, .on_event = leashed_note_event, .event_arg = &events));
	leash_lock *held = leashed_lock(holder, "held", LEASH_LOCK_OPTIONS(.lease_ms = 1500));
	leash_lock *released = leashed_lock(holder, "released", NULL), *wanted = leashed_lock(holder, "wanted", NULL);
	int64_t ends;

	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(released, 0, &err));
	ask_server(of, stop_command);
	ends = await_now_ns() + leash_lock_remaining_ms(held) * 1000000;
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_acquire(wanted, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_acquire(wanted, 20, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(of), word, leash_lock_extend(held, 5000, &err));
	assert_refused(LEASH_UNKNOWN, server_uri(of), word, leash_lock_release(released, &err));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_true(events.at_ns[LEASH_EVENT_LOST] >= ends - 2000000);
	assert_false(leash_lock_held(held));
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	ask_server(of, go_on);
	await_true(server_integer(of, "EXISTS leash:{released}") == 0); /* at last */
	assert_status(LEASH_OK, leash_lock_acquire(wanted, 10000, &err));
	assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	check_ttls(of);
	leash_lock_free(held);
	leash_lock_free(released);
	leash_lock_free(wanted);
	leash_close(holder);
}

static void
a_server_that_cannot_save_lets_leases_run_out_truthfully(void **state)
{
	struct server *full = server_start((const char *const[]){"--dbfilename", "taken", NULL});
	char folder[512];

	(void)state;
	snprintf(folder, sizeof folder, "%s/taken", server_folder(full));
	assert_int_equal(mkdir(folder, 0700), 0);
	ask_server(full, "SET something to-save");
	ask_server(full, "CONFIG SET stop-writes-on-bgsave-error no");
	freeReplyObject(server_command(full, "CONFIG SET save %s", "3600 1"));
	ask_server(full, "BGSAVE");
	await_true(strstr(server_text(full, "INFO persistence"), "rdb_last_bgsave_status:err") != NULL);
	write_nothing(full, "CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF");
	server_stop(full);
}

static void
a_master_with_too_few_replicas_lets_leases_run_out_truthfully(void **state)
{
	(void)state;
	write_nothing(server, "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS");
}

/* ---- not served ---- */

static void
a_node_of_a_cluster_without_slots_is_unavailable(void **state)
{
	struct server *node = server_start((const char *const[]){"--cluster-enabled", "yes", NULL});
	leash_client *one = leashed_open(server_uri(node), NULL);
	leash_lock *wanted = leashed_lock(one, "slotless", NULL);

	(void)state;
	assert_refused(LEASH_UNAVAILABLE, server_uri(node), "CLUSTERDOWN", leash_lock_acquire(wanted, 0, &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri(node), "CLUSTERDOWN", leash_lock_acquire(wanted, 300, &err));
	leash_lock_free(wanted);
	leash_close(one);
	server_stop(node);
}

/* ---- denied ---- */

/* All that is ever told, to be searched for a secret. */
struct ear {
	pthread_mutex_t mutex;
	char text[65536];
	size_t size;
	char unprintable[256]; /* the first line that should not reach a terminal, or "" */
};

static void
hear(struct ear *ear, const char *text)
{
	size_t n = strlen(text);

	pthread_mutex_lock(&ear->mutex);
	for (size_t i = 0; i < n; i++)
		if ((text[i] < ' ' || text[i] > '~') && ear->unprintable[0] == '\0')
			snprintf(ear->unprintable, sizeof ear->unprintable, "%s", text);
	if (n < sizeof ear->text - ear->size) {
		memcpy(ear->text + ear->size, text, n + 1);
		ear->size += n;
	}
	pthread_mutex_unlock(&ear->mutex);
}

static void
hear_line(void *ear, leash_log_level level, const char *line)
{
	(void)level;
	hear(ear, line);
}

static void
opening_without_or_with_the_wrong_password_is_denied(void **state)
{
	struct server *secret = server_start((const char *const[]){"--requirepass", "hunter2", NULL});
	leash_client *none;
	char uri[512];

	(void)state;
	assert_refused(LEASH_DENIED, server_uri(secret), "NOAUTH", leash_open(&none, LEASH_OPTIONS(.uri = server_uri(secret)), &err));
	snprintf(uri, sizeof uri, "unix://:hunter3@%s", server_socket(secret));
	assert_refused(LEASH_DENIED, server_uri(secret), "AUTH", leash_open(&none, LEASH_OPTIONS(.uri = uri), &err));
	assert_null(strstr(err.text, "hunter"));
	snprintf(uri, sizeof uri, "unix://nobody:hunter2@%s", server_socket(secret));
	assert_refused(LEASH_DENIED, server_uri(secret), "WRONGPASS", leash_open(&none, LEASH_OPTIONS(.uri = uri), &err));
	assert_null(strstr(err.text, "hunter"));
	/* a password where none is wanted */
	snprintf(uri, sizeof uri, "unix://:hunter2@%s", server_socket(server));
	assert_refused(LEASH_DENIED, server_uri(server), "AUTH", leash_open(&none, LEASH_OPTIONS(.uri = uri), &err));
	assert_null(strstr(err.text, "hunter"));
	server_stop(secret);
}

/* One uncontended and one contended life of a lock as the user "u", who may not run `command`. */
static void
live_without(const char *command, const char *must)
{
	leash_client *limited, *free_one = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 2000));
	leash_lock *theirs = leashed_lock(free_one, "limited", NULL), *mine;
	char uri[512];
	leash_status status;
	bool denied = false;
	struct waiting w;

	ask_server(server, "SCRIPT FLUSH");
	snprintf(uri, sizeof uri, "unix://u:hunter2@%s", server_socket(server));
	status = leash_open(&limited, LEASH_OPTIONS(.uri = uri, .lease_ms = 500, .timeout_ms = 200), &err);
	if (status != LEASH_OK) {
		assert_int_equal(status, LEASH_DENIED);
		check_text(err.text, command);
		assert_string_equal(must, "open");
		leash_lock_free(theirs);
		leash_close(free_one);
		return;
	}
	mine = leashed_lock(limited, "limited", NULL);

	/* alone */
	status = leash_lock_acquire(mine, 0, &err);
	assert_true(status == LEASH_OK || status == LEASH_DENIED);
	if (status == LEASH_DENIED) {
		check_text(err.text, command);
		check_text(err.text, server_uri(server));
		denied = true;
	}
	check_ttls(server);
	if (status == LEASH_OK) {
		status = leash_lock_extend(mine, 600, &err);
		if (status == LEASH_DENIED)
			check_text(err.text, command);
		else
			assert_status(LEASH_OK, status);
		denied |= status == LEASH_DENIED;
		check_ttls(server);
		status = leash_lock_release(mine, &err);
		if (status == LEASH_DENIED)
			check_text(err.text, command);
		else
			assert_status(LEASH_OK, status);
		denied |= status == LEASH_DENIED;
	}
	check_ttls(server);

	/* behind another */
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 10000, &err));
	status = leash_lock_acquire(mine, 50, &err);
	if (status == LEASH_DENIED)
		check_text(err.text, command);
	else
		assert_true(status == LEASH_TIMEOUT || status == LEASH_UNAVAILABLE);
	denied |= status == LEASH_DENIED;
	check_ttls(server);
	begin_waiting(&w, mine, 800);
	await_ms(20);
	check_ttls(server);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	pthread_join(w.thread, NULL); /* however it went */
	check_ttls(server);

	/* nobody is kept out for longer than the leases take */
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	check_ttls(server);
	leash_lock_free(mine);
	leash_close(limited);
	check_ttls(server);
	leash_lock_free(theirs);
	leash_close(free_one);
	if (strcmp(must, "denied") == 0 && !denied)
		fail_msg("without %s nothing was denied", command);
}

static void
each_permission_that_is_missing_is_named_and_leaves_no_key_for_ever(void **state)
{
	static const struct {
		const char *command, *must;
	} missing[] = {
		{"evalsha", "denied"}, {"eval", "denied"}, {"subscribe", "open"}, {"time", "open"}, {"exists", "denied"}, {"set", "denied"},
		{"hset", "denied"}, {"pexpire", "denied"}, {"hdel", "denied"}, {"pttl", "denied"}, {"hexists", "denied"}, {"hget", "denied"},
		{"zadd", "denied"}, {"zscore", "denied"}, {"zrevrange", "denied"}, {"get", ""}, {"zrem", ""}, {"zcount", ""}, {"del", ""},
		{"zrangebyscore", ""}, {"publish", ""}, {"info", ""}, {"client", ""}, {"select", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
		freeReplyObject(server_command(server, "ACL SETUSER u reset on >hunter2 ~* &* +@all -%s", missing[i].command));
		live_without(missing[i].command, missing[i].must);
	}
	/* keys and channels are not commands */
	ask_server(server, "ACL SETUSER u reset on >hunter2 ~other:* &* +@all");
	live_without("key", "denied");
	ask_server(server, "ACL SETUSER u reset on >hunter2 ~* resetchannels +@all");
	live_without("channel", "open");
}

static void
a_password_that_was_changed_is_told_when_the_connection_is_gone(void **state)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct server *secret = server_start((const char *const[]){"--requirepass", "hunter2", NULL});
	leash_client *holder;
	leash_lock *held, *wanted;
	char uri[512];

	(void)state;
	snprintf(uri, sizeof uri, "unix://:hunter2@%s", server_socket(secret));
	holder = leashed_open(uri, LEASH_OPTIONS(.lease_ms = 1500, .on_event = leashed_note_event, .event_arg = &events, .on_log = hear_line, .log_arg = &ear));
	held = leashed_lock(holder, "held", NULL);
	wanted = leashed_lock(holder, "wanted", NULL);
	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	ask_server(secret, "CONFIG SET requirepass hunter4");
	await_ms(1000);
	assert_true(leash_lock_held(held)); /* the old connection is as good as ever */
	assert_int_equal(events.total, 0);
	server_integer(secret, "CLIENT KILL TYPE pubsub");
	server_integer(secret, "CLIENT KILL TYPE normal SKIPME yes");
	assert_refused(LEASH_DENIED, server_uri(secret), "AUTH", leash_lock_acquire(wanted, 300, &err));
	assert_null(strstr(err.text, "hunter"));
	assert_refused(LEASH_DENIED, server_uri(secret), "AUTH", leash_lock_acquire(wanted, 0, &err));
	await_true(events.count[LEASH_EVENT_JEOPARDY] == 1);
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	ask_server(secret, "CONFIG SET requirepass hunter2");
	await_true(leash_lock_acquire(held, 30000, &err) == LEASH_OK); /* it is tried again */
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(holder);
	assert_true(ear.size > 0);
	assert_null(strstr(ear.text, "hunter"));
	server_stop(secret);
}

static void
who_waits_is_told_of_a_permission_that_is_taken_away(void **state)
{
	leash_client *limited;
	leash_lock *mine;
	struct waiting first, second;
	char uri[512];

	(void)state;
	ask_server(server, "ACL SETUSER u reset on >hunter2 ~* &* +@all");
	snprintf(uri, sizeof uri, "unix://u:hunter2@%s", server_socket(server));
	limited = leashed_open(uri, NULL);
	mine = leashed_lock(limited, "refused", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begin_waiting(&first, mine, LEASH_FOREVER);
	begin_waiting(&second, mine, 60000);
	await_true(server_integer(server, "ZCARD leash:{refused}:queue") == 2);
	ask_server(server, "ACL SETUSER u -evalsha");
	end_waiting(&first, LEASH_DENIED);
	check_text(first.err.text, "evalsha");
	end_waiting(&second, LEASH_DENIED);
	assert_true(leash_lock_held(lock));
	ask_server(server, "ACL SETUSER u +evalsha");
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(mine);
	leash_close(limited);
}

static void
what_is_denied_again_and_again_piles_up_nothing(void **state)
{
	leash_client *limited;
	leash_lock *mine;
	char uri[512];
	long long rejected;

	(void)state;
	ask_server(server, "ACL SETUSER u reset on >hunter2 ~* &* +@all -evalsha -eval");
	snprintf(uri, sizeof uri, "unix://u:hunter2@%s", server_socket(server));
	limited = leashed_open(uri, LEASH_OPTIONS(.lease_ms = 100));
	mine = leashed_lock(limited, "denied", NULL);
	for (int i = 0; i < 100; i++)
		assert_status(LEASH_DENIED, leash_lock_acquire(mine, i % 2 ? 0 : LEASH_FOREVER, &err));
	await_ms(200); /* leases of which there are none would be over by now */
	rejected = info(server, "commandstats", "cmdstat_evalsha:calls=");
	rejected = atoll(strstr(strstr(server_text(server, "INFO commandstats"), "cmdstat_evalsha"), "rejected_calls=") + 15);
	await_ms(2000);
	rejected = atoll(strstr(strstr(server_text(server, "INFO commandstats"), "cmdstat_evalsha"), "rejected_calls=") + 15) - rejected;
	if (rejected > 20)
		fail_msg("%lld commands in 2 s on behalf of nobody", rejected);
	leash_lock_free(mine);
	leash_close(limited);
}

/* ---- keys that are something else ---- */

static void
a_key_of_another_type_is_a_mismatch_and_left_alone(void **state)
{
	static const struct {
		const char *key, *make, *look, *looks;
	} theirs[] = {
		{"leash:{refused}", "SET leash:{refused} theirs", "GET leash:{refused}", "theirs"},
		{"leash:{refused}", "RPUSH leash:{refused} the irs", "LRANGE leash:{refused} 0 -1", "the irs"},
		{"leash:{refused}:fence", "RPUSH leash:{refused}:fence theirs", "LRANGE leash:{refused}:fence 0 -1", "theirs"},
		{"leash:{refused}:fence", "HSET leash:{refused}:fence the irs", "HGETALL leash:{refused}:fence", "the irs"},
		{"leash:{refused}:queue", "SET leash:{refused}:queue theirs", "GET leash:{refused}:queue", "theirs"},
		{"leash:{refused}:queue", "RPUSH leash:{refused}:queue theirs", "LRANGE leash:{refused}:queue 0 -1", "theirs"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
		check_that_all_is_well();
		freeReplyObject(server_command(server, "DEL %s", theirs[i].key));
		ask_server(server, theirs[i].make);
		assert_refused(LEASH_MISMATCH, server_uri(server), "WRONGTYPE", leash_lock_acquire(lock, 0, &err));
		assert_refused(LEASH_MISMATCH, server_uri(server), "lock 'refused'", leash_lock_acquire(lock, 1000, &err));
		assert_refused(LEASH_MISMATCH, server_uri(server), "WRONGTYPE", leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_false(leash_lock_held(lock));
		await_ms(20); /* should there be a cancel of it */
		assert_string_equal(server_text(server, theirs[i].look), theirs[i].looks);
		assert_int_equal(server_integer(server, "PTTL %s", theirs[i].key), -1);
		assert_int_equal(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue") > (i < 2 || i > 3), false);
		freeReplyObject(server_command(server, "DEL %s", theirs[i].key));
	}
	check_that_all_is_well();
	check_ttls(server);
}

static void
a_lock_whose_key_was_replaced_is_lost_and_what_is_there_left_alone(void **state)
{
	leash_lock *renewed = leashed_lock(client, "renewed", LEASH_LOCK_OPTIONS(.lease_ms = 6000)), *extended = leashed_lock(client, "extended", NULL);
	leash_lock *released = leashed_lock(client, "released", NULL);
	int64_t replaced;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(renewed, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(extended, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(released, 0, &err));
	replaced = await_now_ns();
	ask_server(server, "MSET leash:{renewed} theirs leash:{extended} theirs leash:{released} theirs");
	assert_status(LEASH_LOST, leash_lock_release(released, &err));
	check_text(err.text, "lock 'released'");
	assert_status(LEASH_LOST, leash_lock_extend(extended, 30000, &err));
	check_text(err.text, "lock 'extended'");
	assert_false(leash_lock_held(extended));
	assert_status(LEASH_LOST, leash_lock_release(extended, &err));
	/* within one renewal period, and not at the end of the lease */
	await_true(events.count[LEASH_EVENT_LOST] == 2);
	assert_false(leash_lock_held(renewed));
	assert_true(events.at_ns[LEASH_EVENT_LOST] - replaced < 4 * INT64_C(1000000000));
	assert_status(LEASH_LOST, leash_lock_release(renewed, &err));
	await_ms(50);
	assert_string_equal(server_text(server, "MGET leash:{renewed} leash:{extended} leash:{released}"), "theirs theirs theirs");
	leash_lock_free(renewed);
	leash_lock_free(extended);
	leash_lock_free(released);
}

static void
who_waits_is_told_of_a_key_that_was_replaced(void **state)
{
	static const char *const keys[] = {"leash:{refused}", "leash:{refused}:queue"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		leash_client *other = leashed_open(server_uri(server), NULL);
		leash_lock *mine = leashed_lock(other, "refused", NULL);
		struct waiting w;

		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		begin_waiting(&w, mine, LEASH_FOREVER);
		await_true(server_integer(server, "ZCARD leash:{refused}:queue") == 2);
		freeReplyObject(server_command(server, "SET %s theirs", keys[i]));
		end_waiting(&w, LEASH_MISMATCH); /* by its next word */
		check_text(w.err.text, "lock 'refused'");
		assert_string_equal(server_text(server, "GET %s", keys[i]), "theirs");
		leash_lock_release(lock, NULL);
		freeReplyObject(server_command(server, "DEL leash:{refused} leash:{refused}:queue"));
		leash_lock_free(mine);
		leash_close(other);
	}
}

/* ---- behind their backs ---- */

/* So that the server knows the scripts, and one try is one command. */
static void
warm_up(void)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

static bool
refuses_nobody_for_a_second(void)
{
	long long before = info(server, "stats", "total_error_replies:");

	await_ms(1000);
	return info(server, "stats", "total_error_replies:") == before;
}

static void
failed_tries_cost_one_command_each_and_leave_nothing_behind(void **state)
{
	enum { TRIES = 200 };
	struct monitor *monitor;

	(void)state;
	warm_up();
	monitor = monitor_start(server);
	ask_server(server, "CONFIG SET min-replicas-to-write 1");
	monitor_mark(monitor);
	for (int i = 0; i < TRIES; i++)
		assert_refused(LEASH_UNAVAILABLE, server_uri(server), "NOREPLICAS", leash_lock_acquire(lock, 0, &err));
	await_ms((int64_t)(600 * await_slowness())); /* what was to be repeated would have been */
	assert_int_equal(monitor_count(monitor, "eval"), TRIES);
	assert_int_equal(monitor_count(monitor, NULL), TRIES);
	ask_server(server, "CONFIG SET min-replicas-to-write 0");
	check_that_all_is_well();
	monitor_stop(monitor);
}

static void
tries_that_are_not_permitted_leave_no_stream_of_commands_behind(void **state)
{
	enum { LOCKS = 50 };

	(void)state;
	warm_up();
	ask_server(server, "ACL SETUSER default -eval -evalsha");
	for (int i = 0; i < LOCKS; i++) {
		leash_lock *forbidden;
		char name[24];

		snprintf(name, sizeof name, "forbidden%d", i);
		forbidden = leashed_lock(client, name, LEASH_LOCK_OPTIONS(.lease_ms = 200));
		assert_refused(LEASH_DENIED, server_uri(server), "evalsha", leash_lock_acquire(forbidden, 0, &err));
		leash_lock_free(forbidden);
	}
	await_true(refuses_nobody_for_a_second()); /* a timeout, a lease and some seconds later at the latest */
	ask_server(server, "ACL SETUSER default +eval +evalsha");
}

/* Does `text` contain `word`, alone? */
static bool
names(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
		char before = at > text ? at[-1] : ' ', after = at[n];

		if ((before < 'A' || before > 'Z') && (after < 'A' || after > 'Z'))
			return true;
	}
	return false;
}

static void
who_may_not_give_a_command_of_a_script_is_told_which(void **state)
{
	static const char *const commands[] = {"HSET", "PEXPIRE", "SET", "EXISTS", "TIME"};

	(void)state;
	warm_up();
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		freeReplyObject(server_command(server, "ACL SETUSER default -%s", commands[i]));
		assert_refused(LEASH_DENIED, server_uri(server), "lock 'refused'", leash_lock_acquire(lock, 0, &err));
		if (!names(err.text, commands[i]))
			fail_msg("without %s: %s", commands[i], err.text);
		assert_status(LEASH_DENIED, leash_lock_acquire(lock, 2000, &err)); /* waiting does not make it right */
		freeReplyObject(server_command(server, "ACL SETUSER default +%s", commands[i]));
		check_that_all_is_well();
	}
	await_true(server_integer(server, "EXISTS leash:{refused} leash:{refused}:queue") == 0);
}

static void
a_holder_whose_key_is_gone_is_told_at_the_next_renewal(void **state)
{
	static const char *const does[] = {"DEL leash:{gone}", "SET leash:{gone} something-else", "HSET leash:{gone} somebody 1"};
	int64_t lease_ms = (int64_t)(3000 * await_slowness());
	leash_lock *gone = leashed_lock(client, "gone", LEASH_LOCK_OPTIONS(.lease_ms = lease_ms));

	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t acquired;

		assert_status(LEASH_OK, leash_lock_acquire(gone, 10000, &err));
		acquired = await_now_ns();
		if (i > 0)
			ask_server(server, "DEL leash:{gone}");
		ask_server(server, does[i]);
		await_true(events.count[LEASH_EVENT_LOST] == i + 1);
		/* due after a third of the lease; with all there is to spare, long before the lease would have ended */
		assert_true(events.at_ns[LEASH_EVENT_LOST] - acquired < lease_ms * 1000000 * 2 / 3);
		assert_false(leash_lock_held(gone));
		assert_status(LEASH_LOST, leash_lock_release(gone, &err));
		if (i > 0) { /* what others put there is left alone */
			await_ms(20);
			assert_string_equal(server_text(server, "TYPE leash:{gone}"), i == 1 ? "string" : "hash");
			ask_server(server, "DEL leash:{gone}");
		}
	}
	assert_int_equal(events.total, 3);
	leash_lock_free(gone);
}

/* ---- connections ---- */

struct contender {
	leash_lock *lock;
	pthread_t thread;
	int turns;
	leash_status trouble;
	leash_error err;
};

static _Atomic bool storming;
static _Atomic int inside;
static _Atomic int overlaps;

static void *
contend(void *arg)
{
	struct contender *c = arg;

	while (storming && c->trouble == LEASH_OK) {
		c->trouble = leash_lock_acquire(c->lock, LEASH_FOREVER, &c->err);
		if (c->trouble != LEASH_OK)
			break;
		overlaps += inside++ != 0;
		await_ms(2);
		inside--;
		c->trouble = leash_lock_release(c->lock, &c->err);
		c->turns++;
	}
	return NULL;
}

static void
connections_that_are_killed_ten_times_a_second_cost_no_lock_and_no_waiter(void **state)
{
	enum { N = 4 };
	leash_client *other = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = 2500));
	struct contender contender[N] = {0};

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	storming = true;
	for (int i = 0; i < N; i++) {
		contender[i].lock = leashed_lock(i % 2 ? client : other, "stormy", NULL);
		assert_int_equal(pthread_create(&contender[i].thread, NULL, contend, &contender[i]), 0);
	}
	for (int i = 0; i < 40; i++) {
		server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
		server_integer(server, "CLIENT KILL TYPE pubsub");
		await_ms(100);
		assert_true(leash_lock_held(kept));
	}
	storming = false;
	for (int i = 0; i < N; i++) {
		pthread_join(contender[i].thread, NULL);
		assert_status(LEASH_OK, (err = contender[i].err, contender[i].trouble));
		assert_true(contender[i].turns > 0);
		printf("# %d turns\n", contender[i].turns);
		leash_lock_free(contender[i].lock);
	}
	assert_int_equal(overlaps, 0);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	await_true(server_integer(server, "EXISTS leash:{stormy} leash:{stormy}:queue leash:{kept}") == 0);
	leash_lock_free(kept);
	leash_close(other);
}

static void
a_server_that_pauses_its_clients_costs_no_lock_either(void **state)
{
	static const char *const pauses[] = {"CLIENT PAUSE 1500 ALL", "CLIENT PAUSE 1500 WRITE"};
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = 4000)), *paused = leashed_lock(client, "paused", NULL);

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	for (int i = 0; i < 2; i++) {
		int64_t end = await_now_ns() + 1300 * INT64_C(1000000);
		struct waiting w;

		ask_server(server, pauses[i]);
		begin_waiting(&w, lock, LEASH_FOREVER);
		assert_refused(LEASH_UNAVAILABLE, server_uri(server), "lock 'paused'", leash_lock_acquire(paused, 200, &err));
		while (await_now_ns() < end) {
			assert_true(leash_lock_held(kept));
			await_ms(5);
		}
		end_waiting(&w, LEASH_OK);
	}
	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_true(leash_lock_held(kept));
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	assert_int_equal(server_integer(server, "EXISTS leash:{paused} leash:{kept}"), 0);
	leash_lock_free(kept);
	leash_lock_free(paused);
}

static void
a_server_that_takes_no_more_clients_is_asked_again_and_not_too_often(void **state)
{
	leash_lock *kept = leashed_lock(client, "kept", LEASH_LOCK_OPTIONS(.lease_ms = 20000));
	leash_client *none;
	long long rejected;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(kept, 0, &err));
	ask_server(server, "CONFIG SET maxclients 1"); /* this one */
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "max number of clients", leash_open(&none, LEASH_OPTIONS(.uri = server_uri(server)), &err));
	server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
	server_integer(server, "CLIENT KILL TYPE pubsub");
	assert_refused(LEASH_UNAVAILABLE, server_uri(server), "max number of clients", leash_lock_acquire(lock, 500, &err));
	rejected = info(server, "stats", "rejected_connections:");
	await_ms(2000);
	rejected = info(server, "stats", "rejected_connections:") - rejected;
	if (rejected > 40)
		fail_msg("%lld attempts in 2 s", rejected);
	assert_true(leash_lock_held(kept));
	ask_server(server, "CONFIG SET maxclients 1000");
	check_that_all_is_well();
	assert_status(LEASH_OK, leash_lock_extend(kept, 20000, &err));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_status(LEASH_OK, leash_lock_release(kept, &err));
	leash_lock_free(kept);
}

static void
a_server_that_refuses_connections_is_found_again_when_it_is_up(void **state)
{
	struct server *gone = server_start_tcp(NULL);
	leash_client *one = leashed_open(server_uri_tcp(gone), NULL), *none;
	leash_lock *wanted = leashed_lock(one, "refused", NULL);
	struct waiting w;

	(void)state;
	server_kill(gone);
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(gone), "refused", leash_open(&none, LEASH_OPTIONS(.uri = server_uri_tcp(gone)), &err));
	assert_refused(LEASH_UNAVAILABLE, server_uri_tcp(gone), "connecting", leash_lock_acquire(wanted, 300, &err));
	begin_waiting(&w, wanted, LEASH_FOREVER);
	await_ms(300);
	assert_false(w.ended);
	server_restart(gone);
	end_waiting(&w, LEASH_OK);
	leash_lock_free(wanted);
	leash_close(one);
	server_stop(gone);
}

#define on_real(test) cmocka_unit_test_setup_teardown(test, start_real, stop_real)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		on_real(scripts_that_are_flushed_all_the_time_are_sent_again),
		cmocka_unit_test(without_evalsha_all_goes_by_eval),
		cmocka_unit_test(without_evalsha_and_eval_it_is_unsupported),
		cmocka_unit_test(a_lock_outlives_a_restart_that_takes_seconds_to_load),
		on_real(a_script_that_runs_for_seconds_is_waited_for_and_not_killed),
		on_real(a_replica_is_left_alone_until_it_is_a_master_again),
		on_real(a_replica_without_its_master_is_left_alone_too),
		on_real(a_full_server_grants_nothing_new_and_keeps_and_hands_on_what_there_is),
		cmocka_unit_test(a_server_that_cannot_save_lets_leases_run_out_truthfully),
		on_real(a_master_with_too_few_replicas_lets_leases_run_out_truthfully),
		cmocka_unit_test(a_node_of_a_cluster_without_slots_is_unavailable),
		on_real(opening_without_or_with_the_wrong_password_is_denied),
		on_real(each_permission_that_is_missing_is_named_and_leaves_no_key_for_ever),
		cmocka_unit_test(a_password_that_was_changed_is_told_when_the_connection_is_gone),
		on_real(who_waits_is_told_of_a_permission_that_is_taken_away),
		on_real(what_is_denied_again_and_again_piles_up_nothing),
		on_real(a_key_of_another_type_is_a_mismatch_and_left_alone),
		on_real(a_lock_whose_key_was_replaced_is_lost_and_what_is_there_left_alone),
		on_real(who_waits_is_told_of_a_key_that_was_replaced),
		on_real(failed_tries_cost_one_command_each_and_leave_nothing_behind),
		on_real(tries_that_are_not_permitted_leave_no_stream_of_commands_behind),
		on_real(who_may_not_give_a_command_of_a_script_is_told_which),
		on_real(a_holder_whose_key_is_gone_is_told_at_the_next_renewal),
		on_real(connections_that_are_killed_ten_times_a_second_cost_no_lock_and_no_waiter),
		on_real(a_server_that_pauses_its_clients_costs_no_lock_either),
		on_real(a_server_that_takes_no_more_clients_is_asked_again_and_not_too_often),
		cmocka_unit_test(a_server_that_refuses_connections_is_found_again_when_it_is_up),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
