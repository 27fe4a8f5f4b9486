/* Waiting for the lock. See lock_wait.h.
 *
 * The main thread waits inside an acquire of the library. For that time the signals that end a wait have handlers,
 * which fire its cancel. Before and after they are blocked: a signal stays pending then, and is taken before CMD is
 * started.
 *
 * A waiter is given the lock with a grant lease of a few seconds at most, which the first renewal makes a full one. No
 * CMD can be started under a grant lease: TERM would be due at once. So the lease is extended first. */
#include "tools/lock_wait.h"

#include "tools/clock.h"
#include "tools/thread.h"
#include "tools/hold_set.h"
#include "tools/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

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

/* Signals that were ignored when leash was started stay ignored. */
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
	sigaddset(&set, SIGTSTP); /* while it waits Ctrl-Z stops leash, as any program */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
stop_listening(const struct job *job)
{
	sigset_t set;

	supervisor_signals(job, &set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	set_handlers(job, SIG_DFL);
}

int
lock_wait_signal(const struct job *job)
{
	struct timespec none = {0};
	sigset_t set;
	int signal, first = 0;

	supervisor_signals(job, &set);
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
fill_up(struct lock_wait *wait, leash_status *status, leash_error *err)
{
	int64_t remaining_ms;

	*status = hold_set_fill_up(wait->set, wait->lease_ms, &remaining_ms, err);
	if (remaining_ms > wait->needs_ms) {
		*status = LEASH_OK; /* also if the extend failed: the lease is long enough, and renewals go on */
		return true;
	}
	if (*status == LEASH_OK) {
		*status = err->status = LEASH_UNAVAILABLE;
		err->sys_errno = 0;
		snprintf(err->text, sizeof err->text,
		         "the server is too slow for a lease of %lld ms: renewals take longer than it lasts",
		         (long long)wait->lease_ms);
	}
	hold_set_release(wait->set, NULL, NULL);
	return false;
}

static leash_status
acquire(struct lock_wait *wait, leash_error *err)
{
	int64_t began = clock_boot_ns();

	for (;;) {
		int64_t spent_ms = (clock_boot_ns() - began) / MS, wait_ms = wait->wait_ms;
		leash_status status;

		if (wait_ms != LEASH_FOREVER)
			wait_ms = wait_ms > spent_ms ? wait_ms - spent_ms : 0;
		status = hold_set_acquire(wait->set, LEASH_ACQUIRE(.wait_ms = wait_ms, .cancel = cancel), &wait->about, err);
		if (status != LEASH_OK || fill_up(wait, &status, err))
			return status;
		if (wait_ms == 0 || came != 0)
			return status;
	}
}

leash_status
lock_wait_take(struct lock_wait *wait, const struct job *job, leash_error *err)
{
	leash_status status = leash_cancel_new(&cancel, err);

	if (status != LEASH_OK)
		return status;
	came = 0;
	listen_to_signals(job);
	status = acquire(wait, err);
	stop_listening(job);
	wait->signal = came;
	if (wait->signal == 0)
		wait->signal = lock_wait_signal(job);
	if (wait->signal != 0 && status == LEASH_OK)
		hold_set_release(wait->set, NULL, NULL);
	leash_cancel_free(cancel);
	cancel = NULL;
	return wait->signal != 0 ? LEASH_CANCELED : status;
}
