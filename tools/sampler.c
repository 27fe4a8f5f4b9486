#include "tools/sampler.h"

#include "tools/clock.h"
#include "tools/thread.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { BREATH_MS = 50 };

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
		s->failed++;
		s->failure = *err;
		return;
	}
	s->failure.status = LEASH_OK;
	s->fresh_ns = clock_steady_ns();
	history_note(&s->history, s->shown, taken);
	s->shown = taken;
	if (taken->ranking.order.by != s->wish.order.by || taken->ranking.order.reverse != s->wish.order.reverse)
		ranking_sort(&taken->ranking, s->wish.order);
}

/* mutex held at entry and return */
static void
take_one(struct sampler *s)
{
	struct sample *spare = s->shown == &s->samples[0] ? &s->samples[1] : &s->samples[0];
	int64_t before_ms = s->shown != NULL ? s->shown->moment.here_ms : 0, from_ns, end_ns, due_ns;
	struct wish wish = s->wish;
	leash_error err;
	leash_status st;

	pthread_mutex_unlock(&s->mutex);
	from_ns = clock_steady_ns();
	st = sample_take(spare, s->subject, &wish, before_ms, &s->stop, &err);
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

static void
free_all(struct sampler *s)
{
	if (s->event >= 0)
		close(s->event);
	sample_destroy(&s->samples[0]);
	sample_destroy(&s->samples[1]);
	history_destroy(&s->history);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->mutex);
}

int
sampler_start(struct sampler *s, struct subject *subject, int64_t every_ms, struct order order, size_t rows)
{
	*s = (struct sampler){.subject = subject, .every_ms = every_ms, .wish.order = order, .fresh_ns = clock_steady_ns()};
	thread_init_monitor(&s->mutex, &s->changed);
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event >= 0 && history_init(&s->history) && sample_init(&s->samples[0], rows) &&
	    sample_init(&s->samples[1], rows) && thread_start(&s->thread, work, s))
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

/* Mutex held. Is it in the sample that is shown, or just not held? */
static bool
is_answered(const struct sampler *s, const struct wish *wish)
{
	return s->shown->fitting == s->shown->ranking.count && wish_fits(&s->shown->wish, wish->part);
}

void
sampler_wish(struct sampler *s, const struct wish *wish)
{
	pthread_mutex_lock(&s->mutex);
	s->wish = *wish;
	if (s->shown != NULL) {
		ranking_sort(&s->shown->ranking, wish->order);
		if (!is_answered(s, wish) && !s->paused)
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
	bool ended;

	pthread_mutex_lock(&s->mutex);
	atomic_store(&s->stop, true);
	wake(s);
	ended = thread_await(&s->mutex, &s->changed, &s->ended, THREAD_BLINK_MS);
	pthread_mutex_unlock(&s->mutex);
	if (!ended)
		return false;
	pthread_join(s->thread, NULL);
	free_all(s);
	return true;
}
