#include "lease/lease.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "lease/host.h"
#include "redis/pubsub.h"
#include "watchdog/pace.h"

#include <limits.h>
#include <string.h>

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

/* After a restart locks may be held that the server has forgotten. A message may come from a life of the server that
 * the connection for commands has not met yet. */
bool
lsh_lease_is_guarded(const struct lsh_lease *lease, bool by_message)
{
	struct lsh_node *node = lsh_resource_host(lease->resource)->server.node;
	int64_t guard = lease->want->restart_guard_ms * LSH_MS;

	if (guard == 0)
		return false;
	return (by_message && !lsh_node_is_subscribed(node)) || lsh_node_uptime(node, lsh_now_ns()) < guard;
}

/* ---- life ---- */

/* The lease, its votes, what the strategy keeps of it, and a token that is not ours, or that it is in place of, in one
 * piece. */
static struct lsh_lease *
allocate(const struct lsh_backend *b, uint64_t number, const char *foreign, const char *old, size_t size)
{
	const struct lsh_strategy *s = b->strategy;
	size_t count = s->has_queue ? 1 : lsh_router_count(b->router);
	size_t round = sizeof(struct lsh_lease) + count * sizeof(struct lsh_vote);
	size_t text = round + s->round_size + count * s->round_vote_size;
	struct lsh_lease *lease = lsh_alloc(text + (foreign != NULL || old != NULL ? size + 1 : 0));

	if (lease == NULL)
		return NULL;
	lease->count = (unsigned char)count;
	lease->foreign = foreign != NULL;
	lease->token.number = number;
	if (foreign != NULL)
		lease->token.text = memcpy((char *)lease + text, foreign, size);
	if (old != NULL)
		lease->old = memcpy((char *)lease + text, old, size);
	return lease;
}

/* Of this number, or `foreign`; in place of `old`, or NULL. */
static struct lsh_lease *
new(struct lsh_resource *r, const struct lsh_wish *want, uint64_t number, const char *foreign, const char *old,
    size_t size)
{
	struct lsh_backend *b = r->backend;
	struct lsh_lease *lease = allocate(b, number, foreign, old, size);
	bool made = lease != NULL;

	for (size_t i = 0; made && i < lease->count; i++) {
		struct lsh_host *host = b->strategy->has_queue ? lsh_resource_host(r) : lsh_host_at(b, i);

		lsh_vote_init(&lease->votes[i], lease, host);
		made = lease->votes[i].saying != NULL;
	}
	/* before the server is asked: arming a lease that was granted cannot fail */
	if (!made || !lsh_watchdog_reserve(b->watchdog)) {
		lsh_lease_free(lease);
		return NULL;
	}
	atomic_init(&lease->references, 1);
	lease->resource = r;
	b->ops->retain(r);
	lsh_list_append(&r->leases, &lease->link);
	lease->lease_ms = lease->longest_ms = (int32_t)lsh_wish_lease_ms(want);
	lease->claim_ms = b->strategy->has_queue ? (int32_t)lsh_pace_claim_ms(lease->lease_ms) : 0;
	lease->safety = want->safety;
	lease->need = want->need;
	lease->ends_at = LSH_NEVER;
	lease->sharded = atomic_load(&lease->votes[0].host->sharded);
	return lease;
}

struct lsh_lease *
lsh_lease_new(struct lsh_resource *r, const struct lsh_wish *want)
{
	return new(r, want, lsh_numbers_next(&r->backend->numbers), NULL, NULL, 0);
}

struct lsh_lease *
lsh_lease_new_instead(struct lsh_lease *old, const struct lsh_wish *want)
{
	struct lsh_resource *r = old->resource;
	char who[LSH_WHO_SIZE];
	size_t size = lsh_lease_who(old, who);
	struct lsh_lease *lease = new(r, want, lsh_numbers_next(&r->backend->numbers), NULL, who, size);

	if (lease == NULL)
		return NULL;
	lease->trades = old->traded = true;
	lsh_list_remove(&lease->link);
	lsh_list_append(&old->link, &lease->link); /* before it: who visits leases may end the one that he is at */
	return lease;
}

struct lsh_lease *
lsh_lease_new_for(struct lsh_resource *r, const struct lsh_wish *want, const char *token, size_t size)
{
	uint64_t number = 0;
	bool is_ours = lsh_token_read(token, size, r->backend->uuid, &number);

	return new(r, want, number, is_ours ? NULL : token, NULL, size);
}

/* ---- acquiring ---- */

bool
lsh_lease_fits(struct lsh_lease *lease, const struct lsh_wish *want)
{
	/* PENDING, it is acknowledged on another's terms */
	return (lease->state == LSH_NEW || lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING) &&
	       lease->need == want->need && strategy_of(lease)->fits(lease, want);
}

void
lsh_lease_serve(struct lsh_lease *lease, struct lsh_wish *want)
{
	lease->want = want;
	lease->safety = want->safety;
	if (lease->state == LSH_NEW)
		lease->state = LSH_ACQUIRING;
	if (lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING) {
		lease->lease_ms = (int32_t)lsh_wish_lease_ms(want); /* but the claim, a part of its place, stays */
		lsh_lease_ask_for(lease, lease->lease_ms);
	}
}

int64_t
lsh_lease_acquire(struct lsh_lease *lease, struct lsh_wish *want)
{
	lsh_lease_serve(lease, want);
	return strategy_of(lease)->acquire(lease, want);
}

int64_t
lsh_lease_adopt(struct lsh_lease *lease, struct lsh_wish *want)
{
	lease->adopting = true;
	return lsh_lease_acquire(lease, want);
}

/* Set the watchdog, after it was taken or renewed for `lease_ns` by a command sent at `sent`. */
static void
schedule(struct lsh_lease *lease, int64_t sent, int64_t lease_ns)
{
	int64_t due = LSH_NEVER;

	if (lsh_events_of(lease)->wants_ms(lease, sent) != 0)
		due = lsh_pace_next(sent, lease_ns, lsh_random32());
	if (due < lease->valid_until)
		lsh_lease_arm(lease, due, lsh_pace_slack(lease_ns));
	else
		lsh_lease_arm(lease, lease->valid_until, 0);
}

bool
lsh_lease_granted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ms, bool is_claim)
{
	const struct lsh_wish *want = lease->want;
	int64_t now = lsh_now_ns(), from = LSH_MUTATES(LSH_REPLIES_COUNT) && !is_claim ? now : sent;
	int64_t valid_until = lsh_pace_valid_until(from, lease_ms * LSH_MS);

	if (lease->adopting && !lsh_events_of(lease)->adoptable(lease, fence))
		return false;
	lease->ends_at = want->max_hold_ms > 0 ? lsh_after_ms(sent, want->max_hold_ms) : LSH_NEVER;
	if (valid_until > lease->ends_at && !LSH_MUTATES(LSH_GRANTS_OUTLAST_HOLDS))
		valid_until = lease->ends_at; /* it was asked for on somebody else's terms */
	if ((valid_until <= now && !LSH_MUTATES(LSH_GRANTS_MAY_BE_OVER)) || atomic_load(&lease->resource->backend->closing))
		return false;
	lease->valid_until = valid_until;
	lease->span_ms = (int32_t)lease_ms;
	lease->full = !is_claim && lease_ms >= want->lease_ms; /* part of a claim is over when it comes */
	lease->turn_began = now;
	lease->depth = 1;
	if (lease->state == LSH_WAITING)
		atomic_fetch_sub(&lease->resource->backend->waiting, 1);
	lease->state = LSH_PENDING;
	strategy_of(lease)->granted(lease, fence, sent);
	return true;
}

/* Any server may know the token, and it is for us to release it. */
static void
make_ours(struct lsh_lease *lease)
{
	for (size_t i = 0; i < lease->count; i++)
		lease->votes[i].asked = true;
}

void
lsh_lease_adopted(struct lsh_lease *lease, int64_t fence, int64_t sent, int64_t lease_ms)
{
	leash_error why;

	if (lsh_lease_granted(lease, fence, sent, lease_ms, false) || lease->state != LSH_ACQUIRING)
		return;
	lsh_fail(&why, LEASH_UNAVAILABLE, 0, "the answer came after its lease was over");
	lsh_events_of(lease)->failed(lease, &why);
}

void
lsh_lease_held(struct lsh_lease *lease, int64_t fence, int64_t sent)
{
	struct lsh_list *leases = &lease->resource->leases;

	lease->state = LSH_HELD;
	lsh_list_remove(&lease->link); /* whoever looks for one that is held need not pass all that wait */
	lsh_list_append(leases->next, &lease->link);
	if (lease->trades)
		lease->wanted_at = 0;
	lease->trades = false;
	if (lease->adopting)
		make_ours(lease); /* and not before: until here it is the hold of another client, which stays as it is */
	lease->adopted = lease->adopting;
	lease->adopting = false;
	if (!lsh_events_of(lease)->granted(lease, fence)) {
		lsh_lease_give_up(lease);
		return;
	}
	schedule(lease, sent, (lease->span_ms < lease->lease_ms ? lease->span_ms : lease->lease_ms) * LSH_MS);
}

/* ---- holding ---- */

void
lsh_lease_prolong(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	int64_t valid_until = lsh_pace_valid_until(sent, lease_ms * LSH_MS);

	if (valid_until > lease->ends_at)
		valid_until = lease->ends_at; /* it was asked for before this hold, or sent later than it was made */
	if (valid_until <= lease->valid_until)
		return;
	lease->valid_until = valid_until;
	lease->span_ms = (int32_t)lease_ms;
}

bool
lsh_lease_extend(struct lsh_lease *lease, struct lsh_parker *reader)
{
	return strategy_of(lease)->extend(lease, reader);
}

int64_t
lsh_lease_wants_ms(struct lsh_lease *lease, int64_t now)
{
	int64_t ms = lsh_events_of(lease)->wants_ms(lease, now);

	if (lease->extend_ms > ms)
		ms = lease->extend_ms;
	return ms > 0 ? ms : 0;
}

int64_t
lsh_lease_up_to_end_ms(const struct lsh_lease *lease, int64_t ms, int64_t now)
{
	int64_t left = lease->ends_at - now;

	if (lease->ends_at == LSH_NEVER || left >= ms * LSH_MS)
		return ms;
	return left > LSH_MS ? left / LSH_MS : 1;
}

int64_t
lsh_lease_time_for_replicas(const struct lsh_lease *lease)
{
	int64_t ms = lease->resource->backend->options.timeout / LSH_MS;

	if (lease->safety.replicas_ms > 0)
		ms = lease->safety.replicas_ms;
	return (ms < lease->lease_ms ? ms : lease->lease_ms) * LSH_MS;
}

int64_t
lsh_lease_pending_until(const struct lsh_lease *lease)
{
	return lsh_after(lease->turn_began, lsh_lease_time_for_replicas(lease));
}

int64_t
lsh_lease_extend_limit(const struct lsh_lease *lease, int64_t now)
{
	return lsh_lease_is_acknowledged(lease) ? lsh_after(now, lsh_lease_time_for_replicas(lease)) : LSH_NEVER;
}

void
lsh_lease_hand_off(struct lsh_lease *lease)
{
	lease->handed_off++;
	lease->ends_at = LSH_NEVER;
}

int64_t
lsh_lease_renewing_ms(const struct lsh_lease *lease)
{
	const struct lsh_vote *v = &lease->votes[0];

	return v->batch != NULL || v->saying != NULL || lease->wanted_at != 0 ? lease->longest_ms : 0;
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

bool
lsh_lease_is_over(struct lsh_lease *lease, int64_t now)
{
	const char *why = "its lease ran out before enough replicas acknowledged it";

	if (now < lease->valid_until)
		return false;
	if (lease->state == LSH_HELD)
		why = lsh_events_of(lease)->why_over(lease, now);
	lsh_lease_lose(lease, why != NULL ? why : strategy_of(lease)->why_over);
	return true;
}

void
lsh_lease_renewed(struct lsh_lease *lease, int64_t sent, int64_t lease_ms)
{
	lease->failures = 0;
	lease->full |= lease_ms >= lease->lease_ms;
	lsh_events_of(lease)->renewed(lease, sent, lease_ms);
	/* a shorter one puts no renewal off; nor is one put off that is on its way */
	if (lease->wanted_at == 0 && (lease_ms >= lease->lease_ms || lease->extend_ms == 0))
		schedule(lease, sent, (lease_ms < lease->lease_ms ? lease_ms : lease->lease_ms) * LSH_MS);
}

void
lsh_lease_not_renewed(struct lsh_lease *lease, const char *event, bool may_ask)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	int64_t now = lsh_now_ns(), again = lease->valid_until;

	lease->wanted_at = 0;
	if (lease->state == LSH_HELD)
		events->not_renewed(lease, NULL, false);
	if (lsh_lease_is_over(lease, now))
		return;
	if (lease->failures < UCHAR_MAX)
		lease->failures++;
	if (event != NULL)
		events->at_risk(lease, 0, 0, event);
	if (may_ask)
		again = lsh_pace_retry(now, lease->failures, lease->valid_until, lsh_random32());
	/* else all that is held is renewed as soon as there is a connection */
	lsh_lease_arm(lease, again, (again - now) / 2);
}

void
lsh_lease_warn_of_no_ttl(const struct lsh_lease *lease, const struct lsh_host *host)
{
	lsh_courier_log(host->backend->courier, LEASH_LOG_WARNING,
	                "%s '%.160s': %.80s: its key had no TTL, as after PERSIST; the renewal set one again",
	                lease->resource->kind->name, lsh_resource_shown(lease->resource), lsh_host_shown(host));
}

/* ---- the end ---- */

static void
begin_end(struct lsh_lease *lease)
{
	struct lsh_backend *b = lease->resource->backend;
	const int32_t alive_ms = lease->claim_ms > 0 ? LSH_ALIVE_MS : 0; /* a place outlasts a short lease */
	int64_t now = lsh_now_ns(), most = LSH_MUTATES(LSH_LONG_ASKS_ARE_FORGOTTEN) ? lease->lease_ms : lease->longest_ms;

	if (LSH_MUTATES(LSH_RENEWALS_GO_ON))
		lsh_lease_retain(lease);
	if (lease->state == LSH_WAITING)
		atomic_fetch_sub(&b->waiting, 1);
	lease->state = LSH_ENDING;
	/* the last request is refused after one timeout, and no renewal is sent any more; the rest is for clocks that
	 * differ */
	lease->lapses_at =
		lsh_after_ms(now, b->options.timeout / LSH_MS + alive_ms + most + most / 50 + 2000);
	if (now == LSH_NEVER)
		lease->lapses_at = LSH_NEVER; /* nobody knows: its cancel must be answered */
	atomic_fetch_add(&b->ending, 1);
	lsh_lease_retain(lease); /* until it is ENDED */
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
		lsh_vote_arm_end(lease);
}

void
lsh_lease_release(struct lsh_lease *lease, struct lsh_parker *reader)
{
	end(lease, reader);
	lsh_lease_unref(lease);
}

void
lsh_lease_inherit(struct lsh_lease *lease, const struct lsh_lease *old)
{
	lease->lease_ms = old->lease_ms;
	lease->ends_at = old->ends_at;
	lease->turn_began = old->turn_began;
	lease->handed_off = old->handed_off;
	if (lease->valid_until > lease->ends_at)
		lease->valid_until = lease->ends_at;
}

void
lsh_lease_replaced(struct lsh_lease *old)
{
	for (size_t i = 0; i < old->count; i++)
		lsh_vote_forget(&old->votes[i]);
	lsh_lease_release(old, NULL);
}

bool
lsh_lease_is_unsure(const struct lsh_lease *lease)
{
	return lease->votes[0].asked;
}

void
lsh_lease_release_everywhere(struct lsh_lease *lease, struct lsh_parker *reader)
{
	lease->breaks = true;
	make_ours(lease);
	lsh_lease_release(lease, reader);
}

bool
lsh_lease_is_maybe_broken(const struct lsh_lease *lease)
{
	const struct lsh_vote *v = &lease->votes[0];

	return lease->count > 1 || v->cancel_unknown || v->cancel != NULL;
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
	const struct lsh_lease_events *events = lsh_events_of(lease);
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
	const struct lsh_saying *s = v->cancel != NULL ? v->cancel : v->saying;

	*source = (struct lsh_source){.host = NULL};
	if (!strategy_of(lease)->has_queue)
		return; /* several servers, each with its thread that reads */
	if (s != NULL && s->call.out && s->call.ticket.reader != NULL) {
		source->host = lsh_host_of(s->call.server);
		source->epoch = s->call.ticket.epoch;
		source->number = s->call.ticket.number;
	} else if (lease->state == LSH_WAITING ||
	           (lease->state == LSH_ACQUIRING && lease->resource->kind->channel != NULL)) {
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
		lsh_pubsub_wait(lsh_node_pubsub(node), parker, until, over, arg);
	else
		lsh_pipeline_wait(lsh_node_pipeline(node), parker, source->epoch, source->number, over, arg, until);
	lsh_server_leave(&source->host->server);
}

void
lsh_source_leave(struct lsh_source *source)
{
	if (source->host != NULL && source->messages)
		lsh_node_read_messages(source->host->server.node);
	lsh_source_drop(source);
}

void
lsh_source_drop(struct lsh_source *source)
{
	if (source->host != NULL)
		lsh_server_leave(&source->host->server);
}

/* ---- the watchdog's thread ---- */

static void
renew(struct lsh_lease *lease, int64_t now)
{
	if (strategy_of(lease)->renews != NULL)
		strategy_of(lease)->renews(lease, now);
	lsh_lease_check(lease);
}

static void
fire_held(struct lsh_lease *lease, int64_t now)
{
	const struct lsh_lease_events *events = lsh_events_of(lease);
	int64_t wants_ms;

	if (lsh_lease_is_over(lease, now))
		return;
	wants_ms = events->wants_ms(lease, now);
	if (wants_ms < 0) { /* put off by the owner */
		int64_t again = now + lease->lease_ms * LSH_MS / 12;

		lease->wanted_at = 0;
		events->at_risk(lease, 0, 0, "leash_lock_alive() is overdue: not renewed until it is called");
		lsh_lease_arm(lease, again < lease->valid_until ? again : lease->valid_until, 0);
	} else if (wants_ms == 0) {
		lsh_lease_arm(lease, lease->valid_until, 0);
	} else if (lease->wanted_at == 0) {
		lsh_events_of(lease)->renewing(lease, now);
		lsh_lease_want(lease, now);
		renew(lease, now);
	} else {
		/* whoever is asked may have more patience than this lease has */
		lsh_lease_arm(lease, lease->valid_until, 0);
		if (!LSH_MUTATES(LSH_SILENCE_IS_BORNE))
			strategy_of(lease)->silent(lease);
	}
}

static void
fire(struct lsh_lease *lease, int64_t now)
{
	switch (lease->state) {
	case LSH_PENDING:
		if (lsh_lease_is_over(lease, now))
			return;
		lsh_lease_arm(lease, lease->valid_until, 0);
		renew(lease, now);
		break;
	case LSH_HELD:
		fire_held(lease, now);
		break;
	case LSH_WAITING:
		lsh_lease_arm(lease, lsh_pace_word(now, now, lease->claim_ms * LSH_MS, -1),
		              lsh_pace_slack(lease->claim_ms * LSH_MS));
		if (!LSH_MUTATES(LSH_WORDS_ARE_NOT_SAID))
			lsh_lease_check(lease);
		break;
	default:
		if (lease->state == LSH_ENDING || LSH_MUTATES(LSH_RENEWALS_GO_ON))
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
