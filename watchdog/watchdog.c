#include "watchdog/watchdog.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* wakes_ns while nobody sleeps who would have to be woken: before start, after stop, and while the thread is about. */
#define AWAKE INT64_MIN

struct lsh_watchdog {
	struct lsh_watchdog_ops ops;
	void *ctx;
	pthread_t thread;
	bool running; /* start and stop are for one thread at a time: no mutex */

	/* Guards the rest, what of each timer is written here, and the order of settings of the timerfd: outside of it an
	 * earlier arm could overtake a still earlier one and put the timer off. */
	pthread_mutex_t mutex;
	struct lsh_heap heap;
	int64_t wakes_ns; /* the thread looks at the heap then, at the latest; what the timerfd is set to while it sleeps */
	bool stopping;
	int fd; /* a timerfd; CLOCK_BOOTTIME, so that after a suspension all that came due meanwhile is due at once */
};

/* w->mutex held. Whatever has expired so far is taken back by this, so a sleeper sleeps until the new time. */
static void
set(struct lsh_watchdog *w, int64_t at)
{
	w->wakes_ns = at;
	lsh_alarm_set(w->fd, at);
}

/* w->mutex held */
static int64_t
next(const struct lsh_watchdog *w)
{
	const struct lsh_timer *top = lsh_heap_top(&w->heap);

	return top != NULL ? top->due_ns : LSH_NEVER;
}

static bool
nearly_due(const struct lsh_timer *timer, int64_t now)
{
	int64_t from;

	return __builtin_sub_overflow(timer->due_ns, timer->slack_ns, &from) || from <= now;
}

/* w->mutex held */
static size_t
take_due(struct lsh_watchdog *w, int64_t now, struct lsh_due *due, size_t max)
{
	struct lsh_timer *timer;
	size_t n = 0;

	while (n < max && (timer = lsh_heap_top(&w->heap)) != NULL) {
		if (timer->due_ns > now && (n == 0 || !nearly_due(timer, now)))
			break;
		lsh_heap_remove(&w->heap, timer);
		w->ops.retain(timer);
		due[n++] = (struct lsh_due){timer, timer->generation};
	}
	return n;
}

static void *
watch(void *arg)
{
	struct lsh_watchdog *w = arg;
	struct lsh_due due[LSH_WATCHDOG_BATCH];

	lsh_thread_begin("leash-watchdog");
	for (;;) {
		int64_t now = w->ops.now();
		bool stopping;
		size_t n = 0;

		pthread_mutex_lock(&w->mutex);
		stopping = w->stopping;
		if (!stopping) {
			n = take_due(w, now, due, LSH_WATCHDOG_BATCH);
			if (n == 0)
				set(w, next(w));
			else
				w->wakes_ns = AWAKE;
		}
		pthread_mutex_unlock(&w->mutex);
		if (stopping)
			return NULL;

		if (n > 0) {
			w->ops.fire(w->ctx, due, n);
		} else {
			uint64_t expired;
			ssize_t r = read(w->fd, &expired, sizeof expired);

			(void)r; /* whatever ended the sleep, the heap is looked at */
		}
	}
}

struct lsh_watchdog *
lsh_watchdog_new(const struct lsh_watchdog_ops *ops, void *ctx)
{
	struct lsh_watchdog *w = lsh_new(struct lsh_watchdog);

	if (w == NULL)
		return NULL;
	w->ops = *ops;
	w->ctx = ctx;
	w->fd = -1;
	w->wakes_ns = AWAKE;
	pthread_mutex_init(&w->mutex, NULL);
	return w;
}

int
lsh_watchdog_start(struct lsh_watchdog *w)
{
	int e;

	assert(!w->running);
	w->fd = lsh_descriptor_take(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC));
	if (w->fd < 0)
		return errno;
	w->stopping = false;
	e = lsh_thread_start(&w->thread, watch, w);
	if (e != 0) {
		lsh_descriptor_close(w->fd);
		w->fd = -1;
		return e;
	}
	w->running = true;
	return 0;
}

void
lsh_watchdog_stop(struct lsh_watchdog *w)
{
	if (!w->running)
		return;
	pthread_mutex_lock(&w->mutex);
	w->stopping = true;
	set(w, 0);
	w->wakes_ns = AWAKE; /* the thread sleeps no more: from here on nobody sets the timer */
	pthread_mutex_unlock(&w->mutex);
	pthread_join(w->thread, NULL);
	lsh_descriptor_close(w->fd);
	w->fd = -1;
	w->running = false;
}

void
lsh_watchdog_free(struct lsh_watchdog *w)
{
	if (w == NULL)
		return;
	lsh_watchdog_stop(w);
	lsh_heap_clear(&w->heap);
	pthread_mutex_destroy(&w->mutex);
	lsh_free(w);
}

bool
lsh_watchdog_reserve(struct lsh_watchdog *w)
{
	bool there;

	pthread_mutex_lock(&w->mutex);
	there = lsh_heap_reserve(&w->heap);
	pthread_mutex_unlock(&w->mutex);
	return there;
}

void
lsh_watchdog_unreserve(struct lsh_watchdog *w)
{
	pthread_mutex_lock(&w->mutex);
	lsh_heap_unreserve(&w->heap);
	pthread_mutex_unlock(&w->mutex);
}

void
lsh_watchdog_arm(struct lsh_watchdog *w, struct lsh_timer *timer, int64_t due_ns, int64_t slack_ns)
{
	pthread_mutex_lock(&w->mutex);
	timer->due_ns = due_ns;
	timer->slack_ns = slack_ns < 0 ? 0 : slack_ns < UINT32_MAX ? (uint32_t)slack_ns : UINT32_MAX;
	timer->generation++;
	lsh_heap_put(&w->heap, timer);
	if (due_ns < w->wakes_ns)
		set(w, due_ns);
	pthread_mutex_unlock(&w->mutex);
}

void
lsh_watchdog_forget(struct lsh_watchdog *w, struct lsh_timer *timer)
{
	pthread_mutex_lock(&w->mutex);
	timer->generation++;
	lsh_heap_remove(&w->heap, timer);
	pthread_mutex_unlock(&w->mutex);
}

size_t
lsh_watchdog_take_due(struct lsh_watchdog *w, int64_t now, struct lsh_due *due, size_t max)
{
	size_t n;

	pthread_mutex_lock(&w->mutex);
	n = take_due(w, now, due, max);
	pthread_mutex_unlock(&w->mutex);
	return n;
}

int64_t
lsh_watchdog_next(struct lsh_watchdog *w)
{
	int64_t at;

	pthread_mutex_lock(&w->mutex);
	at = next(w);
	pthread_mutex_unlock(&w->mutex);
	return at;
}
