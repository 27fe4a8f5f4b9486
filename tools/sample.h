/* What leash top shows: the locks of a deployment at a moment, the first of them in full and all of them as counts. */
#ifndef LEASH_TOOLS_SAMPLE_H
#define LEASH_TOOLS_SAMPLE_H

#include "tools/circle.h"
#include "tools/cli.h"
#include "tools/moment.h"
#include "tools/ranking.h"

#include <leash.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_ENDING_MS = 5000, SAMPLE_URGENT_MS = 2000 }; /* leases that end within this are marked */

/* Which locks are kept in full. */
struct wish {
	struct order order;
	char part[LEASH_NAME_MAX + 1]; /* of the name, in capitals or not; "": all */
};

struct sample {
	struct wish wish;      /* as of its beginning */
	struct moment moment;  /* its beginning */
	int64_t trip_ns;       /* how long a question to the server took, there and back */
	int64_t scan_ns;       /* and how long it took to look at all locks */
	uint64_t locks;        /* held */
	uint64_t waiting;      /* places in their queues */
	uint64_t contended;    /* locks that are waited for */
	bool no_queues;        /* nobody knows who waits for some of them */
	bool queues;           /* for others that is known */
	uint64_t ending;       /* leases that end soon */
	uint64_t endless;      /* without an expiry */
	uint64_t taken;        /* since the sample before, and still held */
	int64_t taken_in_ms;   /* how long that was; 0: there was none */
	uint64_t fitting;      /* locks of which the wish speaks, also if there was no room for them */
	struct ranking ranking;
	struct circles *circles;
};

/* Who is asked, and for what. */
struct subject {
	const struct cli *cli;
	leash_client *client;
	leash_lock *probe;   /* a lock that nobody takes, to measure round trips */
	const char *pattern; /* NULL: all */
	char server[128];    /* its name, without secrets */
};

/* CLI_GO_ON, or what to exit with; then it has been told. `subject` is to be closed in any case. */
int subject_open(struct subject *subject, const struct cli *cli, const char *pattern);

/* The same without connecting: each sample tries to, until one has. */
void subject_begin(struct subject *subject, const struct cli *cli, const char *pattern);
leash_status subject_reach(struct subject *subject, leash_error *err);
void subject_close(struct subject *subject);

bool wish_fits(const struct wish *wish, const char *name);

/* False: no memory. */
bool sample_init(struct sample *sample, size_t rows);
void sample_destroy(struct sample *sample);

/* Look. `before_ms`: the moment, by our clock, of the last sample; 0: there was none. `stop`: cut it short when this
 * becomes true (NULL: nothing does). What is in `sample` after a failure is worth nothing. */
leash_status sample_take(struct sample *sample, struct subject *subject, const struct wish *wish, int64_t before_ms,
                         const atomic_bool *stop, leash_error *err);

/* "312 locks, 15 waiting for 4 of them, ..." */
enum { SAMPLE_TEXT_SIZE = 320 };
char *sample_text(char out[static SAMPLE_TEXT_SIZE], const struct sample *sample);

#endif
