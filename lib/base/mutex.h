/* Mutexes: locked to the end of a block, and held around a fork. */
#ifndef LSH_BASE_MUTEX_H
#define LSH_BASE_MUTEX_H

#include <pthread.h>

/* Locked from here on to the end of the block. */
#define lsh_locked(mutex) \
	__attribute__((cleanup(lsh_unlock_), unused)) pthread_mutex_t *const locked_ = lsh_lock_(mutex)

static inline pthread_mutex_t *
lsh_lock_(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void
lsh_unlock_(pthread_mutex_t *const *mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Defines guard_fork(): from its call on `mutex` is held around each fork, so that the child finds whole what it
 * guards. There `in_child` is done before it is free. Returns 0 or an errno. */
#define LSH_GUARD_FORK(mutex, in_child)                                                                   \
	static void before_fork_(void) { pthread_mutex_lock(mutex); }                                         \
	static void in_parent_(void) { pthread_mutex_unlock(mutex); }                                         \
	static void in_child_(void) { in_child; pthread_mutex_unlock(mutex); }                                \
	static int guard_fork(void) { return pthread_atfork(before_fork_, in_parent_, in_child_); }

#endif
