/* A kind of lock: all that differs between kinds, as data and pure functions. lease/ and core/ make use of it.
 *
 * A kind has a file here and its scripts in lib/lua. Threads: any; nothing is kept. */
#ifndef LSH_KIND_KIND_H
#define LSH_KIND_KIND_H

#include "base/mutation.h"
#include "base/text.h"
#include "base/token.h"
#include "redis/reply.h"
#include "redis/script.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest fence and clock that a script counts exactly. Shown it is 256 times that, and fits into 64 bits. */
#define LSH_FENCE_MAX ((INT64_C(1) << 53) - 1)
/* For the scripts a fence is no further ahead of the server's clock than that. */
#define LSH_FENCE_AHEAD_US (INT64_C(31536000) * 1000000)

/* What can be said of a token, or of a lock. */
enum lsh_verb {
	LSH_ACQUIRE,   /* ask for the lock, and for a place in the queue if it is taken */
	LSH_RENEW,     /* keep what is held */
	LSH_RELEASE,   /* release, leave the queue, cancel */
	LSH_HEARTBEAT, /* keep a place, and say where it stands; or go on with what another client holds */
	LSH_RAISE,     /* let a server hear of a larger fence */
	LSH_TRADE,     /* hold this in place of what another token holds, at once or not at all */
	LSH_LIMIT,     /* of no token: for a while, let no more than so many hold what is shared */
	LSH_PROCLAIM,  /* let all who watch know a value of who holds it */
	LSH_SIGNAL,    /* of no token: wake so many who wait for a condition */
	LSH_ARRIVE,    /* it has arrived at a latch */
	LSH_VERBS
};

/* What a hold of a shared kind needs: so many at once, while no more than the limit are out, itself included; a limit
 * of 0: any number, a count of 0: to be alone. It is a part of what its token is called by: "<token> <count>/<limit>",
 * or "<token> w". 0: of a kind that is not shared. */
enum { LSH_NEED_SIZE = 4 + 1 + 7 + 1, LSH_NEED_COUNT_MAX = 1000, LSH_NEED_LIMIT_MAX = 1000000 };

static inline uint32_t
lsh_need(uint32_t count, uint32_t limit)
{
	return count << 20 | limit;
}

/* Of a read-write lock. */
enum { LSH_NEED_WRITE = 1, LSH_NEED_READ = 1 << 20 };

/* What begins with two bits that no count has says a sort of its own. Of a condition: to be signaled, "?". */
#define LSH_NEED_SIGNAL (UINT32_C(3) << 30)

/* Of a gate: to pass a latch, or a barrier, with so many, ">n" and "=n"; and to have arrived at a latch, "+", which has
 * a count, as a signal has none. */
enum lsh_gate { LSH_NO_GATE, LSH_LATCH, LSH_BARRIER, LSH_ARRIVED };
enum { LSH_NEED_PARTIES_MAX = 1000 }; /* of a barrier, which are let in by one step */

static inline uint32_t
lsh_need_of(enum lsh_gate gate, uint32_t count)
{
	return (uint32_t)gate << 30 | lsh_need(1, count);
}

static inline enum lsh_gate
lsh_need_gate(uint32_t need)
{
	return need == LSH_NEED_SIGNAL ? LSH_NO_GATE : (enum lsh_gate)(need >> 30);
}

static inline unsigned
lsh_need_count(uint32_t need)
{
	return need >> 20 & 0x3ff;
}

static inline unsigned
lsh_need_limit(uint32_t need)
{
	return need & 0xfffff;
}

/* Write it, with a NUL; returns the length. */
size_t lsh_need_write(char out[static LSH_NEED_SIZE], uint32_t need);
bool lsh_need_read(uint32_t *need, const char *text, size_t size); /* false: it is none */

/* A token, and behind a space its need. */
enum { LSH_WHO_SIZE = LSH_TOKEN_SIZE + LSH_NEED_SIZE };

/* What all requests of a client have in common. */
struct lsh_protocol {
	const char *uuid;               /* of the client */
	char fence_ms[LSH_DECIMAL_SIZE]; /* for how long a fence is kept */
	char config[160], sharded[160]; /* the last argument, behind the claim: a channel for each client; for each lock */
};

struct lsh_request {
	const struct lsh_protocol *protocol;
	const struct lsh_kind *kind;
	struct lsh_arg key;             /* the lock's first one */
	const char *token;              /* with its need, if it has one */
	size_t token_size;
	const char *old;                /* TRADE: the other one, likewise */
	int64_t lease_ms, claim_ms;     /* LIMIT: for how long, 0: it ends; a claim of 0: take no place */
	int64_t limit;                  /* LIMIT; SIGNAL: how many */
	const char *value;              /* PROCLAIM */
	int64_t not_after_us;           /* by the server's clock: later than that it does nothing */
	int64_t fence;                  /* wanted: no queue, and all servers answer the same; 0: as the server likes; or of
	                                   who watches: the state that it knows */
	unsigned depth;
	bool sharded;                   /* there is a channel for each lock */
	bool keeps_fence;               /* a renewal is to see that the fence stays */
	bool watched;                   /* RELEASE: others may watch who leads */
};

enum lsh_standing {
	LSH_GRANTED,    /* held, with that fence */
	LSH_QUEUED,     /* it has a place */
	LSH_TAKEN,      /* somebody else has it; it has a place only if it asked for one; `ttl_ms`: of the other's lease */
	LSH_TOO_LATE,   /* nothing was done */
	LSH_KEPT,       /* still held */
	LSH_GONE,       /* nothing is known of it */
	LSH_BY_ITSELF,  /* it was refused among many: say it by itself to be told why */
	LSH_LET_GO,     /* it held the lock, or had a place: no more */
};

struct lsh_verdict {
	enum lsh_standing what;
	int64_t fence;
	int64_t ttl_ms;       /* -1: not told, or without end */
	int64_t server_us;    /* the server's clock; 0: not told */
	bool had_no_ttl;      /* KEPT: its key was persistent */
	bool waited;          /* LET_GO: it had a place only */
	int64_t listeners;    /* LET_GO, of a kind with a channel: so many connections heard that it is free */
};

enum {
	LSH_REENTRANT = 1, /* whoever has it may have it again */
	LSH_HANDS_OFF = 2, /* between the threads of a process it passes without asking the server */
	LSH_SHARED = 4,    /* many may have it at once; if it is not LSH_REENTRANT each hold has an owner of its own */
	LSH_BARE = 8,      /* its key is the bare name: it is shared with another library */
	LSH_PASSED = 16,   /* nobody counts on having it: a loss is not told, and nothing guards against it */
	LSH_COUNTED = 32,  /* others count on who waits: so a wait has ended when the server has let go of its place */
};

struct lsh_kind {
	const char *name;             /* in messages: "lock" */
	const char *taken, *was_taken; /* likewise, why a try and a wait end without it; */
	const char *inspector;        /* and the call that says who has it then, or NULL */
	unsigned flags;
	const char *suffix[5];        /* of its keys, behind the name; the first is "", NULL ends: who looks names all */
	const char *mark;             /* what else is in a client under that name has no such end of its key; or NULL */
	unsigned keys;                /* its steps name so many of them */
	unsigned batch;               /* so many renewals at most share a script; 1: none do */
	const struct lsh_script *inspect; /* who has it; lib/lua/README.md specifies what it is told and answers */

	/* Make the command for `n` tokens: more than one of HEARTBEAT, with one key and one lease; and of RENEW. */
	void (*make)(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *requests, size_t n);
	/* The same for RELEASE where it can name but one key; NULL: that cannot be. Nobody is handed what it released. */
	void (*make_one_key)(struct lsh_script_call *command, const struct lsh_request *request);
	/* Read what was answered for token `i` of `n`. False: it is no answer to that. */
	bool (*read)(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *message, size_t i, size_t n);

	/* NULL: who waits takes a place in a queue, and is told by a message of its own. Else nobody has a place, and all
	 * who wait listen on this channel, where whatever is said means: ask again. Write it, at most 40 bytes longer than
	 * the key; returns the length. `sharded`: it is to be one of a slot. */
	size_t (*channel)(char *out, const char *key, size_t size, bool sharded);

	/* For those three as this folder has them: */
	const struct lsh_script *const *script; /* by verb */
	const char *let_go;           /* the command that takes its token away, with one key; NULL: its script does */
};

static inline bool
lsh_kind_is_counted(const struct lsh_kind *kind)
{
	return (kind->flags & LSH_COUNTED) != 0 && !LSH_MUTATES(LSH_WAITS_END_AT_ONCE);
}

/* It says how something is from now on, so a copy of it must not be executed later than what is said after it. */
static inline bool
lsh_verb_has_end(enum lsh_verb verb)
{
	return verb == LSH_LIMIT || verb == LSH_PROCLAIM;
}

void lsh_kind_make(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *requests, size_t n);
void lsh_kind_make_one_key(struct lsh_script_call *command, const struct lsh_request *request);
bool lsh_kind_read(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *message, size_t i, size_t n);

/* Is that the channel of a lock, as its kind has it? Then `*key` is that of the lock; it may lie in `scratch`. */
enum { LSH_CHANNEL_SCRATCH = 2048 };
bool lsh_kind_read_channel(const char *channel, size_t size, struct lsh_arg *key,
                           char scratch[static LSH_CHANNEL_SCRATCH]);
bool lsh_redisson_read_channel(const char *channel, size_t size, struct lsh_arg *key); /* for that one, */
bool lsh_watch_read_channel(const char *channel, size_t size, struct lsh_arg *key,
                            char scratch[static LSH_CHANNEL_SCRATCH]); /* likewise */

extern const struct lsh_kind lsh_mutex, lsh_semaphore, lsh_readwrite, lsh_condition, lsh_redisson, lsh_watch;
extern const struct lsh_kind lsh_latch, lsh_barrier;

#endif
