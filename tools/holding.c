/* What a command holds of a name. See holding.h. This is the only place that knows what it is. */
#include "tools/holding.h"

#include <stdio.h>
#include <string.h>

/* ---- a lock ---- */

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

static leash_status
lock_held(struct holding *h, leash_status status)
{
	if (status == LEASH_OK) {
		h->fence = leash_lock_fence(h->lock);
		leash_lock_token(h->lock, h->token, sizeof h->token);
	}
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

static leash_status
lock_look(const struct holding *h, leash_lock_info *info, leash_error *err)
{
	return leash_lock_inspect(h->lock, info, err);
}

static bool
lock_who(const struct holding *h, char *out, char *whose)
{
	leash_lock_info info = {.size = sizeof info};
	char holder[HOLD_HOLDER_SIZE];

	if (leash_lock_inspect(h->lock, &info, NULL) != LEASH_OK || !info.held) {
		snprintf(out, HOLDING_WHO_SIZE, "%s was held by somebody else", h->shown);
		return false;
	}
	snprintf(out, HOLDING_WHO_SIZE, "%s is held by %s", h->shown, hold_holder(holder, h->client, &info));
	snprintf(whose, LEASH_TOKEN_MAX, "%s", info.holder.token);
	return true;
}

static const struct holding_kind lock = {
	.if_not_held = "; leash status says who has it",
	.fenced = true,
	.open = lock_open,
	.free = lock_free,
	.acquire = lock_acquire,
	.adopt = lock_adopt,
	.extend = lock_extend,
	.release = lock_release,
	.remaining_ms = lock_remaining_ms,
	.look = lock_look,
	.who = lock_who,
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

/* They belong to nobody: a run inside this one takes some of its own. */
static leash_status
permits_look(const struct holding *h, leash_lock_info *info, leash_error *err)
{
	(void)h;
	(void)info;
	(void)err;
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
holding_begin(struct holding *h, const char *name, const struct hold_need *need)
{
	bool is_lock = need->slots == 0;
	char shown[HOLD_NAME_SIZE];

	*h = (struct holding){.kind = is_lock ? &lock : &permits, .name = name, .need = *need};
	cli_show(shown, sizeof shown, name);
	if (is_lock)
		snprintf(h->shown, sizeof h->shown, "lock '%s'", shown);
	else
		snprintf(h->shown, sizeof h->shown, "semaphore '%s' (%d of %d permits)", shown, need->take, need->slots);
}

leash_status
holding_open(struct holding *h, leash_client *client, const leash_lock_options *options, leash_error *err)
{
	h->client = client;
	return h->kind->open(h, options, err);
}

int
holding_take_over(struct holding *h, const struct cli *cli, const char *token, int64_t lease_ms,
                  const struct hold_replicas *replicas, leash_client **client)
{
	static const struct hold_replicas none;
	const struct hold_replicas *r = replicas != NULL ? replicas : &none;
	leash_error err;
	leash_status st;
	int status = cli_open(cli, client);

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
	if (st != LEASH_NOT_HELD)
		return cli_fail_with(cli, &err);
	return cli_fail(cli, EXIT_LOST, "%s is not held by that token (any more): stop what it was to protect%s",
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
	if (h->kind != NULL)
		h->kind->free(h);
}
