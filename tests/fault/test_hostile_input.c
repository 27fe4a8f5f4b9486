/* Names and URIs that mean harm: names that would break a log line, reach the keys of others or were made to collide, and URIs that
 * were typed by monkeys.
 *
 *   LEASH_TEST_NAMES  random names in texts and log lines (default 300000; 1000000 for the long way)
 *   LEASH_TEST_URIS   mutated URIs (default 100000)
 *   LEASH_TEST_SEED   of both */
#include "redis/uri.h"
#include "tests/fault/parrot.h"
#include "tests/fault/refused.h"
#include "tests/support/knob.h"
#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/random.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <time.h>

static leash_error err; /* what the last call said */

/* ---- names ---- */

/* Any bytes but NUL, rather those that break something. */
static size_t
random_name(uint64_t *seed, char name[LEASH_NAME_MAX + 1])
{
	static const char evil[] = "\r\n\t\x1b\x7f\x80\x9b\xff{}%:*'\"\\$\x01\x08[]m";
	size_t n = random_next(seed) % 8 != 0 ? 1 + random_next(seed) % 24 : 1 + random_next(seed) % LEASH_NAME_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t r = random_next(seed);

		name[i] = (char)(r % 3 == 0 ? evil[(r >> 8) % (sizeof evil - 1)] : (char)(1 + (r >> 8) % 255));
	}
	name[n] = '\0';
	return n;
}

GROUP(start_server, stop_server);

SENTENCE(nothing_but_printable_bytes_comes_out_whatever_a_name_is)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	long names = knob("LEASH_TEST_NAMES", 300000), spoken = 0;
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", 4);
	struct fake *fake = parrot_start();
	leash_client *client, *real;
	char name[LEASH_NAME_MAX + 1];

	parrot_repeats = "EVALSHA";
	client = leashed_open(fake_uri(fake), LEASH_OPTIONS(.timeout_ms = 20000, .on_log = hear_line, .log_arg = &ear));
	real = leashed_open(server_uri(server), LEASH_OPTIONS(.timeout_ms = 20000, .on_log = hear_line, .log_arg = &ear, .on_event = hear_event, .event_arg = &ear));
	for (long i = 0; i < names; i++) {
		leash_client *of = i % 64 == 1 ? real : client;
		leash_lock *lock = NULL;
		leash_status status;

		random_name(&seed, name);
		lock = leashed_lock(of, name, NULL);
		assert_status(LEASH_NOT_HELD, leash_lock_release(lock, &err));
		hear(&ear, err.text);
		if (i % 64 == 0) { /* the server repeats the name, in its own way */
			status = leash_lock_acquire(lock, 0, &err);
			assert_int_not_equal(status, LEASH_OK);
			hear(&ear, err.text);
			spoken++;
		} else if (i % 64 == 1) { /* the event that tells of its end names the lock */
			assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
		} else if (i % 64 == 2) {
			assert_status(LEASH_INVALID, leash_lock_new(&lock, of, name, LEASH_LOCK_OPTIONS(.lease_ms = 1), &err));
			hear(&ear, err.text);
		}
		leash_lock_free(lock);
		if (i % 1000 == 999) {
			bool heard_enough;

			pthread_mutex_lock(&ear.mutex);
			heard_enough = ear.unprintable[0] != '\0';
			ear.size = 0; /* there is room again */
			pthread_mutex_unlock(&ear.mutex);
			if (heard_enough)
				break;
		}
		if (i % 4096 == 4095)
			fake_forget(fake);
	}
	leash_close(client);
	leash_close(real);
	fake_stop(fake);
	print_message("# %ld names, %ld of them repeated by a server\n", names, spoken);
	assert_string_equal(ear.unprintable, "");
}

/* Is this, behind the prefix, what a client says of itself? */
static bool
is_introduction(const char *key)
{
	return strncmp(key, ":client:", 8) == 0 && strlen(key) == 8 + 36 && strspn(key + 8, "0123456789abcdef-") == 36;
}

/* Every key that a name makes begins with the prefix and an opening brace, whatever the name; and there is one pair of braces. */
static void
check_keys_of(const char *prefix)
{
	redisReply *keys = server_command(server, "KEYS *");
	size_t n = strlen(prefix);

	assert_int_equal(keys->type, REDIS_REPLY_ARRAY);
	for (size_t i = 0; i < keys->elements; i++) {
		const char *key = keys->element[i]->str, *end = strchr(key, '}');

		if (strncmp(key, prefix, n) == 0 && is_introduction(key + n))
			continue;
		if (strncmp(key, prefix, n) != 0 || key[n] != ':' || key[n + 1] != '{' || strchr(key + n + 2, '{') != NULL || end == NULL || end == key + n + 2 ||
		    (strcmp(end, "}") != 0 && strcmp(end, "}:fence") != 0 && strcmp(end, "}:queue") != 0))
			fail_msg("a key outside of '%s': %s", prefix, key);
	}
	freeReplyObject(keys);
}

SENTENCE(no_name_leaves_its_prefix_and_the_acl_keeps_other_prefixes_out)
{
	static const char *const hostile[] = {"x", "other:{x}", "}:{other:x", "../other:{x}", "{other}", "}", "{", "\n", "*", "other:{x}:fence", "\xff", "%", "%7D"};
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", 5);
	leash_client *client, *stranger;
	char name[LEASH_NAME_MAX + 1], theirs[512];
	leash_lock *lock;

	freeReplyObject(server_command(server, "FLUSHALL"));
	freeReplyObject(server_command(server, "ACL SETUSER app on >word ~app:{* &app:* +@all -@admin"));
	snprintf(theirs, sizeof theirs, "unix://app:word@%s", server_socket(server));
	client = leashed_open(theirs, LEASH_OPTIONS(.prefix = "app", .timeout_ms = 20000));
	for (int i = 0; i < 600; i++) {
		if (i < (int)(sizeof hostile / sizeof *hostile))
			snprintf(name, sizeof name, "%s", hostile[i]);
		else
			random_name(&seed, name);
		lock = leashed_lock(client, name, NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err)); /* nothing that the ACL has to refuse */
		if (i % 3 == 0)
			assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
	}
	check_keys_of("app");
	leash_close(client);

	/* the same user may not so much as try another prefix, be it the beginning of its own or the other way round */
	for (int i = 0; i < 3; i++) {
		const char *prefix = (const char *const[]){"other", "ap", "app2"}[i];
		leash_status status = leash_open(&stranger, LEASH_OPTIONS(.uri = theirs, .prefix = prefix, .timeout_ms = 20000), &err);

		if (status == LEASH_OK) {
			lock = leashed_lock(stranger, "x", NULL);
			status = leash_lock_acquire(lock, 5000, &err);
			leash_lock_free(lock);
			leash_close(stranger);
		}
		assert_int_equal(status, LEASH_DENIED);
	}
	check_keys_of("app");
	freeReplyObject(server_command(server, "ACL DELUSER app"));
	freeReplyObject(server_command(server, "FLUSHALL"));
}

/* ---- names that were made to collide ---- */

enum { COLLIDING = 100000, BLOCKS = 17, BLOCK = 8 };

typedef uint32_t hash_step(uint32_t state, unsigned char byte);

static uint32_t
djb2(uint32_t state, unsigned char byte)
{
	return state * 33 + byte;
}

static uint32_t
fnv1a(uint32_t state, unsigned char byte)
{
	return (state ^ byte) * UINT32_C(16777619);
}

/* The low half of the one with 64 bits, of which a table uses no more. */
static uint32_t
fnv1a_64(uint32_t state, unsigned char byte)
{
	return (state ^ byte) * UINT32_C(0x1b3);
}

static uint32_t
hash_block(hash_step *step, uint32_t state, const char *block)
{
	for (int i = 0; i < BLOCK; i++)
		state = step(state, (unsigned char)block[i]);
	return state;
}

/* Two blocks of letters that lead from one state to the same next one, found by the birthday of 2^32. */
static uint32_t
find_pair(hash_step *step, uint32_t state, uint64_t *seed, char pair[2][BLOCK])
{
	enum { SLOTS = 1 << 19 };
	static char seen[SLOTS][BLOCK];

	memset(seen, 0, sizeof seen);
	for (;;) {
		uint64_t r = random_next(seed);
		uint32_t next;
		char *slot;

		for (int i = 0; i < BLOCK; i++)
			pair[0][i] = (char)('a' + (r >> 5 * i) % 26);
		next = hash_block(step, state, pair[0]);
		slot = seen[(next * UINT32_C(2654435761)) % SLOTS];
		if (slot[0] != '\0' && memcmp(slot, pair[0], BLOCK) != 0 && hash_block(step, state, slot) == next) {
			memcpy(pair[1], slot, BLOCK);
			return next;
		}
		memcpy(slot, pair[0], BLOCK);
	}
}

/* All of them have one hash: each block may be either of a pair. */
static void
make_colliding(hash_step *step, uint32_t state, char (*names)[BLOCKS * BLOCK + 1])
{
	char pair[BLOCKS][2][BLOCK];
	uint64_t seed = 6;
	uint32_t begin = state;

	for (int i = 0; i < BLOCKS; i++)
		state = find_pair(step, state, &seed, pair[i]);
	for (int n = 0; n < COLLIDING; n++) {
		uint32_t hash = begin;

		for (int i = 0; i < BLOCKS; i++)
			memcpy(names[n] + i * BLOCK, pair[i][n >> i & 1], BLOCK);
		names[n][BLOCKS * BLOCK] = '\0';
		for (int i = 0; i < BLOCKS * BLOCK; i++)
			hash = step(hash, (unsigned char)names[n][i]);
		assert_int_equal(hash, state);
	}
}

static void
make_random(char (*names)[BLOCKS * BLOCK + 1])
{
	uint64_t seed = 7;

	for (int n = 0; n < COLLIDING; n++) {
		for (int i = 0; i < BLOCKS * BLOCK; i++)
			names[n][i] = (char)('a' + (random_next(&seed) >> 32) % 26);
		names[n][BLOCKS * BLOCK] = '\0';
	}
}

/* Of this thread: what else the machine does is not in it. */
static int64_t
cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Open them all, find each again, and free them. */
static int64_t
time_names(leash_client *client, char (*names)[BLOCKS * BLOCK + 1])
{
	leash_lock **lock = calloc(COLLIDING, sizeof *lock);
	int64_t begun = cpu_now_ns();

	assert_non_null(lock);
	for (int n = 0; n < COLLIDING; n++) {
		lock[n] = leashed_lock(client, names[n], NULL);
		if (n % 1000 == 0 && cpu_now_ns() - begun > 60000 * MS)
			fail_msg("%d names took a minute", n);
	}
	for (int n = 0; n < COLLIDING; n++)
		leash_lock_free(leashed_lock(client, names[n], NULL));
	for (int n = 0; n < COLLIDING; n++)
		leash_lock_free(lock[n]);
	free(lock);
	return cpu_now_ns() - begun;
}

SENTENCE(names_that_were_made_to_collide_cost_no_more_than_others)
{
	static const struct {
		const char *name;
		hash_step *step;
		uint32_t start;
	} hashes[] = {{"djb2", djb2, 5381}, {"FNV-1a, 32 bits", fnv1a, UINT32_C(2166136261)}, {"FNV-1a, 64 bits", fnv1a_64, UINT32_C(0x84222325)}};
	char (*others)[BLOCKS * BLOCK + 1] = calloc(COLLIDING, sizeof *others), (*names)[BLOCKS * BLOCK + 1] = calloc(COLLIDING, sizeof *names);
	leash_client *client = leashed_open(server_uri(server), NULL);
	int64_t plain = INT64_MAX;

	if (UNDER_TSAN || UNDER_ASAN)
		goto done; /* it is their time that would be measured */
	assert_true(others != NULL && names != NULL);
	make_random(others);
	time_names(client, others); /* memory is there from here on */
	for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
		int64_t colliding = INT64_MAX;

		make_colliding(hashes[i].step, hashes[i].start, names);
		for (int round = 0; round < 3; round++) {
			int64_t took = time_names(client, others);

			plain = took < plain ? took : plain;
			took = time_names(client, names);
			colliding = took < colliding ? took : colliding;
		}
		print_message("# %d names that collide in %s: %.2f times as long as random ones (%.0f ms)\n", COLLIDING, hashes[i].name,
		              (double)colliding / (double)plain, (double)plain / 1e6);
		assert_true(colliding <= 3 * plain); /* in one bucket they take a hundred times as long and more */
	}
done:
	leash_close(client);
	free(others);
	free(names);
}

/* ---- URIs ---- */

#define SECRET "kRyPtOnItE"

static bool
tells_secret(const void *bytes, size_t n)
{
	for (size_t i = 0; i + 5 <= strlen(SECRET); i++)
		if (memmem(bytes, n, &SECRET[i], 5) != NULL)
			return true;
	return false;
}

static bool
is_place(const struct lsh_uri *parsed)
{
	for (size_t i = 0; i < parsed->host_count; i++)
		if (tells_secret(parsed->hosts[i].host, strlen(parsed->hosts[i].host)))
			return true;
	return tells_secret(parsed->host, strlen(parsed->host)) || (parsed->master != NULL && tells_secret(parsed->master, strlen(parsed->master)));
}

/* Any byte may be added, lost, changed or doubled, pieces of other URIs come in, and the end may be missing. */
static void
mutate(char *text, size_t size, uint64_t *seed)
{
	static const char *const pieces[] = {"redis://", "unix://", "@", ":", "[::1]", "[", "]", "/", "?", "&", "=", "%", "%00", "%40", "%2", "#", "db=", "timeout=",
	                                     "password_file=/dev/null", "password_env=HOME", "-1", "rediss://", "redis+sentinel://", "redis+cluster://", "rediss+quorum://", "/main", "b:1,c",
	                                     "cafile=/a", "cert=b&key=c", "server_name=d", "verify=no", "redirects=e,[::1]", "scripts=preloaded",
	                                     "restart_guard=1", "sentinel_user=f", "sentinel_password_env=HOME", "99999999999999999999", ":65536", ",", " ", "\xc3\xa9", "\xff", "\n"};
	size_t n = strlen(text), at;
	uint64_t r = random_next(seed);
	const char *piece;

	if (n == 0 || n > size - 64)
		return;
	at = (size_t)(r >> 32) % n;
	switch (r % 6) {
	case 0:
		memmove(text + at, text + at + 1, n - at);
		break;
	case 1:
		text[at] = (char)(1 + (r >> 8) % 255);
		break;
	case 2:
		text[at] ^= (char)(1 << (r >> 8) % 7);
		break;
	case 3:
		text[at] = text[at] != '\0' ? text[at] : 'x';
		text[at + 1 < n - n / 8 ? n - n / 8 : n] = '\0';
		break;
	case 4:
		memmove(text + at + 1, text + at, n - at + 1);
		break;
	default:
		piece = pieces[(r >> 8) % (sizeof pieces / sizeof *pieces)];
		memmove(text + at + strlen(piece), text + at, n - at + 1);
		memcpy(text + at, piece, strlen(piece));
	}
}

SENTENCE(no_mutated_uri_crashes_the_parser_or_tells_its_secret)
{
	static const char *const texts[] = {
		"redis://user:" SECRET "%40" SECRET "@[::1]:1/0", "redis://:" SECRET "@cache:6379/2?timeout=100", "unix://app:" SECRET "@/run/redis.sock?db=2&timeout=500",
		"redis://app:" SECRET "@cache", "redis://h/0?password_file=/dev/null&timeout=10", "rediss://:" SECRET "@h:1?cafile=/ca&verify=yes",
		"redis+sentinel://u:" SECRET "@a:1,b:2/m/0?sentinel_user=w&sentinel_password_env=HOME", "redis+cluster://u:" SECRET "@a,[::1]:2?redirects=a,::1",
		"rediss+quorum://u:" SECRET "@a,b,c/1?restart_guard=5&scripts=preloaded",
	};
	long rounds = knob("LEASH_TEST_URIS", 100000), taken = 0;
	uint64_t seed = (uint64_t)knob("LEASH_TEST_SEED", 8);

	for (long i = 0; i < rounds; i++) {
		char text[512];
		struct lsh_uri parsed;

		snprintf(text, sizeof text, "%s", texts[(size_t)i % (sizeof texts / sizeof *texts)]);
		for (uint64_t n = 1 + random_next(&seed) % 6; n > 0; n--)
			mutate(text, sizeof text, &seed);
		memset(&err, 0, sizeof err);
		if (lsh_uri_parse(&parsed, text, &err) == LEASH_OK) {
			taken++;
			/* where what was a secret is the name of a host or a master by now it must be shown */
			if (tells_secret(parsed.shown, strlen(parsed.shown)) && !is_place(&parsed))
				fail_msg("%s: shown as %s", text, parsed.shown);
			lsh_uri_clear(&parsed);
			continue;
		}
		check_text(err.text, "");
		/* where the '@' is gone and a '?' has come nothing tells what was a secret from the name of a parameter */
		if (tells_secret(&err, sizeof err) && (strchr(text, '@') != NULL || strncmp(err.text, "uri: parameter '", 16) != 0))
			fail_msg("%s: %s", text, err.text);
	}
	print_message("# %ld mutated URIs, %ld of them good\n", rounds, taken);
	assert_true(taken > 0 && taken < rounds);
}
