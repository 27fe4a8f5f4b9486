/* The live screen of leash top. See screen.h.
 *
 * One thread draws, and reads keys; it waits for a key, for news of the threads that ask the server, or for a signal,
 * whichever comes first, so a key is obeyed at once also while a scan runs or a server does not answer.
 *
 * Signals are let in only while it waits: one that came a moment before would be forgotten over the wait otherwise.
 * INT, TERM, HUP and QUIT end the loop; WINCH and TSTP are ncurses'. */
#include "tools/screen.h"

#include "tools/clock.h"
#include "tools/paint.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	TICK_MS = 1000, /* of the clock in the first line */
	READ_MS = 300,  /* nobody reads a question in less */
};

enum { ESCAPE = 27, CTRL_H = 8, CTRL_L = 12, DELETE = 127 };

static volatile sig_atomic_t caught;

static void
catch(int number)
{
	caught = number;
}

/* ---- keys ---- */

/* What is at the top then is what people want to see. */
static void
wish(struct view *v)
{
	v->cursor = v->top = 0;
	v->moved = true;
	sampler_wish(&v->sampler, &v->wish);
}

/* 0: by the same, in reverse. */
static void
reorder(struct view *v, int step)
{
	v->wish.order.by = (enum rank_by)(((int)v->wish.order.by + step + RANKS) % RANKS);
	v->wish.order.reverse = step == 0 && !v->wish.order.reverse;
	wish(v);
}

/* view_settle() keeps it before the end. */
static void
move_to(struct view *v, size_t row)
{
	v->cursor = row;
	v->skip = 0;
	v->moved = true;
	view_settle(v);
}

static void
move_by(struct view *v, int rows)
{
	move_to(v, rows < 0 && v->cursor < (size_t)-rows ? 0 : v->cursor + (size_t)rows);
}

static void
move_to_end(struct view *v, int last)
{
	move_to(v, last ? SIZE_MAX : 0);
}

static void
turn_page(struct view *v, int pages)
{
	int page = v->fits > 1 ? (int)v->fits - 1 : 1;
	size_t step = 4; /* of the details, which are few lines */

	if (v->details && pages > 0)
		v->skip += v->beyond < step ? v->beyond : step;
	else if (v->details)
		v->skip -= v->skip < step ? v->skip : step;
	else
		move_by(v, pages * page);
}

/* And by the same key out of it again. */
static void
enter_mode(struct view *v, int mode)
{
	v->mode = v->mode == (enum mode)mode ? MODE_TABLE : (enum mode)mode;
}

static const struct {
	int key;
	void (*obey)(struct view *v, int how);
	int how;
} keys[] = {
	{'j', move_by, 1}, {KEY_DOWN, move_by, 1}, {'k', move_by, -1}, {KEY_UP, move_by, -1},
	{KEY_NPAGE, turn_page, 1}, {KEY_PPAGE, turn_page, -1}, {KEY_HOME, move_to_end, 0}, {KEY_END, move_to_end, 1},
	{'s', reorder, 1}, {'>', reorder, 1}, {KEY_RIGHT, reorder, 1}, {'<', reorder, -1}, {KEY_LEFT, reorder, -1},
	{'r', reorder, 0}, {'R', reorder, 0},
	{'/', enter_mode, MODE_FILTER}, {'h', enter_mode, MODE_HELP}, {'?', enter_mode, MODE_HELP},
};

/* False: that is none of them. */
static bool
obey_listed(struct view *v, int key)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i].key == key) {
			keys[i].obey(v, keys[i].how);
			return true;
		}
	return false;
}

static void
show_details(struct view *v, bool shown)
{
	view_settle(v);
	v->details = shown;
	v->skip = 0;
}

static void
ask_whether_to_break(struct view *v)
{
	view_settle(v);
	if (v->under[0] == '\0')
		return;
	strcpy(v->target, v->under);
	v->asked.info.name[0] = '\0';
	v->is_asked = false;
	strcpy(v->inquired, v->target);
	v->question = inquiry_ask(v->inquiry, v->target);
	v->mode = MODE_BREAK;
}

/* Nothing but a y to a question that could be read. What comes too early for that was typed for something else. */
static void
obey_answer(struct view *v, int key)
{
	char shown[4 * LEASH_NAME_MAX + 1];

	if (key == KEY_RESIZE || (v->is_asked && clock_steady_ns() - v->asked_ns < READ_MS * MS))
		return;
	if (v->is_asked && key == 'y') {
		inquiry_break(v->inquiry, &v->asked);
		snprintf(v->note, sizeof v->note, "breaking '%s' ...", cli_show(shown, sizeof shown, v->target));
	} else {
		snprintf(v->note, sizeof v->note, "'%s' was left alone", cli_show(shown, sizeof shown, v->target));
	}
	v->mode = MODE_TABLE;
}

static void
clear_filter(struct view *v)
{
	v->mode = MODE_TABLE;
	v->wish.part[0] = '\0';
	wish(v);
}

static void
obey_typing(struct view *v, int key)
{
	size_t n = strlen(v->wish.part);

	if (key == ESCAPE) {
		clear_filter(v);
	} else if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		v->mode = MODE_TABLE;
	} else if ((key == KEY_BACKSPACE || key == CTRL_H || key == DELETE) && n > 0) {
		v->wish.part[n - 1] = '\0';
		wish(v);
	} else if (key >= ' ' && key < 256 && key != DELETE && n + 1 < sizeof v->wish.part) {
		v->wish.part[n] = (char)key;
		v->wish.part[n + 1] = '\0';
		wish(v);
	}
}

static void
obey_escape(struct view *v)
{
	if (v->mode == MODE_HELP)
		v->mode = MODE_TABLE;
	else if (v->details)
		show_details(v, false);
	else
		clear_filter(v);
}

static void
obey_command(struct view *v, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		v->quit = true;
		break;
	case 'p':
	case ' ':
		v->paused = !v->paused;
		sampler_pause(&v->sampler, v->paused);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		show_details(v, !v->details);
		break;
	case 'b':
		ask_whether_to_break(v);
		break;
	case ESCAPE:
		obey_escape(v);
		break;
	case CTRL_L:
		sampler_hurry(&v->sampler);
		break;
	default: /* KEY_RESIZE: the next frame has the new size */
		break;
	}
}

static void
obey(struct view *v, int key)
{
	v->note[0] = '\0';
	if (v->mode == MODE_FILTER)
		obey_typing(v, key);
	else if (v->mode == MODE_BREAK)
		obey_answer(v, key);
	else if (!obey_listed(v, key))
		obey_command(v, key);
}

/* ---- the loop ---- */

/* Have that lock looked at which is to be shown, or broken. */
static void
inquire(struct view *v)
{
	const char *name = v->mode == MODE_BREAK ? v->target : v->details ? v->under : "";

	view_settle(v);
	if (strcmp(name, v->inquired) == 0)
		return;
	strcpy(v->inquired, name);
	inquiry_ask(v->inquiry, name);
}

/* Wait until there is something to draw. False: the terminal is gone. */
static bool
wait_for_news(struct view *v, const sigset_t *let_in)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = v->sampler.event, .events = POLLIN}};
	struct timespec tick = {.tv_nsec = TICK_MS % 1000 * 1000000, .tv_sec = TICK_MS / 1000};
	eventfd_t news;
	int key;

	if (ppoll(fds, 2, &tick, let_in) < 0)
		fds[0].revents = fds[1].revents = 0; /* a signal */
	if (fds[1].revents != 0)
		eventfd_read(v->sampler.event, &news);
	while ((key = getch()) != ERR && !v->quit)
		obey(v, key);
	return (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

static void
start_curses(struct view *v)
{
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	paint_begin(v);
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
end(struct view *v, const sigset_t *let_in)
{
	int status = v->rounds > 0 ? cli_exit_of(v->status) : EXIT_OK;

	if (caught == 0 && inquiry_stop(v->inquiry) && sampler_stop(&v->sampler) && v->status == LEASH_OK)
		return status;
	if (caught != 0) {
		signal(caught, SIG_DFL);
		raise(caught);
		sigprocmask(SIG_SETMASK, let_in, NULL);
	}
	/* at once: nothing is held, and a server that hangs would keep us for seconds */
	_exit(caught != 0 ? EXIT_BY_SIGNAL + caught : status);
}

/* CLI_GO_ON, or what to exit with; then it has been told. */
static int
start(struct view *v, size_t rows)
{
	int status = sampler_start(&v->sampler, v->subject, v->every_ms, v->wish.order, rows);

	if (status != CLI_GO_ON)
		return status;
	v->rows = calloc(rows, sizeof(struct rank_row *));
	v->inquiry = v->rows != NULL ? inquiry_start(v->subject, v->sampler.event) : NULL;
	if (v->inquiry != NULL)
		return CLI_GO_ON;
	sampler_stop(&v->sampler);
	return cli_fail(v->subject->cli, EXIT_INTERNAL, "out of memory or threads");
}

static int
show(struct view *v)
{
	const char *term = getenv("TERM");
	char shown[80];
	sigset_t let_in;
	SCREEN *terminal;

	catch_signals(&let_in);
	terminal = newterm(NULL, stdout, stdin);
	if (terminal == NULL) {
		inquiry_stop(v->inquiry);
		sampler_stop(&v->sampler);
		return cli_fail(v->subject->cli, EXIT_USAGE,
		                "TERM=%s: a screen cannot be drawn on this terminal; set TERM, or use --batch",
		                cli_show(shown, sizeof shown, term != NULL ? term : ""));
	}
	start_curses(v);
	do {
		inquire(v);
		paint(v);
	} while (!v->was_last && wait_for_news(v, &let_in) && caught == 0 && !v->quit);
	endwin();
	return end(v, &let_in);
}

int
screen_run(struct subject *subject, int64_t every_ms, uint64_t rounds, struct order order, size_t rows)
{
	struct view *v = calloc(1, sizeof *v);
	int status;

	if (v == NULL)
		return cli_fail(subject->cli, EXIT_INTERNAL, "out of memory");
	v->subject = subject;
	v->every_ms = every_ms;
	v->rounds = rounds;
	v->wish.order = order;
	if (gethostname(v->host, sizeof v->host - 1) != 0)
		v->host[0] = '\0';
	status = start(v, rows);
	if (status == CLI_GO_ON)
		status = show(v);
	free(v->rows);
	free(v);
	return status;
}
