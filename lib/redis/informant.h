/* An informant: one server that is asked, and for whose replies nobody waits: a sentinel, a node of a cluster.
 *
 *   DOWN --connect--> CONNECTING --hello--> UP
 *   CONNECTING, UP --refused, broken, overdue, malformed--> DOWN, and the reason is kept
 *
 * Commands are sent in one go; their replies come one at a time, in order. hiredis builds them behind a sieve: a reply
 * of more bytes, elements or levels than such a server would give, or of another type, is LEASH_PROTOCOL. (hiredis
 * buffers without bound what does not make a reply, makes room for all elements that are announced, and frees arrays
 * level by level, on the stack.)
 *
 * The thread that owns it polls lsh_informant_poll() and calls lsh_informant_step(). One thread at a time. */
#ifndef LSH_REDIS_INFORMANT_H
#define LSH_REDIS_INFORMANT_H

#include "redis/command.h"
#include "redis/handshake.h"
#include "redis/reply.h"
#include "redis/uri.h"
#include "redis/whereabouts.h"

#include <leash/status.h>

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_informant;
struct redisReply;

struct lsh_informant_options {
	const char *name;       /* for CLIENT SETNAME; must outlive it */
	int64_t timeout;        /* ns, to connect, and from lsh_informant_ask() to the last reply */
	enum lsh_want want;
	bool unasked;           /* what it says unasked is a reply, too; else it is LEASH_PROTOCOL */
	size_t bytes, elements; /* of one reply, at most */
};

/* `uri` must outlive it. NULL: no memory. */
struct lsh_informant *lsh_informant_new(const struct lsh_uri *uri, const struct lsh_informant_options *options);
void lsh_informant_free(struct lsh_informant *informant); /* NULL is allowed */

/* Connect, anew if it is connected. What was sent before is forgotten. */
void lsh_informant_connect(struct lsh_informant *informant);
void lsh_informant_stop(struct lsh_informant *informant); /* it is down, for no reason */
bool lsh_informant_is_down(const struct lsh_informant *informant);

/* Append a command, to be sent by the next steps. False: no memory; it is down then. */
bool lsh_informant_send(struct lsh_informant *informant, const struct lsh_arg *args, size_t count);

/* The timeout begins now, or, if it is not connected yet, when it is. With the reply to the last command it ends. */
void lsh_informant_ask(struct lsh_informant *informant);

/* What to poll for, and until when at most: writes up to one place, returns how many, and lowers `*until`. */
nfds_t lsh_informant_poll(const struct lsh_informant *informant, struct pollfd *polled, int64_t *until);

/* GO_ON: it is up; DONE: here is the next reply, until the next step, and there may be more; FAILED: it is down. */
enum lsh_progress lsh_informant_step(struct lsh_informant *informant);

/* Why it is down, with a text that names it: as of lsh_connector_step(), UNAVAILABLE, PROTOCOL or NO_MEMORY. */
const leash_error *lsh_informant_trouble(const struct lsh_informant *informant);

const struct lsh_hello *lsh_informant_hello(const struct lsh_informant *informant); /* its stream stays */

/* The last reply. The second is for whoever keeps it. NULL: there is none (any more). */
const struct redisReply *lsh_informant_reply(const struct lsh_informant *informant);
struct redisReply *lsh_informant_take(struct lsh_informant *informant);

/* ---- talks: questions whose answers are long or slow, on a connection of their own: no renewal waits behind ----
 *
 * The thread blocks: it sends commands, one or several at a time, and waits for each answer. After a failure a talk can
 * only be freed. */

enum {
	LSH_TALK_MOST = 4 << 20,     /* bytes of one answer, */
	LSH_TALK_ELEMENTS = 1 << 16, /* elements of all arrays in it */
};

/* Connect and say hello, all within `timeout` (ns), which is also the time for each answer. `uri` and `name` must
 * outlive it. Statuses as of lsh_connector_step(); `*out` is NULL if it fails. */
leash_status lsh_talk_open(struct lsh_informant **out, const struct lsh_uri *uri, enum lsh_want want, const char *name,
                           int64_t timeout, leash_error *err);

/* The next answer, as hiredis builds it; it is the informant's until the next call. Of an error the server's words are
 * in it. UNAVAILABLE, PROTOCOL or NO_MEMORY; also if a command could not be sent. */
leash_status lsh_talk_hear(struct lsh_informant *informant, const struct redisReply **answer, leash_error *err);

/* ---- replies, for layers that know nothing of hiredis ---- */

void lsh_answer_free(struct redisReply *answer); /* one that was taken; NULL is allowed */

/* What is not there is a nil. */
struct lsh_item lsh_answer_item(const struct redisReply *answer);
size_t lsh_answer_count(const struct redisReply *answer);
const struct redisReply *lsh_answer_at(const struct redisReply *answer, size_t i);

/* Of several who failed, whose reason tells a person most: the larger. */
int lsh_trouble_weight(const leash_error *trouble);

#endif
