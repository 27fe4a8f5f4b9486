/* Operations that nobody waits for, of sets, permits, gates, conditions and leaders: see leash/loop.h. */
#ifndef LEASH_LOOP_KINDS_H
#define LEASH_LOOP_KINDS_H

#include <leash/condition.h>
#include <leash/gate.h>
#include <leash/leader.h>
#include <leash/loop.h>
#include <leash/multi.h>
#include <leash/semaphore.h>

LEASH_BEGIN_DECLS

/**
 * Begin to acquire all locks of a set, as leash_multi_acquire_with() does. The set, and its handles, must not be freed
 * before the end was told. The server is asked by the next leash_client_dispatch(), for which the descriptor is
 * readable.
 *
 * @return as leash_lock_acquire_start(); `done` is told what leash_multi_acquire_with() says
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_acquire_start(leash_multi *multi, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err);

/**
 * Begin to release all locks of a set, as leash_multi_release() does: from now on the owner does not hold them. The set
 * may be freed meanwhile, but not its handles.
 *
 * @return as leash_lock_release_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_multi_release_start(leash_multi *multi, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to acquire permits, as leash_semaphore_acquire_with() does. The semaphore must not be freed before the end was
 * told.
 *
 * @param out  receives the permit, just before `done` is called with LEASH_OK; it has to be there until then
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a count out of range
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_acquire_start(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                              leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to give permits back, as leash_permit_release() does: from now on the pointer is invalid, unless the result is
 * LEASH_FORKED.
 *
 * @return as leash_lock_release_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_permit_release_start(leash_permit *permit, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to give some of them back, as leash_permit_release_some() does. The others must not be released before the end
 * was told; then leash_permit_count() is less, too.
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a count out of range
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_permit_release_some_start(leash_permit *permit, int64_t count, leash_done_fn done, void *arg, leash_op **op,
                                leash_error *err);

/**
 * Begin to extend the lease of permits, as leash_permit_extend() does.
 *
 * @return as leash_lock_extend_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_permit_extend_start(leash_permit *permit, int64_t lease_ms, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err);

/**
 * Begin to adopt permits, as leash_semaphore_adopt() does; otherwise as leash_semaphore_acquire_start().
 *
 * @param token  as there; it need not outlive this call
 *
 * @return as leash_lock_adopt_start(); LEASH_INVALID also for a count out of range
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_adopt_start(leash_semaphore *semaphore, int64_t count, const char *token, leash_permit **out,
                            leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to wait until enough have arrived, as leash_latch_await_with() does. Any number may wait at a handle, which may
 * be freed meanwhile.
 *
 * @return as leash_lock_acquire_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_await_start(leash_latch *latch, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err);

/**
 * Begin to arrive at a latch, as leash_latch_count_down() does. It cannot be canceled, but is over within `timeout_ms`.
 * The latch may be freed meanwhile. The server is asked by the next leash_client_dispatch(), for which the descriptor
 * is readable.
 *
 * @param party  as there; it need not outlive this call
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a party without a name, or with one that is too long
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_count_down_start(leash_latch *latch, const char *party, leash_done_fn done, void *arg, leash_op **op,
                             leash_error *err);

/**
 * Begin to wait for a signal, as leash_condition_wait_with() does: give the lock up, however deep it is nested, and
 * have it again, as deep, when the end is told. The server is asked by the next leash_client_dispatch(), for which the
 * descriptor is readable; whether the owner holds the lock is looked at then, too.
 *
 * Until the end was told, do nothing else with the lock for this owner, and do not free the handle of the lock. The
 * condition may be freed. A cancel ends the wait for the signal, but not the one for the lock, which is held when
 * LEASH_CANCELED is told. An owner that is freed meanwhile has nothing in the end.
 *
 * @return as leash_lock_acquire_start(): unless it is LEASH_OK the lock is as it was. `done` is told what
 *         leash_condition_wait_with() says: LEASH_NOT_HELD, too, and with LEASH_NO_MEMORY the lock is not held any more
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_wait_start(leash_condition *condition, const leash_acquire *how, leash_done_fn done, void *arg,
                           leash_op **op, leash_error *err);

/**
 * Begin to wake the one who has waited longest for a condition, as leash_condition_signal() does; otherwise as
 * leash_latch_count_down_start().
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_signal_start(leash_condition *condition, leash_done_fn done, void *arg, leash_op **op,
                             leash_error *err);

/**
 * Begin to wake all who wait for it, as leash_condition_broadcast() does; otherwise likewise.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_broadcast_start(leash_condition *condition, leash_done_fn done, void *arg, leash_op **op,
                                leash_error *err);

/**
 * Begin to be one of the parties, as leash_barrier_wait_with() does; otherwise as leash_latch_await_start(). Who is
 * canceled is told so when nobody counts on it any more.
 *
 * @return as leash_lock_acquire_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_wait_start(leash_barrier *barrier, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err);

/**
 * Begin to proclaim a value, as leash_lock_proclaim() does; otherwise as leash_latch_count_down_start(). The handle may
 * be freed meanwhile, unless it is the last one of its name.
 *
 * @return as leash_lock_acquire_start(); LEASH_NOT_HELD and LEASH_LOST if this owner does not hold it, LEASH_INVALID
 *         and LEASH_UNSUPPORTED also as leash_lock_proclaim()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_proclaim_start(leash_lock *lock, const char *value, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err);

/**
 * Begin to wait for news of who leads, as leash_watch_next_with() does. One at a time for a watch, which must not be
 * freed before the end was told. The server is asked by the next leash_client_dispatch().
 *
 * @param leader  receives who leads, just before `done` is called with LEASH_OK; its `size` must be set. It has to be
 *                there until then
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also without a leader, or with one whose size is not set
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_watch_next_start(leash_watch *watch, const leash_acquire *how, leash_leader *leader, leash_done_fn done,
                       void *arg, leash_op **op, leash_error *err);

LEASH_END_DECLS

#endif
