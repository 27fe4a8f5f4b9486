#include "tools/sampler.h"

#include "tools/clock.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { BLINK_MS = 100, BREATH_MS = 50 };

static void
ring(struct sampler *s)
{
	eventfd_write(s->event, 1);
}

/* Mutex held. Wait until then, or until another wish comes. */
static void
wait_until(struct sampler *s, int64_t due_ns)
{
	struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};

	while (!atomic_load(&s->stop) && !s->hurry) {
		if (s->paused)
			pthread_cond_wait(&s->changed, &s->mutex);
		else if (pthread_cond_timedwait(&s->changed, &s->mutex, &due) == ETIMEDOUT && !s->paused)
			break;
	}
	s->hurry = false;
}

/* Mutex held. */
static void
take_over(struct sampler *s, struct sample *taken, leash_status st, const leash_error *err)
{
	s->rounds++;
	if (st != LEASH_OK) {
		s->failure = *err;
		return;
	}
	s->failure.status = LEASH_OK;
	s->fresh_ns = clock_steady_ns();
	s->shown = taken;
	if (taken->ranking.order.by != s->order.by || taken->ranking.order.reverse != s->order.reverse)
		ranking_sort(&taken->ranking, s->order);
}

/* mutex held at entry and return */
static void
take_one(struct sampler *s)
{
	struct sample *spare = s->shown == &s->samples[0] ? &s->samples[1] : &s->samples[0];
	int64_t before_ms = s->shown != NULL ? s->shown->moment.here_ms : 0, from_ns, end_ns, due_ns;
	struct order order = s->order;
	leash_error err;
	leash_status st;

	pthread_mutex_unlock(&s->mutex);
	from_ns = clock_steady_ns();
	st = sample_take(spare, s->subject, order, before_ms, &s->stop, &err);
	end_ns = clock_steady_ns();
	pthread_mutex_lock(&s->mutex);
	if (atomic_load(&s->stop))
		return;
	take_over(s, spare, st, &err);
	ring(s);
	/* The server has other work, too: after a long scan it is left alone for as long as the scan took. */
	due_ns = from_ns + s->every_ms * MS;
	if (due_ns < end_ns + (end_ns - from_ns) || due_ns < end_ns + BREATH_MS * MS)
		due_ns = end_ns + (end_ns - from_ns > BREATH_MS * MS ? end_ns - from_ns : BREATH_MS * MS);
	wait_until(s, due_ns);
}

static void *
work(void *arg)
{
	struct sampler *s = arg;

	pthread_mutex_lock(&s->mutex);
	while (!atomic_load(&s->stop))
		take_one(s);
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

/* ---- from outside ---- */

/* The thread gets no signals: they are for the screen. */
static int
start_thread(struct sampler *s)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&s->thread, NULL, work, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static void
init_locks(struct sampler *s)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&s->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static void
free_all(struct sampler *s)
{
	if (s->event >= 0)
		close(s->event);
	sample_destroy(&s->samples[0]);
	sample_destroy(&s->samples[1]);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->mutex);
}

int
sampler_start(struct sampler *s, const struct subject *subject, int64_t every_ms, struct order order, size_t rows)
{
	*s = (struct sampler){.subject = subject, .every_ms = every_ms, .order = order, .fresh_ns = clock_steady_ns()};
	init_locks(s);
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event >= 0 && sample_init(&s->samples[0], rows) && sample_init(&s->samples[1], rows) && start_thread(s) == 0)
		return CLI_GO_ON;
	free_all(s);
	return cli_fail(subject->cli, EXIT_INTERNAL, "out of memory, threads or descriptors");
}

/* Mutex held. */
static void
wake(struct sampler *s)
{
	s->hurry = true;
	pthread_cond_broadcast(&s->changed);
}

void
sampler_reorder(struct sampler *s, struct order order)
{
	pthread_mutex_lock(&s->mutex);
	s->order = order;
	if (s->shown != NULL) {
		ranking_sort(&s->shown->ranking, order);
		if (s->shown->locks > s->shown->ranking.count && !s->paused)
			wake(s);
	}
	pthread_mutex_unlock(&s->mutex);
}

void
sampler_hurry(struct sampler *s)
{
	pthread_mutex_lock(&s->mutex);
	wake(s);
	pthread_mutex_unlock(&s->mutex);
}

void
sampler_pause(struct sampler *s, bool paused)
{
	pthread_mutex_lock(&s->mutex);
	s->paused = paused;
	if (paused)
		pthread_cond_broadcast(&s->changed);
	else
		wake(s);
	pthread_mutex_unlock(&s->mutex);
}

bool
sampler_stop(struct sampler *s)
{
	int64_t limit_ns = clock_steady_ns() + BLINK_MS * MS;
	struct timespec limit = {.tv_sec = limit_ns / 1000000000, .tv_nsec = limit_ns % 1000000000};
	bool ended;

	pthread_mutex_lock(&s->mutex);
	atomic_store(&s->stop, true);
	wake(s);
	while (!s->ended && pthread_cond_timedwait(&s->changed, &s->mutex, &limit) == 0)
		continue;
	ended = s->ended;
	pthread_mutex_unlock(&s->mutex);
	if (!ended)
		return false;
	pthread_join(s->thread, NULL);
	free_all(s);
	return true;
}
