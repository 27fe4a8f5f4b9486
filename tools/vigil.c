/* Watching over CMD and over the lock that it runs under. See vigil.h.
 *
 *                 the lease is nearly over, or gone;             the grace is over,
 *                 --max-run                                      or the lease nearly is
 *      WATCHING ------------------------------------> TOLD ------------------------------> KILLING
 *          |        CMD's group gets TERM, and CONT     |        all that descends from       |
 *          |                                            |        us gets KILL, again and      |
 *          | CMD has ended                              |        again                        |
 *          v                                            v                                     v
 *         over                                   over when nobody is left              over when nobody is left
 *
 * The moments. D is when the lease may be over at the earliest if no renewal succeeds any more; leash knows it from memory, a
 * hundredth of the lease before the server's own moment. Whoever must be dead by then gets KILL at D - margin, for those who are slow
 * to die (the margin is for the machine, not for CMD), and TERM at D - margin - grace. A renewal that succeeds in time moves D, and
 * nothing happens. One that succeeds after TERM only changes that the grace is a full one: CMD was told to end, and so the run has failed.
 *
 * A lock that is lost out of the blue (somebody broke it) may be another's already: TERM at once. Where the end of the lease has been
 * passed already (the machine slept, or leash was stopped) there is nothing to be said: KILL.
 *
 * The main thread, and nobody else. It waits for nothing but its poll: not for the server, not for standard error (herald.h). */
#include "tools/vigil.h"

#include "tools/aside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS INT64_C(1000000)
#define NEVER INT64_MAX

static const int taken[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD};

enum { SWEEP_MS = 10, AGAIN_MS = 200 }; /* between two rounds of KILL; and when those that are left are not to be killed soon */

void
vigil_signals(const struct job *job, sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		if (taken[i] == SIGCHLD || (!job_was_ignored(job, taken[i]) && !(job->foreground && taken[i] == SIGTSTP)))
			sigaddset(set, taken[i]);
}

bool
vigil_begin(struct vigil *v)
{
	sigset_t set;

	vigil_signals(v->job, &set);
	v->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	v->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	return v->signal_fd >= 0 && v->timer_fd >= 0;
}

void
vigil_end(struct vigil *v)
{
	if (v->signal_fd >= 0)
		close(v->signal_fd);
	if (v->timer_fd >= 0)
		close(v->timer_fd);
	v->signal_fd = v->timer_fd = -1;
}

/* ---- telling and killing ---- */

static int64_t
end_of_lease(const struct vigil *v)
{
	return v->valid_until - v->margin_ms * MS;
}

/* With --on-lost kill there is no grace before the end of the lease. */
static int64_t
grace(const struct vigil *v)
{
	return v->on_lost == SIGKILL ? 0 : v->kill_after_ms * MS;
}

static int64_t
kill_at(const struct vigil *v)
{
	int64_t at = v->told_at + v->kill_after_ms * MS;

	return v->on_lost != 0 && end_of_lease(v) < at ? end_of_lease(v) : at;
}

static void
mention_trouble(struct vigil *v, const struct brood_found *found)
{
	if (found->hindered != 0 && !v->hindered_told) {
		v->hindered_told = true;
		herald_warn(v->herald, "cannot look for what the command has started: %s; trying again", strerror(found->hindered));
	}
	if (found->forbidden == 0 || v->forbidden_told)
		return;
	v->forbidden_told = true;
	herald_warn(v->herald, "process %d belongs to another user and cannot be ended: it goes on without the lock", (int)found->one_of_them);
}

static void
kill_all(struct vigil *v)
{
	struct brood_found found;

	if (!v->job->ended)
		job_signal(v->job, SIGKILL); /* the most important first */
	found = brood_signal(&v->job->brood, SIGKILL, 0);
	mention_trouble(v, &found);
	v->stage = VIGIL_KILLING;
}

static void
tell_cmd(struct vigil *v, enum vigil_cause cause, int signal, int64_t now)
{
	v->cause = cause;
	v->stage = VIGIL_TOLD;
	v->told = signal;
	v->told_at = now;
	if (signal == SIGKILL || now >= kill_at(v) || (v->stopped && v->gone)) {
		kill_all(v);
		return;
	}
	job_signal(v->job, signal);
	if (signal != SIGSTOP && signal != SIGTSTP)
		job_signal(v->job, SIGCONT); /* one who was stopped could not obey */
}

/* It ended, but not all of its own did: those in other groups and sessions have heard nothing yet. */
static void
sweep(struct vigil *v)
{
	struct brood_found found;

	if (v->swept || v->stage != VIGIL_TOLD)
		return;
	v->swept = true;
	found = brood_signal(&v->job->brood, v->told, 0);
	mention_trouble(v, &found);
}

/* ---- the moments ---- */

/* That it is lost, and why, has been told where it was learned. */
static void
say_lost(struct vigil *v, const char *what_follows)
{
	char left[CLI_TIME_SIZE];

	if (v->gone)
		herald_fail(v->herald, 0, "without lock '%s' %s", v->name, what_follows);
	else
		herald_fail(v->herald, 0, "lock '%s' cannot be renewed, and its lease ends in %s: %s", v->name,
		            cli_span(left, (v->valid_until - aside_now_ns()) / MS), what_follows);
}

static void
lose(struct vigil *v, int64_t now)
{
	if (v->on_lost == 0) {
		v->cause = VIGIL_LOST;
		say_lost(v, "the command goes on (--on-lost keep)");
		return;
	}
	tell_cmd(v, VIGIL_LOST, v->on_lost, now); /* first act, then speak */
	say_lost(v, v->stage == VIGIL_KILLING ? "the command is killed" : "the command is told to end");
}

static bool
is_lost_soon(const struct vigil *v, int64_t now)
{
	return v->gone || (v->on_lost != 0 && now >= end_of_lease(v) - grace(v));
}

static bool
is_too_long(const struct vigil *v, int64_t now)
{
	return v->max_run_ms > 0 && now >= v->began + v->max_run_ms * MS;
}

/* What do the clock and the hold say? */
static void
look(struct vigil *v)
{
	int64_t now = aside_now_ns(), left = v->remaining_ms(v->hold); /* in this order: what is left is counted from later on */

	if (left > 0 && !v->gone)
		v->valid_until = now + left * MS;
	else
		v->gone = true;
	if (v->stage == VIGIL_WATCHING && v->job->ended)
		return;
	if (v->stage == VIGIL_WATCHING && v->cause != VIGIL_LOST && is_lost_soon(v, now))
		lose(v, now);
	if (v->stage == VIGIL_WATCHING && is_too_long(v, now)) {
		tell_cmd(v, v->cause == VIGIL_LOST ? VIGIL_LOST : VIGIL_TOO_LONG, SIGTERM, now);
		herald_say(v->herald, "the command has run for longer than --max-run; it is being ended");
	}
	if (v->stage == VIGIL_TOLD && v->gone && !v->job->ended)
		v->cause = VIGIL_LOST;
	if (v->stage == VIGIL_TOLD && now >= kill_at(v))
		kill_all(v);
}

static int64_t
next_moment(const struct vigil *v, int64_t pause_ms)
{
	int64_t at;

	if (v->stage == VIGIL_TOLD)
		return kill_at(v);
	if (v->stage == VIGIL_KILLING)
		return aside_now_ns() + pause_ms * MS;
	at = v->on_lost != 0 ? end_of_lease(v) - grace(v) : v->valid_until;
	if (v->gone)
		at = NEVER;
	if (v->max_run_ms > 0 && v->began + v->max_run_ms * MS < at)
		at = v->began + v->max_run_ms * MS;
	return at;
}

static void
set_timer(const struct vigil *v, int64_t at)
{
	struct itimerspec spec = {0};

	if (at != NEVER) {
		spec.it_value.tv_sec = at / (1000 * MS);
		spec.it_value.tv_nsec = at % (1000 * MS) + (at <= 0 ? 1 : 0);
	}
	timerfd_settime(v->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* ---- signals, and the terminal ---- */

/* As the terminal would have it: all of our group, which the shell takes for one job, unless nobody could ever continue us (then the kernel
 * drops it). Returns when we were continued. */
static void
stop_ourselves(void)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	kill(0, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, &before); /* here we stand */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
follow_stop(struct vigil *v, int signal)
{
	struct job *job = v->job;
	bool asks = signal == SIGTTIN || signal == SIGTTOU;

	if (job->terminal < 0 || job->group == 0 || !(asks || signal == SIGTSTP))
		return;
	if (v->stage == VIGIL_WATCHING && !(asks && job_owns_terminal(job))) {
		job_take_terminal(job);
		v->stopped = true;
		stop_ourselves();
		look(v); /* perhaps it must not run on */
		v->stopped = false;
	}
	if (v->stage == VIGIL_KILLING)
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
pass_on(struct vigil *v, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (is_ending(signal))
		v->passed_on = signal;
	if (signal == SIGCONT)
		job_give_terminal(v->job); /* the shell has put us into the foreground, perhaps */
	if (v->job->foreground && info->ssi_code == SI_KERNEL)
		return; /* the terminal sent it to our group, and CMD is in that */
	if (v->stage != VIGIL_WATCHING && signal == v->told)
		return; /* an outer run tells us and CMD at once; twice is an order of another kind for some */
	job_signal(v->job, signal);
}

static void
take_signals(struct vigil *v)
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
await(struct vigil *v, int64_t until)
{
	struct pollfd at[] = {
		{.fd = v->signal_fd, .events = POLLIN},
		{.fd = v->timer_fd, .events = POLLIN},
		{.fd = v->lost_fd, .events = POLLIN},
		{.fd = v->job->news, .events = POLLIN}, /* -1 is passed over */
	};
	uint64_t count;

	set_timer(v, until); /* which forgets that it rang before */
	if (poll(at, sizeof at / sizeof *at, -1) <= 0)
		return;
	if (at[2].revents != 0 && read(v->lost_fd, &count, sizeof count) < 0)
		return; /* what it means, look() will see: it may be late news of an earlier hold */
}

/* After CMD's end: is anybody left who must not be? */
static bool
is_over(struct vigil *v)
{
	struct brood_found found;

	if (!v->job->ended)
		return false;
	if (v->stage == VIGIL_WATCHING)
		return true;
	sweep(v);
	found = brood_signal(&v->job->brood, 0, 0);
	mention_trouble(v, &found);
	return found.alive == 0 && found.hindered == 0;
}

void
vigil_keep(struct vigil *v)
{
	int64_t pause_ms = SWEEP_MS;

	v->began = aside_now_ns();
	v->valid_until = v->began; /* until look() knows better */
	v->told_at = v->began;
	look(v);
	while (!is_over(v)) {
		await(v, next_moment(v, pause_ms));
		take_signals(v);
		look(v);
		if (v->stage == VIGIL_KILLING && !is_over(v)) {
			kill_all(v); /* whoever was forked while we looked */
			pause_ms = pause_ms < AGAIN_MS ? pause_ms + SWEEP_MS : AGAIN_MS;
		}
	}
	v->was_held = v->remaining_ms(v->hold) > 0;
	v->had_terminal = job_take_terminal(v->job);
}

/* What is left to take, while there is no CMD to pass it on to. */
static void
take_in(struct vigil *v)
{
	struct signalfd_siginfo info;

	while (read(v->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (is_ending((int)info.ssi_signo))
			v->passed_on = (int)info.ssi_signo;
	job_reap(v->job);
}

bool
vigil_stay(struct vigil *v, int64_t until_ns)
{
	while (v->remaining_ms(v->hold) > 0) { /* first: leash may have stood still past that moment, and past the lease as well */
		if (aside_now_ns() >= until_ns || v->passed_on != 0)
			return true;
		await(v, until_ns);
		take_in(v);
	}
	return false;
}
