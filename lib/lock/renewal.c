/* Keeping: the watchdog finds what is due; the keeper sends it, many at a time, and sees what became of it.
 *
 * What is due of a tenure follows from its phase when the keeper comes to it: HELD a renewal, QUEUED a word, ENDING a cancel.
 *
 *   the watchdog's thread     HELD and valid-until is past: lost, whatever the keeper is doing
 *                             else: into the work list, and the timer goes on to valid-until (a word: to the next one)
 *   the keeper                appends up to 256 commands, each under its lock's mutex, so that the pipe has them in the order
 *                             of the decisions; then awaits each answer and settles it, under its lock's mutex again. The
 *                             words for one lock go out together
 *
 * Nothing here allocates. */
#include "lock/state.h"

#include "base/memory.h"
#include "base/mutation.h"
#include "base/text.h"
#include "lock/confirm.h"
#include "lock/quorum.h"
#include "lock/route.h"
#include "lock/step.h"
#include "redis/fault.h"
#include "watchdog/pace.h"

#include <errno.h>
#include <stdio.h>

enum {
	WINDOW = LSH_WORDS,  /* commands on their way at once: a larger burst would block every other caller */
	SLOT_MOVES_MS = 100, /* until a word, or a cancel, is said again that a slot on the move was in the way of */
};

struct lsh_job {
	struct lsh_tenure *tenure; /* referenced */
	enum lsh_phase phase;      /* for which something was to be sent; LSH_NEW: nothing was */
	bool on_its_way;
	bool unsent;               /* there was no room for it, or the lock lives elsewhere */
	bool asking;               /* it was sent here for this once (ASK) */
	bool plain;                /* what went out is HDEL alone */
	bool is_confirmers;        /* it is not for us to send */
	uint64_t home;             /* where the lock lived when it was sent (serial) */
	struct lsh_job *with;      /* its word went out with that job's; or NULL */
	unsigned word, words;      /* which of how many in the answer */
	bool whole;                /* with the script's text */
	int64_t sent;
	int64_t lease_ms;
	struct lsh_ticket ticket;
};

/* ---- the watchdog's thread ---- */

static void
fire_held(struct lsh_lock *lock, struct lsh_tenure *t, int64_t now)
{
	struct lsh_hold *hold = lock->hold;

	if (now >= t->valid_until) {
		lsh_hold_lose(lock, hold->confirmed ? lsh_hold_why_over(hold, t, now) : "its lease ran out before enough replicas acknowledged it");
		return;
	}
	if (!hold->confirmed) {
		lsh_tenure_arm(t, t->valid_until, 0);
		lsh_confirm_give(t);
		return;
	}
	if (lsh_hold_is_hung(hold, now)) {
		int64_t again = now + hold->terms.lease_ms * LSH_MS / 12;

		if (t->ballot != NULL)
			t->wanted_at = 0; /* no vote is renewed: nobody else sees to that */
		lsh_hold_endanger(lock, "leash_lock_alive() is overdue: not renewed until it is called");
		lsh_tenure_arm(t, again < t->valid_until ? again : t->valid_until, 0);
		return;
	}
	if (lsh_hold_wants_ms(hold, t, now) == 0) {
		lsh_tenure_arm(t, t->valid_until, 0);
	} else if (t->wanted_at == 0) {
		int64_t look = now + hold->terms.lease_ms * LSH_MS / 4;

		t->wanted_at = now;
		lsh_tenure_arm(t, look < t->valid_until ? look : t->valid_until, 0);
		if (lsh_terms_confirm(&hold->terms))
			lsh_confirm_give(t);
		else
			lsh_tenure_give_work(t);
	} else {
		/* the keeper may be waiting for another answer, with more patience than this lease has */
		lsh_tenure_arm(t, t->valid_until, 0);
		if (t->ballot != NULL)
			lsh_ballot_break_if_silent(t);
		else if (!LSH_MUTATES(LSH_SILENCE_IS_BORNE) && !lsh_terms_confirm(&hold->terms))
			lsh_pipe_break_if_silent(lsh_node_pipe(lsh_lock_node(lock)), t->wanted_at);
	}
}

void
lsh_renewal_fire(void *ctx, const struct lsh_due *due, size_t count)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		struct lsh_tenure *t = lsh_container(due[i].timer, struct lsh_tenure, timer);
		struct lsh_lock *lock = t->lock;
		int64_t now = lsh_now_ns();

		pthread_mutex_lock(&lock->mutex);
		if (t->timer.generation == due[i].generation) {
			if (t->phase == LSH_HELD) {
				fire_held(lock, t, now);
			} else if (t->phase == LSH_QUEUED) {
				lsh_tenure_arm(t, lsh_pace_word(now, now, t->claim_ms * LSH_MS, -1), lsh_pace_slack(t->claim_ms * LSH_MS));
				if (!LSH_MUTATES(LSH_WORDS_ARE_NOT_SAID))
					lsh_tenure_give_work(t);
			} else if (t->phase == LSH_ENDING || LSH_MUTATES(LSH_RENEWALS_GO_ON)) {
				lsh_tenure_give_work(t);
			}
		}
		pthread_mutex_unlock(&lock->mutex);
		lsh_tenure_unref(t);
	}
}

/* ---- the keeper: sending ---- */

static size_t
take_work(struct lsh_site *site)
{
	struct lsh_engine *e = site->engine;
	size_t n = 0;

	pthread_mutex_lock(&e->work_mutex);
	while (n < WINDOW && !lsh_list_empty(&site->work)) {
		struct lsh_tenure *t = lsh_container(lsh_list_first(&site->work), struct lsh_tenure, work_link);

		lsh_list_remove(&t->work_link);
		site->jobs[n++] = (struct lsh_job){.tenure = t, .asking = t->asks}; /* with the list's reference */
	}
	pthread_mutex_unlock(&e->work_mutex);
	return n;
}

/* lock->mutex held. Let the words of other jobs for this lock go out with the one of `job`. */
static void
add_words(struct lsh_job *job, struct lsh_job *end, struct lsh_step *step)
{
	const struct lsh_tenure *t = job->tenure;

	job->words = 1;
	for (struct lsh_job *other = job + 1; other < end && job->words < LSH_WORDS && t->lock->fair; other++) {
		const struct lsh_tenure *o = other->tenure;

		if (o->lock != t->lock || other->with != NULL || other->asking != job->asking || o->phase != LSH_QUEUED || o->lease_ms != t->lease_ms || o->claim_ms != t->claim_ms)
			continue;
		other->with = job;
		other->word = job->words++;
		lsh_step_word_add(step, o);
	}
	lsh_step_word_end(step, t);
}

/* lock->mutex held. Decide what to send; false: nothing. */
static bool
make_step(struct lsh_job *job, struct lsh_job *end, struct lsh_step *step, int64_t *patience)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_hold *hold = t->lock->hold;

	switch (t->phase) {
	case LSH_HELD:
		job->is_confirmers = lsh_terms_confirm(&hold->terms);
		if (job->is_confirmers)
			return false;
		job->lease_ms = lsh_hold_wants_ms(hold, t, job->sent);
		if (job->lease_ms == 0 || job->sent >= t->valid_until) {
			t->wanted_at = 0;
			return false;
		}
		/* a dead connection is to be found out while there is time for another */
		if (*patience > hold->terms.lease_ms * LSH_MS / 4)
			*patience = hold->terms.lease_ms * LSH_MS / 4;
		if (job->lease_ms > t->longest_ms)
			t->longest_ms = job->lease_ms;
		lsh_step_renew(step, t, job->lease_ms, hold->depth);
		return true;
	case LSH_QUEUED:
		lsh_tenure_adopt(t, &lsh_line_first(t->line)->hold->terms);
		job->lease_ms = t->lease_ms;
		if (LSH_MUTATES(LSH_SENT_WORDS_COUNT))
			t->counted_from = job->sent;
		lsh_step_word(step, t);
		add_words(job, end, step);
		return true;
	case LSH_ENDING:
		if (!t->owed)
			return false; /* a releaser is at it: its answer must be the one that tells */
		job->plain = t->plain;
		t->plain = false;
		if (job->plain)
			lsh_step_forget(step, t);
		else
			lsh_step_cancel(step, t);
		return true;
	case LSH_ENDED:
		if (LSH_MUTATES(LSH_RENEWALS_GO_ON))
			lsh_step_renew(step, t, t->lease_ms, 1);
		return LSH_MUTATES(LSH_RENEWALS_GO_ON);
	default:
		return false;
	}
}

/* Room for the answers to the words of a window, behind its jobs. */
static int64_t *
answers_of(const struct lsh_site *site)
{
	return (int64_t *)(site->jobs + WINDOW);
}

/* What the server said of the job's token. */
static int64_t
answer_of(const struct lsh_job *job, const struct lsh_reply *reply)
{
	unsigned i = 2 + job->word;

	return i < LSH_KEPT ? reply->integer[i] : reply->more[i - LSH_KEPT];
}

static enum lsh_appended
append(struct lsh_site *site, struct lsh_job *job, const struct lsh_script_call *call, int64_t patience)
{
	struct lsh_pipe *pipe = lsh_node_pipe(site->node);

	if (job->asking)
		return lsh_pipe_append_asking(pipe, &job->ticket, call->args, call->count, job->sent, patience);
	return lsh_pipe_append(pipe, &job->ticket, call->args, call->count, job->sent, patience);
}

/* What goes out with `job`, which was appended or not, is from now on as it is. */
static void
mark_others(struct lsh_job *job, struct lsh_job *end, bool is_full)
{
	for (struct lsh_job *other = job + 1; other < end; other++) {
		if (other->with != job)
			continue;
		if (is_full) {
			other->with = NULL;
			continue;
		}
		other->phase = LSH_QUEUED;
		other->home = job->home;
		other->sent = job->sent;
		other->lease_ms = job->lease_ms;
		other->whole = job->whole;
	}
}

/* Give it to a confirmer, which may have to be made first. */
static void
pass_on(struct lsh_site *site, struct lsh_job *job)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_lock *lock = t->lock;
	struct lsh_terms terms;
	bool confirms, made = true;
	int e = 0;

	pthread_mutex_lock(&lock->mutex);
	confirms = t->phase == LSH_HELD && lsh_terms_confirm(&lock->hold->terms);
	if (confirms)
		terms = lock->hold->terms;
	pthread_mutex_unlock(&lock->mutex);
	if (confirms && !(made = lsh_confirm_prepare_at(site, &terms)))
		e = errno;
	pthread_mutex_lock(&lock->mutex);
	if (t->phase == LSH_HELD && !made)
		lsh_confirm_lacks_means(t, e);
	else if (t->phase == LSH_HELD && lsh_terms_confirm(&lock->hold->terms))
		lsh_confirm_give_to(t, job->asking ? site : lsh_lock_site(lock), job->asking);
	else if (t->phase == LSH_HELD)
		lsh_tenure_give_work(t); /* handed on to one who does not ask for it */
	pthread_mutex_unlock(&lock->mutex);
}

/* Append what is due for this job; false: there is no room. What is answered to its words lies at `*room`. */
static bool
send_job(struct lsh_site *site, struct lsh_job *job, struct lsh_job *end, int64_t **room, struct lsh_thread *self)
{
	struct lsh_lock *lock = job->tenure->lock;
	int64_t patience = site->engine->options.timeout;
	enum lsh_appended appended = LSH_APPENDED;
	struct lsh_step step;

	job->ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &self->parker};
	job->phase = LSH_NEW;
	pthread_mutex_lock(&lock->mutex);
	job->home = lsh_lock_site(lock)->serial;
	job->sent = lsh_now_ns();
	job->whole = job->tenure->send_whole;
	if (job->home != site->serial && !job->asking) {
		job->unsent = true; /* it has moved since it was taken from the list */
	} else if (make_step(job, end, &step, &patience)) {
		job->phase = job->tenure->phase;
		if (job->phase == LSH_HELD || job->phase == LSH_QUEUED)
			lsh_site_introduce(site, lsh_pipe_epoch(lsh_node_pipe(site->node)), job->lease_ms, job->sent);
		if (job->phase == LSH_HELD && job->tenure->adopted)
			lsh_site_prolong(site, job->tenure->token, job->lease_ms, job->sent);
		if (job->words > LSH_KEPT - 2) {
			job->ticket.reply.more = *room;
			job->ticket.reply.more_room = (uint16_t)(job->words - (LSH_KEPT - 2));
			*room += job->ticket.reply.more_room;
		}
		appended = append(site, job, &step.call, patience);
		mark_others(job, end, appended == LSH_PIPE_FULL);
	}
	pthread_mutex_unlock(&lock->mutex);
	if (job->is_confirmers)
		pass_on(site, job);
	job->on_its_way = job->phase != LSH_NEW && appended == LSH_APPENDED;
	return appended != LSH_PIPE_FULL;
}

/* ---- the keeper: what became of it; lock->mutex held ---- */

static void
renewal_failed(struct lsh_lock *lock, struct lsh_tenure *t, int64_t now, const char *why)
{
	if (now >= t->valid_until) {
		lsh_hold_lose(lock, lsh_hold_why_over(lock->hold, t, now));
		return;
	}
	lsh_hold_endanger(lock, why);
	t->failures++;
	if (lsh_node_is_up(lsh_lock_node(lock))) {
		int64_t again = lsh_pace_retry(now, t->failures, t->valid_until, lsh_random32());

		lsh_tenure_arm(t, again, (again - now) / 2);
	} else {
		lsh_tenure_arm(t, t->valid_until, 0); /* all that is held is renewed as soon as there is a connection */
	}
}

static void
settle_renewal(struct lsh_site *site, struct lsh_lock *lock, struct lsh_job *job, const struct lsh_reply *reply)
{
	struct lsh_tenure *t = job->tenure;
	int64_t now = lsh_now_ns();
	bool renewed = reply != NULL && reply->type == LSH_INTEGER && reply->integer[0] != 0 && now < t->valid_until;

	t->wanted_at = 0;
	*(renewed ? &lock->counts.renewed : &lock->counts.renewals_failed) += 1;
	if (reply == NULL) {
		renewal_failed(lock, t, now, "a renewal was not answered: trying again");
	} else if (reply->type == LSH_INTEGER && reply->integer[0] == 0) {
		lsh_hold_lose(lock, "the server did not have it any more");
	} else if (renewed) {
		t->failures = 0;
		t->full_lease = true;
		lsh_hold_renewed(lock, t, job->sent, job->lease_ms * LSH_MS);
		lsh_hold_recover(lock);
		lsh_hold_schedule(lock, t, job->sent, job->lease_ms * LSH_MS);
		lsh_hold_heed_renewal(lock, site->node, reply->integer[0]);
	} else if (reply->type == LSH_INTEGER) {
		renewal_failed(lock, t, now, ""); /* it came too late to count: past valid-until it is lost for ever */
	} else if (lsh_fault_of(reply->text) == LSH_FAULT_MISMATCH) {
		lsh_hold_lose(lock, "its key holds something else");
	} else {
		renewal_failed(lock, t, now, "a renewal was refused: trying again");
	}
}

/* The first of its line asks anew, with a new token. */
static void
give_up(struct lsh_tenure *t)
{
	struct lsh_line *line = t->line;

	lsh_tenure_end(t);
	lsh_line_wake(line);
}

static void
settle_word(struct lsh_site *site, struct lsh_lock *lock, struct lsh_job *job, const struct lsh_reply *reply)
{
	struct lsh_tenure *t = job->tenure;
	int64_t received = lsh_now_ns(), stands;

	if (reply == NULL)
		return; /* the timer goes on, and after a reconnect all words are said anew */
	if (reply->type == LSH_ERROR) {
		enum lsh_fault fault = lsh_fault_of(reply->text);

		if (t->phase == LSH_QUEUED && fault == LSH_FAULT_NOT_NOW && lsh_starts_with_word(reply->text, "TRYAGAIN")) /* its slot is moving, and that takes a moment */
			lsh_tenure_arm(t, lsh_after_ms(received, SLOT_MOVES_MS), 0);
		/* what does not pass by itself is for the waiters to hear, in the answer to an ask of their own */
		if (t->phase == LSH_QUEUED && fault != LSH_FAULT_NOT_NOW && fault != LSH_FAULT_NOT_HERE && fault != LSH_FAULT_REFUSED)
			give_up(t);
		return;
	}
	lsh_node_learn_clock(site->node, reply->integer[0], job->sent, received);
	stands = answer_of(job, reply);
	if (t->phase == LSH_HELD && received >= t->valid_until) {
		lsh_hold_lose(lock, lsh_hold_why_over(lock->hold, t, received)); /* past it, nothing revives it */
	} else if (stands < 0 && t->phase == LSH_QUEUED && LSH_MUTATES(LSH_TOKENS_COME_BACK)) {
		t->phase = LSH_NEW;
		t->asked = false;
		lsh_line_wake(t->line);
	} else if (stands < 0) {
		if (t->phase == LSH_HELD)
			lsh_hold_lose(lock, "the server did not have it any more");
		else
			give_up(t);
	} else if (stands > 0) {
		if (t->phase == LSH_HELD && lsh_terms_confirm(&lock->hold->terms))
			return; /* by the server alone: its replicas may not know it */
		if (t->phase == LSH_HELD)
			lsh_hold_renewed(lock, t, job->sent, job->lease_ms * LSH_MS);
		else if (!lsh_hold_grant(lock, t, stands, job->sent, job->lease_ms * LSH_MS, false))
			give_up(t);
	} else if (t->phase == LSH_QUEUED) {
		/* after a second ask "queued" may mean a second place, with the message of a grant of the first still on its way */
		if (!t->asked_again || LSH_MUTATES(LSH_REPEATED_ASKS_COUNT))
			t->counted_from = job->sent;
		lsh_tenure_arm(t, lsh_pace_word(job->sent, received, t->claim_ms * LSH_MS, reply->integer[1]), lsh_pace_slack(t->claim_ms * LSH_MS));
	}
}

static void
settle_cancel(struct lsh_job *job, const struct lsh_reply *reply)
{
	struct lsh_tenure *t = job->tenure;
	enum lsh_fault fault = reply != NULL && reply->type == LSH_ERROR ? lsh_fault_of(reply->text) : LSH_FAULT_NONE;
	int64_t now = lsh_now_ns();
	bool is_torn, is_settled;

	if (t->phase != LSH_ENDING)
		return;
	is_torn = t->lock->engine->cluster != NULL && fault == LSH_FAULT_NOT_NOW && lsh_starts_with_word(reply->text, "TRYAGAIN");
	if (is_torn && !job->plain && !t->forgotten) {
		t->plain = true; /* if it holds the lock, that can be ended all the same */
		lsh_tenure_give_work(t);
		return;
	}
	is_settled = reply != NULL && reply->type == LSH_INTEGER && lsh_tenure_is_settled(t, job->ticket.epoch, job->sent);
	t->forgotten |= is_settled && job->plain;
	if (is_settled && !job->plain) {
		lsh_tenure_settle(t);
	} else if (fault == LSH_FAULT_MISMATCH || (now >= t->lapses_at && now != LSH_NEVER)) {
		lsh_tenure_settle(t); /* there can be nothing of ours */
	} else if (is_torn || (job->plain && reply != NULL && reply->type == LSH_INTEGER)) {
		/* To hand on takes all keys, and not all of them are in one place: for a moment, or until the map tells that it is over. */
		lsh_tenure_arm(t, lsh_after_ms(now, SLOT_MOVES_MS << (t->failures < 5 ? t->failures++ : 5)), 0);
	} else if (reply != NULL || job->asking) {
		/* refused, or an ask may still be on its way: later again, and as soon as none can be any more, for which somebody who closes the
		 * client may be waiting. Without an answer the next connection to where the lock lives brings it up; a server to which it was sent
		 * for once (ASK) need not have one any more, nor yet. */
		unsigned doublings = t->failures < 5 ? t->failures++ : 5;
		int64_t again = lsh_after(now, (250 + lsh_random32() % 250) * LSH_MS << doublings);
		int64_t last = reply != NULL && reply->type == LSH_INTEGER ? lsh_tenure_settles_at(t, job->ticket.epoch, now) : LSH_NEVER;

		lsh_tenure_arm(t, last < again ? last : again, 0);
	}
}

static bool
is_sane(const struct lsh_job *job, const struct lsh_reply *reply)
{
	if (reply->type == LSH_ERROR)
		return true;
	if (job->phase == LSH_QUEUED) {
		unsigned count = 2 + (job->with != NULL ? job->with : job)->words;

		return reply->type == LSH_ARRAY && reply->count == count && reply->strangers == 0 &&
		       reply->integer[0] >= 0 && reply->integer[0] <= LSH_FENCE_MAX && answer_of(job, reply) <= LSH_FENCE_MAX;
	}
	return reply->type == LSH_INTEGER && reply->integer[0] >= 0 && reply->integer[0] <= 2;
}

/* Is another site to be asked? `followed`: this one said so, and for once if `asks` is not NULL. */
static bool
goes_elsewhere(struct lsh_site *site, struct lsh_job *job, bool followed, struct lsh_site *asks)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_lock *lock = t->lock;

	if (followed && t->redirections++ < LSH_REDIRECTIONS) {
		lsh_route_settle(lock);
		t->plain = job->plain;
		lsh_tenure_give_work_to(t, asks != NULL ? asks : lsh_lock_site(lock), asks != NULL);
		return true;
	}
	t->redirections = 0;
	/* it lives elsewhere since: whatever was done here, or was not, the server there knows better */
	if (lsh_lock_site(lock)->serial == job->home || lsh_lock_site(lock) == site)
		return false;
	lsh_tenure_give_work(t);
	return true;
}

static void
settle_job(struct lsh_site *site, struct lsh_job *job)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_lock *lock = t->lock;
	struct lsh_job *sent = job->with != NULL ? job->with : job;
	const struct lsh_reply *reply =
		sent->on_its_way && atomic_load_explicit(&sent->ticket.outcome, memory_order_acquire) == LSH_ANSWERED ? &sent->ticket.reply : NULL;
	enum lsh_fault fault = LSH_FAULT_NONE;
	struct lsh_site *asks = NULL;
	bool followed = false;
	leash_error why;

	if ((reply != NULL && !is_sane(job, reply)) || atomic_load(&sent->ticket.outcome) == LSH_GARBLED) {
		lsh_node_leave(site->node, sent->ticket.epoch, "the answer is not what a Redis server says to a script");
		reply = NULL;
	}
	if (reply != NULL && reply->type == LSH_ERROR) {
		fault = lsh_fault_of(reply->text);
		if (fault == LSH_FAULT_NOT_HERE)
			lsh_node_leave(site->node, sent->ticket.epoch, reply->text);
	}
	if (fault == LSH_FAULT_NOT_HERE || (fault == LSH_FAULT_NOT_NOW && lsh_starts_with_word(reply->text, "CLUSTERDOWN")))
		lsh_route_doubt(site->engine);
	if (fault == LSH_FAULT_CLUSTER && site->engine->cluster != NULL)
		followed = lsh_route_follow(site, reply->text, &asks, &why) == LEASH_OK;
	pthread_mutex_lock(&lock->mutex);
	if (job->phase != LSH_NEW && goes_elsewhere(site, job, followed, asks)) {
		/* that one's answer is what counts */
	} else if (fault == LSH_FAULT_NOSCRIPT && !job->whole && lsh_step_may_send_whole(lock->engine) && !LSH_MUTATES(LSH_SCRIPTS_ARE_THERE)) {
		t->send_whole = true;
		lsh_tenure_give_work_next(t); /* once it has been sent whole, the others need not be */
	} else if (job->phase == LSH_ENDING) {
		settle_cancel(job, reply);
	} else if (job->phase == LSH_HELD && (t->phase == LSH_HELD || (LSH_MUTATES(LSH_ANSWERS_FIT_ANY_HOLD) && lock->hold != NULL))) {
		settle_renewal(site, lock, job, reply);
	} else if (job->phase == LSH_QUEUED && (t->phase == LSH_QUEUED || t->phase == LSH_HELD)) {
		settle_word(site, lock, job, reply);
	}
	if (fault == LSH_FAULT_NONE && reply != NULL)
		t->send_whole = false;
	pthread_mutex_unlock(&lock->mutex);
	lsh_site_leave(asks);
	lsh_tenure_unref(t);
}

void
lsh_renewal_work(struct lsh_site *site)
{
	struct lsh_thread *self = lsh_self();
	size_t n;

	if (self == NULL)
		return; /* the watchdog will bring it up again */
	while ((n = take_work(site)) > 0) {
		struct lsh_job *end = site->jobs + n;
		int64_t *answers = answers_of(site);
		bool room = true;

		for (struct lsh_job *job = site->jobs; job < end; job++)
			if (job->with == NULL) {
				room = room && send_job(site, job, end, &answers, self);
				job->unsent |= !room;
			}
		/* each for itself, and settled at once: the next answer may not come for longer than this lease lasts */
		for (struct lsh_job *job = site->jobs; job < end; job++) {
			if (job->unsent) {
				struct lsh_lock *lock = job->tenure->lock;

				pthread_mutex_lock(&lock->mutex);
				lsh_tenure_give_work_to(job->tenure, job->asking ? site : lsh_lock_site(lock), job->asking); /* comes next */
				pthread_mutex_unlock(&lock->mutex);
				lsh_tenure_unref(job->tenure);
			} else {
				if (job->on_its_way)
					lsh_pipe_await(lsh_node_pipe(site->node), &job->ticket, LSH_NEVER);
				settle_job(site, job);
			}
			lsh_site_leave(site); /* that was the list's */
		}
		if (!room)
			lsh_pipe_await_room(lsh_node_pipe(site->node), LSH_NEVER);
	}
}

bool
lsh_renewal_jobs_new(struct lsh_site *site)
{
	/* not zeroed: a job is not touched before it is needed */
	site->jobs = lsh_realloc(NULL, WINDOW * (sizeof *site->jobs + sizeof *answers_of(site)));
	return site->jobs != NULL;
}
