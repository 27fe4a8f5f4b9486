/* The net: descriptors of clients, and what is on its way between them and the servers.
 *
 *   wire (client)  CONNECTING --accepted--> UP --reset, or closed by us--> gone
 *                  CONNECTING --nobody listens--> gone
 *
 * The bytes of one direction come in the order in which they were sent, each piece some time later. Where the path
 * between a client and a host is dark, they come when it is light again. When a wire breaks, what was sent before may
 * come all the same, up to any byte, and much later: the server executes that. */
#pragma once

#include "tests/sim/world.h"

#include <poll.h>
#include <sys/types.h>

enum sim_fd { SIM_FREE, SIM_SOCKET, SIM_EVENT, SIM_TIMER }; /* SIM_FREE: it is not open */
enum { SIM_FIRST_FD = 1 << 16, SIM_HOSTS = 16, SIM_PROCESSES = 8 };

struct sim_wire;

/* Where servers listen: a port of a machine. */
struct sim_host {
	int number;              /* its address: 10.0.0.<number + 1>, port 6379 */
	bool down;               /* nobody listens: connections are refused */
	bool vanished;           /* nor is anybody told so */
	int64_t frozen_until;    /* its process stands still; the system goes on to take what comes */
	/* The server's. `size` bytes came; the client has gone, or the wire broke. */
	void *(*accept)(struct sim_host *host, struct sim_wire *wire);
	void (*hear)(void *speaker, const char *bytes, size_t size);
	void (*gone)(void *speaker);
	bool (*is_idle)(const void *speaker); /* all that came is answered */
};

/* How a path is, and what chance there is of things that a busy machine does. */
struct sim_weather {
	int64_t latency, jitter;  /* of one direction */
	double delays;            /* pieces that take up to `delay` */
	int64_t delay;
	double pieces;            /* sends and receives that are only of a part */
	double ghosts;            /* of what was under way when a wire broke, what comes up to `haunts` later */
	int64_t haunts;
	bool narrow;              /* few bytes may be under way in one direction before a send has to wait */
};
extern struct sim_weather sim_weather;

void sim_host_open(struct sim_host *host); /* it has its number, and its functions; others may change at any time */
void sim_host_reset(struct sim_host *host); /* its process has ended: each wire breaks */
void sim_freeze(struct sim_process *process, int64_t ns); /* it stands still for so long, from now on */
/* Until then nothing comes through, either way. */
void sim_darken(const struct sim_process *process, const struct sim_host *host, int64_t until);
/* Does the host know of a connection from it? */
bool sim_is_connected(const struct sim_process *process, const struct sim_host *host);
/* What is sent on the wires between the two is lost from now on: as by a firewall that forgot them. */
void sim_forget_wires(const struct sim_process *process, const struct sim_host *host);
bool sim_forgets_wires(const struct sim_process *process, const struct sim_host *host); /* one of them, still */
/* On each of those wires on which nothing is on its way, nor awaited, what the server said last comes once more. */
void sim_repeat(const struct sim_process *process, const struct sim_host *host);
/* What the server says on those wires is late by up to `delay`, all of it; each other one breaks meanwhile. */
void sim_jam(const struct sim_process *process, const struct sim_host *host);
void sim_cut(const struct sim_process *process, const struct sim_host *host); /* each wire between the two breaks */
void sim_process_gone(const struct sim_process *process); /* it died, or was killed: each of its wires breaks */

/* ---- for the server: the other end of a wire ---- */

void sim_wire_say(struct sim_wire *wire, const char *bytes, size_t size);

/* ---- for the client: what its calls to the system do; the descriptors are from SIM_FIRST_FD on ---- */

extern bool sim_is_child; /* a forked one, which may not send */
int sim_open(enum sim_fd kind);
int sim_connect(int fd, int host);
int sim_socket_error(int fd);
ssize_t sim_send(int fd, const void *bytes, size_t size);
void sim_set_patience(int fd, int64_t ns); /* how long a receive may block */
ssize_t sim_recv(int fd, void *bytes, size_t size, bool peeks, bool blocks);
void sim_shutdown(int fd);
void sim_timer_set(int fd, int64_t at);
ssize_t sim_read_count(int fd, uint64_t *count); /* of an eventfd; or of a timerfd, which blocks */
void sim_write_count(int fd, uint64_t count);
void sim_close(int fd);
int sim_poll(struct pollfd *polled, nfds_t count, int64_t until);
size_t sim_open_fds(const struct sim_process *process); /* but eventfds, which leash keeps for other threads */
