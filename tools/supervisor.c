/* Watching CMD and the lock that it runs under. See supervisor.h.
 *
 *                 the lease is nearly over, or gone;             the grace is over,
 *                 --max-run                                      or the lease nearly is
 *      WATCHING ------------------------------------> TOLD ------------------------------> KILLING
 *          |        CMD's group gets TERM, and CONT     |        all that descends from       |
 *          |                                            |        us gets KILL, again and      |
 *          | CMD has ended                              |        again                        |
 *          v                                            v                                     v
 *         over                                   over when none is left                over when none is left
 *
 * The moments. D is the earliest moment at which the lease may be over if no renewal succeeds any more; leash knows it
 * from memory, and it is 1 % of the lease before the server's own moment. What must be dead by D gets KILL at D -
 * margin (the margin is for the machine, not for CMD), and TERM at D - margin - grace. A renewal that succeeds in time
 * moves D, and nothing happens. One that succeeds after TERM only makes the grace a full one: CMD was told to end, so
 * the run has failed.
 *
 * A lock that is lost at once (leash break) may be held by another already: TERM now. If the end of the lease is past
 * (the machine slept, or leash was stopped) there is no time for TERM: KILL.
 *
 * Called by the main thread only. It blocks in poll() alone: never on the server, never on standard error. */
#include "tools/supervisor.h"

#include "tools/clock.h"
#include "tools/notify.h"
#include "tools/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NEVER INT64_MAX

static const int taken[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD};

enum { SWEEP_MS = 10, AGAIN_MS = 200 }; /* between two rounds of KILL: at first, and at most */

void
supervisor_signals(const struct job *job, sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (taken[i] == SIGCHLD || (!job_was_ignored(job, taken[i]) && !(job->foreground && taken[i] == SIGTSTP)))
			sigaddset(set, taken[i]);
}

bool
supervisor_begin(struct supervisor *v)
{
	sigset_t set;

	supervisor_signals(v->job, &set);
	v->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	v->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return v->signal_fd >= 0 && v->timer_fd >= 0;
}

void
supervisor_end(struct supervisor *v)
{
	if (v->signal_fd >= 0)
		close(v->signal_fd);
	if (v->timer_fd >= 0)
		close(v->timer_fd);
	v->signal_fd = v->timer_fd = -1;
}

/* ---- telling and killing ---- */

static int64_t
end_of_lease(const struct supervisor *v)
{
	return v->valid_until - v->margin_ms * MS;
}

/* With --on-lost kill there is no grace before the end of the lease. */
static int64_t
grace(const struct supervisor *v)
{
	return v->on_lost == SIGKILL ? 0 : v->kill_after_ms * MS;
}

static int64_t
kill_at(const struct supervisor *v)
{
	int64_t at = v->told_at + v->kill_after_ms * MS;

	return v->on_lost != 0 && end_of_lease(v) < at ? end_of_lease(v) : at;
}

static void
mention_trouble(struct supervisor *v, const struct tree_found *found)
{
	if (found->hindered != 0 && !v->hindered_told) {
		v->hindered_told = true;
		writer_say(v->writer, CLI_WARNING, "cannot look for what the command has started: %s; retrying",
		           strerror(found->hindered));
	}
	if (found->forbidden == 0 || v->forbidden_told)
		return;
	v->forbidden_told = true;
	writer_say(v->writer, CLI_WARNING,
	           "process %d belongs to another user and cannot be ended: it continues without the lock",
	           (int)found->one_of_them);
}

static void
kill_all(struct supervisor *v)
{
	struct tree_found found;

	if (!v->job->ended)
		job_signal(v->job, SIGKILL); /* first, because it works without /proc */
	found = tree_signal(&v->job->tree, SIGKILL);
	mention_trouble(v, &found);
	v->stage = SUPERVISOR_KILLING;
}

static void
tell_cmd(struct supervisor *v, enum supervisor_cause cause, int signal, int64_t now)
{
	v->cause = cause;
	v->stage = SUPERVISOR_TOLD;
	v->told = signal;
	v->told_at = now;
	if (signal == SIGKILL || now >= kill_at(v) || (v->stopped && v->gone)) {
		kill_all(v);
		return;
	}
	job_signal(v->job, signal);
	if (signal != SIGSTOP && signal != SIGTSTP)
		job_signal(v->job, SIGCONT); /* a stopped process would not get it */
}

/* CMD has ended, but some of its descendants have not: those in other process groups have got no signal yet. */
static void
sweep(struct supervisor *v)
{
	struct tree_found found;

	if (v->swept || v->stage != SUPERVISOR_TOLD)
		return;
	v->swept = true;
	found = tree_signal(&v->job->tree, v->told);
	mention_trouble(v, &found);
}

/* ---- the moments ---- */

/* Why it is lost has been said by on_event(). */
static void
say_lost(struct supervisor *v, const char *what_follows)
{
	const struct holding *which = v->held->held;
	char left[CLI_TIME_SIZE];

	hold_set_remaining_ms(v->held, &which);
	if (v->gone)
		writer_say(v->writer, CLI_ERROR, "without %s %s", which->shown, what_follows);
	else
		writer_say(v->writer, CLI_ERROR, "%s cannot be renewed, and its lease ends in %s: %s", which->shown,
		            cli_span(left, (v->valid_until - clock_boot_ns()) / MS), what_follows);
}

static void
lose(struct supervisor *v, int64_t now)
{
	if (v->on_lost == 0) {
		v->cause = SUPERVISOR_LOST;
		say_lost(v, "the command continues (--on-lost keep)");
		return;
	}
	tell_cmd(v, SUPERVISOR_LOST, v->on_lost, now); /* before anything is said */
	say_lost(v, v->stage == SUPERVISOR_KILLING ? "the command is killed" : "the command is being ended");
}

static bool
is_lost_soon(const struct supervisor *v, int64_t now)
{
	return v->gone || (v->on_lost != 0 && now >= end_of_lease(v) - grace(v));
}

static bool
is_too_long(const struct supervisor *v, int64_t now)
{
	return v->max_run_ms > 0 && now >= v->began + v->max_run_ms * MS;
}

/* Returns the time, read before the hold is asked: so valid_until is too early, if anything. */
static int64_t
look_at_hold(struct supervisor *v)
{
	int64_t now = clock_boot_ns(), left = hold_set_remaining_ms(v->held, NULL);

	if (left > 0 && !v->gone)
		v->valid_until = now + left * MS;
	else
		v->gone = true;
	return now;
}

/* What do the clock and the hold say? */
static void
look(struct supervisor *v)
{
	int64_t now = look_at_hold(v);

	if (v->job->caller != NULL)
		job_reap(v->job); /* after the hold: who releases it by its token lets go first */
	if (v->stage == SUPERVISOR_WATCHING && v->job->ended)
		return;
	if (v->stage == SUPERVISOR_WATCHING && v->cause != SUPERVISOR_LOST && is_lost_soon(v, now))
		lose(v, now);
	if (v->stage == SUPERVISOR_WATCHING && is_too_long(v, now)) {
		tell_cmd(v, v->cause == SUPERVISOR_LOST ? SUPERVISOR_LOST : SUPERVISOR_TOO_LONG, SIGTERM, now);
		writer_say(v->writer, CLI_INFO, "the command has run for longer than --max-run; it is being ended");
	}
	if (v->stage == SUPERVISOR_TOLD && v->gone && !v->job->ended)
		v->cause = SUPERVISOR_LOST;
	if (v->stage == SUPERVISOR_TOLD && now >= kill_at(v))
		kill_all(v);
}

static int64_t
next_moment(const struct supervisor *v, int64_t pause_ms)
{
	int64_t at;

	if (v->stage == SUPERVISOR_TOLD)
		return kill_at(v);
	if (v->stage == SUPERVISOR_KILLING)
		return clock_boot_ns() + pause_ms * MS;
	at = v->on_lost != 0 ? end_of_lease(v) - grace(v) : v->valid_until;
	if (v->gone)
		at = NEVER;
	if (v->max_run_ms > 0 && v->began + v->max_run_ms * MS < at)
		at = v->began + v->max_run_ms * MS;
	return at;
}

static void
set_timer(const struct supervisor *v, int64_t at)
{
	struct itimerspec spec = {0};

	if (at != NEVER) {
		spec.it_value.tv_sec = at / (1000 * MS);
		spec.it_value.tv_nsec = at % (1000 * MS) + (at <= 0 ? 1 : 0);
	}
	timerfd_settime(v->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* ---- signals, and the terminal ---- */

/* As the terminal does it: our whole process group, which the shell takes for one job. If no shell could continue it,
 * the kernel drops the signal. Returns when we were continued. */
static void
stop_ourselves(void)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, &before); /* leash stops here */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Who is stopped renews nothing. */
static void
say_what_it_costs(struct supervisor *v)
{
	const struct holding *which = v->held->held;
	char left[CLI_TIME_SIZE];

	hold_set_remaining_ms(v->held, &which);
	writer_say(v->writer, CLI_INFO, "stopped: nobody renews %s, and it is lost in %s; if the command is not continued "
	                                "before that (fg), it is killed",
	           which->shown, cli_span(left, (v->valid_until - clock_boot_ns()) / MS));
	writer_pass(v->writer);
}

static void
follow_stop(struct supervisor *v, int signal)
{
	struct job *job = v->job;
	bool asks = signal == SIGTTIN || signal == SIGTTOU;

	if (job->terminal < 0 || job->group == 0 || !(asks || signal == SIGTSTP))
		return;
	if (v->stage == SUPERVISOR_WATCHING && !(asks && job_owns_terminal(job))) {
		job_take_terminal(job);
		v->stopped = true;
		if (look_at_hold(v) < v->valid_until && !v->gone && v->on_lost != 0 && v->held->count > 0)
			say_what_it_costs(v);
		stop_ourselves();
		look(v); /* the lease may have ended meanwhile */
		v->stopped = false;
	}
	if (v->stage == SUPERVISOR_KILLING)
		return;
	job_give_terminal(job);
	job_signal(job, SIGCONT);
}

static bool
is_ending(int signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTERM;
}

static void
pass_on(struct supervisor *v, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (is_ending(signal))
		v->passed_on = signal;
	if (signal == SIGCONT)
		job_give_terminal(v->job); /* fg: the shell may have put us into the foreground */
	if (v->job->foreground && info->ssi_code == SI_KERNEL)
		return; /* the terminal sent it to our process group, which CMD is in */
	if (v->stage != SUPERVISOR_WATCHING && signal == v->told)
		return; /* an outer run signals us and CMD; some programs take a second signal for another order */
	job_signal(v->job, signal);
}

static void
take_signals(struct supervisor *v)
{
	struct signalfd_siginfo info;
	int stopped_by;

	while (read(v->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGCHLD)
			pass_on(v, &info);
	stopped_by = job_reap(v->job);
	if (stopped_by != 0)
		follow_stop(v, stopped_by);
}

/* ---- the loop ---- */

static void
await(struct supervisor *v, int64_t until)
{
	struct pollfd at[] = {
		{.fd = v->signal_fd, .events = POLLIN},
		{.fd = v->timer_fd, .events = POLLIN},
		{.fd = v->lost_fd, .events = POLLIN},
		{.fd = v->job->news, .events = POLLIN}, /* -1 is ignored */
	};
	int64_t beat = notify_beat(v->notify);
	uint64_t count;

	set_timer(v, until < beat ? until : beat); /* which also clears an expiry before */
	if (poll(at, sizeof at / sizeof *at, -1) <= 0)
		return;
	if (at[2].revents != 0 && read(v->lost_fd, &count, sizeof count) < 0)
		return; /* look() decides: it may be late news of an earlier hold */
}

/* Has CMD ended, and, if it was told to, all its descendants? */
static bool
is_over(struct supervisor *v)
{
	struct tree_found found;

	if (v->job->caller != NULL) /* what it has started is not ours; and it may go on with nothing left to keep for it */
		return v->job->ended || (v->stage == SUPERVISOR_WATCHING && v->cause == SUPERVISOR_LOST);
	if (!v->job->ended)
		return false;
	if (v->stage == SUPERVISOR_WATCHING)
		return true;
	sweep(v);
	found = tree_signal(&v->job->tree, 0);
	mention_trouble(v, &found);
	return found.alive == 0 && found.hindered == 0;
}

void
supervisor_keep(struct supervisor *v)
{
	int64_t pause_ms = SWEEP_MS;

	v->began = clock_boot_ns();
	v->valid_until = v->began; /* until look() knows better */
	v->told_at = v->began;
	look(v);
	while (!is_over(v)) {
		await(v, next_moment(v, pause_ms));
		take_signals(v);
		look(v);
		if (v->stage == SUPERVISOR_KILLING && !is_over(v)) {
			kill_all(v); /* also what was forked while we looked */
			pause_ms = pause_ms < AGAIN_MS ? pause_ms + SWEEP_MS : AGAIN_MS;
		}
	}
	v->was_held = hold_set_remaining_ms(v->held, NULL) > 0;
	v->had_terminal = job_take_terminal(v->job);
}

/* Take signals while there is no CMD to pass them on to. */
static void
take_in(struct supervisor *v)
{
	struct signalfd_siginfo info;

	while (read(v->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (is_ending((int)info.ssi_signo))
			v->passed_on = (int)info.ssi_signo;
	job_reap(v->job);
}

bool
supervisor_stay(struct supervisor *v, int64_t until_ns)
{
	/* first: leash may have been stopped until after `until_ns` and the lease */
	while (hold_set_remaining_ms(v->held, NULL) > 0) {
		if (clock_boot_ns() >= until_ns || v->passed_on != 0)
			return true;
		await(v, until_ns);
		take_in(v);
	}
	return false;
}
