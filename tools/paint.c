/* Each frame is drawn anew into ncurses' memory (erase(), never clear()), and ncurses sends what has changed.
 *
 *   leash top  13:20:01  redis://cache      what is looked at, and how fast it is
 *   312 locks, 15 waiting for 4 of them     counts, or that there is no answer
 *   most waiting first, lock 3 of 312       the order, or why there is none
 *   MAY BE A DEADLOCK ...                   if there is a circle: a line, or two
 *   NAME   HOLDER ...                       the table; > is the cursor, ! belongs to a circle
 *   job    web1:4711 ...
 *   ----------------------------------      details of the lock under the cursor, if they are wanted
 *   Enter details  / filter ...             keys, or what has come of the last one
 *
 * Where there are few lines, the first two become one, and the third, and the keys, are left out. */
#include "tools/paint.h"

#include "tools/clock.h"
#include "tools/table.h"

#include <curses.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	ROOMY = 8,      /* lines: with fewer only one stands above the table */
	HEAD_LINES = 3,
	MARGIN = 2,     /* columns before the table */
	TEXT_SIZE = 2 * CIRCLE_TEXT_SIZE,
};

enum colour { PLAIN, ENDING, URGENT, OWN, ENDLESS, TROUBLE };

/* Where what begins, and how many lines it has. */
struct layout {
	bool roomy;
	int circle, circle_count, titles, rows, row_count, pane, pane_count;
};

static int
attribute(const struct view *v, enum colour colour)
{
	static const int plain[] = {A_NORMAL, A_BOLD, A_BOLD | A_UNDERLINE, A_NORMAL, A_BOLD, A_REVERSE};

	if (!v->coloured || colour == PLAIN)
		return plain[colour];
	return (int)COLOR_PAIR(colour) | (colour == URGENT || colour == TROUBLE ? (int)A_BOLD : 0);
}

void
paint_begin(struct view *v)
{
	v->coloured = cli_has_colour(STDOUT_FILENO) && has_colors() && start_color() == OK;
	if (!v->coloured)
		return;
	use_default_colors();
	init_pair(ENDING, COLOR_YELLOW, -1);
	init_pair(URGENT, COLOR_RED, -1);
	init_pair(OWN, COLOR_CYAN, -1);
	init_pair(ENDLESS, COLOR_MAGENTA, -1);
	init_pair(TROUBLE, COLOR_WHITE, COLOR_RED);
}

/* At most a line, and never beyond the screen. */
static void
put(int y, int x, int attributes, const char *text)
{
	if (y < 0 || y >= LINES || x < 0 || x >= COLS)
		return;
	attrset(attributes);
	mvaddnstr(y, x, text, COLS - x);
	attrset(A_NORMAL);
}

/* A line in that attribute from edge to edge; what does not fit ends in a ~. */
static void
put_bar(int y, int attributes, const char *text)
{
	put(y, 0, attributes, text);
	for (int x = (int)strlen(text); x < COLS; x++)
		put(y, x, attributes, " ");
	if ((int)strlen(text) > COLS)
		put(y, COLS - 1, attributes, "~");
}

/* ---- what there is: sampler's mutex held, memory only ---- */

/* How many locks fit, but were not kept. */
static uint64_t
rows_missing(const struct view *v)
{
	const struct sample *s = v->sampler.shown;

	return s != NULL ? s->fitting - s->ranking.count : 0;
}

enum { CIRCLE_LINE_SIZE = CIRCLE_TEXT_SIZE + 64 };

static char *
circle_line(const struct view *v, char line[static CIRCLE_LINE_SIZE])
{
	const struct circles *circles = v->sampler.shown->circles;
	char text[CIRCLE_TEXT_SIZE], more[32] = "";

	if (circles->count > 1)
		snprintf(more, sizeof more, "S (%zu)", circles->count);
	snprintf(line, CIRCLE_LINE_SIZE, "MAY BE A DEADLOCK%s: %s", more, circle_text(text, &circles->at[0]));
	return line;
}

static int
count_circle_lines(const struct view *v)
{
	char line[CIRCLE_LINE_SIZE];

	if (LINES < ROOMY || v->sampler.shown == NULL || v->sampler.shown->circles->count == 0)
		return 0;
	return LINES >= 2 * ROOMY && (int)strlen(circle_line(v, line)) > COLS ? 2 : 1;
}

static struct layout
lay_out(const struct view *v)
{
	struct layout l = {.roomy = LINES >= ROOMY, .circle = HEAD_LINES, .circle_count = count_circle_lines(v)};
	int left;

	l.titles = (l.roomy ? HEAD_LINES : 1) + l.circle_count;
	l.rows = l.titles + 1;
	left = LINES - l.rows - l.roomy;
	left = left > 0 ? left : 0;
	l.row_count = v->details && left > 1 ? (left + 2) / 3 : left;
	l.pane = l.rows + l.row_count;
	l.pane_count = left - l.row_count;
	return l;
}

static bool
is_under(const struct view *v, size_t row)
{
	return row < v->count && strcmp(v->rows[row]->info.name, v->under) == 0;
}

static void
find_cursor(struct view *v)
{
	size_t i = 0;

	if (v->moved || (v->cursor == 0 && !v->details) || is_under(v, v->cursor))
		return;
	while (i < v->count && !is_under(v, i))
		i++;
	if (i < v->count)
		v->cursor = i;
}

static void
keep_cursor_in_sight(struct view *v, size_t shown)
{
	size_t all = v->count + (rows_missing(v) > 0); /* they have a row, behind the last one */
	size_t last = v->cursor + 1 == v->count ? all : v->cursor + 1;

	v->fits = shown;
	if (v->top + shown > all)
		v->top = all > shown ? all - shown : 0;
	if (last > v->top + shown)
		v->top = last - shown;
	if (v->cursor < v->top)
		v->top = v->cursor;
}

static void
settle(struct view *v)
{
	const struct sample *s = v->sampler.shown;

	v->status = v->sampler.failure.status;
	v->was_last = v->rounds > 0 && v->sampler.rounds >= v->rounds;
	v->count = 0;
	for (size_t i = 0; s != NULL && i < s->ranking.count; i++)
		if (wish_fits(&v->wish, s->ranking.at[i]->info.name))
			v->rows[v->count++] = s->ranking.at[i];
	find_cursor(v);
	if (v->cursor >= v->count)
		v->cursor = v->count > 0 ? v->count - 1 : 0;
	if (v->moved || !v->details || v->under[0] == '\0')
		strcpy(v->under, v->count > 0 ? v->rows[v->cursor]->info.name : "");
	v->moved = false;
	keep_cursor_in_sight(v, (size_t)lay_out(v).row_count);
}

void
view_settle(struct view *v)
{
	pthread_mutex_lock(&v->sampler.mutex);
	settle(v);
	pthread_mutex_unlock(&v->sampler.mutex);
}

/* ---- above the table: the same ---- */

static void
draw_first_line(const struct view *v, int y)
{
	const struct sample *sample = v->sampler.shown;
	char line[400] = "", time[CLI_TIME_SIZE], shown[100];
	struct moment now = moment_now(v->subject->client);

	cli_time(time, now.here_ms);
	cli_append(line, sizeof line, "leash top  %s  %s", strchr(time, ' ') != NULL ? strchr(time, ' ') + 1 : time,
	           v->subject->server);
	if (v->subject->pattern != NULL)
		cli_append(line, sizeof line, "  %s", cli_show(shown, sizeof shown, v->subject->pattern));
	if (sample != NULL && v->sampler.failure.status == LEASH_OK)
		cli_append(line, sizeof line, "  round trip %.2f ms, scan %.0f ms", (double)sample->trip_ns / 1e6,
		           (double)sample->scan_ns / 1e6);
	put(y, 0, A_NORMAL, line);
}

/* The counts, or that there is no answer. */
static void
draw_counts(const struct view *v, int y)
{
	const struct sampler *sampler = &v->sampler;
	char text[SAMPLE_TEXT_SIZE], span[TABLE_SPAN_SIZE];

	if (sampler->failure.status != LEASH_OK) {
		snprintf(text, sizeof text, "NO ANSWER for %s%s",
		         table_span(span, (clock_steady_ns() - sampler->fresh_ns) / 1000000),
		         sampler->shown != NULL ? ": what is shown is old" : "");
		put(y, 0, attribute(v, TROUBLE), text);
	} else if (sampler->shown == NULL) {
		put(y, 0, A_NORMAL, "looking ...");
	} else {
		put(y, 0, A_BOLD, sample_text(text, sampler->shown));
	}
}

/* Why there is no answer. Without the name of the server, which stands above. */
static void
draw_failure(const struct view *v, int y)
{
	const char *text = v->sampler.failure.text, *server = strstr(text, v->subject->server);
	size_t size = strlen(v->subject->server);

	put(y, 0, A_BOLD, server != NULL && server[size] == ':' ? server + size + 2 : text);
}

static void
draw_order(const struct view *v, int y)
{
	char line[600] = "", part[200];

	cli_append(line, sizeof line, "%s%s", v->paused ? "PAUSED, " : "", order_text(v->wish.order));
	if (v->wish.part[0] != '\0')
		cli_append(line, sizeof line, ", names with '%s'", cli_show(part, sizeof part, v->wish.part));
	if (v->count > 0)
		cli_append(line, sizeof line, ", lock %zu of %s%zu", v->cursor + 1, rows_missing(v) > 0 ? "the first " : "",
		           v->count);
	if (v->sampler.shown != NULL && v->sampler.shown->circles->partial)
		cli_append(line, sizeof line, "; not all who wait were looked at");
	put(y, 0, A_NORMAL, line);
}

/* ---- the table: the same ---- */

static void
draw_titles(const struct view *v, const struct table *table, int y)
{
	static const enum table_column columns[RANKS] = {
		[RANK_WAITING] = TABLE_WAITING, [RANK_HELD] = TABLE_HELD, [RANK_LEASE] = TABLE_LEASE, [RANK_NAME] = TABLE_NAME,
	};
	enum table_column sorted = columns[v->wish.order.by];
	char titles[TABLE_LINE_SIZE], line[TABLE_LINE_SIZE + MARGIN];
	int at = table_at(table, sorted);

	snprintf(line, sizeof line, "%*s%s", MARGIN, "", table_head(table, titles));
	put_bar(y, A_REVERSE, line);
	if (at >= 0 && y < LINES)
		mvchgat(y, MARGIN + at, table->width[sorted], A_REVERSE | A_BOLD | A_UNDERLINE, 0, NULL);
}

static int
attributes_of(const struct view *v, const leash_lock_info *info)
{
	enum colour colour = PLAIN;

	if (v->sampler.failure.status != LEASH_OK)
		return A_DIM;
	if (info->remaining_ms < 0)
		colour = ENDLESS;
	else if (info->remaining_ms <= SAMPLE_URGENT_MS)
		colour = URGENT;
	else if (info->remaining_ms <= SAMPLE_ENDING_MS)
		colour = ENDING;
	else if (v->host[0] != '\0' && strcmp(v->host, info->holder.host) == 0)
		colour = OWN;
	return attribute(v, colour) | (info->waiting > 0 ? (int)A_BOLD : 0);
}

static void
draw_row(const struct view *v, const struct table *table, int y, size_t i)
{
	const struct sample *sample = v->sampler.shown;
	const leash_lock_info *info = &v->rows[i]->info;
	bool is_here = i == v->cursor && is_under(v, i);
	char cells[TABLE_LINE_SIZE], line[TABLE_LINE_SIZE + MARGIN];

	snprintf(line, sizeof line, "%c%c%s", is_here ? '>' : ' ',
	         circles_with(sample->circles, info->name) != NULL ? '!' : ' ',
	         table_line(table, cells, info, &sample->moment));
	if (is_here)
		put_bar(y, attributes_of(v, info) | (int)A_REVERSE, line);
	else
		put(y, 0, attributes_of(v, info), line);
}

/* If not all locks were kept, a last row says how many are missing. */
static void
draw_rows(const struct view *v, const struct table *table, const struct layout *l)
{
	uint64_t missing = rows_missing(v);
	size_t i = v->top;
	char line[200];
	int y = l->rows;

	for (; i < v->count && y < l->rows + l->row_count; i++, y++)
		draw_row(v, table, y, i);
	if (missing > 0 && i == v->count && y < l->rows + l->row_count) {
		snprintf(line, sizeof line, "%" PRIu64 " more are not shown: narrow it by / or a PATTERN, or take --rows",
		         missing);
		put(y, 0, A_BOLD, line);
	}
}

/* ---- texts of several lines ---- */

enum { HANG = 9 }; /* columns of the words that say what a line is about */

/* Where a text goes: from line `y` to before `end`, but for the first `skip` lines of it. */
struct pane {
	int y, end;
	size_t skip, total; /* lines so far */
};

/* How much of the text fits in a line: to a space, if there is one. */
static int
line_length(const char *text, int width)
{
	int n = width;

	if ((int)strlen(text) <= width)
		return (int)strlen(text);
	while (n > 0 && text[n] != ' ')
		n--;
	return n > 0 ? n : width;
}

static void
put_line(struct pane *pane, int indent, int attributes, const char *text, int length)
{
	char line[512];

	if (pane->total++ < pane->skip || pane->y >= pane->end)
		return;
	snprintf(line, sizeof line, "%.*s", length, text);
	put(pane->y++, indent, attributes, line);
}

/* In as many lines as it takes; all but the first are indented by so much. */
__attribute__((format(printf, 4, 5))) static void
say(struct pane *pane, int hang, int attributes, const char *format, ...)
{
	char text[TEXT_SIZE];
	const char *rest = text;
	int indent = 0, width, n;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	do {
		width = COLS > indent + 1 ? COLS - indent : 1;
		n = line_length(rest, width < 500 ? width : 500);
		put_line(pane, indent, attributes, rest, n);
		rest += n;
		rest += *rest == ' ';
		indent = hang < COLS / 2 ? hang : 0;
	} while (*rest != '\0');
}

/* What does not fit ends in a ~. */
static void
draw_circle(const struct view *v, const struct layout *l)
{
	struct pane pane = {.y = l->circle, .end = l->circle + l->circle_count};
	char line[CIRCLE_LINE_SIZE];
	int colour = attribute(v, TROUBLE);

	for (int y = pane.y; y < pane.end; y++)
		put_bar(y, colour, "");
	say(&pane, HANG, colour, "%s", circle_line(v, line));
	if (pane.total > (size_t)l->circle_count)
		put(pane.end - 1, COLS - 1, colour, "~");
}

/* ---- details: mutexes of sampler and inquiry held, memory only ---- */

static void
say_hold(struct pane *pane, const struct look *look, const leash_hold_info *hold)
{
	char who[CLI_PARTY_SIZE], need[LOOK_NEED_SIZE], left[CLI_TIME_SIZE];

	say(pane, HANG, A_NORMAL, "%s%s%s, %s%s", look_is_gate(&look->info) ? "arrived  " : "held by  ",
	    cli_party(who, &hold->who), look_need(need, &look->info, hold->count, hold->limit),
	    hold->remaining_ms < 0 ? "no expiry: not made by leash" : cli_span(left, hold->remaining_ms),
	    hold->remaining_ms < 0 ? "" : " left of the lease");
}

static void
say_state(struct pane *pane, const struct answer *answer)
{
	const leash_lock_info *info = &answer->look.info;
	char time[CLI_TIME_SIZE], span[CLI_TIME_SIZE];

	if (!info->held)
		say(pane, HANG, A_NORMAL, "free");
	for (size_t i = 0; i < answer->look.count; i++)
		say_hold(pane, &answer->look, &answer->look.holds[i]);
	if (answer->look.count == LEASH_HOLDS_MAX)
		say(pane, HANG, A_NORMAL, "         and perhaps more, whose leases end earlier");
	if (info->held_since_ms > 0)
		say(pane, HANG, A_NORMAL, "since    %s, for %s",
		    cli_time(time, moment_here(&answer->moment, info->held_since_ms)),
		    cli_span(span, moment_age(&answer->moment, info->held_since_ms)));
	if (info->kind == LEASH_KIND_MUTEX)
		say(pane, HANG, A_NORMAL, "kind     mutex, depth %" PRIu32, info->depth);
	else if (info->kind != LEASH_KIND_NONE)
		say(pane, HANG, A_NORMAL, "kind     %s, %" PRId64 " out", cli_kind(info->kind), info->out);
	if (info->fence > 0 && info->kind != LEASH_KIND_SEMAPHORE)
		say(pane, HANG, A_NORMAL, "fence    %" PRIu64 "%s", info->fence, info->held ? "" : ", of the last one");
	if (info->limit >= 0)
		say(pane, HANG, A_NORMAL, "limit    %" PRId64 ", an operator's, for a while", info->limit);
}

static void
say_waiters(struct pane *pane, const struct answer *answer)
{
	const leash_lock_info *info = &answer->look.info;
	char who[CLI_PARTY_SIZE], need[LOOK_NEED_SIZE], span[CLI_TIME_SIZE];

	if (info->no_queue)
		say(pane, HANG, A_NORMAL, "waiting  not known: a quorum has no queue, nor has Redisson");
	else if (info->waiting == 0)
		say(pane, HANG, A_NORMAL, "waiting  nobody");
	else
		say(pane, HANG, A_NORMAL, "waiting  %" PRIu32 ", in this order", info->waiting);
	for (size_t i = 0; i < answer->waiting; i++)
		say(pane, HANG, A_NORMAL, "%6" PRIu64 ".  %s%s, for %s", answer->waiters[i].position,
		    cli_party(who, &answer->waiters[i].who),
		    look_need(need, info, answer->waiters[i].count, answer->waiters[i].limit),
		    cli_span(span, moment_age(&answer->moment, answer->waiters[i].waiting_since_ms)));
	if (answer->waiting == INQUIRY_WAITERS && info->waiting > answer->waiting)
		say(pane, HANG, A_NORMAL, "         and %zu more", info->waiting - answer->waiting);
}

static void
say_circle(const struct view *v, struct pane *pane)
{
	const struct circle *circle = v->sampler.shown != NULL ? circles_with(v->sampler.shown->circles, v->under) : NULL;
	char text[CIRCLE_TEXT_SIZE], span[CLI_TIME_SIZE];

	if (circle == NULL)
		return;
	say(pane, HANG, attribute(v, URGENT),
	    "possible deadlock, for %s, unless other threads of these processes continue:",
	    cli_span(span, circle->age_ms));
	for (size_t i = 0; i < circle->count; i++)
		say(pane, HANG + 2, A_NORMAL, "%*s%s", HANG, "", circle_link_text(text, circle, i));
}

static void
say_history(const struct view *v, struct pane *pane)
{
	const struct history *history = &v->sampler.history;
	const struct change *change = NULL;
	char time[CLI_TIME_SIZE], span[CLI_TIME_SIZE], who[CLI_PARTY_SIZE];

	say(pane, HANG, A_NORMAL, "history  since %s, by a look every %s:", cli_time(time, history->since_ms),
	    cli_span(span, v->every_ms));
	while ((change = history_before(history, v->under, change)) != NULL)
		say(pane, HANG, A_NORMAL, "%*s%s  %s", HANG, "", cli_time(time, change->at_ms),
		    change->holder.token[0] != '\0' ? cli_party(who, &change->holder) : "free");
}

static void
say_details(const struct view *v, struct pane *pane)
{
	const struct answer *answer = v->inquiry->shown;

	if (answer == NULL || strcmp(answer->name, v->under) != 0) {
		say(pane, HANG, A_NORMAL, "looking ...");
	} else if (answer->failure.status != LEASH_OK) {
		say(pane, HANG, attribute(v, TROUBLE), "%s", answer->failure.text);
	} else {
		say_state(pane, answer);
		say_waiters(pane, answer);
	}
	say_circle(v, pane);
	say_history(v, pane);
}

static void
draw_details(struct view *v, const struct layout *l)
{
	struct pane pane = {.y = l->pane + 1, .end = l->pane + l->pane_count, .skip = v->skip};
	char title[4 * LEASH_NAME_MAX + 16], name[4 * LEASH_NAME_MAX + 1];
	size_t shown = l->pane_count > 1 ? (size_t)l->pane_count - 1 : 0;

	if (l->pane_count <= 0)
		return;
	snprintf(title, sizeof title, "  %s", v->under[0] != '\0' ? cli_show(name, sizeof name, v->under) : "no lock");
	put_bar(l->pane, A_REVERSE, title);
	if (v->under[0] == '\0')
		return;
	say_details(v, &pane);
	v->beyond = pane.total > shown + v->skip ? pane.total - shown - v->skip : 0;
	if (v->skip >= pane.total)
		v->skip = pane.total > shown ? pane.total - shown : 0; /* they have become fewer */
	if (v->beyond > 0) {
		snprintf(title, sizeof title, "%zu more: PgDn", v->beyond);
		put(l->pane, COLS - (int)strlen(title) - 1, A_REVERSE, title);
	}
}

/* ---- the question whether to break a lock: inquiry's mutex held ---- */

/* Has it come yet, who has the lock? */
static void
take_answer(struct view *v)
{
	const struct answer *answer = v->inquiry->shown;
	char shown[4 * LEASH_NAME_MAX + 1];

	if (v->is_asked || answer == NULL || answer->number < v->question)
		return;
	cli_show(shown, sizeof shown, v->target);
	if (answer->failure.status == LEASH_OK && answer->look.info.held) {
		v->asked = answer->look;
		return;
	}
	v->mode = MODE_TABLE;
	if (answer->failure.status != LEASH_OK)
		snprintf(v->note, sizeof v->note, "'%s' was left alone: %s", shown, answer->failure.text);
	else
		snprintf(v->note, sizeof v->note, "nobody has '%s'", shown);
}

static void
say_question(const struct view *v, struct pane *pane)
{
	char shown[4 * LEASH_NAME_MAX + 1], who[CLI_PARTY_SIZE];
	int bold = attribute(v, TROUBLE);

	cli_show(shown, sizeof shown, v->target);
	if (v->asked.info.name[0] == '\0') {
		say(pane, 0, bold, "Break '%s'? Looking who has it ...", shown);
		return;
	}
	if (v->asked.count == 1)
		say(pane, 0, bold, "Break %s '%s', which %s has?", look_noun(&v->asked.info), shown,
		    cli_party(who, &v->asked.holds[0].who));
	else
		say(pane, 0, bold, "Break %s '%s', which %zu have, among them %s?", look_noun(&v->asked.info), shown,
		    v->asked.count, cli_party(who, &v->asked.holds[0].who));
	say(pane, 0, A_BOLD, "Holders are not asked; live ones continue until their next renewal. y breaks it, any other "
	    "key does not.");
}

/* At the bottom. A question that cannot be read as a whole is not asked. */
static void
draw_question(struct view *v)
{
	struct pane measure = {.end = 0}, pane = {.end = LINES};

	take_answer(v);
	if (v->mode != MODE_BREAK)
		return;
	say_question(v, &measure);
	if (measure.total > (size_t)LINES) {
		v->mode = MODE_TABLE;
		snprintf(v->note, sizeof v->note, "the screen is too small for a question");
		return;
	}
	pane.y = LINES - (int)measure.total;
	for (int y = pane.y; y < LINES; y++)
		put_bar(y, A_NORMAL, "");
	say_question(v, &pane);
	if (v->asked.info.name[0] != '\0' && !v->is_asked) {
		v->is_asked = true;
		v->asked_ns = clock_steady_ns();
	}
}

/* ---- all ---- */

static void
draw_help(const struct view *v, int y)
{
	static const struct {
		enum colour colour;
		const char *text;
	} lines[] = {
		{PLAIN, "arrows j k      move the cursor; PgUp, PgDn, Home and End, too"},
		{PLAIN, "Enter           show or hide details of the lock; PgUp, PgDn scroll them"},
		{PLAIN, "/               only locks with a part of a name; Esc: all again"},
		{PLAIN, "b               break the lock, after a question"},
		{PLAIN, "s > < arrows    sort by the next, or the last, of: waiting, held, lease, name"},
		{PLAIN, "r               reverse the order"},
		{PLAIN, "p space         pause, and go on"},
		{PLAIN, "Ctrl-L          look at once"},
		{PLAIN, "h ?             this help"},
		{PLAIN, "q               quit"},
		{PLAIN, ""},
		{ENDING, "the lease ends within 5 s, if nobody renews it"},
		{URGENT, "... within 2 s"},
		{OWN, "held by a process on this machine"},
		{ENDLESS, "the key has no expiry: leash did not make it"},
		{PLAIN, "!               belongs to a circle of processes that wait for each other"},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		put(y++, 0, attribute(v, lines[i].colour), lines[i].text);
	put(y, 0, A_BOLD, "somebody waits for it");
}

static void
draw_last_line(struct view *v, const struct layout *l)
{
	char line[600], part[500];

	if (v->inquiry->outcome[0] != '\0') {
		strcpy(v->note, v->inquiry->outcome);
		v->inquiry->outcome[0] = '\0';
	}
	if (v->mode == MODE_FILTER) {
		snprintf(line, sizeof line, "Names with: %s_   (Enter keeps it, Esc clears it)",
		         cli_show(part, sizeof part, v->wish.part));
		put_bar(LINES - 1, A_BOLD, line);
	} else if (v->note[0] != '\0') {
		put_bar(LINES - 1, A_BOLD, v->note);
	} else if (l->roomy) {
		put(LINES - 1, 0, A_NORMAL, "Enter details  / filter  b break  s sort  r reverse  p pause  h help  q quit");
	}
}

static void
draw_head(const struct view *v, const struct layout *l)
{
	if (l->roomy) {
		draw_first_line(v, 0);
		if (v->sampler.failure.status != LEASH_OK)
			draw_failure(v, 2);
		else
			draw_order(v, 2);
	}
	draw_counts(v, l->roomy ? 1 : 0);
	if (l->circle_count > 0)
		draw_circle(v, l);
}

static void
draw(struct view *v)
{
	struct layout l;
	struct table table;

	settle(v);
	l = lay_out(v);
	table_fit(&table, COLS > MARGIN ? COLS - MARGIN : 1);
	draw_head(v, &l);
	if (v->mode == MODE_HELP) {
		draw_help(v, l.titles);
		return;
	}
	draw_titles(v, &table, l.titles);
	draw_rows(v, &table, &l);
	if (v->details)
		draw_details(v, &l);
	if (v->mode == MODE_BREAK)
		draw_question(v);
	if (v->mode != MODE_BREAK)
		draw_last_line(v, &l);
}

void
paint(struct view *v)
{
	erase();
	pthread_mutex_lock(&v->sampler.mutex);
	pthread_mutex_lock(&v->inquiry->mutex);
	draw(v);
	pthread_mutex_unlock(&v->inquiry->mutex);
	pthread_mutex_unlock(&v->sampler.mutex);
	move(0, 0);
	refresh();
}
