/* Circles of processes and locks: one has x and waits for y, another has y and waits for x. None of them goes on
 * unless one gives up.
 *
 * The server knows which process has a lock and which ones wait for it, but not by which of their threads. So where a
 * process has several threads a circle may be harmless: the thread that has x may be another one than that which waits.
 * A circle is reported only if all of it was so at one moment, and has been for a second. A lock that several share
 * belongs to one if all who have its permits are stuck, or of who reads any.
 *
 * On this machine a process counts as waiting when one that it started waits (leash run in a leash run). Elsewhere that
 * cannot be seen. On a quorum nobody knows who waits, so there are none. */
#ifndef LEASH_TOOLS_CIRCLE_H
#define LEASH_TOOLS_CIRCLE_H

#include "tools/moment.h"
#include "tools/ranking.h"
#include "tools/show.h"

#include <leash.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CIRCLES_MAX = 8, CIRCLE_LINKS_MAX = 16, CIRCLE_LEAST_MS = 1000 };

/* `who` has `lock`, and `waiter` waits for the lock of the next link. They are the same, unless `who` started it. */
struct circle_link {
	char lock[LEASH_NAME_MAX + 8];
	leash_party who, waiter;
};

struct circle {
	int64_t age_ms; /* for how long it has been one */
	size_t count;
	struct circle_link link[CIRCLE_LINKS_MAX];
};

struct circles {
	struct ranking contended; /* locks that are waited for: those first for which the fewest wait */
	uint64_t noted;           /* so many, those left out too */
	bool partial;             /* not all who wait were looked at */
	size_t count;
	struct circle at[CIRCLES_MAX];
};

/* NULL: no memory. */
struct circles *circles_new(void);
void circles_free(struct circles *circles);

/* Begin anew; tell it of each lock that is waited for; and then ask the server who waits. `stop`: cut it short when
 * this becomes true (NULL: nothing does). What the server does not answer makes it partial. */
void circles_clear(struct circles *circles);
void circles_note(struct circles *circles, const leash_lock_info *info);
void circles_find(struct circles *circles, leash_client *client, const struct moment *now, const atomic_bool *stop);

/* The one that a lock belongs to; NULL: to none. */
const struct circle *circles_with(const struct circles *circles, const char *name);

/* In a line, "ann:12 has x, waits for y; bob:14 has y, waits for x", as much as there is room for; and of one of them,
 * "ann, pid 12 on web1, has x, waits for y". Both return `out`. */
enum { CIRCLE_TEXT_SIZE = CLI_PARTY_SIZE + 8 * LEASH_NAME_MAX + 128 };
char *circle_text(char out[static CIRCLE_TEXT_SIZE], const struct circle *circle);
char *circle_link_text(char out[static CIRCLE_TEXT_SIZE], const struct circle *circle, size_t link);

#endif
