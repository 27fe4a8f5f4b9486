/* What nobody holds, but passes: a latch, once enough have arrived, and a barrier, once enough wait. To the server they
 * are what several share, whose holds count as arrivals, or for nothing. */
#include "kind/kind.h"

#include "lua/scripts.h"

static const struct lsh_script *const script[LSH_VERBS] = {
	[LSH_ACQUIRE] = &lsh_script_share_acquire, [LSH_RENEW] = &lsh_script_share_renew,
	[LSH_RELEASE] = &lsh_script_share_release, [LSH_HEARTBEAT] = &lsh_script_share_heartbeat,
	[LSH_ARRIVE] = &lsh_script_gate_arrive,
};

#define GATE(more) \
	.flags = LSH_SHARED | LSH_PASSED | (more), .suffix = {"", ":fence", ":queue", ":limit"}, .keys = 4, .batch = 100, \
	.inspect = &lsh_script_inspect, .make = lsh_kind_make, .make_one_key = lsh_kind_make_one_key, \
	.read = lsh_kind_read, .script = script

const struct lsh_kind lsh_latch = {
	.name = "latch", .taken = "not enough have arrived", .was_taken = "not enough had arrived", GATE(0),
};

const struct lsh_kind lsh_barrier = {
	.name = "barrier", .taken = "not all parties are there", .was_taken = "not all parties were there",
	GATE(LSH_COUNTED),
};
