/* Errands: a step that its caller waits for, sent until it is answered. Each is idempotent, so that one whose answer was lost may be
 * sent again. */
#ifndef LSH_LOCK_ERRAND_H
#define LSH_LOCK_ERRAND_H

#include "lock/state.h"
#include "lock/step.h"

/* What is to be sent. */
struct lsh_errand {
	struct lsh_lock *lock;
	void (*make)(struct lsh_step *step, struct lsh_errand *errand); /* for each try; lock->mutex held */
	void (*appended)(struct lsh_lock *lock); /* once, behind the first of it and before the mutex is released; or NULL */
	bool *whole;      /* the server lacks the script: where `make` looks */
	bool lets_others; /* others are likely to be woken by it: their messages are to go out before its answer */
	bool has_plain;   /* where its slot moves `make` can make something else of it, with one key, */
	bool plain;       /* and is to */
};

/* How it went, of which it matters whether it was done. */
struct lsh_attempt {
	struct lsh_site *site; /* where it was sent last (in use), */
	uint64_t home;         /* and where the lock lived then (serial): if it is elsewhere now, what was done is perhaps not known there */
	enum lsh_outcome outcome;
	struct lsh_reply reply;
	uint64_t epoch;
	int64_t sent;
	bool unknown_before; /* an earlier try of it was sent, and may have been executed */
	bool refused;        /* that text is the server's own: not now, or not here */
	bool garbled;        /* what came was no reply at all */
	char text[200];      /* why there is no answer */
	leash_status status; /* of that text */
	int sys_errno;
};

/* Send it, to where the lock lives and where that sends it, until it is answered otherwise than "not now", or `deadline` has come. lock->mutex held; released meanwhile. False:
 * there is no answer. The first append happens before the mutex is released. `patience` as of lsh_pipe_append(). */
bool lsh_errand_run(struct lsh_errand *errand, int64_t patience, int64_t deadline, struct lsh_thread *self, struct lsh_attempt *attempt);

/* Once the attempt has been looked at. */
void lsh_errand_end(struct lsh_attempt *attempt);

/* There is no answer to a step that need not be known of: CLOSED, PROTOCOL, or why; "lock '...': <what><why>". */
leash_status lsh_errand_unanswered(const struct lsh_errand *errand, const struct lsh_attempt *attempt, const char *what, leash_error *err);

/* The answer is not one that the script gives: leave the server, and say so. Returns LEASH_PROTOCOL. */
leash_status lsh_errand_nonsense(const struct lsh_errand *errand, const struct lsh_attempt *attempt, leash_error *err);

/* The server refused `script`, and that cannot be mended: say "lock '...': <what><server>: <command>: <its words>". */
leash_status lsh_errand_refused(const struct lsh_errand *errand, const struct lsh_attempt *attempt, const struct lsh_script *script,
                                const char *what, leash_error *err);

#endif
