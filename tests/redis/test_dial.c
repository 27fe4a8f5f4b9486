/* Dialing: real servers, servers that say odd things or nothing, names that cannot be resolved or have moved. */
#include "redis/dial.h"

#include "base/clock.h"
#include "redis/resolve.h"
#include "tests/support/await.h"
#include "tests/support/server.h"
#include "tests/support/socket.h"
#include "tests/support/sweep.h"

#include <leash/memory.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- the resolver, in the place of the system's ---- */

enum { NAMES = 4 };

static struct {
	pthread_mutex_t mutex;   /* guards all of these */
	pthread_cond_t changed;
	const char *address[NAMES]; /* what any name ending in .test is: up to four numeric addresses */
	int error;               /* or this, and errno EIO */
	bool hangs;              /* does not answer until this is false again */
	unsigned asked, inside;
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int
real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	return next(host, service, hints, list);
}

int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	const char *address[NAMES];
	struct addrinfo numeric, **end = list;
	int error;

	if (hints->ai_flags & AI_NUMERICHOST || strstr(host, ".test") == NULL)
		return real_getaddrinfo(host, service, hints, list);

	pthread_mutex_lock(&names.mutex);
	names.asked++;
	names.inside++;
	while (names.hangs)
		pthread_cond_wait(&names.changed, &names.mutex);
	names.inside--;
	error = names.error;
	memcpy(address, names.address, sizeof address);
	pthread_mutex_unlock(&names.mutex);

	if (error != 0) {
		errno = EIO;
		return error;
	}
	numeric = *hints;
	numeric.ai_flags |= AI_NUMERICHOST;
	*list = NULL;
	for (int i = 0; i < NAMES && address[i] != NULL; i++) {
		if (real_getaddrinfo(address[i], service, &numeric, end) != 0)
			abort();
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *list != NULL ? 0 : EAI_NONAME;
}

static void
names_are(const char *first, const char *second, int error, bool hangs)
{
	pthread_mutex_lock(&names.mutex);
	names.address[0] = first;
	names.address[1] = second;
	names.address[2] = NULL;
	names.error = error;
	names.hangs = hangs;
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.mutex);
}

static unsigned
names_asked(void)
{
	unsigned n;

	pthread_mutex_lock(&names.mutex);
	n = names.asked;
	pthread_mutex_unlock(&names.mutex);
	return n;
}

static unsigned
names_inside(void)
{
	unsigned n;

	pthread_mutex_lock(&names.mutex);
	n = names.inside;
	pthread_mutex_unlock(&names.mutex);
	return n;
}

/* ---- connect(), so that a socket can be made to meet itself ---- */

static bool meet_yourself;

int
connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (meet_yourself && bind(fd, address, size) != 0)
		return -1;
	return (int)syscall(SYS_connect, fd, address, size);
}

/* ---- the clock, so that time passes at once ---- */

static _Atomic int64_t clock_ahead_s;

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = (int)syscall(SYS_clock_gettime, clock, t);

	if (result == 0 && clock == CLOCK_BOOTTIME)
		t->tv_sec += clock_ahead_s;
	return result;
}

/* ---- memory that runs out ---- */

static unsigned fail_at; /* the how manieth allocation from now on is refused; 0: none. Of the main thread */

static void *
failing_alloc(size_t size)
{
	return fail_at != 0 && --fail_at == 0 ? NULL : malloc(size);
}

static const leash_memory memory = {failing_alloc, realloc, free};

/* ---- a server that says what it was told to ---- */

struct fake {
	int listener, fd;
	int port;
	char uri[64];
	const char *says;   /* once it has heard something */
	size_t size, said;
	bool at_once;       /* says it without having heard anything */
	bool closes;        /* when it has said it */
	bool echoes;        /* says what it hears */
	int64_t drip;       /* ns from byte to byte; 0: all at once */
	int64_t next;
	bool heard;
	unsigned accepted;
};

static void
fake_at(struct fake *f, const char *address, int port, const char *says)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	socklen_t size = sizeof in;

	memset(f, 0, sizeof *f);
	f->fd = -1;
	f->says = says;
	f->size = says != NULL ? strlen(says) : 0;
	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(f->listener >= 0);
	setsockopt(f->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(f->listener, 16), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&in, &size), 0);
	f->port = ntohs(in.sin_port);
	snprintf(f->uri, sizeof f->uri, "redis://%s:%d", address, f->port);
}

static void
fake_start(struct fake *f, const char *says)
{
	fake_at(f, "127.0.0.1", 0, says);
}

static void
fake_hang_up(struct fake *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void
fake_stop(struct fake *f)
{
	fake_hang_up(f);
	close(f->listener);
}

static void
fake_step(struct fake *f)
{
	char heard[4096];
	ssize_t n;

	if (f->fd < 0) {
		f->fd = socket_accept(f->listener);
		if (f->fd < 0)
			return;
		f->accepted++;
		f->said = 0;
		f->heard = f->at_once;
	}
	while ((n = recv(f->fd, heard, sizeof heard, 0)) > 0) {
		f->heard = true;
		if (f->echoes)
			send(f->fd, heard, (size_t)n, MSG_NOSIGNAL);
	}
	while (f->heard && f->said < f->size && (f->drip == 0 || await_now_ns() >= f->next)) {
		n = send(f->fd, f->says + f->said, f->drip == 0 ? f->size - f->said : 1, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		f->said += (size_t)n;
		f->next = await_now_ns() + f->drip;
	}
	if (f->closes && f->heard && f->said == f->size)
		fake_hang_up(f);
}

/* ---- a dial, driven to its end ---- */

static struct lsh_uri uri;
static struct lsh_dial *dial;
static struct lsh_hello hello;
static leash_error err;

static void
open_dial(const char *text, const char *name, const char *channel)
{
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_OK);
	dial = lsh_dial_new(&uri, name, channel);
	assert_non_null(dial);
}

static void
close_dial(void)
{
	lsh_dial_free(dial);
	dial = NULL;
	lsh_uri_clear(&uri);
}

/* A step that cannot go on has to say when it wants to. */
static enum lsh_dialed
step(void)
{
	memset(&hello, 0, sizeof hello);
	hello.fd = -1;
	memset(&err, 0, sizeof err);
	return lsh_dial_step(dial, &hello, &err);
}

static void
wait_for_dial(int64_t deadline, bool shortly)
{
	int64_t until, left;
	struct pollfd p = lsh_dial_poll(dial, &until);

	assert_true(until <= deadline);
	left = until - lsh_now_ns();
	if (left < 0)
		left = 0;
	poll(&p, 1, shortly ? 1 : (int)(left / LSH_MS + 1));
}

static enum lsh_dialed
attempt(int64_t deadline, struct fake *f, struct fake *g)
{
	enum lsh_dialed dialed;

	lsh_dial_start(dial, deadline);
	while ((dialed = step()) == LSH_DIAL_WAIT) {
		wait_for_dial(deadline, f != NULL || g != NULL);
		if (f != NULL)
			fake_step(f);
		if (g != NULL)
			fake_step(g);
	}
	return dialed;
}

/* For what does not take all its time. */
static int64_t
ample(void)
{
	return await_limit_ns(30);
}

static enum lsh_dialed
dial_to(const char *text, const char *name, const char *channel)
{
	enum lsh_dialed dialed;

	open_dial(text, name, channel);
	dialed = attempt(ample(), NULL, NULL);
	close_dial();
	return dialed;
}

static void
check_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" says nothing of \"%s\"", text, part);
}

static void
check_failed(enum lsh_dialed dialed, leash_status status, const char *part)
{
	if (dialed != LSH_DIAL_FAILED)
		fail_msg("it did not fail with %s, %s", leash_status_name(status), part);
	if (err.status != status)
		fail_msg("%s is not what was expected, %s: %s", leash_status_name(err.status), leash_status_name(status), err.text);
	check_contains(err.text, part);
	assert_int_equal(hello.fd, -1);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
}

static void
await_readable(int fd)
{
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(30000 * await_slowness())), 1);
}

/* Ask over the connection that was made, and await an answer of exactly `answer`. */
static void
check_says(const char *ask, const char *answer)
{
	size_t size = 0, n = strlen(answer);
	char said[512];

	assert_true(n < sizeof said);
	assert_int_equal(send(hello.fd, ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
	while (size < n) {
		ssize_t some;

		await_readable(hello.fd);
		some = recv(hello.fd, said + size, n - size, 0);
		assert_true(some > 0);
		size += (size_t)some;
	}
	assert_memory_equal(said, answer, n);
	assert_int_equal(recv(hello.fd, said, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static int
option(int level, int name)
{
	int value = -1;

	assert_int_equal(getsockopt(hello.fd, level, name, &value, &(socklen_t){sizeof value}), 0);
	return value;
}

enum { FDS = 1024 };

/* Which descriptors this process has, and how many. */
static unsigned
list_fds(bool has[static FDS])
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	memset(has, 0, FDS * sizeof *has);
	while ((entry = readdir(folder)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(folder) || fd >= FDS) /* valgrind has its own far above */
			continue;
		has[fd] = true;
		count++;
	}
	closedir(folder);
	return count;
}

static unsigned
count_fds(void)
{
	bool has[FDS];

	return list_fds(has);
}

/* All but those in `known` are for this process alone. */
static void
check_cloexec(const bool known[static FDS])
{
	bool has[FDS];

	list_fds(has);
	for (int fd = 0; fd < FDS; fd++)
		if (has[fd] && !known[fd])
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* ---- real servers ---- */

static struct server *server; /* unix socket and TCP, no password */

static int
start_server(void **state)
{
	(void)state;
	server = server_start_tcp(NULL);
	return 0;
}

static int
stop_server(void **state)
{
	(void)state;
	server_stop(server);
	return 0;
}

static void
check_hello(void)
{
	const char *info = server_text(server, "INFO server");
	char run_id[64], version[64];
	int64_t at, server_us;
	redisReply *time;

	snprintf(run_id, sizeof run_id, "run_id:%s\r\n", hello.run_id);
	assert_int_equal(strlen(hello.run_id), LSH_RUN_ID_SIZE - 1);
	check_contains(info, run_id);
	snprintf(version, sizeof version, "redis_version:%u.%u.%u\r\n", hello.version >> 16, hello.version >> 8 & 255, hello.version & 255);
	check_contains(info, version);
	assert_true(hello.version >= 0x060200);
	assert_false(hello.cluster);
	assert_true(hello.uptime_ms >= 0);

	/* the server's time is never behind what is made of the hello, and was that soon before */
	at = lsh_now_ns();
	time = server_command(server, "TIME");
	server_us = atoll(time->element[0]->str) * 1000000 + atoll(time->element[1]->str);
	freeReplyObject(time);
	assert_true(hello.received_ns <= at);
	if (hello.server_us != 0) {
		assert_true(hello.server_us + (at - hello.received_ns) / 1000 <= server_us + 1);
		assert_true(server_us - hello.server_us < 60 * 1000000LL);
	}
}

static void
a_hello_over_a_unix_socket_tells_who_the_server_is(void **state)
{
	(void)state;
	assert_int_equal(dial_to(server_uri(server), "leash-test-1", NULL), LSH_DIAL_DONE);
	check_hello();
	assert_true(hello.server_us > 0);
	assert_true(fcntl(hello.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.fd, F_GETFL) & O_NONBLOCK);
	check_says("CLIENT GETNAME\r\n", "$12\r\nleash-test-1\r\n");
	close(hello.fd);
}

static void
a_hello_over_tcp_tells_who_the_server_is(void **state)
{
	(void)state;
	assert_int_equal(dial_to(server_uri_tcp(server), "leash-test-2", NULL), LSH_DIAL_DONE);
	check_hello();
	assert_true(fcntl(hello.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(hello.fd, F_GETFL) & O_NONBLOCK);
	assert_true(option(IPPROTO_TCP, TCP_NODELAY));
	assert_true(option(SOL_SOCKET, SO_KEEPALIVE));
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPIDLE), 10);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
	assert_int_equal(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.fd);
}

static void
a_dial_may_be_used_again_and_may_have_no_name(void **state)
{
	int fds[3];

	(void)state;
	open_dial(server_uri(server), NULL, NULL);
	for (size_t i = 0; i < COUNT(fds); i++) {
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
		check_hello();
		fds[i] = hello.fd;
		check_says("PING\r\n", "+PONG\r\n");
	}
	for (size_t i = 0; i < COUNT(fds); i++)
		close(fds[i]);
	close_dial();
}

/* Every system knows it, but for one that was stripped of /etc/hosts. */
static void
localhost_is_found_if_the_system_knows_it(void **state)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	char text[64];

	(void)state;
	snprintf(text, sizeof text, "redis://localhost:%d", server_port(server));
	if (getaddrinfo("localhost", "1", &hints, &list) != 0) {
		check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": its name cannot be resolved: ");
		return;
	}
	freeaddrinfo(list);
	assert_int_equal(dial_to(text, NULL, NULL), LSH_DIAL_DONE);
	check_hello();
	close(hello.fd);
}

static void
a_subscription_is_confirmed_before_the_dial_is_done(void **state)
{
	(void)state;
	assert_int_equal(dial_to(server_uri_tcp(server), "leash-test", "leash:some-client"), LSH_DIAL_DONE);
	check_hello();
	assert_int_equal(hello.server_us, 0);
	assert_int_equal(server_integer(server, "PUBLISH %s %s", "leash:some-client", "g token 1"), 1);
	check_says("", "*3\r\n$7\r\nmessage\r\n$17\r\nleash:some-client\r\n$9\r\ng token 1\r\n");
	close(hello.fd);
}

static void
the_database_is_selected_but_not_for_a_subscription(void **state)
{
	char text[128];

	(void)state;
	server_text(server, "SET %s %s", "where", "0");
	snprintf(text, sizeof text, "%s/5", server_uri_tcp(server));
	assert_int_equal(dial_to(text, "leash-test", NULL), LSH_DIAL_DONE);
	check_says("EXISTS where\r\n", ":0\r\n");
	close(hello.fd);

	snprintf(text, sizeof text, "%s/16383", server_uri_tcp(server));
	assert_int_equal(dial_to(text, "leash-test", "channel"), LSH_DIAL_DONE);
	close(hello.fd);
}

static void
a_database_that_is_not_there_is_invalid(void **state)
{
	char text[128];

	(void)state;
	snprintf(text, sizeof text, "unix://%s?db=1234", server_socket(server));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_INVALID, "there is no database 1234: SELECT was refused: ERR");
	check_contains(err.text, server_uri(server));
}

static void
a_hello_of_any_length_is_sent_to_its_end(void **state)
{
	enum { LONG = 4000000 };
	char *name = malloc(LONG + 1), *found;

	(void)state;
	memset(name, 'n', LONG);
	name[LONG] = '\0';
	assert_int_equal(dial_to(server_uri(server), name, NULL), LSH_DIAL_DONE);
	check_hello();
	found = strstr(server_text(server, "CLIENT LIST"), name);
	assert_non_null(found);
	assert_int_not_equal(found[LONG], 'n');
	close(hello.fd);
	free(name);
}

static void
a_password_opens_and_a_wrong_one_does_not(void **state)
{
	struct server *closed = server_start_tcp((const char *const[]){"--requirepass", "open sesame", NULL});
	char text[256];

	(void)state;
	snprintf(text, sizeof text, "redis://:open%%20sesame@127.0.0.1:%d", server_port(closed));
	assert_int_equal(dial_to(text, "leash-test", NULL), LSH_DIAL_DONE);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.fd);
	snprintf(text, sizeof text, "unix://default:open%%20sesame@%s", server_socket(closed));
	assert_int_equal(dial_to(text, "leash-test", "channel"), LSH_DIAL_DONE);
	close(hello.fd);

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

static void
a_password_that_nobody_asked_for_is_denied(void **state)
{
	char text[128];

	(void)state;
	snprintf(text, sizeof text, "redis://:hunter2hunter2@127.0.0.1:%d", server_port(server));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_DENIED, ": AUTH was refused: ERR AUTH <password> called without any password");
	assert_null(strstr(err.text, "hunter2"));
}

static void
a_password_is_not_shown_when_the_server_repeats_it(void **state)
{
	struct server *renamed = server_start_tcp((const char *const[]){"--rename-command", "AUTH", "LOGIN", NULL});
	char text[128];

	(void)state;
	snprintf(text, sizeof text, "redis://me:hunter2hunter2@127.0.0.1:%d", server_port(renamed));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_DENIED, ": AUTH was refused: ERR unknown command");
	assert_null(strstr(err.text, "hunter2"));
	server_stop(renamed);
}

/* As a user that may do everything but what the rules take away. */
static enum lsh_dialed
dial_as_user(const char *rule, const char *path, const char *channel)
{
	char text[128];

	server_text(server, "ACL SETUSER worker reset on >pass ~* &* +@all %s", rule);
	snprintf(text, sizeof text, "redis://worker:pass@127.0.0.1:%d%s", server_port(server), path);
	return dial_to(text, "leash-test", channel);
}

static void
a_user_may_do_without_what_a_hello_does_not_need(void **state)
{
	(void)state;
	assert_int_equal(dial_as_user("+@all", "", NULL), LSH_DIAL_DONE);
	check_hello();
	check_says("ACL WHOAMI\r\n", "$6\r\nworker\r\n");
	close(hello.fd);

	assert_int_equal(dial_as_user("-client", "", NULL), LSH_DIAL_DONE);
	check_hello();
	close(hello.fd);

	assert_int_equal(dial_as_user("-info", "", NULL), LSH_DIAL_DONE);
	assert_string_equal(hello.run_id, "");
	assert_int_equal(hello.version, 0);
	assert_int_equal(hello.uptime_ms, -1);
	assert_false(hello.cluster);
	assert_true(hello.server_us > 0);
	check_says("PING\r\n", "+PONG\r\n");
	close(hello.fd);
}

static void
a_user_without_a_permission_that_is_needed_is_told_which(void **state)
{
	(void)state;
	check_failed(dial_as_user("-time", "", NULL), LEASH_DENIED, ": TIME was refused: NOPERM");
	check_failed(dial_as_user("-select", "/1", NULL), LEASH_DENIED, ": SELECT was refused: NOPERM");
	check_failed(dial_as_user("-subscribe", "", "leash:x"), LEASH_DENIED, ": SUBSCRIBE was refused: NOPERM");
	check_failed(dial_as_user("resetchannels", "", "leash:x"), LEASH_DENIED, ": SUBSCRIBE was refused: NOPERM");
	check_failed(dial_as_user("off", "", NULL), LEASH_DENIED, ": AUTH was refused: WRONGPASS");
}

static void
a_server_that_is_full_is_unavailable(void **state)
{
	struct server *full = server_start_tcp(NULL);

	(void)state;
	server_text(full, "CONFIG SET maxclients 1"); /* over a connection that stays */
	check_failed(dial_to(server_uri_tcp(full), "leash-test", NULL), LEASH_UNAVAILABLE,
		     ": the connection was refused: ERR max number of clients reached");
	check_failed(dial_to(server_uri(full), "leash-test", "channel"), LEASH_UNAVAILABLE, "ERR max number of clients reached");
	server_stop(full);
}

static void
a_cluster_says_that_it_is_one(void **state)
{
	struct server *cluster;
	char text[128], port[8];

	(void)state;
	snprintf(port, sizeof port, "%d", socket_free_port()); /* of the cluster's own connections */
	cluster = server_start((const char *const[]){"--cluster-enabled", "yes", "--cluster-port", port, NULL});
	assert_int_equal(dial_to(server_uri(cluster), "leash-test", NULL), LSH_DIAL_DONE);
	assert_true(hello.cluster);
	close(hello.fd);
	snprintf(text, sizeof text, "%s?db=1", server_uri(cluster));
	check_failed(dial_to(text, "leash-test", NULL), LEASH_INVALID, "database 1: SELECT was refused: ERR SELECT is not allowed in cluster mode");
	server_stop(cluster);
}

/* ---- nobody there, or nobody who answers ---- */

static void
where_nobody_listens_a_dial_fails_at_once(void **state)
{
	unsigned fds = count_fds();
	char text[128];

	(void)state;
	snprintf(text, sizeof text, "redis://127.0.0.1:%d", socket_free_port());
	check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: Connection refused");
	assert_int_equal(err.sys_errno, ECONNREFUSED);
	check_contains(err.text, text);
	check_failed(dial_to("unix:///nowhere/at/all.sock", NULL, NULL), LEASH_UNAVAILABLE, ": connecting: No such file");
	assert_int_equal(err.sys_errno, ENOENT);
	assert_int_equal(count_fds(), fds);
}

static void
a_server_that_accepts_and_never_answers_is_left_at_the_deadline(void **state)
{
	struct fake f;
	int64_t deadline = lsh_now_ns() + 100 * LSH_MS;

	(void)state;
	fake_start(&f, NULL);
	open_dial(f.uri, "leash-test", NULL);
	check_failed(attempt(deadline, &f, NULL), LEASH_UNAVAILABLE, ": no answer in time");
	assert_int_equal(err.sys_errno, ETIMEDOUT);
	assert_true(lsh_now_ns() >= deadline);
	close_dial();
	fake_stop(&f);
}

static void
a_server_that_drips_is_left_at_the_deadline(void **state)
{
	static const char says[] = "+OK\r\n$1000\r\nrun_id:012345678901234567890123456789";
	struct fake f;
	int64_t deadline;

	(void)state;
	fake_start(&f, says);
	f.drip = 5 * LSH_MS;
	open_dial(f.uri, "leash-test", NULL);
	deadline = lsh_now_ns() + 100 * LSH_MS;
	check_failed(attempt(deadline, &f, NULL), LEASH_UNAVAILABLE, ": no answer in time");
	assert_true(lsh_now_ns() >= deadline);
	assert_true(f.said > 0);
	close_dial();
	fake_stop(&f);
}

/* Connections that are never accepted, until the system takes no more. */
static size_t
fill_backlog(const char *target, int *fds, size_t count)
{
	size_t n = 0;

	while (n < count && (fds[n] = socket_dial(target)) >= 0)
		n++;
	return n;
}

static void
a_host_that_takes_no_connection_is_left_at_the_deadline(void **state)
{
	char target[64], text[64];
	int port, listener = socket_listen_tcp(&port), fds[8];
	int64_t deadline;
	size_t n;

	(void)state;
	assert_int_equal(listen(listener, 0), 0);
	snprintf(target, sizeof target, "127.0.0.1:%d", port);
	snprintf(text, sizeof text, "redis://127.0.0.1:%d", port);
	n = fill_backlog(target, fds, COUNT(fds));
	await_true(poll(&(struct pollfd){.fd = fds[0], .events = POLLOUT}, 1, 0) == 1);
	open_dial(text, NULL, NULL);
	deadline = lsh_now_ns() + 100 * LSH_MS;
	check_failed(attempt(deadline, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: no answer in time");
	assert_int_equal(err.sys_errno, ETIMEDOUT);
	assert_true(lsh_now_ns() >= deadline);
	close_dial();
	while (n > 0)
		close(fds[--n]);
	close(listener);
}

static void
a_unix_socket_whose_queue_is_full_fails_the_attempt(void **state)
{
	char *folder = sweep_folder(), path[128], text[160];
	int listener, fds[64];
	size_t n;

	(void)state;
	snprintf(path, sizeof path, "%s/full.sock", folder);
	snprintf(text, sizeof text, "unix://%s", path);
	listener = socket_listen(path);
	assert_int_equal(listen(listener, 1), 0);
	n = fill_backlog(path, fds, COUNT(fds));
	assert_true(n < COUNT(fds));
	check_failed(dial_to(text, NULL, NULL), LEASH_UNAVAILABLE, ": connecting: too many others wait to be let in");
	assert_int_equal(err.sys_errno, EAGAIN);
	while (n > 0)
		close(fds[--n]);
	close(listener);
	sweep_remove(folder);
}

static void
a_socket_that_met_itself_is_no_server(void **state)
{
	enum lsh_dialed dialed;
	char text[64];

	(void)state;
	snprintf(text, sizeof text, "redis://:password@127.0.0.1:%d", socket_free_port());
	meet_yourself = true;
	dialed = dial_to(text, NULL, NULL);
	meet_yourself = false;
	check_failed(dialed, LEASH_UNAVAILABLE, ": connecting: Connection refused");
}

/* ---- odd answers ---- */

#define SETNAME_OK "+OK\r\n"
#define INFO_OK "$22\r\nredis_version:7.0.15\r\n\r\n"
#define MEMORY_OK "$13\r\nmaxmemory:0\r\n\r\n"
#define TIME_OK "*2\r\n$10\r\n1700000000\r\n$1\r\n7\r\n"

static void
odd_answers_are_told_from_one_another(void **state)
{
	static const struct {
		const char *says;
		bool closes;
		leash_status status;
		const char *part;
	} cases[] = {
		{SETNAME_OK INFO_OK MEMORY_OK TIME_OK, false, LEASH_OK, ""},
		{"-ERR unknown command 'CLIENT'\r\n-ERR unknown command 'INFO'\r\n-ERR unknown command 'INFO'\r\n" TIME_OK, false, LEASH_OK, ""},
		{"-LOADING Redis is loading the dataset in memory\r\n", false, LEASH_UNAVAILABLE, ": CLIENT SETNAME was refused: LOADING Redis is loading"},
		{SETNAME_OK "-LOADING Redis is loading\r\n", false, LEASH_UNAVAILABLE, ": INFO was refused: LOADING"},
		{SETNAME_OK INFO_OK MEMORY_OK "-BUSY Redis is busy running a script\r\n", false, LEASH_UNAVAILABLE, ": TIME was refused: BUSY"},
		{SETNAME_OK INFO_OK MEMORY_OK "-NOAUTH Authentication required.\r\n", false, LEASH_DENIED, "wants a password: TIME was refused: NOAUTH Authentication required"},
		{"-DENIED Redis is running in protected mode because\r\n", true, LEASH_DENIED, ": the connection was refused: DENIED Redis is running"},
		{"-ERR max number of clients reached\r\n", true, LEASH_UNAVAILABLE, ": the connection was refused: ERR max number of clients reached"},
		{SETNAME_OK INFO_OK MEMORY_OK "-ERR unknown command 'TIME'\r\n", false, LEASH_DENIED, ": TIME was refused: ERR unknown command"},
		{"-NONSENSE \x1b[31mred\r\n", false, LEASH_PROTOCOL, "NONSENSE \\x1b[31mred"},
		{"", true, LEASH_UNAVAILABLE, ": CLIENT SETNAME: the server closed the connection"},
		{SETNAME_OK, true, LEASH_UNAVAILABLE, ": INFO: the server closed the connection"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n$10\r\n17000", true, LEASH_UNAVAILABLE, ": TIME: the server closed the connection"},
		{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", true, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not what a Redis server says: "},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", false, LEASH_PROTOCOL, "not what a Redis server says"},
		{"*1073741823\r\n", false, LEASH_PROTOCOL, "not what a Redis server says"},
		{":1\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"$2\r\nOK\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"$-1\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"*0\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{"+QUEUED\r\n", false, LEASH_PROTOCOL, ": CLIENT SETNAME: the answer is not"},
		{SETNAME_OK "+OK\r\n", false, LEASH_PROTOCOL, ": INFO: the answer is not"},
		{SETNAME_OK ":1\r\n", false, LEASH_PROTOCOL, ": INFO: the answer is not"},
		{SETNAME_OK "*1\r\n$1\r\na\r\n", false, LEASH_PROTOCOL, ": INFO: the answer is not"},
		{SETNAME_OK "$-1\r\n", false, LEASH_PROTOCOL, ": INFO: the answer is not"},
		{SETNAME_OK INFO_OK "+OK\r\n", false, LEASH_PROTOCOL, ": INFO memory: the answer is not"},
		{SETNAME_OK INFO_OK "-NOPERM this user has no permissions to run the 'info' command\r\n" TIME_OK, false, LEASH_OK, ""},
		{SETNAME_OK INFO_OK MEMORY_OK "+OK\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK ":1700000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n:1700000000\r\n:7\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*1\r\n$10\r\n1700000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\n1\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n$14\r\n99999999999999\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
		{SETNAME_OK INFO_OK MEMORY_OK "*2\r\n$0\r\n\r\n$1\r\n0\r\n", false, LEASH_PROTOCOL, ": TIME: the answer is not"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (int at_once = 0; at_once < 2; at_once++) {
			struct fake f;
			enum lsh_dialed dialed;

			fake_start(&f, cases[i].says);
			f.closes = cases[i].closes;
			f.at_once = at_once && cases[i].closes;
			open_dial(f.uri, "leash-test", NULL);
			dialed = attempt(ample(), &f, NULL);
			if (cases[i].status == LEASH_OK) {
				assert_int_equal(dialed, LSH_DIAL_DONE);
				assert_int_equal(hello.server_us, INT64_C(1700000000000007));
				close(hello.fd);
			} else {
				check_failed(dialed, cases[i].status, cases[i].part);
				check_contains(err.text, f.uri);
			}
			close_dial();
			fake_stop(&f);
		}
}

static void
half_an_answer_and_what_came_of_it_are_forgotten_with_the_attempt(void **state)
{
	struct fake f;

	(void)state;
	fake_start(&f, SETNAME_OK "$22\r\nredis_ver");
	f.closes = true;
	open_dial(f.uri, "leash-test", NULL);
	check_failed(attempt(ample(), &f, NULL), LEASH_UNAVAILABLE, ": INFO: the server closed the connection");
	f.says = SETNAME_OK INFO_OK MEMORY_OK TIME_OK;
	f.size = strlen(f.says);
	f.closes = false;
	assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_DONE);
	assert_int_equal(hello.version, 0x07000f);
	close(hello.fd);
	fake_stop(&f);
	check_failed(attempt(ample(), NULL, NULL), LEASH_UNAVAILABLE, ": connecting: Connection refused");
	close_dial();
}

static void
what_info_says_is_read_for_what_it_is(void **state)
{
	static const struct {
		const char *info, *run_id;
		unsigned version;
		int64_t uptime_ms;
		bool cluster;
	} cases[] = {
		{"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:0123456789abcdef0123456789abcdef01234567\r\nuptime_in_seconds:11\r\n",
		 "0123456789abcdef0123456789abcdef01234567", 0x07000f, 10000, false},
		{"redis_version:8.10\r\nredis_mode:cluster\r\nuptime_in_seconds:1\r\n", "", 0x080a00, 0, true},
		{"redis_version:7.2.4\r\nserver_mode:cluster\r\nvalkey_version:8.0.1\r\nuptime_in_seconds:0\r\n", "", 0x070204, 0, true},
		{"redis_version:255.255.999-rc1.2\r\nredis_mode:clustered\r\n", "", 0xffffff, -1, false},
		{"redis_version:\r\nrun_id:\r\nuptime_in_seconds:\r\n", "", 0, -1, false},
		{"redis_version:six\r\nuptime_in_seconds:-5\r\nredis_mode:\r\n", "", 0, 0, false},
		{"uptime_in_seconds:-\r\n", "", 0, -1, false},
		{"not_redis_version:7.0.0\r\nnot_run_id:abc\r\n", "", 0, -1, false},
		{"run_id:0123456789abcdef0123456789abcdef012345678\r\nuptime_in_seconds:99999999999999\r\n", "", 0, (INT64_C(1) << 30) * 1000 - 1000, false},
		{"run_id:no such thing\r\nredis_version", "", 0, -1, false},
		{"", "", 0, -1, false},
	};
	char says[512];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fake f;

		snprintf(says, sizeof says, SETNAME_OK "$%zu\r\n%s\r\n" MEMORY_OK TIME_OK, strlen(cases[i].info), cases[i].info);
		fake_start(&f, says);
		open_dial(f.uri, "leash-test", NULL);
		assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_DONE);
		assert_string_equal(hello.run_id, cases[i].run_id);
		assert_int_equal(hello.version, cases[i].version);
		assert_int_equal(hello.uptime_ms, cases[i].uptime_ms);
		assert_int_equal(hello.cluster, cases[i].cluster);
		close(hello.fd);
		close_dial();
		fake_stop(&f);
	}
}

static void
what_info_says_of_eviction_is_read_for_what_it_is(void **state)
{
	static const struct {
		const char *info, *eviction;
	} cases[] = {
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
	char says[512];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fake f;

		snprintf(says, sizeof says, SETNAME_OK INFO_OK "$%zu\r\n%s\r\n" TIME_OK, strlen(cases[i].info), cases[i].info);
		fake_start(&f, says);
		open_dial(f.uri, "leash-test", NULL);
		assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_DONE);
		assert_string_equal(hello.eviction, cases[i].eviction);
		close(hello.fd);
		close_dial();
		fake_stop(&f);
	}
}

static void
a_subscription_is_to_the_channel_that_was_asked_for(void **state)
{
	static const char *const cases[] = {
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\ncj\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$3\r\nch2\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n:1\r\n",
		SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n$1\r\n1\r\n",
		SETNAME_OK INFO_OK "*2\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n",
		SETNAME_OK INFO_OK "+OK\r\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fake f;

		fake_start(&f, cases[i]);
		open_dial(f.uri, "leash-test", "ch");
		check_failed(attempt(ample(), &f, NULL), LEASH_PROTOCOL, ": SUBSCRIBE: the answer is not what a Redis server says");
		close_dial();
		fake_stop(&f);
	}
}

/* A message may come right behind the confirmation, whole or half: it is for the receiver of the connection. */
static void
what_comes_behind_the_hello_is_left_in_the_socket(void **state)
{
	static const char hello_said[] = SETNAME_OK INFO_OK "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n";
	static const char more[] = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$6\r\ng\r\nt 1\r\n*3\r\n$7\r\nmess";
	char says[sizeof hello_said + sizeof more];

	(void)state;
	for (size_t n = 0; n <= sizeof more - 1; n++) {
		struct fake f;
		char left[sizeof more];

		snprintf(says, sizeof says, "%s%.*s", hello_said, (int)n, more);
		fake_start(&f, says);
		open_dial(f.uri, "leash-test", "ch");
		assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_DONE);
		for (size_t got = 0; got < n;) {
			ssize_t some;

			await_readable(hello.fd);
			some = recv(hello.fd, left + got, sizeof left - got, 0);
			assert_true(some > 0);
			got += (size_t)some;
			if (got == n)
				assert_memory_equal(left, more, n);
		}
		assert_int_equal(recv(hello.fd, left, 1, 0), -1);
		close(hello.fd);
		close_dial();
		fake_stop(&f);
	}
}

static void
a_server_that_repeats_what_it_hears_does_not_get_the_password_shown(void **state)
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

	(void)state;
	for (size_t i = 0; i < COUNT(says); i++) {
		struct fake f;

		fake_start(&f, says[i]);
		f.echoes = says[i] == NULL;
		snprintf(text, sizeof text, "redis://:hunter2hunter2@127.0.0.1:%d", f.port);
		open_dial(text, "leash-test", NULL);
		assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_FAILED);
		assert_true(err.status == LEASH_DENIED || err.status == LEASH_PROTOCOL);
		assert_null(strstr(err.text, "unter2"));
		if (i == 3)
			check_contains(err.text, ": AUTH was refused: (its words are not shown)");
		close_dial();
		fake_stop(&f);
	}
}

/* ---- names and addresses ---- */

static void
a_name_that_does_not_exist_is_unavailable(void **state)
{
	(void)state;
	names_are(NULL, NULL, EAI_NONAME, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_UNAVAILABLE, "redis://nowhere.test:6379: its name cannot be resolved: Name or service not known");
	names_are(NULL, NULL, EAI_SYSTEM, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_UNAVAILABLE, ": its name cannot be resolved: Input/output error");
	assert_int_equal(err.sys_errno, EIO);
	names_are(NULL, NULL, EAI_MEMORY, false);
	check_failed(dial_to("redis://nowhere.test", NULL, NULL), LEASH_NO_MEMORY, ": its name cannot be resolved: ");
}

static void
the_second_address_is_tried_when_the_first_is_dead(void **state)
{
	char text[64];

	(void)state;
	names_are("127.0.0.2", "127.0.0.1", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	assert_int_equal(dial_to(text, NULL, NULL), LSH_DIAL_DONE);
	check_hello();
	close(hello.fd);
}

static void
an_address_that_swallows_everything_leaves_time_for_the_next(void **state)
{
	struct fake hole;
	char text[64];

	(void)state;
	fake_at(&hole, "127.0.0.2", server_port(server), NULL);
	names_are("127.0.0.2", "127.0.0.1", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(await_limit_ns(2), &hole, NULL), LSH_DIAL_DONE);
	assert_int_equal(hole.accepted, 1);
	check_hello();
	close(hello.fd);
	close_dial();
	fake_stop(&hole);
}

static void
the_next_address_is_tried_after_a_stranger_but_not_after_a_refused_password(void **state)
{
	struct fake f, g;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, "SSH-2.0-OpenSSH_9.2p1\r\n");
	fake_at(&g, "127.0.0.3", f.port, "+OK\r\n" SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	snprintf(text, sizeof text, "redis://:password@two.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), &f, &g), LSH_DIAL_DONE);
	close(hello.fd);
	close_dial();
	assert_int_equal(g.accepted, 1);
	fake_hang_up(&f);
	fake_hang_up(&g);

	f.says = "-WRONGPASS invalid username-password pair\r\n";
	f.size = strlen(f.says);
	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), &f, &g), LEASH_DENIED, ": AUTH was refused: WRONGPASS");
	close_dial();
	assert_int_equal(g.accepted, 1);
	fake_stop(&f);
	fake_stop(&g);
}

static void
when_all_addresses_fail_the_one_that_got_furthest_is_named(void **state)
{
	struct fake f;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, "-LOADING Redis is loading\r\n");
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	snprintf(text, sizeof text, "redis://two.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), &f, NULL), LEASH_UNAVAILABLE, ": CLIENT SETNAME was refused: LOADING");
	close_dial();
	fake_stop(&f);

	open_dial(text, "leash-test", NULL);
	check_failed(attempt(ample(), NULL, NULL), LEASH_UNAVAILABLE, ": connecting to 127.0.0.3: Connection refused");
	close_dial();
}

/* Dial, and tell the last byte of the address that was found. */
static int
dialed_address(struct fake *f, struct fake *g)
{
	struct sockaddr_in in;

	assert_int_equal(attempt(ample(), f, g), LSH_DIAL_DONE);
	assert_int_equal(getpeername(hello.fd, (struct sockaddr *)&in, &(socklen_t){sizeof in}), 0);
	close(hello.fd);
	fake_hang_up(f);
	fake_hang_up(g);
	return ntohl(in.sin_addr.s_addr) & 255;
}

static void
the_address_that_worked_last_is_tried_first_unless_its_connection_was_brief(void **state)
{
	struct fake f, g;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	fake_at(&g, "127.0.0.3", f.port, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	snprintf(text, sizeof text, "redis://two.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	names_are("127.0.0.3", NULL, 0, false);
	assert_int_equal(dialed_address(&f, &g), 3);

	names_are("127.0.0.2", "127.0.0.3", 0, false);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 3);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 3);

	/* the server at 3 turns out to be a replica: it is left at once */
	assert_int_equal(dialed_address(&f, &g), 2);
	clock_ahead_s += 60;
	assert_int_equal(dialed_address(&f, &g), 2);
	assert_int_equal(dialed_address(&f, &g), 3);
	assert_int_equal(dialed_address(&f, &g), 2);

	/* but if there is no other, it is found all the same */
	fake_stop(&g);
	fake_start(&g, NULL);
	assert_int_equal(dialed_address(&f, &g), 2);
	names_are("127.0.0.2", NULL, 0, false);
	assert_int_equal(dialed_address(&f, &g), 2);
	close_dial();
	fake_stop(&f);
	fake_stop(&g);
}

static void
a_name_that_moved_is_followed_although_the_old_server_is_there(void **state)
{
	struct fake f, g;
	char text[64];
	int64_t until;

	(void)state;
	fake_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	fake_at(&g, "127.0.0.3", f.port, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", NULL, 0, false);
	snprintf(text, sizeof text, "redis://moving.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), &f, &g), LSH_DIAL_DONE);
	close(hello.fd);
	fake_hang_up(&f);

	names_are("127.0.0.3", NULL, 0, true);
	lsh_dial_start(dial, ample());
	assert_int_equal(step(), LSH_DIAL_WAIT);
	names_are("127.0.0.3", NULL, 0, false);
	/* however long the answer takes: it is there before the next step */
	await_readable(lsh_dial_poll(dial, &until).fd);
	while (step() == LSH_DIAL_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		fake_step(&f);
		fake_step(&g);
	}
	assert_true(hello.fd >= 0);
	close(hello.fd);
	assert_int_equal(f.accepted, 1);
	assert_int_equal(g.accepted, 1);
	close_dial();
	fake_stop(&f);
	fake_stop(&g);
}

static void
while_a_name_is_not_resolved_the_address_that_worked_last_serves(void **state)
{
	unsigned asked, fds = count_fds();
	char text[64];

	(void)state;
	names_are("127.0.0.1", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", server_port(server));
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
	close(hello.fd);

	asked = names_asked();
	names_are(NULL, NULL, 0, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(attempt(await_limit_ns(4), NULL, NULL), LSH_DIAL_DONE);
		check_hello();
		close(hello.fd);
	}
	assert_int_equal(names_asked(), asked + 1); /* the one that hangs was enough */

	names_are(NULL, NULL, EAI_AGAIN, false);
	await_true(names_inside() == 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
		close(hello.fd);
	}
	close_dial();
	await_true(count_fds() == fds);
}

static void
an_answer_that_comes_late_is_still_used(void **state)
{
	struct fake f;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), &f, NULL), LSH_DIAL_DONE);
	close(hello.fd);
	fake_stop(&f);

	/* the old address is dead, and the new one is said after it was found so */
	names_are(NULL, NULL, 0, true);
	lsh_dial_start(dial, ample());
	assert_int_equal(step(), LSH_DIAL_WAIT);
	for (int64_t until, begin = lsh_now_ns(); lsh_dial_poll(dial, &until), until - begin < LSH_S;) {
		wait_for_dial(LSH_NEVER, false);
		assert_int_equal(step(), LSH_DIAL_WAIT);
	}
	fake_at(&f, "127.0.0.3", f.port, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", "127.0.0.3", 0, false);
	while (step() == LSH_DIAL_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		fake_step(&f);
	}
	assert_true(hello.fd >= 0);
	close(hello.fd);
	close_dial();
	fake_stop(&f);
}

static void
an_answer_that_comes_between_two_attempts_serves_the_next(void **state)
{
	unsigned asked = names_asked();
	struct fake f, g;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	fake_at(&g, "127.0.0.3", f.port, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(dialed_address(&f, &g), 2);

	names_are("127.0.0.3", NULL, 0, true);
	assert_int_equal(dialed_address(&f, &g), 2);
	await_true(names_asked() == asked + 2);
	names_are("127.0.0.3", NULL, 0, false);
	await_true(names_inside() == 0);
	fake_stop(&f); /* so that it makes no difference if the answer is still on its way */
	assert_int_equal(attempt(ample(), &g, NULL), LSH_DIAL_DONE);
	close(hello.fd);
	assert_int_equal(g.accepted, 1);
	assert_int_equal(names_asked(), asked + 2);
	close_dial();
	fake_stop(&g);
}

/* The server that it was is stuck, and the resolver slow: both leave time for the one that it is now. */
static void
an_old_address_that_swallows_everything_leaves_time_for_the_answer(void **state)
{
	struct fake f, g;
	char text[64];

	(void)state;
	fake_at(&f, "127.0.0.2", 0, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	fake_at(&g, "127.0.0.3", f.port, SETNAME_OK INFO_OK MEMORY_OK TIME_OK);
	names_are("127.0.0.2", NULL, 0, false);
	snprintf(text, sizeof text, "redis://slow.test:%d", f.port);
	open_dial(text, "leash-test", NULL);
	assert_int_equal(dialed_address(&f, &g), 2);

	f.size = 0;
	clock_ahead_s += 60; /* that connection was not brief */
	names_are("127.0.0.2", "127.0.0.3", 0, true);
	lsh_dial_start(dial, await_limit_ns(2));
	while (step() == LSH_DIAL_WAIT) {
		wait_for_dial(LSH_NEVER, true);
		fake_step(&f);
		fake_step(&g);
		if (f.accepted == 2)
			names_are("127.0.0.2", "127.0.0.3", 0, false);
	}
	assert_true(hello.fd >= 0);
	close(hello.fd);
	assert_int_equal(f.accepted, 2);
	assert_int_equal(socket_accept(f.listener), -1); /* not once more: it has had its time */
	assert_int_equal(g.accepted, 1);
	close_dial();
	fake_stop(&f);
	fake_stop(&g);
}

static void
a_resolver_that_hangs_is_left_at_the_deadline_and_ends_by_itself(void **state)
{
	unsigned fds = count_fds(), asked = names_asked();
	int64_t deadline;

	(void)state;
	names_are("127.0.0.1", NULL, 0, true);
	open_dial("redis://hanging.test", NULL, NULL);
	for (int i = 0; i < 3; i++) {
		deadline = lsh_now_ns() + 20 * LSH_MS;
		check_failed(attempt(deadline, NULL, NULL), LEASH_UNAVAILABLE, "redis://hanging.test:6379: its name was not resolved in time");
		assert_int_equal(err.sys_errno, ETIMEDOUT);
		assert_true(lsh_now_ns() >= deadline);
	}
	await_true(names_asked() == asked + 1);

	/* another one is asked when that has taken too long */
	clock_ahead_s += 60;
	assert_int_equal(attempt(lsh_now_ns() + 20 * LSH_MS, NULL, NULL), LSH_DIAL_FAILED);
	await_true(names_asked() == asked + 2);
	close_dial(); /* does not wait */
	assert_int_equal(names_inside(), 2);
	names_are("127.0.0.1", NULL, 0, false);
	await_true(count_fds() == fds);
}

static void
many_names_are_resolved_at_once_and_given_up_at_any_time(void **state)
{
	struct lsh_request *request[16];
	unsigned fds = count_fds();
	int e;

	(void)state;
	for (int round = 0; round < 20; round++) {
		names_are("127.0.0.1", "::1", 0, round % 2 == 0);
		for (size_t i = 0; i < COUNT(request); i++) {
			request[i] = lsh_request_new("some.test", 6379, &e);
			assert_non_null(request[i]);
		}
		for (size_t i = 0; i < COUNT(request) / 2; i++)
			lsh_request_drop(request[i]);
		names_are("127.0.0.1", "::1", 0, false);
		for (size_t i = COUNT(request) / 2; i < COUNT(request); i++) {
			const struct lsh_answer *answer;
			char text[LSH_ADDRESS_TEXT];

			await_readable(lsh_request_fd(request[i]));
			answer = lsh_request_answer(request[i]);
			assert_non_null(answer);
			assert_int_equal(answer->error, 0);
			assert_int_equal(answer->count, 2);
			assert_int_equal(answer->address[0].v4.sin_port, htons(6379));
			lsh_address_show(&answer->address[1], text);
			assert_string_equal(text, "::1");
			lsh_request_drop(request[i]);
		}
	}
	await_true(count_fds() == fds);
}

static void
a_numeric_address_asks_nobody(void **state)
{
	unsigned asked = names_asked();
	struct lsh_address a, b;
	char text[LSH_ADDRESS_TEXT];

	(void)state;
	assert_true(lsh_address_of_number(&a, "127.0.0.1", 1));
	assert_true(lsh_address_of_number(&b, "127.0.0.1", 2));
	assert_false(lsh_address_is(&a, &b));
	assert_true(lsh_address_of_number(&b, "127.0.0.1", 1));
	assert_true(lsh_address_is(&a, &b));
	assert_true(lsh_address_of_number(&a, "2001:db8::1", 6379));
	lsh_address_show(&a, text);
	assert_string_equal(text, "2001:db8::1");
	assert_false(lsh_address_of_number(&a, "some.test", 6379));
	assert_false(lsh_address_of_number(&a, "", 6379));
	assert_int_equal(names_asked(), asked);
}

/* ---- stopping ---- */

/* Stop, or free, after any number of steps: nothing is left open. */
static void
check_stops(const char *text, struct fake *f)
{
	bool known[FDS], ended = false;
	unsigned fds = list_fds(known);

	for (unsigned n = 0; !ended; n++) {
		open_dial(text, "leash-test", n % 2 != 0 ? "ch" : NULL);
		lsh_dial_start(dial, ample());
		for (unsigned i = 0; i < n && !ended; i++) {
			ended = step() != LSH_DIAL_WAIT;
			if (!ended)
				wait_for_dial(LSH_NEVER, f != NULL);
			if (f != NULL)
				fake_step(f);
			check_cloexec(known);
		}
		if (hello.fd >= 0)
			close(hello.fd);
		hello.fd = -1;
		if (n % 3 == 0)
			lsh_dial_stop(dial);
		close_dial();
		if (f != NULL)
			fake_hang_up(f);
		await_true(count_fds() == fds); /* the resolver's thread may have to end */
	}
}

static void
a_dial_that_is_stopped_at_any_step_leaves_nothing_open(void **state)
{
	char text[64];
	struct fake f;

	(void)state;
	names_are("127.0.0.2", "127.0.0.1", 0, false);
	check_stops(server_uri(server), NULL);
	check_stops(server_uri_tcp(server), NULL);
	snprintf(text, sizeof text, "redis://two.test:%d", server_port(server));
	check_stops(text, NULL);
	fake_start(&f, SETNAME_OK INFO_OK MEMORY_OK "+OK\r\n");
	f.drip = 1;
	check_stops(f.uri, &f);
	fake_stop(&f);
}

static void
a_dial_that_was_stopped_can_be_started_again(void **state)
{
	int64_t until;

	(void)state;
	open_dial(server_uri_tcp(server), "leash-test", NULL);
	for (int n = 0; n < 4; n++) {
		lsh_dial_start(dial, ample());
		for (int i = 0; i < n; i++)
			if (step() == LSH_DIAL_DONE)
				close(hello.fd), lsh_dial_start(dial, ample());
		if (n % 2 == 0)
			lsh_dial_stop(dial);
		assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
		check_hello();
		close(hello.fd);
		assert_int_equal(lsh_dial_poll(dial, &until).fd, -1);
		assert_true(until == LSH_NEVER);
	}
	close_dial();
}

/* An abandoned socket throws away what it has not sent yet: the peer of a TCP connection reads a reset. */
static void
a_socket_that_is_discarded_is_reset(void **state)
{
	struct fake f;
	char byte;

	(void)state;
	fake_start(&f, "");
	open_dial(f.uri, "leash-test", NULL);
	lsh_dial_start(dial, ample());
	while (!f.heard) {
		assert_int_equal(step(), LSH_DIAL_WAIT);
		wait_for_dial(LSH_NEVER, true);
		fake_step(&f);
	}
	lsh_dial_stop(dial);
	await_readable(f.fd);
	assert_int_equal(recv(f.fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close_dial();
	fake_stop(&f);
}

static void
a_dial_without_memory_fails_or_does_without(void **state)
{
	char text[64];
	bool done = false;

	(void)state;
	names_are("127.0.0.1", NULL, 0, false);
	snprintf(text, sizeof text, "redis://some.test:%d", server_port(server));
	assert_int_equal(lsh_uri_parse(&uri, text, &err), LEASH_OK);
	for (unsigned n = 1; !done; n++) {
		fail_at = n;
		dial = lsh_dial_new(&uri, "leash-test", "ch");
		if (dial != NULL) {
			done = attempt(ample(), NULL, NULL) == LSH_DIAL_DONE;
			if (done)
				close(hello.fd);
			else
				assert_int_equal(err.status, LEASH_NO_MEMORY);
			lsh_dial_free(dial);
		}
		assert_true(done || fail_at == 0);
		fail_at = 0;
	}
	lsh_uri_clear(&uri);

	/* no memory to ask with, but an address that worked */
	open_dial(text, "leash-test", NULL);
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
	close(hello.fd);
	fail_at = 1;
	assert_int_equal(attempt(ample(), NULL, NULL), LSH_DIAL_DONE);
	assert_int_equal(fail_at, 0);
	close(hello.fd);
	close_dial();
}

#ifndef SANITIZED

/* How often `size` bytes, given as their complements lest they be found here, stand in memory that can be written to. */
static unsigned
count_in_memory(const unsigned char *complement, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned long from, to;
	unsigned found = 0;
	char mode[8], line[512];

	assert_non_null(maps);
	assert_true(mem >= 0);
	while (fgets(line, sizeof line, maps) != NULL) {
		unsigned char *copy;
		ssize_t n;

		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || mode[0] != 'r' || mode[1] != 'w' || to - from > 1 << 28)
			continue;
		copy = malloc(to - from);
		n = pread(mem, copy, to - from, (off_t)from);
		for (ssize_t i = 0; i + (ssize_t)size <= n; i++) {
			size_t j = 0;

			while (j < size && (copy[i + (ssize_t)j] ^ 0xff) == complement[j])
				j++;
			found += j == size;
		}
		sodium_memzero(copy, to - from);
		free(copy);
	}
	close(mem);
	fclose(maps);
	return found;
}

static void
the_password_stays_nowhere_but_in_the_uri(void **state)
{
	enum { LENGTH = 20 };
	unsigned char complement[LENGTH];
	struct fake f;
	char *text = sodium_malloc(128);
	size_t n;

	(void)state;
	for (int what = 0; what < 4; what++) {
		static const char *const says[] = {"+OK\r\n" SETNAME_OK INFO_OK MEMORY_OK TIME_OK, "-WRONGPASS\r\n", "", NULL};

		fake_start(&f, says[what]);
		f.closes = what == 2;
		n = (size_t)snprintf(text, 128, "redis://:");
		for (int i = 0; i < LENGTH; i++) {
			text[n] = (char)('a' + randombytes_uniform(26));
			complement[i] = (unsigned char)text[n++] ^ 0xff;
		}
		snprintf(text + n, 128 - n, "@127.0.0.1:%d", f.port);
		open_dial(text, "leash-test", NULL);
		sodium_memzero(text, 128);
		assert_int_equal(count_in_memory(complement, LENGTH), 1);

		lsh_dial_start(dial, ample());
		while (step() == LSH_DIAL_WAIT && !(what == 3 && f.heard)) {
			wait_for_dial(LSH_NEVER, true);
			if (what != 3 || !f.heard) {
				char bytes[1024];

				/* what it hears it must forget */
				if (f.fd < 0)
					f.fd = socket_accept(f.listener);
				if (f.fd >= 0 && recv(f.fd, bytes, sizeof bytes, 0) > 0)
					f.heard = true;
				sodium_memzero(bytes, sizeof bytes);
				if (f.heard && says[what] != NULL)
					fake_step(&f);
			}
		}
		assert_int_equal(count_in_memory(complement, LENGTH), 1);
		if (hello.fd >= 0)
			close(hello.fd);
		close_dial();
		assert_int_equal(count_in_memory(complement, LENGTH), 0);
		fake_stop(&f);
	}
	sodium_free(text);
}

static void
a_password_that_was_not_sent_to_its_end_is_forgotten_with_the_attempt(void **state)
{
	enum { LENGTH = 20, LONG = 16000000 };
	char *name = malloc(LONG + 1), *text = sodium_malloc(128);
	unsigned char complement[LENGTH];
	struct fake f;
	int64_t until;
	size_t n;

	(void)state;
	memset(name, 'n', LONG);
	name[LONG] = '\0';
	fake_start(&f, NULL);
	n = (size_t)snprintf(text, 128, "redis://:");
	for (int i = 0; i < LENGTH; i++) {
		text[n] = (char)('a' + randombytes_uniform(26));
		complement[i] = (unsigned char)text[n++] ^ 0xff;
	}
	snprintf(text + n, 128 - n, "@127.0.0.1:%d", f.port);
	open_dial(text, name, NULL);
	sodium_memzero(text, 128);
	lsh_dial_start(dial, ample());
	do {
		assert_int_equal(step(), LSH_DIAL_WAIT);
		wait_for_dial(LSH_NEVER, true);
	} while (!(lsh_dial_poll(dial, &until).events & POLLIN)); /* connected, and greeting */
	assert_true(lsh_dial_poll(dial, &until).events & POLLOUT);
	assert_int_equal(count_in_memory(complement, LENGTH), 2);
	lsh_dial_stop(dial);
	assert_int_equal(count_in_memory(complement, LENGTH), 1);
	close_dial();
	fake_stop(&f);
	sodium_free(text);
	free(name);
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_over_a_unix_socket_tells_who_the_server_is),
		cmocka_unit_test(a_hello_over_tcp_tells_who_the_server_is),
		cmocka_unit_test(a_dial_may_be_used_again_and_may_have_no_name),
		cmocka_unit_test(localhost_is_found_if_the_system_knows_it),
		cmocka_unit_test(a_subscription_is_confirmed_before_the_dial_is_done),
		cmocka_unit_test(the_database_is_selected_but_not_for_a_subscription),
		cmocka_unit_test(a_database_that_is_not_there_is_invalid),
		cmocka_unit_test(a_hello_of_any_length_is_sent_to_its_end),
		cmocka_unit_test(a_password_opens_and_a_wrong_one_does_not),
		cmocka_unit_test(a_password_that_nobody_asked_for_is_denied),
		cmocka_unit_test(a_password_is_not_shown_when_the_server_repeats_it),
		cmocka_unit_test(a_user_may_do_without_what_a_hello_does_not_need),
		cmocka_unit_test(a_user_without_a_permission_that_is_needed_is_told_which),
		cmocka_unit_test(a_server_that_is_full_is_unavailable),
		cmocka_unit_test(a_cluster_says_that_it_is_one),
		cmocka_unit_test(where_nobody_listens_a_dial_fails_at_once),
		cmocka_unit_test(a_server_that_accepts_and_never_answers_is_left_at_the_deadline),
		cmocka_unit_test(a_server_that_drips_is_left_at_the_deadline),
		cmocka_unit_test(a_host_that_takes_no_connection_is_left_at_the_deadline),
		cmocka_unit_test(a_unix_socket_whose_queue_is_full_fails_the_attempt),
		cmocka_unit_test(a_socket_that_met_itself_is_no_server),
		cmocka_unit_test(odd_answers_are_told_from_one_another),
		cmocka_unit_test(half_an_answer_and_what_came_of_it_are_forgotten_with_the_attempt),
		cmocka_unit_test(what_info_says_is_read_for_what_it_is),
		cmocka_unit_test(what_info_says_of_eviction_is_read_for_what_it_is),
		cmocka_unit_test(a_subscription_is_to_the_channel_that_was_asked_for),
		cmocka_unit_test(what_comes_behind_the_hello_is_left_in_the_socket),
		cmocka_unit_test(a_server_that_repeats_what_it_hears_does_not_get_the_password_shown),
		cmocka_unit_test(a_name_that_does_not_exist_is_unavailable),
		cmocka_unit_test(the_second_address_is_tried_when_the_first_is_dead),
		cmocka_unit_test(an_address_that_swallows_everything_leaves_time_for_the_next),
		cmocka_unit_test(the_next_address_is_tried_after_a_stranger_but_not_after_a_refused_password),
		cmocka_unit_test(when_all_addresses_fail_the_one_that_got_furthest_is_named),
		cmocka_unit_test(the_address_that_worked_last_is_tried_first_unless_its_connection_was_brief),
		cmocka_unit_test(a_name_that_moved_is_followed_although_the_old_server_is_there),
		cmocka_unit_test(while_a_name_is_not_resolved_the_address_that_worked_last_serves),
		cmocka_unit_test(an_answer_that_comes_late_is_still_used),
		cmocka_unit_test(an_answer_that_comes_between_two_attempts_serves_the_next),
		cmocka_unit_test(an_old_address_that_swallows_everything_leaves_time_for_the_answer),
		cmocka_unit_test(a_resolver_that_hangs_is_left_at_the_deadline_and_ends_by_itself),
		cmocka_unit_test(many_names_are_resolved_at_once_and_given_up_at_any_time),
		cmocka_unit_test(a_numeric_address_asks_nobody),
		cmocka_unit_test(a_dial_that_is_stopped_at_any_step_leaves_nothing_open),
		cmocka_unit_test(a_dial_that_was_stopped_can_be_started_again),
		cmocka_unit_test(a_socket_that_is_discarded_is_reset),
		cmocka_unit_test(a_dial_without_memory_fails_or_does_without),
#ifndef SANITIZED
		cmocka_unit_test(the_password_stays_nowhere_but_in_the_uri),
		cmocka_unit_test(a_password_that_was_not_sent_to_its_end_is_forgotten_with_the_attempt),
#endif
	};

	if (leash_set_memory(&memory) != LEASH_OK)
		return 1;
	return cmocka_run_group_tests_name("dial", tests, start_server, stop_server);
}
