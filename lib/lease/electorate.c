#include "lease/electorate.h"

#include "base/error.h"
#include "base/mutation.h"
#include "base/thread.h"
#include "lease/tally.h"

#include <errno.h>

/* Once a majority is there, or cannot be, an open waits at least this long for the others. */
#define LATECOMERS (20 * LSH_MS)

leash_status
lsh_electorate_fail(leash_error *err, unsigned n, size_t count, const char *what, const leash_error *why)
{
	return lsh_fail(err, why->status, why->sys_errno, "%u of %zu servers %s: %.160s", n, count, what, why->text);
}

static int
gravity(const leash_error *why)
{
	if (why->status == LEASH_UNAVAILABLE)
		return why->sys_errno != ENXIO; /* one that does not exist is not waited for: the others may come back */
	return why->status == LEASH_DENIED ? 3 : 2;
}

void
lsh_excuses_add(struct lsh_excuses *x, const leash_error *why)
{
	x->lasting += why->status != LEASH_UNAVAILABLE && why->status != LEASH_NO_MEMORY;
	if (x->count++ == 0 || gravity(why) > gravity(&x->why))
		x->why = *why;
}

/* ---- fences ---- */

void
lsh_electorate_learn_fence(struct lsh_backend *b, int64_t fence)
{
	int64_t last = atomic_load(&b->last_fence);

	while (last < fence && !atomic_compare_exchange_weak(&b->last_fence, &last, fence))
		;
}

int64_t
lsh_electorate_propose(struct lsh_backend *b)
{
	int64_t wall_us = lsh_wall_us(), last = atomic_load(&b->last_fence), fence;

	do
		fence = wall_us > last ? wall_us : last + 1;
	while (!atomic_compare_exchange_weak(&b->last_fence, &last, fence));
	return fence;
}

/* The largest that may be believed: what is larger would be refused, or be replaced, by a majority. By the clock of
 * that server for which the others of a majority are ahead: one whose clock is anywhere decides nothing. A day less
 * than the scripts', since clocks are set meanwhile. */
static int64_t
fence_most(struct lsh_backend *b, int64_t now)
{
	int64_t clocks[LSH_QUORUM_MAX];
	size_t count = 0;

	lsh_each_host(host, b)
		clocks[count++] = lsh_node_server_us_at_least(host->server.node, now);
	return lsh_tally_nth_largest(clocks, count, b->majority) + LSH_FENCE_AHEAD_US - INT64_C(86400) * 1000000;
}

bool
lsh_electorate_believes(struct lsh_host *host, int64_t fence, leash_error *why)
{
	static const char text[] =
		"its vote does not count: its fence is a year or more ahead of the clocks (TIME) of most servers";
	int64_t now = lsh_now_ns(), before = atomic_load(&host->accused_at);

	if (fence <= fence_most(host->backend, now) || LSH_MUTATES(LSH_ANY_FENCE_IS_BELIEVED)) {
		lsh_electorate_learn_fence(host->backend, fence);
		return true;
	}
	lsh_fail(why, LEASH_PROTOCOL, 0, "%.60s: %.138s", lsh_host_shown(host), text);
	/* as long as the others make a majority nobody else tells of it; once a minute is enough */
	if ((before == 0 || now - before >= 60 * LSH_S) &&
	    atomic_compare_exchange_strong(&host->accused_at, &before, now))
		lsh_courier_log(host->backend->courier, LEASH_LOG_WARNING, "%.120s: %s", lsh_host_shown(host), text);
	return false;
}

/* ---- who counts ---- */

/* The host before this one that is the same server, by another name: it has one vote, there. */
static struct lsh_host *
twin_of(const struct lsh_host *host)
{
	lsh_each_host(other, host->backend)
		if (other == host || lsh_node_is_same(other->server.node, host->server.node))
			return other != host ? other : NULL;
	return NULL;
}

void
lsh_electorate_warn_of_twins(struct lsh_host *host)
{
	lsh_each_host(other, host->backend)
		if (other != host && lsh_node_is_same(other->server.node, host->server.node))
			lsh_courier_log(host->backend->courier, LEASH_LOG_WARNING,
			                "%.80s is the same server as %.80s, and has one vote: name each server of a quorum once",
			                lsh_host_shown(host), lsh_host_shown(other));
}

bool
lsh_electorate_counts(struct lsh_host *host, int64_t guard_ms, int64_t now)
{
	if (LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return true;
	return lsh_node_uptime(host->server.node, now) >= guard_ms * LSH_MS && twin_of(host) == NULL;
}

bool
lsh_electorate_excuse(struct lsh_host *host, int64_t guard_ms, int64_t now, leash_error *why)
{
	const struct lsh_host *twin;

	*why = (leash_error){LEASH_OK, 0, ""};
	if (!lsh_host_is_up(host)) {
		lsh_node_trouble(host->server.node, why);
		return true;
	}
	if (lsh_electorate_counts(host, guard_ms, now))
		return false;
	twin = twin_of(host);
	if (twin != NULL)
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.80s: it is the same server as %.80s, and has one vote",
		         lsh_host_shown(host), lsh_host_shown(twin));
	else
		lsh_host_explain_guard(host, guard_ms, now, ", and does not count", why);
	return true;
}

/* ---- connecting ---- */

/* What has become of the servers so far. */
struct roll {
	unsigned ready;
	struct lsh_excuses failed; /* the first attempt to connect has ended, and it is not connected */
};

static void
call_roll(const struct lsh_backend *b, struct roll *r)
{
	*r = (struct roll){0};
	lsh_each_host(host, b) {
		leash_error why = {0};

		if (lsh_host_is_up(host)) {
			r->ready++;
			continue;
		}
		if (!lsh_node_has_tried(host->server.node))
			continue;
		lsh_node_trouble(host->server.node, &why);
		lsh_excuses_add(&r->failed, &why);
	}
}

/* There is no majority: of how many servers, and why the first of them, or the gravest. */
static leash_status
say_why_not(const struct lsh_backend *b, const struct roll *r, leash_error *err)
{
	size_t count = lsh_router_count(b->router), i = 0;
	bool decided = count - r->failed.count < b->majority; /* without those that are still being connected to */
	unsigned silent = decided ? r->failed.count : (unsigned)count - r->ready;
	leash_error why = r->failed.why;

	if (r->failed.count == 0) {
		while (i + 1 < count && lsh_host_is_up(lsh_host_at(b, i)))
			i++;
		lsh_fail(&why, LEASH_UNAVAILABLE, 0, "%.100s: no answer in time", lsh_host_shown(lsh_host_at(b, i)));
	}
	return lsh_electorate_fail(err, silent, count, "could not be asked", &why);
}

/* And about as long again for the others, so that whoever acquires at once, and then is gone, as the command is, has
 * asked more than a bare majority; and whoever is refused is told what people have to mend, if there is such a
 * thing. */
leash_status
lsh_electorate_await(struct lsh_backend *b, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	/* the attempts end by themselves */
	int64_t began = lsh_now_ns(), deadline = lsh_after(began, b->options.timeout + b->options.timeout / 4);
	size_t count = lsh_router_count(b->router);
	bool decided = false;
	struct roll r;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	atomic_store(&b->awaits, &self->parker);
	for (;;) {
		int64_t now = lsh_now_ns(), look = lsh_after_ms(now, 5);

		call_roll(b, &r);
		if (r.ready + r.failed.count == count || now >= deadline)
			break;
		if (!decided && (r.ready >= b->majority || count - r.failed.count < b->majority)) {
			int64_t others = lsh_after(now, now - began > LATECOMERS ? now - began : LATECOMERS);

			decided = true;
			if (others < deadline)
				deadline = others;
		}
		/* any that is ready wakes us; the others are looked at from time to time */
		lsh_park(&self->parker, look < deadline ? look : deadline);
	}
	atomic_store(&b->awaits, NULL);
	return r.ready >= b->majority ? LEASH_OK : say_why_not(b, &r, err);
}
