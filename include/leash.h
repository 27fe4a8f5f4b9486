/**
 * leash: locks that hold across threads, processes and machines.
 *
 * The lock lives in Redis. While it is held, a watchdog thread in the holder's process renews its lease before the
 * lease ends, until the final release. If the holder dies, the renewals stop, and the lock becomes free when its lease
 * ends.
 *
 * What a lease cannot do: it does not stop a process that is paused for longer than its lease and then continues
 * without asking leash_lock_held(). Hand leash_lock_fence() to the resource that you protect, and let the resource
 * refuse smaller numbers.
 *
 * This header includes all of its parts. Each call is documented where it is declared.
 */
#ifndef LEASH_H
#define LEASH_H

#include <leash/api.h>
#include <leash/status.h>
#include <leash/cancel.h>
#include <leash/event.h>
#include <leash/client.h>
#include <leash/owner.h>
#include <leash/lock_options.h>
#include <leash/lock.h>
#include <leash/scope.h>
#include <leash/readwrite.h>
#include <leash/redisson.h>
#include <leash/multi.h>
#include <leash/semaphore.h>
#include <leash/condition.h>
#include <leash/leader.h>
#include <leash/gate.h>
#include <leash/loop.h>
#include <leash/loop_kinds.h>
#include <leash/takeover.h>
#include <leash/inspect.h>
#include <leash/metrics.h>
#include <leash/fields.h>
#include <leash/scripts.h>
#include <leash/memory.h>
#include <leash/version.h>

#endif
