/* URIs: what is refused, and in which words. */
#include "tests/unit/uris.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		refused(texts[i], "scheme|missing|redis://|rediss://|unix://|sentinel://|cluster://|quorum://|");
}

static void
an_unknown_scheme_is_refused_with_those_that_are_known(void **state)
{
	static const char *const texts[] = {
		"://cache", "http://cache", "redi://cache", "rediss3://cache", "redis+://cache",
		"redis+sentinels://cache", "tcp://:" SECRET "@cache",
		SECRET "://cache", "app:" SECRET "@redis://cache", "unixx:///a", "redis+clusterr://a",
		"rediss+quorums://a", "redisss://a", "unix+sentinel://a", "redis+tls://a", "redis+sentinel+cluster://a",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "scheme|not known|redis://|rediss://|unix://|sentinel://|cluster://|quorum://|");
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
		"redis://ca%63he", "redis://caf\xc3\xa9", "redis://a:1]",
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
	refused("redis://app?" SECRET, "parameters|not known|%3F|"); /* the end of it is lost */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		uri_test(an_empty_text_is_refused),
		uri_test(a_missing_scheme_is_refused),
		uri_test(an_unknown_scheme_is_refused_with_those_that_are_known),
		uri_test(spaces_and_control_bytes_are_refused),
		uri_test(a_fragment_is_refused),
		uri_test(a_missing_host_is_refused),
		uri_test(a_malformed_host_is_refused),
		uri_test(an_ipv6_address_without_brackets_is_refused),
		uri_test(malformed_brackets_are_refused),
		uri_test(a_malformed_port_is_refused),
		uri_test(a_malformed_database_is_refused),
		uri_test(a_slash_in_a_password_is_explained),
		uri_test(a_malformed_login_is_refused),
		uri_test(a_bad_escape_is_refused_wherever_it_stands),
		uri_test(a_malformed_socket_path_is_refused),
		uri_test(a_malformed_timeout_is_refused),
		uri_test(malformed_parameters_are_refused),
		uri_test(an_unknown_parameter_is_refused_by_name),
		uri_test(a_parameter_that_is_given_twice_is_refused_by_name),
		uri_test(a_password_that_is_given_twice_is_refused),
	};

	return uris_run("uri_refusals", tests, COUNT(tests));
}
