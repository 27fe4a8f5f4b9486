/* URIs: what is understood, what is refused and in which words, and that no secret gets out. */
#include "redis/uri.h"

#include "tests/support/sweep.h"

#include <leash/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define SECRET "QJXZWVKQ"

/* Memory that counts, that fails when told to, and that has a look for secrets in what is given back. */

enum { HEAD = 16 };

static size_t blocks, until_failure; /* 0: never */
static bool secret_freed;

static void *
watched_alloc(size_t size)
{
	char *p;

	if (until_failure != 0 && --until_failure == 0)
		return NULL;
	p = malloc(HEAD + size);
	if (p == NULL)
		return NULL;
	memcpy(p, &size, sizeof(size));
	blocks++;
	return p + HEAD;
}

static void *
no_realloc(void *old, size_t size)
{
	(void)old;
	(void)size;
	abort();
}

static void
watched_free(void *old)
{
	char *p = (char *)old - HEAD;
	size_t size;

	memcpy(&size, p, sizeof(size));
	if (memmem(old, size, SECRET, strlen(SECRET)) != NULL)
		secret_freed = true;
	blocks--;
	free(p);
}

static const leash_memory memory = {watched_alloc, no_realloc, watched_free};

static char *folder;

static int
start(void **state)
{
	(void)state;
	blocks = until_failure = 0;
	secret_freed = false;
	return 0;
}

static int
end(void **state)
{
	(void)state;
	unsetenv("LEASH_TEST_PASSWORD");
	return blocks == 0 && !secret_freed ? 0 : 1;
}

static const char *
in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void
write_file(const char *name, const char *bytes, size_t n)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static struct lsh_uri
understood(const char *text)
{
	struct lsh_uri uri;
	leash_error err, before;

	memset(&err, 0xee, sizeof(err));
	before = err;
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s: %s", text, err.text);
	assert_memory_equal(&err, &before, sizeof(err));
	return uri;
}

#define assert_text(value, wanted)                        \
	do {                                              \
		assert_non_null(value);                   \
		assert_string_equal((value), (wanted));   \
	} while (0)

/* `words`: what the text must have in it, each followed by a '|'. */
static void
refused_as(leash_status status, const char *text, const char *words)
{
	static const struct lsh_uri nothing;
	struct lsh_uri uri;
	leash_error err;

	memset(&uri, 0xee, sizeof(uri));
	memset(&err, 0, sizeof(err));
	if (lsh_uri_parse(&uri, text, &err) == LEASH_OK)
		fail_msg("%s: understood", text);
	if (err.status != status)
		fail_msg("%s: %s: %s", text, leash_status_name(err.status), err.text);
	assert_int_equal(blocks, 0);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	assert_false(secret_freed);

	assert_null(memmem(&err, sizeof(err), SECRET, strlen(SECRET)));
	assert_memory_equal(err.text, "uri: ", 5);
	assert_true(strlen(err.text) > 20);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.'); /* neither a full stop nor cut off */
	while (*words != '\0') {
		size_t n = strcspn(words, "|");

		if (memmem(err.text, strlen(err.text), words, n) == NULL)
			fail_msg("%s: '%.*s' is not in: %s", text, (int)n, words, err.text);
		words += n + 1;
	}

	/* without a place for the text it is refused all the same */
	assert_int_equal(lsh_uri_parse(&uri, text, NULL), status);
}

static void
refused(const char *text, const char *words)
{
	refused_as(LEASH_INVALID, text, words);
}

/* What is understood */

static void
a_host_alone_is_enough(void **state)
{
	struct lsh_uri uri = understood("redis://cache");

	(void)state;
	assert_int_equal(uri.scheme, LSH_SCHEME_TCP);
	assert_text(uri.host, "cache");
	assert_int_equal(uri.port, 6379);
	assert_int_equal(uri.db, 0);
	assert_int_equal(uri.timeout_ms, 0);
	assert_null(uri.user);
	assert_null(uri.password);
	assert_text(uri.shown, "redis://cache:6379");
	lsh_uri_clear(&uri);
}

static void
each_part_comes_into_its_field(void **state)
{
	struct lsh_uri uri = understood("redis://app:" SECRET "@cache-1.example.com:7000/12?timeout=2500");

	(void)state;
	assert_text(uri.host, "cache-1.example.com");
	assert_int_equal(uri.port, 7000);
	assert_int_equal(uri.db, 12);
	assert_int_equal(uri.timeout_ms, 2500);
	assert_text(uri.user, "app");
	assert_text(uri.password, SECRET);
	assert_text(uri.shown, "redis://cache-1.example.com:7000/12");
	lsh_uri_clear(&uri);
}

static void
schemes_may_be_written_in_capitals(void **state)
{
	struct lsh_uri uri = understood("REDIS://127.0.0.1:6379/");

	(void)state;
	assert_int_equal(uri.scheme, LSH_SCHEME_TCP);
	assert_text(uri.host, "127.0.0.1");
	lsh_uri_clear(&uri);
	uri = understood("Unix:///run/redis.sock");
	assert_int_equal(uri.scheme, LSH_SCHEME_UNIX);
	lsh_uri_clear(&uri);
}

static void
an_ipv6_address_stands_in_brackets(void **state)
{
	static const struct {
		const char *text, *host, *shown;
		unsigned port;
	} cases[] = {
		{"redis://[::1]", "::1", "redis://[::1]:6379", 6379},
		{"redis://[::1]:7001/3", "::1", "redis://[::1]:7001/3", 7001},
		{"redis://:" SECRET "@[2001:db8::2]:1", "2001:db8::2", "redis://[2001:db8::2]:1", 1},
		{"redis://[::ffff:10.0.0.1]/0", "::ffff:10.0.0.1", "redis://[::ffff:10.0.0.1]:6379", 6379},
		{"redis://[fe80::1%25eth0]:6380", "fe80::1%eth0", "redis://[fe80::1%25eth0]:6380", 6380},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri = understood(cases[i].text);

		assert_text(uri.host, cases[i].host);
		assert_text(uri.shown, cases[i].shown);
		assert_int_equal(uri.port, cases[i].port);
		lsh_uri_clear(&uri);
	}
}

static void
numbers_reach_from_end_to_end(void **state)
{
	struct lsh_uri uri = understood("redis://h:1/0?timeout=10");

	(void)state;
	assert_int_equal(uri.port, 1);
	assert_int_equal(uri.timeout_ms, 10);
	lsh_uri_clear(&uri);
	uri = understood("redis://h:65535/16383?timeout=60000");
	assert_int_equal(uri.port, 65535);
	assert_int_equal(uri.db, 16383);
	assert_int_equal(uri.timeout_ms, 60000);
	lsh_uri_clear(&uri);
}

static void
a_password_alone_is_that_of_the_default_user(void **state)
{
	struct lsh_uri uri = understood("redis://:" SECRET "@cache");

	(void)state;
	assert_null(uri.user);
	assert_text(uri.password, SECRET);
	assert_text(uri.shown, "redis://cache:6379");
	lsh_uri_clear(&uri);
}

static void
user_and_password_are_decoded(void **state)
{
	struct lsh_uri uri = understood("redis://a%40b%3a:p%2Fw%3f%23%20%25%c3%a9:\xc3\xa9!@cache");

	(void)state;
	assert_text(uri.user, "a@b:");
	assert_text(uri.password, "p/w?# %\xc3\xa9:\xc3\xa9!"); /* the first ':' parts them */
	assert_text(uri.shown, "redis://cache:6379");
	lsh_uri_clear(&uri);
}

static void
every_byte_but_nul_may_be_in_a_password(void **state)
{
	char text[1024] = "redis://:", wanted[256];
	struct lsh_uri uri;

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		snprintf(text + strlen(text), 4, c % 2 == 0 ? "%%%02x" : "%%%02X", c);
		wanted[c - 1] = (char)c;
	}
	wanted[255] = '\0';
	strcat(text, "@h");
	uri = understood(text);
	assert_text(uri.password, wanted);
	lsh_uri_clear(&uri);
}

static void
a_unix_uri_names_a_socket(void **state)
{
	struct lsh_uri uri = understood("unix:///run/redis.sock");

	(void)state;
	assert_int_equal(uri.scheme, LSH_SCHEME_UNIX);
	assert_text(uri.host, "/run/redis.sock");
	assert_int_equal(uri.port, 0);
	assert_int_equal(uri.db, 0);
	assert_null(uri.user);
	assert_null(uri.password);
	assert_text(uri.shown, "unix:///run/redis.sock");
	lsh_uri_clear(&uri);

	uri = understood("unix://app:" SECRET "@/run/a@b/redis%20%3F%25%23%01%C3%A9.sock?timeout=100&db=5");
	assert_text(uri.host, "/run/a@b/redis ?%#\x01\xc3\xa9.sock");
	assert_int_equal(uri.db, 5);
	assert_int_equal(uri.timeout_ms, 100);
	assert_text(uri.user, "app");
	assert_text(uri.password, SECRET);
	assert_text(uri.shown, "unix:///run/a@b/redis%20%3F%25%23%01%C3%A9.sock?db=5");
	lsh_uri_clear(&uri);
}

static void
what_is_shown_is_a_uri_of_the_same_place(void **state)
{
	static const char *const texts[] = {
		"redis://u:" SECRET "@cache:7000/12?timeout=100", "redis://:" SECRET "@[fe80::1%25eth0]",
		"redis://127.0.0.1/0",
		"unix://u:" SECRET "@/run/%25%3f%7f%ff.sock?db=2", "unix:///a",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct lsh_uri uri = understood(texts[i]), again = understood(uri.shown);

		assert_text(again.host, uri.host);
		assert_text(again.shown, uri.shown);
		assert_int_equal(again.scheme, uri.scheme);
		assert_int_equal(again.port, uri.port);
		assert_int_equal(again.db, uri.db);
		assert_null(again.user);
		assert_null(again.password);
		for (const char *at = uri.shown; *at != '\0'; at++)
			assert_true(*at > ' ' && *at <= '~');
		lsh_uri_clear(&uri);
		lsh_uri_clear(&again);
	}
}

static void
the_longest_path_of_a_socket_fits(void **state)
{
	char text[256] = "unix:///";
	struct lsh_uri uri;

	(void)state;
	for (size_t i = 1; i < sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1; i++)
		strcat(text, "x");
	uri = understood(text);
	assert_int_equal(strlen(uri.host), sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
	lsh_uri_clear(&uri);
	strcat(text, "x");
	refused(text, "path|socket|");
}

/* Passwords from elsewhere */

static void
a_password_comes_from_a_file_without_its_last_newline(void **state)
{
	static const struct {
		const char *content, *password;
	} cases[] = {
		{SECRET "\n", SECRET}, {SECRET, SECRET}, {SECRET "\n\n", SECRET "\n"},
		{" " SECRET " \n", " " SECRET " "}, {"\nx", "\nx"},
		{"%41", "%41"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri;

		write_file("p w@1", cases[i].content, strlen(cases[i].content));
		snprintf(text, sizeof(text), "redis://cache?password_file=%s/p%%20w@1&timeout=50", folder);
		uri = understood(text);
		assert_text(uri.password, cases[i].password);
		assert_null(uri.user);
		assert_int_equal(uri.timeout_ms, 50);
		assert_text(uri.shown, "redis://cache:6379");
		lsh_uri_clear(&uri);
	}
}

static void
a_user_may_have_a_password_from_a_file_or_a_variable(void **state)
{
	char text[1024];
	struct lsh_uri uri;

	(void)state;
	write_file("password", SECRET "\n", strlen(SECRET) + 1);
	snprintf(text, sizeof(text), "unix://app@/run/redis.sock?password_file=%s", in_folder("password"));
	uri = understood(text);
	assert_text(uri.user, "app");
	assert_text(uri.password, SECRET);
	lsh_uri_clear(&uri);

	setenv("LEASH_TEST_PASSWORD", SECRET "\n%41", 1);
	uri = understood("redis://app@cache?password_env=LEASH_TEST_PASSWORD");
	assert_text(uri.user, "app");
	assert_text(uri.password, SECRET "\n%41"); /* as it is */
	assert_text(uri.shown, "redis://cache:6379");
	lsh_uri_clear(&uri);
}

static void
a_password_of_4096_bytes_is_the_longest(void **state)
{
	static char text[8192], password[4098];
	struct lsh_uri uri;

	(void)state;
	memset(password, 'p', 4096);
	for (int from = 0; from < 3; from++) {
		password[4096] = '\0';
		for (int more = 0; more < 2; more++) {
			if (more)
				strcat(password, "p");
			if (from == 0) {
				snprintf(text, sizeof(text), "redis://:%s@h", password);
			} else if (from == 1) {
				setenv("LEASH_TEST_PASSWORD", password, 1);
				strcpy(text, "redis://h?password_env=LEASH_TEST_PASSWORD");
			} else {
				write_file("long", password, strlen(password));
				snprintf(text, sizeof(text), "redis://h?password_file=%s", in_folder("long"));
			}
			if (more) {
				refused(text, "password|longer than 4096 bytes|");
			} else {
				uri = understood(text);
				assert_text(uri.password, password);
				lsh_uri_clear(&uri);
			}
		}
	}
	password[4096] = '\0';
	snprintf(text, sizeof(text), "redis://%s:x@h", password);
	uri = understood(text);
	lsh_uri_clear(&uri);
	snprintf(text, sizeof(text), "redis://%sp:x@h", password);
	refused(text, "user|longer than 4096 bytes|");
}

static void
a_file_that_cannot_be_read_is_named_with_the_reason(void **state)
{
	struct lsh_uri uri;
	leash_error err;
	char text[1024], *expected;

	(void)state;
	snprintf(text, sizeof(text), "redis://h?password_file=%s", in_folder("missing%0a"));
	refused(text, "password_file|missing\\x0a|");
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_INVALID);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_non_null(strstr(err.text, strerror(ENOENT)));

	snprintf(text, sizeof(text), "redis://h?password_file=%s", folder);
	expected = strrchr(folder, '/');
	refused(text, "password_file|not a regular file|");
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_INVALID);
	assert_non_null(strstr(err.text, expected));
}

static void
a_file_that_holds_no_password_is_named_without_its_content(void **state)
{
	static const struct {
		const char *content;
		size_t n;
		const char *words;
	} cases[] = {
		{"", 0, "password_file|/odd|empty|"},
		{"\n", 1, "password_file|/odd|empty|"},
		{SECRET "\0\n", sizeof(SECRET) + 1, "password_file|/odd|NUL|"},
		{SECRET "\0", sizeof(SECRET), "password_file|/odd|NUL|"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		write_file("odd", cases[i].content, cases[i].n);
		snprintf(text, sizeof(text), "redis://h?password_file=%s", in_folder("odd"));
		refused(text, cases[i].words);
	}
}

static void
a_fifo_is_refused_without_waiting_for_its_writer(void **state)
{
	char text[1024];

	(void)state;
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	snprintf(text, sizeof(text), "redis://h?password_file=%s", in_folder("fifo"));
	refused(text, "password_file|/fifo|not a regular file|");
	refused("redis://h?password_file=/dev/zero", "password_file|'/dev/zero'|not a regular file|");
}

static void
a_long_path_is_cut_off_in_the_message(void **state)
{
	char text[1024], path[600] = "";

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(path, "/long");
	snprintf(text, sizeof(text), "redis://h?password_file=%s", path);
	refused(text, "password_file '/long/long|...': |");
}

static void
a_variable_that_has_no_password_is_named(void **state)
{
	(void)state;
	refused("redis://h?password_env=LEASH_TEST_PASSWORD", "password_env|no variable 'LEASH_TEST_PASSWORD'|");
	setenv("LEASH_TEST_PASSWORD", "", 1);
	refused("redis://h?password_env=LEASH_TEST_PASSWORD", "password_env|'LEASH_TEST_PASSWORD' is empty|");
}

static void
what_cannot_be_a_variable_is_not_looked_up(void **state)
{
	static const char *const texts[] = {
		"redis://h?password_env=", "redis://h?password_env=1A", "redis://h?password_env=A-" SECRET,
		"redis://h?password_env=A%3D" SECRET,
		"redis://h?password_env=" SECRET "%0a",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "password_env|name of a variable|");
}

/* What is refused */

static void
an_empty_text_is_refused(void **state)
{
	(void)state;
	refused(NULL, "empty|redis://|");
	refused("", "empty|redis://|");
}

static void
a_missing_scheme_is_refused(void **state)
{
	static const char *const texts[] = {
		"cache", "cache:6379", "redis", "redis:", "redis:/", "redis:cache", "redis:/cache",
		"app:" SECRET "@cache", "//cache", "/run/redis.sock",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "scheme|missing|redis://|unix://|");
}

static void
an_unknown_scheme_is_refused_with_those_that_are_known(void **state)
{
	static const char *const texts[] = {
		"://cache", "http://cache", "redi://cache", "rediss3://cache", "redis+://cache",
		"redis+sentinels://cache", "tcp://:" SECRET "@cache",
		SECRET "://cache", "app:" SECRET "@redis://cache", "unixx:///a", "redis+clusterr://a",
		"rediss+quorum://a",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "scheme|not known|redis://|unix://|");
}

static void
schemes_of_other_deployments_are_not_supported_yet_known(void **state)
{
	(void)state;
	refused_as(LEASH_UNSUPPORTED, "rediss://:" SECRET "@cache", "scheme|rediss://|this build|");
	refused_as(LEASH_UNSUPPORTED, "redis+sentinel://a:1,b:2/mymaster", "scheme|redis+sentinel://|this build|");
	refused_as(LEASH_UNSUPPORTED, "redis+cluster://a:1,b:2", "scheme|redis+cluster://|this build|");
	refused_as(LEASH_UNSUPPORTED, "redis+quorum://a:1,b:2,c:3", "scheme|redis+quorum://|this build|");
	refused_as(LEASH_UNSUPPORTED, "REDISS://cache", "scheme|rediss://|this build|");
}

static void
spaces_and_control_bytes_are_refused(void **state)
{
	(void)state;
	refused(" redis://cache", "byte 1:|space|%20|");
	refused("redis://cache ", "byte 14:|space|");
	refused("redis://cache\n", "byte 14:|control|");
	refused("redis://:" SECRET "\t@cache", "byte 18:|control|");
	refused("redis://cac\x7fhe", "byte 12:|control|");
	refused("unix:///run/\x01x", "byte 13:|control|");
}

static void
a_fragment_is_refused(void **state)
{
	(void)state;
	refused("redis://cache#x", "byte 14:|fragment|%23|");
	refused("redis://:#" SECRET "@cache", "byte 10:|fragment|%23|");
	refused("unix:///run/redis.sock#", "byte 23:|fragment|%23|");
}

static void
a_missing_host_is_refused(void **state)
{
	static const char *const texts[] = {
		"redis://", "redis:///", "redis:///2", "redis://?timeout=100", "redis://:6379",
		"redis://:" SECRET "@", "redis://:" SECRET "@:6379",
		"redis://app:" SECRET "@/2", "redis://:/" SECRET "@cache", "redis://:?" SECRET "@cache",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "host|missing|redis://127.0.0.1:6379|");
}

static void
a_malformed_host_is_refused(void **state)
{
	static const char *const texts[] = {
		"redis://a,b", "redis://ca%63he", "redis://caf\xc3\xa9", "redis://a:1,b:2:x]",
		"redis://" SECRET "!", "redis://a*b", "redis://a]", "redis://a+b",
		"redis://\"a\"",
	};
	char text[400] = "redis://";
	struct lsh_uri uri;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], strchr(texts[i] + 8, ':') != NULL ? "port|" : "host|letters|IPv6|brackets|");

	memset(text + 8, 'h', 253);
	uri = understood(text);
	assert_int_equal(strlen(uri.host), 253);
	lsh_uri_clear(&uri);
	strcat(text, "h");
	refused(text, "host|longer than 253|");
}

static void
an_ipv6_address_without_brackets_is_refused(void **state)
{
	(void)state;
	refused("redis://::1", "host|redis://127.0.0.1:6379|");
	refused("redis://2001:db8::1", "port|IPv6|brackets|");
	refused("redis://2001:db8::1:6379/0", "port|IPv6|brackets|");
	refused("redis://fe80::1", "port|IPv6|brackets|");
}

static void
malformed_brackets_are_refused(void **state)
{
	static const char *const not_an_address[] = {
		"redis://[]", "redis://[]:6379", "redis://[cache]", "redis://[127.0.0.1]", "redis://[::1::]",
		"redis://[:::1]", "redis://[[::1]",
		"redis://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", "redis://[%25eth0]",
		"redis://:" SECRET "@[::g]",
	};
	static const char *const bad_zone[] = {
		"redis://[fe80::1%eth0]", "redis://[fe80::1%25]", "redis://[fe80::1%]",
		"redis://[fe80::1%25a/b]", "redis://[fe80::1%25%00]",
		"redis://[fe80::1%25a*b]", "redis://[fe80::1%251234567890123456]", "redis://[fe80::1%2]",
		"redis://[fe80::1%35eth0]",
	};

	(void)state;
	refused("redis://[::1", "host|'['|']'|");
	refused("redis://[::1:6379/0", "host|'['|']'|");
	refused("redis://[::1]6379", "host|':'|port|']'|");
	refused("redis://[::1]]", "host|':'|port|']'|");
	for (size_t i = 0; i < COUNT(not_an_address); i++)
		refused(not_an_address[i], "host|brackets|not an IPv6 address|");
	for (size_t i = 0; i < COUNT(bad_zone); i++)
		refused(bad_zone[i], strchr(bad_zone[i] + 8, '/') != NULL ? "host|" : "host|zone|%25eth0|");
}

static void
a_malformed_port_is_refused(void **state)
{
	static const char *const texts[] = {
		"redis://cache:", "redis://cache:/0", "redis://cache:0", "redis://cache:65536",
		"redis://cache:-1", "redis://cache:+1", "redis://cache:06379",
		"redis://cache:6379x", "redis://cache:0x1", "redis://cache:1:2",
		"redis://cache:99999999999999999999999", "redis://[::1]:", "redis://[::1]:0",
		"redis://cache:%31", "redis://app:" SECRET, "redis://app:" SECRET "/x@cache",
		"redis://app:" SECRET "?x@cache",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "port|from 1 to 65535|");
}

static void
a_malformed_database_is_refused(void **state)
{
	static const char *const texts[] = {
		"redis://cache/x", "redis://cache/16384", "redis://cache/-1", "redis://cache/+1",
		"redis://cache/01", "redis://cache/1/", "redis://cache/1/2",
		"redis://cache//", "redis://cache//1", "redis://cache/%31", "redis://cache/1.0",
		"redis://cache/99999999999999999999",
		("redis://h/" SECRET),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "database|from 0 to 16383|redis://cache:6379/2|");
	refused("unix:///a?db=", "database|from 0 to 16383|?db=2|");
	refused("unix:///a?db=16384", "database|from 0 to 16383|?db=2|");
	refused("unix:///a?db=x", "database|from 0 to 16383|?db=2|");
	refused("redis://cache:6379?db=2", "'db'|redis://cache:6379/2|");
}

static void
a_slash_in_a_password_is_explained(void **state)
{
	(void)state;
	refused("redis://app:1/" SECRET "@cache", "'/'|%2F|");
	refused("redis://app/" SECRET "@cache", "'/'|%2F|");
	refused("redis://app:12?" SECRET "@cache", "'?'|%3F|");
	refused("redis://app:12?" SECRET "=x@cache", "'?'|%3F|");
	refused("redis://app:12?a&" SECRET "&x@cache", "'?'|%3F|");
	refused("redis://app:12?x=@&" SECRET, "'?'|%3F|");
}

static void
a_malformed_login_is_refused(void **state)
{
	(void)state;
	refused("redis://@cache", "user|before the '@'|");
	refused("unix://@/run/redis.sock", "user|before the '@'|");
	refused("redis://" SECRET "@cache", "password|missing|user|password_file|password_env|");
	refused("unix://app@/run/redis.sock", "password|missing|user|");
	refused("redis://app:@cache", "password|empty|");
	refused("redis://:@cache", "password|empty|");
	refused("redis://app:" SECRET "@x@cache", "'@'|%40|");
	refused("unix://app:" SECRET "@x@/run/redis.sock", "'@'|%40|");
}

static void
a_bad_escape_is_refused_wherever_it_stands(void **state)
{
	static const char *const bad[] = {"%", "%4", "%zz", "%4g", "%g4", "%%41", "%00", "a%00b", "%0", "%-1", "% 1"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *space = strchr(bad[i], ' ');
		char text[256];

		snprintf(text, sizeof(text), "redis://%s:" SECRET "@cache", bad[i]);
		refused(text, space ? "space|" : "user|%25|");
		snprintf(text, sizeof(text), "redis://app:" SECRET "%s@cache", bad[i]);
		refused(text, space ? "space|" : "password|%25|");
		snprintf(text, sizeof(text), "unix:///run/%s", bad[i]);
		refused(text, space ? "space|" : "path|%25|");
		snprintf(text, sizeof(text), "redis://cache?password_file=/run/%s", bad[i]);
		refused(text, space ? "space|" : "password_file|%25|");
		snprintf(text, sizeof(text), "redis://cache?password_env=%s", bad[i]);
		refused(text, space ? "space|" : "password_env|%25|");
	}
}

static void
a_malformed_socket_path_is_refused(void **state)
{
	(void)state;
	refused("unix://", "path|missing|unix:///run/redis.sock|");
	refused("unix:///", "path|missing|unix:///run/redis.sock|");
	refused("unix://?db=1", "path|missing|unix:///run/redis.sock|");
	refused("unix://app:" SECRET "@", "path|missing|unix:///run/redis.sock|");
	refused("unix://run/redis.sock", "host|third slash|unix:///run/redis.sock|");
	refused("unix://app:" SECRET "@run/redis.sock", "host|third slash|");
	refused("unix://app:" SECRET "/x@/run/redis.sock", "host|third slash|");
}

static void
a_malformed_timeout_is_refused(void **state)
{
	static const char *const texts[] = {
		"redis://h?timeout=", "redis://h?timeout=9", "redis://h?timeout=60001",
		"redis://h?timeout=1s", "redis://h?timeout=0100", "redis://h?timeout=-1",
		"redis://h?timeout=1%30", "redis://h?timeout=18446744073709551716", "redis://h?timeout=100?",
		"unix:///a?timeout=1e3",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "timeout|from 10 to 60000|");
}

static void
malformed_parameters_are_refused(void **state)
{
	(void)state;
	refused("redis://h?", "parameters|empty|");
	refused("redis://h?timeout=100&", "parameters|empty|");
	refused("redis://h?&timeout=100", "parameters|empty|");
	refused("redis://h?timeout=100&&", "parameters|empty|");
	refused("redis://h?timeout", "'timeout'|no value|");
	refused("redis://h?password_file", "'password_file'|no value|");
	refused("redis://h?password_file=", "password_file|empty|path|");
}

static void
an_unknown_parameter_is_refused_by_name(void **state)
{
	(void)state;
	refused("redis://h?tiemout=100", "'tiemout'|not known|timeout, password_file, password_env|");
	refused("redis://h?timeout=100&ssl=true", "'ssl'|not known|");
	refused("redis://h?Timeout=100", "'Timeout'|not known|");
	refused("unix:///a?dbb=1", "'dbb'|not known|timeout, password_file, password_env, db|");
	refused("redis://h?password=" SECRET, "'password'|not known|");
	refused("redis://h?=1", "parameters|not known|");
	refused("redis://h?ti%6deout=100", "parameters|not known|");
	refused("redis://h?a\x80=1", "parameters|not known|");
	refused("redis://h?abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz=1", "parameters|not known|");
}

static void
a_parameter_that_is_given_twice_is_refused_by_name(void **state)
{
	char text[1024];

	(void)state;
	refused("redis://h?timeout=100&timeout=100", "'timeout'|twice|");
	refused("unix:///a?db=1&timeout=100&db=2", "'db'|twice|");
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	refused("redis://h?password_env=LEASH_TEST_PASSWORD&password_env=LEASH_TEST_PASSWORD", "'password_env'|twice|");
	write_file("password", SECRET "\n", strlen(SECRET) + 1);
	snprintf(text, sizeof(text), "redis://h?password_file=%s/password&password_file=%s/password", folder, folder);
	refused(text, "'password_file'|twice|");
}

static void
a_password_that_is_given_twice_is_refused(void **state)
{
	char text[1024];

	(void)state;
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	write_file("password", SECRET "\n", strlen(SECRET) + 1);
	refused("redis://:" SECRET "@h?password_env=LEASH_TEST_PASSWORD", "password|twice|");
	refused("redis://app:" SECRET "@h?password_file=/missing", "password|twice|");
	snprintf(text, sizeof(text), "redis://h?password_env=LEASH_TEST_PASSWORD&password_file=%s", in_folder("password"));
	refused(text, "password|twice|");
	snprintf(text, sizeof(text), "redis://h?password_file=%s&password_env=LEASH_TEST_PASSWORD", in_folder("password"));
	refused(text, "password|twice|");
}

/* Secrets and memory */

static bool
any_of_secret(const void *bytes, size_t n)
{
	for (size_t i = 0; i + 5 <= strlen(SECRET); i++) {
		if (memmem(bytes, n, &SECRET[i], 5) != NULL)
			return true;
	}
	return false;
}

/* Whatever is typed wrongly, not even five letters of a secret are told. */
static void
no_mistyped_uri_tells_a_secret(void **state)
{
	static const char *const texts[] = {
		"redis://:" SECRET SECRET "@cache:7000/2?timeout=100",
		"redis://app:" SECRET SECRET "@cache?timeout=100",
		"redis://app:12" SECRET "@[::1]:7000/2",
		"redis://" SECRET ":x@cache",
		"unix://app:" SECRET "@/run/redis.sock?db=2",
		"unix://" SECRET "@/run/redis.sock?db=2",
		"rediss://app:" SECRET "@cache?x=1",
		"app:" SECRET "@cache",
	};
	static const char letters[] = "/?#@:&=%[]+- \n.,12xA";
	uint32_t seed = 99;
	unsigned refusals = 0;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		char text[256];
		struct lsh_uri uri;
		leash_error err;

		memset(&err, 0, sizeof(err));
		strcpy(text, texts[(size_t)round % COUNT(texts)]);
		for (int i = 0; i < 1 + round / 8 % 3; i++) {
			size_t n = strlen(text), at;

			seed = seed * 1664525u + 1013904223u;
			at = (seed >> 16) % n;
			seed = seed * 1664525u + 1013904223u;
			if ((seed >> 28) < 4) { /* a letter is missing */
				memmove(text + at, text + at + 1, n - at);
				continue;
			}
			memmove(text + at + 1, text + at, n - at + 1);
			text[at] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		if (lsh_uri_parse(&uri, text, &err) == LEASH_OK) {
			/* where a secret happens to be the name of a host it must be shown; it is not written there */
			if (any_of_secret(uri.shown, strlen(uri.shown)) && !any_of_secret(uri.host, strlen(uri.host)))
				fail_msg("%s: shown as %s", text, uri.shown);
			lsh_uri_clear(&uri);
		} else {
			refusals++;
		}
		if (any_of_secret(&err, sizeof(err)))
			fail_msg("%s: %s", text, err.text);
		if (secret_freed)
			fail_msg("%s: a secret was freed unwiped", text);
		assert_int_equal(blocks, 0);
	}
	assert_true(refusals > 10000);
}

static void
without_memory_nothing_is_left_behind(void **state)
{
	char from_file[1024];
	const char *const texts[] = {
		"redis://app:" SECRET "@cache:7000/2?timeout=100", "unix://" SECRET ":x@/run/redis.sock?db=2",
		"redis://app@[::1]?password_env=LEASH_TEST_PASSWORD",
		from_file,
	};

	(void)state;
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	write_file("password", SECRET "\n", strlen(SECRET) + 1);
	snprintf(from_file, sizeof(from_file), "redis://app@cache?password_file=%s", in_folder("password"));
	for (size_t i = 0; i < COUNT(texts); i++) {
		size_t failing = 1;

		for (;; failing++) {
			static const struct lsh_uri nothing;
			struct lsh_uri uri;
			leash_error err;
			leash_status st;

			until_failure = failing;
			st = lsh_uri_parse(&uri, texts[i], &err);
			until_failure = 0;
			if (st == LEASH_OK) {
				lsh_uri_clear(&uri);
				break;
			}
			assert_int_equal(st, LEASH_NO_MEMORY);
			assert_int_equal(err.status, LEASH_NO_MEMORY);
			assert_memory_equal(&uri, &nothing, sizeof(uri));
			assert_int_equal(blocks, 0);
			assert_false(secret_freed);
		}
		assert_true(failing > 3); /* a user, a host, what is shown */
		assert_int_equal(blocks, 0);
	}
}

static void
clearing_leaves_nothing_and_may_be_repeated(void **state)
{
	static const struct lsh_uri nothing;
	struct lsh_uri uri = nothing;

	(void)state;
	lsh_uri_clear(&uri);
	uri = understood("redis://" SECRET ":" SECRET "@cache");
	lsh_uri_clear(&uri);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	lsh_uri_clear(&uri);
	assert_int_equal(blocks, 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		TEST(a_host_alone_is_enough),
		TEST(each_part_comes_into_its_field),
		TEST(schemes_may_be_written_in_capitals),
		TEST(an_ipv6_address_stands_in_brackets),
		TEST(numbers_reach_from_end_to_end),
		TEST(a_password_alone_is_that_of_the_default_user),
		TEST(user_and_password_are_decoded),
		TEST(every_byte_but_nul_may_be_in_a_password),
		TEST(a_unix_uri_names_a_socket),
		TEST(what_is_shown_is_a_uri_of_the_same_place),
		TEST(the_longest_path_of_a_socket_fits),
		TEST(a_password_comes_from_a_file_without_its_last_newline),
		TEST(a_user_may_have_a_password_from_a_file_or_a_variable),
		TEST(a_password_of_4096_bytes_is_the_longest),
		TEST(a_file_that_cannot_be_read_is_named_with_the_reason),
		TEST(a_file_that_holds_no_password_is_named_without_its_content),
		TEST(a_fifo_is_refused_without_waiting_for_its_writer),
		TEST(a_long_path_is_cut_off_in_the_message),
		TEST(a_variable_that_has_no_password_is_named),
		TEST(what_cannot_be_a_variable_is_not_looked_up),
		TEST(an_empty_text_is_refused),
		TEST(a_missing_scheme_is_refused),
		TEST(an_unknown_scheme_is_refused_with_those_that_are_known),
		TEST(schemes_of_other_deployments_are_not_supported_yet_known),
		TEST(spaces_and_control_bytes_are_refused),
		TEST(a_fragment_is_refused),
		TEST(a_missing_host_is_refused),
		TEST(a_malformed_host_is_refused),
		TEST(an_ipv6_address_without_brackets_is_refused),
		TEST(malformed_brackets_are_refused),
		TEST(a_malformed_port_is_refused),
		TEST(a_malformed_database_is_refused),
		TEST(a_slash_in_a_password_is_explained),
		TEST(a_malformed_login_is_refused),
		TEST(a_bad_escape_is_refused_wherever_it_stands),
		TEST(a_malformed_socket_path_is_refused),
		TEST(a_malformed_timeout_is_refused),
		TEST(malformed_parameters_are_refused),
		TEST(an_unknown_parameter_is_refused_by_name),
		TEST(a_parameter_that_is_given_twice_is_refused_by_name),
		TEST(a_password_that_is_given_twice_is_refused),
		TEST(no_mistyped_uri_tells_a_secret),
		TEST(without_memory_nothing_is_left_behind),
		TEST(clearing_leaves_nothing_and_may_be_repeated),
	};
#undef TEST
	int failed;

	if (leash_set_memory(&memory) != LEASH_OK)
		return 1;
	folder = sweep_folder();
	failed = cmocka_run_group_tests_name("uri", tests, NULL, NULL);
	sweep_remove(folder);
	return failed;
}
