/* Redisson's RLock: what a Java service locks, under the same key, with the same hash and the same messages
 * (lua/redisson.lua). It has no queue: who waits listens on the lock's channel, where whoever releases tells all that
 * it is free. */
#include "kind/kind.h"

#include "base/mutation.h"
#include "lua/scripts.h"

#include <leash/lock.h>

#include <string.h>

#define CHANNEL "redisson_lock__channel:"

static const char *const steps[LSH_VERBS] = {
	[LSH_ACQUIRE] = "acquire", [LSH_RENEW] = "renew", [LSH_RELEASE] = "release", [LSH_HEARTBEAT] = "heartbeat",
};

/* "<prefix>{<name>}"; or, with a brace in the name, "<prefix><name>" */
static size_t
write_channel(char *out, const char *key, size_t size, bool sharded)
{
	bool braced = memchr(key, '{', size) == NULL;
	char *at = mempcpy(stpcpy(out, braced ? CHANNEL "{" : CHANNEL), key, size);

	(void)sharded;
	if (braced)
		*at++ = '}';
	return (size_t)(at - out);
}

bool
lsh_redisson_read_channel(const char *channel, size_t size, struct lsh_arg *key)
{
	const size_t before = sizeof CHANNEL - 1;

	if (size <= before || memcmp(channel, CHANNEL, before) != 0)
		return false;
	*key = (struct lsh_arg){channel + before, size - before};
	/* "{x}" and "x" have one channel: it is taken for that of "x", and who waits for "{x}" asks every second */
	if (key->size > 2 && key->bytes[0] == '{' && key->bytes[key->size - 1] == '}' &&
	    memchr(key->bytes + 1, '{', key->size - 1) == NULL)
		*key = (struct lsh_arg){key->bytes + 1, key->size - 2};
	return true;
}

static void
make(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r, size_t n)
{
	char channel[sizeof CHANNEL + LEASH_NAME_MAX + 2];
	size_t size;

	(void)n;
	lsh_script_begin(command, lsh_mutated(&lsh_script_redisson), 1);
	lsh_script_push(command, r->key);
	lsh_script_push(command, lsh_arg_text(steps[verb]));
	lsh_script_push(command, (struct lsh_arg){r->token, r->token_size});
	if (verb == LSH_RELEASE) {
		lsh_script_push(command, r->sharded ? LSH_ARG("SPUBLISH") : LSH_ARG("PUBLISH"));
		size = write_channel(channel, r->key.bytes, r->key.size, r->sharded);
		lsh_script_push_joined(command, (struct lsh_arg){channel, size}, "");
		return;
	}
	lsh_script_push_number(command, r->lease_ms);
	lsh_script_push_number(command, verb == LSH_RENEW ? r->depth : r->not_after_us);
}

static bool
read(struct lsh_verdict *v, enum lsh_verb verb, const struct lsh_message *m, size_t i, size_t n)
{
	int64_t x = m->item[0].integer;

	if (verb != LSH_RELEASE)
		return lsh_kind_read(v, verb, m, i, n);
	*v = (struct lsh_verdict){.what = x > 0 ? LSH_LET_GO : LSH_GONE, .listeners = x > 0 ? x - 1 : 0};
	return m->type == LSH_INTEGER && x >= 0;
}

const struct lsh_kind lsh_redisson = {
	.name = "lock", .taken = "another owner has it", .was_taken = "other owners had it",
	.inspector = "leash_lock_inspect()",
	.flags = LSH_REENTRANT | LSH_HANDS_OFF | LSH_BARE, .suffix = {""}, .batch = 1, .inspect = &lsh_script_redisson,
	.make = make, .read = read, .channel = write_channel,
};
