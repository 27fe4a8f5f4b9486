/* Inspect: who has a lock, who waits for it, and what a client has done so far. For people and for monitoring. */
#ifndef LEASH_INSPECT_H
#define LEASH_INSPECT_H

#include <leash/api.h>
#include <leash/client.h>
#include <leash/lock.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

enum {
	LEASH_HOST_SIZE = 72,    /**< bytes that hold a host's name as clients tell it, with its NUL */
	LEASH_PROGRAM_SIZE = 72, /**< likewise of a program's name */
};

/**
 * Who a client is, as it told the server itself when it first asked for a lock. Nobody vouches for it. `pid` 0 and
 * empty strings: not known, because the client is long gone, or was not permitted to say. Strings are printable ASCII.
 */
typedef struct leash_party {
	char token[LEASH_TOKEN_MAX];      /**< "<uuid>:<n>": who knows it can adopt, release, or forge a wake-up */
	char host[LEASH_HOST_SIZE];       /**< the name of its machine */
	char program[LEASH_PROGRAM_SIZE]; /**< its `client_name` */
	int64_t pid;                      /**< its process, on its machine */
	int64_t since_ms;                 /**< when the client was opened, by its own clock, in ms since 1970 */
} leash_party;

/** What a lock is. The server knows it of one that is held, and of a gate. */
typedef enum leash_kind {
	LEASH_KIND_NONE,       /**< nobody has it, so it can become anything */
	LEASH_KIND_MUTEX,      /**< one has it */
	LEASH_KIND_READ_WRITE, /**< see leash/readwrite.h */
	LEASH_KIND_SEMAPHORE,  /**< see leash/semaphore.h */
	LEASH_KIND_CONDITION,  /**< somebody was woken just now; see leash/condition.h */
	LEASH_KIND_LATCH,      /**< see leash/gate.h; known also while nobody has arrived, if somebody waits */
	LEASH_KIND_BARRIER,    /**< likewise; known while somebody waits */
} leash_kind;

/** What the server knows of a lock. Set `size` before the call. */
typedef struct leash_lock_info {
	size_t size;                    /**< sizeof(leash_lock_info) */
	char name[LEASH_NAME_MAX + 8];  /**< of the lock */
	leash_party holder;             /**< who has it, of several whose lease ends last; all zero if nobody has */
	uint64_t fence;                 /**< of the hold, as leash_lock_fence() first had it; else the last; 0: unknown */
	int64_t held_since_ms;          /**< when the holder's process got it, of those who share when the first of them
	                                     came in: server's clock, ms since 1970; 0: not held */
	int64_t remaining_ms;           /**< of the lease if not renewed; 0: not held; -1: no end, so not made by leash */
	uint32_t depth;                 /**< how deep it is nested, as of the last renewal; 1: no mutex; 0: not held */
	uint32_t waiting;               /**< places: a plain lock has one for each process, a fair one for each thread, a
	                                     semaphore one for each call */
	bool held;                      /**< somebody has it */
	bool no_queue;                  /**< a quorum, or Redisson: nobody knows who waits, and `waiting` is 0 */
	bool reserved_[2];
	leash_kind kind;                /**< of what is held, whatever the handle is for */
	int64_t out;                    /**< permits, who reads, or has arrived at a latch; 1: a mutex, or who writes; 0:
	                                     not held, as a barrier always is */
	int64_t count;                  /**< how many of them the holder has; 0: it is alone, or nobody has it */
	int64_t permits;                /**< of a semaphore, as the holder says: how many there are; else 0, but of a gate
	                                     where nobody is in for how many the first one waits */
	int64_t limit;                  /**< an operator's, for a while; 0: closed; -1: none; see leash_semaphore_limit() */
	/* Add fields here, at the end, and nowhere else. */
} leash_lock_info;

/**
 * Ask the server about `lock`: who has it, since when, for how long still, and how many wait.
 *
 * It is about all that may be held under the name, whatever the handle is for; `kind` says what that is.
 *
 * @param info  receives the answer; its `size` must be set. Untouched unless the result is LEASH_OK.
 * @param err   filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           `*info` is what the server said; it may be old news already
 * @retval LEASH_UNAVAILABLE  the server did not answer within the client's `timeout_ms`
 * @retval LEASH_MISMATCH     the key holds something that is no lock of any kind
 * @retval LEASH_DENIED       the server does not permit a command; the text names it
 * @retval LEASH_PROTOCOL     the answer is not what a Redis server says
 * @retval LEASH_INVALID      no lock, no info, or its size is not set
 * @retval LEASH_UNSUPPORTED, LEASH_NO_MEMORY, LEASH_CLOSED, LEASH_FORKED, LEASH_IN_CALLBACK as leash_lock_acquire()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_lock_inspect(leash_lock *lock, leash_lock_info *info, leash_error *err);

enum {
	LEASH_HOLDS_MAX = 100, /**< holds that a call reports, or breaks */
};

/** One of those who have a lock. */
typedef struct leash_hold_info {
	size_t size;           /**< of this struct, as leash was built */
	leash_party who;
	int64_t count;         /**< of a semaphore: how many permits; else 1: it reads, or is at a gate; 0: it is alone; -1:
	                            a signal */
	int64_t limit;         /**< of a semaphore: of how many, as it says itself; of who waits at a gate: for how many;
	                            else 0 */
	int64_t remaining_ms;  /**< of its lease if not renewed; -1: no end, so not made by leash */
	/* Add fields here, at the end, and nowhere else. */
} leash_hold_info;

/** Receives one who has the lock, on the thread that asked; `hold` is valid during the call only. False: enough. */
typedef bool (*leash_hold_fn)(void *arg, const leash_hold_info *hold);

/**
 * Ask the server about `lock`, as leash_lock_inspect(), and who all have it.
 *
 * @param info   receives the answer, before the first visit.
 * @param visit  NULL, or called for each hold, those first whose leases end last, and for LEASH_HOLDS_MAX of them at
 *               most; with no mutex held, when all is known. May call leash.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(); `*info` and what was visited are what the server said at one moment.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status
leash_lock_holders(leash_lock *lock, leash_lock_info *info, leash_hold_fn visit, void *arg, leash_error *err);

/** One who waits in a lock's queue. */
typedef struct leash_waiter_info {
	size_t size;           /**< of this struct, as leash was built */
	leash_party who;
	int64_t waiting_since_ms; /**< when it came, by the server's clock, in ms since 1970 */
	uint64_t position;     /**< 1: the next one */
	int64_t count;         /**< as in leash_hold_info, of what it waits for */
	int64_t limit;         /**< likewise */
	/* Add fields here, at the end, and nowhere else. */
} leash_waiter_info;

/** Receives one who waits, on the thread that asked; `waiter` is valid during the call only. False: enough. */
typedef bool (*leash_waiter_fn)(void *arg, const leash_waiter_info *waiter);

/**
 * Ask the server who waits for `lock`, first comes first.
 *
 * @param visit  called for each place in the queue, with no mutex held; may call leash, but not free `lock`.
 * @param err    filled in unless the result is LEASH_OK; may be NULL.
 *
 * @return as leash_lock_inspect(); what was visited before a failure was true. On a quorum, and with
 *         LEASH_REDISSON, where there is no queue, LEASH_UNSUPPORTED.
 *
 * Threads: any; not from a leash callback. Not a cancellation point, except for what `visit` does. Since 0.1.
 */
LEASH_API leash_status leash_lock_waiters(leash_lock *lock, leash_waiter_fn visit, void *arg, leash_error *err);

/** Receives a lock, on the thread that asked; `info` is valid during the call only. False: enough. */
typedef bool (*leash_scan_fn)(void *arg, const leash_lock_info *info);

/**
 * Visit every lock that is held in the client's deployment, of whatever kind, and whose name fits `pattern`.
 *
 * Goes through the keys in small steps (SCAN) over a connection of its own, so it blocks neither the server nor the
 * client, and needs the same memory for ten locks as for ten million. Locks that are held from the beginning to the end
 * are visited at least once; one that is acquired or released meanwhile may be visited or not, and while the server's
 * table grows or shrinks some twice. In a cluster it goes through the servers one after the other: a lock that moves to
 * another one meanwhile, with its slot or because a replica takes over, may be missed, or visited twice. On a quorum
 * those locks are visited that a majority of the servers has, with the time that is left to them by a majority. If one
 * of the servers fails meanwhile, some may be visited twice; if one comes back and is given votes again, or has one
 * later than the others, some may be missed.
 *
 * @param pattern  a glob over names as fnmatch(3) knows it, `*`, `?`, `[a-z]` and `\`; NULL: all.
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
	uint64_t handed_on;      /**< of them: from thread to thread, without asking the server */
	uint64_t waited;         /**< of them: after waiting in the server's queue */
	uint64_t released;       /**< locks given up by their owner, whatever the server said to it */
	uint64_t lost;           /**< holds that were lost */
	uint64_t abandoned;      /**< holds whose thread or owner ended, or whose last handle was freed */
	uint64_t renewed;        /**< renewals that the server confirmed */
	uint64_t renewals_failed; /**< renewals that it did not, whatever the reason */
	uint64_t gave_up;        /**< acquires that ended without the lock, whatever the reason */
	uint64_t commands;       /**< sent to the server, without those of connecting, and the SCANs of a scan */
	uint64_t connects;       /**< connections for commands made so far; 1 for each server if none was lost */
	uint64_t holding;        /**< locks held now */
	uint64_t waiting;        /**< threads that wait for a lock now */
	int64_t server_ahead_ms; /**< how far the server's clock is ahead of ours (CLOCK_REALTIME) */
	bool connected;          /**< commands are taken, by each server */
	bool listening;          /**< wake-ups come, from each server; never on a quorum, where there are none */
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
 * @retval LEASH_INVALID  no client, no stats, or its size is not set
 * @retval LEASH_CLOSED, LEASH_FORKED as leash_lock_acquire()
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API leash_status leash_client_stats(leash_client *client, leash_stats *stats, leash_error *err);

LEASH_END_DECLS

#endif
