/* What the loop examples do: a thousand owners acquire fifty names, all at once, and each has its lock for a while.
 *
 * The program that includes it has the loop, and calls crowd_work() by a timer. */
#ifndef LEASH_EXAMPLES_CROWD_H
#define LEASH_EXAMPLES_CROWD_H

#include <leash.h>

#include <stdio.h>

enum { CROWD = 1000, CROWD_NAMES = 50 };

struct member {
	struct member *next; /* the next one that is at work */
	int name;
	leash_owner *owner;
	leash_lock *lock;
};

static struct {
	struct member member[CROWD], *at_work;
	int in_use[CROWD_NAMES]; /* by how many at this moment */
	int under_way, most, acquired, released, together, failed, over;
	void (*end)(void);       /* called when all are over */
} crowd;

static void
crowd_leave(struct member *member, leash_status status, const leash_error *err)
{
	if (status != LEASH_OK) {
		fprintf(stderr, "%s\n", err->text);
		crowd.failed++;
	}
	leash_lock_free(member->lock);
	leash_owner_free(member->owner);
	if (++crowd.over == CROWD)
		crowd.end();
}

static void
crowd_released(void *arg, leash_status status, const leash_error *err)
{
	crowd.under_way--;
	crowd.released += status == LEASH_OK;
	crowd_leave(arg, status, err);
}

static void
crowd_acquired(void *arg, leash_status status, const leash_error *err)
{
	struct member *member = arg;

	crowd.under_way--;
	if (status != LEASH_OK) {
		crowd_leave(member, status, err);
		return;
	}
	crowd.acquired++;
	crowd.together += crowd.in_use[member->name]++ > 0;
	member->next = crowd.at_work;
	crowd.at_work = member;
}

static void
crowd_started(struct member *member, leash_status status, const leash_error *err)
{
	if (status != LEASH_OK)
		crowd_leave(member, status, err);
	else if (++crowd.under_way > crowd.most)
		crowd.most = crowd.under_way;
}

/* All members that are at work have finished. */
static void
crowd_work(void)
{
	struct member *member;
	leash_error err;

	while ((member = crowd.at_work) != NULL) {
		crowd.at_work = member->next;
		crowd.in_use[member->name]--;
		crowd_started(member, leash_lock_release_start(member->lock, crowd_released, member, NULL, &err), &err);
	}
}

static leash_status
crowd_enter(struct member *member, leash_client *client, leash_error *err)
{
	char name[40];
	leash_status status = leash_owner_new(&member->owner, err);

	snprintf(name, sizeof name, "crowd:%d", member->name);
	if (status == LEASH_OK)
		status = leash_lock_new(&member->lock, client, name, LEASH_LOCK_OPTIONS(.owner = member->owner), err);
	if (status == LEASH_OK)
		status = leash_lock_acquire_start(member->lock, LEASH_ACQUIRE(.wait_ms = 60000), crowd_acquired, member, NULL,
		                                  err);
	return status;
}

static void
crowd_begin(leash_client *client, void (*end)(void))
{
	leash_error err;

	crowd.end = end;
	for (int i = 0; i < CROWD; i++) {
		crowd.member[i].name = i % CROWD_NAMES;
		crowd_started(&crowd.member[i], crowd_enter(&crowd.member[i], client, &err), &err);
	}
}

/* Print the result; returns the status of the program. */
static int
crowd_tell(void)
{
	printf("%d under way at once, %d overlaps\n", crowd.most, crowd.together);
	printf("%d acquired, %d released\n", crowd.acquired, crowd.released);
	return crowd.failed > 0 || crowd.together > 0 || crowd.released < CROWD;
}

#endif
