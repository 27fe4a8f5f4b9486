/* What the kinds beside the lock promise, measured at the size of a small fleet. A part is one function: what its
 * processes share, what each of them does, and what is told of that. */
#ifndef LEASH_BENCH_KINDS_H
#define LEASH_BENCH_KINDS_H

#include "bench/crew.h"
#include "bench/crowd.h"
#include "bench/program.h"
#include "tests/support/await.h"
#include "tests/support/child.h"

#include <stdatomic.h>

enum { MANY = 8 }; /* of those who share, and of the permits that there are */

/* How a lock is opened; or, if it takes any, so many of MANY permits. */
struct way {
	leash_mode mode;
	bool fair;
	int64_t take;
};

struct part {
	const char *name;
	void (*run)(const struct part *part);
	struct way many, rare;
};

/* kinds_share.c */
void starve(const struct part *part);
void crash(const struct part *part);
void let_readers_in(const struct part *part);
void count_scripts(const struct part *part);

/* kinds_apart.c */
void oppose(const struct part *part);
void queue(const struct part *part);
void elect(const struct part *part);

extern const struct settings *settings;
extern struct server *server;

#define NO_BAR (-1.0)

void tell(const char *part, const char *text, int decimals, double figure, double bar);

static inline const char *
uri(void)
{
	return server_uri_tcp(server);
}

static inline void
keep_most(_Atomic int64_t *most, int64_t value)
{
	int64_t was = atomic_load(most);

	while (value > was && !atomic_compare_exchange_weak(most, &was, value))
		continue;
}

static inline double
ms_of(int64_t ns)
{
	return (double)ns / 1e6;
}

#endif
