/* URIs: what is understood, passwords from elsewhere, and that no secret gets out. */
#include "tests/unit/uris.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* ---- what is understood ---- */

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

/* ---- passwords from elsewhere ---- */

static void
a_password_comes_from_a_file_without_its_last_newline(void **state)
{
	static const struct {
		const char *content, *password;
	} cases[] = {
		{SECRET "\n", SECRET}, {SECRET, SECRET}, {" " SECRET " \n", " " SECRET " "}, {"x\ry", "x\ry"}, {"%41", "%41"},
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri;

		write_file("p w@1", cases[i].content, strlen(cases[i].content));
		snprintf(text, sizeof(text), "redis://cache?password_file=%s/p%%20w@1&timeout=50", folder);
		uri = understood(text);
		check_password(&uri, cases[i].password);
		assert_null(uri.user);
		assert_int_equal(uri.timeout_ms, 50);
		assert_text(uri.shown, "redis://cache:6379");
		lsh_uri_clear(&uri);
	}
}

static void
a_file_is_read_each_time_and_its_password_is_not_kept(void **state)
{
	char text[1024], *read = "";
	struct lsh_uri uri;
	leash_error err;

	(void)state;
	write_file("password", "the first\n", 10);
	snprintf(text, sizeof(text), "redis://cache?password_file=%s", in_folder("password"));
	uri = understood(text);
	assert_null(uri.password);
	check_password(&uri, "the first");
	write_file("password", SECRET, strlen(SECRET));
	check_password(&uri, SECRET);
	write_file("password", "", 0);
	assert_int_equal(lsh_uri_read_password(&read, &uri, &err), LEASH_INVALID);
	assert_null(read);
	assert_non_null(strstr(err.text, "/password': empty"));
	assert_true(lsh_uri_has_password(&uri));
	lsh_uri_clear(&uri);
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
	check_password(&uri, SECRET);
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
				check_password(&uri, password);
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
		{SECRET "\r\n", sizeof(SECRET) + 1, "password_file|/odd|CR LF|"},
		{SECRET "\r", sizeof(SECRET), "password_file|/odd|CR LF|"},
		{SECRET "\n\n", sizeof(SECRET) + 1, "password_file|/odd|more than one line|"},
		{SECRET "\r\nx\r\n", sizeof(SECRET) + 4, "password_file|/odd|more than one line|"},
		{"\n" SECRET, sizeof(SECRET), "password_file|/odd|more than one line|"},
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

/* ---- secrets and memory ---- */

static bool
any_of_secret(const void *bytes, size_t n)
{
	for (size_t i = 0; i + 5 <= strlen(SECRET); i++) {
		if (memmem(bytes, n, &SECRET[i], 5) != NULL)
			return true;
	}
	return false;
}

static bool
is_place(const struct lsh_uri *uri)
{
	for (size_t i = 0; i < uri->host_count; i++) {
		if (any_of_secret(uri->hosts[i].host, strlen(uri->hosts[i].host)))
			return true;
	}
	return any_of_secret(uri->host, strlen(uri->host)) || (uri->master != NULL && any_of_secret(uri->master, strlen(uri->master)));
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
		"rediss://app:" SECRET "@cache?verify=no",
		"redis+sentinel://app:" SECRET SECRET "@a:26379,b/main/2?scripts=sent",
		"redis+cluster://app:" SECRET "@[::1]:7000,b?redirects=a,[::1]",
		"rediss+quorum://:" SECRET SECRET "@a,b,c/2?restart_guard=100",
		"app:" SECRET "@cache",
	};
	static const char letters[] = "/?#@:&=%[]+- \n.,,12xA";
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
			/* where a secret happens to be the name of a host or a master it must be shown; it is not written there */
			if (any_of_secret(uri.shown, strlen(uri.shown)) && !is_place(&uri))
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
	const struct CMUnitTest tests[] = {
		uri_test(a_host_alone_is_enough),
		uri_test(each_part_comes_into_its_field),
		uri_test(schemes_may_be_written_in_capitals),
		uri_test(an_ipv6_address_stands_in_brackets),
		uri_test(numbers_reach_from_end_to_end),
		uri_test(a_password_alone_is_that_of_the_default_user),
		uri_test(user_and_password_are_decoded),
		uri_test(every_byte_but_nul_may_be_in_a_password),
		uri_test(a_unix_uri_names_a_socket),
		uri_test(what_is_shown_is_a_uri_of_the_same_place),
		uri_test(the_longest_path_of_a_socket_fits),
		uri_test(a_password_comes_from_a_file_without_its_last_newline),
		uri_test(a_file_is_read_each_time_and_its_password_is_not_kept),
		uri_test(a_user_may_have_a_password_from_a_file_or_a_variable),
		uri_test(a_password_of_4096_bytes_is_the_longest),
		uri_test(a_file_that_cannot_be_read_is_named_with_the_reason),
		uri_test(a_file_that_holds_no_password_is_named_without_its_content),
		uri_test(a_fifo_is_refused_without_waiting_for_its_writer),
		uri_test(a_long_path_is_cut_off_in_the_message),
		uri_test(a_variable_that_has_no_password_is_named),
		uri_test(what_cannot_be_a_variable_is_not_looked_up),
		uri_test(no_mistyped_uri_tells_a_secret),
		uri_test(without_memory_nothing_is_left_behind),
		uri_test(clearing_leaves_nothing_and_may_be_repeated),
	};

	return uris_run("uri", tests, COUNT(tests));
}
