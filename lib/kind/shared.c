/* What several may hold at once, each with a lease of its own: a sorted set of who has how much of it to when that
 * ends, the last fence, a queue, and at times an operator's limit. To the server a read-write lock is a semaphore
 * without a limit, and who writes has all of it. */
#include "kind/kind.h"

#include "lua/scripts.h"

#include <stdio.h>
#include <string.h>

static const struct lsh_script *const script[LSH_VERBS] = {
	[LSH_ACQUIRE] = &lsh_script_share_acquire, [LSH_RENEW] = &lsh_script_share_renew,
	[LSH_RELEASE] = &lsh_script_share_release, [LSH_HEARTBEAT] = &lsh_script_share_heartbeat,
	[LSH_TRADE] = &lsh_script_share_trade, [LSH_LIMIT] = &lsh_script_share_limit,
};

#define SHARED \
	.suffix = {"", ":fence", ":queue", ":limit"}, .keys = 4, .batch = 100, .inspect = &lsh_script_inspect, \
	.make = lsh_kind_make, .make_one_key = lsh_kind_make_one_key, .read = lsh_kind_read, .script = script

const struct lsh_kind lsh_semaphore = {
	.name = "semaphore", .taken = "not enough permits are free, or others came first",
	.was_taken = "not enough permits were free, or others came first,",
	.inspector = "leash_semaphore_inspect()", .flags = LSH_SHARED, SHARED,
};

const struct lsh_kind lsh_readwrite = {
	.name = "read-write lock", .taken = "other owners have it, or came first",
	.was_taken = "other owners had it, or came first,", .inspector = "leash_lock_holders()",
	.flags = LSH_SHARED | LSH_REENTRANT | LSH_HANDS_OFF, SHARED,
};

size_t
lsh_need_write(char out[static LSH_NEED_SIZE], uint32_t need)
{
	static const char sign[] = {[LSH_LATCH] = '>', [LSH_BARRIER] = '=', [LSH_ARRIVED] = '+'};
	enum lsh_gate gate = lsh_need_gate(need);

	if (need == LSH_NEED_WRITE)
		return (size_t)(stpcpy(out, "w") - out);
	if (need == LSH_NEED_SIGNAL)
		return (size_t)(stpcpy(out, "?") - out);
	if (gate == LSH_ARRIVED)
		return (size_t)(stpcpy(out, "+") - out);
	if (gate != LSH_NO_GATE)
		return (size_t)snprintf(out, LSH_NEED_SIZE, "%c%u", sign[gate], lsh_need_limit(need));
	return (size_t)snprintf(out, LSH_NEED_SIZE, "%u/%u", lsh_need_count(need), lsh_need_limit(need));
}

static bool
read_gate(uint32_t *need, const char *text, size_t size)
{
	enum lsh_gate gate = text[0] == '>' ? LSH_LATCH : text[0] == '=' ? LSH_BARRIER : LSH_ARRIVED;
	uint64_t n = 0, most = gate == LSH_LATCH ? LSH_NEED_LIMIT_MAX : LSH_NEED_PARTIES_MAX;
	bool is_one = gate == LSH_ARRIVED ? size == 1 : lsh_decimal_read(text + 1, size - 1, &n) && n >= 1 && n <= most;

	*need = lsh_need_of(gate, is_one ? (uint32_t)n : 0);
	return is_one;
}

static bool
read_permits(uint32_t *need, const char *text, size_t size)
{
	const char *slash = memchr(text, '/', size);
	size_t before = slash != NULL ? (size_t)(slash - text) : 0;
	uint64_t count, limit;

	if (slash == NULL || !lsh_decimal_read(text, before, &count) ||
	    !lsh_decimal_read(slash + 1, size - before - 1, &limit))
		return false;
	*need = lsh_need((uint32_t)count, (uint32_t)limit);
	return count >= 1 && count <= LSH_NEED_COUNT_MAX && (limit == 0 || limit >= count) && limit <= LSH_NEED_LIMIT_MAX;
}

bool
lsh_need_read(uint32_t *need, const char *text, size_t size)
{
	*need = LSH_NEED_WRITE;
	if (size == 1 && text[0] == 'w')
		return true;
	*need = LSH_NEED_SIGNAL;
	if (size == 1 && text[0] == '?')
		return true;
	if (size > 0 && memchr(">=+", text[0], 3) != NULL)
		return read_gate(need, text, size);
	return read_permits(need, text, size);
}
