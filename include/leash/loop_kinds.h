/* Asynchronous operations of sets, permits, gates, conditions and leaders: see leash/loop.h. */
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
 * Begin to acquire all locks of a set, as leash_multi_acquire_with() does. Do not free the set or its handles before
 * the end was reported. The next leash_client_dispatch() asks the server; the descriptor is readable for it.
 *
 * @return as leash_lock_acquire_start(); `done` gets what leash_multi_acquire_with() returns
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_multi_acquire_start(leash_multi *multi, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err);

/**
 * Begin to release all locks of a set, as leash_multi_release() does. From now on the owner does not hold them. The set
 * may be freed before the end, but not its handles.
 *
 * @return as leash_lock_release_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_multi_release_start(leash_multi *multi, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to acquire permits, as leash_semaphore_acquire_with() does. Do not free the semaphore before the end was
 * reported.
 *
 * @param out  receives the permit, just before `done` is called with LEASH_OK; must exist until then
 *
 * @return as leash_lock_acquire_start(), but no owner is needed; LEASH_INVALID also for a count out of range
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_semaphore_acquire_start(leash_semaphore *semaphore, int64_t count, const leash_acquire *how, leash_permit **out,
                              leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to give permits back, as leash_permit_release() does. From now on the pointer is invalid, unless the result is
 * LEASH_FORKED.
 *
 * @return as leash_lock_release_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status
leash_permit_release_start(leash_permit *permit, leash_done_fn done, void *arg, leash_op **op, leash_error *err);

/**
 * Begin to give some permits back, as leash_permit_release_some() does. Do not release the others before the end was
 * reported; leash_permit_count() is less from then on.
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
 * Begin to adopt permits, as leash_semaphore_adopt() does. Otherwise as leash_semaphore_acquire_start().
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
 * Begin to wait until enough parties have arrived, as leash_latch_await_with() does. Any number of waits may use a
 * handle, and the handle may be freed before their end.
 *
 * @return as leash_lock_acquire_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_await_start(leash_latch *latch, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                        leash_error *err);

/**
 * Begin to arrive at a latch, as leash_latch_count_down() does. This cannot be canceled, but ends within `timeout_ms`.
 * The latch may be freed before the end. The next leash_client_dispatch() asks the server; the descriptor is readable
 * for it.
 *
 * @param party  as there; it need not outlive this call
 *
 * @return as leash_lock_acquire_start(); LEASH_INVALID also for a party whose name is empty or too long
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_latch_count_down_start(leash_latch *latch, const char *party, leash_done_fn done, void *arg, leash_op **op,
                             leash_error *err);

/**
 * Begin to wait for a signal, as leash_condition_wait_with() does: release the lock, at any depth, and hold it again at
 * the same depth when the end is reported. The next leash_client_dispatch() asks the server; the descriptor is readable
 * for it. That dispatch also checks whether the owner holds the lock.
 *
 * Before the end was reported, do nothing else with the lock for this owner, and do not free the handle of the lock.
 * The condition may be freed. A cancel ends the wait for the signal, but not the wait for the lock, which is held when
 * LEASH_CANCELED is reported. An owner that is freed meanwhile holds nothing in the end.
 *
 * @return as leash_lock_acquire_start(); with any result but LEASH_OK the lock is as it was. `done` gets what
 *         leash_condition_wait_with() returns, including LEASH_NOT_HELD; with LEASH_NO_MEMORY the lock is no longer
 *         held
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_wait_start(leash_condition *condition, const leash_acquire *how, leash_done_fn done, void *arg,
                           leash_op **op, leash_error *err);

/**
 * Begin to wake the waiter that has waited longest for a condition, as leash_condition_signal() does. Otherwise as
 * leash_latch_count_down_start().
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_signal_start(leash_condition *condition, leash_done_fn done, void *arg, leash_op **op,
                             leash_error *err);

/**
 * Begin to wake all waiters of a condition, as leash_condition_broadcast() does. Otherwise as
 * leash_latch_count_down_start().
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_condition_broadcast_start(leash_condition *condition, leash_done_fn done, void *arg, leash_op **op,
                                leash_error *err);

/**
 * Begin to wait at a barrier as one of the parties, as leash_barrier_wait_with() does. Otherwise as
 * leash_latch_await_start(). A cancel is reported when the party is certain not to count any more.
 *
 * @return as leash_lock_acquire_start()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_barrier_wait_start(leash_barrier *barrier, const leash_acquire *how, leash_done_fn done, void *arg, leash_op **op,
                         leash_error *err);

/**
 * Begin to proclaim a value, as leash_lock_proclaim() does. Otherwise as leash_latch_count_down_start(). The handle may
 * be freed before the end, unless it is the last one of its name.
 *
 * @return as leash_lock_acquire_start(); LEASH_NOT_HELD and LEASH_LOST if this owner does not hold the lock;
 *         LEASH_INVALID and LEASH_UNSUPPORTED also as leash_lock_proclaim()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_lock_proclaim_start(leash_lock *lock, const char *value, leash_done_fn done, void *arg, leash_op **op,
                          leash_error *err);

/**
 * Begin to wait for a change of leader, as leash_watch_next_with() does. Only one such operation for a watch; do not
 * free the watch before the end was reported. The next leash_client_dispatch() asks the server.
 *
 * @param leader  receives the leader, just before `done` is called with LEASH_OK; its `size` must be set. Must exist
 *                until then
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
