/* What a client has done. Each lock counts for itself, under its own mutex, which whoever has something to count holds anyway: nothing
 * is shared on the fast way. Who asks adds it all up. */
#include "lock/state.h"

#include <time.h>

void
lsh_counts_add(struct lsh_counts *sum, const struct lsh_counts *counts)
{
	sum->acquired += counts->acquired;
	sum->handed_on += counts->handed_on;
	sum->waited += counts->waited;
	sum->released += counts->released;
	sum->lost += counts->lost;
	sum->abandoned += counts->abandoned;
	sum->renewed += counts->renewed;
	sum->renewals_failed += counts->renewals_failed;
	sum->gave_up += counts->gave_up;
}

struct sum {
	struct lsh_counts counts;
	uint64_t holding, waiting;
};

static void
add_lock(struct lsh_lock *lock, void *arg)
{
	struct sum *sum = arg;
	struct lsh_list *line, *after_line, *at, *after;

	lsh_counts_add(&sum->counts, &lock->counts);
	sum->holding += lock->hold != NULL;
	lsh_list_each(line, after_line, &lock->lines)
		lsh_list_each(at, after, &lsh_container(line, struct lsh_line, link)->waiters)
			sum->waiting++;
}

static int64_t
wall_clock_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_REALTIME, &t) == 0 ? (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 : 0;
}

void
lsh_engine_stats(struct lsh_engine *e, leash_stats *stats)
{
	struct sum sum = {.holding = 0};
	struct lsh_counts gone;

	lsh_lock_each_and_gone(e, &gone, add_lock, &sum);
	lsh_counts_add(&sum.counts, &gone);
	stats->acquired = sum.counts.acquired;
	stats->handed_on = sum.counts.handed_on;
	stats->waited = sum.counts.waited;
	stats->released = sum.counts.released;
	stats->lost = sum.counts.lost;
	stats->abandoned = sum.counts.abandoned;
	stats->renewed = sum.counts.renewed;
	stats->renewals_failed = sum.counts.renewals_failed;
	stats->gave_up = sum.counts.gave_up;
	stats->commands = lsh_pipe_commands(lsh_node_pipe(e->node));
	stats->connects = lsh_pipe_epoch(lsh_node_pipe(e->node));
	stats->holding = sum.holding;
	stats->waiting = sum.waiting;
	stats->server_ahead_ms = (lsh_node_server_us(e->node, lsh_now_ns()) - wall_clock_us()) / 1000;
	stats->connected = lsh_node_is_up(e->node);
	stats->listening = lsh_node_is_subscribed(e->node);
}
