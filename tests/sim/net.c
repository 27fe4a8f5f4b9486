#include "tests/sim/net.h"

#include "tests/sim/fiber.h"
#include "tests/support/frame.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FDS = 1024 };

struct descriptor {
	enum sim_fd kind;
	struct sim_process *process;
	uint64_t count;        /* SIM_EVENT */
	int64_t at;            /* SIM_TIMER: due then */
	struct sim_wire *wire; /* SIM_SOCKET: NULL: not connected */
	int64_t patience;      /* likewise: so long a receive blocks where it may */
};

struct piece {
	struct piece *next;
	size_t size;
	char bytes[];
};

struct way {
	struct piece *first, **last;
	int64_t comes_at;  /* the last piece, at the earliest */
	int64_t held_until; /* nothing comes before */
	size_t under_way;
	bool ends;         /* nothing comes behind what is under way, but the end */
	bool ended;
};

enum state { CONNECTING, UP, FAILED };

struct sim_wire {
	struct sim_wire *next;
	struct sim_process *process;
	struct sim_host *host;
	int fd;                /* -1: the client has closed it */
	enum state state;      /* as the client sees it */
	int error;             /* FAILED: why; 0: the other side has closed it */
	void *speaker;         /* NULL: the server has not accepted it, or has gone */
	struct way to_server, to_client;
	struct bytes in;       /* what the client has not read yet */
	char said[64];         /* what the server said last, if it was no more, */
	size_t said_size;
	int64_t read_at;       /* by the client, last */
	unsigned events;       /* that will come */
	bool forgotten;        /* nothing comes through any more */
};

struct sim_weather sim_weather;

#define each_wire(w, p, h) \
	for (struct sim_wire *w = wires; w != NULL; w = w->next) \
		if (w->process == (p) && w->host == (h))

static struct descriptor descriptors[MOST_FDS];
static struct sim_wire *wires;
static struct sim_host *hosts[SIM_HOSTS];
static int64_t dark_until[SIM_PROCESSES][SIM_HOSTS];

static void arrive_at_server(void *what, uint64_t turn);
static void arrive_at_client(void *what, uint64_t turn);

/* ---- paths ---- */

void
sim_host_open(struct sim_host *host)
{
	hosts[host->number] = host;
}

void
sim_freeze(struct sim_process *process, int64_t ns)
{
	sim_trace("client %d stands still for %lld ms", process->number, (long long)(ns / SIM_MS));
	if (process->frozen_until < sim_now + ns)
		process->frozen_until = sim_now + ns;
	process->stood_still = true;
	process->tired = 0;
}

void
sim_darken(const struct sim_process *process, const struct sim_host *host, int64_t until)
{
	dark_until[process->number][host->number] = until;
}

static int64_t
light_at(const struct sim_process *process, const struct sim_host *host)
{
	return dark_until[process->number][host->number];
}

static bool
is_dark(const struct sim_process *process, const struct sim_host *host)
{
	return light_at(process, host) > sim_now;
}

static int64_t
latency(void)
{
	int64_t ns = sim_weather.latency + sim_between(0, sim_weather.jitter);

	return sim_weather.delays > 0 && sim_chance(sim_weather.delays) ? ns + sim_between(0, sim_weather.delay) : ns;
}

/* ---- ways ---- */

static void
note_fd(const struct sim_wire *w)
{
	if (w->fd >= 0)
		sim_wake_pollers(w->process, w->fd);
}

static void
let_arrive(struct sim_wire *w, struct way *way, int64_t at)
{
	way->comes_at = at > way->comes_at ? at : way->comes_at;
	w->events++;
	sim_at(way->comes_at, way == &w->to_server ? arrive_at_server : arrive_at_client, w, 0);
}

static void
put(struct sim_wire *w, struct way *way, const char *bytes, size_t size)
{
	struct piece *p;

	if (w->forgotten)
		return;
	p = zeroed(sizeof *p + size);
	p->size = size;
	memcpy(p->bytes, bytes, size);
	*way->last = p;
	way->last = &p->next;
	way->under_way += size;
	let_arrive(w, way, sim_now + latency());
}

static struct piece *
take(struct way *way)
{
	struct piece *p = way->first;

	if (p == NULL)
		return NULL;
	way->first = p->next;
	if (way->first == NULL)
		way->last = &way->first;
	way->under_way -= p->size;
	return p;
}

static void
shorten(struct way *way, size_t size)
{
	struct piece **at = &way->first, *p;

	for (; (p = *at) != NULL && size > 0; at = &p->next) {
		p->size = p->size < size ? p->size : size;
		size -= p->size;
	}
	*at = NULL;
	way->last = at;
	while (p != NULL) {
		struct piece *next = p->next;

		free(p);
		p = next;
	}
	way->under_way = 0;
	for (p = way->first; p != NULL; p = p->next)
		way->under_way += p->size;
}

/* Of what is under way only the first `size` bytes come, and then the end. */
static void
truncate_way(struct sim_wire *w, struct way *way, size_t size)
{
	shorten(way, size);
	if (way->ends)
		return;
	way->ends = true;
	let_arrive(w, way, sim_now + latency());
}

static void
let_go(struct sim_wire *w)
{
	struct sim_wire **at = &wires;

	if (w->events > 0 || w->fd >= 0 || w->speaker != NULL)
		return;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	shorten(&w->to_server, 0);
	shorten(&w->to_client, 0);
	free(w->in.at);
	free(w);
}

/* ---- at the client ---- */

static void
fail(struct sim_wire *w, int error)
{
	if (w->state == FAILED)
		return;
	w->state = FAILED;
	w->error = error;
	note_fd(w);
}

static void
give(struct sim_wire *w, const char *bytes, size_t size)
{
	bytes_append(&w->in, bytes, size);
	note_fd(w);
}

static void
reach_client(struct sim_wire *w)
{
	struct piece *p = take(&w->to_client);

	if (p == NULL) {
		if (w->to_client.ends && !w->to_client.ended) {
			w->to_client.ended = true;
			fail(w, sim_chance(0.5) ? ECONNRESET : 0);
		}
		return;
	}
	if (w->fd >= 0 && w->state == UP)
		give(w, p->bytes, p->size);
	free(p);
}

static void
arrive_at_client(void *what, uint64_t turn)
{
	struct sim_wire *w = what;

	if (is_dark(w->process, w->host)) {
		sim_at(light_at(w->process, w->host), arrive_at_client, w, turn);
		return;
	}
	w->events--;
	reach_client(w);
	let_go(w);
}

/* ---- at the server ---- */

static void
end_speaker(struct sim_wire *w)
{
	void *speaker = w->speaker;

	w->speaker = NULL;
	if (speaker != NULL)
		w->host->gone(speaker);
}

static void
reach_server(struct sim_wire *w)
{
	struct piece *p = take(&w->to_server);

	if (p == NULL) {
		if (w->to_server.ends && !w->to_server.ended) {
			w->to_server.ended = true;
			end_speaker(w);
		}
		return;
	}
	if (w->speaker != NULL)
		w->host->hear(w->speaker, p->bytes, p->size);
	else if (!w->host->vanished)
		truncate_way(w, &w->to_client, 0); /* it knows of no such connection */
	free(p);
	if (w->state == UP)
		note_fd(w); /* there is room again */
}

static void
arrive_at_server(void *what, uint64_t turn)
{
	struct sim_wire *w = what;
	int64_t until = light_at(w->process, w->host);

	until = w->host->frozen_until > until ? w->host->frozen_until : until;
	until = w->to_server.held_until > until ? w->to_server.held_until : until;
	if (until > sim_now && w->speaker != NULL) {
		sim_at(until, arrive_at_server, w, turn);
		return;
	}
	w->events--;
	reach_server(w);
	let_go(w);
}

/* The answer to the first packet. */
static void
accept_wire(void *what, uint64_t turn)
{
	struct sim_wire *w = what;

	if (w->fd >= 0 && (is_dark(w->process, w->host) || w->host->vanished)) {
		/* it is sent again from time to time */
		sim_at(sim_now + sim_between(100 * SIM_MS, 300 * SIM_MS), accept_wire, w, turn);
		return;
	}
	w->events--;
	if (w->fd >= 0 && w->host->down) {
		fail(w, ECONNREFUSED);
	} else if (w->fd >= 0) {
		w->state = UP;
		w->speaker = w->host->accept(w->host, w);
		note_fd(w);
	}
	let_go(w);
}

void
sim_wire_say(struct sim_wire *w, const char *bytes, size_t size)
{
	if (w->to_client.ends)
		return;
	w->said_size = size <= sizeof w->said ? size : 0;
	memcpy(w->said, bytes, w->said_size);
	put(w, &w->to_client, bytes, size);
}

/* ---- what breaks ---- */

static size_t
some_of(const struct way *way)
{
	return way->under_way > 0 ? (size_t)sim_between(0, (int64_t)way->under_way) : 0;
}

/* What the client has sent may come all the same. */
static void
end_to_server(struct sim_wire *w)
{
	bool haunts = sim_chance(sim_weather.ghosts);

	if (w->to_server.ends)
		return;
	if (haunts && w->to_server.under_way > 0) {
		w->to_server.held_until = sim_now + sim_between(0, sim_weather.haunts);
		sim_trace("    %zu bytes of client %d to host %d are a ghost", w->to_server.under_way, w->process->number,
		          w->host->number);
	}
	truncate_way(w, &w->to_server, haunts ? w->to_server.under_way : some_of(&w->to_server));
}

static void
break_wire(struct sim_wire *w)
{
	end_to_server(w);
	if (!w->to_client.ends)
		truncate_way(w, &w->to_client, some_of(&w->to_client));
	if (w->state == CONNECTING)
		fail(w, ECONNRESET);
}

void
sim_forget_wires(const struct sim_process *process, const struct sim_host *host)
{
	each_wire(w, process, host)
		w->forgotten |= w->fd >= 0;
}

bool
sim_forgets_wires(const struct sim_process *process, const struct sim_host *host)
{
	each_wire(w, process, host)
		if (w->forgotten && w->fd >= 0)
			return true;
	return false;
}

/* For so long that a client expects nothing right behind what came last. */
static bool
is_idle(const struct sim_wire *w)
{
	bool works = w->fd >= 0 && w->state == UP && !w->forgotten && w->speaker != NULL;

	return works && sim_now - w->read_at > 50 * SIM_MS && w->events == 0 && bytes_length(&w->in) == 0 &&
	       w->host->is_idle(w->speaker);
}

void
sim_repeat(const struct sim_process *process, const struct sim_host *host)
{
	each_wire(w, process, host)
		if (w->said_size > 0 && is_idle(w))
			give(w, w->said, w->said_size);
}

bool
sim_is_connected(const struct sim_process *process, const struct sim_host *host)
{
	each_wire(w, process, host)
		if (w->speaker != NULL)
			return true;
	return false;
}

void
sim_cut(const struct sim_process *process, const struct sim_host *host)
{
	each_wire(w, process, host)
		if (w->fd >= 0)
			break_wire(w);
}

/* With all that was stuck. */
static void
break_jammed(void *what, uint64_t turn)
{
	struct sim_wire *w = what;

	(void)turn;
	w->events--;
	shorten(&w->to_client, 0);
	w->to_client.comes_at = 0;
	break_wire(w);
	let_go(w);
}

void
sim_jam(const struct sim_process *process, const struct sim_host *host)
{
	int64_t until = sim_now + sim_between(0, sim_weather.delay);
	bool breaks = sim_chance(0.5);

	each_wire(w, process, host) {
		if (w->fd < 0)
			continue;
		w->to_client.comes_at = until > w->to_client.comes_at ? until : w->to_client.comes_at;
		if ((breaks = !breaks)) {
			w->events++;
			sim_at(sim_between(sim_now, until), break_jammed, w, 0);
		}
	}
}

void
sim_process_gone(const struct sim_process *process)
{
	for (struct sim_wire *w = wires; w != NULL; w = w->next)
		if (w->process == process)
			break_wire(w);
}

void
sim_host_reset(struct sim_host *host)
{
	for (struct sim_wire *w = wires; w != NULL; w = w->next) {
		if (w->host != host || w->speaker == NULL)
			continue;
		end_speaker(w);
		truncate_way(w, &w->to_server, 0);
		if (!host->vanished)
			truncate_way(w, &w->to_client, some_of(&w->to_client));
	}
}

/* ---- descriptors ---- */

static struct descriptor *
at(int fd)
{
	struct descriptor *d = &descriptors[fd - SIM_FIRST_FD];

	if (fd < SIM_FIRST_FD || fd >= SIM_FIRST_FD + MOST_FDS || d->kind == SIM_FREE)
		sim_breach("a client used descriptor %d, which is not open", fd);
	return d;
}

int
sim_open(enum sim_fd kind)
{
	int i = 0;

	while (i < MOST_FDS && descriptors[i].kind != SIM_FREE)
		i++;
	if (i == MOST_FDS)
		sim_breach("clients have %d descriptors open", MOST_FDS);
	descriptors[i] = (struct descriptor){.kind = kind, .process = sim_process_self(), .at = SIM_NEVER};
	return SIM_FIRST_FD + i;
}

static int
fail_with(int error)
{
	errno = error;
	return -1;
}

int
sim_connect(int fd, int host)
{
	struct descriptor *d = at(fd);
	struct sim_wire *w = zeroed(sizeof *w);

	if (host < 0 || host >= SIM_HOSTS || (w->host = hosts[host]) == NULL)
		sim_breach("client %d connects to a host that there is not", d->process->number);
	w->process = d->process;
	w->fd = fd;
	w->to_server.last = &w->to_server.first;
	w->to_client.last = &w->to_client.first;
	w->next = wires;
	wires = w;
	d->wire = w;
	w->events++;
	sim_at(sim_now + latency() + latency(), accept_wire, w, 0);
	return fail_with(EINPROGRESS);
}

int
sim_socket_error(int fd)
{
	const struct sim_wire *w = at(fd)->wire;

	return w->state == FAILED ? w->error != 0 ? w->error : ECONNRESET : 0;
}

/* How much can be sent just now. */
static size_t
room_of(const struct sim_wire *w)
{
	size_t most = sim_weather.narrow ? 1 << 10 : 1 << 16;

	return w->state == UP && w->to_server.under_way < most ? most - w->to_server.under_way : 0;
}

ssize_t
sim_send(int fd, const void *bytes, size_t size)
{
	struct sim_wire *w = at(fd)->wire;

	if (sim_is_child)
		sim_breach("a forked child sends over a connection of its parent's");
	if (w->state == FAILED)
		return fail_with(w->error != 0 ? EPIPE : ECONNRESET);
	size_t room = room_of(w);
	if (room == 0)
		return fail_with(EAGAIN);
	size = size < room ? size : room;
	if (size > 1 && sim_chance(sim_weather.pieces))
		size = (size_t)sim_between(1, (int64_t)size);
	if (!w->to_server.ends) /* else the client does not know yet that it broke */
		put(w, &w->to_server, bytes, size);
	if (w->process->tired > 0)
		sim_freeze(w->process, w->process->tired);
	return (ssize_t)size;
}

void
sim_set_patience(int fd, int64_t ns)
{
	at(fd)->patience = ns;
}

ssize_t
sim_recv(int fd, void *bytes, size_t size, bool peeks, bool blocks)
{
	struct sim_wire *w = at(fd)->wire;
	const struct pollfd polled = {.fd = fd, .events = POLLIN};

	if (blocks && bytes_length(&w->in) == 0 && w->state == UP)
		sim_block_polling(&polled, 1, sim_now + at(fd)->patience);
	if (bytes_length(&w->in) == 0 && w->state == FAILED && w->error == 0)
		return 0;
	if (bytes_length(&w->in) == 0)
		return fail_with(w->state == FAILED ? w->error : EAGAIN);
	size = size < bytes_length(&w->in) ? size : bytes_length(&w->in);
	if (size > 1 && !peeks && sim_chance(sim_weather.pieces))
		size = (size_t)sim_between(1, (int64_t)size);
	memcpy(bytes, w->in.at + w->in.head, size);
	if (!peeks) {
		w->read_at = sim_now;
		w->in.head += size;
	}
	return (ssize_t)size;
}

void
sim_shutdown(int fd)
{
	struct sim_wire *w = at(fd)->wire;

	if (w == NULL)
		return;
	end_to_server(w);
	fail(w, 0);
}

void
sim_timer_set(int fd, int64_t due)
{
	struct descriptor *d = at(fd);

	d->at = due;
	sim_wake(d->process, d, 1);
	sim_wake_pollers(d->process, fd);
}

ssize_t
sim_read_count(int fd, uint64_t *count)
{
	struct descriptor *d = at(fd);

	while (d->kind == SIM_TIMER && d->at > sim_now)
		sim_block(d, d->at);
	if (d->kind == SIM_EVENT && d->count == 0)
		return fail_with(EAGAIN);
	*count = d->kind == SIM_EVENT ? d->count : 1;
	d->count = 0;
	d->at = SIM_NEVER;
	return sizeof *count;
}

void
sim_write_count(int fd, uint64_t count)
{
	struct descriptor *d = at(fd);

	d->count += count;
	sim_wake_pollers(sim_process_self(), fd); /* which has it from whoever made it: leash keeps some for the next */
}

void
sim_close(int fd)
{
	struct descriptor *d = at(fd);
	struct sim_wire *w = d->wire;

	*d = (struct descriptor){.kind = SIM_FREE};
	if (w == NULL)
		return;
	w->fd = -1;
	end_to_server(w);
	let_go(w);
}

static short
ready(const struct pollfd *polled)
{
	const struct descriptor *d = at(polled->fd);
	const struct sim_wire *w = d->wire;
	short events = 0;

	if (d->kind == SIM_EVENT)
		return d->count > 0 ? polled->events & POLLIN : 0;
	if (d->kind == SIM_TIMER)
		return d->at <= sim_now ? polled->events & POLLIN : 0;
	if (w == NULL)
		return POLLHUP;
	if (w->state == FAILED)
		events = POLLIN | POLLRDHUP | POLLOUT | (w->error != 0 ? POLLERR | POLLHUP : 0);
	if (bytes_length(&w->in) > 0)
		events |= POLLIN;
	if (room_of(w) > 0)
		events |= POLLOUT;
	return events & (polled->events | POLLERR | POLLHUP);
}

static int
count_ready(struct pollfd *polled, nfds_t count)
{
	int n = 0;

	for (nfds_t i = 0; i < count; i++) {
		polled[i].revents = polled[i].fd >= 0 ? ready(&polled[i]) : 0;
		n += polled[i].revents != 0;
	}
	return n;
}

/* Or, if that is sooner, when the first timer among them is due. */
static int64_t
or_due(const struct pollfd *polled, nfds_t count, int64_t until)
{
	for (nfds_t i = 0; i < count; i++)
		if (polled[i].fd >= 0 && at(polled[i].fd)->kind == SIM_TIMER && at(polled[i].fd)->at < until)
			until = at(polled[i].fd)->at;
	return until;
}

int
sim_poll(struct pollfd *polled, nfds_t count, int64_t until)
{
	int n;

	while ((n = count_ready(polled, count)) == 0 && until > sim_now)
		if (!sim_block_polling(polled, count, or_due(polled, count, until)) && until <= sim_now)
			return count_ready(polled, count);
	return n;
}

size_t
sim_open_fds(const struct sim_process *process)
{
	size_t n = 0;

	for (int i = 0; i < MOST_FDS; i++)
		n += descriptors[i].process == process && descriptors[i].kind != SIM_FREE && descriptors[i].kind != SIM_EVENT;
	return n;
}
