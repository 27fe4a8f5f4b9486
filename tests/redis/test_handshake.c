/* Greetings of real servers: who they say they are, whom they let in, and with what reason they refuse. */
#include "tests/redis/connects.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

GROUP(start_tcp_server, stop_server);
FIXTURE(begin_connects, end_connects);

static int
option(int level, int name)
{
	int value = -1;

	assert_int_equal(getsockopt(hello.stream.fd, level, name, &value, &(socklen_t){sizeof value}), 0);
	return value;
}

/* The run id, or nothing. */
SEES(id, seen("%s", hello.run_id))
SEES(cluster, seen_whether(hello.cluster))

SENTENCE(a_hello_tells_who_the_server_is)
{
	play("try unix://$u leash-test-1 = OK; check; time > 0; ask 'CLIENT GETNAME\r\n';"
	     "await heard = '$12\r\nleash-test-1\r\n'");
	assert_true(fcntl(hello.stream.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	play("try redis://127.0.0.1:$s = OK; check; ask 'PING\r\n'; await heard = '+PONG\r\n'");
	assert_true(fcntl(hello.stream.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	assert_true(option(IPPROTO_TCP, TCP_NODELAY));
	assert_true(option(SOL_SOCKET, SO_KEEPALIVE));
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPIDLE), 10);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
}

SCENE(a_dial_may_be_used_again_and_may_have_no_name,
      "dial unix://$u nameless; repeat 3; attempt = OK; check; ask 'PING\r\n'; await heard = '+PONG\r\n'")
SCENE(a_subscription_is_confirmed_before_the_dial_is_done,
      "try redis://127.0.0.1:$s leash-test leash:some = OK; check; time = 0; redis PUBLISH leash:some word;"
      "ask ''; await heard = '*3\r\n$7\r\nmessage\r\n$10\r\nleash:some\r\n$4\r\nword\r\n'")
SCENE(the_database_is_selected_but_not_for_a_subscription,
      "redis SET where 0; try redis://127.0.0.1:$s/5 = OK; ask 'EXISTS where\r\n'; await heard = ':0\r\n';"
      "try redis://127.0.0.1:$s/16383 leash-test channel = OK")
SCENE(a_database_that_is_not_there_is_invalid,
      "try unix://$u?db=1234 ~ INVALID: unix://$u?db=1234: 'there is no such database: SELECT was refused: ERR'")
SCENE(a_password_opens_and_a_wrong_one_does_not,
      "serve --requirepass 'open sesame'; try redis://:open%20sesame@127.0.0.1:$s = OK; ask 'PING\r\n';"
      "await heard = '+PONG\r\n'; try unix://default:open%20sesame@$u leash-test channel = OK;"
      "try redis://:barley-groats@127.0.0.1:$s ~ DENIED: redis://127.0.0.1:$s ': AUTH was refused: WRONGPASS' !~ "
      "barley;"
      "try redis://127.0.0.1:$s ~ DENIED: redis://127.0.0.1:$s 'the server wants a password';"
      "try redis://127.0.0.1:$s nameless ~ DENIED: 'the server wants a password';"
      "try redis://127.0.0.1:$s nameless channel ~ DENIED: 'the server wants a password'")
SCENE(a_password_that_nobody_asked_for_is_denied,
      "try redis://:hunter2hunter2@127.0.0.1:$s ~ DENIED: ': AUTH was refused: ERR AUTH <password> called without any "
      "password'"
      " !~ hunter2")
SCENE(a_password_is_not_shown_when_the_server_repeats_it,
      "serve --rename-command AUTH LOGIN; try redis://me:hunter2hunter2@127.0.0.1:$s ~ DENIED: "
      "': AUTH was refused: ERR unknown command' !~ hunter2")
SCENE(a_server_that_is_full_is_unavailable, /* there is the connection that asks for that, which stays */
      "serve; redis CONFIG SET maxclients 1;"
      "try redis://127.0.0.1:$s ~ UNAVAILABLE: ': the connection was refused: ERR max number of clients reached';"
      "try unix://$u leash-test channel ~ UNAVAILABLE: 'ERR max number of clients reached'")
SCENE(a_cluster_says_that_it_is_one,
      "serve no_port --cluster-enabled yes; try unix://$u = OK; cluster = yes;"
      "try unix://$u?db=1 ~ INVALID: '?db=1: there is no such database: SELECT was refused: ERR SELECT is not allowed "
      "in cluster mode'")

/* Every system knows it, but for one that was stripped of /etc/hosts. */
SENTENCE(localhost_is_found_if_the_system_knows_it)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;

	if (getaddrinfo("localhost", "1", &hints, &list) != 0) {
		play("try redis://localhost:$s ~ UNAVAILABLE: ': its name cannot be resolved: '");
		return;
	}
	freeaddrinfo(list);
	play("try redis://localhost:$s = OK; check");
}

SENTENCE(a_hello_of_any_length_is_sent_to_its_end)
{
	enum { LONG = 4000000 };
	char *name = malloc(LONG + 1), *found;

	memset(name, 'n', LONG);
	name[LONG] = '\0';
	open_dial(server_uri(server), name, NULL);
	play("attempt = OK; check");
	found = strstr(server_text(server, "CLIENT LIST"), name);
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
      "may -select; " TRY "/1 ~ DENIED: ': SELECT was refused: NOPERM';"
      "each x -subscribe resetchannels; may $x;"
      TRY " leash-test leash:x ~ DENIED: ': SUBSCRIBE was refused: NOPERM'; next;"
      "may off; " TRY " ~ DENIED: ': AUTH was refused: WRONGPASS'")
