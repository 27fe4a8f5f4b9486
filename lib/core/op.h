/* Operations: one acquire, adoption, release, extension or break. An op is the only thing that anybody waits for.
 *
 *   NEW --it needs no server--> DONE       NEW --> WAITING --its lease has news, its deadline, canceled, closed--> DONE
 *
 * It lies in the memory of its front: on the stack of a thread that blocks, for example. The core neither blocks nor
 * starts a thread. It tells the front when there is something to do (struct lsh_front), which calls lsh_op_tick(). */
#ifndef LSH_CORE_OP_H
#define LSH_CORE_OP_H

#include "core/cancel.h"
#include "core/engine.h"

struct lsh_hold;
struct lsh_op;
struct lsh_op_verb;

struct lsh_front {
	/* It is DONE: status and why are set. Nothing is entered; the op is not touched any more. */
	void (*done)(struct lsh_op *op);
	/* What lsh_op_look() says of it has changed, and op->stirred is set. The lock is entered: must not wait or call
	 * back. */
	void (*stirred)(struct lsh_op *op);
};

enum lsh_op_state { LSH_OP_NEW, LSH_OP_WAITING, LSH_OP_DONE };

/* Operations for which one lease speaks, which the first of them has. */
struct lsh_queue {
	bool is_own;                 /* it is that of an op; else a lock's, of all that wait for it */
	bool driving, again;         /* the first op is being served; and is to be once more */
};

struct lsh_op {
	struct lsh_lock *lock;
	struct leash_owner *owner;
	_Atomic(struct leash_cancel *) cancel; /* or NULL */
	struct lsh_terms *terms;
	const struct lsh_front *front; /* NULL, of a release: nobody waits for it */
	struct lsh_parker *reader;   /* of the thread that reads for it; NULL: the connection's own does */
	const char *token;           /* of an adoption, until it has begun; of a break, until it is DONE */
	int64_t wait_ms;             /* of an acquire */
	int64_t lease_ms;            /* of an extension; or of an acquire, if its terms are not to say */
	bool nowait;                 /* of a release: it is DONE once it is under way; what is wrong then is an event. */
	bool waits;                  /* Or not, whatever the terms of the hold say */
	int64_t began;               /* when it was called; what counts is what is so then, or later */
	int64_t deadline;

	/* the core's */
	enum lsh_op_state state;
	atomic_bool stirred;         /* since it was last looked at */
	struct lsh_list link;        /* in one of the lock's lists */
	struct lsh_later later;
	struct lsh_queue *queue;     /* of an acquire or an adoption */
	struct lsh_queue own;        /* that, where each has its own */
	struct lsh_lease *lease;     /* that is acquired for it, released or extended; with a reference */
	struct lsh_hold *hold;       /* made beforehand, so that a grant cannot fail */
	struct lsh_wish want;
	const struct lsh_op_verb *verb;
	int64_t wakes_at;            /* it wants a tick then */
	unsigned generation;         /* of an adoption: the lock's when the server was asked */
	bool pending;                /* its lease waits for replicas */
	leash_status status;
	leash_error why;             /* what is in its way, as long as it waits; then what to tell */
};

/* Breaking is to release the lock by the token of whoever has it. */
extern const struct lsh_op_verb lsh_acquiring, lsh_adopting, lsh_releasing, lsh_extending, lsh_upgrading, lsh_lessening;
extern const struct lsh_op_verb lsh_breaking;

/* What whoever waits for an op does meanwhile. */
struct lsh_outlook {
	int64_t tick_at;             /* it wants a tick then */
	uint64_t place;              /* in the server's queue, by the number of its token; 0: it is not known to have one */
	struct lsh_source source;    /* its news come from there: lsh_source_read() must follow if its host is not NULL */
};

/* Begin. True: it is DONE already, and the front is not told. Else `outlook`, which may be NULL, is as lsh_op_look()
 * has it. Not entered. */
bool lsh_op_begin(struct lsh_op *op, const struct lsh_op_verb *verb, struct lsh_outlook *outlook);

/* Its time has come (deadline, wakes_at), or it was canceled. Not entered. */
void lsh_op_tick(struct lsh_op *op);

/* It is not wanted any more: what acquires, or adopts, ends as if it was canceled, unless it is DONE already. Not
 * entered. */
void lsh_op_leave(struct lsh_op *op);

/* False: it is DONE. Not entered. */
bool lsh_op_look(struct lsh_op *op, struct lsh_outlook *outlook);

static inline bool
lsh_op_is_canceled(const struct lsh_op *op)
{
	const struct leash_cancel *cancel = op->cancel;

	return cancel != NULL && atomic_load(&cancel->fired);
}

#endif
