/* Bad input: whatever an application hands over is taken as documented or refused, with a status and one line of text that
 * says what and where; and what Redis is told is never broken by it. */
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
#include <unistd.h>

static struct server *server;
static _Thread_local leash_error err; /* what the last call said */

static int
start(void **state)
{
	(void)state;
	server = server_start(NULL);
	setenv("LEASH_URI", server_uri(server), 1);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

/* ---- what every refusal must be ---- */

/* One line of printable characters that fits, names what it is about, and ends without a full stop. */
static void
check_text(const char *names)
{
	size_t n = strnlen(err.text, sizeof err.text);

	if (n == 0 || n == sizeof err.text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (err.text[i] < ' ' || err.text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, err.text);
	if (strstr(err.text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, err.text);
	if (err.text[n - 1] == '.' && (n < 3 || strcmp(err.text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", err.text);
}

/* The call is refused with `expected`, and its text names `names`. */
#define assert_refused(expected, names, call) \
	do { \
		memset(&err, 0x5a, sizeof err); \
		assert_status((expected), (call)); \
		assert_int_equal(err.status, (expected)); \
		check_text((names)); \
	} while (0)

static leash_client *
open_client(void)
{
	return leashed_open(server_uri(server), NULL);
}

/* A thread that waits for a lock, and gives it back once it was told to. */
struct waiting {
	leash_lock *lock;
	int64_t wait_ms;
	_Atomic int acquired, may_release;
	leash_status status;
	leash_error err;
	pthread_t thread;
};

static void *
wait_and_release(void *arg)
{
	struct waiting *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	w->acquired = 1;
	if (w->status == LEASH_OK) {
		await_true(w->may_release);
		w->status = leash_lock_release(w->lock, &w->err);
	}
	return NULL;
}

static void
begin_waiting(struct waiting *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, wait_and_release, w), 0);
}

static void
end_waiting(struct waiting *w)
{

	await_true(w->acquired);
	w->may_release = 1;
	pthread_join(w->thread, NULL);
	assert_status(LEASH_OK, (err = w->err, w->status));
}

/* ---- arguments ---- */

static void
the_error_struct_has_256_bytes_for_ever(void **state)
{
	(void)state;
	assert_int_equal(sizeof(leash_error), 256);
	assert_int_equal(offsetof(leash_error, status), 0);
	assert_int_equal(offsetof(leash_error, sys_errno), 4);
	assert_int_equal(offsetof(leash_error, text), 8);
}

static void
null_arguments_are_refused_by_every_function(void **state)
{
	leash_client *client = open_client(), *none = (leash_client *)(uintptr_t)1;
	leash_lock *lock = leashed_lock(client, "null", NULL), *untouched = (leash_lock *)(uintptr_t)1;
	char token[LEASH_TOKEN_MAX] = "x";
	leash_memory half = {.alloc = malloc, .realloc = NULL, .free = free};

	(void)state;
	assert_refused(LEASH_INVALID, "leash_open", leash_open(NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_new", leash_lock_new(NULL, client, "x", NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_new", leash_lock_new(&untouched, NULL, "x", NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_new", leash_lock_new(&untouched, client, NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_acquire", leash_lock_acquire(NULL, 0, &err));
	assert_refused(LEASH_INVALID, "leash_lock_acquire_with", leash_lock_acquire_with(NULL, NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_release", leash_lock_release(NULL, &err));
	assert_refused(LEASH_INVALID, "leash_lock_extend", leash_lock_extend(NULL, 1000, &err));
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	assert_false(leash_lock_held(NULL));
	assert_int_equal(leash_lock_remaining_ms(NULL), 0);
	assert_int_equal(leash_lock_depth(NULL), 0);
	assert_int_equal(leash_lock_fence(NULL), 0);
	assert_int_equal(leash_lock_token(NULL, token, sizeof token), 0);
	assert_string_equal(token, "");
	leash_lock_alive(NULL);
	leash_lock_free(NULL);
	leash_close(NULL);
	assert_int_equal(leash_set_memory(NULL), LEASH_INVALID); /* too late by now */
	assert_int_equal(leash_set_memory(&half), LEASH_INVALID);

	/* nobody wants to know why */
	assert_int_equal(leash_open(NULL, NULL, NULL), LEASH_INVALID);
	assert_int_equal(leash_open(&none, LEASH_OPTIONS(.uri = "nonsense"), NULL), LEASH_INVALID);
	assert_ptr_equal(none, (leash_client *)(uintptr_t)1);
	assert_int_equal(leash_lock_new(&untouched, client, "", NULL, NULL), LEASH_INVALID);
	assert_int_equal(leash_lock_new(&untouched, client, "x", LEASH_LOCK_OPTIONS(.lease_ms = 1), NULL), LEASH_INVALID);
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	assert_int_equal(leash_lock_acquire(NULL, 0, NULL), LEASH_INVALID);
	assert_int_equal(leash_lock_acquire(lock, -1, NULL), LEASH_INVALID);
	assert_int_equal(leash_lock_release(lock, NULL), LEASH_NOT_HELD);
	assert_int_equal(leash_lock_extend(lock, 1, NULL), LEASH_INVALID);
	assert_int_equal(leash_lock_extend(lock, 1000, NULL), LEASH_NOT_HELD);
	assert_int_equal(leash_lock_acquire_with(lock, NULL, NULL), LEASH_OK); /* tries once */
	assert_true(leash_lock_token(lock, NULL, 0) > 0);
	assert_int_equal(leash_lock_token(lock, NULL, 10), 0);
	assert_int_equal(leash_lock_release(lock, NULL), LEASH_OK);
	leash_lock_free(lock);
	leash_close(client);
}

static void
a_token_is_cut_off_where_there_is_no_room(void **state)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "token", NULL);
	char whole[LEASH_TOKEN_MAX], out[LEASH_TOKEN_MAX];
	size_t n;

	(void)state;
	assert_int_equal(leash_lock_token(lock, whole, sizeof whole), 0);
	assert_string_equal(whole, "");
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	n = leash_lock_token(lock, whole, sizeof whole);
	assert_int_equal(n, strlen(whole));
	assert_true(n < LEASH_TOKEN_MAX);
	assert_string_equal(server_text(server, "HKEYS leash:{token}"), whole);
	for (size_t size = 1; size <= n + 1; size++) {
		memset(out, 'x', sizeof out);
		assert_int_equal(leash_lock_token(lock, out, size), n);
		assert_int_equal(strlen(out), size - 1);
		assert_memory_equal(out, whole, size - 1);
		for (size_t i = size; i < sizeof out; i++)
			assert_int_equal(out[i], 'x');
	}
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_int_equal(leash_lock_token(lock, out, sizeof out), 0);
	leash_lock_free(lock);
	leash_close(client);
}

static void
numbers_that_are_no_status_or_event_have_a_name_too(void **state)
{
	static const int numbers[] = {-1, 16, 4711, INT32_MAX, INT32_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		assert_string_equal(leash_status_name((leash_status)numbers[i]), "?");
		assert_string_equal(leash_status_text((leash_status)numbers[i]), "unknown status");
		assert_string_equal(leash_event_name((leash_event_type)numbers[i]), "?");
	}
	assert_string_equal(leash_event_name((leash_event_type)0), "?");
	assert_string_equal(leash_event_name(LEASH_EVENT_LOST), "LOST");
	assert_string_equal(leash_status_name(LEASH_NOT_HELD), "NOT_HELD");
}

static void
a_call_that_succeeds_leaves_the_error_alone(void **state)
{
	leash_client *client;
	leash_lock *lock;
	leash_error before;

	(void)state;
	memset(&err, 0x5a, sizeof err);
	before = err;
	assert_int_equal(leash_open(&client, NULL, &err), LEASH_OK);
	assert_int_equal(leash_lock_new(&lock, client, "alone", NULL, &err), LEASH_OK);
	assert_int_equal(leash_lock_acquire(lock, 100, &err), LEASH_OK);
	assert_int_equal(leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = 1), &err), LEASH_OK);
	assert_int_equal(leash_lock_extend(lock, 1000, &err), LEASH_OK);
	assert_int_equal(leash_lock_release(lock, &err), LEASH_OK);
	assert_int_equal(leash_lock_release(lock, &err), LEASH_OK);
	assert_memory_equal(&err, &before, sizeof err);
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- names ---- */

static const struct {
	const char *name, *encoded;
} names[] = {
	{"a", "a"},
	{" ", "%20"},
	{"two words", "two%20words"},
	{"\n", "%0A"},
	{"a line\r\nand another", "a%20line%0D%0Aand%20another"},
	{"\t", "%09"},
	{"{", "%7B"},
	{"}", "%7D"},
	{"{}", "%7B%7D"},
	{"}{x", "%7D%7Bx"},
	{"{x}", "%7Bx%7D"},
	{"x}:fence", "x%7D:fence"},
	{"100%", "100%25"},
	{"%7D", "%257D"},
	{"\x1b[31mred\x1b[0m", "%1B[31mred%1B[0m"},
	{"\x01\x1f\x7f", "%01%1F%7F"},
	{"na\xc3\xafve \xe2\x82\xac", "na\xc3\xafve%20\xe2\x82\xac"},
	{"\xf0\x9f\x90\x95", "\xf0\x9f\x90\x95"},
	{"\xff\xfe\x80", "\xff\xfe\x80"}, /* not UTF-8 */
	{"*?[a-z]\\", "*?[a-z]\\"},
	{"it's \"quoted\"", "it's%20\"quoted\""},
	{"%s%n%d", "%25s%25n%25d"},
	{"a:fence", "a:fence"},
	{"a:b:c/d?e=f&g", "a:b:c/d?e=f&g"},
};

enum { NAMES = sizeof names / sizeof *names };

static bool
is_among(const char *key, char keys[3][2048])
{
	return strcmp(key, keys[0]) == 0 || strcmp(key, keys[1]) == 0 || strcmp(key, keys[2]) == 0;
}

/* What is in Redis is exactly these keys, and all of them are in one slot. */
static void
check_keys(struct server *cluster, char keys[3][2048], size_t count)
{
	redisReply *reply = server_command(server, "KEYS *");
	int64_t slot = -1;

	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, count);
	for (size_t i = 0; i < reply->elements; i++) {
		int64_t of = server_integer(cluster, "CLUSTER KEYSLOT %b", reply->element[i]->str, (size_t)reply->element[i]->len);

		assert_true(is_among(reply->element[i]->str, keys));
		if (slot < 0)
			slot = of;
		assert_int_equal(of, slot);
	}
	freeReplyObject(reply);
}

/* Hold the lock called `name`, and wait for it, and see that its keys are those of `encoded`. */
static void
hold_and_wait(struct server *cluster, leash_client *holder, leash_client *other, const char *name, const char *encoded)
{
	leash_lock *held = leashed_lock(holder, name, NULL), *wanted = leashed_lock(other, name, NULL);
	struct waiting w = {.lock = wanted, .wait_ms = LEASH_FOREVER};
	char keys[3][2048];

	snprintf(keys[0], sizeof keys[0], "leash:{%s}", encoded);
	snprintf(keys[1], sizeof keys[1], "leash:{%s}:fence", encoded);
	snprintf(keys[2], sizeof keys[2], "leash:{%s}:queue", encoded);
	freeReplyObject(server_command(server, "FLUSHALL"));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	check_keys(cluster, keys, 2);
	assert_int_equal(server_integer(server, "HLEN %s", keys[0]), 1);
	assert_int_equal(leash_lock_acquire(wanted, 0, &err), LEASH_TIMEOUT);
	check_text("lock '");
	begin_waiting(&w);
	await_true(server_integer(server, "ZCARD %s", keys[2]) == 2);
	check_keys(cluster, keys, 3);
	assert_int_equal(leash_lock_acquire(wanted, 1, &err) == LEASH_OK, false);
	check_text("lock '");
	assert_status(LEASH_OK, leash_lock_release(held, &err)); /* and the message of the grant names the key */
	await_true(w.acquired);
	check_keys(cluster, keys, 2);
	end_waiting(&w);
	assert_int_equal(server_integer(server, "EXISTS %s %s", keys[0], keys[2]), 0);
	leash_lock_free(held);
	leash_lock_free(wanted);
}

static void
every_name_makes_its_very_own_keys_in_one_slot(void **state)
{
	struct server *cluster = server_start((const char *const[]){"--cluster-enabled", "yes", NULL}); /* knows slots */
	leash_client *holder = open_client(), *other = open_client();
	char longest[LEASH_NAME_MAX + 1], encoded[3 * LEASH_NAME_MAX + 1] = "";

	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		hold_and_wait(cluster, holder, other, names[i].name, names[i].encoded);

	memset(longest, 'n', LEASH_NAME_MAX);
	longest[LEASH_NAME_MAX] = '\0';
	hold_and_wait(cluster, holder, other, longest, longest);
	memset(longest, '}', LEASH_NAME_MAX); /* the longest key there is */
	for (int i = 0; i < LEASH_NAME_MAX; i++)
		memcpy(encoded + 3 * i, "%7D", 4);
	hold_and_wait(cluster, holder, other, longest, encoded);

	freeReplyObject(server_command(server, "FLUSHALL"));
	leash_close(holder);
	leash_close(other);
	server_stop(cluster);
}

static void
names_without_a_byte_or_with_too_many_are_refused(void **state)
{
	leash_client *client = open_client();
	leash_lock *untouched = (leash_lock *)(uintptr_t)1;
	char *name = malloc(100001);

	(void)state;
	assert_non_null(name);
	assert_refused(LEASH_INVALID, "name", leash_lock_new(&untouched, client, "", NULL, &err));
	memset(name, 'x', 100000);
	name[100000] = '\0';
	assert_refused(LEASH_INVALID, "xxxxxxxx", leash_lock_new(&untouched, client, name, NULL, &err));
	name[513] = '\0';
	assert_refused(LEASH_INVALID, "512", leash_lock_new(&untouched, client, name, NULL, &err));
	memset(name, '\n', 513);
	assert_refused(LEASH_INVALID, "\\x0a", leash_lock_new(&untouched, client, name, NULL, &err));
	assert_ptr_equal(untouched, (leash_lock *)(uintptr_t)1);
	free(name);
	leash_close(client);
}

static void
no_name_addresses_the_keys_of_another(void **state)
{
	static const char *const hostile[] = {
		"x", "x}", "}x", "{x}", "x}:fence", "x}:queue", "x:fence", "x:queue", "x%7D:fence", "x%7D", "}:fence{", "x}{x", "*", "x*",
		"leash:{x}", "X", " x", "x ", "x\n", "x\\n", "\\x0a", "..", "../x",
	};
	enum { N = sizeof hostile / sizeof *hostile };
	leash_client *client = open_client(), *other = open_client();
	leash_lock *lock[N], *probe[N];

	(void)state;
	freeReplyObject(server_command(server, "FLUSHALL"));
	for (int i = 0; i < N; i++) {
		lock[i] = leashed_lock(client, hostile[i], NULL);
		probe[i] = leashed_lock(other, hostile[i], NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock[i], 0, &err));
		assert_int_equal(leash_lock_depth(lock[i]), 1); /* not a nested one of another name */
	}
	assert_int_equal(server_integer(server, "DBSIZE"), 2 * N);
	for (int i = 0; i < N; i++) {
		assert_status(LEASH_OK, leash_lock_release(lock[i], &err));
		for (int j = 0; j < N; j++) {
			assert_int_equal(leash_lock_held(lock[j]), j > i);
			if (j == i)
				assert_status(LEASH_OK, leash_lock_acquire(probe[j], 0, &err));
			else
				assert_status(LEASH_TIMEOUT, leash_lock_acquire(j > i ? probe[j] : lock[j], 0, &err));
		}
	}
	for (int i = 0; i < N; i++) {
		assert_status(LEASH_OK, leash_lock_release(probe[i], &err));
		leash_lock_free(lock[i]);
		leash_lock_free(probe[i]);
	}
	assert_int_equal(server_integer(server, "DBSIZE"), N);
	leash_close(client);
	leash_close(other);
}

static void
every_text_about_a_lock_names_it_and_is_printable_and_fits(void **state)
{
	leash_client *client = open_client();
	char longest[LEASH_NAME_MAX + 1];

	(void)state;
	memset(longest, '\xe2', LEASH_NAME_MAX);
	longest[LEASH_NAME_MAX] = '\0';
	for (size_t i = 0; i <= NAMES; i++) {
		const char *name = i < NAMES ? names[i].name : longest;
		leash_lock *lock = leashed_lock(client, name, NULL);

		assert_refused(LEASH_NOT_HELD, "lock '", leash_lock_release(lock, &err));
		assert_refused(LEASH_NOT_HELD, "lock '", leash_lock_extend(lock, 1000, &err));
		assert_refused(LEASH_INVALID, "lock '", leash_lock_extend(lock, 99, &err));
		assert_refused(LEASH_INVALID, "lock '", leash_lock_acquire(lock, -1, &err));
		assert_refused(LEASH_INVALID, "lock '", leash_lock_acquire_with(lock, LEASH_ACQUIRE(.wait_ms = -1), &err));
		assert_refused(LEASH_INVALID, "lock '", leash_lock_acquire_with(lock, LEASH_ACQUIRE(.lease_ms = 99), &err));
		assert_refused(LEASH_INVALID, "lock '", leash_lock_new(&lock, client, name, LEASH_LOCK_OPTIONS(.lease_ms = 99), &err));
		leash_lock_free(lock);
	}
	leash_close(client);
}

/* ---- URIs ---- */

static void
a_uri_with_any_part_malformed_is_refused_and_the_part_is_named(void **state)
{
	static const struct {
		const char *uri, *names;
	} bad[] = {
		{"", "uri"},
		{"redis", "uri"},
		{"127.0.0.1:6379", "uri"},
		{"http://localhost", "scheme"},
		{"redis:/localhost", "uri"},
		{" redis://localhost", "byte 1"},
		{"redis://", "host"},
		{"redis://:6379", "host"},
		{"redis:///0", "host"},
		{"redis://ho st", "byte 11"},
		{"redis://h\xc3\xb6st", "host"},
		{"redis://a,b", "host"},
		{"redis://[::1", "host"},
		{"redis://[::zz]", "host"},
		{"redis://[::1]x", "host"},
		{"redis://::1", "host"},
		{"redis://localhost:", "port"},
		{"redis://localhost:0", "port"},
		{"redis://localhost:65536", "port"},
		{"redis://localhost:-1", "port"},
		{"redis://localhost:63x9", "port"},
		{"redis://localhost:99999999999999999999999", "port"},
		{"redis://user:hunter2@localhost:port", "port"},
		{"redis://localhost/x", "database"},
		{"redis://localhost/-1", "database"},
		{"redis://localhost/16384", "database"},
		{"redis://localhost/0/1", "database"},
		{"redis://user:hun/ter2@localhost", "port"},
		{"redis://@localhost", "user"},
		{"redis://hunter2@localhost", "password"},
		{"redis://user:@localhost", "password"},
		{"redis://user:hunter%zz@localhost", "password"},
		{"redis://user:hunter%2@localhost", "password"},
		{"redis://user:hunter%00@localhost", "password"},
		{"redis://us%er:hunter2@localhost", "user"},
		{"redis://localhost?timeout=9", "timeout"},
		{"redis://localhost?timeout=60001", "timeout"},
		{"redis://localhost?timeout=", "timeout"},
		{"redis://localhost?timeout=1s", "timeout"},
		{"redis://localhost?timeout=-1", "timeout"},
		{"redis://localhost?nonsense=1", "nonsense"},
		{"redis://localhost?db=1", "db"},
		{"redis://localhost?password_file=", "password_file"},
		{"redis://localhost?password_file=/nowhere/hunter3", "password_file"},
		{"redis://localhost?password_file=/tmp", "password_file"},
		{"redis://localhost?password_file=/dev/zero", "password_file"},
		{"redis://localhost?password_env=", "password_env"},
		{"redis://localhost?password_env=LEASH_TEST_NO_SUCH_VARIABLE", "password_env"},
		{"redis://user:hunter2@localhost?password_env=HOME", "password"},
		{"unix://", "path"},
		{"unix:///", "path"},
		{"unix://run/redis.sock", "host"},
		{"unix:///run/redis.sock?db=x", "database"},
		{"unix:///run/%zz.sock", "path"},
	};
	char uri[2048];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		leash_client *untouched = (leash_client *)(uintptr_t)1;
		leash_status status = leash_open(&untouched, LEASH_OPTIONS(.uri = bad[i].uri), &err);

		if (status != LEASH_INVALID && status != LEASH_UNSUPPORTED)
			fail_msg("'%s': %s", bad[i].uri, leash_status_name(status));
		check_text(bad[i].names);
		if (strstr(err.text, "hunter2") != NULL || strstr(err.text, "ter2") != NULL)
			fail_msg("'%s': a secret is told: %s", bad[i].uri, err.text);
		assert_ptr_equal(untouched, (leash_client *)(uintptr_t)1);
	}

	memset(uri, 'h', sizeof uri);
	memcpy(uri, "redis://", 8);
	uri[sizeof uri - 1] = '\0';
	assert_refused(LEASH_INVALID, "host", leash_open(&(leash_client *){NULL}, LEASH_OPTIONS(.uri = uri), &err));
	memcpy(uri, "unix:///", 8);
	assert_refused(LEASH_INVALID, "path", leash_open(&(leash_client *){NULL}, LEASH_OPTIONS(.uri = uri), &err));
}

static void
schemes_that_are_not_built_in_are_unsupported(void **state)
{
	static const char *const uris[] = {
		"rediss://localhost", "redis+sentinel://a:26379,b:26379/mymaster", "redis+cluster://a:1,b:2", "redis+quorum://a:1,b:2,c:3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
		char scheme[32];

		snprintf(scheme, sizeof scheme, "%.*s", (int)strcspn(uris[i], ":"), uris[i]);
		assert_refused(LEASH_UNSUPPORTED, scheme, leash_open(&(leash_client *){NULL}, LEASH_OPTIONS(.uri = uris[i]), &err));
	}
}

static void
the_variable_leash_uri_is_the_default(void **state)
{
	leash_client *client;

	(void)state;
	assert_status(LEASH_OK, leash_open(&client, NULL, &err));
	leash_close(client);
	setenv("LEASH_URI", "nonsense", 1);
	assert_refused(LEASH_INVALID, "uri", leash_open(&client, NULL, &err));
	setenv("LEASH_URI", server_uri(server), 1);
}

/* ---- times ---- */

static const int64_t no_lease[] = {99, 1, -1, -100, 86400001, INT64_MAX, INT64_MIN, INT64_MAX / 1000000, INT32_MIN};

enum { NO_LEASES = sizeof no_lease / sizeof *no_lease };

static void
leases_out_of_range_are_refused_wherever_they_are_given(void **state)
{
	leash_client *client = open_client(), *none;
	leash_lock *lock = leashed_lock(client, "range", NULL), *no_lock;

	(void)state;
	for (int i = 0; i < NO_LEASES; i++) {
		int64_t ms = no_lease[i];

		assert_refused(LEASH_INVALID, "lease_ms", leash_open(&none, LEASH_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_new(&no_lock, client, "range", LEASH_LOCK_OPTIONS(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_acquire_with(lock, LEASH_ACQUIRE(.lease_ms = ms), &err));
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, ms, &err));
	}
	assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (int i = 0; i < NO_LEASES; i++)
		assert_refused(LEASH_INVALID, "lease_ms", leash_lock_extend(lock, no_lease[i], &err));
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

/* What the server says is what was asked for, less what has passed. */
static void
check_ttl(const char *name, int64_t lease_ms)
{
	int64_t ttl = server_integer(server, "PTTL leash:{%s}", name);

	assert_true(ttl > 0);
	assert_true(ttl <= lease_ms);
	assert_true(lease_ms == 100 || ttl > lease_ms - 600000);
}

static void
the_shortest_and_the_longest_lease_are_taken_wherever_they_are_given(void **state)
{
	static const int64_t ends[] = {100, 86400000};

	(void)state;
	for (int i = 0; i < 2; i++) {
		leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = ends[i]));
		leash_client *other = open_client();
		leash_lock *by_client = leashed_lock(client, "by client", NULL);
		leash_lock *by_lock = leashed_lock(other, "by lock", LEASH_LOCK_OPTIONS(.lease_ms = ends[i]));
		leash_lock *by_acquire = leashed_lock(other, "by acquire", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(by_client, 0, &err));
		check_ttl("by%20client", ends[i]);
		assert_status(LEASH_OK, leash_lock_acquire(by_lock, 0, &err));
		check_ttl("by%20lock", ends[i]);
		assert_status(LEASH_OK, leash_lock_acquire_with(by_acquire, LEASH_ACQUIRE(.lease_ms = ends[i]), &err));
		check_ttl("by%20acquire", ends[i]);
		/* kept, not only taken: for some leases */
		if (ends[i] == 100)
			await_ms(500);
		else
			assert_true(leash_lock_remaining_ms(by_client) > 85000000 && leash_lock_remaining_ms(by_client) < 86400000);
		assert_status(LEASH_OK, leash_lock_extend(by_acquire, 86400000, &err));
		check_ttl("by%20acquire", 86400000);
		assert_status(LEASH_OK, leash_lock_extend(by_acquire, 100, &err)); /* it never gets shorter */
		check_ttl("by%20acquire", 86400000);
		if (await_slowness() <= 1) {
			assert_status(LEASH_OK, leash_lock_release(by_client, &err));
			assert_status(LEASH_OK, leash_lock_release(by_lock, &err));
		}
		assert_status(LEASH_OK, leash_lock_release(by_acquire, &err));
		leash_lock_free(by_client);
		leash_lock_free(by_lock);
		leash_lock_free(by_acquire);
		leash_close(client);
		leash_close(other);
	}
}

static void
negative_waits_are_refused_and_huge_ones_are_waits(void **state)
{
	static const int64_t negative[] = {-1, -2, -1000, INT32_MIN, INT64_MIN + 1};
	static const int64_t huge[] = {INT32_MAX, INT64_MAX / 1000000, INT64_MAX / 1000000 + 1, INT64_MAX - 1, INT64_MAX, LEASH_FOREVER};
	leash_client *client = open_client(), *other = open_client();
	leash_lock *held = leashed_lock(client, "wait", NULL), *wanted = leashed_lock(other, "wait", NULL);

	(void)state;
	for (size_t i = 0; i < sizeof negative / sizeof *negative; i++) {
		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire(wanted, negative[i], &err));
		assert_refused(LEASH_INVALID, "wait_ms", leash_lock_acquire_with(wanted, LEASH_ACQUIRE(.wait_ms = negative[i]), &err));
	}
	assert_false(leash_lock_held(wanted));
	for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
		struct waiting w = {.lock = wanted, .wait_ms = huge[i], .may_release = 1};

		assert_status(LEASH_OK, leash_lock_acquire(wanted, huge[i], &err)); /* a free one at once */
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
		assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
		begin_waiting(&w);
		await_true(server_integer(server, "ZCARD leash:{wait}:queue") == 2);
		await_ms(20);
		assert_false(w.acquired);
		assert_status(LEASH_OK, leash_lock_release(held, &err));
		end_waiting(&w);
	}
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(client);
	leash_close(other);
}

static void
no_expiry_of_zero_or_less_is_ever_sent(void **state)
{
	static const char *const keys[] = {"", ":fence", ":queue"}, *const bad[] = {"0\"", "-"}, *const used[] = {"brief", "capped", "hung", "wanted"};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 100)), *other = open_client();
	leash_lock *brief = leashed_lock(client, "brief", NULL);
	leash_lock *capped = leashed_lock(client, "capped", LEASH_LOCK_OPTIONS(.max_hold_ms = 350));
	leash_lock *hung = leashed_lock(client, "hung", LEASH_LOCK_OPTIONS(.alive_ms = 100));
	leash_lock *held = leashed_lock(client, "wanted", LEASH_LOCK_OPTIONS(.no_renew = true)), *wanted = leashed_lock(other, "wanted", NULL);
	struct monitor *monitor = monitor_start(server);

	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t end = await_now_ns() + 500 * INT64_C(1000000);

		assert_status(LEASH_OK, leash_lock_acquire(brief, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(capped, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(hung, 5000, &err));
		assert_status(LEASH_OK, leash_lock_acquire(held, 5000, &err));
		/* who waits gets it when the lease has run out, by its own word */
		assert_status(LEASH_OK, leash_lock_acquire(wanted, 30000, &err));
		while (await_now_ns() < end) {
			leash_lock_extend(capped, 100, NULL); /* to the very end of max_hold_ms */
			await_ms(1);
		}
		leash_lock_release(brief, NULL);
		leash_lock_release(capped, NULL);
		leash_lock_release(hung, NULL);
		assert_status(LEASH_LOST, leash_lock_release(held, &err));
		assert_status(LEASH_OK, leash_lock_release(wanted, &err));
	}
	assert_true(monitor_count_in_scripts(monitor, "\"pexpire\"") > 10);
	for (size_t n = 0; n < sizeof used / sizeof *used; n++) {
		for (int k = 0; k < 3; k++) {
			for (int b = 0; b < 2; b++) {
				char text[128];

				snprintf(text, sizeof text, "\"pexpire\" \"leash:{%s}%s\" \"%s", used[n], keys[k], bad[b]);
				assert_int_equal(monitor_count_in_scripts(monitor, text), 0);
				assert_int_equal(monitor_count(monitor, text), 0);
			}
		}
	}
	monitor_stop(monitor);
	leash_lock_free(brief);
	leash_lock_free(capped);
	leash_lock_free(hung);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(client);
	leash_close(other);
}

static void
extending_by_less_than_the_lease_puts_no_renewal_off(void **state)
{
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.lease_ms = 900));
	leash_lock *lock = leashed_lock(client, "extended", NULL);
	int64_t end;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	end = await_now_ns() + 3 * INT64_C(1000000000);
	while (await_now_ns() < end) {
		assert_status(LEASH_OK, leash_lock_extend(lock, 100, &err));
		await_ms(150); /* the extensions alone would not keep it */
	}
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

/* A thread that holds a lock until somebody waits for it. */
static void *
hold_until_wanted(void *arg)
{
	struct waiting *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	w->acquired = 1;
	await_true(w->may_release && server_integer(server, "ZCARD leash:{granted}:queue") == 2);
	if (w->status == LEASH_OK)
		w->status = leash_lock_release(w->lock, &w->err);
	return NULL;
}

static void
extending_right_after_a_grant_does_not_cost_the_rest_of_the_lease(void **state)
{
	leash_client *client = open_client(), *other = open_client();

	(void)state;
	for (int i = 0; i < 2; i++) {
		leash_lock *held = leashed_lock(other, "granted", NULL);
		leash_lock *lock = leashed_lock(client, "granted", LEASH_LOCK_OPTIONS(.lease_ms = 20000, .no_renew = i == 1));
		struct waiting w = {.lock = held, .may_release = 1};

		assert_int_equal(pthread_create(&w.thread, NULL, hold_until_wanted, &w), 0);
		await_true(w.acquired);
		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		assert_status(LEASH_OK, leash_lock_extend(lock, 100, &err));
		/* a grant is good for 3 s at first: the next renewal makes it a lease */
		while (leash_lock_remaining_ms(lock) < 10000) {
			assert_true(leash_lock_held(lock));
			await_ms(10);
		}
		end_waiting(&w);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(held);
		leash_lock_free(lock);
	}
	leash_close(client);
	leash_close(other);
}

/* The first of two to wait gives up; only then the holder may let the lock go. */
static struct waiting *holder_of_granted;

static void *
wait_in_vain(void *arg)
{
	struct waiting *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	holder_of_granted->may_release = 1;
	return NULL;
}

static void
max_hold_ms_holds_for_one_who_takes_over_the_place_of_another_thread(void **state)
{
	leash_client *client = open_client(), *other = open_client();
	leash_lock *held = leashed_lock(other, "granted", NULL), *first = leashed_lock(client, "granted", LEASH_LOCK_OPTIONS(.lease_ms = 60000));
	leash_lock *lock = leashed_lock(client, "granted", LEASH_LOCK_OPTIONS(.lease_ms = 60000, .max_hold_ms = 400));
	struct waiting w = {.lock = held}, vain = {.lock = first, .wait_ms = 500};

	(void)state;
	holder_of_granted = &w;
	assert_int_equal(pthread_create(&w.thread, NULL, hold_until_wanted, &w), 0);
	await_true(w.acquired);
	assert_int_equal(pthread_create(&vain.thread, NULL, wait_in_vain, &vain), 0);
	await_true(server_integer(server, "ZCARD leash:{granted}:queue") == 2);
	assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
	pthread_join(vain.thread, NULL);
	assert_int_equal(vain.status, LEASH_TIMEOUT);
	assert_true(leash_lock_remaining_ms(lock) <= 400);
	await_ms(420);
	assert_false(leash_lock_held(lock));
	assert_status(LEASH_LOST, leash_lock_release(lock, &err));
	end_waiting(&w);
	leash_lock_free(held);
	leash_lock_free(first);
	leash_lock_free(lock);
	leash_close(client);
	leash_close(other);
}

/* ---- the other options ---- */

static void
other_options_out_of_range_are_refused_and_named(void **state)
{
	static const int64_t no_timeout[] = {9, 1, -1, 60001, INT64_MAX, INT64_MIN};
	static const int64_t too_short[] = {99, 1, -1, INT64_MIN};
	static const char *const no_prefix[] = {"", "a b", "a:b", "{a}", "a\n", "a/b", "\xc3\xa4", "%41", NULL};
	static const char *const no_name[] = {"", "a b", "a\n", "\x1b", "\xc3\xa4", "\x7f", NULL};
	leash_client *client = open_client(), *none;
	leash_lock *lock;
	char text[66];

	(void)state;
	for (size_t i = 0; i < sizeof no_timeout / sizeof *no_timeout; i++)
		assert_refused(LEASH_INVALID, "timeout_ms", leash_open(&none, LEASH_OPTIONS(.timeout_ms = no_timeout[i]), &err));
	for (int i = 0; no_prefix[i] != NULL; i++)
		assert_refused(LEASH_INVALID, "prefix", leash_open(&none, LEASH_OPTIONS(.prefix = no_prefix[i]), &err));
	for (int i = 0; no_name[i] != NULL; i++)
		assert_refused(LEASH_INVALID, "client_name", leash_open(&none, LEASH_OPTIONS(.client_name = no_name[i]), &err));
	memset(text, 'p', 65);
	text[65] = '\0';
	assert_refused(LEASH_INVALID, "prefix", leash_open(&none, LEASH_OPTIONS(.prefix = text), &err));
	assert_refused(LEASH_INVALID, "client_name", leash_open(&none, LEASH_OPTIONS(.client_name = text), &err));
	for (size_t i = 0; i < sizeof too_short / sizeof *too_short; i++) {
		int64_t ms = too_short[i];

		assert_refused(LEASH_INVALID, "max_hold_ms", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.max_hold_ms = ms), &err));
		assert_refused(LEASH_INVALID, "alive_ms", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.alive_ms = ms), &err));
	}
	assert_refused(LEASH_INVALID, "restart_guard_ms", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.restart_guard_ms = -1), &err));
	assert_refused(LEASH_INVALID, "restart_guard_ms",
	               leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.restart_guard_ms = INT64_MAX), &err));
	assert_refused(LEASH_INVALID, "handoffs", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.handoffs = 256), &err));
	assert_refused(LEASH_INVALID, "handoffs", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.handoffs = -1), &err));
	assert_refused(LEASH_INVALID, "handoff_ms", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.handoff_ms = 60001), &err));
	assert_refused(LEASH_INVALID, "handoff_ms", leash_lock_new(&lock, client, "x", LEASH_LOCK_OPTIONS(.handoff_ms = -1), &err));
	leash_close(client);
}

static void
options_at_the_ends_of_their_ranges_are_taken(void **state)
{
	char prefix[65], name[65], key[128];
	leash_client *client;
	leash_lock *lock;

	(void)state;
	memset(prefix, 'p', 64);
	memset(name, '!', 64);
	prefix[64] = name[64] = '\0';
	memcpy(prefix, "aZ0.9_-", 7);
	client = leashed_open(server_uri(server), LEASH_OPTIONS(.prefix = prefix, .client_name = name, .timeout_ms = 60000));
	assert_non_null(strstr(server_text(server, "CLIENT LIST"), name));
	lock = leashed_lock(client, "ends", LEASH_LOCK_OPTIONS(.max_hold_ms = INT64_MAX, .alive_ms = INT64_MAX, .handoffs = 255, .handoff_ms = 60000));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	snprintf(key, sizeof key, "%s:{ends}", prefix);
	assert_int_equal(server_integer(server, "EXISTS %s", key), 1);
	assert_true(leash_lock_remaining_ms(lock) > 20000);
	leash_lock_alive(lock);
	assert_status(LEASH_OK, leash_lock_extend(lock, 86400000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

static void
options_of_older_and_newer_callers_are_understood(void **state)
{
	struct {
		leash_options known;
		uint64_t unknown[3];
	} newer = {.known = {.size = sizeof newer, .uri = server_uri(server)}};
	struct {
		leash_lock_options known;
		unsigned char unknown[5];
	} newer_lock = {.known = {.size = sizeof newer_lock}};
	struct {
		leash_acquire known;
		uint64_t unknown[100];
	} newer_acquire = {.known = {.size = sizeof newer_acquire}};
	leash_options older = {.size = offsetof(leash_options, lease_ms), .uri = server_uri(server), .lease_ms = -1, .timeout_ms = -1};
	leash_lock_options older_lock = {.size = offsetof(leash_lock_options, lease_ms), .lease_ms = -1, .max_hold_ms = -1};
	leash_acquire older_acquire = {.size = offsetof(leash_acquire, lease_ms), .wait_ms = 10, .lease_ms = -1};
	leash_client *client, *none;
	leash_lock *lock, *no_lock;

	(void)state;
	/* a field that they do not have yet is not looked at */
	assert_status(LEASH_OK, leash_open(&client, &older, &err));
	assert_status(LEASH_OK, leash_lock_new(&lock, client, "older", &older_lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire_with(lock, &older_acquire, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);

	/* a field that we do not know yet may be there, but not be set */
	assert_status(LEASH_OK, leash_open(&client, &newer.known, &err));
	assert_status(LEASH_OK, leash_lock_new(&lock, client, "newer", &newer_lock.known, &err));
	assert_status(LEASH_OK, leash_lock_acquire_with(lock, &newer_acquire.known, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	newer.unknown[2] = UINT64_C(1) << 63;
	newer_lock.unknown[4] = 1;
	newer_acquire.unknown[99] = 1;
	assert_refused(LEASH_UNSUPPORTED, "LEASH_OPTIONS", leash_open(&none, &newer.known, &err));
	assert_refused(LEASH_UNSUPPORTED, "LEASH_LOCK_OPTIONS", leash_lock_new(&no_lock, client, "x", &newer_lock.known, &err));
	assert_refused(LEASH_UNSUPPORTED, "LEASH_ACQUIRE", leash_lock_acquire_with(lock, &newer_acquire.known, &err));
	for (size_t i = 0; i < sizeof older_lock.reserved_; i++) {
		leash_lock_options switched = {.size = sizeof switched};

		switched.reserved_[i] = true;
		assert_refused(LEASH_UNSUPPORTED, "LEASH_LOCK_OPTIONS", leash_lock_new(&no_lock, client, "x", &switched, &err));
	}
	assert_false(leash_lock_held(lock));

	/* one without a size was not made by the macro */
	for (size_t size = 0; size < sizeof(size_t); size++) {
		older.size = older_lock.size = older_acquire.size = size;
		assert_refused(LEASH_INVALID, "LEASH_OPTIONS", leash_open(&none, &older, &err));
		assert_refused(LEASH_INVALID, "LEASH_LOCK_OPTIONS", leash_lock_new(&no_lock, client, "x", &older_lock, &err));
		assert_refused(LEASH_INVALID, "LEASH_ACQUIRE", leash_lock_acquire_with(lock, &older_acquire, &err));
	}
	leash_lock_free(lock);

	/* one with nothing but a size means the defaults */
	older.size = older_lock.size = older_acquire.size = sizeof(size_t);
	leash_close(client);
	assert_status(LEASH_OK, leash_open(&client, &older, &err)); /* by $LEASH_URI */
	assert_status(LEASH_OK, leash_lock_new(&lock, client, "bare", &older_lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire_with(lock, &older_acquire, &err));
	assert_true(leash_lock_remaining_ms(lock) > 20000 && leash_lock_remaining_ms(lock) < 30000);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- the order of calls ---- */

static void
a_release_without_a_hold_is_told_so_and_disturbs_nobody(void **state)
{
	leash_client *client = open_client(), *other = open_client();
	leash_lock *lock = leashed_lock(client, "order", NULL), *twin = leashed_lock(client, "order", NULL), *theirs = leashed_lock(other, "order", NULL);
	struct monitor *monitor = monitor_start(server);

	(void)state;
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_extend(lock, 1000, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	monitor_mark(monitor);
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_extend(lock, 1000, &err));
	assert_int_equal(monitor_count(monitor, "evalsha"), 0); /* nothing is asked of the server for it */
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));

	/* twice */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));

	/* once more than it was nested, through either handle */
	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(i == 1 ? twin : lock, 0, &err));
	for (unsigned i = 3; i > 0; i--) {
		assert_int_equal(leash_lock_depth(twin), i);
		assert_status(LEASH_OK, leash_lock_release(twin, &err));
	}
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'order'", leash_lock_release(twin, &err));
	assert_int_equal(leash_lock_depth(lock), 0);
	assert_int_equal(server_integer(server, "EXISTS leash:{order}"), 0);
	monitor_stop(monitor);
	leash_lock_free(lock);
	leash_lock_free(twin);
	leash_lock_free(theirs);
	leash_close(client);
	leash_close(other);
}

static void *
use_what_another_thread_holds(void *arg)
{
	leash_lock *lock = arg;
	char token[LEASH_TOKEN_MAX];

	assert_refused(LEASH_NOT_HELD, "lock 'threads'", leash_lock_release(lock, &err));
	assert_refused(LEASH_NOT_HELD, "lock 'threads'", leash_lock_extend(lock, 1000, &err));
	assert_refused(LEASH_TIMEOUT, "lock 'threads'", leash_lock_acquire(lock, 0, &err));
	assert_refused(LEASH_TIMEOUT, "lock 'threads'", leash_lock_acquire(lock, 30, &err));
	assert_false(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 0);
	assert_int_equal(leash_lock_fence(lock), 0);
	assert_int_equal(leash_lock_remaining_ms(lock), 0);
	assert_int_equal(leash_lock_token(lock, token, sizeof token), 0);
	leash_lock_alive(lock);
	return NULL;
}

static void
another_thread_cannot_release_extend_or_see_a_hold(void **state)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "threads", NULL);
	pthread_t thread;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(pthread_create(&thread, NULL, use_what_another_thread_holds, lock), 0);
	pthread_join(thread, NULL);
	assert_true(leash_lock_held(lock));
	assert_int_equal(leash_lock_depth(lock), 2);
	assert_int_equal(server_integer(server, "HLEN leash:{threads}"), 1);
	assert_int_equal(server_integer(server, "EXISTS leash:{threads}:queue"), 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
}

static void
a_lock_is_nested_to_the_very_limit_and_not_beyond(void **state)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "deep", NULL);

	(void)state;
	for (unsigned i = 1; i <= LEASH_DEPTH_MAX; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
		assert_int_equal(leash_lock_depth(lock), i);
	}
	for (int i = 0; i < 3; i++)
		assert_refused(LEASH_INVALID, "lock 'deep'", leash_lock_acquire(lock, LEASH_FOREVER, &err));
	assert_int_equal(leash_lock_depth(lock), LEASH_DEPTH_MAX);
	assert_status(LEASH_OK, leash_lock_extend(lock, 60000, &err)); /* which tells the depth, too */
	assert_string_equal(server_text(server, "HVALS leash:{deep}"), "65535");
	for (unsigned i = LEASH_DEPTH_MAX; i > 0; i--) {
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
	}
	assert_refused(LEASH_NOT_HELD, "lock 'deep'", leash_lock_release(lock, &err));
	assert_int_equal(server_integer(server, "EXISTS leash:{deep}"), 0);
	leash_lock_free(lock);
	leash_close(client);
}

/* ---- freeing ---- */

static void
the_last_handle_that_is_freed_takes_the_hold_with_it(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));

	(void)state;
	for (int depth = 1; depth <= 3; depth++) {
		leash_lock *lock = leashed_lock(client, "freed", NULL), *twin = leashed_lock(client, "freed", NULL);

		for (int i = 0; i < depth; i++)
			assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
		leash_lock_free(lock);
		assert_true(leash_lock_held(twin)); /* not the last one yet */
		assert_int_equal(leash_lock_depth(twin), depth);
		assert_int_equal(server_integer(server, "EXISTS leash:{freed}"), 1);
		assert_int_equal(events.count[LEASH_EVENT_ABANDONED], depth - 1);
		leash_lock_free(twin);
		await_true(server_integer(server, "EXISTS leash:{freed}") == 0); /* long before the lease ends */
		await_true(events.count[LEASH_EVENT_ABANDONED] == depth);

		lock = leashed_lock(client, "freed", NULL);
		assert_int_equal(leash_lock_depth(lock), 0);
		assert_refused(LEASH_NOT_HELD, "lock 'freed'", leash_lock_release(lock, &err));
		leash_lock_free(lock);
	}
	assert_int_equal(events.total, 3);
	leash_close(client);
}

static void *
free_it(void *lock)
{
	leash_lock_free(lock);
	return NULL;
}

static void
a_hold_is_abandoned_whichever_thread_frees_the_last_handle(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), NULL);
	leash_lock *lock = leashed_lock(client, "freed by another",
	                                LEASH_LOCK_OPTIONS(.on_event = leashed_note_event, .event_arg = &events)), *again;
	pthread_t thread;

	(void)state;
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_int_equal(pthread_create(&thread, NULL, free_it, lock), 0);
	pthread_join(thread, NULL);
	await_true(events.count[LEASH_EVENT_ABANDONED] == 1);
	await_true(server_integer(server, "EXISTS leash:{freed%%20by%%20another}") == 0);
	again = leashed_lock(client, "freed by another", NULL);
	assert_int_equal(leash_lock_depth(again), 0);
	assert_status(LEASH_OK, leash_lock_acquire(again, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(again, &err));
	leash_lock_free(again);
	leash_close(client);
}

static void *
make_hold_and_free(void *client)
{
	unsigned seed = (unsigned)(uintptr_t)&seed;

	for (int i = 0; i < 400; i++) {
		leash_lock *lock = leashed_lock(client, "made and freed", NULL);

		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		usleep((unsigned)rand_r(&seed) % 300);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		usleep((unsigned)rand_r(&seed) % 300);
	}
	return NULL;
}

static void
a_handle_that_is_freed_leaves_alone_what_a_new_one_of_its_name_holds(void **state)
{
	struct leashed_events events = {0};
	leash_client *client = leashed_open(server_uri(server), LEASH_OPTIONS(.on_event = leashed_note_event, .event_arg = &events));
	pthread_t thread[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, make_hold_and_free, client), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	leash_close(client);
	assert_int_equal(events.total, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_error_struct_has_256_bytes_for_ever),
		cmocka_unit_test(null_arguments_are_refused_by_every_function),
		cmocka_unit_test(a_token_is_cut_off_where_there_is_no_room),
		cmocka_unit_test(numbers_that_are_no_status_or_event_have_a_name_too),
		cmocka_unit_test(a_call_that_succeeds_leaves_the_error_alone),
		cmocka_unit_test(every_name_makes_its_very_own_keys_in_one_slot),
		cmocka_unit_test(names_without_a_byte_or_with_too_many_are_refused),
		cmocka_unit_test(no_name_addresses_the_keys_of_another),
		cmocka_unit_test(every_text_about_a_lock_names_it_and_is_printable_and_fits),
		cmocka_unit_test(a_uri_with_any_part_malformed_is_refused_and_the_part_is_named),
		cmocka_unit_test(schemes_that_are_not_built_in_are_unsupported),
		cmocka_unit_test(the_variable_leash_uri_is_the_default),
		cmocka_unit_test(leases_out_of_range_are_refused_wherever_they_are_given),
		cmocka_unit_test(the_shortest_and_the_longest_lease_are_taken_wherever_they_are_given),
		cmocka_unit_test(negative_waits_are_refused_and_huge_ones_are_waits),
		cmocka_unit_test(no_expiry_of_zero_or_less_is_ever_sent),
		cmocka_unit_test(extending_by_less_than_the_lease_puts_no_renewal_off),
		cmocka_unit_test(extending_right_after_a_grant_does_not_cost_the_rest_of_the_lease),
		cmocka_unit_test(max_hold_ms_holds_for_one_who_takes_over_the_place_of_another_thread),
		cmocka_unit_test(other_options_out_of_range_are_refused_and_named),
		cmocka_unit_test(options_at_the_ends_of_their_ranges_are_taken),
		cmocka_unit_test(options_of_older_and_newer_callers_are_understood),
		cmocka_unit_test(a_release_without_a_hold_is_told_so_and_disturbs_nobody),
		cmocka_unit_test(another_thread_cannot_release_extend_or_see_a_hold),
		cmocka_unit_test(a_lock_is_nested_to_the_very_limit_and_not_beyond),
		cmocka_unit_test(the_last_handle_that_is_freed_takes_the_hold_with_it),
		cmocka_unit_test(a_hold_is_abandoned_whichever_thread_frees_the_last_handle),
		cmocka_unit_test(a_handle_that_is_freed_leaves_alone_what_a_new_one_of_its_name_holds),
	};

	return cmocka_run_group_tests_name("input", tests, start, stop);
}
