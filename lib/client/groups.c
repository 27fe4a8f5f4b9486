#include "client/groups.h"

#include "base/memory.h"

#include <leash/metrics.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In a list that only grows, at its head. NULL, and how long the list is. */
static struct lsh_group *
find(struct lsh_group *first, const char *name, unsigned *count)
{
	struct lsh_group *group = first;

	for (*count = 0; group != NULL && strcmp(group->name, name) != 0; group = group->next)
		++*count;
	return group;
}

struct lsh_group *
lsh_group_find(leash_client *client, const char *name)
{
	unsigned count;

	return find(atomic_load(&client->groups), name, &count);
}

struct lsh_group *
lsh_group_open(leash_client *client, const char *name)
{
	struct lsh_group *first = atomic_load(&client->groups), *found, *made = NULL;
	unsigned count;

	while ((found = find(first, name, &count)) == NULL) {
		if (made == NULL && count < LEASH_GROUPS_MAX && (made = lsh_new(struct lsh_group)) != NULL)
			snprintf(made->name, sizeof made->name, "%s", name);
		if (made == NULL || count >= LEASH_GROUPS_MAX) {
			errno = count < LEASH_GROUPS_MAX ? ENOMEM : ENOSPC;
			break;
		}
		made->next = first;
		if (atomic_compare_exchange_weak(&client->groups, &first, made))
			return made;
	}
	lsh_free(made); /* another thread has made it */
	return found;
}

void
lsh_groups_free(leash_client *client)
{
	struct lsh_group *group = atomic_load(&client->groups), *next;

	for (; group != NULL; group = next) {
		next = group->next;
		lsh_free(group);
	}
}
