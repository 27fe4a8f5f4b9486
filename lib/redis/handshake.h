/* Handshake: the commands that are said on a new connection, all at once, and the hello: what the server answers.
 *
 * It is begun anew on each connection, which stays the owner's: that polls it, and calls lsh_handshake_step() when it
 * is ready or the time is over. Texts do not name the server. One thread at a time. */
#ifndef LSH_REDIS_HANDSHAKE_H
#define LSH_REDIS_HANDSHAKE_H

#include "redis/buffer.h"
#include "redis/stream.h"
#include "redis/uri.h"

#define LSH_NO_EVICTION "noeviction"

enum {
	LSH_RUN_ID_SIZE = 41,
	LSH_POLICY_SIZE = 32,
};

/* What a server has to be. */
enum lsh_want {
	LSH_WANT_SERVER,   /* any that takes our commands */
	LSH_WANT_MASTER,   /* likewise, and no replica */
	LSH_WANT_SENTINEL,
};

struct lsh_hello {
	struct lsh_stream stream;          /* connected; the receiver owns it */
	char run_id[LSH_RUN_ID_SIZE];  /* of this life of the server; "" if INFO is not permitted */
	unsigned version;              /* 0xMMmmpp; 0 if INFO is not permitted */
	int64_t uptime_ms;             /* at least so long up when `received_ns`; -1 if INFO is not permitted */
	bool cluster;                  /* runs in cluster mode */
	bool sentinel;                 /* is a sentinel */
	bool replica;                  /* is one (not of a subscription; nor if INFO is not permitted, or does not tell) */
	bool alone;                    /* a master without replicas that never was one: nobody is to take its place */
	char eviction[LSH_POLICY_SIZE]; /* maxmemory-policy; LSH_NO_EVICTION also without a maxmemory; "": unknown */
	int64_t server_us;             /* TIME (not of a subscription: 0) */
	int64_t received_ns;           /* when the last answer arrived, by lsh_now_ns() */
};

struct lsh_handshake {
	/* the owner's, as for lsh_connector_new() */
	enum lsh_want want;
	const char *name, *channel;

	/* from begin to end */
	const struct lsh_uri *uri;
	unsigned due;            /* a bit of each step that was not answered yet */
	bool heard;              /* anything at all */
	int64_t deadline;
	char *read;              /* the password that was in a file, by sodium_malloc; NULL: the URI's */
	struct lsh_buffer words; /* the commands, likewise, until they are sent */
	struct lsh_hello hello;  /* as far as it is known */
	struct lsh_reader *reader;
	char bytes[4096];
};

/* Begin on `stream`, which is connected and non-blocking, with the server at `uri`, which outlives it; the answers must
 * come by `deadline`. Reads the password, if that is in a file: UNAVAILABLE if it is of no use now; NO_MEMORY. */
leash_status lsh_handshake_begin(struct lsh_handshake *handshake, const struct lsh_uri *uri, struct lsh_stream stream,
                                 int64_t deadline, leash_error *err);

/* What to poll the connection for. */
short lsh_handshake_events(const struct lsh_handshake *handshake);

/* Go on as far as possible. DONE: the hello is there, and what comes behind the answers is still in the stream; FAILED
 * fills in `*err`, with a text that names the step. */
enum lsh_progress lsh_handshake_step(struct lsh_handshake *handshake, leash_error *err);

/* Forget the password, and give back what answers were read with, however far it got. */
void lsh_handshake_end(struct lsh_handshake *handshake);

/* The value of `field` in what INFO said, and its size: it ends with its line, not with a NUL. NULL: it is missing. */
const char *lsh_info_find(const char *info, const char *field, size_t *size);

#endif
