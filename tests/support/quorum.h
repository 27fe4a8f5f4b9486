/* Servers that know nothing of each other, for Redlock: five, or as many as are asked for.
 *
 * They are killed, paused and restarted as any server: server_kill(quorum_server(q, i)). With `doors` a proxy stands before each. */
#ifndef LEASH_TEST_QUORUM_H
#define LEASH_TEST_QUORUM_H

#include "tests/support/certs.h"
#include "tests/support/server.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct quorum;

struct quorum_options {
	int count;                /* of servers, up to QUORUM_MOST; 0: 5 */
	const char *password;     /* of each; NULL: none */
	bool tls;
	enum certs_of first;      /* with TLS: the certificate of server 0; 0: as all */
	bool doors;
	const char *const *args;  /* further ones for each; ended by NULL */
};

enum { QUORUM_MOST = 9 };

struct quorum *quorum_start(const struct quorum_options *options);   /* NULL: none of them */
void quorum_stop(struct quorum *quorum);                             /* NULL is allowed */

int quorum_count(const struct quorum *quorum);
const char *quorum_uri(const struct quorum *quorum);                 /* "redis+quorum://...", all of them */
/* The same with restart_guard=... */
const char *quorum_uri_guarded(struct quorum *quorum, int64_t restart_guard_ms);

/* Wait until each that runs says that it has been up for longer. */
void quorum_await_uptime(struct quorum *quorum, int64_t ms);

/* See node.h. */
const struct node *quorum_nodes(const struct quorum *quorum);
struct server *quorum_server(const struct quorum *quorum, int i);
bool quorum_runs(const struct quorum *quorum, int i);                /* it is neither dead nor paused */

/* Those that run: how many have the key; keys that match, counted at each. */
int quorum_having(struct quorum *quorum, const char *key);
int64_t quorum_keys(const struct quorum *quorum, const char *pattern, bool lasting);   /* lasting: without a TTL alone */

#endif
