/* See connects.h. */
#include "tests/redis/connects.h"

#include "base/clock.h"
#include "tests/support/await.h"
#include "tests/support/socket.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the resolver, in the place of the system's ---- */

static struct {
	pthread_mutex_t mutex; /* guards all of these */
	pthread_cond_t changed;
	char says[128];        /* of any name ending in .test: numeric addresses; or an error, and errno EIO */
	bool hangs;            /* does not answer until this is false again */
} names = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static atomic_uint asked, inside;

int
getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
	static const struct {
		const char *name;
		int error;
	} errors[] = {{"NONAME", EAI_NONAME}, {"SYSTEM", EAI_SYSTEM}, {"MEMORY", EAI_MEMORY}, {"AGAIN", EAI_AGAIN}};
	struct addrinfo **end = list, numeric = *hints;
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	char says[sizeof names.says], *rest;

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (hints->ai_flags & AI_NUMERICHOST || strstr(host, ".test") == NULL)
		return real(host, service, hints, list);
	pthread_mutex_lock(&names.mutex);
	asked++;
	inside++;
	while (names.hangs)
		pthread_cond_wait(&names.changed, &names.mutex);
	inside--;
	strcpy(says, names.says);
	pthread_mutex_unlock(&names.mutex);

	errno = EIO;
	for (size_t i = 0; i < COUNT(errors); i++)
		if (strcmp(says, errors[i].name) == 0)
			return errors[i].error;
	numeric.ai_flags |= AI_NUMERICHOST;
	*list = NULL;
	for (char *address = strtok_r(says, " ", &rest); address != NULL; address = strtok_r(NULL, " ", &rest)) {
		if (real(address, service, &numeric, end) != 0)
			abort();
		while (*end != NULL)
			end = &(*end)->ai_next;
	}
	return *list != NULL ? 0 : EAI_NONAME;
}

DEED(resolves)
{
	pthread_mutex_lock(&names.mutex);
	names.hangs = strcmp(word[1], "hangs") == 0;
	snprintf(names.says, sizeof names.says, "%s", seen_words(word + 1 + names.hangs));
	pthread_cond_broadcast(&names.changed);
	pthread_mutex_unlock(&names.mutex);
}

SEES(asked, seen_number(asked))
SEES(resolving, seen_number(inside))

/* ---- puppets ---- */

static struct puppet puppets[2] = {{.fd = -1}, {.fd = -1}};

struct puppet *
puppet_of(const char *name)
{
	return &puppets[place_of(name, (const char *[]){"p", "q"}, 2)];
}

static void
puppet_hang_up(struct puppet *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

static void
stop_puppet(struct puppet *p)
{
	if (p->says == NULL)
		return;
	puppet_hang_up(p);
	close(p->listener);
	free(p->says);
	p->says = NULL;
}

static void
tell_puppet(struct puppet *p, const char *says)
{
	free(p->says);
	p->says = malloc(16 * strlen(says) + 1); /* {} are six bytes */
	p->size = scenes_wire(p->says, says, NULL);
}

DEED(puppet)
{
	struct puppet *p = puppet_of(word[1]);
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number_of(word[4], 0))};
	const char *address = *word[3] != '\0' ? word[3] : "127.0.0.1";
	socklen_t size = sizeof in;

	stop_puppet(p);
	*p = (struct puppet){.fd = -1};
	tell_puppet(p, word[2]);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(p->listener >= 0);
	setsockopt(p->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(p->listener, 16), 0);
	assert_int_equal(getsockname(p->listener, (struct sockaddr *)&in, &size), 0);
	p->port = ntohs(in.sin_port);
	let(word[1][0], seen_number(p->port));
}

DOES(says, tell_puppet(puppet_of(word[1]), word[2]))

DEED(manner)
{
	struct puppet *p = puppet_of(word[1]);

	for (char **at = word + 2; **at != '\0'; at++) {
		p->at_once |= strcmp(*at, "at_once") == 0;
		p->closes |= strcmp(*at, "closes") == 0;
		p->echoes |= strcmp(*at, "echoes") == 0;
		p->drip = strspn(*at, "0123456789") > 0 ? number_of(*at, 0) * LSH_MS + 1 : p->drip;
	}
}

DOES(hang_up, puppet_hang_up(puppet_of(word[1])))
DOES(stop, stop_puppet(puppet_of(word[1])))
SEES(accepted, seen_number(puppet_of(word[1])->accepted))
SEES(said, seen_number(puppet_of(word[1])->said))

static void
step_puppet(struct puppet *p)
{
	int fd = p->says != NULL ? socket_accept(p->listener) : -1;
	char heard[4096];
	ssize_t n;

	if (fd >= 0) {
		puppet_hang_up(p);
		p->fd = fd;
		p->accepted++;
		p->said = 0;
		p->heard = p->at_once;
	}
	if (p->fd < 0)
		return;
	while ((n = recv(p->fd, heard, sizeof heard, 0)) > 0) {
		p->heard = true;
		if (p->echoes)
			send(p->fd, heard, (size_t)n, MSG_NOSIGNAL);
	}
	explicit_bzero(heard, sizeof heard); /* it may have been a password */
	while (p->heard && p->said < p->size && (p->drip == 0 || await_now_ns() >= p->next)) {
		n = send(p->fd, p->says + p->said, p->drip == 0 ? p->size - p->said : 1, MSG_NOSIGNAL);
		if (n <= 0)
			break;
		p->said += (size_t)n;
		p->next = await_now_ns() + p->drip;
	}
	if (p->closes && p->heard && p->said == p->size)
		puppet_hang_up(p);
}

/* Is there any? */
bool
step_puppets(void)
{
	step_puppet(&puppets[0]);
	step_puppet(&puppets[1]);
	return puppets[0].says != NULL || puppets[1].says != NULL;
}

/* ---- a connector, driven to its end ---- */

struct lsh_uri dialed;
struct lsh_connector *connector;
struct lsh_hello hello = {.stream = LSH_NO_STREAM};
leash_error err;
static int last_errno;

void
open_dial(const char *text, const char *name, const char *channel)
{
	close_dial();
	if (lsh_uri_parse(&dialed, text, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	connector = lsh_connector_new(&dialed, LSH_WANT_SERVER, name, channel);
	assert_non_null(connector);
}

void
close_dial(void)
{
	close_stream();
	lsh_connector_free(connector);
	connector = NULL;
	lsh_uri_clear(&dialed);
}

void
close_stream(void)
{
	if (hello.stream.fd >= 0)
		lsh_stream_close(&hello.stream);
}

enum lsh_progress
step(void)
{
	hello = (struct lsh_hello){.stream = LSH_NO_STREAM};
	memset(&err, 0, sizeof err);
	return lsh_connector_step(connector, &hello, &err);
}

struct pollfd
dial_poll(int64_t *until)
{
	struct pollfd polled = {.fd = -1};

	*until = LSH_NEVER;
	lsh_connector_poll(connector, &polled, until);
	return polled;
}

void
wait_for_dial(int64_t deadline, bool shortly)
{
	int64_t until, now = lsh_now_ns();
	struct pollfd p = dial_poll(&until);

	assert_true(until <= deadline);
	poll(&p, 1, shortly ? 1 : until < now ? 1 : (int)((until - now) / LSH_MS + 1));
}

static enum lsh_progress
go_on(int64_t deadline)
{
	enum lsh_progress progress;

	for (bool there = step_puppets(); (progress = step()) == LSH_WAIT; there = step_puppets())
		wait_for_dial(deadline, there);
	return progress;
}

enum lsh_progress
attempt(int64_t deadline)
{
	close_stream();
	lsh_connector_start(connector, deadline);
	return go_on(deadline);
}

int64_t
ample(void)
{
	return await_limit_ns(30);
}

static int64_t
until(const char *ms)
{
	return *ms != '\0' ? lsh_now_ns() + number_of(ms, 0) * LSH_MS : ample();
}

const char *
seen_progress(enum lsh_progress progress)
{
	last_errno = err.sys_errno;
	if (progress != LSH_FAILED)
		return progress == LSH_DONE ? "OK" : "wait";
	assert_int_equal(hello.stream.fd, -1);
	return seen_end(err.status, &err);
}

DOES(dial, open_dial(word[1], *word[2] == '\0' ? "leash-test" : strcmp(word[2], "nameless") == 0 ? NULL : word[2],
                     *word[3] != '\0' ? word[3] : NULL))

SEES(attempt, seen_progress(attempt(until(word[1]))))
SEES(try, (verb_dial(word), seen_progress(attempt(ample()))))

VERB(begin)
{
	close_stream();
	lsh_connector_start(connector, until(word[1]));
	return seen_progress(step());
}

void
await_readable(int fd)
{
	assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(30000 * await_slowness())), 1);
}

DOES(readable, await_readable(dial_poll(&(int64_t){0}).fd))
SEES(go_on, seen_progress(go_on(LSH_NEVER)))
DOES(close, close_dial())
VERB(errno) { return strerrorname_np(last_errno); } /* which is a macro */

SEES(free_port, seen_number(socket_free_port()))

/* ---- what was made of a hello ---- */

SEES(version, seen("%06x", hello.version))
SEES(time, seen_number(hello.server_us))

VERB(address)
{
	struct sockaddr_in in;

	assert_int_equal(getpeername(hello.stream.fd, (struct sockaddr *)&in, &(socklen_t){sizeof in}), 0);
	return seen("%s", inet_ntoa(in.sin_addr));
}

VERB(found)
{
	assert_int_equal(attempt(ample()), LSH_DONE);
	const char *is = verb_address(word);
	close_stream();
	play("hang_up p; hang_up q");
	return is;
}

static char heard[512];
static size_t heard_size;

DEED(ask)
{
	heard_size = 0;
	assert_int_equal(send(hello.stream.fd, word[1], strlen(word[1]), MSG_NOSIGNAL), (ssize_t)strlen(word[1]));
}

VERB(heard)
{
	ssize_t n = recv(hello.stream.fd, heard + heard_size, sizeof heard - 1 - heard_size, MSG_DONTWAIT);

	heard_size += n > 0 ? (size_t)n : 0;
	heard[heard_size] = '\0';
	return heard;
}

/* ---- real servers ---- */

static struct server *other;

/* The last hello was said by the server, whose time is never behind what is made of it, and was that soon before. */
DEED(check)
{
	struct server *s = other != NULL ? other : server;
	int64_t at = lsh_now_ns(), seconds, us;

	play("redis INFO server ~ run_id:%s\r\n redis_version:%u.%u.%u\r\n", hello.run_id, hello.version >> 16,
	     hello.version >> 8 & 255, hello.version & 255);
	assert_int_equal(strlen(hello.run_id), LSH_RUN_ID_SIZE - 1);
	assert_true(hello.version >= 0x060200 && !hello.cluster && hello.uptime_ms >= 0 && hello.received_ns <= at);
	assert_int_equal(sscanf(server_text(s, "TIME"), "%" SCNd64 " %" SCNd64, &seconds, &us), 2);
	us += seconds * 1000000;
	assert_true(hello.server_us == 0 || (us - hello.server_us + 1 >= (at - hello.received_ns) / 1000 &&
	                                     us - hello.server_us < 60 * 1000000LL));
}

SEES(redis, server_text(other != NULL ? other : server, seen_words(word + 1)))

struct server *
serve(struct server *s)
{
	server_stop(other);
	other = s != server ? s : NULL;
	let('s', seen_number(server_port(s)));
	let('u', server_socket(s));
	return s;
}

const char *const *
arguments_of(char **word)
{
	static const char *args[WORDS + 1];
	int n = 0;

	for (; *word[n] != '\0'; n++)
		args[n] = word[n];
	args[n] = NULL;
	return args;
}

DOES(serve, serve(strcmp(word[1], "no_port") == 0 ? server_start(arguments_of(word + 2))
                                                  : server_start_tcp(arguments_of(word + 1))))

void
begin_connects(void)
{
	serve(server);
}

void
end_connects(void)
{
	close_dial();
	play("stop p; stop q");
	serve(server);
}
