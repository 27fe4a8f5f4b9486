#include "tests/support/quorum.h"

#include <stdio.h>
#include <stdlib.h>

struct quorum *
quorum_start(const struct nodes_options *options)
{
	struct quorum *q = nodes_new(sizeof *q, options, options && options->count ? options->count : 5);

	for (int i = 0; i < q->all.count; i++) {
		struct words words = { .count = 0 };

		node_words(&q->all.node[i], &words);
		nodes_start(&q->all, i, &words);
	}
	nodes_add(&q->all, nodes_uri(q->all.node, q->all.count, "quorum", q->all.options.password, "", ""));
	return q;
}

const char *
quorum_uri_guarded(struct quorum *q, int64_t restart_guard_ms)
{
	char guard[64];

	snprintf(guard, sizeof guard, "restart_guard=%lld", (long long)restart_guard_ms);
	free(q->all.guarded);
	q->all.guarded = nodes_uri(q->all.node, q->all.count, "quorum", q->all.options.password, "", guard);
	return q->all.guarded;
}

/* They say whole seconds. */
void
quorum_await_uptime(struct quorum *q, int64_t ms)
{
	for (int i = 0; i < q->all.count; i++)
		if (quorum_runs(q, i))
			await_true_for(node_number(&q->all.node[i], "INFO server", "uptime_in_seconds") * 1000 > ms, 60 + (double)ms / 1000);
}
