/* Quorums. See quorum.h. */
#include "tests/support/quorum.h"

#include "tests/support/await.h"
#include "tests/support/node.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>

struct quorum {
	struct sweep_item item;
	struct quorum_options options;
	int count;
	struct node node[QUORUM_MOST];
	char *uri, *uri_guarded;
};

static void
stop(void *quorum)
{
	quorum_stop(quorum);
}

struct quorum *
quorum_start(const struct quorum_options *options)
{
	struct quorum *q = calloc(1, sizeof *q);

	if (!q)
		trouble("no memory");
	if (options)
		q->options = *options;
	q->count = q->options.count ? q->options.count : 5;
	if (q->count > QUORUM_MOST)
		trouble("more than %d servers", QUORUM_MOST);
	for (int i = 0; i < q->count; i++) {
		struct words words = { .count = 0 };

		node_prepare(&q->node[i], i, q->options.doors, q->options.tls, q->options.password);
		if (i == 0 && q->options.first)
			q->node[i].certs = q->options.first;
		node_words(&q->node[i], &words);
		words_add_all(&words, q->options.args);
		node_start(&q->node[i], &words);
		words_free(&words);
	}
	q->uri = nodes_uri(q->node, q->count, "quorum", q->options.password, "", "");
	sweep_add(&q->item, stop, q);   /* last: what was added last is stopped first, and this stops the rest */
	return q;
}

void
quorum_stop(struct quorum *q)
{
	if (!q || !sweep_drop(&q->item))
		return;
	for (int i = 0; i < q->count; i++)
		node_stop(&q->node[i]);
	free(q->uri);
	free(q->uri_guarded);
	free(q);
}

int
quorum_count(const struct quorum *q)
{
	return q->count;
}

const char *
quorum_uri(const struct quorum *q)
{
	return q->uri;
}

const char *
quorum_uri_guarded(struct quorum *q, int64_t restart_guard_ms)
{
	char guard[64];

	snprintf(guard, sizeof guard, "restart_guard=%lld", (long long)restart_guard_ms);
	free(q->uri_guarded);
	q->uri_guarded = nodes_uri(q->node, q->count, "quorum", q->options.password, "", guard);
	return q->uri_guarded;
}

const struct node *
quorum_nodes(const struct quorum *q)
{
	return q->node;
}

struct server *
quorum_server(const struct quorum *q, int i)
{
	return q->node[i].server;
}

/* They say whole seconds. */
void
quorum_await_uptime(struct quorum *q, int64_t ms)
{
	for (int i = 0; i < q->count; i++)
		if (node_runs(&q->node[i]))
			await_true_for(node_number(&q->node[i], "INFO server", "uptime_in_seconds") * 1000 > ms, 60 + (double)ms / 1000);
}

bool
quorum_runs(const struct quorum *q, int i)
{
	return node_runs(&q->node[i]);
}

int
quorum_having(struct quorum *q, const char *key)
{
	int n = 0;

	for (int i = 0; i < q->count; i++) {
		redisReply *reply = node_ask(&q->node[i], "EXISTS %s", key);

		if (!reply)
			continue;
		n += reply->integer == 1;
		freeReplyObject(reply);
	}
	return n;
}

int64_t
quorum_keys(const struct quorum *q, const char *pattern, bool lasting)
{
	int64_t n = 0;

	for (int i = 0; i < q->count; i++)
		n += node_keys(&q->node[i], pattern, lasting);
	return n;
}

