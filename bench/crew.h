/* Processes of a client and some threads each, which do one thing. */
#ifndef LEASH_BENCH_CREW_H
#define LEASH_BENCH_CREW_H

#include <leash.h>

#include <stdint.h>
#include <sys/types.h>

struct crew_member {
	leash_client *client;  /* of its process */
	unsigned process, thread;
	void *shared;          /* child_share() made it */
};

struct crew_order {
	const char *uri;
	int32_t lease_ms;      /* 0: as leash has it */
	unsigned process, threads;
	void (*work)(struct crew_member *me);
	void *shared;
};

/* Start one. It ends with 0 when all its threads have done their work. */
pid_t crew_send(struct crew_order order);

/* Start so many, whose `process` is 0 and so on. */
void crew_send_all(pid_t *pids, unsigned count, struct crew_order order);

/* The first `count` of them: child_wait() and child_kill() for each. */
void crew_wait(const pid_t *pids, unsigned count);
void crew_kill(const pid_t *pids, unsigned count);

/* What leash said, unless that is LEASH_OK: exit. */
void must(leash_status status, const leash_error *err);

#endif
