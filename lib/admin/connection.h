/* An admin connection: many questions to the server in a row, whose answers nobody has to wait for but the thread that asks. It has a connection of
 * its own (a talk), belongs to one thread, and holds no mutex. It ends when the client is closed: who closes waits for the answer that is
 * awaited at that moment, and not for what is done with it; the engine must live until the admin is over.
 *
 * After a failure an admin is of no more use. */
#ifndef LSH_ADMIN_CONNECTION_H
#define LSH_ADMIN_CONNECTION_H

#include "admin/lock_line.h"
#include "core/engine.h"
#include "redis/talk.h"

#include <stdint.h>

enum {
	LSH_ADMIN_WINDOW = 64, /* questions asked at once: the server answers them in one go, and all others wait for so long */
	LSH_ACQUAINTANCES = 64,
};

struct lsh_engine;
struct lsh_host;

struct lsh_admin {
	struct lsh_engine *engine;
	struct lsh_backend *backend;
	struct lsh_host *host;     /* in use */
	const struct lsh_uri *uri; /* of the server that is asked */
	struct lsh_uri moved;      /* that, where a host is not always the same server (lsh_node_where()) */
	struct lsh_talk *talk;
	const char *lock;        /* what it is about, for messages; or NULL */
	/* Clients that were asked about before, by chance of their UUIDs; an empty token: none. So the locks of one client are one question. */
	leash_party known[LSH_ACQUAINTANCES];
};

/* Connect to the server of this host. `admin` is zeroed memory, or was closed (then it still knows whom it has asked about), and to be
 * closed in any case; `lock`, which may be NULL, must outlive it. */
leash_status lsh_admin_open(struct lsh_admin *admin, struct lsh_engine *engine, struct lsh_host *host, const char *lock, leash_error *err);
void lsh_admin_close(struct lsh_admin *admin);

leash_status lsh_admin_say(struct lsh_admin *admin, const struct lsh_arg *args, size_t count, leash_error *err);
leash_status lsh_admin_hear(struct lsh_admin *admin, const struct redisReply **answer, leash_error *err);

/* The server refused a command, or a script if that is not NULL; `words` are its own. Says so, and returns the status for it. */
leash_status lsh_admin_refused(const struct lsh_admin *admin, const char *command, const struct lsh_script *script, const char *words,
                                 leash_error *err);

/* The answer to a command is none that a server gives: LEASH_PROTOCOL. */
leash_status lsh_admin_nonsense(const struct lsh_admin *admin, const char *command, leash_error *err);

/* Fill in all but the token of up to LSH_ADMIN_WINDOW parties whose tokens are there, as far as the server knows; in a cluster as far as
 * those know where their slots are, which are asked over the engine's own connections. */
leash_status lsh_admin_who(struct lsh_admin *admin, leash_party *const *parties, size_t count, leash_error *err);

#endif
