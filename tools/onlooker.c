/* Threads that look at a lock which somebody else has. See onlooker.h.
 *
 * The onlooker is for a run inside of a run of the same lock, which works under the outer one's hold. When that one loses the lock it ends
 * all that descends from it, and so us. But when it is killed itself (-9), nobody does. So the inner one has a thread that asks the
 * server again and again how long the hold still lasts, and goes by that as by a lease of its own: CMD is dead before its end.
 *
 * Both ask through a connection that has other things to do: seldom. */
#include "tools/onlooker.h"

#include "tools/aside.h"
#include "tools/herald.h"
#include "tools/hold.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

/* ---- the onlooker ---- */

struct onlooker {
	struct aside aside;
	struct herald *herald;
	leash_lock *lock;
	char token[LEASH_TOKEN_MAX];
	uint64_t fence;
	_Atomic int64_t valid_until; /* CLOCK_BOOTTIME; 0: it has gone */
	int lost_fd;
};

int64_t
onlooker_remaining_ms(const struct onlooker *onlooker)
{
	int64_t left = atomic_load(&onlooker->valid_until) - aside_now_ns();

	return left > 0 ? left / MS : 0;
}

/* It counts from before the question, less what the two clocks may differ by, as leash counts its own. */
static void
note(struct onlooker *o, const leash_lock_info *info, int64_t asked_ns)
{
	if (info->held && info->remaining_ms > 2 && strcmp(info->holder.token, o->token) == 0) {
		atomic_store(&o->valid_until, asked_ns + (info->remaining_ms - 2) * (MS - MS / 100));
		return;
	}
	atomic_store(&o->valid_until, 0);
	herald_report(o->herald, "error", &(leash_event){.type = LEASH_EVENT_LOST, .fence = o->fence}, "the run around this one has lost the lock");
	aside_ring(o->lost_fd);
}

static void *
look_on(void *arg)
{
	struct onlooker *o = arg;

	while (atomic_load(&o->valid_until) != 0) {
		int64_t pause_ms = onlooker_remaining_ms(o) / 6, asked_ns;
		leash_lock_info info = {.size = sizeof info};

		if (!aside_sleep(&o->aside, pause_ms > 5000 ? 5000 : pause_ms < 100 ? 100 : pause_ms))
			break;
		asked_ns = aside_now_ns();
		if (leash_lock_inspect(o->lock, &info, NULL) == LEASH_OK)
			note(o, &info, asked_ns);
	}
	return NULL;
}

struct onlooker *
onlooker_new(struct herald *herald, leash_lock *lock, const leash_lock_info *info, int64_t asked_ns, int lost_fd)
{
	struct onlooker *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	o->herald = herald;
	o->lock = lock;
	o->lost_fd = lost_fd;
	snprintf(o->token, sizeof o->token, "%s", info->holder.token);
	o->fence = info->fence;
	note(o, info, asked_ns);
	if (aside_begin(&o->aside, look_on, o))
		return o;
	free(o);
	return NULL;
}

void
onlooker_end(struct onlooker *onlooker)
{
	if (onlooker == NULL)
		return;
	aside_end(&onlooker->aside);
	free(onlooker);
}

/* ---- the teller ---- */

enum { FIRST_MS = 300, AGAIN_MS = 3000, REMIND_MS = 30000 };

struct teller {
	struct aside aside;
	struct herald *herald;
	leash_client *client;
	leash_lock *lock;
	_Atomic bool hushed;
};

static void
tell(const struct teller *t, const leash_lock_info *info)
{
	char name[HOLD_NAME_SIZE], holder[HOLD_HOLDER_SIZE];

	if (!atomic_load(&t->hushed) && info->held)
		herald_tell(t->herald, "lock '%s' is held by %s", cli_show(name, sizeof name, info->name), hold_holder(holder, t->client, info));
}

static void *
keep_telling(void *arg)
{
	struct teller *t = arg;
	char last[LEASH_TOKEN_MAX] = "";
	int64_t told_ns = 0;

	for (int64_t pause_ms = FIRST_MS; aside_sleep(&t->aside, pause_ms) && !atomic_load(&t->hushed); pause_ms = AGAIN_MS) {
		leash_lock_info info = {.size = sizeof info};

		if (leash_lock_inspect(t->lock, &info, NULL) != LEASH_OK)
			continue;
		if (strcmp(last, info.holder.token) == 0 && aside_now_ns() - told_ns < REMIND_MS * MS)
			continue;
		snprintf(last, sizeof last, "%s", info.holder.token);
		told_ns = aside_now_ns();
		tell(t, &info);
	}
	return NULL;
}

struct teller *
teller_new(struct herald *herald, leash_client *client, leash_lock *lock)
{
	struct teller *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->herald = herald;
	t->client = client;
	t->lock = lock;
	if (aside_begin(&t->aside, keep_telling, t))
		return t;
	free(t);
	return NULL;
}

void
teller_hush(struct teller *teller)
{
	if (teller == NULL)
		return;
	atomic_store(&teller->hushed, true);
	aside_ring(teller->aside.bell);
}

void
teller_end(struct teller *teller)
{
	if (teller == NULL)
		return;
	aside_end(&teller->aside);
	free(teller);
}
