/* A query: one question about a lock or a client, or what is said of a lock that is no hold, to as many servers as have
 * to agree: the one that has the key, or all of a quorum. It goes over the client's own connections.
 *
 *   ASKING --an answer--> REPLIED
 *   ASKING --a refusal--> GAVE_UP
 *   ASKING --no connection, or "not now"--> ASKING: it is sent again as long as somebody waits
 *
 * It lies on the heap, because its calls may outlast the thread that waits. Threads: one asks; answers come on any. */
#ifndef LSH_ADMIN_QUERY_H
#define LSH_ADMIN_QUERY_H

#include "core/engine.h"
#include "lease/host.h"

enum lsh_question {
	LSH_WHO_HAS,   /* the lock with this key: what inspect.lua answers, a line for each of its items; with the hold
	                * whose lease ends last */
	LSH_WHO_SHARES, /* the same, with up to LSH_HOLDS of them */
	LSH_WHO_IS,    /* the client of this token: what it wrote about itself */
	LSH_WHO_WAITS, /* for the lock with this key: up to LSH_QUERIES places behind the arrival `after`, and their scores,
	                * a line for each */
	LSH_WHO_LEADS, /* the same of a lock that may be watched: what watch.lua answers, a line for each of its items */
	LSH_STEP,      /* no question, but the step `verb`: what that answers */
};

enum {
	LSH_QUERIES = 64, /* questions, or places, at once: the server answers them in one go, while all others wait */
	LSH_HOLDS = 100,  /* in an answer: as many as fit, with their needs, into the texts of a message (LSH_TEXT_SIZE) */
};

/* The question to one of the servers. */
struct lsh_ask {
	struct lsh_call call;
	struct lsh_query *query;
	struct lsh_host *host; /* in use */
	enum { LSH_ASKING, LSH_REPLIED, LSH_GAVE_UP } state;
	char *text;            /* REPLIED: the answer, if it is one; else "" */
	leash_error why;       /* else: why there is none; OK: not known */
	bool away;             /* there is no connection */
	bool garbled;          /* what came once was no reply at all */
	bool elsewhere;        /* the key is at another server, or on its way there */
	int64_t again_at;      /* when it is to be sent again */
};

struct lsh_query {
	struct lsh_monitor monitor; /* guards the asks until `over` */
	atomic_uint references;     /* the owner, and each call that is out */
	struct lsh_backend *backend;
	enum lsh_question question;
	const struct lsh_kind *kind; /* of the lock; NULL where it is not about one */
	char *subject;              /* the key, or the token */
	size_t subject_size;
	uint64_t after;
	int64_t deadline;           /* STEP: it is not done later, if its verb has an end; */
	bool stranded;              /* but until then a copy may be that was sent over a connection that broke */
	enum lsh_verb verb;
	int64_t limit, for_ms;      /* LIMIT: no more than so many, for so long; SIGNAL: so many; ARRIVE: for so long */
	char *words;                /* STEP: a token, and behind that a value, either may be ""; freed with it; else NULL */
	unsigned slot;
	bool by_slot;               /* whichever server has the slot is asked */
	bool hurried;               /* "not now" is an answer, too */
	bool over;                  /* nobody waits any more */
	bool (*is_enough)(const struct lsh_query *query); /* is enough known? NULL: once no answer is to be expected */
	struct lsh_parker *parker;  /* of the thread that waits; NULL: */
	void (*stirred)(void *waiter); /* who waits is to look again; the monitor is entered */
	void *waiter;
	size_t count;
	struct lsh_ask asks[];
};

/* NULL: no memory, or no server, as the client is closed: lsh_query_none() says which. */
struct lsh_query *lsh_query_new(struct lsh_backend *backend, enum lsh_question question, const struct lsh_kind *kind,
                                const char *subject, size_t size);
void lsh_query_drop(struct lsh_query *query); /* NULL is allowed */
leash_status lsh_query_none(const struct lsh_backend *backend, leash_error *err);

/* Ask them all, once, and wait until enough is known of each, the deadline, or the end of the client. LEASH_OK, CLOSED
 * or NO_MEMORY: one of them is NULL, and nothing was asked. From then on the asks stay as they are. */
leash_status lsh_queries_ask(struct lsh_backend *backend, struct lsh_query *const *queries, size_t count,
                             int64_t deadline, leash_error *err);

/* For who waits without a thread. See to what is to be sent by now: `*until` is not later than the next time for that.
 * False: enough is known, or it is too late, and the query is over. Then what lsh_query_run() returns is the result. */
bool lsh_query_goes_on(struct lsh_query *query, int64_t *until);
leash_status lsh_query_result(const struct lsh_query *query, const struct lsh_lock *lock, leash_error *err);

bool lsh_ask_is_pending(const struct lsh_ask *ask); /* may the answer still come? */

/* Ask one server about this lock, for the timeout of the client at most; the query may be NULL. LEASH_OK: it has
 * REPLIED; else the text names the lock. */
leash_status lsh_query_run(struct lsh_query *query, struct lsh_lock *lock, leash_error *err);

/* Why it has no answer, or none that can be read. */
leash_status lsh_ask_explain(const struct lsh_ask *ask, leash_error *why);

#endif
