/* What a command holds of a name. See holding.h. This is the only place that knows what it is. */
#include "tools/holding.h"

#include "tools/environment.h"
#include "tools/sharing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- a lock: a mutex, or to read or to write ---- */

static leash_status
lock_open(struct holding *h, const leash_lock_options *options, leash_error *err)
{
	return leash_lock_new(&h->lock, h->client, h->name, options, err);
}

static void
lock_free(struct holding *h)
{
	leash_lock_free(h->lock);
}

static bool
is_not_us(void *arg, const leash_waiter_info *waiter)
{
	if (hold_is_ours(&waiter->who))
		*(uint64_t *)arg = waiter->position;
	return !hold_is_ours(&waiter->who);
}

uint64_t
holding_place(const struct holding *h)
{
	uint64_t place = 0;

	if (h->semaphore != NULL)
		leash_semaphore_waiters(h->semaphore, is_not_us, &place, NULL);
	else
		leash_lock_waiters(h->lock, is_not_us, &place, NULL);
	return place;
}

void
holding_note(struct holding *h)
{
	h->fence = leash_lock_fence(h->lock);
	leash_lock_token(h->lock, h->token, sizeof h->token);
}

static leash_status
lock_held(struct holding *h, leash_status status)
{
	if (status == LEASH_OK)
		holding_note(h);
	return status;
}

static leash_status
lock_acquire(struct holding *h, const leash_acquire *how, leash_error *err)
{
	return lock_held(h, leash_lock_acquire_with(h->lock, how, err));
}

static leash_status
lock_adopt(struct holding *h, const char *token, leash_error *err)
{
	return lock_held(h, leash_lock_adopt(h->lock, token, err));
}

static leash_status
lock_extend(struct holding *h, int64_t lease_ms, leash_error *err)
{
	return leash_lock_extend(h->lock, lease_ms, err);
}

static leash_status
lock_release(struct holding *h, leash_error *err)
{
	return leash_lock_release(h->lock, err);
}

static int64_t
lock_remaining_ms(const struct holding *h)
{
	return leash_lock_remaining_ms(h->lock);
}

static void
may_enter(struct holding_outer *outer, const char *token, int64_t remaining_ms, uint64_t fence)
{
	snprintf(outer->token, sizeof outer->token, "%s", token);
	outer->remaining_ms = remaining_ms;
	outer->fence = fence;
}

static leash_status
lock_look(struct holding *h, struct holding_outer *outer, leash_error *err)
{
	leash_lock_info info = {.size = sizeof info};
	leash_status status = leash_lock_inspect(h->lock, &info, err);

	if (status != LEASH_OK || info.kind != LEASH_KIND_MUTEX || info.remaining_ms <= 0 ||
	    !environment_has_token(info.holder.token))
		return status;
	may_enter(outer, info.holder.token, info.remaining_ms, info.fence);
	strcpy(outer->never, "a run around this one has it");
	return LEASH_OK;
}

static bool
lock_who(const struct holding *h, char *out, char *whose)
{
	leash_lock_info info = {.size = sizeof info};
	char holder[HOLD_HOLDER_SIZE];

	if (leash_lock_inspect(h->lock, &info, NULL) != LEASH_OK || !info.held || hold_is_ours(&info.holder)) {
		snprintf(out, HOLDING_WHO_SIZE, "%s was held by somebody else", h->shown);
		return false;
	}
	snprintf(out, HOLDING_WHO_SIZE, "%s is held by %s", h->shown, hold_holder(holder, h->client, &info));
	snprintf(whose, LEASH_TOKEN_MAX, "%s", info.holder.token);
	return true;
}

#define LOCK_CALLS \
	.open = lock_open, .free = lock_free, .acquire = lock_acquire, .adopt = lock_adopt, .extend = lock_extend, \
	.release = lock_release, .remaining_ms = lock_remaining_ms

static const struct holding_kind mutex = {
	.if_not_held = "; leash status says who has it",
	LOCK_CALLS,
	.look = lock_look,
	.who = lock_who,
};

/* Through the handle that there is, which is told of any kind. */
static leash_status
look(const struct holding *h, struct sharing *found, leash_error *err)
{
	*found = (struct sharing){.info = {.size = sizeof found->info}};
	return h->semaphore != NULL ? leash_semaphore_inspect(h->semaphore, &found->info, sharing_note, found, err)
	                            : leash_lock_holders(h->lock, &found->info, sharing_note, found, err);
}

/* Who writes may read; who reads may read. */
static leash_status
readwrite_look(struct holding *h, struct holding_outer *outer, leash_error *err)
{
	struct sharing found;
	leash_status status = look(h, &found, err);
	const leash_hold_info *own = &found.own;
	bool reads = own->size != 0 && sharing_reads(own), writes = own->size != 0 && sharing_writes(own);

	if (status != LEASH_OK || found.out == 0)
		return status;
	if (writes || (reads && h->need.shared))
		may_enter(outer, own->who.token, own->remaining_ms, environment_fence(own->who.token));
	if (writes || h->need.exclusive)
		snprintf(outer->never, sizeof outer->never, "a run around this one %s",
		         writes  ? "has it (--exclusive)"
		         : reads ? "reads it (--shared)"
		                 : "has permits of it (--slots)");
	return LEASH_OK;
}

static bool
readwrite_who(const struct holding *h, char *out, char *whose)
{
	struct sharing found;
	char who[CLI_PARTY_SIZE], more[40] = "";

	if (look(h, &found, NULL) != LEASH_OK || found.others == 0) {
		snprintf(out, HOLDING_WHO_SIZE, "%s was held by others, or others came first", h->shown);
		return false;
	}
	if (found.others > 1)
		snprintf(more, sizeof more, " and %" PRId64 " more", found.others - 1);
	snprintf(out, HOLDING_WHO_SIZE, "%s is held by %s%s", h->shown, cli_party(who, &found.other), more);
	snprintf(whose, LEASH_TOKEN_MAX, "%s", found.other.token);
	return true;
}

static const struct holding_kind readwrite = {
	.if_not_held = ", unless leash acquire was told the other of --shared and --exclusive",
	LOCK_CALLS,
	.look = readwrite_look,
	.who = readwrite_who,
};

/* ---- permits ---- */

static leash_status
permits_open(struct holding *h, const leash_lock_options *options, leash_error *err)
{
	return leash_semaphore_new(&h->semaphore, h->client, h->name, h->need.slots, options, err);
}

static leash_status
permits_release(struct holding *h, leash_error *err)
{
	leash_permit *permit = h->permit;

	h->permit = NULL; /* it is freed, whatever the result is */
	return leash_permit_release(permit, err);
}

static void
permits_free(struct holding *h)
{
	if (h->permit != NULL)
		permits_release(h, NULL);
	leash_semaphore_free(h->semaphore);
}

static leash_status
permits_held(struct holding *h, leash_status status)
{
	if (status == LEASH_OK)
		leash_permit_token(h->permit, h->token, sizeof h->token);
	return status;
}

static leash_status
permits_acquire(struct holding *h, const leash_acquire *how, leash_error *err)
{
	return permits_held(h, leash_semaphore_acquire_with(h->semaphore, h->need.take, how, &h->permit, err));
}

static leash_status
permits_adopt(struct holding *h, const char *token, leash_error *err)
{
	return permits_held(h, leash_semaphore_adopt(h->semaphore, h->need.take, token, &h->permit, err));
}

static leash_status
permits_extend(struct holding *h, int64_t lease_ms, leash_error *err)
{
	return leash_permit_extend(h->permit, lease_ms, err);
}

static int64_t
permits_remaining_ms(const struct holding *h)
{
	return leash_permit_remaining_ms(h->permit);
}

/* They belong to nobody: a run inside another one takes some of its own, if there can ever be so many. */
static leash_status
permits_look(struct holding *h, struct holding_outer *outer, leash_error *err)
{
	struct sharing found;
	leash_status status = look(h, &found, err);

	if (status != LEASH_OK)
		return status;
	if (found.own.size != 0 && sharing_writes(&found.own))
		strcpy(outer->never, "a run around this one has it (--exclusive)");
	else if (found.out > 0 && found.out + h->need.take > h->need.slots)
		snprintf(outer->never, sizeof outer->never, "the runs around this one have %" PRId64 " of them", found.out);
	return LEASH_OK;
}

static bool
permits_who(const struct holding *h, char *out, char *whose)
{
	snprintf(out, HOLDING_WHO_SIZE, "%s: not enough permits were free, or others came first", h->shown);
	strcpy(whose, "somebody");
	return true;
}

static const struct holding_kind permits = {
	.if_not_held = ", unless leash acquire was given another --slots or --take",
	.open = permits_open,
	.free = permits_free,
	.acquire = permits_acquire,
	.adopt = permits_adopt,
	.extend = permits_extend,
	.release = permits_release,
	.remaining_ms = permits_remaining_ms,
	.look = permits_look,
	.who = permits_who,
};

/* ---- of any kind ---- */

void
holding_begin(struct holding *h, const struct cli *cli, const char *name, const struct hold_need *need)
{
	const struct holding_kind *kind = need->slots > 0                     ? &permits
	                                  : need->shared || need->exclusive ? &readwrite
	                                                                      : &mutex;
	char shown[HOLD_NAME_SIZE];

	*h = (struct holding){.kind = kind, .cli = cli, .name = name, .need = *need};
	cli_show(shown, sizeof shown, name);
	if (kind != &permits)
		snprintf(h->shown, sizeof h->shown, "%s '%s'", kind == &mutex ? "lock" : "read-write lock", shown);
	else
		snprintf(h->shown, sizeof h->shown, "semaphore '%s' (%d of %d permits)", shown, need->take, need->slots);
}

leash_status
holding_open(struct holding *h, leash_client *client, const leash_lock_options *options, leash_error *err)
{
	leash_lock_options own = *options;

	own.mode = h->need.shared ? LEASH_READ : h->need.exclusive ? LEASH_WRITE : LEASH_MUTEX;
	h->client = client;
	return h->kind->open(h, &own, err);
}

/* What stands behind "in use"; "": it is of the kind that was wanted. */
static void
say_use(const struct holding *h, const leash_lock_info *info, char *out, size_t size)
{
	out[0] = '\0';
	if (info->kind == LEASH_KIND_LATCH || info->kind == LEASH_KIND_BARRIER)
		snprintf(out, size, "as a %s", cli_kind(info->kind));
	if (out[0] != '\0' || info->kind == LEASH_KIND_NONE || (info->kind == LEASH_KIND_MUTEX) == (h->kind == &mutex))
		return;
	if (info->kind == LEASH_KIND_MUTEX)
		snprintf(out, size, "as a mutex: leave %s out", h->need.shared      ? "--shared"
		                                               : h->need.exclusive ? "--exclusive"
		                                                                     : "--slots");
	else if (info->kind == LEASH_KIND_READ_WRITE)
		snprintf(out, size, "to read or to write: --shared or --exclusive is missing");
	else if (info->kind == LEASH_KIND_SEMAPHORE)
		snprintf(out, size, "as a semaphore: --slots %" PRId64 " is missing", info->permits);
	else
		snprintf(out, size, "as a condition, which is not to be held");
}

void
holding_explain(const struct holding *h, leash_error *err)
{
	struct sharing found;
	char use[80];

	if (err->status != LEASH_MISMATCH || look(h, &found, NULL) != LEASH_OK)
		return;
	say_use(h, &found.info, use, sizeof use);
	if (use[0] != '\0')
		snprintf(err->text, sizeof err->text, "%.140s: the name is in use %s", h->shown, use);
}

int
holding_take_over(struct holding *h, const char *token, int64_t lease_ms, const struct hold_replicas *replicas,
                  leash_client **client)
{
	static const struct hold_replicas none;
	const struct hold_replicas *r = replicas != NULL ? replicas : &none;
	leash_error err;
	leash_status st;
	int status = cli_open(h->cli, client);

	if (status != CLI_GO_ON)
		return status;
	st = holding_open(h, *client,
	                  LEASH_LOCK_OPTIONS(.lease_ms = lease_ms, .no_renew = true, .min_replicas = r->min,
	                                     .replicas_ms = r->timeout_ms, .fsynced = r->fsynced),
	                  &err);
	if (st == LEASH_OK)
		st = h->kind->adopt(h, token, &err);
	if (st == LEASH_OK)
		return CLI_GO_ON;
	holding_explain(h, &err);
	if (st != LEASH_NOT_HELD)
		return cli_fail_with(h->cli, &err);
	return cli_fail(h->cli, EXIT_LOST, "%s is not held by that token (any more): stop what it protects%s",
	                h->shown, h->kind->if_not_held);
}

json_t *
holding_json(const struct holding *h, const char *key, int64_t ms)
{
	json_t *json = json_pack("{ss so}", "token", h->token, "fence", cli_json_hold_fence(h->fence));

	if (h->need.slots > 0) {
		json_object_set_new(json, "slots", json_integer(h->need.slots));
		json_object_set_new(json, "take", json_integer(h->need.take));
	}
	json_object_set_new(json, key, json_integer((json_int_t)ms));
	return cli_json_named(h->name, json);
}

char *
holding_fence(char out[static HOLDING_FENCE_SIZE], const struct holding *h)
{
	out[0] = '\0';
	if (h->fence != 0)
		snprintf(out, HOLDING_FENCE_SIZE, ", fence %llu", (unsigned long long)h->fence);
	return out;
}

void
holding_end(struct holding *h)
{
	if (h->kind == NULL)
		return;
	h->kind->free(h);
}
