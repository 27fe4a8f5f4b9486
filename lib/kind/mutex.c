/* The reentrant lock: a hash of its holder's token to the depth, the last fence, and a queue. */
#include "kind/kind.h"

#include "lua/scripts.h"

static const struct lsh_script *const script[LSH_VERBS] = {
	[LSH_ACQUIRE] = &lsh_script_acquire, [LSH_RENEW] = &lsh_script_renew, [LSH_RELEASE] = &lsh_script_release,
	[LSH_HEARTBEAT] = &lsh_script_heartbeat, [LSH_RAISE] = &lsh_script_raise, [LSH_PROCLAIM] = &lsh_script_proclaim,
};

const struct lsh_kind lsh_mutex = {
	.name = "lock", .taken = "another owner has it", .was_taken = "other owners had it",
	.inspector = "leash_lock_inspect()",
	.flags = LSH_REENTRANT | LSH_HANDS_OFF, .suffix = {"", ":fence", ":queue", ":limit"}, .keys = 3,
	.batch = 100, .inspect = &lsh_script_inspect, .make = lsh_kind_make, .make_one_key = lsh_kind_make_one_key,
	.read = lsh_kind_read, .let_go = "HDEL", .script = script,
};
