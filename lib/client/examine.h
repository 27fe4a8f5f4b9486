/* An examination of a server: what it is asked by, what it has brought to light so far, and how that is told. One thread.
 *
 *   rounds.c     which servers of a deployment there are to be examined
 *   examine.c    connects, lets the others look, looks at clock and speed
 *   sentinels.c  the sentinels that name the server
 *   vitals.c     what the server says of itself (INFO, CONFIG)
 *   rights.c     what it permits: each command tried by itself, so that nothing is written
 *   trial.c      a lock from its ask to its release, by the scripts that all clients use */
#ifndef LSH_CLIENT_EXAMINE_H
#define LSH_CLIENT_EXAMINE_H

#include "base/token.h"
#include "client/rounds.h"
#include "redis/hello.h"
#include "redis/talk.h"
#include "redis/uri.h"

#include <leash/examine.h>

#include <stdbool.h>
#include <stdint.h>

/* What keeps a server from doing what it permits. */
enum lsh_hindrance {
	LSH_FULL = 1,           /* OOM */
	LSH_READ_ONLY = 2,      /* READONLY */
	LSH_CANNOT_SAVE = 4,    /* MISCONF */
	LSH_FEW_REPLICAS = 8,   /* NOREPLICAS */
	LSH_LOADING = 16,
	LSH_BUSY = 32,
	LSH_MASTER_DOWN = 64,
	LSH_CLUSTERED = 128,    /* MOVED, CLUSTERDOWN, ... */
};

enum {
	LSH_USER_SIZE = 65,
	LSH_CONFIG_SIZE = 96,
	LSH_SCRATCH_KEY = 160, /* holds each of the keys and the channel */
	LSH_PROBES = 48,
};

enum lsh_config {
	LSH_CONFIG_APPENDFSYNC,
	LSH_CONFIG_SAVE,
	LSH_CONFIG_STOP_WRITES,
	LSH_CONFIG_MIN_REPLICAS,
	LSH_CONFIG_MAXCLIENTS,
	LSH_CONFIG_TIMEOUT,
	LSH_CONFIGS,
};

struct lsh_examination {
	leash_finding_fn tell;
	void *arg;
	const struct lsh_stop *stop; /* the server, and */
	const struct lsh_uri *uri;   /* where it is */
	char prefix[65];
	char name[80];               /* for CLIENT SETNAME */
	int64_t timeout_ms;
	char remedy[1024];           /* of the next finding; "": none */

	struct lsh_talk *talk;
	struct lsh_hello hello;
	leash_status status;         /* once it is not OK, the talk is over: nothing is said or heard any more */
	leash_error err;             /* likewise */

	char *info;                  /* what INFO said; "" if nothing */
	char config[LSH_CONFIGS][LSH_CONFIG_SIZE];
	bool config_known[LSH_CONFIGS];
	char user[LSH_USER_SIZE];    /* "" if it is not known, or not fit to be part of a command */
	const char *conf_file;       /* "redis.conf" or "valkey.conf" */
	unsigned hindrances;         /* of enum lsh_hindrance */

	char uuid[LSH_UUID_SIZE + 1];       /* of a client that is none */
	struct lsh_talk *ear;               /* a second connection, which hears what is published to that; NULL: it cannot */
	unsigned char verdicts[LSH_PROBES]; /* see rights.c */
	char keys[3][LSH_SCRATCH_KEY];      /* lock, fence, queue */
	char party[LSH_SCRATCH_KEY];        /* where such a client would say who it is */
	char channel[LSH_SCRATCH_KEY];
	char shard[LSH_SCRATCH_KEY + 48];   /* a channel in the slot of those keys, */
	char other[LSH_SCRATCH_KEY + 56];   /* and another */
};

/* ---- telling ---- */

/* What mends that which the next lsh_find() tells. */
void lsh_remedy(struct lsh_examination *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lsh_find(struct lsh_examination *x, leash_finding_level level, const char *topic, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

bool lsh_repeats_password(const struct lsh_examination *x, const char *text, size_t n);

/* Bytes of the server, fit to be shown; without a password that it may have read back to us. Returns `out`. */
const char *lsh_words(const struct lsh_examination *x, char *out, size_t size, const char *text, size_t n);

/* ---- asking ---- */

/* Say a command, its words ended by NULL. */
void lsh_say(struct lsh_examination *x, ...) __attribute__((sentinel));

/* The next answer; NULL: the talk is over, x->status says why. */
const struct redisReply *lsh_hear(struct lsh_examination *x);
struct lsh_item lsh_hear_item(struct lsh_examination *x); /* a nil where there is none */

/* Note what an error says that hinders; false: it is no such error. */
bool lsh_note_hindrance(struct lsh_examination *x, const struct lsh_item *answer);

/* ---- looking ---- */

/* Each sentinel that the URI of the deployment names, for whoever has leases of `lease_ms`. Of `x` are wanted: tell, arg, name, timeout_ms.
 * LEASH_OK, or LEASH_NO_MEMORY in x->err. */
leash_status lsh_sentinels_look(struct lsh_examination *x, const struct lsh_uri *deployment, int64_t lease_ms);

/* If that is fit to be part of a command; else x->user becomes "". */
void lsh_vitals_take_user(struct lsh_examination *x, const char *user);
void lsh_vitals_look(struct lsh_examination *x);
bool lsh_vitals_has_replicas(const struct lsh_examination *x);
void lsh_vitals_tell(struct lsh_examination *x);

void lsh_rights_try(struct lsh_examination *x);           /* also opens x->ear, where there is a queue */
bool lsh_rights_sharded(const struct lsh_examination *x); /* does a client wait on x->shard? */
bool lsh_rights_suffice(const struct lsh_examination *x); /* for locks */
/* `tried`: a lock was tried, and worked. */
void lsh_rights_tell(struct lsh_examination *x, bool tried);
void lsh_rights_remedy_all(struct lsh_examination *x);    /* the ACL line for all that leash needs, whatever is permitted already */

enum lsh_tried { LSH_NOT_TRIED, LSH_LOCK_WORKS, LSH_LOCK_FAILS };

/* Lock, wait, renew, hand over, release. What fails is told. */
enum lsh_tried lsh_trial(struct lsh_examination *x);

#endif
