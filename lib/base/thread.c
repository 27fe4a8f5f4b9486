/* Threads: our own, and what we know of the application's.
 *
 * What is known of a thread hangs on a thread-specific key, whose destructor tells that the thread has ended. The
 * structs come from the system directly and are kept for reuse: their parkers must stay readable for ever. */
#include "base/thread.h"

#include "base/memory.h"
#include "base/mutation.h"
#include "base/mutex.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;
static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards free_list */
static struct lsh_thread *free_list;
static _Atomic(void (*)(struct lsh_thread *)) observer;
static _Thread_local struct lsh_thread *self;

uint64_t
lsh_owner_id(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add(&last, 1) + 1;
}

void
lsh_owner_unref(struct leash_owner *owner)
{
	if (owner != NULL && lsh_unshare(&owner->references))
		lsh_free(owner);
}

struct lsh_guard
lsh_enter(void)
{
	struct lsh_guard guard = {.saved_errno = errno};

	/* The type too: glibc 2.36 still cancels an asynchronous thread if the signal was under way already. */
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &guard.cancel_type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard.cancel_state);
	return guard;
}

void
lsh_leave(const struct lsh_guard *guard)
{
	pthread_setcancelstate(guard->cancel_state, NULL);
	if (guard->cancel_type != PTHREAD_CANCEL_DEFERRED)
		pthread_setcanceltype(guard->cancel_type, NULL);
	errno = guard->saved_errno;
}

static void
keep(struct lsh_thread *thread)
{
	lsh_locked(&mutex);
	thread->next_free = free_list;
	free_list = thread;
}

static void
thread_ends(void *arg)
{
	lsh_guarded(); /* a cancel may be pending, and a release writes with mutexes held */
	struct lsh_thread *thread = arg;
	void (*ended)(struct lsh_thread *) = atomic_load(&observer);

	if (atomic_load(&thread->owner.holds) != 0 && ended != NULL && !LSH_MUTATES(LSH_DEAD_THREADS_HOLD_ON))
		ended(thread);
	self = NULL;
	keep(thread);
}

/* The holds that the parent's thread has are not the child's. */
static void
forget_self(void)
{
	if (self != NULL) {
		self = NULL;
		pthread_setspecific(key, NULL);
	}
}

LSH_GUARD_FORK(&mutex, forget_self())

static void
set_up(void)
{
	usable = pthread_key_create(&key, thread_ends) == 0 && guard_fork() == 0;
}

static struct lsh_thread *
make_known(void)
{
	struct lsh_thread *thread;

	pthread_once(&once, set_up);
	if (!usable)
		return NULL;
	pthread_mutex_lock(&mutex);
	thread = free_list;
	if (thread != NULL)
		free_list = thread->next_free;
	pthread_mutex_unlock(&mutex);
	if (thread == NULL) {
		/* not by the application's allocator: this memory is never given back */
		thread = calloc(1, sizeof *thread);
		if (thread == NULL)
			return NULL;
	}
	thread->owner.id = lsh_owner_id();
	atomic_store(&thread->owner.holds, 0);
	if (pthread_setspecific(key, thread) != 0) {
		keep(thread);
		return NULL;
	}
	return self = thread;
}

struct lsh_thread *
lsh_self(void)
{
	return self != NULL ? self : make_known();
}

struct lsh_thread *
lsh_self_if_known(void)
{
	return self;
}

void
lsh_thread_observe(void (*ended)(struct lsh_thread *thread))
{
	atomic_store(&observer, ended);
}

int
lsh_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = 0;
	e = pthread_create(thread, NULL, run, arg);
	if (e == EAGAIN && errno == ENOMEM)
		e = ENOMEM; /* glibc says EAGAIN where there is no memory for the stack, too */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = e;
	return e;
}

void
lsh_thread_begin(const char *name)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_setname_np(pthread_self(), name);
}
