#include "tools/look.h"

#include <stdio.h>
#include <string.h>

static bool
note(void *arg, const leash_hold_info *hold)
{
	struct look *look = arg;

	look->holds[look->count++] = *hold;
	return look->count < LEASH_HOLDS_MAX;
}

leash_status
look_at(struct look *look, leash_lock *lock, leash_error *err)
{
	look->info.size = sizeof look->info;
	look->count = 0;
	return leash_lock_holders(lock, &look->info, note, look, err);
}

bool
look_further(struct look *look, leash_client *client, const leash_lock_info *info)
{
	leash_lock *lock = NULL;
	bool alone = info->out <= 1;

	look->count = 0;
	if (!alone && leash_lock_new(&lock, client, info->name, CLI_LOOKING, NULL) == LEASH_OK &&
	    look_at(look, lock, NULL) != LEASH_OK)
		look->count = 0;
	leash_lock_free(lock);
	look->info = *info;
	if (look->count > 0)
		return true;
	look->holds[look->count++] = (leash_hold_info){
		.who = info->holder, .count = info->count, .limit = info->permits, .remaining_ms = info->remaining_ms,
	};
	return alone;
}

bool
look_has(const struct look *look, const leash_party *who)
{
	size_t i = 0;

	while (i < look->count && strcmp(look->holds[i].who.token, who->token) != 0)
		i++;
	return i < look->count;
}

bool
look_is_the_same(const struct look *before, const struct look *now)
{
	for (size_t i = 0; i < now->count; i++)
		if (!look_has(before, &now->holds[i].who))
			return false;
	return before->info.kind == now->info.kind &&
	       (now->info.kind != LEASH_KIND_MUTEX || before->info.fence == now->info.fence);
}

/* What is shared is all one to the server. */
leash_status
look_break(const struct look *look, leash_client *client, leash_error *err)
{
	leash_mode mode = look->info.kind == LEASH_KIND_MUTEX ? LEASH_MUTEX : LEASH_READ;
	leash_lock *lock = NULL;
	leash_status st = leash_lock_new(&lock, client, look->info.name, LEASH_LOCK_OPTIONS(
		.lease_ms = 100, .mode = mode, .restart_guard_ms = 100), err);

	if (st == LEASH_OK)
		st = leash_lock_break(lock, err);
	leash_lock_free(lock);
	return st;
}

const char *
look_noun(const leash_lock_info *info)
{
	return info->kind == LEASH_KIND_READ_WRITE                              ? "read-write lock"
	       : info->kind == LEASH_KIND_NONE || info->kind == LEASH_KIND_MUTEX ? "lock"
	                                                                         : cli_kind(info->kind);
}

bool
look_is_gate(const leash_lock_info *info)
{
	return info->kind == LEASH_KIND_LATCH || info->kind == LEASH_KIND_BARRIER;
}

char *
look_need(char *out, const leash_lock_info *info, int64_t count, int64_t limit)
{
	out[0] = '\0';
	if (look_is_gate(info) && limit > 0)
		snprintf(out, LOOK_NEED_SIZE, ", for %lld%s", (long long)limit,
		         info->kind == LEASH_KIND_LATCH ? " to arrive" : "");
	else if (look_is_gate(info))
		return out;
	else if (limit > 0)
		snprintf(out, LOOK_NEED_SIZE, ", %lld of %lld permits", (long long)count, (long long)limit);
	else if (count > 0)
		snprintf(out, LOOK_NEED_SIZE, ", to read");
	else if (count < 0)
		snprintf(out, LOOK_NEED_SIZE, ", for a signal");
	else if (info->kind == LEASH_KIND_READ_WRITE)
		snprintf(out, LOOK_NEED_SIZE, ", to write");
	return out;
}

json_t *
look_json(const struct look *look)
{
	json_t *object = cli_json_info(&look->info), *holds = json_array();

	for (size_t i = 0; i < look->count; i++)
		json_array_append_new(holds, cli_json_hold(&look->holds[i], look->info.kind));
	json_object_set_new(object, "holds", holds);
	return object;
}
