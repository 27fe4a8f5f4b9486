/* The servers of a quorum: made, connected and given up together; whether one counts; and the arithmetic of majorities. */
#include "lock/quorum.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The shortest round counts as this long, so that two whose rounds meet do not meet again; a few trips of a local network. */
#define SHORTEST_ROUND (2 * LSH_MS)
/* No pause is longer, unless a round is: it is how late the news may be that the lock is free. */
#define LONGEST_PAUSE (250 * LSH_MS)
/* Once a majority is there, or cannot be, an open waits at least this long for the others. */
#define LATECOMERS (20 * LSH_MS)

/* ---- arithmetic ---- */

unsigned
lsh_quorum_majority(size_t servers)
{
	return (unsigned)(servers / 2 + 1);
}

int64_t
lsh_quorum_nth_largest(const int64_t *moments, size_t count, unsigned majority)
{
	for (size_t i = 0; i < count; i++) {
		size_t larger = 0, same = 0;

		for (size_t j = 0; j < count; j++) {
			larger += moments[j] > moments[i];
			same += moments[j] == moments[i];
		}
		if (larger < majority && larger + same >= majority)
			return moments[i];
	}
	return 0;
}

int64_t
lsh_quorum_pause(int64_t round, unsigned rounds, uint32_t random)
{
	int64_t least = round > SHORTEST_ROUND ? round : SHORTEST_ROUND, span;

	/* who has waited for long need not ask so often, and many who began together drift apart */
	for (unsigned i = 1; i < rounds && least < LONGEST_PAUSE / 3; i++)
		least = least + least / 2 < LONGEST_PAUSE / 3 ? least + least / 2 : LONGEST_PAUSE / 3;
	span = 2 * least;
	return least + span / 65536 * (random % 65536);
}

int64_t
lsh_quorum_lapses_ms(const int64_t *ttls, size_t refusals, unsigned votes, unsigned majority)
{
	size_t wanted = majority > votes ? majority - votes : 1;

	for (size_t i = 0; i < refusals; i++) {
		size_t sooner = 0;

		if (ttls[i] < 0)
			continue;
		for (size_t j = 0; j < refusals; j++)
			sooner += ttls[j] >= 0 && (ttls[j] < ttls[i] || (ttls[j] == ttls[i] && j < i));
		if (sooner + 1 == wanted)
			return ttls[i];
	}
	return -1;
}

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
	nth = lsh_quorum_nth_largest(ends, count, majority);
	if (nth > 0)
		hold.remaining_ms = nth == INT64_MAX ? -1 : nth;
	hold.held_since_ms = (int64_t)(hold.fence / 256 / 1000);
	return hold;
}

unsigned
lsh_quorum_agree(const leash_lock_info *infos, size_t count, unsigned majority, leash_lock_info *agreed)
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

/* ---- fences ---- */

void
lsh_quorum_learn_fence(struct lsh_quorum *q, int64_t fence)
{
	int64_t last = atomic_load(&q->last_fence);

	while (last < fence && !atomic_compare_exchange_weak(&q->last_fence, &last, fence))
		;
}

int64_t
lsh_quorum_propose(struct lsh_quorum *q)
{
	struct timespec t;
	int64_t wall_us = clock_gettime(CLOCK_REALTIME, &t) == 0 && t.tv_sec > 0 ? (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 : 1;
	int64_t last = atomic_load(&q->last_fence), fence;

	do
		fence = wall_us > last ? wall_us : last + 1;
	while (!atomic_compare_exchange_weak(&q->last_fence, &last, fence));
	return fence;
}

/* By the clock of that server for which the others of a majority are ahead: one whose clock is anywhere decides nothing. A day less than
 * the scripts', since clocks are set meanwhile. */
int64_t
lsh_quorum_fence_most(struct lsh_engine *e, int64_t now)
{
	int64_t clocks[LSH_QUORUM_MAX];

	for (size_t i = 0; i < e->site_count; i++)
		clocks[i] = lsh_node_server_us_at_least(e->sites[i]->node, now);
	return lsh_quorum_nth_largest(clocks, e->site_count, e->quorum->majority) + LSH_FENCE_AHEAD_US - INT64_C(86400) * 1000000;
}

/* ---- does it count? ---- */

/* The site before this one that is the same server, by another name: it has one vote, there. */
static struct lsh_site *
twin_of(const struct lsh_site *site)
{
	const struct lsh_engine *e = site->engine;

	for (size_t i = 0; i < e->site_count && e->sites[i] != site; i++)
		if (lsh_node_is_same(e->sites[i]->node, site->node))
			return e->sites[i];
	return NULL;
}

bool
lsh_quorum_counts(struct lsh_site *site, int64_t guard_ms, int64_t now)
{
	int64_t uptime;

	if (LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return true;
	uptime = lsh_node_uptime(site->node, now);
	return uptime >= guard_ms * LSH_MS && twin_of(site) == NULL;
}

bool
lsh_quorum_excuse(struct lsh_site *site, int64_t guard_ms, int64_t now, leash_status *status, int *sys_errno, char *text, size_t size)
{
	const struct lsh_site *twin;
	int64_t uptime;

	if (!lsh_node_is_up(site->node)) {
		*status = lsh_node_trouble(site->node, text, size, sys_errno);
		return true;
	}
	if (lsh_quorum_counts(site, guard_ms, now))
		return false;
	*status = LEASH_UNAVAILABLE;
	*sys_errno = 0;
	twin = twin_of(site);
	uptime = lsh_node_uptime(site->node, now);
	if (twin == NULL && uptime < 0)
		*status = LEASH_DENIED; /* which does not get better by waiting */
	if (twin != NULL)
		snprintf(text, size, "%.80s: it is the same server as %.80s, and has one vote", lsh_node_shown(site->node), lsh_node_shown(twin->node));
	else if (uptime < 0)
		snprintf(text, size, "%.60s: %s", lsh_node_shown(site->node), lsh_hold_no_uptime);
	else
		snprintf(text, size, "%.60s: it was restarted, perhaps without its data, and does not count for another %lld ms (restart_guard_ms)",
		         lsh_node_shown(site->node), (long long)(guard_ms - uptime / LSH_MS));
	return true;
}

void
lsh_quorum_say(char *text, size_t size, unsigned n, size_t count, const char *what, const char *why)
{
	snprintf(text, size, "%u of %zu servers %s: %.160s", n, count, what, why);
}

/* ---- connecting ---- */

static void
bring_up(struct lsh_lock *lock, void *arg)
{
	const struct lsh_site *site = arg;
	struct lsh_list *at, *after;

	if (lock->hold != NULL)
		lsh_leg_give(lsh_ballot_leg(lock->hold->tenure->ballot, site));
	lsh_list_each(at, after, &lock->questions)
		lsh_leg_give(lsh_ballot_leg(lsh_container(at, struct lsh_ballot, question_link), site));
	lsh_list_each(at, after, &lock->lines) {
		struct lsh_line *line = lsh_container(at, struct lsh_line, link);
		struct lsh_waiter *first = lsh_line_first(line);

		if (line->tenure != NULL)
			lsh_leg_give(lsh_ballot_leg(line->tenure->ballot, site));
		else if (first != NULL && first->answered && first->trouble == LEASH_UNAVAILABLE) {
			first->rests_until = 0; /* it rests because there was no majority to be asked */
			lsh_waiter_wake(first);
		}
	}
}

static void
warn_of_twins(const struct lsh_site *site)
{
	const struct lsh_engine *e = site->engine;
	char text[240];

	for (size_t i = 0; i < e->site_count; i++)
		if (e->sites[i] != site && lsh_node_is_same(e->sites[i]->node, site->node)) {
			snprintf(text, sizeof text, "%.80s is the same server as %.80s, and has one vote: name each server of a quorum once",
			         lsh_node_shown(site->node), lsh_node_shown(e->sites[i]->node));
			lsh_courier_log(e->courier, LEASH_LOG_WARNING, text);
		}
}

void
lsh_quorum_connected(struct lsh_site *site)
{
	struct lsh_engine *e = site->engine;
	struct lsh_parker *opener = atomic_load(&e->quorum->opener);

	warn_of_twins(site);
	pthread_mutex_lock(&e->work_mutex);
	for (struct lsh_list *at = e->owed.next; at != &e->owed; at = at->next) {
		struct lsh_tenure *t = lsh_container(at, struct lsh_tenure, owed_link);
		struct lsh_leg *leg = lsh_ballot_leg(t->ballot, site);

		if (lsh_list_empty(&leg->work_link)) {
			lsh_tenure_retain(&t->timer);
			lsh_list_append(&site->legs, &leg->work_link);
		}
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_lock_each(e, bring_up, site);
	lsh_node_kick(site->node);
	if (opener != NULL)
		lsh_unpark(opener);
}

/* ---- life ---- */

/* It takes commands, and has a keeper that hears the answers: so what is asked of it goes out at once. */
static bool
is_ready(struct lsh_site *site)
{
	return lsh_node_is_up(site->node) && atomic_load(&site->keeper) != NULL;
}

/* What has become of the servers so far. */
struct roll {
	unsigned ready;
	unsigned failed; /* the first attempt to connect has ended, and it is not connected */
	leash_error why; /* of the first that has failed; but what only people can mend comes before what may pass: DENIED, then all but UNAVAILABLE */
};

static int
gravity(const leash_error *why)
{
	if (why->status == LEASH_UNAVAILABLE)
		return why->sys_errno != ENXIO; /* one that does not exist is not waited for: the others may come back */
	return why->status == LEASH_DENIED ? 3 : 2;
}

static void
call_roll(struct lsh_engine *e, struct roll *r)
{
	*r = (struct roll){0};
	for (size_t i = 0; i < e->site_count; i++) {
		const struct lsh_site *site = e->sites[i];
		leash_error why = {0};

		if (is_ready(e->sites[i])) {
			r->ready++;
			continue;
		}
		if (lsh_node_is_up(site->node) || !lsh_node_has_tried(site->node))
			continue;
		why.status = lsh_node_trouble(site->node, why.text, sizeof why.text, &why.sys_errno);
		if (r->failed++ == 0 || gravity(&why) > gravity(&r->why))
			r->why = why;
	}
}

/* There is no majority: of how many servers, and why the first of them, or the gravest. */
static leash_status
say_why_not(struct lsh_engine *e, const struct roll *r, leash_error *err)
{
	bool decided = e->site_count - r->failed < e->quorum->majority; /* without those that are still being connected to */
	unsigned silent = decided ? r->failed : (unsigned)e->site_count - r->ready;
	leash_status status = r->why.status;
	char text[200], why[sizeof r->why.text];
	int sys_errno = r->why.sys_errno;

	if (r->failed > 0) {
		snprintf(why, sizeof why, "%s", r->why.text);
	} else {
		size_t i = 0;

		while (i + 1 < e->site_count && is_ready(e->sites[i]))
			i++;
		status = LEASH_UNAVAILABLE;
		snprintf(why, sizeof why, "%.100s: no answer in time", lsh_node_shown(e->sites[i]->node));
	}
	lsh_quorum_say(text, sizeof text, silent, e->site_count, "could not be asked", why);
	return lsh_fail(err, status, sys_errno, "%s", text);
}

/* Wait until a majority takes commands, or cannot; and about as long again for the others, so that whoever acquires at once, and then is gone,
 * as the command is, has asked more than a bare majority; and whoever is refused is told what people have to mend, if there is such a thing. */
static leash_status
await_majority(struct lsh_engine *e, leash_error *err)
{
	struct lsh_quorum *q = e->quorum;
	struct lsh_thread *self = lsh_self();
	int64_t began = lsh_now_ns(), deadline = lsh_after(began, e->options.timeout + e->options.timeout / 4); /* the dials end by themselves */
	bool decided = false;
	struct roll r;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	atomic_store(&q->opener, &self->parker);
	for (;;) {
		int64_t now = lsh_now_ns(), look = lsh_after_ms(now, 5);

		call_roll(e, &r);
		if (r.ready + r.failed == e->site_count || now >= deadline)
			break;
		if (!decided && (r.ready >= q->majority || e->site_count - r.failed < q->majority)) {
			int64_t others = lsh_after(now, now - began > LATECOMERS ? now - began : LATECOMERS);

			decided = true;
			if (others < deadline)
				deadline = others;
		}
		/* any that is ready wakes us; the others are looked at from time to time */
		lsh_park(&self->parker, look < deadline ? look : deadline);
	}
	atomic_store(&q->opener, NULL);
	return r.ready >= q->majority ? LEASH_OK : say_why_not(e, &r, err);
}

leash_status
lsh_quorum_open(struct lsh_engine *e, leash_error *err)
{
	const struct lsh_uri *uri = e->options.uri;
	struct lsh_quorum *q = lsh_new(struct lsh_quorum);

	e->quorum = q;
	if (q == NULL)
		goto no_memory;
	q->majority = lsh_quorum_majority(uri->host_count);
	for (size_t i = 0; i < uri->host_count; i++)
		if (!lsh_uri_of_server(&q->uris[i], uri, uri->hosts[i].host, uri->hosts[i].port))
			goto no_memory;
	for (size_t i = 0; i < uri->host_count; i++) {
		struct lsh_site *site = lsh_site_new(e, &q->uris[i], 0);

		if (site == NULL)
			goto no_memory;
		site->index = i;
		e->sites[i] = site;
		e->site_count = i + 1;
	}
	return await_majority(e, err);

no_memory:
	return lsh_fail_short(err, errno, "cannot make the connections to the servers");
}

bool
lsh_quorum_is_settled(struct lsh_engine *e)
{
	for (size_t i = 0; i < e->site_count; i++)
		if (atomic_load(&e->sites[i]->owed_legs) > 0 && lsh_node_is_up(e->sites[i]->node))
			return false;
	return true;
}

void
lsh_quorum_drop(struct lsh_engine *e)
{
	for (size_t i = 0; i < e->site_count; i++) {
		struct lsh_site *site = e->sites[i];

		for (;;) {
			struct lsh_list *first;
			struct lsh_leg *leg;

			pthread_mutex_lock(&e->work_mutex);
			first = lsh_list_first(&site->legs);
			if (first != NULL)
				lsh_list_remove(first);
			pthread_mutex_unlock(&e->work_mutex);
			if (first == NULL)
				break;
			leg = lsh_container(first, struct lsh_leg, work_link);
			/* whoever read for all at the end may still be telling */
			while ((leg->way.out && atomic_load(&leg->way.ticket.outcome) == LSH_PENDING) ||
			       (leg->cancel.out && atomic_load(&leg->cancel.ticket.outcome) == LSH_PENDING))
				sched_yield();
			lsh_tenure_unref(leg->tenure);
		}
	}
}

void
lsh_quorum_free(struct lsh_quorum *q)
{
	if (q == NULL)
		return;
	for (size_t i = 0; i < LSH_QUORUM_MAX; i++)
		lsh_uri_clear(&q->uris[i]);
	lsh_free(q);
}
