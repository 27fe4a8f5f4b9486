/* URIs of deployments: TLS, Sentinel, Cluster, quorum, and the URI of one server of them. */
#include "tests/unit/uris.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
assert_endpoint(const struct lsh_uri *uri, size_t which, const char *host, unsigned port)
{
	assert_true(which < uri->host_count);
	assert_text(uri->hosts[which].host, host);
	assert_int_equal(uri->hosts[which].port, port);
}

/* ---- schemes ---- */

static void
the_scheme_says_which_deployment_and_whether_tls(void **state)
{
	static const struct {
		const char *text, *shown;
		enum lsh_deployment deployment;
		bool tls;
		size_t hosts;
	} cases[] = {
		{"redis://a", "redis://a:6379", LSH_SINGLE, false, 0},
		{"rediss://a", "rediss://a:6379", LSH_SINGLE, true, 0},
		{"unix:///a", "unix:///a", LSH_SINGLE, false, 0},
		{"redis+sentinel://a/m", "redis+sentinel://a:26379/m", LSH_SENTINEL, false, 1},
		{"rediss+sentinel://a,b/m", "rediss+sentinel://a:26379,b:26379/m", LSH_SENTINEL, true, 2},
		{"redis+cluster://a", "redis+cluster://a:6379", LSH_CLUSTER, false, 1},
		{"rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379", LSH_CLUSTER, true, 2},
		{"redis+quorum://a,b,c", "redis+quorum://a:6379,b:6379,c:6379", LSH_QUORUM, false, 3},
		{"rediss+quorum://a,b,c", "rediss+quorum://a:6379,b:6379,c:6379", LSH_QUORUM, true, 3},
		{"ReDiSS+Sentinel://a/m", "rediss+sentinel://a:26379/m", LSH_SENTINEL, true, 1},
		{"REDIS+CLUSTER://a", "redis+cluster://a:6379", LSH_CLUSTER, false, 1},
		{"redis+QUORUM://a,b,c", "redis+quorum://a:6379,b:6379,c:6379", LSH_QUORUM, false, 3},
		{"REDISS://a", "rediss://a:6379", LSH_SINGLE, true, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri = understood(cases[i].text);

		assert_int_equal(uri.deployment, cases[i].deployment);
		assert_int_equal(uri.scheme, i == 2 ? LSH_SCHEME_UNIX : LSH_SCHEME_TCP);
		assert_int_equal(uri.tls.on, cases[i].tls);
		assert_false(uri.tls.unverified);
		assert_int_equal(uri.host_count, cases[i].hosts);
		assert_text(uri.shown, cases[i].shown);
		lsh_uri_clear(&uri);
	}
}

static void
what_is_shown_of_a_deployment_is_a_uri_of_the_same_place(void **state)
{
	static const char *const texts[] = {
		"rediss://u:" SECRET "@cache:7000/12?verify=no&timeout=100",
		"redis+sentinel://u:" SECRET "@a,b:1,[fe80::1%25eth0]:2/the%2Dmain.one_2/3?timeout=100",
		"rediss+cluster://:" SECRET "@[::1]:7000,[::1]:7001/0?redirects=10.0.0.1",
		"redis+quorum://u:" SECRET "@a,b,[2001:db8::1]/5",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct lsh_uri uri = understood(texts[i]), again = understood(uri.shown);

		assert_text(again.shown, uri.shown);
		assert_int_equal(again.deployment, uri.deployment);
		assert_int_equal(again.tls.on, uri.tls.on);
		assert_int_equal(again.host_count, uri.host_count);
		for (size_t k = 0; k < uri.host_count; k++)
			assert_endpoint(&again, k, uri.hosts[k].host, uri.hosts[k].port);
		assert_text(again.host, uri.host);
		assert_int_equal(again.port, uri.port);
		assert_int_equal(again.db, uri.db);
		assert_true(uri.master == NULL ? again.master == NULL : strcmp(uri.master, again.master) == 0);
		assert_null(again.password);
		lsh_uri_clear(&uri);
		lsh_uri_clear(&again);
	}
}

static void
a_list_of_hosts_without_its_scheme_names_those_that_have_one(void **state)
{
	static const char words[] = "host|','|redis+sentinel://|redis+cluster://|redis+quorum://|";

	(void)state;
	refused("redis://a,b", words);
	refused("rediss://a:1,b:2/0", words);
	refused("redis://app:" SECRET "@a,b", words);
}

/* ---- lists of hosts ---- */

static void
each_host_of_a_list_may_have_its_port(void **state)
{
	struct lsh_uri uri = understood("redis+cluster://app:p,w@a,b.example.com:7000,[::1],[fe80::1%25eth0]:7001,10.0.0.1");

	(void)state;
	assert_int_equal(uri.host_count, 5);
	assert_endpoint(&uri, 0, "a", 6379);
	assert_endpoint(&uri, 1, "b.example.com", 7000);
	assert_endpoint(&uri, 2, "::1", 6379);
	assert_endpoint(&uri, 3, "fe80::1%eth0", 7001);
	assert_endpoint(&uri, 4, "10.0.0.1", 6379);
	assert_text(uri.host, "a"); /* the first */
	assert_int_equal(uri.port, 6379);
	assert_text(uri.user, "app");
	assert_text(uri.password, "p,w");
	assert_text(uri.shown, "redis+cluster://a:6379,b.example.com:7000,[::1]:6379,[fe80::1%25eth0]:7001,10.0.0.1:6379");
	lsh_uri_clear(&uri);
	uri = understood("redis+sentinel://[::1]:7000,b/m");
	assert_text(uri.host, "::1");
	assert_int_equal(uri.port, 7000);
	assert_endpoint(&uri, 1, "b", 26379);
	lsh_uri_clear(&uri);
}

static void
an_error_in_a_list_says_which_host(void **state)
{
	(void)state;
	refused("redis+cluster://", "host 1: missing|'://'|redis+cluster://a:6379,b:6379|");
	refused("redis+sentinel:///m", "host 1: missing|redis+sentinel://a:26379,b:26379/main|");
	refused("redis+quorum://?timeout=100", "host 1: missing|redis+quorum://a:6379,b:6379,c:6379|");
	refused("redis+cluster://:" SECRET "@", "host 1: missing|'@'|");
	refused("redis+cluster://a,", "host 2: missing|the ','|");
	refused("redis+cluster://a,,b", "host 2: missing|");
	refused("redis+cluster://,a", "host 1: missing|");
	refused("redis+cluster://a,b,:7000", "host 3: missing|");
	refused("redis+cluster://a,b c", "byte 20:|");
	refused("redis+cluster://a,b*", "host 2: |letters|IPv6|brackets|");
	refused("redis+cluster://a,b:0", "host 2: port: |from 1 to 65535|");
	refused("redis+cluster://a:,b", "host 1: port: |from 1 to 65535|");
	refused("redis+cluster://a,b,c:65536", "host 3: port: |from 1 to 65535|");
	refused("redis+cluster://a,::1", "host 2: missing|");
	refused("redis+cluster://a,2001:db8::1", "host 2: port: |IPv6|brackets|");
	refused("redis+cluster://a,[::1", "host 2: a '[' without its ']'|");
	refused("redis+cluster://a,[::1]1", "host 2: |':'|port|']'|");
	refused("redis+cluster://a,[::g]", "host 2: |brackets|not an IPv6 address|");
	refused("redis+cluster://a,[::1%eth0]", "host 2: the zone|%25eth0|");
	refused("redis+cluster://[a,b]", "host 1: a '[' without its ']'|");
	refused("redis+sentinel://app:" SECRET "@a,b!/m", "host 2: |letters|");
	refused("redis+cluster://app:" SECRET ",b", "host 1: port|'/' is written %2F|");
	refused("redis+cluster://app:12," SECRET "!/x@a", "host 2: |letters|");
	refused("redis+cluster://app:12," SECRET "/x@a", "database|'@'|%2F|");
	refused("redis+cluster://u:p@a,u:" SECRET "@b", "more than one '@'|before a list of hosts they stand once|");
}

static void
a_host_of_a_list_is_no_longer_than_253_bytes(void **state)
{
	char text[600] = "redis+cluster://a,";
	struct lsh_uri uri;

	(void)state;
	memset(text + strlen(text), 'h', 253);
	uri = understood(text);
	assert_int_equal(strlen(uri.hosts[1].host), 253);
	lsh_uri_clear(&uri);
	strcat(text, "h");
	refused(text, "host 2: longer than 253|");
}

static void
a_server_that_is_named_twice_is_refused(void **state)
{
	struct lsh_uri uri;

	(void)state;
	refused("redis+quorum://a,b,a", "host 3: the same as host 1|once|");
	refused("redis+quorum://a,b:6379,B", "host 3: the same as host 2|");
	refused("redis+cluster://a:1,a:1", "host 2: the same as host 1|");
	refused("redis+sentinel://a,a:26379/m", "host 2: the same as host 1|");
	refused("redis+quorum://a,[::1],[0:0:0::0:1]:6379", "host 3: the same as host 2|");
	refused("redis+quorum://a,[2001:DB8::a],[2001:db8::A]", "host 3: the same as host 2|");
	refused("redis+cluster://[fe80::1%25eth0],[fe80::1%25eth0]", "host 2: the same as host 1|");
	uri = understood("redis+quorum://a:1,a:2,a:3");
	lsh_uri_clear(&uri);
	uri = understood("redis+cluster://[fe80::1%25eth0],[fe80::1%25eth1],[fe80::1]");
	lsh_uri_clear(&uri);
	uri = understood("redis+sentinel://a:6379,a/m");
	lsh_uri_clear(&uri);
}

static void
sixteen_hosts_are_the_most(void **state)
{
	static const struct {
		const char *scheme, *end;
	} cases[] = {{"redis+cluster", ""}, {"rediss+sentinel", "/m"}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (int n = 16; n <= 17; n++) {
			char text[256];
			int length = snprintf(text, sizeof(text), "%s://", cases[i].scheme);

			for (int k = 1; k <= n; k++)
				length += snprintf(text + length, sizeof(text) - (size_t)length, "%sh%d", k > 1 ? "," : "", k);
			strcpy(text + length, cases[i].end);
			if (n == 16) {
				struct lsh_uri uri = understood(text);

				assert_int_equal(uri.host_count, 16);
				assert_endpoint(&uri, 15, "h16", i == 0 ? 6379 : 26379);
				lsh_uri_clear(&uri);
			} else {
				refused(text, "hosts: more than 16|enough|");
			}
		}
	}
}

/* ---- quorum ---- */

static void
a_quorum_has_three_five_or_seven_servers(void **state)
{
	static const char hosts[] = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q";
	static const char *const words[] = {
		[1] = "hosts: one server is no quorum|3, 5 or 7|redis://|",
		[2] = "hosts: 2 servers survive no more failures than 1|buys nothing but another thing to fail|3, 5 or 7|",
		[4] = "hosts: 4 servers survive no more failures than 3|buys nothing but another thing to fail|3, 5 or 7|",
		[6] = "hosts: 6 servers survive no more failures than 5|buys nothing but another thing to fail|3, 5 or 7|",
	};

	(void)state;
	for (size_t n = 1; n <= 17; n++) {
		char text[64];

		snprintf(text, sizeof(text), "redis+quorum://%.*s", (int)(2 * n - 1), hosts);
		if (n == 3 || n == 5 || n == 7) {
			struct lsh_uri uri = understood(text);

			assert_int_equal(uri.host_count, n);
			lsh_uri_clear(&uri);
		} else {
			refused(text, n < 7 ? words[n] : "hosts: more than 7|3, 5 or 7|");
		}
	}
	refused("rediss+quorum://a", "written rediss://|");
}

static void
a_quorum_may_have_a_database_and_the_same_login_everywhere(void **state)
{
	struct lsh_uri uri = understood("redis+quorum://app:" SECRET "@a:1,b:2,c:3/16383?restart_guard=86400000");

	(void)state;
	assert_int_equal(uri.db, 16383);
	assert_text(uri.user, "app");
	assert_text(uri.password, SECRET);
	assert_int_equal(uri.restart_guard_ms, 86400000);
	assert_text(uri.shown, "redis+quorum://a:1,b:2,c:3/16383");
	assert_null(uri.master);
	lsh_uri_clear(&uri);
	uri = understood("redis+quorum://a,b,c/");
	assert_int_equal(uri.db, 0);
	lsh_uri_clear(&uri);
	refused("redis+quorum://a,b,c/16384", "database|from 0 to 16383|redis+quorum://a:6379,b:6379,c:6379/2|");
	refused("redis+quorum://a,b,c/main", "database|");
	refused("redis+quorum://a,b/" SECRET "@c,d", "hosts: 2 servers|");
	refused("redis+quorum://a,b,c/" SECRET "@d", "database|'@'|%2F|");
}

/* ---- cluster ---- */

static void
a_cluster_has_only_database_0(void **state)
{
	static const char *const good[] = {"redis+cluster://a", "redis+cluster://a/", "redis+cluster://a/0", "redis+cluster://a/0?timeout=100"};
	static const char *const bad[] = {
		"redis+cluster://a/1", "redis+cluster://a,b/16383", "redis+cluster://a/00", "redis+cluster://a/main",
		"redis+cluster://a//0", "redis+cluster://a/0/",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct lsh_uri uri = understood(good[i]);

		assert_int_equal(uri.db, 0);
		assert_text(uri.shown, "redis+cluster://a:6379");
		lsh_uri_clear(&uri);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "database|a cluster has only database 0|");
	refused("redis+cluster://a?db=0", "'db'|a cluster has only database 0|");
	refused("redis+cluster://app/" SECRET "@a", "database|'@'|%2F|");
}

/* ---- sentinel ---- */

static void
sentinels_know_a_master_by_its_name(void **state)
{
	static const struct {
		const char *text, *master;
		int db;
	} cases[] = {
		{"redis+sentinel://a/main", "main", 0}, {"redis+sentinel://a/main/", "main", 0},
		{"redis+sentinel://a/main/0", "main", 0}, {"redis+sentinel://a/main/16383", "main", 16383},
		{"redis+sentinel://a/%4d-1._x", "M-1._x", 0}, {"redis+sentinel://a/5", "5", 0},
		{"redis+sentinel://a/./2", ".", 2},
	};
	char text[256] = "redis+sentinel://a/";
	struct lsh_uri uri;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uri = understood(cases[i].text);
		assert_text(uri.master, cases[i].master);
		assert_int_equal(uri.db, cases[i].db);
		lsh_uri_clear(&uri);
	}
	memset(text + strlen(text), 'm', 128);
	uri = understood(text);
	assert_int_equal(strlen(uri.master), 128);
	lsh_uri_clear(&uri);
	strcat(text, "m");
	refused(text, "master|1 to 128|");
}

static void
a_master_that_is_missing_or_malformed_is_refused(void **state)
{
	static const char *const missing[] = {
		"redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a,b:1?timeout=100", "redis+sentinel://a//2", "redis+sentinel://a//",
	};
	static const char *const bad[] = {
		"redis+sentinel://a/ma%20in", "redis+sentinel://a/ma%2Fin", "redis+sentinel://a/m\xc3\xa4in", "redis+sentinel://a/main:1",
		"redis+sentinel://a/ma,in", "redis+sentinel://a/main%0a", "redis+sentinel://a/" SECRET "!",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(missing); i++)
		refused(missing[i], "master: missing|redis+sentinel://a:26379,b:26379/main|");
	for (size_t i = 0; i < COUNT(bad); i++)
		refused(bad[i], "master|1 to 128 letters, digits|redis+sentinel://a:26379,b:26379/main|");
	refused("redis+sentinel://a/%zz", "master|%25|");
	refused("redis+sentinel://a/m%00", "master|%25|");
	refused("redis+sentinel://app:" SECRET "/x@a/m", "host 1: port|");
	refused("redis+sentinel://app/" SECRET "@a/m", "master|'@'|%2F|");
	refused("redis+sentinel://a/main/x", "database|from 0 to 16383|redis+sentinel://a:26379,b:26379/main/2|");
	refused("redis+sentinel://a/main/2/", "database|");
	refused("redis+sentinel://a/main?db=2", "'db'|follows the master|main/2|");
}

static void
sentinels_have_a_login_of_their_own(void **state)
{
	char text[1024];
	struct lsh_uri one, uri;

	(void)state;
	write_file("sentinel", SECRET "\n", strlen(SECRET) + 1);
	setenv("LEASH_TEST_PASSWORD", "of the servers", 1);
	snprintf(text, sizeof(text), "redis+sentinel://app@a/main?sentinel_user=watch%%40er&sentinel_password_file=%s"
	         "&password_env=LEASH_TEST_PASSWORD", in_folder("sentinel"));
	uri = understood(text);
	assert_text(uri.user, "app");
	assert_text(uri.password, "of the servers");
	assert_text(uri.sentinel_user, "watch@er");
	assert_text(uri.shown, "redis+sentinel://a:26379/main");
	assert_true(lsh_uri_of_sentinel(&one, &uri, 0));
	check_password(&one, SECRET);
	write_file("sentinel", "renewed\n", 8);
	check_password(&one, "renewed");
	lsh_uri_clear(&one);
	assert_true(lsh_uri_of_server(&one, &uri, "b", 1));
	check_password(&one, "of the servers");
	lsh_uri_clear(&one);
	lsh_uri_clear(&uri);

	uri = understood("rediss+sentinel://:" SECRET "@a/main?sentinel_password_env=LEASH_TEST_PASSWORD");
	assert_null(uri.sentinel_user);
	assert_text(uri.sentinel_password, "of the servers");
	assert_text(uri.password, SECRET);
	lsh_uri_clear(&uri);

	uri = understood("redis+sentinel://app:" SECRET "@a/main"); /* which is not for the sentinels */
	assert_null(uri.sentinel_user);
	assert_null(uri.sentinel_password);
	lsh_uri_clear(&uri);
}

static void
a_malformed_login_of_the_sentinels_is_refused(void **state)
{
	char text[8192], user[4098];

	(void)state;
	write_file("sentinel", SECRET "\n", strlen(SECRET) + 1);
	write_file("empty", "", 0);
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	refused("redis+sentinel://a/m?sentinel_user=", "sentinel_user|empty|");
	refused("redis+sentinel://a/m?sentinel_user=%zz", "sentinel_user|%25|");
	refused("redis+sentinel://a/m?sentinel_user=x", "sentinel password|missing|sentinel_password_file|sentinel_password_env|");
	refused("redis+sentinel://a/m?sentinel_password=" SECRET, "'sentinel_password'|not known|sentinel_password_file|");
	refused("redis+sentinel://a/m?sentinel_password_env=A-" SECRET, "sentinel_password_env|name of a variable|?sentinel_password_env=|");
	refused("redis+sentinel://a/m?sentinel_password_env=LEASH_TEST_NO_PASSWORD",
	        "sentinel_password_env|no variable 'LEASH_TEST_NO_PASSWORD'|");
	refused("redis+sentinel://a/m?sentinel_password_file=", "sentinel_password_file|empty|path|");
	refused("redis+sentinel://a/m?sentinel_password_file=/dev/zero", "sentinel_password_file '/dev/zero'|not a regular file|");
	snprintf(text, sizeof(text), "redis+sentinel://a/m?sentinel_password_file=%s", in_folder("empty"));
	refused(text, "sentinel_password_file '|/empty': empty|");
	snprintf(text, sizeof(text), "redis+sentinel://a/m?sentinel_password_file=%s", in_folder("none"));
	refused(text, "sentinel_password_file '|/none': No such file|");
	snprintf(text, sizeof(text), "redis+sentinel://a/m?sentinel_password_env=LEASH_TEST_PASSWORD&sentinel_password_file=%s",
	         in_folder("sentinel"));
	refused(text, "sentinel password: given twice|");
	snprintf(text, sizeof(text), "redis+sentinel://a/m?sentinel_password_file=%s&sentinel_password_env=LEASH_TEST_PASSWORD",
	         in_folder("sentinel"));
	refused(text, "sentinel password: given twice|");
	memset(user, 'u', 4097);
	user[4097] = '\0';
	snprintf(text, sizeof(text), "redis+sentinel://a/m?sentinel_user=%s&sentinel_password_env=LEASH_TEST_PASSWORD", user);
	refused(text, "sentinel_user|longer than 4096 bytes|");
}

static void
logins_of_sentinels_are_for_sentinels(void **state)
{
	static const char *const names[] = {"sentinel_user", "sentinel_password_file", "sentinel_password_env"};
	static const char *const uris[] = {"redis://a", "rediss://a", "unix:///a", "redis+cluster://a", "redis+quorum://a,b,c"};

	(void)state;
	for (size_t i = 0; i < COUNT(uris); i++) {
		for (size_t k = 0; k < COUNT(names); k++) {
			char text[128], words[128];

			snprintf(text, sizeof(text), "%s?%s=x", uris[i], names[k]);
			snprintf(words, sizeof(words), "'%s'|redis+sentinel://|%.*s|", names[k],
			         (int)(strstr(uris[i], "://") + 3 - uris[i]), uris[i]);
			refused(text, words);
		}
	}
}

/* ---- TLS ---- */

static void
parameters_of_tls_come_into_their_fields(void **state)
{
	struct lsh_uri uri = understood("rediss://h?cafile=/etc/c%20a.pem&cert=c.pem&key=/k%3F.pem&server_name=%63ache.example.com&verify=no");

	(void)state;
	assert_true(uri.tls.on);
	assert_true(uri.tls.unverified);
	assert_text(uri.tls.cafile, "/etc/c a.pem");
	assert_text(uri.tls.cert, "c.pem");
	assert_text(uri.tls.key, "/k?.pem");
	assert_text(uri.tls.server_name, "cache.example.com");
	assert_text(uri.shown, "rediss://h:6379");
	lsh_uri_clear(&uri);
	uri = understood("rediss+sentinel://h/m?verify=yes");
	assert_true(uri.tls.on);
	assert_false(uri.tls.unverified);
	assert_null(uri.tls.cafile);
	assert_null(uri.tls.cert);
	assert_null(uri.tls.key);
	assert_null(uri.tls.server_name);
	lsh_uri_clear(&uri);
}

static void
verification_is_turned_off_by_no_alone(void **state)
{
	static const char *const texts[] = {
		"rediss://h?verify=", "rediss://h?verify=No", "rediss://h?verify=false", "rediss://h?verify=0", "rediss://h?verify=none",
		"rediss://h?verify=off", "rediss://h?verify=%6eo", "rediss://h?verify=no%20", "rediss://h?verify=nono", "rediss://h?verify=n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		refused(texts[i], "verify|'yes' or 'no'|");
	refused("rediss://h?verify", "'verify'|no value|");
	refused("rediss://h?verify=no&verify=yes", "'verify'|twice|");
}

static void
a_certificate_and_its_key_come_together(void **state)
{
	(void)state;
	refused("rediss://h?cert=/c.pem", "key|missing|&key=|");
	refused("rediss+cluster://h?cert=/c.pem&cafile=/ca.pem", "key|missing|");
	refused("rediss://h?key=/k.pem", "cert|missing|&cert=|");
}

static void
malformed_parameters_of_tls_are_refused(void **state)
{
	char text[512] = "rediss://h?server_name=";
	struct lsh_uri uri;

	(void)state;
	refused("rediss://h?cafile=", "cafile|empty|path|?cafile=|");
	refused("rediss://h?cert=&key=a", "cert|empty|path|");
	refused("rediss://h?cert=a&key=", "key|empty|path|");
	refused("rediss://h?cafile=%zz", "cafile|%25|");
	refused("rediss://h?cert=%00", "cert|%25|");
	refused("rediss://h?key=%4", "key|%25|");
	refused("rediss://h?server_name=", "server_name|name of a host|");
	refused("rediss://h?server_name=*.example.com", "server_name|name of a host|");
	refused("rediss://h?server_name=a:6379", "server_name|name of a host|");
	refused("rediss://h?server_name=a%0a", "server_name|name of a host|");
	refused("rediss://h?server_name=a/b", "server_name|name of a host|");
	refused("rediss://h?server_name=%g0", "server_name|%25|");
	memset(text + strlen(text), 'n', 253);
	uri = understood(text);
	assert_int_equal(strlen(uri.tls.server_name), 253);
	lsh_uri_clear(&uri);
	strcat(text, "n");
	refused(text, "server_name|name of a host|");
}

static void
parameters_of_tls_without_tls_say_which_scheme_to_write(void **state)
{
	static const char *const names[] = {"cafile", "cert", "key", "server_name", "verify"};
	static const struct {
		const char *uri, *wanted;
	} cases[] = {
		{"redis://h", "rediss:// for redis://|"},
		{"redis+sentinel://h/m", "rediss+sentinel:// for redis+sentinel://|"},
		{"redis+cluster://h", "rediss+cluster:// for redis+cluster://|"},
		{"redis+quorum://a,b,c", "rediss+quorum:// for redis+quorum://|"},
		{"unix:///a", "rediss://|socket|"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t k = 0; k < COUNT(names); k++) {
			char text[128], words[128];

			snprintf(text, sizeof(text), "%s?%s=no", cases[i].uri, names[k]);
			snprintf(words, sizeof(words), "'%s'|TLS|%s", names[k], cases[i].wanted);
			refused(text, words);
		}
	}
}

/* ---- parameters of deployments ---- */

static void
scripts_and_restart_guard_are_for_every_uri(void **state)
{
	static const char *const uris[] = {
		"redis://a", "rediss://a", "unix:///a", "redis+sentinel://a/m", "redis+cluster://a", "redis+quorum://a,b,c",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(uris); i++) {
		struct lsh_uri uri = understood(uris[i]);
		char text[128];

		assert_false(uri.preloaded);
		assert_int_equal(uri.restart_guard_ms, 0);
		lsh_uri_clear(&uri);
		snprintf(text, sizeof(text), "%s?scripts=preloaded&restart_guard=1", uris[i]);
		uri = understood(text);
		assert_true(uri.preloaded);
		assert_int_equal(uri.restart_guard_ms, 1);
		lsh_uri_clear(&uri);
		snprintf(text, sizeof(text), "%s?scripts=sent&restart_guard=86400000", uris[i]);
		uri = understood(text);
		assert_false(uri.preloaded);
		assert_int_equal(uri.restart_guard_ms, 86400000);
		lsh_uri_clear(&uri);
	}
}

static void
malformed_scripts_and_restart_guards_are_refused(void **state)
{
	static const char *const scripts[] = {"", "yes", "Preloaded", "preloade", "preloadedx", "send", "sent,preloaded"};
	static const char *const guards[] = {"", "0", "86400001", "-1", "030", "30s", "1e3", "18446744073709551617"};
	char text[128];

	(void)state;
	for (size_t i = 0; i < COUNT(scripts); i++) {
		snprintf(text, sizeof(text), "redis://h?scripts=%s", scripts[i]);
		refused(text, "scripts|'preloaded' or 'sent'|");
	}
	for (size_t i = 0; i < COUNT(guards); i++) {
		snprintf(text, sizeof(text), "redis+quorum://a,b,c?restart_guard=%s", guards[i]);
		refused(text, "restart_guard|from 1 to 86400000|");
	}
}

static void
redirects_are_a_list_of_hosts_without_ports(void **state)
{
	static const struct {
		const char *text, *kept;
	} cases[] = {
		{"redis+cluster://a?redirects=cache-a", "cache-a"},
		{"redis+sentinel://a/m?redirects=10.0.0.1,Cache_B.example.com", "10.0.0.1,Cache_B.example.com"},
		{"rediss+cluster://a?redirects=[::1],::2,a,[fe80::1%25eth0]", "::1,::2,a,fe80::1%eth0"},
		{"rediss+sentinel://a/m?redirects=%5b::1%5D%2cb", "::1,b"},
	};
	static const struct {
		const char *value, *words;
	} bad[] = {
		{"", "host 1: |"}, {",", "host 1: |"}, {"a,", "host 2: |"}, {"a,,b", "host 2: |"}, {"a:6379", "host 1: |without a port|"},
		{"a,[::1]:6379", "host 2: |without a port|"}, {"[::1", "host 1: |"}, {"[a]", "host 1: |"}, {"[]", "host 1: |"}, {"a,b*", "host 2: |"},
		{"a,b,c%20", "host 3: |"}, {"::g", "host 1: |"}, {"fe80::1%25", "host 1: |"}, {"fe80::1%25a*", "host 1: |"},
	};
	char text[128], words[128];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct lsh_uri uri = understood(cases[i].text);

		assert_text(uri.redirects, cases[i].kept);
		lsh_uri_clear(&uri);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		snprintf(text, sizeof(text), "redis+cluster://a?redirects=%s", bad[i].value);
		snprintf(words, sizeof(words), "redirects: %s", bad[i].words);
		refused(text, words);
	}
	refused("redis+cluster://a?redirects=%zz", "redirects: a '%'|%25|");
}

static void
redirects_are_for_deployments_whose_servers_name_others(void **state)
{
	(void)state;
	refused("redis://a?redirects=b", "'redirects'|redis+sentinel://|redis+cluster://|leave it out of a redis:// URI|");
	refused("unix:///a?redirects=b", "'redirects'|leave it out of a unix:// URI|");
	refused("rediss+quorum://a,b,c?redirects=b", "'redirects'|leave it out of a rediss+quorum:// URI|");
}

static void
an_unknown_parameter_is_refused_with_those_of_the_deployment(void **state)
{
	(void)state;
	refused("redis+cluster://a?nodes=3", "'nodes'|there are timeout, password_file, password_env, redirects, scripts, restart_guard|");
	refused("rediss+quorum://a,b,c?tls=1", "'tls'|there are timeout, password_file, password_env, cafile, cert, key, server_name, verify, "
	                                       "scripts, restart_guard|");
	/* the longest there are */
	refused("rediss+sentinel://a/m?abcdefghijklmnopqrstuvwxyz-12345=1", "'abcdefghijklmnopqrstuvwxyz-12345'|sentinel_user, "
	        "sentinel_password_file, sentinel_password_env, redirects, scripts, restart_guard|");
	refused("rediss+sentinel://a/m?x*=1", "parameters|%3F|restart_guard|");
}

/* ---- one server of it ---- */

static void
the_uri_of_a_server_is_that_of_a_single_one_with_the_rest_as_it_was(void **state)
{
	struct lsh_uri one, uri = understood("rediss+sentinel://app:" SECRET "@a,b/main/2?timeout=250"
	                                     "&cafile=/ca&cert=/c&key=/k&server_name=n&verify=no"
	                                     "&scripts=preloaded&restart_guard=7&redirects=x,y");

	(void)state;
	assert_true(lsh_uri_of_server(&one, &uri, "10.0.0.9", 7001));
	lsh_uri_clear(&uri); /* it is a copy */
	assert_int_equal(one.deployment, LSH_SINGLE);
	assert_int_equal(one.scheme, LSH_SCHEME_TCP);
	assert_text(one.host, "10.0.0.9");
	assert_int_equal(one.port, 7001);
	assert_int_equal(one.db, 2);
	assert_int_equal(one.timeout_ms, 250);
	assert_text(one.user, "app");
	assert_text(one.password, SECRET);
	assert_true(one.tls.on);
	assert_true(one.tls.unverified);
	assert_text(one.tls.cafile, "/ca");
	assert_text(one.tls.cert, "/c");
	assert_text(one.tls.key, "/k");
	assert_text(one.tls.server_name, "n");
	assert_true(one.preloaded);
	assert_int_equal(one.restart_guard_ms, 7);
	assert_text(one.redirects, "x,y");
	assert_int_equal(one.host_count, 0);
	assert_null(one.master);
	assert_null(one.sentinel_user);
	assert_null(one.sentinel_password);
	assert_text(one.shown, "rediss://10.0.0.9:7001/2");
	lsh_uri_clear(&one);

	uri = understood("redis+cluster://a");
	assert_true(lsh_uri_of_server(&one, &uri, "fe80::1%eth0", 6379));
	assert_text(one.shown, "redis://[fe80::1%25eth0]:6379");
	assert_null(one.user);
	assert_null(one.password);
	assert_false(one.tls.on);
	lsh_uri_clear(&one);
	assert_true(lsh_uri_of_server(&one, &uri, "ca\nche?#\x1b", 1)); /* what a server says */
	assert_text(one.shown, "redis://ca%0Ache%3F%23%1B:1");
	lsh_uri_clear(&one);
	lsh_uri_clear(&uri);
}

static void
the_uri_of_a_sentinel_has_the_login_of_sentinels_and_no_database(void **state)
{
	struct lsh_uri one, uri;

	(void)state;
	setenv("LEASH_TEST_PASSWORD", "of the sentinels", 1);
	uri = understood("rediss+sentinel://app:" SECRET "@a,[::1]:7000/main/2?timeout=250&cafile=/ca&sentinel_user=watcher"
	                 "&sentinel_password_env=LEASH_TEST_PASSWORD");
	assert_true(lsh_uri_of_sentinel(&one, &uri, 0));
	assert_text(one.shown, "rediss://a:26379");
	lsh_uri_clear(&one);
	assert_true(lsh_uri_of_sentinel(&one, &uri, 1));
	lsh_uri_clear(&uri);
	assert_int_equal(one.deployment, LSH_SINGLE);
	assert_text(one.host, "::1");
	assert_int_equal(one.port, 7000);
	assert_int_equal(one.db, 0);
	assert_int_equal(one.timeout_ms, 250);
	assert_text(one.user, "watcher");
	assert_text(one.password, "of the sentinels");
	assert_true(one.tls.on);
	assert_text(one.tls.cafile, "/ca");
	assert_null(one.sentinel_user);
	assert_null(one.sentinel_password);
	assert_text(one.shown, "rediss://[::1]:7000");
	lsh_uri_clear(&one);

	uri = understood("redis+sentinel://app:" SECRET "@a/main"); /* the servers' password is not shown to sentinels */
	assert_true(lsh_uri_of_sentinel(&one, &uri, 0));
	assert_null(one.user);
	assert_null(one.password);
	lsh_uri_clear(&one);
	lsh_uri_clear(&uri);
}

static void
a_deployment_may_send_us_where_redirects_say(void **state)
{
	struct lsh_uri uri = understood("redis+cluster://a?redirects=10.0.0.1,Cache-A,[2001:DB8::a]");

	(void)state;
	assert_true(lsh_uri_allows(&uri, "10.0.0.1"));
	assert_true(lsh_uri_allows(&uri, "cache-a"));
	assert_true(lsh_uri_allows(&uri, "CACHE-A"));
	assert_true(lsh_uri_allows(&uri, "2001:db8::A"));
	assert_true(lsh_uri_allows(&uri, "2001:db8:0::a")); /* the same address */
	assert_false(lsh_uri_allows(&uri, "10.0.0.10"));
	assert_false(lsh_uri_allows(&uri, "10.0.0."));
	assert_false(lsh_uri_allows(&uri, "10.0.0.1,Cache-A"));
	assert_false(lsh_uri_allows(&uri, "cache-a."));
	assert_false(lsh_uri_allows(&uri, "2001:db8::b"));
	assert_false(lsh_uri_allows(&uri, "a")); /* the list says it all */
	assert_false(lsh_uri_allows(&uri, ","));
	assert_false(lsh_uri_allows(&uri, ""));
	lsh_uri_clear(&uri);
	uri = understood("redis+cluster://a");
	assert_true(lsh_uri_allows(&uri, "anywhere"));
	lsh_uri_clear(&uri);
}

/* ---- memory ---- */

static const char all_of_it[] = "rediss+sentinel://" SECRET ":" SECRET "@a,[::1],c/main/2"
				"?sentinel_user=" SECRET "&sentinel_password_env=LEASH_TEST_PASSWORD"
				"&cafile=/ca&cert=/c&key=/k&server_name=n&redirects=x,y";

static void
without_memory_nothing_is_left_of_a_deployment(void **state)
{
	static const struct lsh_uri nothing;
	struct lsh_uri uri, one;

	(void)state;
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	for (size_t failing = 1;; failing++) {
		leash_error err;
		leash_status st;

		until_failure = failing;
		st = lsh_uri_parse(&uri, all_of_it, &err);
		until_failure = 0;
		if (st == LEASH_OK) {
			assert_true(failing > 14); /* user, host, three hosts, master, four of TLS, a user and a variable, redirects, what is shown */
			break;
		}
		assert_int_equal(st, LEASH_NO_MEMORY);
		assert_int_equal(err.status, LEASH_NO_MEMORY);
		assert_memory_equal(&uri, &nothing, sizeof(uri));
		assert_int_equal(blocks, 0);
		assert_false(secret_freed);
	}
	for (int sentinel = 0; sentinel < 2; sentinel++) {
		const size_t before = blocks;

		for (size_t failing = 1;; failing++) {
			bool done;

			until_failure = failing;
			done = sentinel ? lsh_uri_of_sentinel(&one, &uri, 1) : lsh_uri_of_server(&one, &uri, "b", 1);
			until_failure = 0;
			if (done) {
				assert_true(failing > 8); /* host, user, four of TLS, redirects, what is shown */
				break;
			}
			assert_memory_equal(&one, &nothing, sizeof(one));
			assert_int_equal(blocks, before);
			assert_false(secret_freed);
		}
		assert_text(one.password, SECRET);
		lsh_uri_clear(&one);
		assert_int_equal(blocks, before);
		assert_memory_equal(&one, &nothing, sizeof(one));
	}
	lsh_uri_clear(&uri);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	assert_int_equal(blocks, 0);
}

/* Whatever part is wrong, what was read before it is freed, and wiped. */
static void
a_uri_that_is_refused_at_its_end_leaves_nothing(void **state)
{
	static const char *const ends[] = {"&timeout=x", "&redirects=z", "&verify", "&sentinel_password_file=/none", "&", "&x=1", "&db=1"};
	char text[512];

	(void)state;
	setenv("LEASH_TEST_PASSWORD", SECRET, 1);
	for (size_t i = 0; i < COUNT(ends); i++) {
		snprintf(text, sizeof(text), "%s%s", all_of_it, ends[i]);
		refused(text, "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		uri_test(the_scheme_says_which_deployment_and_whether_tls),
		uri_test(what_is_shown_of_a_deployment_is_a_uri_of_the_same_place),
		uri_test(a_list_of_hosts_without_its_scheme_names_those_that_have_one),
		uri_test(each_host_of_a_list_may_have_its_port),
		uri_test(an_error_in_a_list_says_which_host),
		uri_test(a_host_of_a_list_is_no_longer_than_253_bytes),
		uri_test(a_server_that_is_named_twice_is_refused),
		uri_test(sixteen_hosts_are_the_most),
		uri_test(a_quorum_has_three_five_or_seven_servers),
		uri_test(a_quorum_may_have_a_database_and_the_same_login_everywhere),
		uri_test(a_cluster_has_only_database_0),
		uri_test(sentinels_know_a_master_by_its_name),
		uri_test(a_master_that_is_missing_or_malformed_is_refused),
		uri_test(sentinels_have_a_login_of_their_own),
		uri_test(a_malformed_login_of_the_sentinels_is_refused),
		uri_test(logins_of_sentinels_are_for_sentinels),
		uri_test(parameters_of_tls_come_into_their_fields),
		uri_test(verification_is_turned_off_by_no_alone),
		uri_test(a_certificate_and_its_key_come_together),
		uri_test(malformed_parameters_of_tls_are_refused),
		uri_test(parameters_of_tls_without_tls_say_which_scheme_to_write),
		uri_test(scripts_and_restart_guard_are_for_every_uri),
		uri_test(malformed_scripts_and_restart_guards_are_refused),
		uri_test(redirects_are_a_list_of_hosts_without_ports),
		uri_test(redirects_are_for_deployments_whose_servers_name_others),
		uri_test(an_unknown_parameter_is_refused_with_those_of_the_deployment),
		uri_test(the_uri_of_a_server_is_that_of_a_single_one_with_the_rest_as_it_was),
		uri_test(the_uri_of_a_sentinel_has_the_login_of_sentinels_and_no_database),
		uri_test(a_deployment_may_send_us_where_redirects_say),
		uri_test(without_memory_nothing_is_left_of_a_deployment),
		uri_test(a_uri_that_is_refused_at_its_end_leaves_nothing),
	};

	return uris_run("uri_deployments", tests, COUNT(tests));
}
