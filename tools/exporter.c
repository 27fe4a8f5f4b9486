/* leash exporter: the locks of a deployment for Prometheus, by HTTP.
 *
 * One thread answers, around one poll(); another one looks (sampler.h), when somebody asks for metrics and what was
 * seen last is older than a second, or than that look took. So a server that does not answer delays nobody who asks
 * for /healthz, and many who ask cost the server hardly more than one.
 *
 *   reading --a request--> waiting for a look --> writing --> draining: until the other side has closed
 *     `--all else, and what is at hand------------^
 *
 * Each state has a time limit, and there is a limit on connections; beyond it they wait in the kernel. */
#include "tools/clock.h"
#include "tools/exposition.h"
#include "tools/http.h"
#include "tools/sampler.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN "127.0.0.1:21637"

enum {
	CONNECTIONS = 64,
	ROWS = 10000, MOST_ROWS = 1000000,
	READ_MS = 3000, WAIT_MS = 60000, WRITE_MS = 30000, DRAIN_MS = 1000,
	FRESH_MS = 1000,
	RETRY_MS = 100, /* after a connection could not be accepted; and how late a time limit may be noticed */
};

/* What was made of a sample; shared by those to whom it is sent. */
struct page {
	size_t uses, size;
	char *bytes;
};

enum state { UNUSED, READING, WAITING, WRITING, DRAINING };

struct connection {
	enum state state;
	int fd;
	int64_t limit_ns;
	bool head_only;
	size_t got, sent, head_size;
	char request[HTTP_REQUEST_MAX + 1];
	char head[HTTP_HEAD_SIZE];
	struct page *page; /* behind the head; in use */
};

struct exporter {
	struct cli cli;
	struct subject subject;
	struct sampler sampler;
	const char *listen;
	int rows;
	int listener;
	int64_t accept_ns; /* not before */
	struct page *page; /* the last one, in use; NULL: there is none yet */
	int64_t page_ns, page_took_ns;
	struct connection connections[CONNECTIONS];
};

/* ---- pages ---- */

static struct page *
use_page(struct page *page)
{
	page->uses++;
	return page;
}

static void
drop_page(struct page *page)
{
	if (page == NULL || --page->uses > 0)
		return;
	free(page->bytes);
	free(page);
}

/* NULL: no memory. */
static struct page *
new_page(void)
{
	struct page *page = calloc(1, sizeof *page);

	if (page != NULL)
		page->uses = 1;
	return page;
}

static struct page *
text_page(const char *text)
{
	struct page *page = new_page();

	if (page == NULL)
		return NULL;
	page->bytes = strdup(text);
	page->size = page->bytes != NULL ? strlen(text) : 0;
	return page;
}

/* Sampler's mutex held. */
static struct page *
make_page(const struct exporter *e)
{
	const struct sampler *s = &e->sampler;
	struct exposition what = {
		.subject = &e->subject, .sample = s->failure.status == LEASH_OK ? s->shown : NULL,
		.samples = s->rounds, .failed = s->failed,
	};
	struct page *page = new_page();
	FILE *to = page != NULL ? open_memstream(&page->bytes, &page->size) : NULL;
	bool fine = to != NULL;

	if (fine) {
		exposition_write(to, &what);
		fine = ferror(to) == 0;
		fine = fclose(to) == 0 && fine;
	}
	if (fine)
		return page;
	drop_page(page);
	return NULL;
}

static bool
is_fresh(const struct exporter *e)
{
	int64_t age_ns = clock_steady_ns() - e->page_ns;

	return e->page != NULL && (age_ns < FRESH_MS * MS || age_ns < e->page_took_ns);
}

/* ---- a connection ---- */

static void
enter(struct connection *c, enum state state, int64_t ms)
{
	c->state = state;
	c->limit_ns = clock_steady_ns() + ms * MS;
}

static void
close_connection(struct connection *c)
{
	close(c->fd);
	drop_page(c->page);
	c->page = NULL;
	c->state = UNUSED;
}

/* Takes the page's use. */
static void
answer(struct connection *c, int status, const char *type, struct page *page)
{
	if (page == NULL) {
		close_connection(c); /* no memory */
		return;
	}
	c->page = page;
	c->sent = 0;
	c->head_size = http_head(c->head, status, type, page->size);
	enter(c, WRITING, WRITE_MS);
}

static void
answer_metrics(const struct exporter *e, struct connection *c)
{
	answer(c, 200, "text/plain; version=0.0.4", e->page != NULL ? use_page(e->page) : text_page(""));
}

static void
obey(struct exporter *e, struct connection *c, struct http_request request)
{
	c->head_only = request.head_only;
	switch (request.asks) {
	case HTTP_NOTHING_YET:
		break;
	case HTTP_METRICS:
		if (is_fresh(e)) {
			answer_metrics(e, c);
			break;
		}
		enter(c, WAITING, WAIT_MS);
		sampler_hurry(&e->sampler);
		break;
	case HTTP_HEALTH:
		answer(c, 200, "text/plain", text_page("ok\n"));
		break;
	case HTTP_NOT_FOUND:
		answer(c, 404, "text/plain", text_page("there are /metrics and /healthz\n"));
		break;
	case HTTP_OTHER_METHOD:
		answer(c, 405, "text/plain", text_page("only GET and HEAD are answered\n"));
		break;
	default:
		answer(c, 400, "text/plain", text_page("the request is not understood\n"));
	}
}

static void
read_request(struct exporter *e, struct connection *c)
{
	ssize_t n = recv(c->fd, c->request + c->got, HTTP_REQUEST_MAX - c->got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_connection(c);
		return;
	}
	c->got += (size_t)n;
	c->request[c->got] = '\0';
	obey(e, c, http_read(c->request, c->got));
}

static void
write_answer(struct connection *c)
{
	size_t body = c->head_only ? 0 : c->page->size;
	bool in_head = c->sent < c->head_size;
	const char *from = in_head ? c->head + c->sent : c->page->bytes + (c->sent - c->head_size);
	size_t left = in_head ? c->head_size - c->sent : body - (c->sent - c->head_size);
	ssize_t n = send(c->fd, from, left, MSG_NOSIGNAL | (in_head && body > 0 ? MSG_MORE : 0));

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close_connection(c);
		return;
	}
	if (n > 0)
		c->sent += (size_t)n;
	if (c->sent < c->head_size + body)
		return;
	shutdown(c->fd, SHUT_WR); /* closed with something unread, it would take the answer back */
	enter(c, DRAINING, DRAIN_MS);
}

static void
drain(struct connection *c)
{
	char nobody_reads_this[4096];
	ssize_t n = recv(c->fd, nobody_reads_this, sizeof nobody_reads_this, 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_connection(c);
}

static void
serve(struct exporter *e, struct connection *c, short events)
{
	if (clock_steady_ns() >= c->limit_ns && c->state == WAITING)
		answer(c, 503, "text/plain", text_page("scanning all locks takes too long\n"));
	else if (clock_steady_ns() >= c->limit_ns)
		close_connection(c);
	else if (events == 0)
		return;
	else if (c->state == READING)
		read_request(e, c);
	else if (c->state == WRITING)
		write_answer(c);
	else if (c->state == DRAINING)
		drain(c);
	else if ((events & (POLLERR | POLLHUP)) != 0)
		close_connection(c);
}

/* ---- the loop ---- */

static struct connection *
find_unused(struct exporter *e)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (e->connections[i].state == UNUSED)
			return &e->connections[i];
	return NULL;
}

static void
accept_one(struct exporter *e)
{
	struct connection *c = find_unused(e);
	int fd = accept4(e->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		e->accept_ns = clock_steady_ns() + RETRY_MS * MS; /* no descriptors: it would be ready again at once */
	if (fd < 0)
		return;
	c->fd = fd;
	c->got = 0;
	c->head_only = false;
	enter(c, READING, READ_MS);
}

/* A look has ended. What that says is kept, and sent to all who wait for it. */
static void
take_news(struct exporter *e)
{
	struct page *page;
	eventfd_t news;

	eventfd_read(e->sampler.event, &news);
	pthread_mutex_lock(&e->sampler.mutex);
	page = make_page(e);
	e->page_took_ns = e->sampler.shown != NULL ? e->sampler.shown->scan_ns : 0;
	pthread_mutex_unlock(&e->sampler.mutex);
	if (page == NULL)
		cli_say(&e->cli, CLI_ERROR, "out of memory for what was seen");
	drop_page(e->page);
	e->page = page;
	e->page_ns = clock_steady_ns();
	for (int i = 0; i < CONNECTIONS; i++)
		if (e->connections[i].state == WAITING)
			answer_metrics(e, &e->connections[i]);
}

static short
events_of(const struct connection *c)
{
	return c->state == WRITING ? POLLOUT : c->state == WAITING ? 0 : POLLIN;
}

/* Only those that are there: poll() refuses more than the process may have open. */
static void
wait_once(struct exporter *e)
{
	struct pollfd fds[CONNECTIONS + 2];
	struct connection *polled[CONNECTIONS];
	bool takes = find_unused(e) != NULL && clock_steady_ns() >= e->accept_ns;
	size_t n = 0;

	fds[0] = (struct pollfd){.fd = takes ? e->listener : -1, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = e->sampler.event, .events = POLLIN};
	for (struct connection *c = e->connections; c < e->connections + CONNECTIONS; c++) {
		if (c->state == UNUSED)
			continue;
		fds[n + 2] = (struct pollfd){.fd = c->fd, .events = events_of(c)};
		polled[n++] = c;
	}
	if (poll(fds, n + 2, takes && n == 0 ? -1 : RETRY_MS) < 0)
		return;
	if (fds[1].revents != 0)
		take_news(e);
	for (size_t i = 0; i < n; i++)
		if (polled[i]->state != UNUSED) /* the news may have ended it */
			serve(e, polled[i], fds[i + 2].revents);
	if (fds[0].revents != 0)
		accept_one(e);
}

/* ---- the beginning ---- */

/* "HOST:PORT", "[::1]:PORT", ":PORT" for all addresses. False: that is none. */
static bool
split_address(const char *text, char host[static 256], const char **port)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon != NULL ? (size_t)(colon - text) : 0;
	bool brackets = n >= 2 && text[0] == '[' && text[n - 1] == ']';

	if (colon == NULL || n >= 256 || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535 || (!brackets && memchr(text, ':', n) != NULL))
		return false;
	snprintf(host, 256, "%.*s", (int)(brackets ? n - 2 : n), text + brackets);
	*port = colon + 1;
	return true;
}

static int
listen_at(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);
	int error;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void
say_where(const struct exporter *e)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getsockname(e->listener, (struct sockaddr *)&address, &size) != 0 ||
	    getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	cli_say(&e->cli, CLI_INFO, strchr(host, ':') != NULL ? "http://[%s]:%s/metrics" : "http://%s:%s/metrics", host,
	        port);
}

/* CLI_GO_ON, or what to exit with; then it has been told. */
static int
begin_listening(struct exporter *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
	char host[256], shown[80];
	const char *port;
	int error;

	cli_show_word(shown, sizeof shown, e->listen);
	if (!split_address(e->listen, host, &port))
		return cli_usage(&e->cli, "--listen: '%s' is not an address: write HOST:PORT, as " LISTEN " or [::1]:21637",
		                 shown);
	error = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found);
	if (error != 0)
		return cli_fail(&e->cli, EXIT_NO_SERVER, "--listen: '%s': %s", shown, gai_strerror(error));
	e->listener = listen_at(found);
	error = errno;
	freeaddrinfo(found);
	if (e->listener < 0)
		return cli_fail(&e->cli, EXIT_NO_SERVER, "--listen: '%s': %s", shown, strerror(error));
	return CLI_GO_ON;
}

/* One that is away now may come; one that refuses us will not change its mind. */
static int
reach(struct exporter *e)
{
	leash_error err;

	if (subject_reach(&e->subject, &err) == LEASH_OK)
		return CLI_GO_ON;
	if (err.status != LEASH_UNAVAILABLE)
		return cli_fail_with(&e->cli, &err);
	cli_say(&e->cli, CLI_WARNING, "%s; retrying when somebody asks", err.text);
	return CLI_GO_ON;
}

static void
end(int signal)
{
	_exit(EXIT_BY_SIGNAL + signal);
}

/* Also as process 1 of a container, which gets no signal that it has no handler for. Nothing is held. */
static int
run_exporter(struct exporter *e)
{
	struct sigaction action = {.sa_handler = end};
	int status = begin_listening(e);

	if (status == CLI_GO_ON)
		status = reach(e);
	if (status == CLI_GO_ON)
		status = sampler_start(&e->sampler, &e->subject, FRESH_MS, (struct order){.by = RANK_NAME},
		                       (size_t)e->rows);
	if (status != CLI_GO_ON)
		return status;
	sampler_pause(&e->sampler, true); /* it looks when it is hurried */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	say_where(e);
	for (;;)
		wait_once(e);
}

static const struct cli_option options[] = {
	{.letter = 'l', .name = "listen", .value = "HOST:PORT", .take = cli_take_text,
	 .at = offsetof(struct exporter, listen),
	 .help = "where (default " LISTEN "; [::1]:PORT for IPv6, :PORT for all addresses)"},
	{.name = "rows", .value = "N", .take = cli_take_number, .at = offsetof(struct exporter, rows), .least = 1,
	 .most = MOST_ROWS, .help = "only the first N locks by name have samples of their own (default 10000); "
	                            "leash_locks_left_out counts the others"},
	{.name = NULL},
};

static int
run(const struct command *command, int argc, char **argv)
{
	struct exporter *e = calloc(1, sizeof *e);
	int status;

	if (e == NULL)
		return EXIT_INTERNAL;
	e->listen = LISTEN;
	e->rows = ROWS;
	e->listener = -1;
	status = cli_read(e, command, argc, argv);
	if (status == CLI_GO_ON)
		status = cli_only_pattern(&e->cli, argc, argv);
	if (status == CLI_GO_ON)
		status = cli_check_server(&e->cli);
	if (status == CLI_GO_ON) {
		subject_begin(&e->subject, &e->cli, argv[optind]);
		status = run_exporter(e);
		subject_close(&e->subject);
	}
	if (e->listener >= 0)
		close(e->listener);
	free(e);
	return status;
}

static const struct cli_group groups[] = {{"Options", options, 0}, {.options = NULL}};

const struct command command_exporter = {
	.name = "exporter",
	.summary = "the locks that are held, for Prometheus",
	.usage = "[PATTERN]",
	.about = "Serve Prometheus by HTTP: GET /metrics returns all locks that are held, of every kind; /healthz returns "
	         "200 while it runs. PATTERN is a glob over names, as in the shell: 'nightly-*' (quote it).\n"
	         "It looks at the server when somebody asks, and repeats that answer for a second. When the server is "
	         "away, leash_up is 0, and it retries. There is no password and no TLS: whoever can reach the port can "
	         "read the names of all locks. It runs until a signal ends it.\n",
	.groups = groups,
	.notes = "Exit: 64 usage; 69 it cannot listen there, or the server refuses; 128+N.\n",
	.operands = A_PATTERN,
	.run = run,
};
