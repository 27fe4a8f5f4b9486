/* A condition: a queue of what is shared, in which all wait to be signaled. To the server that is a need for which
 * there is room in one step only. What a signal lets in holds it for a claim, so that nobody who missed the message
 * waits on; and nothing else depends on that hold. */
#include "kind/kind.h"

#include "lua/scripts.h"

static const struct lsh_script *const script[LSH_VERBS] = {
	[LSH_ACQUIRE] = &lsh_script_share_acquire, [LSH_RENEW] = &lsh_script_share_renew,
	[LSH_RELEASE] = &lsh_script_share_release, [LSH_HEARTBEAT] = &lsh_script_share_heartbeat,
	[LSH_SIGNAL] = &lsh_script_share_signal,
};

const struct lsh_kind lsh_condition = {
	.name = "condition", .taken = "nobody signaled", .was_taken = "nobody signaled", .flags = LSH_SHARED | LSH_COUNTED,
	.suffix = {"", ":fence", ":queue", ":limit"}, .keys = 4, .batch = 100, .inspect = &lsh_script_inspect,
	.make = lsh_kind_make, .make_one_key = lsh_kind_make_one_key, .read = lsh_kind_read, .script = script,
};
