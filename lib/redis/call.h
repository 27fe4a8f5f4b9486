/* A call: one script, sent until somebody answers for it.
 *
 *   IDLE --start--> OUT --answered, refused for good, or the connection is gone: done--> IDLE, or OUT again by done()
 *                  |  ^
 *                  +--+  NOSCRIPT: once more with the script's text; MOVED, ASK: to the server that has the key;
 *                        TRYAGAIN, and there is a form with one key: that one
 *
 * This is the only place that deals with redirections, with a script that is not there, and with a server that is not
 * the one to ask; and the only one that tells a refusal from an answer. What may pass by itself (loading, a slot that
 * moves, no connection) is for the owner to try again: it knows how long that is worthwhile.
 *
 * A call lies in the memory of what it is about, and has a reference to that from start() to done(). It never blocks
 * and is never given up.
 *
 * Threads: start() with the monitor entered; done() on whichever thread read the answer, with the monitor entered. */
#ifndef LSH_REDIS_CALL_H
#define LSH_REDIS_CALL_H

#include "base/monitor.h"
#include "redis/fault.h"
#include "redis/router.h"
#include "redis/script.h"

struct lsh_call;

enum lsh_verdict_of_call {
	LSH_CALL_ANSWERED, /* the message is an answer of the script */
	LSH_CALL_REFUSED,  /* the server refused it: `fault`, in `words`; or it cannot be sent where they say: `why` */
	LSH_CALL_UNSENT,   /* there is no connection (any more): not executed */
	LSH_CALL_UNKNOWN,  /* the connection broke: perhaps executed */
	LSH_CALL_NONSENSE, /* what came is no answer of the script; or none at all (`garbled`): perhaps executed */
};

struct lsh_result {
	enum lsh_verdict_of_call what;
	const struct lsh_message *message;
	enum lsh_fault fault;
	const char *words;
	const leash_error *why;
	bool garbled;
	bool again;            /* it may be otherwise in a moment: loading, a slot that moves, servers that do not agree */
	struct lsh_server *asks; /* REFUSED: this one is to be asked, for once (in use); or NULL */
	struct lsh_server *server; /* where it was sent last, in use; */
	uint64_t epoch;        /* over this connection */
	uint64_t home;         /* the serial of where its key lived then */
	int64_t sent;
	bool one_key;          /* what was answered is its form with one key */
};

struct lsh_call_ops {
	/* Where its key lives. Entered. NULL: at call->at. */
	struct lsh_server *(*home)(struct lsh_call *call);
	/* Make the command. Entered. False: it is not wanted any more; then lsh_call_start() is false, or, where it was
	 * sent before, done() is told UNSENT. `*patience` (ns) is the router's timeout, unless the answer may take another
	 * time. */
	bool (*build)(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience);
	bool (*is_answer)(const struct lsh_call *call, const struct lsh_message *message); /* NULL: whatever comes */
	void (*done)(struct lsh_call *call, const struct lsh_result *result);
	/* Not entered: give back the reference to its owner; the call may be on its way again by then. NULL: there is
	 * none. */
	void (*release)(void *owner);
	/* The n-th key (from 1) of its script, for a message. NULL: none is shown. */
	void (*show_key)(const struct lsh_call *call, unsigned n, char *out, size_t size);
};

struct lsh_call {
	struct lsh_ticket ticket;
	struct lsh_list link;          /* in a server's backlog */
	const struct lsh_call_ops *ops;
	struct lsh_monitor *monitor;
	void *owner;                   /* what it is about */
	struct lsh_server *at;         /* where its key lives, if no op says so */
	struct lsh_server *server;     /* while it is out: where to, in use */
	const struct lsh_script *script;
	int64_t sent;
	uint64_t home;
	unsigned char hops;            /* redirections in a row */
	bool out;
	bool is_aside;                 /* nothing depends on it: a refusal says nothing about the server */
	bool stays;                    /* it is sent to no other server: redirections are for the owner to follow */
	bool asks_first;               /* its server is to be asked for this once, from the beginning */
	bool with_source;              /* the server lacks the script */
	bool has_one_key, one_key;     /* it has a form with one key, for a slot that moves; and that one is to be sent */
};

void lsh_call_init(struct lsh_call *call, const struct lsh_call_ops *ops, struct lsh_monitor *monitor, void *owner);

/* Send it, to where its key lives. `reader` is the parker of a thread that is going to read, or NULL. The caller has
 * counted a reference for it. False: nothing was sent, for want of a connection or because build() said so, and done()
 * is not called; the reference is the caller's again. */
bool lsh_call_start(struct lsh_call *call, struct lsh_parker *reader);

/* Nobody reads for it any more. Entered. */
void lsh_call_unattend(struct lsh_call *call);

/* There is room again: send what was waiting for that. Not entered; the server's own thread. */
void lsh_call_resume(struct lsh_server *server);

/* Why there is no answer: "<server>: <its words>", and so on, for a result other than ANSWERED. */
void lsh_call_explain(const struct lsh_call *call, const struct lsh_result *result, leash_error *why);

#endif
