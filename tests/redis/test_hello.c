/* Hellos: odd answers are told from one another, and what a server says of itself is read for what it is. */
#include "tests/redis/connects.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

SENTENCE(odd_answers_are_told_from_one_another)
{
	static const struct {
		const char *says;
		bool closes;
		leash_status status;
		const char *part;
	} cases[] = {
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK, false, LEASH_OK, ""},
		{"-ERR unknown command 'CLIENT'\r\n" NO_INFO NO_INFO NO_INFO TIME_OK, false, LEASH_OK, ""},
		{"-LOADING Redis is loading the dataset in memory\r\n", false, LEASH_UNAVAILABLE, ": CLIENT SETNAME was refused: LOADING Redis is loading"},
		{SETNAME_OK "-LOADING Redis is loading\r\n", false, LEASH_UNAVAILABLE, ": INFO server was refused: LOADING"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "-BUSY Redis is busy running a script\r\n", false, LEASH_UNAVAILABLE, ": TIME was refused: BUSY"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "-NOAUTH Authentication required.\r\n", false, LEASH_DENIED, "wants a password: TIME was refused: NOAUTH Authentication required"},
		{"-DENIED Redis is running in protected mode because\r\n", true, LEASH_DENIED, ": the connection was refused: DENIED Redis is running"},
		{"-ERR max number of clients reached\r\n", true, LEASH_UNAVAILABLE, ": the connection was refused: ERR max number of clients reached"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "-ERR unknown command 'TIME'\r\n", false, LEASH_UNSUPPORTED, ": TIME was refused: ERR unknown command 'TIME' (is it a sentinel? then write redis+sentinel://. Or was it renamed by rename-command?)"},
		{"-NONSENSE \x1b[31mred\r\n", false, LEASH_PROTOCOL, "these are not the words of a Redis server: CLIENT SETNAME was refused: NONSENSE \\x1b[31mred"},
		{"", true, LEASH_UNAVAILABLE, ": CLIENT SETNAME: the server closed the connection"},
		{SETNAME_OK, true, LEASH_UNAVAILABLE, ": INFO server: the server closed the connection"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n$10\r\n17000", true, LEASH_UNAVAILABLE, ": TIME: the server closed the connection"},
		{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", true, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not what a Redis server says: "},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", false, LEASH_PROTOCOL, "not what a Redis server says"},
		{"*1073741823\r\n", false, LEASH_PROTOCOL, "not what a Redis server says"},
		{":1\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"$2\r\nOK\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"$-1\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"*0\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"+QUEUED\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{SETNAME_OK "+OK\r\n", false, LEASH_PROTOCOL, ": INFO server: the answer is not"},
		{SETNAME_OK ":1\r\n", false, LEASH_PROTOCOL, ": INFO server: the answer is not"},
		{SETNAME_OK "*1\r\n$1\r\na\r\n", false, LEASH_PROTOCOL, ": INFO server: the answer is not"},
		{SETNAME_OK "$-1\r\n", false, LEASH_PROTOCOL, ": INFO server: the answer is not"},
		{SETNAME_OK INFO_OK "+OK\r\n", false, LEASH_PROTOCOL, ": INFO replication: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK "+OK\r\n", false, LEASH_PROTOCOL, ": INFO memory: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK "-NOPERM this user has no permissions to run the 'info' command\r\n" TIME_OK, false, LEASH_OK, ""},
		{SETNAME_OK INFO_OK "-NOPERM this user has no permissions to run the 'info' command\r\n" MEMORY_OK TIME_OK, false, LEASH_OK, ""},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "+OK\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK ":1700000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n:1700000000\r\n:7\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*1\r\n$10\r\n1700000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n$14\r\n99999999999999\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK "*2\r\n$0\r\n\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		for (int at_once = 0; at_once < 2; at_once++) {
			struct puppet f;
			enum lsh_progress progress;

			puppet_start(&f, cases[i].says);
			f.closes = cases[i].closes;
			f.at_once = at_once && cases[i].closes;
			open_dial(f.uri, "leash-test", NULL);
			progress = attempt(ample(), &f, NULL);
			if (cases[i].status == LEASH_OK) {
				assert_int_equal(progress, LSH_DONE);
				assert_int_equal(hello.server_us, INT64_C(1700000000000007));
				close(hello.stream.fd);
			} else {
				check_failed(progress, cases[i].status, cases[i].part);
				check_contains(err.text, f.uri);
			}
			close_dial();
			puppet_stop(&f);
		}
}

SENTENCE(half_an_answer_and_what_came_of_it_are_forgotten_with_the_attempt)
{
	struct puppet f;

	puppet_start(&f, SETNAME_OK "$22\r\nredis_ver");
	f.closes = true;
	open_dial(f.uri, "leash-test", NULL);
	check_failed(attempt(ample(), &f, NULL), LEASH_UNAVAILABLE, ": INFO server: the server closed the connection");
	f.says = SETNAME_OK INFO_OK REPLICATION_OK MEMORY_OK TIME_OK;
	f.size = strlen(f.says);
	f.closes = false;
	assert_int_equal(attempt(ample(), &f, NULL), LSH_DONE);
	assert_int_equal(hello.version, 0x07000f);
	close(hello.stream.fd);
	puppet_stop(&f);
	check_failed(attempt(ample(), NULL, NULL), LEASH_UNAVAILABLE, ": connecting: Connection refused");
	close_dial();
}

/* What becomes of a connect to a puppet that says that. */
static enum lsh_progress
dial_says(const char *says, const char *channel)
{
	enum lsh_progress progress;
	struct puppet f;

	puppet_start(&f, says);
	open_dial(f.uri, "leash-test", channel);
	progress = attempt(ample(), &f, NULL);
	close_dial();
	puppet_stop(&f);
	return progress;
}

/* What a section of INFO says, and what is made of that, in a line. */
struct reading {
	const char *info, *expected;
};

static void
words_of_server(char *words)
{
	assert_true(hello.run_id[0] == '\0' || strcmp(hello.run_id, "0123456789abcdef0123456789abcdef01234567") == 0);
	sprintf(words, "%06x %s%" PRId64 "%s", hello.version, hello.run_id[0] != '\0' ? "id " : "", hello.uptime_ms,
	        hello.cluster ? " cluster" : "");
}

static void
words_of_replication(char *words)
{
	sprintf(words, "%s%s", hello.replica ? "replica" : "", hello.alone ? "alone" : "");
}

static void
words_of_memory(char *words)
{
	strcpy(words, hello.eviction);
}

static void
check_readings(const char *before, const struct reading *cases, size_t count, const char *behind, void (*put)(char *words))
{
	char says[512], words[128];

	for (size_t i = 0; i < count; i++) {
		snprintf(says, sizeof says, "%s$%zu\r\n%s\r\n%s", before, strlen(cases[i].info), cases[i].info, behind);
		assert_int_equal(dial_says(says, NULL), LSH_DONE);
		put(words);
		if (strcmp(words, cases[i].expected) != 0)
			fail_msg("'%s', not '%s', was made of: %s", words, cases[i].expected, cases[i].info);
		close(hello.stream.fd);
	}
}

SENTENCE(what_info_says_is_read_for_what_it_is)
{
	static const struct reading cases[] = {
		{"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:0123456789abcdef0123456789abcdef01234567\r\nuptime_in_seconds:11\r\n", "07000f id 10000"},
		{"redis_version:8.10\r\nredis_mode:cluster\r\nuptime_in_seconds:1\r\n", "080a00 0 cluster"},
		{"redis_version:7.2.4\r\nserver_mode:cluster\r\nvalkey_version:8.0.1\r\nuptime_in_seconds:0\r\n", "070204 0 cluster"},
		{"redis_version:255.255.999-rc1.2\r\nredis_mode:clustered\r\n", "ffffff -1"},
		{"redis_version:\r\nrun_id:\r\nuptime_in_seconds:\r\n", "000000 -1"},
		{"redis_version:six\r\nuptime_in_seconds:-5\r\nredis_mode:\r\n", "000000 0"},
		{"uptime_in_seconds:-\r\n", "000000 -1"},
		{"not_redis_version:7.0.0\r\nnot_run_id:abc\r\n", "000000 -1"},
		{"run_id:0123456789abcdef0123456789abcdef012345678\r\nuptime_in_seconds:99999999999999\r\n", "000000 1073741823000"},
		{"run_id:no such thing\r\nredis_version", "000000 -1"},
		{"", "000000 -1"},
	};

	check_readings(SETNAME_OK, cases, COUNT(cases), REPLICATION_OK MEMORY_OK TIME_OK, words_of_server);
}

SENTENCE(what_info_says_of_replicas_is_read_for_what_it_is)
{
	static const struct reading cases[] = {
		{"# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\nsecond_repl_offset:-1\r\n", "alone"},
		{"role:master\r\nconnected_slaves:0\r\n", "alone"}, /* an old one */
		{"role:master\r\nconnected_slaves:2\r\nslave0:ip=127.0.0.1,port=1,state=online,offset=0,lag=0\r\n", ""},
		{"connected_slaves:1\r\nrole:master\r\n", ""},
		/* promoted */
		{"role:master\r\nconnected_slaves:0\r\nsecond_repl_offset:1\r\n", ""},
		{"role:master\r\nconnected_slaves:0\r\nsecond_repl_offset:93817\r\n", ""},
		{"role:slave\r\nconnected_slaves:0\r\n", "replica"},
		{"role:master\r\nconnected_slaves:-1\r\n", ""},
		{"role:master\r\nconnected_slaves:many\r\n", ""},
		{"role:master\r\nconnected_slaves:\r\n", ""},
		{"role:master\r\n", ""},
		{"connected_slaves:0\r\n", ""},
		{"", ""},
	};

	check_readings(SETNAME_OK INFO_OK, cases, COUNT(cases), MEMORY_OK TIME_OK, words_of_replication);
}

SENTENCE(what_info_says_of_eviction_is_read_for_what_it_is)
{
	static const struct reading cases[] = {
		{"# Memory\r\nused_memory:1\r\nmaxmemory:1048576\r\nmaxmemory_human:1.00M\r\nmaxmemory_policy:volatile-lru\r\n", "volatile-lru"},
		{"maxmemory_policy:allkeys-random\r\nmaxmemory:18446744073709551615\r\n", "allkeys-random"},
		{"maxmemory:1\r\nmaxmemory_policy:noeviction\r\n", "noeviction"},
		{"maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n", "noeviction"},
		{"maxmemory:1\r\nmaxmemory_policy:a-policy-of-thirty-one-letters.\r\n", "a-policy-of-thirty-one-letters."},
		{"maxmemory:1\r\nmaxmemory_policy:a-policy-of-thirty-two-letters..\r\n", ""},
		{"maxmemory:1\r\nmaxmemory_policy:\r\n", ""},
		{"maxmemory:1\r\n", ""},
		{"maxmemory_policy:allkeys-lru\r\n", ""},
		{"maxmemory:\r\nmaxmemory_policy:allkeys-lru\r\n", ""},
		{"maxmemory:1.00M\r\nmaxmemory_policy:allkeys-lru\r\n", ""},
		{"maxmemory:-1\r\nmaxmemory_policy:allkeys-lru\r\n", ""},
		{"", ""},
	};

	check_readings(SETNAME_OK INFO_OK REPLICATION_OK, cases, COUNT(cases), TIME_OK, words_of_memory);
}

SENTENCE(a_subscription_is_to_the_channel_that_was_asked_for)
{
	static const char *const cases[] = {
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\ncj\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$3\r\nch2\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n$1\r\n1\r\n",
		SETNAME_OK INFO_OK "*2\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n",
		SETNAME_OK INFO_OK "+OK\r\n",
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		check_failed(dial_says(cases[i], "ch"), LEASH_PROTOCOL, ": SUBSCRIBE: the answer is not what a Redis");
}

/* A message may come right behind the confirmation, whole or half: it is for the receiver of the connection. */
SENTENCE(what_comes_behind_the_hello_is_left_in_the_socket)
{
	static const char hello_said[] = SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n";
	static const char more[] = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$6\r\ng\r\nt 1\r\n*3\r\n$7\r\nmess";
	char says[sizeof hello_said + sizeof more];

	for (size_t n = 0; n <= sizeof more - 1; n++) {
		struct puppet f;
		char left[sizeof more];

		snprintf(says, sizeof says, "%s%.*s", hello_said, (int)n, more);
		puppet_start(&f, says);
		open_dial(f.uri, "leash-test", "ch");
		assert_int_equal(attempt(ample(), &f, NULL), LSH_DONE);
		for (size_t got = 0; got < n;) {
			ssize_t some;

			await_readable(hello.stream.fd);
			some = recv(hello.stream.fd, left + got, sizeof left - got, 0);
			assert_true(some > 0);
			got += (size_t)some;
			if (got == n)
				assert_memory_equal(left, more, n);
		}
		assert_int_equal(recv(hello.stream.fd, left, 1, 0), -1);
		close(hello.stream.fd);
		close_dial();
		puppet_stop(&f);
	}
}

SENTENCE(a_server_that_repeats_what_it_hears_does_not_get_the_password_shown)
{
	static const char *const says[] = {
		NULL, /* an echo */
		"-ERR unknown command `AUTH`, with args beginning with: `hunter2hunter2`\r\n",
		"-ERR no AUTH hunter2hunter2\r\n",
		"-hunter2hunter2\r\n",
		"-WRONGPASS hunter2hunter2\r\n",
		"+OK\r\n+OK\r\n-hunter2hunter2 is busy\r\n",
		"hunter2hunter2\r\n",
		"+hunter2hunter2\r\n",
		":hunter2hunter2\r\n",
	};
	char text[128];

	for (size_t i = 0; i < COUNT(says); i++) {
		struct puppet f;

		puppet_start(&f, says[i]);
		f.echoes = says[i] == NULL;
		snprintf(text, sizeof text, "redis://:hunter2hunter2@127.0.0.1:%d", f.port);
		open_dial(text, "leash-test", NULL);
		assert_int_equal(attempt(ample(), &f, NULL), LSH_FAILED);
		assert_true(err.status == LEASH_DENIED || err.status == LEASH_PROTOCOL);
		assert_null(strstr(err.text, "unter2"));
		if (i == 3)
			check_contains(err.text, ": AUTH was refused: (its words are not shown)");
		close_dial();
		puppet_stop(&f);
	}
}
