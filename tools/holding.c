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

static const struct holding_kind a_lock = {
	lock_open, lock_free, lock_acquire, lock_adopt, lock_extend, lock_release, lock_remaining_ms, lock_look, lock_who,
};

/* ---- of any kind ---- */

void
holding_begin(struct holding *h, const char *name)
{
	char shown[HOLD_NAME_SIZE];

	*h = (struct holding){.kind = &a_lock, .name = name};
	snprintf(h->shown, sizeof h->shown, "lock '%s'", cli_show(shown, sizeof shown, name));
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
	return cli_fail(cli, EXIT_LOST,
	                "%s is not held by that token (any more): stop what it was to protect; leash status says "
	                "who has it", h->shown);
}

void
holding_end(struct holding *h)
{
	if (h->kind != NULL)
		h->kind->free(h);
}
