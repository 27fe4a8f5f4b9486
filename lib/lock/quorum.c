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

/* ---- does it count? ---- */

bool
lsh_quorum_counts(struct lsh_site *site, int64_t guard_ms, int64_t now)
{
	int64_t uptime;

	if (LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return true;
	uptime = lsh_node_uptime(site->node, now);
	return uptime != LSH_NEVER && uptime >= guard_ms * LSH_MS;
}

bool
lsh_quorum_excuse(struct lsh_site *site, int64_t guard_ms, int64_t now, leash_status *status, int *sys_errno, char *text, size_t size)
{
	int64_t uptime;

	if (!lsh_node_is_up(site->node)) {
		*status = lsh_node_trouble(site->node, text, size, sys_errno);
		return true;
	}
	if (lsh_quorum_counts(site, guard_ms, now))
		return false;
	*status = LEASH_UNAVAILABLE;
	*sys_errno = 0;
	uptime = lsh_node_uptime(site->node, now);
	if (uptime == LSH_NEVER)
		snprintf(text, size, "%.80s: it does not say for how long it has been up (INFO), which restart_guard_ms needs", lsh_node_shown(site->node));
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

void
lsh_quorum_connected(struct lsh_site *site)
{
	struct lsh_engine *e = site->engine;
	struct lsh_parker *opener = atomic_load(&e->quorum->opener);

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

/* The first attempt to connect has ended, and not well. Before that it has nothing to say but that there is no connection. */
static bool
has_failed(struct lsh_site *site, leash_error *why)
{
	int sys_errno = 0;

	if (lsh_node_is_up(site->node))
		return false;
	why->status = lsh_node_trouble(site->node, why->text, sizeof why->text, &sys_errno);
	why->sys_errno = sys_errno;
	return strstr(why->text, ": the connection was lost") == NULL;
}

/* Wait until a majority takes commands, or cannot. */
static leash_status
await_majority(struct lsh_engine *e, leash_error *err)
{
	struct lsh_quorum *q = e->quorum;
	struct lsh_thread *self = lsh_self();
	int64_t deadline = lsh_after(lsh_now_ns(), e->options.timeout + e->options.timeout / 4); /* the dials end by themselves */
	leash_error why = {LEASH_UNAVAILABLE, 0, "no answer in time"}, one;
	unsigned up, failed;
	char text[200];

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	atomic_store(&q->opener, &self->parker);
	for (;;) {
		struct lsh_site *waiting = NULL;
		int64_t now = lsh_now_ns(), look = lsh_after_ms(now, 5);

		up = failed = 0;
		for (size_t i = 0; i < e->site_count; i++) {
			if (lsh_node_is_up(e->sites[i]->node)) {
				up++;
			} else if (has_failed(e->sites[i], &one)) {
				failed++;
				if (failed == 1 || one.status == LEASH_DENIED)
					why = one;
			} else {
				waiting = e->sites[i];
			}
		}
		if (up >= q->majority || e->site_count - failed < q->majority || now >= deadline)
			break;
		/* any that connects wakes us; the others are looked at from time to time */
		lsh_node_await(waiting->node, &self->parker, false, look < deadline ? look : deadline);
	}
	atomic_store(&q->opener, NULL);
	if (up >= q->majority)
		return LEASH_OK;
	lsh_quorum_say(text, sizeof text, up, e->site_count, "answered", why.text);
	return lsh_fail(err, why.status, why.sys_errno, "%s", text);
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
		struct lsh_site *site = lsh_site_new(e, &q->uris[i]);

		if (site == NULL)
			goto no_memory;
		site->index = i;
		e->sites[i] = site;
		e->site_count = i + 1;
	}
	return await_majority(e, err);

no_memory:
	return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory, threads or descriptors");
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
