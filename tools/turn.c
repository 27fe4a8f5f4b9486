/* Waiting for one's turn. See turn.h.
 *
 * The main thread waits inside of leash_lock_acquire_with(), so those signals that end a wait have handlers for that time, which fire
 * its cancel. Before and after they are blocked: one that comes then stays pending, and is taken before CMD is started.
 *
 * One who waited is given a lock with a claim, of a few seconds at most, which the first renewal makes a lease. Under what is left of
 * a claim no CMD can be started: TERM would be due before it has begun. So the lease is made whole first. */
#include "tools/turn.h"

#include "tools/aside.h"
#include "tools/vigil.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#define MS INT64_C(1000000)

static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

enum { ENDING = sizeof ending / sizeof *ending };

/* ---- signals ---- */

static leash_cancel *cancel; /* while handlers are installed */
static volatile sig_atomic_t came;

static void
fire(int signal)
{
	int e = errno;

	if (came == 0)
		came = signal;
	leash_cancel_fire(cancel);
	errno = e;
}

/* Those that leash was started with ignored remain so. */
static void
set_handlers(const struct job *job, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	for (int i = 0; i < ENDING; i++)
		sigaddset(&action.sa_mask, ending[i]);
	for (int i = 0; i < ENDING; i++)
		if (!job_was_ignored(job, ending[i]))
			sigaction(ending[i], &action, NULL);
}

static void
listen_to_signals(const struct job *job)
{
	sigset_t set;

	set_handlers(job, fire);
	sigemptyset(&set);
	for (int i = 0; i < ENDING; i++)
		sigaddset(&set, ending[i]);
	sigaddset(&set, SIGTSTP); /* Ctrl-Z stops one who waits, as any program */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
stop_listening(const struct job *job)
{
	sigset_t set;

	vigil_signals(job, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	set_handlers(job, SIG_DFL);
}

int
turn_pending_signal(const struct job *job)
{
	struct timespec none = {0};
	sigset_t set;
	int signal, first = 0;

	vigil_signals(job, &set);
	sigdelset(&set, SIGCHLD);
	while ((signal = sigtimedwait(&set, NULL, &none)) > 0)
		for (int i = 0; i < ENDING && first == 0; i++)
			if (signal == ending[i])
				first = signal;
	return first;
}

/* ---- the lock ---- */

/* True: it is ours, with a lease to work under. Else it was released, and `*status` and `err` say why. */
static bool
fill_up(struct turn *turn, leash_status *status, leash_error *err)
{
	if (leash_lock_remaining_ms(turn->lock) < turn->lease_ms - turn->lease_ms / 4)
		*status = leash_lock_extend(turn->lock, turn->lease_ms, err);
	if (leash_lock_remaining_ms(turn->lock) > turn->needs_ms) {
		*status = LEASH_OK; /* also if it could not be extended: it is long enough, and renewals go on */
		return true;
	}
	if (*status == LEASH_OK) {
		*status = err->status = LEASH_UNAVAILABLE;
		err->sys_errno = 0;
		snprintf(err->text, sizeof err->text, "the server is too slow for a lease of %lld ms: renewals take longer than it lasts",
		         (long long)turn->lease_ms);
	}
	leash_lock_release(turn->lock, NULL);
	return false;
}

static leash_status
acquire(struct turn *turn, leash_error *err)
{
	int64_t began = aside_now_ns();

	for (;;) {
		int64_t spent_ms = (aside_now_ns() - began) / MS, wait_ms = turn->wait_ms;
		leash_status status;

		if (wait_ms != LEASH_FOREVER)
			wait_ms = wait_ms > spent_ms ? wait_ms - spent_ms : 0;
		status = leash_lock_acquire_with(turn->lock, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), err);
		if (status != LEASH_OK || fill_up(turn, &status, err))
			return status;
		if (wait_ms == 0 || came != 0)
			return status;
	}
}

leash_status
turn_take(struct turn *turn, const struct job *job, leash_error *err)
{
	leash_status status = leash_cancel_new(&cancel, err);

	if (status != LEASH_OK)
		return status;
	came = 0;
	listen_to_signals(job);
	status = acquire(turn, err);
	stop_listening(job);
	turn->signal = came;
	if (turn->signal == 0)
		turn->signal = turn_pending_signal(job);
	if (turn->signal != 0 && status == LEASH_OK)
		leash_lock_release(turn->lock, NULL);
	leash_cancel_free(cancel);
	cancel = NULL;
	return turn->signal != 0 ? LEASH_CANCELED : status;
}
