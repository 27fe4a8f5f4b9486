/* Legs: one server's half of a ballot. What is due of a leg follows from its phase and from what the tenure wants; here it becomes
 * a command, and the answer becomes the leg's next phase. What the legs together mean is for ballot.c to say.
 *
 * The keeper of a server takes what was given to it, 256 legs at a time at most, appends what is due of each under its lock's mutex,
 * and then hears the answers, of these and of whatever others have appended meanwhile. */
#include "lock/quorum.h"

#include "lock/step.h"
#include "redis/fault.h"
#include "redis/script.h"
#include "watchdog/pace.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 256 };

void
lsh_leg_give(struct lsh_leg *leg)
{
	struct lsh_engine *e = leg->site->engine;

	pthread_mutex_lock(&e->work_mutex);
	if (!e->stopped && lsh_list_empty(&leg->work_link)) {
		lsh_tenure_retain(&leg->tenure->timer);
		lsh_list_append(&leg->site->legs, &leg->work_link);
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_node_kick(leg->site->node);
}

/* ---- what is due ---- */

static uint64_t
epoch_of(const struct lsh_leg *leg)
{
	return lsh_pipe_epoch(lsh_node_pipe(leg->site->node));
}

/* ENDING: can there be nothing of it on the server any more, whatever became of the cancel? */
static bool
has_lapsed(const struct lsh_leg *leg, int64_t now)
{
	return !leg->cancel.out && now >= leg->tenure->lapses_at && now != LSH_NEVER;
}

static bool
is_due_in_round(const struct lsh_leg *leg, uint64_t epoch, int64_t now, enum lsh_errand_of_leg *what)
{
	const struct lsh_ballot *b = leg->tenure->ballot;

	if (now >= b->limit)
		return false;
	if (leg->phase == LSH_LEG_HELD) {
		*what = LSH_LEG_RAISES;
		return leg->fence < b->fence && !leg->mute;
	}
	*what = LSH_LEG_ASKS;
	return leg->phase == LSH_LEG_NEW || leg->phase == LSH_LEG_ASKING || (leg->phase == LSH_LEG_FAILED && leg->tried_epoch != epoch);
}

/* Once, and over a new connection where there was none or it has failed. */
static bool
is_due_in_question(const struct lsh_leg *leg, uint64_t epoch, enum lsh_errand_of_leg *what)
{
	const struct lsh_ballot *b = leg->tenure->ballot;

	if (b->keeps && leg->phase == LSH_LEG_HELD) {
		*what = LSH_LEG_RAISES;
		return leg->fence < b->fence && !leg->mute;
	}
	*what = b->keeps ? LSH_LEG_KEEPS : LSH_LEG_LOOKS;
	return leg->tried_at == 0 || (leg->phase == LSH_LEG_FAILED && leg->tried_epoch != epoch);
}

static bool
is_due(struct lsh_leg *leg, uint64_t epoch, int64_t now, enum lsh_errand_of_leg *what)
{
	struct lsh_tenure *t = leg->tenure;

	if (t->phase == LSH_ENDING || t->phase == LSH_ENDED) {
		*what = LSH_LEG_CANCELS;
		return leg->phase == LSH_LEG_ENDING && !leg->cancel.out && (leg->cancel_epoch != epoch || now >= leg->again_at);
	}
	if (leg->way.out)
		return false;
	if (t->phase == LSH_ASKING)
		return is_due_in_round(leg, epoch, now, what);
	if (t->ballot->looks)
		return is_due_in_question(leg, epoch, what);
	*what = leg->phase == LSH_LEG_HELD ? LSH_LEG_RENEWS : LSH_LEG_ASKS;
	if (leg->tried_at >= t->ballot->round_at && leg->tried_at > 0 && leg->tried_epoch == epoch)
		return false;
	if (*what == LSH_LEG_ASKS && lsh_ballot_is_renewing(t->ballot))
		return false; /* it comes next */
	return t->phase == LSH_HELD && now < t->valid_until && lsh_ballot_wants_ms(t, now) > 0;
}

/* ---- sending ---- */

struct step {
	union {
		struct lsh_step step;
		struct lsh_inspect_step look;
		struct lsh_party_question who;
	};
	struct lsh_script_call call;
	char number[3][LSH_DECIMAL_SIZE];
};

static void
begin(struct step *s, const struct lsh_script *script, const struct lsh_leg *leg)
{
	const struct lsh_lock *lock = leg->tenure->lock;
	unsigned keys = script == &lsh_script_raise ? 2 : 3;

	lsh_script_begin(&s->call, script, keys);
	if (leg->send_whole)
		lsh_script_send_whole(&s->call);
	for (unsigned i = 0; i < keys; i++)
		lsh_script_push(&s->call, (struct lsh_arg){lock->key[i], lock->key_size[i]});
}

/* What ends an ask or a heartbeat: there is no queue, and this fence is wanted. */
static void
push_wanted(struct step *s, const struct lsh_tenure *t)
{
	lsh_script_push(&s->call, lsh_arg_text(t->lock->engine->cfg_try));
	lsh_script_push(&s->call, lsh_arg_decimal(s->number[2], t->ballot->proposal));
}

static void
make_vote(struct step *s, const struct lsh_leg *leg, int64_t lease_ms, int64_t not_after_us)
{
	const struct lsh_tenure *t = leg->tenure;

	begin(s, &lsh_script_acquire, leg);
	lsh_script_push(&s->call, (struct lsh_arg){t->token, t->token_size});
	lsh_script_push(&s->call, lsh_arg_decimal(s->number[0], lease_ms));
	lsh_script_push(&s->call, lsh_arg_decimal(s->number[1], not_after_us));
	push_wanted(s, t);
}

static void
make_raise(struct step *s, const struct lsh_leg *leg)
{
	begin(s, &lsh_script_raise, leg);
	lsh_script_push(&s->call, lsh_arg_decimal(s->number[0], leg->tenure->ballot->fence));
	lsh_script_push(&s->call, lsh_arg_text(leg->site->engine->fence_ttl));
}

static void
make_keep(struct step *s, const struct lsh_leg *leg, int64_t lease_ms)
{
	const struct lsh_tenure *t = leg->tenure;

	begin(s, &lsh_script_heartbeat, leg);
	lsh_script_push(&s->call, (struct lsh_arg){t->lock->engine->uuid, LSH_UUID_SIZE});
	lsh_script_push(&s->call, lsh_arg_decimal(s->number[0], lease_ms));
	lsh_script_push(&s->call, (struct lsh_arg){t->token, t->token_size});
	push_wanted(s, t);
}

static void
make_look(struct step *s, const struct lsh_leg *leg)
{
	const struct lsh_tenure *t = leg->tenure;

	if (t->ballot->asks_who) {
		lsh_party_ask(&s->who, t->lock->engine->options.prefix, t->token);
		memcpy(s->call.args, s->who.args, sizeof s->who.args);
		s->call.count = LSH_PARTY_ARGS;
		return;
	}
	lsh_inspect_make(&s->look, t->lock->key[0], t->lock->key_size[0]);
	if (leg->send_whole)
		lsh_script_send_whole(&s->look.call);
	s->call = s->look.call;
}

/* Until when the server may execute an ask that goes out now, and how long its answer is waited for. A server that hangs is to cost a
 * part of the lease only. */
static int64_t
patience_of(const struct lsh_leg *leg, int64_t lease_ms)
{
	int64_t timeout = leg->site->engine->options.timeout;

	return lease_ms > 0 && timeout > lease_ms * LSH_MS / 4 ? lease_ms * LSH_MS / 4 : timeout;
}

static void
make_command(struct step *s, struct lsh_leg *leg, struct lsh_leg_command *c, int64_t not_after_us)
{
	struct lsh_tenure *t = leg->tenure;

	/* where the steps look; of these servers each is on its own */
	t->send_whole = leg->send_whole;
	t->ask_site = leg->site;
	switch (c->what) {
	case LSH_LEG_ASKS:
		make_vote(s, leg, c->lease_ms, not_after_us);
		break;
	case LSH_LEG_RENEWS:
		lsh_step_renew(&s->step, t, c->lease_ms, t->lock->hold->depth);
		s->call = s->step.call;
		break;
	case LSH_LEG_RAISES:
		make_raise(s, leg);
		break;
	case LSH_LEG_KEEPS:
		make_keep(s, leg, c->lease_ms);
		break;
	case LSH_LEG_LOOKS:
		make_look(s, leg);
		break;
	case LSH_LEG_CANCELS:
		lsh_step_cancel(&s->step, t);
		s->call = s->step.call;
		break;
	}
}

/* It is on its way, over connection `epoch`. */
static void
asked(struct lsh_leg *leg, struct lsh_leg_command *c, uint64_t epoch, int64_t not_after_us)
{
	struct lsh_tenure *t = leg->tenure;

	/* as for any server: one that was not answered on an earlier connection may still come; on this one it comes before this one */
	if (leg->asked && leg->ask_epoch != epoch && leg->not_after_us > leg->ghost_until_us)
		leg->ghost_until_us = leg->not_after_us;
	c->asked_before = leg->asked;
	c->not_after_before_us = leg->not_after_us;
	leg->asked = t->asked = true;
	leg->ask_epoch = epoch;
	if (not_after_us > leg->not_after_us)
		leg->not_after_us = not_after_us;
	leg->phase = LSH_LEG_ASKING;
}

/* There is no connection. */
static void
not_sent(struct lsh_leg *leg, enum lsh_errand_of_leg what, uint64_t epoch, int64_t now)
{
	if (what == LSH_LEG_CANCELS) {
		leg->cancel_epoch = epoch;
		leg->again_at = LSH_NEVER;
		return;
	}
	leg->tried_at = now;
	leg->tried_epoch = epoch;
	if (what == LSH_LEG_RAISES)
		leg->mute = true;
	else if (leg->phase != LSH_LEG_HELD)
		leg->phase = LSH_LEG_FAILED;
	leg->failing = true;
	leg->trouble = LEASH_OK; /* the node knows why */
}

/* May the server lack the script of a cancel that is on its way, so that this is to be sent again? */
static bool
cancels_may_fail(struct lsh_site *site, uint64_t epoch)
{
	return atomic_load(&site->owed_legs) > 0 && atomic_load(&site->released_epoch) != epoch;
}

/* An ask is not to overtake the cancel of an earlier token of ours: it would be refused because of that. The keeper sends cancels first. */
static bool
must_queue(struct lsh_site *site, const struct lsh_parker *keeper, uint64_t epoch)
{
	const struct lsh_thread *self = lsh_self_if_known();

	return (atomic_load(&site->loose_legs) > 0 || cancels_may_fail(site, epoch)) && (self == NULL || &self->parker != keeper);
}

/* What the command asks for, in ms; 0: it asks for none. */
static int64_t
lease_for(const struct lsh_tenure *t, enum lsh_errand_of_leg what, int64_t now)
{
	if (what != LSH_LEG_ASKS && what != LSH_LEG_RENEWS && what != LSH_LEG_KEEPS)
		return 0;
	return t->phase == LSH_HELD ? lsh_ballot_wants_ms(t, now) : t->lease_ms;
}

/* People are to be told who that is: we, or another client whose token it is. */
static void
introduce(const struct lsh_leg *leg, const struct lsh_leg_command *c, uint64_t epoch)
{
	struct lsh_site *site = leg->site;

	if (leg->tenure->adopted || c->what == LSH_LEG_KEEPS)
		lsh_site_prolong(site, leg->tenure->token, c->lease_ms, c->sent);
	lsh_introduce(&site->introduction, lsh_node_pipe(site->node), epoch, c->lease_ms, c->sent);
}

bool
lsh_leg_send(struct lsh_leg *leg)
{
	struct lsh_tenure *t = leg->tenure;
	struct lsh_site *site = leg->site;
	struct lsh_pipe *pipe = lsh_node_pipe(site->node);
	struct lsh_parker *keeper = atomic_load(&site->keeper);
	uint64_t epoch = epoch_of(leg); /* before all that the command says, so that this belongs to that connection, or it is refused */
	int64_t now = lsh_now_ns(), patience, limit, not_after_us;
	enum lsh_errand_of_leg what;
	struct lsh_leg_command *c;
	enum lsh_appended appended;
	struct step step;

	if (leg->phase == LSH_LEG_ENDING && has_lapsed(leg, now))
		lsh_leg_ended(leg);
	if (!is_due(leg, epoch, now, &what))
		return true;
	if (keeper == NULL || (what == LSH_LEG_ASKS && must_queue(site, keeper, epoch))) {
		lsh_leg_give(leg);
		return false;
	}
	c = what == LSH_LEG_CANCELS ? &leg->cancel : &leg->way;
	c->what = what;
	c->whole = leg->send_whole;
	c->sent = now;
	c->lease_ms = lease_for(t, what, now);
	patience = patience_of(leg, c->lease_ms);
	limit = lsh_after(now, patience);
	if (t->phase == LSH_ASKING && limit > t->ballot->limit)
		limit = t->ballot->limit;
	not_after_us = lsh_node_server_us(site->node, now) + (limit - now) / LSH_US;
	if (c->lease_ms > t->longest_ms)
		t->longest_ms = c->lease_ms;
	make_command(&step, leg, c, not_after_us);
	if (c->lease_ms > 0)
		introduce(leg, c, epoch);
	c->ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = keeper, .epoch = epoch};
	appended = lsh_pipe_append(pipe, &c->ticket, step.call.args, step.call.count, now, patience);
	if (appended == LSH_PIPE_FULL) {
		lsh_leg_give(leg);
		return false;
	}
	if (appended == LSH_PIPE_DOWN) {
		not_sent(leg, what, epoch, now);
		return true;
	}
	c->out = true;
	if (what == LSH_LEG_ASKS)
		asked(leg, c, epoch, not_after_us);
	if (what == LSH_LEG_KEEPS)
		leg->phase = LSH_LEG_ASKING;
	if (what == LSH_LEG_CANCELS) {
		atomic_fetch_sub(&site->loose_legs, 1);
		leg->cancel_epoch = epoch;
		leg->again_at = LSH_NEVER;
	} else if (what != LSH_LEG_RAISES) {
		leg->tried_at = now;
		leg->tried_epoch = epoch;
	}
	lsh_leg_give(leg); /* its keeper hears the answer */
	return true;
}

/* ---- answers to asks, renewals and the like ---- */

static void
fail(struct lsh_leg *leg, leash_status status, const char *words)
{
	struct lsh_ballot *b = leg->tenure->ballot;

	leg->trouble = status;
	b->trouble = status;
	snprintf(b->trouble_text, sizeof b->trouble_text, "%.60s: %.138s", lsh_node_shown(leg->site->node), words);
}

/* The server refused a command: which one of a script's, where it says so. */
static void
fail_by(struct lsh_leg *leg, const struct lsh_leg_command *c, enum lsh_fault fault, const char *words)
{
	static const struct lsh_script *const scripts[] = {
		[LSH_LEG_ASKS] = &lsh_script_acquire,    [LSH_LEG_RENEWS] = &lsh_script_renew,
		[LSH_LEG_RAISES] = &lsh_script_raise,    [LSH_LEG_KEEPS] = &lsh_script_heartbeat,
		[LSH_LEG_LOOKS] = &lsh_script_inspect,   [LSH_LEG_CANCELS] = &lsh_script_release,
	};
	char says[LSH_FAULT_TEXT];

	lsh_step_say(says, leg->tenure->lock, scripts[c->what], words);
	fail(leg, lsh_fault_status(fault), says);
}

/* What one life of the server says counts once that has lasted for the guard. */
static bool
counts(const struct lsh_leg *leg)
{
	return lsh_quorum_counts(leg->site, lsh_ballot_guard_ms(leg->tenure), lsh_now_ns());
}

static void
hold(struct lsh_leg *leg, const struct lsh_leg_command *c)
{
	int64_t valid_until = lsh_pace_valid_until(c->sent, c->lease_ms * LSH_MS);

	leg->phase = LSH_LEG_HELD;
	leg->failing = !counts(leg);
	if (leg->failing)
		return;
	leg->kept_at = c->sent;
	leg->kept_ms = c->lease_ms;
	if (valid_until > leg->valid_until) {
		leg->valid_until = valid_until;
		leg->sent = c->sent;
		leg->renewed_ms = c->lease_ms;
	}
}

/* It has no vote there (any more). If the server was emptied by a restart, what it had voted before stands for as long as it would
 * have: nobody may count on what it says now. */
static void
drop(struct lsh_leg *leg, enum lsh_leg_phase phase)
{
	leg->phase = phase;
	if (counts(leg))
		leg->valid_until = 0;
}

/* {0, ttl, now} or {-1, 0, now} */
static void
not_held(struct lsh_leg *leg, const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	int64_t round_at = leg->tenure->ballot->round_at;

	lsh_node_learn_clock(leg->site->node, reply->integer[2], c->sent, lsh_now_ns());
	leg->asked = c->asked_before; /* nothing was done; and without an earlier one there is nothing to cancel */
	if (reply->integer[0] == 0) {
		drop(leg, LSH_LEG_REFUSED);
		leg->ttl_ms = reply->integer[1];
		/* where others got it when all were asked at once, that is no sign of anything */
		leg->failing |= round_at > 0 && c->sent >= round_at;
		return;
	}
	/* too late, by our idea of its clock: that is better now */
	leg->tried_at = 0;
	if (leg->tenure->phase == LSH_HELD)
		leg->phase = LSH_LEG_FAILED;
	lsh_leg_give(leg);
}

/* To the log, once a minute: as long as the others make a majority nobody else tells of it. */
static void
accuse(struct lsh_site *site, const char *why)
{
	int64_t now = lsh_now_ns(), before = atomic_load(&site->accused_at);
	char line[300];

	if ((before != 0 && now - before < 60 * LSH_S) || !atomic_compare_exchange_strong(&site->accused_at, &before, now))
		return;
	snprintf(line, sizeof line, "%.120s: %s", lsh_node_shown(site->node), why);
	lsh_courier_log(site->engine->courier, LEASH_LOG_WARNING, line);
}

/* The fence of its vote. Of one that is out of all proportion to the clocks of most servers no other one is to hear, and the vote is none:
 * it is that server's fault, and false. */
static bool
take_fence(struct lsh_leg *leg, int64_t fence)
{
	static const char why[] = "its vote does not count: its fence is a year or more ahead of the clocks (TIME) of most servers";
	struct lsh_engine *e = leg->site->engine;

	if (fence <= lsh_quorum_fence_most(e, lsh_now_ns())) {
		lsh_quorum_learn_fence(e->quorum, fence);
		leg->fence = fence;
		return true;
	}
	leg->failing = true;
	fail(leg, LEASH_PROTOCOL, why);
	accuse(leg->site, why);
	return false;
}

static void
ask_answered(struct lsh_leg *leg, const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	if (reply->type != LSH_INTEGER) {
		not_held(leg, c, reply);
		return;
	}
	if (take_fence(leg, reply->integer[0]))
		hold(leg, c);
	else
		leg->phase = LSH_LEG_FAILED;
}

/* {now, ttl, fence} or {now, ttl, -1} */
static void
keep_answered(struct lsh_leg *leg, const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	enum { DAY_MS = 86400000 };
	struct lsh_tenure *t = leg->tenure;
	int64_t fence = reply->integer[2], ttl_ms = reply->integer[1];

	lsh_node_learn_clock(leg->site->node, reply->integer[0], c->sent, lsh_now_ns());
	if (fence <= 0) {
		leg->phase = LSH_LEG_REFUSED;
		leg->ttl_ms = -1; /* nor is it known whether another has it */
		leg->failing = true;
		return;
	}
	if (!take_fence(leg, fence)) {
		leg->phase = LSH_LEG_FAILED;
		return;
	}
	if (ttl_ms > t->longest_ms && ttl_ms <= DAY_MS)
		t->longest_ms = ttl_ms; /* what its former holder asked for */
	hold(leg, c);
}

static void
renewal_answered(struct lsh_leg *leg, const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	if (reply->integer[0] != 0) {
		hold(leg, c);
		lsh_hold_heed_renewal(leg->tenure->lock, leg->site->node, reply->integer[0]);
		return;
	}
	/* restarted, evicted, broken by somebody, or not renewed in time: to be asked again, unless that is so with a majority */
	drop(leg, LSH_LEG_FAILED);
	leg->failing = true;
	leg->tried_at = 0;
	leg->trouble = LEASH_OK;
}

static void
answered(struct lsh_leg *leg, const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	leg->send_whole = false;
	switch (c->what) {
	case LSH_LEG_ASKS:
		ask_answered(leg, c, reply);
		break;
	case LSH_LEG_RENEWS:
		renewal_answered(leg, c, reply);
		break;
	case LSH_LEG_KEEPS:
		keep_answered(leg, c, reply);
		break;
	case LSH_LEG_RAISES:
		leg->mute = reply->integer[0] <= leg->fence || !take_fence(leg, reply->integer[0]);
		break;
	default:
		leg->phase = LSH_LEG_HELD; /* it has answered: the text is in the ticket */
		break;
	}
}

/* Does the error say that the server knows no more of the token than before? */
static bool
was_not_done(enum lsh_fault fault, const char *words)
{
	if (strncmp(words, "ERR", 3) == 0) /* perhaps in the middle of the script */
		return strncmp(words, "ERR unknown command", 19) == 0;
	return fault != LSH_FAULT_MISMATCH && fault != LSH_FAULT_UNKNOWN && fault != LSH_FAULT_CLUSTER;
}

/* An error. */
static void
refused(struct lsh_leg *leg, const struct lsh_leg_command *c, const char *words)
{
	enum lsh_fault fault = lsh_fault_of(words);

	if (c->what == LSH_LEG_ASKS && was_not_done(fault, words))
		leg->asked = c->asked_before;
	if (fault == LSH_FAULT_NOSCRIPT && !c->whole && lsh_step_may_send_whole(leg->site->engine)) {
		leg->send_whole = true;
		leg->tried_at = 0;
		lsh_leg_give(leg);
		return;
	}
	if (fault == LSH_FAULT_NOT_HERE)
		lsh_node_leave(leg->site->node, c->ticket.epoch, words);
	leg->failing = true;
	if (c->what == LSH_LEG_RAISES)
		leg->mute = true;
	else if (leg->phase != LSH_LEG_HELD)
		leg->phase = LSH_LEG_FAILED;
	else if (fault == LSH_FAULT_MISMATCH)
		drop(leg, LSH_LEG_FAILED);
	fail_by(leg, c, fault, words);
}

/* Nothing came, or not what was asked for. */
static void
unanswered(struct lsh_leg *leg, const struct lsh_leg_command *c, enum lsh_outcome outcome)
{
	if (c->what == LSH_LEG_ASKS && outcome == LSH_UNSENT) {
		leg->asked = c->asked_before;
		leg->not_after_us = c->not_after_before_us;
	}
	leg->failing = true;
	leg->trouble = LEASH_OK;
	if (c->what == LSH_LEG_RAISES)
		leg->mute = true;
	else if (leg->phase != LSH_LEG_HELD)
		leg->phase = LSH_LEG_FAILED;
	if (outcome == LSH_GARBLED)
		fail(leg, LEASH_PROTOCOL, "what it sends is not what a Redis server says");
}

static bool
is_sane(const struct lsh_leg_command *c, const struct lsh_reply *reply)
{
	bool number = reply->type == LSH_INTEGER && reply->integer[0] >= 0;

	if (reply->type == LSH_ERROR)
		return true;
	switch (c->what) {
	case LSH_LEG_ASKS:
		if (reply->type == LSH_ARRAY)
			return reply->count == 3 && reply->integers == 7 && reply->integer[0] <= 0 && reply->integer[2] >= 0 && reply->integer[2] <= LSH_FENCE_MAX;
		/* fall through */
	case LSH_LEG_RAISES:
		return number && reply->integer[0] > 0 && reply->integer[0] <= LSH_FENCE_MAX;
	case LSH_LEG_KEEPS:
		return reply->type == LSH_ARRAY && reply->count == 3 && reply->integers == 7 && reply->integer[0] >= 0 && reply->integer[0] <= LSH_FENCE_MAX &&
		       reply->integer[1] >= -1 && reply->integer[2] >= -1 && reply->integer[2] <= LSH_FENCE_MAX;
	case LSH_LEG_RENEWS:
	case LSH_LEG_CANCELS:
		return number && reply->integer[0] <= 2;
	case LSH_LEG_LOOKS:
		break;
	}
	return reply->type == LSH_STRING || reply->type == LSH_NIL;
}

/* ---- answers to cancels ---- */

/* Until when, by the server's clock, an ask may be executed after a cancel that went over connection `epoch`; 0: no longer. */
static int64_t
haunts_until_us(const struct lsh_leg *leg, uint64_t epoch)
{
	return leg->ask_epoch != epoch && leg->not_after_us > leg->ghost_until_us ? leg->not_after_us : leg->ghost_until_us;
}

static bool
is_settled(const struct lsh_leg *leg, const struct lsh_leg_command *c)
{
	int64_t until_us = haunts_until_us(leg, c->ticket.epoch);

	return until_us == 0 || lsh_node_server_us_at_least(leg->site->node, c->sent) > until_us;
}

static void
try_again(struct lsh_leg *leg, const struct lsh_leg_command *c, bool answered_well, int64_t now)
{
	unsigned doublings = leg->failures < 5 ? leg->failures++ : 5;
	int64_t left_us = haunts_until_us(leg, c->ticket.epoch) - lsh_node_server_us_at_least(leg->site->node, now), settles;

	leg->again_at = lsh_after(now, (250 + lsh_random32() % 250) * LSH_MS << doublings);
	settles = left_us > 0 ? lsh_after_ms(now, left_us / 990 + 2) : now; /* what is certain of its clock goes on 1 % slower than ours */
	if (answered_well && settles < leg->again_at)
		leg->again_at = settles;
}

/* Has a restart lost a vote that counts still? As drop() says it stands: until it is over nobody can have got another one that counts. */
static bool
stands(const struct lsh_leg *leg, int64_t now)
{
	int64_t uptime = lsh_node_uptime(leg->site->node, now);

	return leg->stood_until > now && uptime >= 0 && uptime < now - leg->sent;
}

static void
settle_cancel(struct lsh_leg *leg, struct lsh_leg_command *c, const struct lsh_reply *reply, enum lsh_outcome outcome)
{
	enum lsh_fault fault = reply != NULL && reply->type == LSH_ERROR ? lsh_fault_of(reply->text) : LSH_FAULT_NONE;
	int64_t now = lsh_now_ns();

	if (leg->phase != LSH_LEG_ENDING)
		return;
	if (fault == LSH_FAULT_NOSCRIPT && !c->whole && lsh_step_may_send_whole(leg->site->engine)) {
		atomic_store(&leg->site->released_epoch, 0);
		leg->send_whole = true;
		leg->again_at = now;
		lsh_leg_give(leg);
		return;
	}
	if (reply == NULL) {
		leg->cancel_unknown |= outcome != LSH_UNSENT; /* the next connection brings it up */
	} else if (fault == LSH_FAULT_NONE) {
		leg->send_whole = false;
		atomic_store(&leg->site->released_epoch, c->ticket.epoch);
		/* "not there" after an earlier try whose answer was lost: that one did it */
		if (leg->answer == LSH_NO_ANSWER)
			leg->answer = reply->integer[0] == 1 || leg->cancel_unknown || stands(leg, now) ? LSH_RELEASED : LSH_NOT_THERE;
		if (is_settled(leg, c)) {
			lsh_leg_ended(leg);
			return;
		}
		try_again(leg, c, true, now);
	} else if (fault == LSH_FAULT_MISMATCH) {
		leg->answer = LSH_NOT_THERE;
		lsh_leg_ended(leg);
		return;
	} else {
		fail_by(leg, c, fault, reply->text);
		if (fault == LSH_FAULT_NOT_HERE)
			lsh_node_leave(leg->site->node, c->ticket.epoch, reply->text);
		try_again(leg, c, false, now);
	}
	if (has_lapsed(leg, now))
		lsh_leg_ended(leg);
}

/* ---- hearing ---- */

/* lock->mutex held */
static void
settle(struct lsh_leg *leg, struct lsh_leg_command *c)
{
	static const char nonsense[] = "the answer is not what a Redis server says to a script";
	enum lsh_outcome outcome = atomic_load_explicit(&c->ticket.outcome, memory_order_acquire);
	const struct lsh_reply *reply = outcome == LSH_ANSWERED ? &c->ticket.reply : NULL;
	struct lsh_tenure *t = leg->tenure;

	c->out = false;
	if (outcome == LSH_GARBLED || (reply != NULL && !is_sane(c, reply))) {
		lsh_node_leave(leg->site->node, c->ticket.epoch, nonsense);
		outcome = LSH_GARBLED;
		reply = NULL;
	}
	/* nothing of it, nor of one before it on this connection, is still to come */
	if (c->what == LSH_LEG_ASKS && reply != NULL)
		leg->not_after_us = 0;
	if (c->what == LSH_LEG_CANCELS) {
		atomic_fetch_add(&leg->site->loose_legs, 1); /* unless it ends now */
		settle_cancel(leg, c, reply, outcome);
	} else if (t->phase == LSH_ENDING || t->phase == LSH_ENDED) {
		/* it was overtaken by the end: what counts is whether there is anything to cancel */
		if (c->what == LSH_LEG_ASKS && (outcome == LSH_UNSENT || (reply != NULL && reply->type == LSH_ARRAY)))
			leg->asked = c->asked_before;
		if (c->what == LSH_LEG_ASKS && outcome == LSH_UNSENT)
			leg->not_after_us = c->not_after_before_us;
		if (!leg->asked && leg->phase == LSH_LEG_ENDING && !leg->cancel.out)
			lsh_leg_ended(leg);
	} else if (reply == NULL) {
		unanswered(leg, c, outcome);
	} else if (reply->type == LSH_ERROR) {
		refused(leg, c, reply->text);
	} else {
		answered(leg, c, reply);
	}
	/* another renewal was wanted while this one was on its way */
	if (t->phase == LSH_HELD && leg->phase == LSH_LEG_HELD && leg->tried_at < t->ballot->round_at)
		lsh_leg_give(leg);
	lsh_ballot_count(t);
}

static void
hear(struct lsh_leg *leg, struct lsh_leg_command *c)
{
	struct lsh_lock *lock = leg->tenure->lock;
	bool out;

	pthread_mutex_lock(&lock->mutex);
	out = c->out;
	pthread_mutex_unlock(&lock->mutex);
	if (!out)
		return;
	lsh_pipe_await(lsh_node_pipe(leg->site->node), &c->ticket, LSH_NEVER);
	pthread_mutex_lock(&lock->mutex);
	settle(leg, c);
	pthread_mutex_unlock(&lock->mutex);
}

static size_t
take_work(struct lsh_site *site, struct lsh_leg **legs)
{
	struct lsh_engine *e = site->engine;
	size_t n = 0;

	pthread_mutex_lock(&e->work_mutex);
	while (n < WINDOW && !lsh_list_empty(&site->legs)) {
		struct lsh_leg *leg = lsh_container(lsh_list_first(&site->legs), struct lsh_leg, work_link);

		lsh_list_remove(&leg->work_link);
		legs[n++] = leg; /* with the list's reference */
	}
	pthread_mutex_unlock(&e->work_mutex);
	return n;
}

/* Append what is due, if that is a cancel, or if it is none. False: there is no room. */
static bool
send(struct lsh_leg *leg, bool cancels)
{
	struct lsh_lock *lock = leg->tenure->lock;
	bool has_room = true, was_out;

	pthread_mutex_lock(&lock->mutex);
	was_out = leg->way.out || leg->cancel.out;
	if ((leg->phase == LSH_LEG_ENDING) == cancels) {
		has_room = lsh_leg_send(leg);
		if (!was_out && !leg->way.out && !leg->cancel.out)
			lsh_ballot_count(leg->tenure); /* it could not be sent, perhaps */
	}
	pthread_mutex_unlock(&lock->mutex);
	return has_room;
}

/* Cancels before asks: also where the server turns out to lack the script of a cancel, which is then sent again. */
static bool
send_all(struct lsh_site *site, struct lsh_leg **legs, size_t n)
{
	uint64_t epoch = lsh_pipe_epoch(lsh_node_pipe(site->node));
	bool has_room = true;

	for (size_t i = 0; i < n; i++)
		has_room = has_room && send(legs[i], true);
	if (cancels_may_fail(site, epoch)) {
		for (size_t i = 0; i < n; i++)
			hear(legs[i], &legs[i]->cancel);
		for (size_t i = 0; i < n; i++)
			has_room = has_room && send(legs[i], true);
	}
	for (size_t i = 0; i < n; i++)
		has_room = has_room && send(legs[i], false);
	return has_room;
}

void
lsh_quorum_work(struct lsh_site *site)
{
	struct lsh_thread *self = lsh_self();
	struct lsh_leg *legs[WINDOW];
	struct lsh_parker *opener;
	size_t n;

	if (self == NULL)
		return; /* the watchdog will bring it up again */
	if (atomic_exchange(&site->keeper, &self->parker) == NULL && (opener = atomic_load(&site->engine->quorum->opener)) != NULL)
		lsh_unpark(opener);
	while ((n = take_work(site, legs)) > 0) {
		bool has_room = send_all(site, legs, n);

		for (size_t i = 0; i < n; i++) {
			hear(legs[i], &legs[i]->way);
			hear(legs[i], &legs[i]->cancel);
			if (!has_room)
				lsh_leg_give(legs[i]);
			lsh_tenure_unref(legs[i]->tenure);
		}
		if (!has_room)
			lsh_pipe_await_room(lsh_node_pipe(site->node), LSH_NEVER);
	}
}
