/* What the screen of leash top shows, and the drawing of it. The keys that change it are in screen.c. */
#ifndef LEASH_TOOLS_PAINT_H
#define LEASH_TOOLS_PAINT_H

#include "tools/inquiry.h"
#include "tools/sampler.h"

enum mode {
	MODE_TABLE,
	MODE_HELP,
	MODE_FILTER, /* a part of a name is being typed */
	MODE_BREAK,  /* a question is asked, or is going to be */
};

struct view {
	struct subject *subject;
	struct sampler sampler;
	struct inquiry *inquiry;
	char inquired[LEASH_NAME_MAX + 8]; /* what that was asked for last; "": nothing */
	int64_t every_ms;
	uint64_t rounds; /* 0: for ever */
	char host[LEASH_HOST_SIZE];
	bool coloured;

	enum mode mode;
	struct wish wish;
	bool paused, quit;
	bool details; /* of the lock under the cursor stand below the table */
	char note[INQUIRY_OUTCOME_SIZE]; /* in place of the keys, until the next one comes */

	/* As of view_settle(). */
	leash_status status;          /* of the last sample */
	bool was_last;                /* there were as many as `rounds` */
	const struct rank_row **rows; /* those that the filter leaves */
	size_t count, cursor;
	size_t top, fits;             /* the row that is shown first, and how many are */
	char under[LEASH_NAME_MAX + 8]; /* the lock under the cursor; with details that of which they are, also if it is
	                                   not held any more; "": none */
	bool moved;                   /* the cursor was, by a key; else it stays with its lock, but in the first row */
	size_t skip, beyond;          /* lines of the details that stand above what is shown, and below */

	/* MODE_BREAK */
	char target[LEASH_NAME_MAX + 8];
	uint64_t question; /* the number of the one who has it */
	bool is_asked;     /* it can be read, and `asked` is what was told of them */
	int64_t asked_ns;  /* since then */
	struct look asked;
};

/* Which rows there are, and which one the cursor is on. Neither this nor what draws asks the server. */
void view_settle(struct view *view);

/* Draw all. */
void paint(struct view *view);

void paint_begin(struct view *view); /* colours, if there are some */

#endif
