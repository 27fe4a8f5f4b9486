#include "lease/lease.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "lease/batch.h"
#include "lease/host.h"
#include "lease/replicas.h"
#include "lease/resource.h"
#include "lease/vote.h"
#include "redis/listener.h"
#include "watchdog/pace.h"

#include <stdio.h>
#include <string.h>

const char lsh_no_uptime[] = "it does not say for how long it has been up, which restart_guard_ms needs: permit INFO (+info)";

bool
lsh_safety_covers(const struct lsh_safety *a, const struct lsh_safety *b)
{
	return b->min_replicas <= a->min_replicas && b->fsynced <= a->fsynced && b->restart_guard_ms <= a->restart_guard_ms;
}

int64_t
lsh_wish_lease_ms(const struct lsh_wish *want)
{
	return want->max_hold_ms > 0 && want->max_hold_ms < want->lease_ms ? want->max_hold_ms : want->lease_ms;
}

static const struct lsh_strategy *
strategy_of(const struct lsh_lease *lease)
{
	return lease->resource->backend->strategy;
}

/* ---- life ---- */

/* The lease, its votes and what the strategy keeps of it, in one piece. */
static struct lsh_lease *
allocate(const struct lsh_backend *b, size_t count)
{
	const struct lsh_strategy *s = b->strategy;
	size_t votes = sizeof(struct lsh_lease), round = votes + count * sizeof(struct lsh_vote);
	char *memory = lsh_alloc(round + s->round_size + count * s->round_vote_size);
	struct lsh_lease *lease = (void *)memory;

	if (lease == NULL)
		return NULL;
	lease->votes = (void *)(memory + votes);
	lease->round = s->round_size > 0 ? (void *)(memory + round) : NULL;
	lease->count = count;
	return lease;
}

static struct lsh_lease *
make(struct lsh_resource *r, const struct lsh_wish *want)
{
	struct lsh_backend *b = r->backend;
	struct lsh_lease *lease = allocate(b, b->strategy->has_queue ? 1 : lsh_router_count(b->router));

	if (lease == NULL)
		return NULL;
	/* before the server is asked: arming a lease that was granted cannot fail */
	if (!lsh_watchdog_reserve(b->watchdog)) {
		lsh_free(lease);
		return NULL;
	}
	atomic_init(&lease->references, 1);
	lease->resource = r;
	b->ops->retain(r);
	lsh_list_append(&r->leases, &lease->link);
	lsh_list_init(&lease->replicas_link);
	lease->lease_ms = lease->longest_ms = lsh_wish_lease_ms(want);
	lease->claim_ms = b->strategy->has_queue ? lsh_pace_claim_ms(lease->lease_ms) : 0;
	lease->safety = want->safety;
	lease->ends_at = LSH_NEVER;
	for (size_t i = 0; i < lease->count; i++)
		lsh_vote_init(&lease->votes[i], lease, b->strategy->has_queue ? lsh_resource_host(r) : lsh_host_at(b, i));
	lease->sharded = atomic_load(&lease->votes[0].host->sharded);
	return lease;
}

struct lsh_lease *
lsh_lease_new(struct lsh_resource *r, const struct lsh_wish *want)
{
	struct lsh_lease *lease = make(r, want);

	if (lease != NULL)
		lease->token_size = (unsigned char)lsh_token_write(lease->token, r->backend->uuid, lsh_numbers_next(&r->backend->numbers));
	return lease;
}

struct lsh_lease *
lsh_lease_new_for(struct lsh_resource *r, const struct lsh_wish *want, const char *token, size_t size)
{
	struct lsh_lease *lease = make(r, want);

	if (lease == NULL)
		return NULL;
	memcpy(lease->token, token, size);
	lease->token[size] = '\0';
	lease->token_size = (unsigned char)size;
	return lease;
}

bool
lsh_lease_is_for(const struct lsh_lease *lease, const char *token, size_t size)
{
	return lease->token_size == size && memcmp(lease->token, token, size) == 0;
}

struct lsh_lease *
lsh_lease_find(const struct lsh_resource *r, const char *token, size_t size)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		if (lsh_lease_is_for(lease, token, size))
			return lease;
	}
	return NULL;
}

struct lsh_lease *
lsh_lease_find_live(const struct lsh_resource *r, const char *token)
{
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		if (lease->state < LSH_ENDING && strcmp(lease->token, token) == 0)
			return lease;
	}
	return NULL;
}

void
lsh_lease_retain(struct lsh_lease *lease)
{
	atomic_fetch_add_explicit(&lease->references, 1, memory_order_relaxed);
}

void
lsh_lease_unref(struct lsh_lease *lease)
{
	struct lsh_resource *r = lease->resource;
	struct lsh_backend *b = r->backend;

	if (atomic_fetch_sub(&lease->references, 1) != 1)
		return;
	lsh_watchdog_unreserve(b->watchdog);
	for (size_t i = 0; i < lease->count; i++)
		lsh_vote_destroy(&lease->votes[i]);
	lsh_free(lease);
	b->ops->release(r);
}

void
lsh_lease_arm(struct lsh_lease *lease, int64_t due, int64_t slack)
{
	struct lsh_backend *b = lease->resource->backend;

	if (slack < 0) /* a mistake of ours about time, which is no reason to end the application */
		lsh_courier_log(b->courier, LEASH_LOG_ERROR, "a retry was due before the moment from which it was counted: it is made at once");
	lsh_watchdog_arm(b->watchdog, &lease->timer, due, slack);
}

void
lsh_lease_ask_for(struct lsh_lease *lease, int64_t lease_ms)
{
	if (lease_ms > lease->longest_ms)
		lease->longest_ms = lease_ms;
}

/* ---- acquiring ---- */

bool
lsh_lease_fits(const struct lsh_lease *lease, const struct lsh_wish *want)
{
	/* PENDING, it is acknowledged on another's terms */
	return (lease->state == LSH_NEW || lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING) && strategy_of(lease)->fits(lease, want);
}

static void
begin(struct lsh_lease *lease, struct lsh_wish *want)
{
	lease->want = want;
	lease->safety = want->safety;
	if (lease->state == LSH_NEW)
		lease->state = LSH_ACQUIRING;
	if (lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING) {
		lease->lease_ms = lsh_wish_lease_ms(want); /* but the claim, a part of its place, stays */
		lsh_lease_ask_for(lease, lease->lease_ms);
	}
}

int64_t
lsh_lease_acquire(struct lsh_lease *lease, struct lsh_wish *want)
{
	begin(lease, want);
	return strategy_of(lease)->acquire(lease, want);
}

int64_t
lsh_lease_adopt(struct lsh_lease *lease, struct lsh_wish *want)
{
	lease->adopting = true;
	begin(lease, want);
	return strategy_of(lease)->adopt(lease, want);
}

bool
lsh_lease_granted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ns, bool is_claim)
{
	const struct lsh_wish *want = lease->want;
	int64_t now = lsh_now_ns(), valid_until = lsh_pace_valid_until(LSH_MUTATES(LSH_REPLIES_COUNT) && !is_claim ? now : sent, lease_ns);

	if (lease->adopting && !lease->resource->events->adoptable(lease, fence))
		return false;
	lease->ends_at = want->max_hold_ms > 0 ? lsh_after_ms(sent, want->max_hold_ms) : LSH_NEVER;
	if (valid_until > lease->ends_at)
		valid_until = lease->ends_at; /* it was asked for on somebody else's terms */
	if (valid_until <= now || atomic_load(&lease->resource->backend->closing))
		return false;
	lease->fence = fence;
	lease->valid_until = valid_until;
	lease->span = lease_ns;
	lease->sent = sent;
	lease->full = !is_claim && lease_ns >= want->lease_ms * LSH_MS; /* part of a claim is over when it comes */
	lease->failures = 0;
	lease->turn_began = now;
	lease->depth = 1;
	if (lease->state == LSH_WAITING)
		atomic_fetch_sub(&lease->resource->backend->waiting, 1);
	lease->state = LSH_PENDING;
	if (lsh_safety_needs_replicas(&lease->safety))
		lsh_replicas_begin(lease, now);
	else
		lsh_lease_held(lease, now);
	return true;
}

void
lsh_lease_held(struct lsh_lease *lease, int64_t now)
{
	(void)now;
	lease->state = LSH_HELD;
	lease->adopting = false;
	if (!lease->resource->events->granted(lease)) {
		lsh_lease_give_up(lease);
		return;
	}
	lease->want = NULL;
	lsh_lease_schedule(lease, lease->sent, lease->span);
}

/* ---- holding ---- */

void
lsh_lease_prolong(struct lsh_lease *lease, int64_t sent, int64_t lease_ns)
{
	int64_t valid_until = lsh_pace_valid_until(sent, lease_ns);

	if (valid_until > lease->ends_at)
		valid_until = lease->ends_at; /* it was asked for before this hold, or sent later than it was made */
	if (valid_until <= lease->valid_until)
		return;
	lease->valid_until = valid_until;
	lease->span = lease_ns;
	lease->sent = sent;
}

void
lsh_lease_schedule(struct lsh_lease *lease, int64_t sent, int64_t lease_ns)
{
	int64_t due = lease->resource->events->wants_ms(lease, sent) != 0 ? lsh_pace_next(sent, lease_ns, lsh_random32()) : LSH_NEVER;

	if (due < lease->valid_until)
		lsh_lease_arm(lease, due, lsh_pace_slack(lease_ns));
	else
		lsh_lease_arm(lease, lease->valid_until, 0);
}

bool
lsh_lease_extend(struct lsh_lease *lease, struct lsh_parker *reader)
{
	if (lsh_lease_is_acknowledged(lease)) {
		lsh_replicas_due(lease);
		return true;
	}
	return strategy_of(lease)->extend(lease, reader);
}

int64_t
lsh_lease_wants_ms(struct lsh_lease *lease, int64_t now)
{
	int64_t ms = lease->resource->events->wants_ms(lease, now);

	if (lease->extend_ms > ms)
		ms = lease->extend_ms;
	return ms > 0 ? ms : 0;
}

int64_t
lsh_lease_extend_limit(const struct lsh_lease *lease, int64_t now)
{
	return lsh_lease_is_acknowledged(lease) ? lsh_after(now, lsh_replicas_time_for(lease)) : LSH_NEVER;
}

void
lsh_lease_hand_off(struct lsh_lease *lease, void *user)
{
	lease->user = user;
	lease->depth = 1;
	lease->handed_off++;
	lease->ends_at = LSH_NEVER;
}

void
lsh_lease_hurry(struct lsh_lease *lease)
{
	lsh_lease_arm(lease, lsh_after(lsh_now_ns(), 0), 0);
}

void
lsh_lease_check(struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		lsh_vote_due(&lease->votes[i]);
}

void
lsh_lease_failed(struct lsh_lease *lease, const char *event, bool node_is_up)
{
	int64_t now = lsh_now_ns(), again = lease->valid_until;

	if (now >= lease->valid_until) {
		lsh_lease_lose(lease, lease->resource->events->why_over(lease, now));
		return;
	}
	lease->failures++;
	lease->resource->events->at_risk(lease, 0, 0, event);
	if (node_is_up)
		again = lsh_pace_retry(now, lease->failures, lease->valid_until, lsh_random32());
	/* else all that is held is renewed as soon as there is a connection */
	lsh_lease_arm(lease, again, (again - now) / 2);
}

void
lsh_lease_warn_of_no_ttl(const struct lsh_lease *lease, const struct lsh_host *host)
{
	char line[400];

	snprintf(line, sizeof line, "lock '%.160s': %.80s: its key had no TTL, as after PERSIST; the renewal gave it one again", lease->resource->shown,
	         lsh_host_shown(host));
	lsh_courier_log(host->backend->courier, LEASH_LOG_WARNING, line);
}

/* ---- the end ---- */

static void
begin_end(struct lsh_lease *lease)
{
	struct lsh_backend *b = lease->resource->backend;
	int64_t now = lsh_now_ns();

	if (LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_lease_retain(lease);
	else
		lsh_watchdog_forget(b->watchdog, &lease->timer);
	if (lease->state == LSH_WAITING)
		atomic_fetch_sub(&b->waiting, 1);
	lease->state = LSH_ENDING;
	lease->want = NULL;
	lease->failures = 0;
	lsh_replicas_forget(lease);
	/* the last request is refused after one timeout, and no renewal is sent any more; the rest is for clocks that differ */
	lease->lapses_at = lsh_after_ms(now, b->options.timeout / LSH_MS + lease->longest_ms + lease->longest_ms / 50 + 2000);
	if (now == LSH_NEVER)
		lease->lapses_at = LSH_NEVER; /* nobody knows: its cancel must be answered */
	atomic_fetch_add(&b->ending, 1);
	lsh_lease_retain(lease); /* until it is ENDED */
}

void
lsh_lease_arm_end(struct lsh_lease *lease)
{
	int64_t at = lease->lapses_at;

	if (lease->state != LSH_ENDING || atomic_load(&lease->resource->backend->stopped))
		return;
	for (size_t i = 0; i < lease->count; i++) {
		const struct lsh_vote *v = &lease->votes[i];

		if (v->state == LSH_VOTE_ENDING && v->cancel == NULL && v->again_at < at)
			at = v->again_at;
	}
	lsh_lease_arm(lease, at, 0);
}

/* Of several servers each has a thread that reads: see lsh_lease_source(). */
static void
end(struct lsh_lease *lease, struct lsh_parker *reader)
{
	if (lease->state >= LSH_ENDING)
		return;
	if (!strategy_of(lease)->has_queue)
		reader = NULL;
	if (strategy_of(lease)->ends != NULL)
		strategy_of(lease)->ends(lease);
	begin_end(lease);
	for (size_t i = 0; i < lease->count; i++) {
		lsh_batch_withdraw(&lease->votes[i]); /* no renewal is sent after the cancel */
		lsh_vote_end(&lease->votes[i], reader);
	}
	if (!LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_lease_arm_end(lease);
}

void
lsh_lease_settled(struct lsh_lease *lease)
{
	struct lsh_backend *b = lease->resource->backend;
	struct lsh_parker *closer;

	if (lease->state != LSH_ENDING)
		return;
	lease->state = LSH_ENDED;
	if (!LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_watchdog_forget(b->watchdog, &lease->timer);
	lsh_list_remove(&lease->link);
	if (atomic_fetch_sub(&b->ending, 1) == 1 && (closer = atomic_load(&b->closer)) != NULL)
		lsh_unpark(closer);
	if (!LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_lease_unref(lease); /* not the last: the caller has one */
}

void
lsh_lease_release(struct lsh_lease *lease, struct lsh_parker *reader)
{
	end(lease, reader);
	lsh_lease_unref(lease);
}

void
lsh_lease_forget(struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		lease->votes[i].late.asked = false;
	lsh_lease_release(lease, NULL);
}

void
lsh_lease_release_everywhere(struct lsh_lease *lease, struct lsh_parker *reader)
{
	lease->breaks = true;
	for (size_t i = 0; i < lease->count; i++)
		lease->votes[i].late.asked = true;
	lsh_lease_release(lease, reader);
}

bool
lsh_lease_is_maybe_broken(const struct lsh_lease *lease)
{
	return lease->count > 1 || lease->votes[0].cancel_unknown || (lease->votes[0].cancel != NULL && lease->votes[0].cancel->out);
}

void
lsh_lease_stop_breaking(struct lsh_lease *lease)
{
	if (lease->count == 1)
		lsh_vote_ended(&lease->votes[0]);
}

void
lsh_lease_lose(struct lsh_lease *lease, const char *why)
{
	const struct lsh_lease_events *events = lease->resource->events;
	bool was_pending = lease->state == LSH_PENDING;
	leash_error err;

	end(lease, NULL);
	if (was_pending) {
		lsh_fail(&err, LEASH_UNAVAILABLE, 0, "%s", why);
		events->failed(lease, &err);
	} else {
		events->lost(lease, why);
		lsh_lease_unref(lease); /* its holder's */
	}
}

void
lsh_lease_give_up(struct lsh_lease *lease)
{
	end(lease, NULL);
}

void
lsh_lease_describe(struct lsh_lease *lease, leash_error *why)
{
	strategy_of(lease)->describe(lease, why);
}

/* ---- who reads ---- */

void
lsh_lease_source(const struct lsh_lease *lease, struct lsh_source *source)
{
	const struct lsh_vote *v = &lease->votes[0];
	const struct lsh_call *call = v->cancel != NULL ? v->cancel : &v->call;

	*source = (struct lsh_source){.host = NULL};
	if (!strategy_of(lease)->has_queue)
		return; /* several servers, each with its thread that reads */
	if (call->out && call->ticket.reader != NULL) {
		source->host = lsh_host_of(call->server);
		source->epoch = call->ticket.epoch;
		source->number = call->ticket.number;
	} else if (lease->state == LSH_WAITING) {
		source->host = v->host;
		source->messages = true;
	}
	if (source->host != NULL)
		lsh_server_use(&source->host->server);
}

void
lsh_source_read(struct lsh_source *source, struct lsh_parker *parker, bool (*over)(void *arg), void *arg, int64_t until)
{
	struct lsh_node *node = source->host->server.node;

	if (source->messages)
		lsh_listener_wait(lsh_node_listener(node), parker, until, over, arg);
	else
		lsh_pipe_wait(lsh_node_pipe(node), parker, source->epoch, source->number, over, arg, until);
	lsh_server_leave(&source->host->server);
}

const char *
lsh_lease_why_over(const struct lsh_lease *lease)
{
	return strategy_of(lease)->why_over;
}

/* ---- the watchdog's thread ---- */

static void
fire_held(struct lsh_lease *lease, int64_t now)
{
	const struct lsh_lease_events *events = lease->resource->events;
	int64_t wants_ms, look;

	if (now >= lease->valid_until) {
		lsh_lease_lose(lease, events->why_over(lease, now));
		return;
	}
	wants_ms = events->wants_ms(lease, now);
	if (wants_ms < 0) { /* put off by the owner */
		int64_t again = now + lease->lease_ms * LSH_MS / 12;

		lease->wanted_at = 0;
		events->at_risk(lease, 0, 0, "leash_lock_alive() is overdue: not renewed until it is called");
		lsh_lease_arm(lease, again < lease->valid_until ? again : lease->valid_until, 0);
	} else if (wants_ms == 0) {
		lsh_lease_arm(lease, lease->valid_until, 0);
	} else if (lease->wanted_at == 0) {
		look = now + lease->lease_ms * LSH_MS / 4;
		lease->wanted_at = now;
		lsh_lease_arm(lease, look < lease->valid_until ? look : lease->valid_until, 0);
		if (lsh_lease_is_acknowledged(lease))
			lsh_replicas_due(lease);
		else
			strategy_of(lease)->renew(lease, now);
	} else {
		/* whoever is asked may have more patience than this lease has */
		lsh_lease_arm(lease, lease->valid_until, 0);
		if (!LSH_MUTATES(LSH_SILENCE_IS_BORNE) && !lsh_lease_is_acknowledged(lease))
			strategy_of(lease)->silent(lease);
	}
}

static void
fire(struct lsh_lease *lease, int64_t now)
{
	switch (lease->state) {
	case LSH_PENDING:
		if (now >= lease->valid_until) {
			lsh_lease_lose(lease, "its lease ran out before enough replicas acknowledged it");
			return;
		}
		lsh_lease_arm(lease, lease->valid_until, 0);
		lsh_replicas_due(lease);
		break;
	case LSH_HELD:
		fire_held(lease, now);
		break;
	case LSH_WAITING:
		lsh_lease_arm(lease, lsh_pace_word(now, now, lease->claim_ms * LSH_MS, -1), lsh_pace_slack(lease->claim_ms * LSH_MS));
		if (!LSH_MUTATES(LSH_WORDS_ARE_NOT_SAID))
			lsh_lease_check(lease);
		break;
	case LSH_ENDING:
		lsh_lease_check(lease);
		break;
	default:
		if (LSH_MUTATES(LSH_RENEWALS_GO_ON))
			lsh_lease_check(lease);
		break;
	}
}

void
lsh_lease_retain_timer(struct lsh_timer *timer)
{
	lsh_lease_retain(lsh_container(timer, struct lsh_lease, timer));
}

void
lsh_lease_fire(void *ctx, const struct lsh_due *due, size_t count)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		struct lsh_lease *lease = lsh_container(due[i].timer, struct lsh_lease, timer);

		lsh_monitor_enter(&lease->resource->monitor);
		if (lease->timer.generation == due[i].generation)
			fire(lease, lsh_now_ns());
		lsh_monitor_leave(&lease->resource->monitor);
		lsh_lease_unref(lease);
	}
}
