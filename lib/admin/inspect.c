#include "admin/inspect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "lease/electorate.h"
#include "lease/tally.h"

#include <errno.h>
#include <string.h>

/* ---- who has it ---- */

static bool
is_same_hold(const leash_lock_info *a, const leash_lock_info *b)
{
	return a->held && b->held && strcmp(a->holder.token, b->holder.token) == 0;
}

/* The hold that is told of in `of`, as all see it who do. */
static leash_lock_info
hold_of(const leash_lock_info *infos, size_t count, unsigned majority, const leash_lock_info *of)
{
	leash_lock_info hold = *of;
	int64_t ends[LSH_QUORUM_MAX] = {0}, nth;
	bool known = false;

	for (size_t i = 0; i < count; i++) {
		unsigned same = 0;

		if (!is_same_hold(&infos[i], of))
			continue;
		ends[i] = infos[i].remaining_ms < 0 ? INT64_MAX : infos[i].remaining_ms;
		if (infos[i].depth > hold.depth)
			hold.depth = infos[i].depth;
		for (size_t j = 0; j < count; j++)
			same += is_same_hold(&infos[j], of) && infos[j].fence == infos[i].fence;
		if (same >= majority || (!known && infos[i].fence > hold.fence))
			hold.fence = infos[i].fence;
		known |= same >= majority;
	}
	nth = lsh_tally_nth_largest(ends, count, majority);
	if (nth > 0)
		hold.remaining_ms = nth == INT64_MAX ? -1 : nth;
	hold.held_since_ms = (int64_t)(hold.fence / 256 / 1000);
	hold.waiting = 0; /* who waits is known to nobody but to those who do */
	hold.no_queue = true;
	return hold;
}

unsigned
lsh_agreement(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed)
{
	unsigned most = 0;

	for (size_t i = 0; i < count; i++) {
		unsigned agree = 0;

		for (size_t j = 0; j < count; j++)
			agree += is_same_hold(&infos[j], &infos[i]);
		if (agree > most) {
			most = agree;
			*agreed = hold_of(infos, count, majority, &infos[i]);
		}
	}
	return most;
}

/* What the servers of a quorum have said so far. */
struct opinion {
	unsigned majority; /* so many have to agree */
	unsigned answered, pending;
	unsigned away;     /* of the others: may answer once there is a connection again */
	unsigned agree;    /* that the lock is its holder's: as many as agree on any one */
	const struct lsh_ask *in_the_way; /* one that has no answer, rather one that says why; or NULL */
	leash_lock_info info;
};

bool
lsh_ask_read(const struct lsh_ask *a, leash_lock_info *info)
{
	leash_hold_info hold;
	size_t count;

	return a->state == LSH_REPLIED && lsh_lock_lines_read(a->text, info, &hold, 1, &count);
}

static void
form_opinion(const struct lsh_query *q, struct opinion *o)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0};
	uint64_t fence = 0;

	*o = (struct opinion){.majority = q->backend->majority};
	for (size_t i = 0; i < q->count; i++) {
		const struct lsh_ask *a = &q->asks[i];
		bool pending = lsh_ask_is_pending(a), known = lsh_ask_read(a, &infos[i]);

		o->answered += known;
		o->pending += pending;
		o->away += a->state == LSH_ASKING && !pending;
		if (!known && (o->in_the_way == NULL || (o->in_the_way->why.status == LEASH_OK && a->why.status != LEASH_OK)))
			o->in_the_way = a;
		if (infos[i].fence > fence)
			fence = infos[i].fence;
	}
	o->agree = lsh_agreement(infos, q->count, o->majority, &o->info);
	if (o->agree < o->majority) /* single votes make no holder */
		o->info = (leash_lock_info){.fence = fence, .limit = -1, .no_queue = true};
}

/* When one has a majority, or nobody can have, enough is known; what most servers cannot say yet is waited for. */
static bool
is_formed(const struct lsh_query *q)
{
	struct opinion o;

	form_opinion(q, &o);
	if (o.agree >= o.majority)
		return true;
	return o.answered >= o.majority ? o.agree + o.pending < o.majority
	                                : o.answered + o.pending + o.away < o.majority;
}

static leash_status
hear_all(struct lsh_sight *sight, const struct lsh_query *q, leash_error *why)
{
	struct opinion o;

	form_opinion(q, &o);
	if (o.answered < o.majority) {
		lsh_ask_explain(o.in_the_way, why);
		return lsh_electorate_fail(why, (unsigned)q->count - o.answered, q->count, "did not answer", why);
	}
	sight->info = o.info;
	sight->count = o.info.held;
	sight->hold[0].size = sizeof sight->hold[0];
	sight->hold[0].who = o.info.holder;
	sight->hold[0].remaining_ms = o.info.remaining_ms;
	return LEASH_OK;
}

static leash_status
ask(struct lsh_sight *sight, struct lsh_query *q, size_t most, int64_t deadline, leash_error *why)
{
	leash_status status;

	if (q != NULL && !q->by_slot)
		q->is_enough = is_formed;
	status = lsh_queries_ask(sight->backend, &q, 1, deadline, why);
	if (status != LEASH_OK)
		return status;
	if (!q->by_slot)
		status = hear_all(sight, q, why);
	else if (q->asks[0].state != LSH_REPLIED ||
	         !lsh_lock_lines_read(q->asks[0].text, &sight->info, sight->hold, most, &sight->count))
		status = lsh_ask_explain(&q->asks[0], why);
	if (status != LEASH_OK)
		lsh_fail(why, status, why->sys_errno, "not known who has it: %s", why->text);
	return status;
}

/* Of each hold, as far as that is known. */
static leash_status
identify(struct lsh_sight *sight, int64_t deadline, leash_error *why)
{
	leash_party *who[LSH_QUERIES];
	leash_status status = LEASH_OK;

	for (size_t i = 0, n; i < sight->count && status == LEASH_OK; i += n) {
		for (n = 0; n < LSH_QUERIES && i + n < sight->count; n++)
			who[n] = &sight->hold[i + n].who;
		status = lsh_identify(sight->backend, NULL, who, n, deadline, why);
	}
	if (sight->count > 0)
		sight->info.holder = sight->hold[0].who;
	return status;
}

leash_status
lsh_inspect(struct lsh_sight **out, struct lsh_lock *lock, bool all, bool who, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	size_t most = all ? LSH_HOLDS : 1;
	struct lsh_sight *sight = lsh_alloc(sizeof *sight + most * sizeof sight->hold[0]);
	struct lsh_query *q = lsh_query_new(r->backend, all ? LSH_WHO_SHARES : LSH_WHO_HAS, r->kind, lsh_resource_key(r),
	                                    r->key_size);
	int64_t deadline = lsh_after(lsh_now_ns(), r->backend->options.timeout);
	leash_status status = LEASH_NO_MEMORY;
	leash_error why = {.sys_errno = ENOMEM, .text = "out of memory"};

	if (sight != NULL) {
		sight->backend = r->backend;
		status = ask(sight, q, most, deadline, &why);
	}
	if (status == LEASH_OK && who)
		status = identify(sight, deadline, &why);
	lsh_query_drop(q);
	if (status != LEASH_OK) {
		lsh_free(sight);
		return lsh_fail(err, status, why.sys_errno, "%s '%s': %s", r->kind->name, lsh_resource_shown(r), why.text);
	}
	sight->info.size = sizeof sight->info;
	sight->info.no_queue |= r->kind->channel != NULL;
	strcpy(sight->info.name, lsh_lock_name(lock));
	*out = sight;
	return LEASH_OK;
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
lsh_identify(struct lsh_backend *b, struct lsh_acquaintances *known, leash_party *const *parties, size_t count,
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
			qs[n] = lsh_query_new(b, LSH_WHO_IS, NULL, parties[i]->token, strlen(parties[i]->token));
			if (qs[n] != NULL)
				qs[n]->is_enough = is_identified;
			asked[n++] = parties[i];
		}
	}
	status = lsh_queries_ask(b, qs, n, deadline, err);
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
