/* Questions: what a thread asks a server and waits for, over the client's own connections: who has a lock, and who a client is.
 *
 * A question lies on the heap, as its call may outlast whoever waits for it. It is sent again over the next connection, and where the server says "not
 * now", for as long as somebody waits. Threads: one that asks; the answer comes on any. */
#ifndef LSH_ADMIN_INQUIRY_H
#define LSH_ADMIN_INQUIRY_H

#include "lease/host.h"

#include <leash/status.h>

enum lsh_inquiry_state { LSH_ASKING, LSH_REPLIED, LSH_GAVE_UP };

struct lsh_inquiry {
	struct lsh_monitor monitor;   /* guards the rest */
	struct lsh_call call;
	atomic_uint references;       /* whoever asks, and the call while it is out */
	struct lsh_backend *backend;
	struct lsh_host *host;        /* that is asked (in use) */
	unsigned slot;
	bool by_slot;                 /* whichever host has that is asked */
	bool who;                     /* who the client of a token is; else, who has the lock with this key */
	char *subject;                /* the token, or the key */
	size_t subject_size;
	struct lsh_parker *parker;    /* of whoever asks */
	bool waits;                   /* a server that is away may come back: it is asked again then */

	enum lsh_inquiry_state state;
	enum lsh_type type;           /* REPLIED: of the answer, */
	char text[LSH_REPLY_TEXT];    /* and its text */
	leash_error why;              /* else: what is in the way; OK: nothing is known */
	bool away;                    /* namely that there is no connection */
	bool nonsense;
	bool garbled;                 /* what came once was no reply at all */
	uint64_t epoch;               /* of the connection over which it was sent last */
	int64_t again_at;             /* it is to be sent again then */
};

/* Of this host, or, NULL, of the one that has the slot of the key. NULL: no memory. */
struct lsh_inquiry *lsh_inquiry_new(struct lsh_backend *backend, struct lsh_host *host, bool who, const char *subject, size_t size,
                                      struct lsh_parker *parker);
void lsh_inquiry_drop(struct lsh_inquiry *question); /* NULL is allowed */

/* Send what is to be sent, and tell how it stands; read it only between these calls. */
enum lsh_inquiry_state lsh_inquiry_look(struct lsh_inquiry *question);

/* Sleep until one of them may have news, or `deadline`. */
void lsh_inquiries_await(struct lsh_inquiry *const *questions, size_t count, struct lsh_parker *parker, int64_t deadline);

#endif
