/* Greetings of real servers: who they say they are, whom they let in, and with what reason they refuse. */
#include "tests/redis/connects.h"

#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ask over the connection that was made, and await an answer of exactly `answer`. */
static void
check_says(const char *ask, const char *answer)
{
	size_t size = 0, n = strlen(answer);
	char said[512];

	assert_true(n < sizeof said);
	assert_int_equal(send(hello.stream.fd, ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
	while (size < n) {
		ssize_t some;

		await_readable(hello.stream.fd);
		some = recv(hello.stream.fd, said + size, n - size, 0);
		assert_true(some > 0);
		size += (size_t)some;
	}
	assert_memory_equal(said, answer, n);
	assert_int_equal(recv(hello.stream.fd, said, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static int
option(int level, int name)
{
	int value = -1;

	assert_int_equal(getsockopt(hello.stream.fd, level, name, &value, &(socklen_t){sizeof value}), 0);
	return value;
}

GROUP(start_tcp_server, stop_server);

SENTENCE(a_hello_over_a_unix_socket_tells_who_the_server_is)
{
	assert_int_equal(dial_to(server_uri(server), "leash-test-1", NULL), LSH_DONE);
	check_hello();
	assert_true(hello.server_us > 0);
	assert_true(fcntl(hello.stream.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	check_says("CLIENT GETNAME\r\n", "$12\r\nleash-test-1\r\n");
	close(hello.stream.fd);
}

SENTENCE(a_hello_over_tcp_tells_who_the_server_is)
{
	assert_int_equal(dial_to(server_uri_tcp(server), "leash-test-2", NULL), LSH_DONE);
	check_hello();
	assert_true(fcntl(hello.stream.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.stream.fd, F_GETFL) & O_NONBLOCK);
	assert_true(option(IPPROTO_TCP, TCP_NODELAY));
	assert_true(option(SOL_SOCKET, SO_KEEPALIVE));
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPIDLE), 10);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.stream.fd);
}

SENTENCE(a_dial_may_be_used_again_and_may_have_no_name)
{
	int fds[3];

	open_dial(server_uri(server), NULL, NULL);
	for (size_t i = 0; i < COUNT(fds); i++) {
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DONE);
		check_hello();
		fds[i] = hello.stream.fd;
		check_says("PING\r\n", "+PONG\r\n");
	}
	for (size_t i = 0; i < COUNT(fds); i++)
		close(fds[i]);
	close_dial();
}

/* Every system knows it, but for one that was stripped of /etc/hosts. */
SENTENCE(localhost_is_found_if_the_system_knows_it)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	char text[64];

	snprintf(text, sizeof text, "redis://localhost:%d", server_port(server));
	if (getaddrinfo("localhost", "1", &hints, &list) != 0) {
		check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": its name cannot be resolved: ");
		return;
	}
	freeaddrinfo(list);
	assert_int_equal(dial_to(text, NULL, NULL), LSH_DONE);
	check_hello();
	close(hello.stream.fd);
}

SENTENCE(a_subscription_is_confirmed_before_the_dial_is_done)
{
	assert_int_equal(dial_to(server_uri_tcp(server), "leash-test", "leash:some-client"), LSH_DONE);
	check_hello();
	assert_int_equal(hello.server_us, 0);
	assert_int_equal(server_integer(server, "PUBLISH %s %s", "leash:some-client", "g token 1"), 1);
	check_says("", "*3\r\n$7\r\nmessage\r\n$17\r\nleash:some-client\r\n$9\r\ng token 1\r\n");
	close(hello.stream.fd);
}

SENTENCE(the_database_is_selected_but_not_for_a_subscription)
{
	char text[128];

	server_text(server, "SET %s %s", "where", "0");
	snprintf(text, sizeof text, "%s/5", server_uri_tcp(server));
	assert_int_equal(dial_to(text, "leash-test", NULL), LSH_DONE);
	check_says("EXISTS where\r\n", ":0\r\n");
	close(hello.stream.fd);

	snprintf(text, sizeof text, "%s/16383", server_uri_tcp(server));
	assert_int_equal(dial_to(text, "leash-test", "channel"), LSH_DONE);
	close(hello.stream.fd);
}

SENTENCE(a_database_that_is_not_there_is_invalid)
{
	char text[128];

	snprintf(text, sizeof text, "unix://%s?db=1234", server_socket(server));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_INVALID, "?db=1234: there is no such database: SELECT was refused: ERR");
	check_contains(err.text, server_uri(server));
}

SENTENCE(a_hello_of_any_length_is_sent_to_its_end)
{
	enum { LONG = 4000000 };
	char *name = malloc(LONG + 1), *found;

	memset(name, 'n', LONG);
	name[LONG] = '\0';
	assert_int_equal(dial_to(server_uri(server), name, NULL), LSH_DONE);
	check_hello();
	found = strstr(server_text(server, "CLIENT LIST"), name);
	assert_non_null(found);
	assert_int_not_equal(found[LONG], 'n');
	close(hello.stream.fd);
	free(name);
}

SENTENCE(a_password_opens_and_a_wrong_one_does_not)
{
	struct server *closed = server_start_tcp((const char *const[]){"--requirepass", "open sesame", NULL});
	char text[256];

	snprintf(text, sizeof text, "redis://:open%%20sesame@127.0.0.1:%d", server_port(closed));
	assert_int_equal(dial_to(text, "leash-test", NULL), LSH_DONE);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.stream.fd);
	snprintf(text, sizeof text, "unix://default:open%%20sesame@%s", server_socket(closed));
	assert_int_equal(dial_to(text, "leash-test", "channel"), LSH_DONE);
	close(hello.stream.fd);

	snprintf(text, sizeof text, "redis://:barley-groats@127.0.0.1:%d", server_port(closed));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_DENIED, ": AUTH was refused: WRONGPASS");
	check_contains(err.text, server_uri_tcp(closed));
	assert_null(strstr(err.text, "barley"));

	check_failed(dial_to(server_uri_tcp(closed), "leash-test", NULL), LEASH_DENIED, "the server wants a password");
	check_contains(err.text, server_uri_tcp(closed));
	check_failed(dial_to(server_uri_tcp(closed), NULL, NULL), LEASH_DENIED, "the server wants a password");
	check_failed(dial_to(server_uri_tcp(closed), NULL, "channel"), LEASH_DENIED, "the server wants a password");
	server_stop(closed);
}

SENTENCE(a_password_that_nobody_asked_for_is_denied)
{
	char text[128];

	snprintf(text, sizeof text, "redis://:hunter2hunter2@127.0.0.1:%d", server_port(server));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_DENIED, ": AUTH was refused: ERR AUTH <password> called without any password");
	assert_null(strstr(err.text, "hunter2"));
}

SENTENCE(a_password_is_not_shown_when_the_server_repeats_it)
{
	struct server *renamed = server_start_tcp((const char *const[]){"--rename-command", "AUTH", "LOGIN", NULL});
	char text[128];

	snprintf(text, sizeof text, "redis://me:hunter2hunter2@127.0.0.1:%d", server_port(renamed));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_DENIED, ": AUTH was refused: ERR unknown command");
	assert_null(strstr(err.text, "hunter2"));
	server_stop(renamed);
}

/* As a user that may do everything but what the rules take away. */
static enum lsh_progress
dial_as_user(const char *rule, const char *path, const char *channel)
{
	char text[128];

	server_text(server, "ACL SETUSER worker reset on >pass ~* &* +@all %s", rule);
	snprintf(text, sizeof text, "redis://worker:pass@127.0.0.1:%d%s", server_port(server), path);
	return dial_to(text, "leash-test", channel);
}

SENTENCE(a_user_may_do_without_what_a_hello_does_not_need)
{
	assert_int_equal(dial_as_user("+@all", "", NULL), LSH_DONE);
	check_hello();
	check_says("ACL WHOAMI\r\n", "$6\r\nworker\r\n");
	close(hello.stream.fd);

	assert_int_equal(dial_as_user("-client", "", NULL), LSH_DONE);
	check_hello();
	close(hello.stream.fd);

	assert_int_equal(dial_as_user("-info", "", NULL), LSH_DONE);
	assert_string_equal(hello.run_id, "");
	assert_int_equal(hello.version, 0);
	assert_int_equal(hello.uptime_ms, -1);
	assert_false(hello.cluster);
	assert_true(hello.server_us > 0);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.stream.fd);
}

SENTENCE(a_user_without_a_permission_that_is_needed_is_told_which)
{
	check_failed(dial_as_user("-time", "", NULL), LEASH_DENIED, ": TIME was refused: NOPERM");
	check_failed(dial_as_user("-select", "/1", NULL), LEASH_DENIED, ": SELECT was refused: NOPERM");
	check_failed(dial_as_user("-subscribe", "", "leash:x"), LEASH_DENIED, ": SUBSCRIBE was refused: NOPERM");
	check_failed(dial_as_user("resetchannels", "", "leash:x"), LEASH_DENIED, ": SUBSCRIBE was refused: NOPERM");
	check_failed(dial_as_user("off", "", NULL), LEASH_DENIED, ": AUTH was refused: WRONGPASS");
}

SENTENCE(a_server_that_is_full_is_unavailable)
{
	struct server *full = server_start_tcp(NULL);

	server_text(full, "CONFIG SET maxclients 1"); /* over a connection that stays */
	check_failed(dial_to(server_uri_tcp(full), "leash-test", NULL), LEASH_UNAVAILABLE,
		     ": the connection was refused: ERR max number of clients reached");
	check_failed(dial_to(server_uri(full), "leash-test", "channel"), LEASH_UNAVAILABLE, "ERR max number of clients reached");
	server_stop(full);
}

SENTENCE(a_cluster_says_that_it_is_one)
{
	struct server *cluster = server_start((const char *const[]){"--cluster-enabled", "yes", NULL});
	char text[128];

	assert_int_equal(dial_to(server_uri(cluster), "leash-test", NULL), LSH_DONE);
	assert_true(hello.cluster);
	close(hello.stream.fd);
	snprintf(text, sizeof text, "%s?db=1", server_uri(cluster));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_INVALID, "?db=1: there is no such database: SELECT was refused: ERR SELECT is not allowed in cluster mode");
	server_stop(cluster);
}
