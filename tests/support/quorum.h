/* Servers that know nothing of each other, for Redlock: five, or as many as are asked for.
 *
 * They are killed, paused and restarted as any server: server_kill(quorum_server(q, i)). */
#pragma once

#include "tests/support/node.h"

enum { QUORUM_MOST = NODES_MOST };

struct quorum {
	struct nodes all;
};

struct quorum *quorum_start(const struct nodes_options *options);   /* NULL: none of them */
#define quorum_stop(quorum) nodes_stop(quorum)                      /* NULL is allowed */

#define quorum_count(quorum) ((quorum)->all.count)
#define quorum_uri(quorum) ((const char *)(quorum)->all.uri)        /* "redis+quorum://...", all of them */
const char *quorum_uri_guarded(struct quorum *quorum, int64_t restart_guard_ms); /* the same with restart_guard=... */

/* Wait until each that runs says that it has been up for longer. */
void quorum_await_uptime(struct quorum *quorum, int64_t ms);

#define quorum_nodes(quorum) ((quorum)->all.node)
#define quorum_server(quorum, i) ((quorum)->all.node[i].server)
#define quorum_runs(quorum, i) node_runs(&(quorum)->all.node[i])    /* it is neither dead nor paused */

/* Keys that match, counted at each that runs. */
#define quorum_keys(quorum, pattern, lasting) nodes_keys(&(quorum)->all, (pattern), (lasting))
