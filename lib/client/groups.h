/* Groups of handles, whose times are measured together. Only this folder includes it. */
#ifndef LSH_CLIENT_GROUPS_H
#define LSH_CLIENT_GROUPS_H

#include "client/client.h"

/* It stays as long as its client. */
struct lsh_group {
	struct lsh_group *next;
	struct lsh_times times;
	char name[65];
};

/* The group of this name, made if there is none. NULL: no memory (errno ENOMEM), or there are too many (ENOSPC). */
struct lsh_group *lsh_group_open(leash_client *client, const char *name);
struct lsh_group *lsh_group_find(leash_client *client, const char *name); /* or NULL */
void lsh_groups_free(leash_client *client);

#endif
