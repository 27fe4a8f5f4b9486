/* What a command holds of a name: a mutex, a read-write lock, or permits of a semaphore. */
#ifndef LEASH_TOOLS_HOLDING_H
#define LEASH_TOOLS_HOLDING_H

#include "tools/hold.h"

enum { HOLDING_SHOWN_SIZE = HOLD_NAME_SIZE + 60, HOLDING_WHO_SIZE = HOLDING_SHOWN_SIZE + HOLD_HOLDER_SIZE + 40 };

struct holding_kind;
struct nesting;

struct holding {
	const struct holding_kind *kind; /* set by holding_begin() */
	const struct cli *cli;
	const char *name;
	struct hold_need need;
	char shown[HOLDING_SHOWN_SIZE];  /* what messages call it: "lock 'job'", "semaphore 'gpu' (1 of 3 permits)" */
	leash_client *client;

	leash_lock *lock;           /* of permits NULL, */
	leash_semaphore *semaphore; /* which have this */
	leash_permit *permit; /* while it is held */

	/* Set by acquire and adopt, or for what a run around this one holds. */
	struct nesting *outer;      /* NULL: it is our own */
	uint64_t fence; /* 0: it has none */
	char token[LEASH_TOKEN_MAX];
};

/* What the runs around this one have of the name. */
struct holding_outer {
	char token[LEASH_TOKEN_MAX]; /* of the hold that we may enter; "": there is none */
	uint64_t fence;
	int64_t remaining_ms;
	char never[80];              /* why a hold of our own would wait for ourselves for ever; "": it would not */
};

#define HOLDING_NEVER "%s: the wait would never end: %s" /* `shown`, and that */

/* Talks to nobody; `name` is not copied. */
void holding_begin(struct holding *holding, const struct cli *cli, const char *name, const struct hold_need *need);

/* Make its handle of a client, which must outlive the hold; `client` may be closed before holding_end(). */
leash_status holding_open(struct holding *holding, leash_client *client, const leash_lock_options *options,
                          leash_error *err);

/* As the functions of the library of these names. */
leash_status holding_acquire(struct holding *holding, const leash_acquire *how, leash_error *err);
leash_status holding_extend(struct holding *holding, int64_t lease_ms, leash_error *err);
leash_status holding_release(struct holding *holding, leash_error *err);
int64_t holding_remaining_ms(const struct holding *holding);

/* It is held now, by leash_multi: set what acquire sets. */
void holding_note(struct holding *holding);

/* Does a run around this one have it? */
leash_status holding_look(const struct holding *holding, struct holding_outer *outer, leash_error *err);

/* Why we cannot have it, in words, into `out` of HOLDING_WHO_SIZE. False: by now we could, or have it, or nobody
 * answers. `whose`, of LEASH_TOKEN_MAX, changes when there is something new to say. */
bool holding_who(const struct holding *holding, char *out, char *whose);

/* Its place in the queue, from 1; 0: not known. */
uint64_t holding_place(const struct holding *holding);

/* Where a call failed because the name is in use as another kind: say in `err` which option fits. Asks the server. */
void holding_explain(const struct holding *holding, leash_error *err);

/* What leash renew and leash release are told. */
struct holding_request {
	struct cli cli;
	struct hold_need need;
	struct hold_replicas replicas;
	int64_t ttl_ms;
};

/* Read the command line, open a client, and take over the hold that the token there names, for at least `ttl_ms` from
 * now. CLI_GO_ON, or what to exit with; then it has been told. The client, or NULL, is in `holding` all the same. */
int holding_take_over(struct holding *holding, struct holding_request *request, const struct command *command, int argc,
                      char **argv);

/* {"name","token","fence","slots","take"} and `ms` as `key`; "slots" and "take" of permits only. */
json_t *holding_json(const struct holding *holding, const char *key, int64_t ms);

/* ", fence 7", or nothing. Returns `out`. */
enum { HOLDING_FENCE_SIZE = 32 };
char *holding_fence(char out[static HOLDING_FENCE_SIZE], const struct holding *holding);

void holding_end(struct holding *holding); /* one that was not begun is allowed */

#endif
