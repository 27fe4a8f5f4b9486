/* The live screen of leash top. See screen.h.
 *
 * One thread draws, and reads keys; it waits for a key, for news of the sampler, or for a signal, whichever comes
 * first, so a key is obeyed at once also while a scan runs or a server does not answer. Each frame is drawn anew
 * into ncurses' memory (erase(), never clear()), and ncurses sends what has changed.
 *
 * Signals are let in only while it waits: one that came a moment before would be forgotten over the wait otherwise.
 * INT, TERM, HUP and QUIT end the loop; WINCH and TSTP are ncurses'. */
#include "tools/screen.h"

#include "tools/clock.h"
#include "tools/sampler.h"
#include "tools/table.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	ROWS = 1000,       /* kept, to scroll through */
	TICK_MS = 1000,    /* the clock in the first line */
	ROOMY = 8,         /* lines: with fewer only one stands above the table */
	HEAD_LINES = 3,
};

enum colour { PLAIN, ENDING, URGENT, OWN, ENDLESS, TROUBLE };

struct screen {
	const struct subject *subject;
	struct sampler sampler;
	struct order order;
	bool paused, help, quit, coloured;
	size_t top; /* the row that is shown first */
	size_t fits; /* rows, as of the last frame */
	uint64_t rounds;
	char host[LEASH_HOST_SIZE];
};

static volatile sig_atomic_t caught;

static void
catch(int number)
{
	caught = number;
}

/* ---- drawing: sampler's mutex held, memory only ---- */

static int
attribute(const struct screen *s, enum colour colour)
{
	static const int plain[] = {A_NORMAL, A_BOLD, A_BOLD | A_UNDERLINE, A_NORMAL, A_BOLD, A_REVERSE};

	if (!s->coloured || colour == PLAIN)
		return plain[colour];
	return (int)COLOR_PAIR(colour) | (colour == URGENT || colour == TROUBLE ? (int)A_BOLD : 0);
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

static void
draw_first_line(const struct screen *s, int y)
{
	const struct sample *sample = s->sampler.shown;
	char line[400], time[CLI_TIME_SIZE];
	struct moment now = moment_now(s->subject->client);
	int n;

	cli_time(time, now.here_ms);
	n = snprintf(line, sizeof line, "leash top  %s  %s", strchr(time, ' ') != NULL ? strchr(time, ' ') + 1 : time,
	             s->subject->server);
	if (s->subject->pattern != NULL) {
		char shown[100];

		n += snprintf(line + n, sizeof line - (size_t)n, "  %s", cli_show(shown, sizeof shown, s->subject->pattern));
	}
	if (sample != NULL && s->sampler.failure.status == LEASH_OK)
		snprintf(line + n, sizeof line - (size_t)n, "  round trip %.2f ms, scan %.0f ms", (double)sample->trip_ns / 1e6,
		         (double)sample->scan_ns / 1e6);
	put(y, 0, A_NORMAL, line);
}

/* The counts, or that there is no answer. */
static void
draw_counts(const struct screen *s, int y)
{
	const struct sampler *sampler = &s->sampler;
	char text[SAMPLE_TEXT_SIZE], span[TABLE_SPAN_SIZE];

	if (sampler->failure.status != LEASH_OK) {
		snprintf(text, sizeof text, "NO ANSWER for %s%s",
		         table_span(span, (clock_steady_ns() - sampler->fresh_ns) / 1000000),
		         sampler->shown != NULL ? ": what is shown is old" : "");
		put(y, 0, attribute(s, TROUBLE), text);
	} else if (sampler->shown == NULL) {
		put(y, 0, A_NORMAL, "looking ...");
	} else {
		put(y, 0, A_BOLD, sample_text(text, sampler->shown));
	}
}

/* Why there is no answer. Without the name of the server, which stands above. */
static void
draw_failure(const struct screen *s, int y)
{
	const char *text = s->sampler.failure.text, *server = strstr(text, s->subject->server);
	size_t size = strlen(s->subject->server);

	put(y, 0, A_BOLD, server != NULL && server[size] == ':' ? server + size + 2 : text);
}

static void
draw_order(const struct screen *s, int y)
{
	const struct sample *sample = s->sampler.shown;
	size_t count = sample != NULL ? sample->ranking.count : 0;
	size_t last = s->top + s->fits < count ? s->top + s->fits : count;
	char line[200];
	int n = snprintf(line, sizeof line, "%s%s", s->paused ? "PAUSED, " : "", order_text(s->order));

	if (count > s->fits && s->fits > 0)
		n += snprintf(line + n, sizeof line - (size_t)n, ", %zu to %zu of ", s->top + 1, last);
	if (count > s->fits && s->fits > 0 && sample->locks > count)
		snprintf(line + n, sizeof line - (size_t)n, "the first %zu", count);
	else if (count > s->fits && s->fits > 0)
		snprintf(line + n, sizeof line - (size_t)n, "%zu", count);
	put(y, 0, A_NORMAL, line);
	if (COLS >= (int)strlen(line) + 2 + 14)
		put(y, COLS - 14, A_NORMAL, "h help  q quit");
}

static void
draw_titles(const struct screen *s, const struct table *table, int y)
{
	static const enum table_column columns[RANKS] = {
		[RANK_WAITING] = TABLE_WAITING, [RANK_HELD] = TABLE_HELD, [RANK_LEASE] = TABLE_LEASE, [RANK_NAME] = TABLE_NAME,
	};
	enum table_column sorted = columns[s->order.by];
	char line[TABLE_LINE_SIZE];
	int at = table_at(table, sorted);

	table_head(table, line);
	put(y, 0, A_REVERSE, line);
	for (int x = (int)strlen(line); x < COLS; x++)
		put(y, x, A_REVERSE, " ");
	if (at >= 0 && y < LINES)
		mvchgat(y, at, table->width[sorted], A_REVERSE | A_BOLD | A_UNDERLINE, 0, NULL);
}

static int
attributes_of(const struct screen *s, const leash_lock_info *info)
{
	enum colour colour = PLAIN;

	if (s->sampler.failure.status != LEASH_OK)
		return A_DIM;
	if (info->remaining_ms < 0)
		colour = ENDLESS;
	else if (info->remaining_ms <= SAMPLE_URGENT_MS)
		colour = URGENT;
	else if (info->remaining_ms <= SAMPLE_ENDING_MS)
		colour = ENDING;
	else if (s->host[0] != '\0' && strcmp(s->host, info->holder.host) == 0)
		colour = OWN;
	return attribute(s, colour) | (info->waiting > 0 ? (int)A_BOLD : 0);
}

/* If not all locks were kept, a last row says how many are missing. */
static void
draw_rows(struct screen *s, const struct table *table, int y)
{
	const struct sample *sample = s->sampler.shown;
	size_t count = sample != NULL ? sample->ranking.count : 0;
	bool more = sample != NULL && sample->locks > count;
	char line[TABLE_LINE_SIZE];

	s->fits = LINES > y ? (size_t)(LINES - y) : 0;
	if (s->top + s->fits > count + more)
		s->top = count + more > s->fits ? count + more - s->fits : 0;
	for (size_t i = s->top; i < count && y < LINES; i++, y++) {
		const leash_lock_info *info = &sample->ranking.at[i]->info;

		put(y, 0, attributes_of(s, info), table_line(table, line, info, &sample->moment));
	}
	if (more && y < LINES) {
		snprintf(line, sizeof line, "%llu more are not shown: narrow it by a PATTERN, or sort by something else",
		         (unsigned long long)(sample->locks - count));
		put(y, 0, A_BOLD, line);
	}
}

static void
draw_help(const struct screen *s, int y)
{
	static const struct {
		enum colour colour;
		const char *text;
	} lines[] = {
		{PLAIN, "q               quit"},
		{PLAIN, "s > < arrows    sort by the next, or the last, of: waiting, held, lease, name"},
		{PLAIN, "r               reverse the order"},
		{PLAIN, "j k PgUp PgDn   scroll; arrows, Home and End, too"},
		{PLAIN, "p space         pause, and go on"},
		{PLAIN, "Enter           look at once"},
		{PLAIN, "h ?             this help"},
		{PLAIN, ""},
		{ENDING, "the lease ends within 5 s, if nobody renews it"},
		{URGENT, "... within 2 s"},
		{OWN, "held by a process on this machine"},
		{ENDLESS, "the key has no expiry: leash did not make it"},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		put(y++, 0, attribute(s, lines[i].colour), lines[i].text);
	put(y, 0, A_BOLD, "somebody waits for it");
}

static void
draw(struct screen *s)
{
	bool roomy = LINES >= ROOMY;
	int y = roomy ? HEAD_LINES : 1;
	struct table table;

	table_fit(&table, COLS > 0 ? COLS : 1);
	erase();
	pthread_mutex_lock(&s->sampler.mutex);
	if (s->help) {
		draw_help(s, y);
	} else {
		draw_titles(s, &table, y);
		draw_rows(s, &table, y + 1);
	}
	if (roomy) {
		draw_first_line(s, 0);
		if (s->sampler.failure.status != LEASH_OK)
			draw_failure(s, 2);
		else
			draw_order(s, 2);
	}
	draw_counts(s, roomy ? 1 : 0);
	pthread_mutex_unlock(&s->sampler.mutex);
	move(0, 0);
	refresh();
}

/* ---- keys ---- */

static void
reorder(struct screen *s, int step, bool reverse)
{
	s->order.by = (enum rank_by)(((int)s->order.by + step + RANKS) % RANKS);
	s->order.reverse = reverse;
	s->top = 0;
	sampler_reorder(&s->sampler, s->order);
}

/* draw() keeps it before the end. */
static void
scroll_by(struct screen *s, long rows)
{
	if (rows < 0 && s->top < (size_t)-rows)
		s->top = 0;
	else
		s->top += (size_t)rows;
}

/* False: that is none of its keys. */
static bool
obey_scrolling(struct screen *s, int key)
{
	long page = s->fits > 1 ? (long)s->fits - 1 : 1;

	switch (key) {
	case 'j':
	case KEY_DOWN:
		scroll_by(s, 1);
		return true;
	case 'k':
	case KEY_UP:
		scroll_by(s, -1);
		return true;
	case KEY_NPAGE:
		scroll_by(s, page);
		return true;
	case KEY_PPAGE:
		scroll_by(s, -page);
		return true;
	case KEY_HOME:
		s->top = 0;
		return true;
	case KEY_END:
		s->top = ROWS + 1;
		return true;
	default:
		return false;
	}
}

static bool
obey_sorting(struct screen *s, int key)
{
	switch (key) {
	case 's':
	case '>':
	case KEY_RIGHT:
		reorder(s, 1, false);
		return true;
	case '<':
	case KEY_LEFT:
		reorder(s, -1, false);
		return true;
	case 'r':
	case 'R':
		reorder(s, 0, !s->order.reverse);
		return true;
	default:
		return false;
	}
}

static void
obey(struct screen *s, int key)
{
	if (obey_scrolling(s, key) || obey_sorting(s, key))
		return;
	switch (key) {
	case 'q':
	case 'Q':
		s->quit = true;
		break;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		sampler_pause(&s->sampler, s->paused);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		sampler_hurry(&s->sampler);
		break;
	case 'h':
	case '?':
		s->help = !s->help;
		break;
	default: /* KEY_RESIZE: the next frame has the new size */
		break;
	}
}

/* ---- the loop ---- */

/* Wait until there is something to draw. False: the terminal is gone. */
static bool
wait_for_news(struct screen *s, const sigset_t *let_in)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = s->sampler.event, .events = POLLIN}};
	struct timespec tick = {.tv_nsec = TICK_MS % 1000 * 1000000, .tv_sec = TICK_MS / 1000};
	eventfd_t news;
	int key;

	if (ppoll(fds, 2, &tick, let_in) < 0)
		fds[0].revents = fds[1].revents = 0; /* a signal */
	if (fds[1].revents != 0)
		eventfd_read(s->sampler.event, &news);
	while ((key = getch()) != ERR && !s->quit)
		obey(s, key);
	return (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

static bool
was_last_round(struct screen *s)
{
	bool last;

	pthread_mutex_lock(&s->sampler.mutex);
	last = s->rounds > 0 && s->sampler.rounds >= s->rounds;
	pthread_mutex_unlock(&s->sampler.mutex);
	return last;
}

static leash_status
last_status(struct screen *s)
{
	leash_status status;

	pthread_mutex_lock(&s->sampler.mutex);
	status = s->sampler.failure.status;
	pthread_mutex_unlock(&s->sampler.mutex);
	return status;
}

static void
start_curses(struct screen *s)
{
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	s->coloured = cli_has_colour(STDOUT_FILENO) && has_colors() && start_color() == OK;
	if (!s->coloured)
		return;
	use_default_colors();
	init_pair(ENDING, COLOR_YELLOW, -1);
	init_pair(URGENT, COLOR_RED, -1);
	init_pair(OWN, COLOR_CYAN, -1);
	init_pair(ENDLESS, COLOR_MAGENTA, -1);
	init_pair(TROUBLE, COLOR_WHITE, COLOR_RED);
}

/* Before newterm(), which leaves signals alone that have handlers. Ignored signals stay ignored: nohup. */
static void
catch_signals(sigset_t *let_in)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = catch}, before;
	sigset_t held_back;

	sigemptyset(&held_back);
	sigaddset(&held_back, SIGWINCH);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		if (sigaction(ours[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(ours[i], &action, NULL);
		sigaddset(&held_back, ours[i]);
	}
	sigprocmask(SIG_BLOCK, &held_back, let_in);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		sigdelset(let_in, ours[i]);
	sigdelset(let_in, SIGWINCH);
}

static int
end(struct screen *s, const sigset_t *let_in)
{
	leash_status last = last_status(s);
	int status = s->rounds > 0 ? cli_exit_of(last) : EXIT_OK;

	if (caught == 0 && sampler_stop(&s->sampler) && last == LEASH_OK)
		return status;
	if (caught != 0) {
		signal(caught, SIG_DFL);
		raise(caught);
		sigprocmask(SIG_SETMASK, let_in, NULL);
	}
	/* at once: nothing is held, and a server that hangs would keep us for seconds */
	_exit(caught != 0 ? EXIT_BY_SIGNAL + caught : status);
}

int
screen_run(const struct subject *subject, int64_t every_ms, uint64_t rounds, struct order order)
{
	struct screen s = {.subject = subject, .order = order, .rounds = rounds};
	const char *term = getenv("TERM");
	char shown[80];
	sigset_t let_in;
	SCREEN *terminal;
	int status = sampler_start(&s.sampler, subject, every_ms, order, ROWS);

	if (status != CLI_GO_ON)
		return status;
	if (gethostname(s.host, sizeof s.host - 1) != 0)
		s.host[0] = '\0';
	catch_signals(&let_in);
	terminal = newterm(NULL, stdout, stdin);
	if (terminal == NULL) {
		sampler_stop(&s.sampler);
		return cli_fail(subject->cli, EXIT_USAGE,
		                "TERM=%s is no terminal that a screen can be drawn on: set TERM, or use --batch",
		                cli_show(shown, sizeof shown, term != NULL ? term : ""));
	}
	start_curses(&s);
	do
		draw(&s);
	while (wait_for_news(&s, &let_in) && caught == 0 && !s.quit && !was_last_round(&s));
	endwin();
	return end(&s, &let_in);
}
