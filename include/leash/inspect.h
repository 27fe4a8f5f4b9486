/* Inspect: who holds a lock, who waits for it, and what a client has done so far. For people and for monitoring. */
#ifndef LEASH_INSPECT_H
#define LEASH_INSPECT_H

#include <leash/api.h>
#include <leash/client.h>
#include <leash/lock.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_HOST_SIZE = 72,    /**< bytes for a host's name as clients report it, with its NUL */
	LEASH_PROGRAM_SIZE = 72, /**< the same for a program's name */
};

/**
 * Who a client is, as it told the server itself when it first asked for a lock. Nobody checks this. If it is not known,
 * `pid` is 0 and the strings are empty: the client is long gone, or was not permitted to report itself. Strings are
 * printable ASCII.
 */
typedef struct leash_party {
	char token[LEASH_TOKEN_MAX];      /**< "<uuid>:<n>"; keep it private: it is enough to adopt or release the hold, or
	                                       to forge a wake-up */
	char host[LEASH_HOST_SIZE];       /**< the name of its machine */
	char program[LEASH_PROGRAM_SIZE]; /**< its `client_name` */
	int64_t pid;                      /**< its process, on its machine */
	int64_t since_ms;                 /**< when the client was opened, by its own clock, in ms since 1970 */
} leash_party;

/** The kind of a lock. The server knows it while the lock is held, and for gates. */
typedef enum leash_kind {
	LEASH_KIND_NONE,       /**< nobody holds it, so it can become any kind */
	LEASH_KIND_MUTEX,      /**< one owner holds it */
	LEASH_KIND_READ_WRITE, /**< see leash/readwrite.h */
	LEASH_KIND_SEMAPHORE,  /**< see leash/semaphore.h */
	LEASH_KIND_CONDITION,  /**< a waiter was woken just now; see leash/condition.h */
	LEASH_KIND_LATCH,      /**< see leash/gate.h; also known while nobody has arrived, if there is a waiter */
	LEASH_KIND_BARRIER,    /**< see leash/gate.h; known while there is a waiter */
} leash_kind;

/** What the server knows about a lock. Set `size` before the call. */
typedef struct leash_lock_info {
	size_t size;                    /**< sizeof(leash_lock_info) */
	char name[LEASH_NAME_MAX + 8];  /**< of the lock */
	leash_party holder;             /**< who holds it; of several holders the one whose lease ends last; all zero if
	                                     nobody does */
	uint64_t fence;                 /**< of the hold, as leash_lock_fence() first returned it; if not held, the last
	                                     one; 0: unknown */
	int64_t held_since_ms;          /**< when the holder's process acquired it; for a shared lock, when the first of its
	                                     holders did; server's clock, ms since 1970; 0: not held */
	int64_t remaining_ms;           /**< rest of the lease if not renewed; 0: not held; -1: no end, so not made by
	                                     leash */
	uint32_t depth;                 /**< how deep it is nested, as of the last renewal; 1: not a mutex; 0: not held */
	uint32_t waiting;               /**< places in the queue: a plain lock has one for each process, a fair one for each
	                                     thread, a semaphore one for each call */
	bool held;                      /**< there is a holder */
	bool no_queue;                  /**< a quorum, or Redisson: waiters are not known, and `waiting` is 0 */
	bool reserved_[2];
	leash_kind kind;                /**< of what is held, regardless of the handle */
	int64_t out;                    /**< how many permits are out, how many read, or how many have arrived at a latch;
	                                     1: a mutex, or a writer; 0: not held, which is always so for a barrier */
	int64_t count;                  /**< how many of them the holder has; 0: it holds exclusively, or nobody holds it */
	int64_t permits;                /**< how many permits the semaphore has, as its holder says; of a gate where nobody
	                                     is in: for how many the first waiter waits; else 0 */
	int64_t limit;                  /**< a temporary limit set by an operator; 0: closed; -1: none; see
	                                     leash_semaphore_limit() */
	/* Add fields here, at the end, and nowhere else. */
} leash_lock_info;

/**
 * Ask the server about `lock`: who holds it, since when, for how much longer, and how many wait.
 *
 * The answer is about whatever is held under the name, even if the handle is for another kind; `kind` says which one.
 *
 * @param info  receives the answer; its `size` must be set. Untouched unless the result is LEASH_OK.
 * @param err   filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*info` is the server's answer; it may already be out of date
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`
 * @retval LEASH_MISMATCH     the key holds something that is no lock of any kind
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server sends
 * @retval LEASH_INVALID      no lock, no info, or the size of `info` is not set
 * @retval LEASH_UNSUPPORTED, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_inspect(leash_lock *lock, leash_lock_info *info, leash_error *err);

enum {
	LEASH_HOLDS_MAX = 100, /**< holds that one call reports or breaks */
};

/** One of the holders of a lock. */
typedef struct leash_hold_info {
	size_t size;           /**< of this struct, as leash was built */
	leash_party who;
	int64_t count;         /**< of a semaphore: how many permits; 1: it reads, or is at a gate; 0: it holds exclusively;
	                            -1: a signal */
	int64_t limit;         /**< of a semaphore: how many permits there are, as the holder says; of a waiter at a gate:
	                            for how many it waits; else 0 */
	int64_t remaining_ms;  /**< rest of its lease if not renewed; -1: no end, so not made by leash */
	/* Add fields here, at the end, and nowhere else. */
} leash_hold_info;

/** Receives one holder, on the thread that asked; `hold` is valid only during the call. Return false to stop. */
typedef bool (*leash_hold_fn)(void *arg, const leash_hold_info *hold);

/**
 * Ask the server about `lock`, as leash_lock_inspect() does, and about all of its holders.
 *
 * @param info   receives the answer, before the first visit.
 * @param visit  NULL, or called for each hold, at most LEASH_HOLDS_MAX times; the holds whose leases end last come
 *               first. It is called when all is known, with no mutex held. It may call leash.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(); `*info` and all visited holds are from one moment.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_lock_holders(leash_lock *lock, leash_lock_info *info, leash_hold_fn visit, void *arg, leash_error *err);

/** One waiter in a lock's queue. */
typedef struct leash_waiter_info {
	size_t size;           /**< of this struct, as leash was built */
	leash_party who;
	int64_t waiting_since_ms; /**< when it joined the queue, by the server's clock, in ms since 1970 */
	uint64_t position;     /**< 1: it is next */
	int64_t count;         /**< as in leash_hold_info, for what it waits for */
	int64_t limit;         /**< as in leash_hold_info, for what it waits for */
	/* Add fields here, at the end, and nowhere else. */
} leash_waiter_info;

/** Receives one waiter, on the thread that asked; `waiter` is valid only during the call. Return false to stop. */
typedef bool (*leash_waiter_fn)(void *arg, const leash_waiter_info *waiter);

/**
 * Ask the server who waits for `lock`, in the order of the queue.
 *
 * @param visit  called for each place in the queue, with no mutex held; may call leash, but not free `lock`.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(); what was visited before a failure is valid. LEASH_UNSUPPORTED on a quorum and with
 *         LEASH_REDISSON, which have no queue.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status leash_lock_waiters(leash_lock *lock, leash_waiter_fn visit, void *arg, leash_error *err);

/** Receives a lock, on the thread that asked; `info` is valid only during the call. Return false to stop. */
typedef bool (*leash_scan_fn)(void *arg, const leash_lock_info *info);

/**
 * Visit every lock of any kind that is held in the client's deployment and whose name matches `pattern`.
 *
 * The scan goes through the keys in small steps (SCAN) over a connection of its own. So it blocks neither the server
 * nor the client, and needs the same memory for ten locks as for ten million. A lock that is held from the beginning to
 * the end is visited at least once. A lock that is acquired or released during the scan may be visited or not. While
 * the server's table grows or shrinks, some locks may be visited twice.
 *
 * In a cluster the scan goes through the servers one after the other. A lock that moves to another server meanwhile,
 * with its slot or because a replica is promoted, may be missed or visited twice. On a quorum it visits the locks that
 * a majority of the servers has, with the time that a majority leaves them. If a server fails meanwhile, some locks may
 * be visited twice. If a server comes back and is given votes again, or has a lock later than the others, some may be
 * missed.
 *
 * @param pattern  a glob for names as in fnmatch(3): `*`, `?`, `[a-z]` and `\`; NULL: all.
 * @param visit    called for each lock, with no mutex held; may call leash.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(); LEASH_INVALID also for a pattern of more than 1024 bytes.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_client_scan(leash_client *client, const char *pattern, leash_scan_fn visit, void *arg, leash_error *err);

/** What a client has done since it was opened. Set `size` before the call. */
typedef struct leash_stats {
	size_t size;             /**< sizeof(leash_stats) */
	uint64_t acquired;       /**< locks acquired, not counting nested acquires */
	uint64_t handed_on;      /**< how many of `acquired` went from thread to thread, without asking the server */
	uint64_t waited;         /**< how many of `acquired` waited in the server's queue */
	uint64_t released;       /**< locks released by their owner, whatever the server answered */
	uint64_t lost;           /**< holds that were lost */
	uint64_t abandoned;      /**< holds whose thread or owner ended, or whose last handle was freed */
	uint64_t renewed;        /**< renewals that the server confirmed */
	uint64_t renewals_failed; /**< renewals that it did not confirm, for any reason */
	uint64_t gave_up;        /**< acquires that ended without the lock, for any reason */
	uint64_t commands;       /**< commands sent to the server, except those of connecting and the SCANs of a scan */
	uint64_t connects;       /**< connections for commands made so far; 1 for each server if none was lost */
	uint64_t holding;        /**< locks held now */
	uint64_t waiting;        /**< threads that wait for a lock now */
	int64_t server_ahead_ms; /**< how far the server's clock is ahead of ours (CLOCK_REALTIME) */
	bool connected;          /**< every server accepts commands */
	bool listening;          /**< every server sends wake-ups; never true on a quorum, which has none */
	bool reserved_[6];
	/* Add fields here, at the end, and nowhere else. */
} leash_stats;

/**
 * Copy what the client has done so far into `*stats`. Memory only.
 *
 * @param stats  receives it; its `size` must be set. Untouched unless the result is LEASH_OK.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK       done; numbers that change together may be from slightly different moments
 * @retval LEASH_INVALID  no client, no stats, or the size of `stats` is not set
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status leash_client_stats(leash_client *client, leash_stats *stats, leash_error *err);

LEASH_END_DECLS

#endif
