/* Hellos: of real servers who they say they are, whom they let in, and with what reason they refuse; odd answers are
 * told from one another, and what a server says of itself is read for what it is. */
#include "tests/redis/connects.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

GROUP(start_tcp_server, stop_server);
FIXTURE(begin_connects, end_connects);

/* The run id, or nothing. */
SEES(id, seen("%s", hello.run_id))
SEES(cluster, seen_whether(hello.cluster))

SENTENCE(a_hello_tells_who_the_server_is)
{
	static const int options[][3] = {
		{IPPROTO_TCP, TCP_NODELAY, 1}, {SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, 10},
		{IPPROTO_TCP, TCP_KEEPINTVL, 5}, {IPPROTO_TCP, TCP_KEEPCNT, 3},
	};

	play("try unix://$u leash-test-1 = OK; check; time > 0; ask 'CLIENT GETNAME\r\n';"
	     "await heard = '$12\r\nleash-test-1\r\n'");
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	play("try redis://127.0.0.1:$s = OK; check; ask 'PING\r\n'; await heard = '+PONG\r\n'");
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	for (size_t i = 0; i < COUNT(options); i++) {
		int value = -1;

		getsockopt(hello.stream.fd, options[i][0], options[i][1], &value, &(socklen_t){sizeof value});
		assert_int_equal(value, options[i][2]);
	}
}

SCENE(a_dial_may_be_used_again_and_may_have_no_name,
      "dial unix://$u nameless; repeat 3; attempt = OK; check; ask 'PING\r\n'; await heard = '+PONG\r\n'")
SCENE(a_subscription_is_confirmed_before_the_dial_is_done,
      "try redis://127.0.0.1:$s leash-test leash:some = OK; check; time = 0; redis PUBLISH leash:some word;"
      "ask ''; await heard = '*3\r\n$7\r\nmessage\r\n$10\r\nleash:some\r\n$4\r\nword\r\n'")
SCENE(the_database_is_selected_but_not_for_a_subscription, "redis SET where 0; try redis://127.0.0.1:$s/5 = OK;"
      "ask 'EXISTS where\r\n'; await heard = ':0\r\n'; try redis://127.0.0.1:$s/16383 leash-test channel = OK")
SCENE(a_database_that_is_not_there_is_invalid,
      "try unix://$u?db=1234 ~ INVALID: unix://$u?db=1234: 'there is no such database: SELECT was refused: ERR'")
SCENE(a_password_opens_and_a_wrong_one_does_not,
      "serve --requirepass 'open sesame'; try redis://:open%20sesame@127.0.0.1:$s = OK; ask 'PING\r\n';"
      "await heard = '+PONG\r\n'; try unix://default:open%20sesame@$u leash-test channel = OK;"
      "try redis://:barley-groats@127.0.0.1:$s ~ DENIED: redis://127.0.0.1:$s ': AUTH was refused: WRONGPASS' !~ "
      "barley;try redis://127.0.0.1:$s ~ DENIED: redis://127.0.0.1:$s 'the server wants a password';"
      "try redis://127.0.0.1:$s nameless ~ DENIED: 'the server wants a password';"
      "try redis://127.0.0.1:$s nameless channel ~ DENIED: 'the server wants a password'")
SCENE(a_password_that_nobody_asked_for_is_denied, "try redis://:hunter2hunter2@127.0.0.1:$s ~ DENIED: "
      "': AUTH was refused: ERR AUTH <password> called without any password' !~ hunter2")
SCENE(a_cluster_says_that_it_is_one, "serve no_port --cluster-enabled yes; try unix://$u = OK; cluster = yes;"
      "try unix://$u?db=1 ~ INVALID: "
      "'?db=1: there is no such database: SELECT was refused: ERR SELECT is not allowed in cluster mode'")

SENTENCE(a_hello_of_any_length_is_sent_to_its_end)
{
	enum { LONG = 4000000 };
	char *name = malloc(LONG + 1);

	memset(name, 'n', LONG);
	name[LONG] = '\0';
	open_dial(server_uri(server), name, NULL);
	play("attempt = OK; check");
	char *found = strstr(server_text(server, "CLIENT LIST"), name);
	assert_non_null(found);
	assert_int_not_equal(found[LONG], 'n');
	close_dial();
	free(name);
}

/* What a user may do without that may do everything but what the rule takes away; or which permission it needs. */
DOES(may, server_text(server, "ACL SETUSER worker reset on >pass ~* &* +@all %s", word[1]))
#define TRY "try redis://worker:pass@127.0.0.1:$s"

SCENE(a_user_without_a_permission_that_is_needed_is_told_which,
      "may +@all; " TRY " = OK; check; ask 'ACL WHOAMI\r\n'; await heard = '$6\r\nworker\r\n';"
      "may -client; " TRY " = OK; check; may -info; " TRY " = OK; id = ''; version = 000000; cluster = no; time > 0;"
      "ask 'PING\r\n'; await heard = '+PONG\r\n'; may -time; " TRY " ~ DENIED: ': TIME was refused: NOPERM';"
      "may -select; " TRY "/1 ~ DENIED: ': SELECT was refused: NOPERM'; each x -subscribe resetchannels; may $x;"
      TRY " leash-test leash:x ~ DENIED: ': SUBSCRIBE was refused: NOPERM'; next;"
      "may off; " TRY " ~ DENIED: ': AUTH was refused: WRONGPASS'")

#define NOPERM_INFO "-NOPERM this user has no permissions to run the 'info' command\r\n"

static const struct {
	const char *manner, *expected, *says;
} odd[] = {
	{"", "= OK; time = 1700000000000007", ALL_OK},
	{"", "= OK; time = 1700000000000007", "-ERR unknown command 'CLIENT'\r\n" NO_INFO NO_INFO NO_INFO TIME_OK},
	{"", "~ UNAVAILABLE: ': CLIENT SETNAME was refused: LOADING Redis is loading'",
	 "-LOADING Redis is loading the dataset in memory\r\n"},
	{"", "~ UNAVAILABLE: ': INFO server was refused: LOADING'", SETNAME_OK "-LOADING Redis is loading\r\n"},
	{"", "~ UNAVAILABLE: ': TIME was refused: BUSY'", ALL_BUT_TIME_OK "-BUSY Redis is busy running a script\r\n"},
	{"", "~ DENIED: 'wants a password: TIME was refused: NOAUTH Authentication required'",
	 ALL_BUT_TIME_OK "-NOAUTH Authentication required.\r\n"},
	{"closes", "~ DENIED: ': the connection was refused: DENIED Redis is running'",
	 "-DENIED Redis is running in protected mode because\r\n"},
	{"closes", "~ UNAVAILABLE: ': the connection was refused: ERR max number of clients reached'",
	 "-ERR max number of clients reached\r\n"},
	{"", "~ UNSUPPORTED: \": TIME was refused: ERR unknown command 'TIME' (is it a sentinel? then write "
	 "redis+sentinel://. Or was it renamed by rename-command?)\"",
	 ALL_BUT_TIME_OK "-ERR unknown command 'TIME'\r\n"},
	{"", "~ PROTOCOL: 'this is not the answer of a Redis server: CLIENT SETNAME was refused: NONSENSE \\x1b[31mred'",
	 "-NONSENSE \x1b[31mred\r\n"},
	{"closes", "~ PROTOCOL: ': CLIENT SETNAME: the answer is not what a Redis server sends: '",
	 "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"},
	{"", "= OK; time = 1700000000000007", SETNAME_OK INFO_OK REPLICATION_OK NOPERM_INFO TIME_OK},
	{"", "= OK; time = 1700000000000007", SETNAME_OK INFO_OK NOPERM_INFO MEMORY_OK TIME_OK},
};

SENTENCE(odd_answers_are_told_from_one_another)
{
	for (size_t i = 0; i < COUNT(odd); i++)
		for (int at_once = 0; at_once <= (odd[i].manner[0] != '\0'); at_once++)
			play("puppet p \"%s\"; manner p %s %s; try redis://127.0.0.1:$p %s", odd[i].says, odd[i].manner,
			     at_once ? "at_once" : "", odd[i].expected);
}

SCENE(a_server_that_closes_the_connection_is_said_to_at_which_step,
      "each sx 'CLIENT SETNAME' '' 'INFO server' '" SETNAME_OK "' TIME '" ALL_BUT_TIME_OK "*2\r\n$10\r\n17000';"
      "each m '' at_once; puppet p '$x'; manner p closes $m;"
      "try redis://127.0.0.1:$p ~ UNAVAILABLE: ': $s: the server closed the connection'; next")
SCENE(what_no_server_says_is_a_protocol_error, "each x SSH-2.0-OpenSSH_9.2p1\r\n *1073741823\r\n; puppet p $x;"
      "try redis://127.0.0.1:$p ~ PROTOCOL: 'not what a Redis server sends'")

#define AS_ANSWER(step, before) \
	"puppet p '" before "$x'; try redis://127.0.0.1:$p ~ PROTOCOL: ': " step ": the answer is not'; next;"

SCENE(what_is_no_answer_to_a_step_is_a_protocol_error,
      "each x :1\r\n {OK} $-1\r\n *0\r\n +QUEUED\r\n;" AS_ANSWER("CLIENT SETNAME", "")
      "each x +OK\r\n :1\r\n *1\r\n{a} $-1\r\n;" AS_ANSWER("INFO server", SETNAME_OK)
      "each x +OK\r\n;" AS_ANSWER("INFO replication", SETNAME_OK INFO_OK)
      "each x +OK\r\n;" AS_ANSWER("INFO memory", SETNAME_OK INFO_OK REPLICATION_OK)
      "each x +OK\r\n :1700000000\r\n *2\r\n:1700000000\r\n:7\r\n *1\r\n{1700000000} *3\r\n{1}{1}{1} *2\r\n{1}{1000000}"
      "  *2\r\n{-1}{0} *2\r\n{99999999999999}{0} *2\r\n{}{0};" AS_ANSWER("TIME", ALL_BUT_TIME_OK))
SCENE(half_an_answer_and_what_came_of_it_are_forgotten_with_the_attempt,
      "puppet p '" SETNAME_OK "$22\r\nredis_ver'; manner p closes; dial redis://127.0.0.1:$p;"
      "attempt ~ UNAVAILABLE: 'redis://127.0.0.1:$p: INFO server: the server closed the connection';"
      "says p '" ALL_OK "'; attempt = OK; version = 07000f;"
      "stop p; attempt ~ UNAVAILABLE: ': connecting: Connection refused'")

/* ---- what is made of a section of INFO ---- */

VERB(server)
{
	assert_true(hello.run_id[0] == '\0' || strcmp(hello.run_id, "0123456789abcdef0123456789abcdef01234567") == 0);
	return seen("%06x %s%" PRId64 "%s", hello.version, hello.run_id[0] != '\0' ? "id " : "", hello.uptime_ms,
	            hello.cluster ? " cluster" : "");
}

SEES(role, seen("%s%s", hello.replica ? "replica" : "", hello.alone ? "alone" : ""))
SEES(eviction, seen("%s", hello.eviction))

#define READ(before, behind, verb) \
	"puppet p \"" before "{$i}" behind "\"; try redis://127.0.0.1:$p = OK; " verb " = '$e'"

SCENE(what_info_says_is_read_for_what_it_is,
      "each ei '07000f id 10000' '# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
      "run_id:0123456789abcdef0123456789abcdef01234567\r\nuptime_in_seconds:11\r\n'"
      "  '080a00 0 cluster' 'redis_version:8.10\r\nredis_mode:cluster\r\nuptime_in_seconds:1\r\n'"
      "  '070204 0 cluster'"
      "  'redis_version:7.2.4\r\nserver_mode:cluster\r\nvalkey_version:8.0.1\r\nuptime_in_seconds:0\r\n'"
      "  'ffffff -1' 'redis_version:255.255.999-rc1.2\r\nredis_mode:clustered\r\n'"
      "  '000000 -1' 'redis_version:\r\nrun_id:\r\nuptime_in_seconds:\r\n'"
      "  '000000 0' 'redis_version:six\r\nuptime_in_seconds:-5\r\nredis_mode:\r\n'"
      "  '000000 -1' 'uptime_in_seconds:-\r\n' '000000 -1' 'not_redis_version:7.0.0\r\nnot_run_id:abc\r\n'"
      "  '000000 1073741823000'"
      "  'run_id:0123456789abcdef0123456789abcdef012345678\r\nuptime_in_seconds:99999999999999\r\n'"
      "  '000000 -1' 'run_id:no such thing\r\nredis_version' '000000 -1' '';"
      READ(SETNAME_OK, REPLICATION_OK MEMORY_OK TIME_OK, "server"))
SCENE(what_info_says_of_replicas_is_read_for_what_it_is,
      "each ei alone '# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
      "master_failover_state:no-failover\r\nsecond_repl_offset:-1\r\n'"
      "  alone 'role:master\r\nconnected_slaves:0\r\n'" /* an old one */
      "  '' 'role:master\r\nconnected_slaves:2\r\nslave0:ip=127.0.0.1,port=1,state=online,offset=0,lag=0\r\n'"
      "  '' 'connected_slaves:1\r\nrole:master\r\n'"
      "  '' 'role:master\r\nconnected_slaves:0\r\nsecond_repl_offset:1\r\n'" /* promoted */
      "  '' 'role:master\r\nconnected_slaves:0\r\nsecond_repl_offset:93817\r\n'"
      "  replica 'role:slave\r\nconnected_slaves:0\r\n' '' 'role:master\r\nconnected_slaves:-1\r\n'"
      "  '' 'role:master\r\nconnected_slaves:many\r\n' '' 'role:master\r\nconnected_slaves:\r\n'"
      "  '' 'role:master\r\n' '' 'connected_slaves:0\r\n' '' '';"
      READ(SETNAME_OK INFO_OK, MEMORY_OK TIME_OK, "role"))
SCENE(what_info_says_of_eviction_is_read_for_what_it_is, "each ei volatile-lru "
      "'# Memory\r\nused_memory:1\r\nmaxmemory:1048576\r\nmaxmemory_human:1.00M\r\nmaxmemory_policy:volatile-lru\r\n'"
      "  allkeys-random 'maxmemory_policy:allkeys-random\r\nmaxmemory:18446744073709551615\r\n'"
      "  noeviction 'maxmemory:1\r\nmaxmemory_policy:noeviction\r\n'"
      "  noeviction 'maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n'"
      "  a-policy-of-thirty-one-letters. 'maxmemory:1\r\nmaxmemory_policy:a-policy-of-thirty-one-letters.\r\n'"
      "  '' 'maxmemory:1\r\nmaxmemory_policy:a-policy-of-thirty-two-letters..\r\n'"
      "  '' 'maxmemory:1\r\nmaxmemory_policy:\r\n' '' 'maxmemory:1\r\n' '' 'maxmemory_policy:allkeys-lru\r\n'"
      "  '' 'maxmemory:\r\nmaxmemory_policy:allkeys-lru\r\n' '' 'maxmemory:1.00M\r\nmaxmemory_policy:allkeys-lru\r\n'"
      "  '' 'maxmemory:-1\r\nmaxmemory_policy:allkeys-lru\r\n' '' '';"
      READ(SETNAME_OK INFO_OK REPLICATION_OK, TIME_OK, "eviction"))
SCENE(a_subscription_is_to_the_channel_that_was_asked_for,
      "each x *3\r\n{subscribe}{cj}:1\r\n *3\r\n{subscribe}{ch2}:1\r\n *3\r\n{message}{ch}:1\r\n"
      "  *3\r\n{subscribe}{ch}{1} *2\r\n{subscribe}{ch} +OK\r\n; puppet p '" SETNAME_OK INFO_OK "$x';"
      "try redis://127.0.0.1:$p leash-test ch ~ PROTOCOL: ': SUBSCRIBE: the answer is not what a Redis'")

/* A message may come right behind the confirmation, whole or half: it is for the receiver of the connection. */
SENTENCE(what_comes_behind_the_hello_is_left_in_the_socket)
{
	static const char more[] = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$6\r\ng\r\nt 1\r\n*3\r\n$7\r\nmess";

	for (int n = 0; n < (int)sizeof more; n++)
		play("puppet p '" SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n%.*s';"
		     "try redis://127.0.0.1:$p leash-test ch = OK; ask ''; await heard = '%.*s'", n, more, n, more);
}

SCENE(a_server_that_repeats_what_it_hears_does_not_get_the_password_shown,
      "each mxe echoes '' '' '' '-ERR unknown command `AUTH`, with args beginning with: `hunter2hunter2`\r\n' DENIED:"
      "  '' '-ERR no AUTH hunter2hunter2\r\n' DENIED:"
      "  '' -hunter2hunter2\r\n ': AUTH was refused: (its text is not shown)'"
      "  '' '-WRONGPASS hunter2hunter2\r\n' DENIED: '' '+OK\r\n+OK\r\n-hunter2hunter2 is busy\r\n' PROTOCOL:"
      "  '' hunter2hunter2\r\n PROTOCOL: '' +hunter2hunter2\r\n PROTOCOL: '' :hunter2hunter2\r\n PROTOCOL:;"
      "puppet p '$x'; manner p $m; dial redis://:hunter2hunter2@127.0.0.1:$p; attempt ~ '$e' !~ unter2")
