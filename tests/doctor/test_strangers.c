/* The doctor at servers that speak otherwise, or break off, and at what is no server; see tools/doctor.txt, too. */
#include "tests/doctor/findings.h"

#include "tests/support/certs.h"
#include "tests/support/kept.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

GROUP(start_server, stop_server);

static void
check_nothing_is_left(void)
{
	assert_string_equal(server_text(server, "KEYS *"), "");
}

FIXTURE(NULL, check_nothing_is_left);

/* Not by what lets anybody in. */
SENTENCE(a_certificate_that_is_refused_is_to_be_looked_at)
{
	struct server *expired = kept(server_start_tls(CERTS_EXPIRED, false, NULL));
	struct server *strict = kept(server_start_tls(CERTS_SERVER, true, NULL));

	assert_status(LEASH_DENIED, examine(server_uri_tls(expired)));
	check_remedy(the("connection", ERROR, "certificate has expired"), "openssl s_client -connect 127.0.0.1:");
	assert_status(LEASH_DENIED, examine(server_uri_tls(strict)));
	check_remedy(the("connection", ERROR, "requires a certificate"), "cert and key");
}

SENTENCE(who_speaks_tls_and_who_does_not_is_told_from_each_other)
{
	struct server *plain = kept(server_start_tcp(NULL)), *tls = kept(server_start_tls(CERTS_SERVER, false, NULL));
	char at[512];

	snprintf(at, sizeof at, "rediss://127.0.0.1:%d?%s", server_port(plain), certs_query());
	assert_status(LEASH_PROTOCOL, examine(at));
	check_remedy(the("connection", ERROR, "does not speak TLS"), "in place of rediss://");
	snprintf(at, sizeof at, "redis%s", server_uri_tls(tls) + strlen("rediss"));
	*strchr(at, '?') = '\0';
	assert_status(LEASH_UNAVAILABLE, examine(at));
	check_remedy(the("connection", ERROR, "does it want TLS?"), "write rediss://");
}

SENTENCE(a_slow_line_is_told_by_what_leash_has_patience_for)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));

	proxy_delay(proxy, PROXY_TO_SERVER, 260000);
	assert_status(LEASH_OK, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 2500)));
	check_remedy(the("speed", WARNING, "tenth"), "?timeout=");
}

SENTENCE(wherever_the_connection_breaks_that_is_told_and_nothing_is_left)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	unsigned n, broken = 0;

	assert_status(LEASH_OK, examine(proxy_uri(proxy)));
	for (n = 0;; n++) {
		proxy_skip(proxy, n);
		proxy_cut_reply(proxy, NULL, 0);
		leash_status status = examine(proxy_uri(proxy));
		if (!proxy_hit(proxy))
			break;
		if (status == LEASH_UNAVAILABLE) {
			the("connection", ERROR, "");
			broken++;
		} else {
			assert_int_equal(status, LEASH_OK); /* it was the second connection */
			check_worst(ERROR);
		}
		check_nothing_is_left();
	}
	print_message("# %u requests, %u times it was the connection\n", n, broken);
	assert_true(n > 50 && broken > 50);
}

SENTENCE(an_ask_that_arrives_when_nobody_waits_for_it_any_more_does_nothing)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));

	assert_status(LEASH_OK, examine(proxy_uri(proxy))); /* so that the server knows the scripts */
	do { /* until it was the ask, and no pause of this machine, that took too long */
		proxy_strand_request(proxy, "\r\n10000\r\n");
		assert_status(LEASH_UNAVAILABLE, examine_with(LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = 1000)));
	} while (!proxy_hit(proxy));
	the("connection", ERROR, "while it was looked at");
	await_ms(1500);
	proxy_release(proxy);
	await_ms(200); /* for what should not come */
}

/* Once it has all connections that it needs, it gets no more. */
static void
take_and_refuse(void *proxy, const struct finding *f)
{
	take(found, f);
	if (strcmp(f->topic, "limits") == 0)
		proxy_refuse(proxy, true);
}

SENTENCE(what_the_server_does_not_let_be_deleted_goes_by_itself)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	char *rest, as_bob[300];
	int count = 0;

	server_say(server, "ACL SETUSER bob reset on >sesame +@all -del ~leash:* &leash:wake:*");
	snprintf(as_bob, sizeof as_bob, "unix://bob:sesame@%s", server_socket(server));
	assert_status(LEASH_OK, examine(as_bob));
	check_nothing_is_left(); /* none was made */
	/* or nobody is left to ask for it: DEL is tried twice by itself, and the third is meant */
	proxy_skip(proxy, 2);
	proxy_cut_request(proxy, "\r\nDEL\r\n");
	forget();
	leash_options options = *LEASH_OPTIONS(.uri = proxy_uri(proxy), .timeout_ms = PATIENCE_MS);
	assert_status(LEASH_UNAVAILABLE, doctor_examine(&options, take_and_refuse, proxy, &err));
	assert_true(proxy_hit(proxy));
	char *keys = strdup(server_text(server, "KEYS *"));
	for (char *key = strtok_r(keys, " ", &rest); key != NULL; key = strtok_r(NULL, " ", &rest), count++)
		assert_in_range(server_integer(server, "PTTL %s", key), 1, 60000);
	assert_int_equal(count, 1);
	free(keys);
	server_say(server, "FLUSHALL");
}

struct script {
	const char *command, *answer; /* to it; to others: as of an empty Redis */
};

static size_t
answer_by_script(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	for (const struct script *s = ctx; s->command != NULL; s++)
		if (fake_is(argc, argv, argl, 0, s->command))
			return fake_say(out, size, "%s", s->answer);
	return FAKE_DEFAULT;
}

static leash_status
examine_fake(fake_answer *answer, void *ctx, int64_t timeout_ms)
{
	struct fake *fake = fake_start(answer, ctx);
	char at[300];

	snprintf(at, sizeof at, "unix://joe:open-sesame@%s", fake_uri(fake) + strlen("unix://"));
	leash_status status = examine_with(LEASH_OPTIONS(.uri = at, .timeout_ms = timeout_ms));
	fake_stop(fake);
	return status;
}

static leash_status
examine_script(const struct script *script)
{
	return examine_fake(answer_by_script, (void *)(uintptr_t)script, PATIENCE_MS);
}

SENTENCE(a_server_that_has_no_commands_is_told_which)
{
	assert_status(LEASH_OK, examine_script((const struct script[]){{0}}));
	const struct found *f = the("permissions", ERROR, "EVAL, EXISTS, SET");
	assert_non_null(strstr(f->text, "does not know"));
}

/* Where INFO says nothing. */
SENTENCE(what_a_server_refuses_with_says_what_is_wrong_with_it)
{
	static const struct {
		const char *word, *topic, *text;
	} words[] = {
		{"OOM", "memory", "is full"}, {"MISCONF", "persistence", "cannot save its data"},
		{"LOADING", "persistence", "loading its data"}, {"READONLY", "replication", "it is a replica"},
		{"MASTERDOWN", "replication", "it is a replica"}, {"NOREPLICAS", "replication", "it wants"},
		{"BUSY", "limits", "busy with somebody's script"}, {"MOVED", "version", "cluster mode"},
		{"ASK", "version", "cluster mode"}, {"CROSSSLOT", "version", "cluster mode"},
		{"CLUSTERDOWN", "version", "cluster mode"},
	};
	char answer[64];

	for (size_t i = 0; i < COUNT(words); i++) {
		snprintf(answer, sizeof answer, "-%s 1 x:1\r\n", words[i].word);
		assert_status(LEASH_OK, examine_script((const struct script[]){{"SET", answer}, {0}}));
		the(words[i].topic, ERROR, words[i].text);
	}
}

/* A server whose scripts answer so, one after the other; all that is tried by itself it permits. */
struct life {
	const char *answers[10];
	const char *told;    /* of the trial */
	const char *message; /* of the grant; NULL: as the script sends it */
	bool votes;          /* in a quorum of such ones */
};

struct player {
	const struct life *life;
	struct fake *fake;
	size_t step;
	char token[64], message[80]; /* of the one who waits, and what that gets */
};

static size_t
play(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	static const char *const others[] = {"AUTH", "CLIENT", "INFO", "TIME", "SUBSCRIBE"};
	struct player *p = ctx;
	char channel[80];

	for (size_t i = 0; i < COUNT(others); i++)
		if (fake_is(argc, argv, argl, 0, others[i]))
			return FAKE_DEFAULT;
	if ((!fake_is(argc, argv, argl, 0, "EVALSHA") && !fake_is(argc, argv, argl, 0, "EVAL")) || argc < 6)
		return fake_say(out, size, ":0\r\n");
	if (p->step == 3 && argc > 6)
		snprintf(p->token, sizeof p->token, "%.*s", (int)argl[6], argv[6]);
	if (p->step == 5) {
		snprintf(channel, sizeof channel, "leash:wake:%.36s", p->token);
		snprintf(p->message, sizeof p->message, "g %s 8 10000", p->token);
		fake_publish(p->fake, channel, p->life->message != NULL ? p->life->message : p->message);
	}
	return fake_say(out, size, "%s\r\n", p->life->answers[p->step++]);
}

enum { VOTERS = 3 };

static void
check_life(const struct life *life)
{
	struct player players[VOTERS];
	char at[200];

	for (int i = 0; i < VOTERS; i++) {
		players[i] = (struct player){.life = life};
		players[i].fake = fake_start_tcp(play, &players[i]);
	}
	if (life->votes)
		snprintf(at, sizeof at, "redis+quorum://joe:open-sesame@%s,%s,%s?restart_guard=1",
		         fake_uri(players[0].fake) + 8, fake_uri(players[1].fake) + 8, fake_uri(players[2].fake) + 8);
	else
		snprintf(at, sizeof at, "redis://joe:open-sesame@%s", fake_uri(players[0].fake) + 8);
	assert_status(LEASH_OK, examine(at));
	for (int i = 0; i < VOTERS; i++)
		fake_stop(players[i].fake);
	if (strstr(life->told, "a lock was acquired") == NULL) {
		/* nothing is fine about them */
		assert_int_equal(count(FINE, "permissions", ""), count(ERROR, "permissions", ""));
		assert_true(count(ERROR, "trial", life->told) + count(ERROR, "permissions", life->told) >= 1);
	} else {
		the("permissions", FINE, life->told);
	}
}

#define BUSY "*3\r\n:0\r\n:9\r\n:9"
#define A_PLACE "*3\r\n:9\r\n:9\r\n:0"
#define NO_PLACE "*3\r\n:9\r\n:9\r\n:-1"
#define LIFE(told_, ...) .told = told_, .answers = {__VA_ARGS__}

SENTENCE(permissions_are_fine_only_where_each_step_of_a_lock_works)
{
	static const struct life lives[] = {
		{LIFE("acquiring a lock was answered with 0", ":0")},
		{LIFE("acquiring a lock was answered in another way than the script does", "*2\r\n:1\r\n:2")},
		{LIFE("acquiring a lock was answered with 0", "-NOSCRIPT", ":0")},
		{LIFE("acquiring a lock was refused: NOSCRIPT", "-NOSCRIPT", "-NOSCRIPT")},
		{LIFE("acquiring a lock was refused: (not shown)", "-ERR Error running script \x1b open-sesame")},
		{LIFE("can't run this command", "-ERR The user executing the script can't run this command or subcommand")},
		{LIFE("asking for it again was answered with 8", ":7", ":8")},
		{LIFE("renewing it was answered with 7", ":7", ":7", ":7")},
		{LIFE("waiting for it was answered with 8", ":7", ":7", ":1", ":8")},
		{LIFE("waiting for it was answered in another way", ":7", ":7", ":1", NO_PLACE)},
		{LIFE("the word of one who waits was answered in another way", ":7", ":7", ":1", BUSY, NO_PLACE)},
		{LIFE("the word of one who waits was answered in another way", ":7", ":7", ":1", BUSY, BUSY)},
		{LIFE("releasing it was answered with 0", ":7", ":7", ":1", BUSY, A_PLACE, ":0")},
		{LIFE("is another one than the script sends", ":7", ":7", ":1", BUSY, A_PLACE, ":1"),
		 .message = "g 01234567-89ab-cdef-0123-456789abcdef:2 8 10000"},
		{LIFE("where it was handed over to was answered with 0", ":7", ":7", ":1", BUSY, A_PLACE, ":1", ":0")},
		{LIFE("releasing it there was answered with 0", ":7", ":7", ":1", BUSY, A_PLACE, ":1", ":1", ":0")},
		{LIFE("a lock was acquired, renewed, waited for", ":7", ":7", ":1", BUSY, A_PLACE, ":1", ":1", ":1")},
		{LIFE("asking while another has it was answered with 9", ":7", ":7", ":1", ":9"), .votes = true},
		{LIFE("acquiring it after that was answered with 7", ":7", ":7", ":1", BUSY, ":1", ":7"), .votes = true},
		{LIFE("releasing it after that was answered with 0", ":7", ":7", ":1", BUSY, ":1", ":8", ":0"), .votes = true},
		{LIFE("a lock was acquired, renewed, released", ":7", ":7", ":1", BUSY, ":1", ":8", ":1"), .votes = true},
	};

	for (size_t i = 0; i < COUNT(lives); i++)
		check_life(&lives[i]);
	check_life(&lives[5]);
	check_remedy(the("permissions", ERROR, "can't run this command"), "+evalsha");
}

/* Each is the whole of what INFO says. */
static const char *const infos[] = {
	"", ":", "redis_version", "redis_version:", "redis_version:999999999999.9.9\r\nvalkey_version:\x1b[2J\r\n",
	("redis_version:7.0.0\r\nvalkey_version:open-sesame\r\nserver_name:open-sesame\r\nmaxmemory_policy:open-sesame\r\n"
	 "maxmemory:1\r\nrole:slave\r\nmaster_host:open-sesame\r\nmaster_port:open-sesame\r\nloading:1\r\n"
	 "loading_loaded_perc:open-sesame\r\n"),
	("redis_version:7.0.0\r\nused_memory:18446744073709551615\r\nmaxmemory:1\r\nmaxmemory_policy:noeviction\r\n"
	 "connected_clients:18446744073709551615\r\nmaxclients:1\r\nrdb_last_save_time:18446744073709551615\r\n"
	 "aof_enabled:0\r\nrole:master\r\nconnected_slaves:18446744073709551615\r\n"
	 "uptime_in_seconds:18446744073709551615\r\nevicted_keys:18446744073709551615\r\n"
	 "loading_eta_seconds:18446744073709551615\r\nloading:1\r\n"),
	("redis_version:7.0.0\r\nused_memory:-1\r\nmaxmemory:99999999999999999999\r\nmaxmemory_policy:allkeys-lru\r\n"
	 "role:slave\r\nmaster_host:$(reboot);`x`\r\nmaster_port:6379 -x\r\nmaster_link_status:down\r\n"),
	("redis_version:0.0.0\r\nredis_mode:sentinel\r\ncluster_enabled:1\r\nrole:slave\r\nmaster_host:fe80::1\r\n"
	 "master_port:6379\r\n"),
	("redis_version:7.0.0\r\nrdb_last_bgsave_status:err\r\naof_last_write_status:err\r\n"
	 "aof_last_bgrewrite_status:err\r\naof_enabled:1\r\n"),
	"\n\n\n\r\r\r:::\r\n\xff\xfe\x80:\xff\r\nrole:\r\nmaxmemory:\r\n",
};

SENTENCE(whatever_info_says_is_survived_and_shown_harmlessly)
{
	for (size_t i = 0; i < COUNT(infos); i++) {
		char answer[4096];

		snprintf(answer, sizeof answer, "$%zu\r\n%s\r\n", strlen(infos[i]), infos[i]);
		assert_status(LEASH_OK, examine_script((const struct script[]){
			{"INFO", answer}, {"CONFIG", "*2\r\n$4\r\nsave\r\n$11\r\nopen-sesame\r\n"},
			{"ACL", "$11\r\nopen-sesame\r\n"}, {0}}));
		assert_null(strstr(all_found, "reboot"));
		assert_status(LEASH_OK, examine_script((const struct script[]){
			{"INFO", answer}, {"CONFIG", "*1\r\n*1\r\n:1\r\n"}, {"ACL", "$17\r\ndefault on +@all \r\n"},
			{"SET", "-NOPERM \x1b[2J\r\n"}, {0}}));
		assert_null(strstr(all_found, "+@all"));
	}
}

/* In the place of all answers but those of the hello. */
static const char *const answers[] = {
	":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "+OK\r\n", "-ERR \x1b[31m open-sesame\r\n",
	"-NOPERM open-sesame permissions to access channel\r\n", "-OOM\r\n", "-LOADING x\r\n", "-BUSY x\r\n",
	"-MOVED 1 x:1\r\n", "-MISCONF open-sesame\r\n", "-READONLY\r\n", "-\r\n", "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
	"*2\r\n$20\r\n18446744073709551615\r\n$6\r\n999999\r\n", "*3\r\n*1\r\n*1\r\n:1\r\n:2\r\n$3\r\nabc\r\n",
	"*3\r\n:0\r\n:9223372036854775807\r\n:-9223372036854775808\r\n", "$5\r\na\0b\x1b\x07\r\n",
};

struct liar {
	const char *answer;
	int times; /* it told the truth: for a hello */
};

static size_t
lie(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct liar *liar = ctx;

	(void)size;
	if (fake_is(argc, argv, argl, 0, "AUTH") || (fake_is(argc, argv, argl, 0, "INFO") && argc == 2) ||
	    (fake_is(argc, argv, argl, 0, "CLIENT") && fake_is(argc, argv, argl, 1, "SETNAME")) ||
	    (fake_is(argc, argv, argl, 0, "TIME") && liar->times++ % 4 < 1))
		return FAKE_DEFAULT;
	if (memcmp(liar->answer, "$5\r\na", 6) == 0) {
		memcpy(out, "$5\r\na\0b\x1b\x07\r\n", 11);
		return 11;
	}
	return fake_say(out, size, "%s", liar->answer);
}

SENTENCE(whatever_a_server_answers_is_survived_and_shown_harmlessly)
{
	for (size_t i = 0; i < COUNT(answers); i++) {
		examine_fake(lie, &(struct liar){.answer = answers[i]}, 1000);
		check_worst(ERROR);
	}
}
