/* What a command holds of a name. See holding.h. This is the only place that knows what it is. */
#include "tools/holding.h"

#include "tools/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct holding_kind {
	const char *if_not_held; /* the rest of what is said of a token that does not hold it */
	leash_status (*look)(const struct holding *holding, struct holding_outer *outer, leash_error *err);
	bool (*who)(const struct holding *holding, char *out, char *whose);
};

/* ---- of any kind: through the handle of permits, or of a lock ---- */

leash_status
holding_open(struct holding *h, leash_client *client, const leash_lock_options *options, leash_error *err)
{
	leash_lock_options own = *options;

	own.mode = h->need.shared ? LEASH_READ : h->need.exclusive ? LEASH_WRITE : LEASH_MUTEX;
	h->client = client;
	return h->need.slots > 0 ? leash_semaphore_new(&h->semaphore, client, h->name, h->need.slots, &own, err)
	                         : leash_lock_new(&h->lock, client, h->name, &own, err);
}

void
holding_note(struct holding *h)
{
	if (h->permit != NULL) {
		leash_permit_token(h->permit, h->token, sizeof h->token);
		return;
	}
	h->fence = leash_lock_fence(h->lock);
	leash_lock_token(h->lock, h->token, sizeof h->token);
}

leash_status
holding_acquire(struct holding *h, const leash_acquire *how, leash_error *err)
{
	leash_status status = h->need.slots > 0
	                              ? leash_semaphore_acquire_with(h->semaphore, h->need.take, how, &h->permit, err)
	                              : leash_lock_acquire_with(h->lock, how, err);

	if (status == LEASH_OK)
		holding_note(h);
	return status;
}

static leash_status
adopt(struct holding *h, const char *token, leash_error *err)
{
	leash_status status = h->need.slots > 0
	                              ? leash_semaphore_adopt(h->semaphore, h->need.take, token, &h->permit, err)
	                              : leash_lock_adopt(h->lock, token, err);

	if (status == LEASH_OK)
		holding_note(h);
	return status;
}

leash_status
holding_extend(struct holding *h, int64_t lease_ms, leash_error *err)
{
	return h->need.slots > 0 ? leash_permit_extend(h->permit, lease_ms, err)
	                         : leash_lock_extend(h->lock, lease_ms, err);
}

leash_status
holding_release(struct holding *h, leash_error *err)
{
	leash_permit *permit = h->permit;

	h->permit = NULL; /* it is freed, whatever the result is */
	return h->need.slots > 0 ? leash_permit_release(permit, err) : leash_lock_release(h->lock, err);
}

int64_t
holding_remaining_ms(const struct holding *h)
{
	return h->need.slots > 0 ? leash_permit_remaining_ms(h->permit) : leash_lock_remaining_ms(h->lock);
}

void
holding_end(struct holding *h)
{
	if (h->permit != NULL)
		holding_release(h, NULL);
	leash_semaphore_free(h->semaphore);
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

	if (h->need.slots > 0)
		leash_semaphore_waiters(h->semaphore, is_not_us, &place, NULL);
	else
		leash_lock_waiters(h->lock, is_not_us, &place, NULL);
	return place;
}

/* ---- who shares a name: the server keeps readers, writers and permits alike ---- */

/* Of the first LEASH_HOLDS_MAX holds. */
struct sharing {
	leash_lock_info info;
	int64_t others;    /* that are not this process's */
	leash_party other; /* the first of them */

	/* Of the runs around this one. */
	int64_t out;       /* how many shares they have: permits, and one for each who reads or writes */
	bool reads, writes;
	leash_hold_info own; /* one of those that read or write */
};

static bool
note_share(void *arg, const leash_hold_info *hold)
{
	struct sharing *s = arg;
	bool writes = hold->count == 0, reads = hold->count > 0 && hold->limit == 0;

	if (s->info.kind == LEASH_KIND_MUTEX)
		return false;
	if (!hold_is_ours(&hold->who) && s->others++ == 0)
		s->other = hold->who;
	if (!environment_has_token(hold->who.token))
		return true;
	s->out += writes ? 1 : hold->count;
	if (writes || reads) {
		s->own = *hold;
		s->writes = writes;
		s->reads = reads;
	}
	return true;
}

/* Of a mutex only `info`. */
static leash_status
look_who_shares(const struct holding *h, struct sharing *found, leash_error *err)
{
	*found = (struct sharing){.info = {.size = sizeof found->info}};
	return h->need.slots > 0 ? leash_semaphore_inspect(h->semaphore, &found->info, note_share, found, err)
	                         : leash_lock_holders(h->lock, &found->info, note_share, found, err);
}

/* ---- a mutex ---- */

static void
may_enter(struct holding_outer *outer, const char *token, int64_t remaining_ms, uint64_t fence)
{
	snprintf(outer->token, sizeof outer->token, "%s", token);
	outer->remaining_ms = remaining_ms;
	outer->fence = fence;
}

static leash_status
mutex_look(const struct holding *h, struct holding_outer *outer, leash_error *err)
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
mutex_who(const struct holding *h, char *out, char *whose)
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

static const struct holding_kind mutex = {"; leash status says who has it", mutex_look, mutex_who};

/* ---- to read or to write ---- */

/* Who writes may read; who reads may read. */
static leash_status
readwrite_look(const struct holding *h, struct holding_outer *outer, leash_error *err)
{
	struct sharing found;
	leash_status status = look_who_shares(h, &found, err);

	if (status != LEASH_OK || found.out == 0)
		return status;
	if (found.writes || (found.reads && h->need.shared))
		may_enter(outer, found.own.who.token, found.own.remaining_ms, environment_fence(found.own.who.token));
	if (found.writes || h->need.exclusive)
		snprintf(outer->never, sizeof outer->never, "a run around this one %s",
		         found.writes  ? "has it (--exclusive)"
		         : found.reads ? "reads it (--shared)"
		                       : "has permits of it (--slots)");
	return LEASH_OK;
}

static bool
readwrite_who(const struct holding *h, char *out, char *whose)
{
	struct sharing found;
	char who[CLI_PARTY_SIZE], more[40] = "";

	if (look_who_shares(h, &found, NULL) != LEASH_OK || found.others == 0) {
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
	", unless leash acquire was told the other of --shared and --exclusive", readwrite_look, readwrite_who};

/* ---- permits ---- */

/* They belong to nobody: a run inside another one takes some of its own, if there can ever be so many. */
static leash_status
permits_look(const struct holding *h, struct holding_outer *outer, leash_error *err)
{
	struct sharing found;
	leash_status status = look_who_shares(h, &found, err);

	if (status != LEASH_OK)
		return status;
	if (found.writes)
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
	", unless leash acquire was given another --slots or --take", permits_look, permits_who};

/* ---- which of these ---- */

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
holding_look(const struct holding *h, struct holding_outer *outer, leash_error *err)
{
	*outer = (struct holding_outer){.fence = 0};
	return h->kind->look(h, outer, err);
}

bool
holding_who(const struct holding *h, char *out, char *whose)
{
	return h->kind->who(h, out, whose);
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

	if (err->status != LEASH_MISMATCH || look_who_shares(h, &found, NULL) != LEASH_OK)
		return;
	say_use(h, &found.info, use, sizeof use);
	if (use[0] != '\0')
		snprintf(err->text, sizeof err->text, "%.140s: the name is in use %s", h->shown, use);
}

/* NAME and TOKEN behind the options. */
static int
take_words(struct holding *h, struct holding_request *r, int argc, char **argv)
{
	char shown[80];

	if (argc - optind < 2)
		return cli_usage(&r->cli, argc == optind
		                                  ? "which lock? A name is missing, and the token that leash acquire printed"
		                                  : "the token is missing, which leash acquire printed");
	if (argc - optind > 2)
		return cli_usage(&r->cli, "a name and a token are enough: what is '%s'?",
		                 cli_show_word(shown, sizeof shown, argv[optind + 2]));
	if (cli_take_name(&r->cli, argv[optind]) != CLI_GO_ON)
		return EXIT_USAGE;
	holding_begin(h, &r->cli, argv[optind], &r->need);
	return CLI_GO_ON;
}

int
holding_take_over(struct holding *h, struct holding_request *r, const struct command *command, int argc, char **argv)
{
	leash_client *client = NULL;
	leash_error err;
	leash_status st;
	int status = cli_read(r, command, argc, argv);

	*h = (struct holding){.name = NULL};
	if (status == CLI_GO_ON)
		status = hold_check(&r->cli, &r->need, &r->replicas);
	if (status == CLI_GO_ON)
		status = take_words(h, r, argc, argv);
	if (status == CLI_GO_ON)
		status = cli_open(&r->cli, &client);
	if (status != CLI_GO_ON)
		return status;
	st = holding_open(h, client, HOLD_OPTIONS(r, .no_renew = true), &err);
	if (st == LEASH_OK)
		st = adopt(h, argv[optind + 1], &err);
	if (st == LEASH_OK)
		return CLI_GO_ON;
	holding_explain(h, &err);
	if (st != LEASH_NOT_HELD)
		return cli_fail_with(&r->cli, &err);
	return cli_fail(&r->cli, EXIT_LOST, "%s is not held by that token (any more): stop what it protects%s", h->shown,
	                h->kind->if_not_held);
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
