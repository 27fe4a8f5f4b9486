/* The servers of a deployment: what a sentinel set, a cluster, a quorum and a single server have in common.
 *
 * A node has a port of its own and one that others are told, which is its door's if a proxy stands before it. What it connects to for
 * replication it comes to from an address of its own (127.0.1.x), so that a door can tell it from clients. It is looked at over
 * short connections to its unix socket, so one that is dead, paused or paused meanwhile costs a second and no more. */
#pragma once

#include "tests/support/proxy.h"
#include "tests/support/server.h"

struct node {
	struct server *server;
	struct proxy *door;     /* NULL: none */
	int port, told;
	char address[24];       /* it comes from, if there are doors */
	const char *password;   /* NULL: none */
	bool tls;
	enum certs_of certs;    /* its own, with TLS */
};

/* What a deployment may be told to be. All false: as each kind is described. */
struct nodes_options {
	const char *password;          /* of those that keep data; NULL: none */
	bool tls;                      /* everywhere, also between the servers and on a cluster's bus */
	enum certs_of first;           /* with TLS: the certificate of server 0, by CERTS_AUTHORITY as the others want; 0: as all */
	bool doors;                    /* a proxy stands before each that keeps data, and its port is what everybody is told */
	const char *const *args;       /* further ones for each that keeps data; ended by NULL */
	const char *sentinel_password; /* of sentinels; NULL: none */
	int count;                     /* of a quorum's servers; 0: 5 */
	bool no_replicas;              /* a cluster is three masters alone: cheaper */
	bool fails_over;               /* a master that is silent for a second or two is replaced; else only after 10 s, in a cluster
	                                  30, so that a master that merely got no processor time is not replaced */
};

enum { NODES_MOST = 9 };

/* A struct sentinel_set, cluster or quorum begins with it. */
struct nodes {
	struct sweep_item item;
	struct nodes_options options;
	int count;
	struct node node[NODES_MOST];
	char *uri, *guarded, *folder; /* to be freed; NULL: none */
};

/* Of that size, with ports, doors and certificates for that many servers; none is started. NULL: no options. */
void *nodes_new(size_t size, const struct nodes_options *options, int count);
/* Its ports, and its door if it is to have one. With TLS its certificate is CERTS_SERVER until that is set. */
void node_prepare(struct node *node, int number, bool door, bool tls, const char *password);
/* What all nodes are told about ports, passwords, TLS, the address. */
void node_words(const struct node *node, struct words *words);
/* Start it with these, and what was said for all; the words are freed. */
void nodes_start(struct nodes *nodes, int i, struct words *words);
/* All are started, and this is the URI, to be freed: from now on they are stopped at exit. */
void nodes_add(struct nodes *nodes, char *uri);
void nodes_stop(void *nodes); /* the last first. NULL is allowed */

bool node_runs(const struct node *node);   /* it is neither dead nor paused */

/* What it answers, to be freed; NULL: it does not, or not in time, or says an error that is not asked for. */
redisReply *node_ask(const struct node *node, const char *format, ...);
/* A field of INFO, CLUSTER INFO: "role". */
bool node_says(const struct node *node, const char *command, const char *field, const char *expected);
int64_t node_number(const struct node *node, const char *command, const char *field);   /* -1: none */
int nodes_told_at(const struct nodes *nodes, int64_t port); /* the first node that others are told there; -1: none */
bool node_is_master(const struct node *node); /* it says so; false if it does not run */

/* Keys that match, over all masters that run; `lasting`: those without TTL alone. */
int64_t nodes_keys(const struct nodes *nodes, const char *pattern, bool lasting);

/* Does it follow the server that others are told to find at `told`, and has all up to `offset` of that one's log? */
bool node_has_all_of(const struct node *node, int told, int64_t offset);

/* How many replicas it sends its log to. One that has just got all data counts when it has said so, up to a second after it says itself
 * that it is up: until then it gets nothing. */
int64_t node_replicas(const struct node *node);

/* Nothing that a server writes from now on arrives at the replica, nor what the replica says at the server, until all is let go. It is the
 * connection there is that is held: one that a replica makes anew gets through. `nodes` are of a deployment with doors. */
void nodes_hold_link(const struct node *nodes, int server, int replica);
void nodes_let_links_go(const struct node *nodes, int count);

/* "redis+<kind>://" with s for TLS, the password, all of their ports, "/name" or "", and parameters: what TLS needs, and `more` or "". */
char *nodes_uri(const struct node *nodes, int count, const char *kind, const char *password, const char *path, const char *more);
