#include "tools/table.h"

#include "tools/cli.h"
#include "tools/letter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CELL_SIZE = 4 * LEASH_NAME_MAX + 1 };

/* `least`: the width below which a column says nothing. `share`: of the room that is left, in percent. */
static const struct {
	const char *title;
	int least, share;
	bool right;
} columns[TABLE_COLUMNS] = {
	[TABLE_NAME] = {"NAME", 16, 50, false},
	[TABLE_HOLDER] = {"HOLDER", 16, 30, false},
	[TABLE_PROGRAM] = {"PROGRAM", 8, 20, false},
	[TABLE_SINCE] = {"SINCE", 19, 0, false},
	[TABLE_HELD] = {"HELD", 6, 0, true},
	[TABLE_LEASE] = {"LEASE", 6, 0, true},
	[TABLE_DEPTH] = {"DEPTH", 5, 0, true},
	[TABLE_WAITING] = {"WAITING", 7, 0, true},
	[TABLE_FENCE] = {"FENCE", 19, 0, true},
	[TABLE_KIND] = {"KIND", 9, 0, false},
	[TABLE_OUT] = {"OUT", 5, 0, true},
};

/* What is left out first when there is no room. */
static const enum table_column dispensable[] = {
	TABLE_SINCE, TABLE_FENCE, TABLE_DEPTH, TABLE_KIND, TABLE_PROGRAM, TABLE_HELD, TABLE_OUT, TABLE_WAITING,
	TABLE_HOLDER, TABLE_LEASE,
};

enum { DISPENSABLE = sizeof dispensable / sizeof *dispensable };

/* ---- widths ---- */

static int
total_width(const struct table *table)
{
	int total = -1; /* the first has no space before it */

	for (int i = 0; i < TABLE_COLUMNS; i++)
		total += table->width[i] > 0 ? 1 + table->width[i] : 0;
	return total;
}

void
table_fit(struct table *table, int width)
{
	int extra;

	table->cut = width > 0;
	for (int i = 0; i < TABLE_COLUMNS; i++)
		table->width[i] = columns[i].least;
	for (int i = 0; i < DISPENSABLE && width > 0 && total_width(table) > width; i++)
		table->width[dispensable[i]] = 0;
	extra = width > 0 ? width - total_width(table) : 24;
	if (extra < 0) {
		table->width[TABLE_NAME] = width;
		return;
	}
	if (extra > 100)
		extra = 100; /* a longer line is hard to read */
	for (int i = 0; i < TABLE_COLUMNS; i++)
		if (table->width[i] > 0)
			table->width[i] += extra * columns[i].share / 100;
}

int
table_terminal(int fd)
{
	const char *columns_said = getenv("COLUMNS");
	struct winsize size;
	int width;

	if (isatty(fd) != 1)
		return 0;
	if (columns_said != NULL && cli_number(columns_said, 10000, &width) && width > 0)
		return width;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

int
table_at(const struct table *table, enum table_column column)
{
	int at = 0;

	if (table->width[column] == 0)
		return -1;
	for (int i = 0; i < (int)column; i++)
		at += table->width[i] > 0 ? 1 + table->width[i] : 0;
	return at;
}

/* ---- cells ---- */

char *
table_span(char out[static TABLE_SPAN_SIZE], int64_t ms)
{
	long long s = ms / 1000;

	if (ms < 1000)
		snprintf(out, TABLE_SPAN_SIZE, "%lldms", (long long)ms);
	else if (s < 60)
		snprintf(out, TABLE_SPAN_SIZE, "%lld.%llds", s, (long long)ms % 1000 / 100);
	else if (s < 3600)
		snprintf(out, TABLE_SPAN_SIZE, "%lldm%02llds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, TABLE_SPAN_SIZE, "%lldh%02lldm", s / 3600, s % 3600 / 60);
	else if (s < 100 * 86400)
		snprintf(out, TABLE_SPAN_SIZE, "%lldd%02lldh", s / 86400, s % 86400 / 3600);
	else
		snprintf(out, TABLE_SPAN_SIZE, "%lldd", s / 86400);
	return out;
}

/* cli_show(), with \x20 for spaces, which separate columns. */
static void
show_word(char out[static CELL_SIZE], const char *text)
{
	char shown[CELL_SIZE];
	size_t n = 0;

	cli_show(shown, sizeof shown, text);
	for (const char *c = shown; *c != '\0' && n + 4 < CELL_SIZE; c++) /* all of a name of full length */
		if (*c == ' ')
			n = (size_t)(stpcpy(out + n, "\\x20") - out);
		else
			out[n++] = *c;
	out[n] = '\0';
	if (n == 0)
		strcpy(out, "?");
}

static void
show_holder(char out[static CELL_SIZE], const leash_party *holder)
{
	if (holder->pid <= 0)
		return;
	show_word(out, holder->host);
	snprintf(out + strlen(out), 24, ":%lld", (long long)holder->pid);
}

static void
show_since(char out[static CELL_SIZE], const leash_lock_info *info, const struct moment *now)
{
	char time[CLI_TIME_SIZE] = "", *space;

	if (info->held_since_ms > 0)
		cli_time(time, moment_here(now, info->held_since_ms));
	space = strchr(time, ' ');
	if (space == NULL)
		return;
	*space = 'T';
	strcpy(out, time);
}

/* Of a read-write lock, which of both. */
static void
show_kind(char out[static CELL_SIZE], const leash_lock_info *info)
{
	if (info->kind == LEASH_KIND_READ_WRITE)
		strcpy(out, info->count > 0 ? "reading" : "writing");
	else if (info->kind != LEASH_KIND_NONE)
		strcpy(out, cli_kind(info->kind));
}

static void
show_out(char out[static CELL_SIZE], const leash_lock_info *info)
{
	long long most = info->limit >= 0 ? info->limit : info->permits;
	int n = snprintf(out, CELL_SIZE, "%lld", (long long)info->out);

	if (info->limit >= 0 || info->permits > 0)
		snprintf(out + n, CELL_SIZE - (size_t)n, "/%lld", most);
}

static void
show_cell(char out[static CELL_SIZE], enum table_column column, const leash_lock_info *info, const struct moment *now)
{
	strcpy(out, "?");
	switch (column) {
	case TABLE_NAME:
		show_word(out, info->name);
		break;
	case TABLE_HOLDER:
		show_holder(out, &info->holder);
		break;
	case TABLE_PROGRAM:
		show_word(out, info->holder.program);
		break;
	case TABLE_SINCE:
		show_since(out, info, now);
		break;
	case TABLE_HELD:
		if (info->held_since_ms > 0)
			table_span(out, moment_age(now, info->held_since_ms));
		break;
	case TABLE_LEASE:
		if (info->remaining_ms < 0)
			strcpy(out, "none");
		else
			table_span(out, info->remaining_ms);
		break;
	case TABLE_DEPTH:
		snprintf(out, CELL_SIZE, "%u", info->depth);
		break;
	case TABLE_WAITING:
		if (info->no_queue)
			strcpy(out, "-");
		else
			snprintf(out, CELL_SIZE, "%u", info->waiting);
		break;
	case TABLE_FENCE:
		if (info->fence > 0)
			snprintf(out, CELL_SIZE, "%llu", (unsigned long long)info->fence);
		break;
	case TABLE_KIND:
		show_kind(out, info);
		break;
	default:
		show_out(out, info);
	}
}

/* ---- lines ---- */

/* Append to the line; a cell that is too wide is cut in place. Returns the end of the line. */
static char *
put_cell(const struct table *table, enum table_column column, const char *line, char *at, char *cell)
{
	int width = table->width[column];

	if (width == 0)
		return at;
	if (table->cut && letter_columns(cell) > width)
		strcpy(cell + letter_fit(cell, width - 1), "~");
	if (at != line)
		*at++ = ' ';
	width += (int)strlen(cell) - letter_columns(cell);
	return at + sprintf(at, columns[column].right ? "%*s" : "%-*s", width, cell);
}

static void
trim(const char *line, char *end)
{
	while (end > line && end[-1] == ' ')
		end--;
	*end = '\0';
}

char *
table_head(const struct table *table, char out[static TABLE_LINE_SIZE])
{
	char *at = out, cell[CELL_SIZE];

	for (int i = 0; i < TABLE_COLUMNS; i++) {
		strcpy(cell, columns[i].title);
		at = put_cell(table, (enum table_column)i, out, at, cell);
	}
	trim(out, at);
	return out;
}

char *
table_line(const struct table *table, char out[static TABLE_LINE_SIZE], const leash_lock_info *info,
           const struct moment *now)
{
	char *at = out, cell[CELL_SIZE];

	for (int i = 0; i < TABLE_COLUMNS; i++) {
		show_cell(cell, (enum table_column)i, info, now);
		at = put_cell(table, (enum table_column)i, out, at, cell);
	}
	trim(out, at);
	return out;
}
