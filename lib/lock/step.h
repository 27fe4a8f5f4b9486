/* The steps of lib/lua as commands, for one tenure. lock->mutex held. */
#ifndef LSH_LOCK_STEP_H
#define LSH_LOCK_STEP_H

#include "redis/fault.h"
#include "redis/script.h"

#include <stdbool.h>
#include <stdint.h>

struct lsh_engine;
struct lsh_lock;
struct lsh_tenure;

struct lsh_step {
	struct lsh_script_call call;
	char number[2][LSH_DECIMAL_SIZE];
};

/* May the text of a script be sent where the server lacks it? (scripts=preloaded: it may not.) */
bool lsh_step_may_send_whole(const struct lsh_engine *engine);
/* What to tell a person of the words with which a server refused a step of this lock; `script` may be NULL. */
#define LSH_NOT_LOADED "its scripts are not loaded (any more), and are not sent: scripts=preloaded; leash scripts --load loads them"
void lsh_step_say(char out[static LSH_FAULT_TEXT], const struct lsh_lock *lock, const struct lsh_script *script, const char *words);

void lsh_step_ask(struct lsh_step *step, const struct lsh_tenure *tenure, int64_t not_after_us, bool takes_place);
void lsh_step_cancel(struct lsh_step *step, const struct lsh_tenure *tenure); /* or release, or leave */
/* What there is of that with one key, for a slot that is moving: its hold is released, and the next word or cancel gives the lock to somebody. */
void lsh_step_forget(struct lsh_step *step, const struct lsh_tenure *tenure);
/* For several tenures of one lock, with one lease: the first, then each of the others, then the end. */
enum { LSH_WORDS = 256 }; /* tenures at most: a server reads and answers so many in some 0.5 ms */
void lsh_step_word(struct lsh_step *step, const struct lsh_tenure *tenure);
void lsh_step_word_add(struct lsh_step *step, const struct lsh_tenure *tenure);
void lsh_step_word_end(struct lsh_step *step, const struct lsh_tenure *tenure);
/* Answered 0: not held; 1: renewed; or: */
enum { LSH_HAD_NO_TTL = 2 }; /* renewed, and its key was persistent */
void lsh_step_renew(struct lsh_step *step, const struct lsh_tenure *tenure, int64_t lease_ms, unsigned depth);

#endif
