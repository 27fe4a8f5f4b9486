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
	sum->holding += lock->hold != NULL && lock->hold->confirmed;
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
	struct lsh_site *first = NULL; /* in use */
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
	stats->connected = stats->listening = lsh_site_count(e) > 0;
	stats->commands = atomic_load(&e->commands_gone);
	stats->connects = atomic_load(&e->connects_gone);
	for (size_t i = 0; i < lsh_site_count(e); i++) {
		struct lsh_site *site = lsh_site_get(e, i);
		struct lsh_node *node;

		if (site == NULL)
			continue;
		node = site->node;
		stats->commands += lsh_pipe_commands(lsh_node_pipe(node));
		stats->connects += lsh_pipe_connects(lsh_node_pipe(node));
		if (e->cluster == NULL || atomic_load(&site->serves)) { /* else a replica, or gone: nothing is missing if that is not there */
			stats->connected = stats->connected && lsh_node_is_up(node);
			stats->listening = stats->listening && lsh_node_is_subscribed(node);
			if (first == NULL || (!lsh_node_is_up(first->node) && lsh_node_is_up(node)))
				lsh_site_keep(&first, site); /* whose clock is known */
		}
		lsh_site_leave(site);
	}
	stats->holding = sum.holding;
	stats->waiting = sum.waiting;
	if (first != NULL)
		stats->server_ahead_ms = (lsh_node_server_us(first->node, lsh_now_ns()) - wall_clock_us()) / 1000;
	lsh_site_leave(first);
}
