/* Locks in columns, a line for each, for leash list and leash top. Memory only.
 *
 * On a terminal columns are as wide as it allows: what does not fit is cut, with a ~ at its end, and columns that
 * people miss least are left out. Elsewhere all are there and nothing is cut. No column has a space in it, nor is
 * one empty, so awk finds them by number. */
#ifndef LEASH_TOOLS_TABLE_H
#define LEASH_TOOLS_TABLE_H

#include "tools/moment.h"

#include <leash.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum table_column {
	TABLE_NAME,
	TABLE_HOLDER,
	TABLE_PROGRAM,
	TABLE_SINCE,
	TABLE_HELD,
	TABLE_LEASE,
	TABLE_DEPTH,
	TABLE_WAITING,
	TABLE_FENCE,
	TABLE_KIND,
	TABLE_OUT,
	TABLE_COLUMNS,
};

enum { TABLE_LINE_SIZE = 4 * (LEASH_NAME_MAX + LEASH_HOST_SIZE + LEASH_PROGRAM_SIZE) + 256 };

struct table {
	int width[TABLE_COLUMNS]; /* 0: left out */
	bool cut;                 /* cut what is wider than its column */
};

/* `columns`: of the terminal; 0: it is none. */
void table_fit(struct table *table, int columns);

/* The width of the terminal that a stream leads to; 0: to none. */
int table_terminal(int fd);

/* The line of titles, and the line of a lock, without a newline. Both return `out`. */
char *table_head(const struct table *table, char out[static TABLE_LINE_SIZE]);
char *table_line(const struct table *table, char out[static TABLE_LINE_SIZE], const leash_lock_info *info,
                 const struct moment *now);

/* Where a column begins in a line; -1: it is left out. Only where all are cut. */
int table_at(const struct table *table, enum table_column column);

/* A span in at most six columns, as long as it is below 100 days: "850ms", "12.3s", "4m05s", "3h12m", "2d04h".
 * Returns `out`. */
enum { TABLE_SPAN_SIZE = 24 };
char *table_span(char out[static TABLE_SPAN_SIZE], int64_t ms);

#endif
