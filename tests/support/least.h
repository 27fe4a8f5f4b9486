/* The user with no more rights than it needs, as docs/deployments.md tells an administrator to make it: the rules are read from
 * there, so that what is tested is what is written.
 *
 * Nothing of this may be called by two threads at once. */
#pragma once

#include "tests/support/deployment.h"

#define LEAST_USER "locks"

/* Arguments of a server that is to know the user again after a restart. */
#define LEAST_FILE "--aclfile", "users"

enum { LEAST_RULES = 64, LEAST_RULE_SIZE = 48 };

struct least {
	char rule[LEAST_RULES][LEAST_RULE_SIZE]; /* "on", "+get", "~leash:*"; without the password */
	int count;
};

bool least_is_wanted(void); /* is LEASH_TEST_USER=least? */

/* The rules of all blocks below "### `heading`": "One server", "Sentinel" (on sentinels), "Cluster" (further ones), "Quorum", "min_replicas". */
void least_read(struct least *least, const char *heading);
/* Those of a server of the deployment that keeps data, all together. */
void least_of(struct least *least, enum deployment_kind kind);

/* Does the server know such a rule? Some have no +waitaof, and so on: an administrator leaves that out. */
bool least_is_known(struct server *server, const char *rule);

/* Make the user on each server, sentinels too, or make it anew; without one rule, or NULL, and those that it does not know. */
void least_admit(struct deployment *deployment, const char *without);

/* The deployment's URI for that user, to be freed. A sentinel's password is put into the environment. */
char *least_uri(struct deployment *deployment);

/* What the user was denied, on any server, since this was asked last (ACL LOG): "ping hset", or "". It lasts until the next call. */
const char *least_denied(struct deployment *deployment);
