#include "admin/inspect.h"

#include "admin/agreement.h"
#include "base/clock.h"
#include "base/error.h"
#include "lease/electorate.h"

#include <string.h>

/* ---- who has it ---- */

/* What the servers have said so far. */
struct opinion {
	unsigned answered, pending;
	unsigned away;  /* of the others: may answer once there is a connection again */
	unsigned agree; /* that the lock is its holder's: as many as agree on any one */
	const struct lsh_ask *in_the_way; /* one that has no answer, rather one that says why; or NULL */
	leash_lock_info info;
};

bool
lsh_ask_read(const struct lsh_ask *a, leash_lock_info *info)
{
	return a->state == LSH_REPLIED && lsh_lock_line_read(a->text, strlen(a->text), info);
}

static unsigned
majority_of(const struct lsh_query *q)
{
	return q->by_slot ? 1 : q->backend->majority;
}

static void
form_opinion(const struct lsh_query *q, struct opinion *o)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0};

	*o = (struct opinion){0};
	for (size_t i = 0; i < q->count; i++) {
		const struct lsh_ask *a = &q->asks[i];
		bool pending = lsh_ask_is_pending(a), known = lsh_ask_read(a, &infos[i]);

		o->answered += known;
		o->pending += pending;
		o->away += a->state == LSH_ASKING && !pending;
		if (!known && (o->in_the_way == NULL || (o->in_the_way->why.status == LEASH_OK && a->why.status != LEASH_OK)))
			o->in_the_way = a;
		if (infos[i].fence > o->info.fence)
			o->info.fence = infos[i].fence;
	}
	if (!q->by_slot) {
		o->agree = lsh_agreement(infos, q->count, q->backend->majority, &o->info);
	} else if (o->answered > 0) {
		o->info = infos[0];
		o->agree = 1;
	}
}

/* When one has a majority, or nobody can have, enough is known; what most servers cannot say yet is waited for. */
static bool
is_formed(const struct lsh_query *q)
{
	unsigned majority = majority_of(q);
	struct opinion o;

	form_opinion(q, &o);
	if (o.agree >= majority)
		return true;
	return o.answered >= majority ? o.agree + o.pending < majority : o.answered + o.pending + o.away < majority;
}

static leash_status
explain(const struct lsh_query *q, const struct opinion *o, const char *shown, leash_error *err)
{
	leash_error why;

	lsh_ask_explain(o->in_the_way, &why);
	if (!q->by_slot)
		lsh_electorate_fail(&why, (unsigned)q->count - o->answered, q->count, "did not answer", &why);
	return lsh_fail(err, why.status, why.sys_errno, "lock '%s': not known who has it: %s", shown, why.text);
}

static leash_status
ask(struct lsh_lock *lock, struct lsh_query *q, int64_t deadline, leash_lock_info *info, leash_error *err)
{
	const char *shown = lsh_lock_shown(lock);
	size_t size = info->size;
	leash_status status;
	struct opinion o;
	leash_error why;

	if (q != NULL)
		q->is_enough = is_formed;
	status = lsh_queries_ask(lsh_lock_engine(lock), &q, 1, deadline, &why);
	if (status != LEASH_OK)
		return lsh_fail(err, status, why.sys_errno, "lock '%s': %s", shown, why.text);
	form_opinion(q, &o);
	if (o.agree < majority_of(q) && o.answered < majority_of(q))
		return explain(q, &o, shown, err);
	if (o.agree < majority_of(q)) /* single votes make no holder */
		o.info = (leash_lock_info){.fence = o.info.fence};
	*info = o.info;
	info->size = size;
	if (!q->by_slot) {
		info->waiting = 0; /* who waits is known to nobody but to those who do */
		info->no_queue = true;
	}
	strcpy(info->name, lsh_lock_name(lock));
	return LEASH_OK;
}

leash_status
lsh_inspect(struct lsh_lock *lock, bool who, leash_lock_info *info, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_engine *e = lsh_lock_engine(lock);
	struct lsh_query *q = lsh_query_new(e, LSH_WHO_HAS, r->kind, r->key, r->key_size);
	int64_t deadline = lsh_after(lsh_now_ns(), r->backend->options.timeout);
	leash_status status = ask(lock, q, deadline, info, err);

	lsh_query_drop(q);
	if (status == LEASH_OK && info->held && who)
		lsh_identify(e, NULL, (leash_party *[]){&info->holder}, 1, deadline, NULL);
	return status;
}

/* ---- who that is ---- */

static leash_party *
place_of(struct lsh_acquaintances *known, const char *token)
{
	unsigned hash = 2166136261; /* FNV-1a: the UUIDs are random, but for those that somebody chose */

	for (int i = 0; i < LSH_UUID_SIZE; i++)
		hash = (hash ^ (unsigned char)token[i]) * 16777619;
	return &known->known[(hash ^ hash >> 16) % (sizeof known->known / sizeof known->known[0])];
}

static bool
is_same_client(const leash_party *a, const leash_party *b)
{
	return memcmp(a->token, b->token, LSH_UUID_SIZE) == 0;
}

static void
copy_but_token(leash_party *to, const leash_party *from)
{
	leash_party before = *to;

	*to = *from;
	memcpy(to->token, before.token, sizeof to->token);
}

static bool
read_party(const struct lsh_query *q, leash_party *party)
{
	bool known = false;

	for (size_t i = 0; i < q->count && !known; i++)
		known = q->asks[i].state == LSH_REPLIED && lsh_party_read(q->asks[i].text, strlen(q->asks[i].text), party);
	return known;
}

static bool
is_identified(const struct lsh_query *q)
{
	bool pending = false;
	leash_party party;

	for (size_t i = 0; i < q->count; i++)
		pending |= lsh_ask_is_pending(&q->asks[i]);
	return !pending || read_party(q, &party);
}

/* Which of them is the client of that party; `n`: none. */
static size_t
find_client(leash_party *const *parties, size_t n, const leash_party *party)
{
	size_t i = 0;

	while (i < n && !is_same_client(parties[i], party))
		i++;
	return i;
}

leash_status
lsh_identify(struct lsh_engine *e, struct lsh_acquaintances *known, leash_party *const *parties, size_t count,
             int64_t deadline, leash_error *err)
{
	struct lsh_query *qs[LSH_QUERIES] = {NULL};
	leash_party *asked[LSH_QUERIES];
	leash_status status;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const leash_party *before = known != NULL ? place_of(known, parties[i]->token) : NULL;

		if (before != NULL && is_same_client(before, parties[i])) {
			copy_but_token(parties[i], before);
		} else if (find_client(asked, n, parties[i]) == n) {
			qs[n] = lsh_query_new(e, LSH_WHO_IS, NULL, parties[i]->token, strlen(parties[i]->token));
			if (qs[n] != NULL)
				qs[n]->is_enough = is_identified;
			asked[n++] = parties[i];
		}
	}
	status = lsh_queries_ask(e, qs, n, deadline, err);
	for (size_t j = 0; j < n && status == LEASH_OK; j++) {
		read_party(qs[j], asked[j]);
		if (known != NULL)
			*place_of(known, asked[j]->token) = *asked[j];
	}
	for (size_t i = 0; i < count && status == LEASH_OK; i++) {
		size_t j = find_client(asked, n, parties[i]);

		if (j < n)
			copy_but_token(parties[i], asked[j]);
	}
	for (size_t j = 0; j < n; j++)
		lsh_query_drop(qs[j]);
	return status;
}

/* ---- what a client has done ---- */

void
lsh_stats(struct lsh_engine *e, leash_stats *stats)
{
	struct lsh_router *router = lsh_engine_backend(e)->router;
	struct lsh_server *first = NULL; /* in use */

	lsh_engine_count(e, stats);
	stats->connected = stats->listening = lsh_router_count(router) > 0;
	lsh_router_gone(router, &stats->commands, &stats->connects);
	for (size_t i = 0; i < lsh_router_count(router); i++) {
		struct lsh_server *server = lsh_router_get(router, i);

		if (server == NULL)
			continue;
		stats->commands += lsh_pipeline_commands(lsh_node_pipeline(server->node));
		stats->connects += lsh_pipeline_connects(lsh_node_pipeline(server->node));
		/* else a replica, or gone: nothing is missing if that is not there */
		if (lsh_server_serves(server)) {
			stats->connected = stats->connected && lsh_node_is_up(server->node);
			stats->listening = stats->listening && lsh_node_is_subscribed(server->node);
			if (first == NULL || (!lsh_node_is_up(first->node) && lsh_node_is_up(server->node)))
				lsh_server_keep(&first, server); /* whose clock is known */
		}
		lsh_server_leave(server);
	}
	if (first != NULL)
		stats->server_ahead_ms = (lsh_node_server_us(first->node, lsh_now_ns()) - lsh_wall_us()) / 1000;
	lsh_server_leave(first);
}
