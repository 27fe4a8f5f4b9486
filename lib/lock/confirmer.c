/* Confirmers: WAIT says how many replicas have all that its own connection wrote, and blocks what comes behind it. So it needs a connection
 * that carries nothing else, and a thread that has the time. That is a confirmer: one for each site and for each wish (so many replicas, on
 * disk or not), made when the first lock asks for it. Who waits in it waits for the same as all others in it, and for nothing else.
 *
 * A confirmer is a node of its own, for its keeper, which dials, finds the master again, and allocates nothing once it has been made. It
 * does not subscribe. Its work goes in batches: for each tenure the step `renew`, which says whether the token has the lock and writes
 * where it has, so that what follows speaks of this moment; then one WAIT for all. Whatever server that is: where the step found the token
 * and enough replicas acknowledged that, they have it. (On a new connection the WAIT goes out when a step was done: the server may lack the
 * script, and would then wait for nothing.) Only an answer counts; without one there is another connection and another step. What follows
 * for the hold is for confirm.c.
 *
 * Making one takes memory, descriptors and threads, and so is done by a thread that holds no mutex: a caller before it asks for the lock, or
 * the keeper of the site that a lock has moved to. Two may do it at once; one of theirs is thrown away.
 *
 * Threads: those of state.h, and a keeper for each confirmer. Mutexes: lock->mutex; engine->work_mutex for `work` and the list of confirmers. */
#include "lock/confirmer.h"

#include "base/memory.h"
#include "base/text.h"
#include "lock/route.h"
#include "lock/state.h"
#include "lock/step.h"
#include "redis/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 128 }; /* steps in one batch */

struct job {
	struct lsh_tenure *tenure; /* referenced */
	bool on_its_way;
	bool holds;                /* by the answer to its step */
	bool whole;                /* with the script's text */
	bool asking;               /* it was sent here for this once (ASK) */
	int64_t sent;
	int64_t lease_ms;
	int64_t limit;             /* until when it can wait for the replicas */
	struct lsh_ticket ticket;
};

struct lsh_confirmer {
	struct lsh_confirmer *next; /* of the site */
	struct lsh_site *site;
	unsigned min_replicas;
	bool fsynced;
	struct lsh_node *node;
	struct lsh_introduction introduction; /* over its own connection: over the site's nothing else would follow */
	struct job *jobs;           /* its keeper's */
	uint64_t ready;             /* the connection over which a step was done: its WAIT can go out with the next ones */
	struct lsh_list work;       /* tenures; engine->work_mutex guards it */
};

/* What a WAIT said. */
/* ---- the keeper: sending ---- */

static size_t
take_work(struct lsh_confirmer *c)
{
	struct lsh_engine *e = c->site->engine;
	size_t n = 0;

	/* c, and the site with it, outlive what is taken: this is their thread, or the one that has ended it */
	pthread_mutex_lock(&e->work_mutex);
	while (n < WINDOW && !lsh_list_empty(&c->work)) {
		struct lsh_tenure *t = lsh_container(lsh_list_first(&c->work), struct lsh_tenure, confirm_link);

		lsh_list_remove(&t->confirm_link);
		lsh_site_leave(c->site);
		c->jobs[n++] = (struct job){.tenure = t, .asking = t->confirm_asks}; /* with the list's reference */
	}
	pthread_mutex_unlock(&e->work_mutex);
	return n;
}

/* Is this the one that confirms the present hold of the lock? Else it is given to whom it belongs. */
static bool
is_mine(const struct lsh_confirmer *c, struct lsh_tenure *t, bool asking)
{
	const struct lsh_terms *terms = &t->lock->hold->terms;

	if ((asking || lsh_lock_site(t->lock) == c->site) && terms->min_replicas == c->min_replicas && terms->fsynced == c->fsynced)
		return true;
	if (lsh_terms_confirm(terms))
		lsh_confirm_give(t);
	else
		lsh_tenure_give_work(t); /* handed on to one who does not ask for it */
	return false;
}

static bool
make_step(struct lsh_confirmer *c, struct job *job, struct lsh_step *step)
{
	struct lsh_tenure *t = job->tenure;

	if (t->phase != LSH_HELD || !is_mine(c, t, job->asking) || !lsh_confirm_wants(t, job->sent, &job->lease_ms, &job->limit))
		return false;
	lsh_step_renew(step, t, job->lease_ms, t->lock->hold->depth);
	return true;
}

/* Who holds is to be known for as long. In front of what goes out anyway. */
static void
introduce(struct lsh_confirmer *c, const struct lsh_tenure *t, uint64_t epoch, int64_t lease_ms, int64_t now)
{
	struct lsh_engine *e = c->site->engine;
	struct lsh_pipe *pipe = lsh_node_pipe(c->node);

	if (e->cluster != NULL) {
		lsh_route_introduce(e, lease_ms, now);
		if (t->adopted)
			lsh_route_prolong(e, t->token, lease_ms, now);
		return;
	}
	lsh_introduce(&c->introduction, pipe, epoch, lease_ms, now);
	if (t->adopted)
		lsh_introduction_prolong(pipe, e->options.prefix, t->token, lease_ms, now);
}

/* Append what is due for this job, to connection `epoch`. False: there is nothing, and the job is done. */
static bool
send_step(struct lsh_confirmer *c, struct job *job, uint64_t epoch, struct lsh_thread *self)
{
	const struct lsh_engine *e = c->site->engine;
	struct lsh_tenure *t = job->tenure;
	struct lsh_pipe *pipe = lsh_node_pipe(c->node);
	struct lsh_step step;
	bool due;

	job->ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &self->parker, .epoch = epoch};
	pthread_mutex_lock(&t->lock->mutex);
	job->sent = lsh_now_ns();
	job->whole = t->send_whole;
	due = make_step(c, job, &step);
	if (due) {
		int64_t patience = t->lock->hold->terms.lease_ms * LSH_MS / 4;

		if (patience > e->options.timeout)
			patience = e->options.timeout;
		introduce(c, t, epoch, job->lease_ms, job->sent);
		job->on_its_way = (job->asking ? lsh_pipe_append_asking : lsh_pipe_append)(pipe, &job->ticket, step.call.args, step.call.count, job->sent,
		                                                                           patience) == LSH_APPENDED;
	}
	pthread_mutex_unlock(&t->lock->mutex);
	return due;
}

/* Ask how many have what was sent before. The answer has a quarter of the time to come back. */
static bool
send_wait(struct lsh_confirmer *c, struct lsh_ticket *ticket, uint64_t epoch, int64_t limit, struct lsh_thread *self)
{
	char number[2][LSH_DECIMAL_SIZE];
	int64_t now = lsh_now_ns(), ms = (limit - now) / 4 * 3 / LSH_MS;
	struct lsh_arg args[4];
	size_t n = 0;

	if (ms < 1)
		ms = 1; /* 0 is for ever */
	args[n++] = c->fsynced ? LSH_ARG("WAITAOF") : LSH_ARG("WAIT");
	if (c->fsynced)
		args[n++] = LSH_ARG("1");
	args[n++] = lsh_arg_decimal(number[0], c->min_replicas);
	args[n++] = lsh_arg_decimal(number[1], ms);
	*ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &self->parker, .epoch = epoch};
	return lsh_pipe_append(lsh_node_pipe(c->node), ticket, args, n, now, lsh_after(ms * LSH_MS, c->site->engine->options.timeout)) == LSH_APPENDED;
}

/* ---- the keeper: what became of it ---- */

static void
unanswered(struct lsh_confirmer *c, struct lsh_confirm_trouble *trouble)
{
	*trouble = (struct lsh_confirm_trouble){.event = "a renewal was not answered: trying again"};
	trouble->status = lsh_node_trouble(c->node, trouble->text, sizeof trouble->text, &trouble->sys_errno);
	if (lsh_pipe_epoch(lsh_node_pipe(c->node)) == 0 && trouble->status == LEASH_UNAVAILABLE && trouble->sys_errno == 0) {
		trouble->text[0] = '\0'; /* it is being made for the first time: nothing was lost */
		trouble->event = NULL;
	}
}

static void
garbled(struct lsh_confirmer *c, uint64_t epoch, struct lsh_confirm_trouble *trouble)
{
	*trouble = (struct lsh_confirm_trouble){.status = LEASH_PROTOCOL, .event = "a renewal was not answered: trying again"};
	snprintf(trouble->text, sizeof trouble->text, "%.100s: what it sends is not what a Redis server says", lsh_node_shown(c->node));
	lsh_node_leave(c->node, epoch, trouble->text);
}

/* The server will not, or not now: the step, or, with `command` not NULL, the WAIT. */
static void
refused(struct lsh_confirmer *c, uint64_t epoch, const char *command, const char *words, struct lsh_confirm_trouble *trouble)
{
	const char *shown = lsh_node_shown(c->node);
	enum lsh_fault fault = lsh_fault_of(words);
	char name[24], says[LSH_FAULT_TEXT];

	*trouble = (struct lsh_confirm_trouble){.event = "a renewal was refused: trying again", .status = lsh_fault_status(fault)};
	if (fault == LSH_FAULT_DENIED && command == NULL && lsh_script_blame(&lsh_script_renew, words, name, sizeof name))
		command = name;
	lsh_fault_say(says, words, command, NULL);
	if (fault == LSH_FAULT_NOSCRIPT && command != NULL)
		snprintf(trouble->text, sizeof trouble->text, "%.60s: the server has no %s%s", shown, command,
		         c->fsynced ? ", which `fsynced` needs: Redis has it from 7.2 on" : "");
	else if (c->fsynced && command != NULL && strstr(words, "appendonly") != NULL)
		snprintf(trouble->text, sizeof trouble->text, "%.60s: its appendonly is off, so nothing there is written to disk as `fsynced` asks", shown);
	else
		snprintf(trouble->text, sizeof trouble->text, "%.60s: %s", shown, says);
	if (c->fsynced && command != NULL && strstr(words, "appendonly") != NULL)
		trouble->status = LEASH_UNSUPPORTED;
	else if (fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_UNKNOWN || (fault == LSH_FAULT_CLUSTER && c->site->engine->cluster != NULL))
		trouble->status = LEASH_UNAVAILABLE; /* a master that became a replica ends each WAIT with a word of its own */
	trouble->is_final = trouble->status == LEASH_DENIED || trouble->status == LEASH_UNSUPPORTED;
	if (trouble->status == LEASH_UNAVAILABLE && (fault == LSH_FAULT_NOT_HERE || fault == LSH_FAULT_UNKNOWN))
		lsh_node_leave(c->node, epoch, words);
}

/* lock->mutex held. The server says whether it has the lock. False: that settles it. */
static bool
step_answered(struct lsh_confirmer *c, struct job *job, const struct lsh_reply *reply)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_lock *lock = t->lock;
	struct lsh_confirm_trouble trouble;

	if (reply->type == LSH_ERROR && lsh_fault_of(reply->text) == LSH_FAULT_NOSCRIPT && !job->whole && lsh_step_may_send_whole(lock->engine)) {
		t->send_whole = true;
		lsh_confirm_give(t);
		return false;
	}
	if (reply->type == LSH_ERROR && lsh_fault_of(reply->text) == LSH_FAULT_MISMATCH) {
		lsh_hold_lose(lock, "its key holds something else");
		return false;
	}
	if (reply->type == LSH_ERROR) {
		refused(c, job->ticket.epoch, NULL, reply->text, &trouble);
		lsh_confirm_failed(t, c->node, &trouble);
		return false;
	}
	if (reply->type != LSH_INTEGER || reply->integer[0] < 0 || reply->integer[0] > LSH_HAD_NO_TTL) {
		garbled(c, job->ticket.epoch, &trouble);
		lsh_confirm_failed(t, c->node, &trouble);
		return false;
	}
	t->send_whole = false;
	t->redirections = 0;
	if (reply->integer[0] == 0) {
		lsh_hold_lose(lock, "the server did not have it any more");
		return false;
	}
	lsh_hold_heed_renewal(lock, c->node, reply->integer[0]);
	lsh_confirm_stepped(t, job->sent, job->lease_ms);
	return true;
}

/* Does another server of the cluster have the lock? `*asks`: which is to be asked for this once; NULL: the map says. */
static bool
is_elsewhere(struct lsh_confirmer *c, const struct lsh_reply *reply, struct lsh_site **asks)
{
	struct lsh_engine *e = c->site->engine;
	enum lsh_fault fault = reply->type == LSH_ERROR ? lsh_fault_of(reply->text) : LSH_FAULT_NONE;
	leash_error why;

	if (fault == LSH_FAULT_NOT_HERE || (fault == LSH_FAULT_NOT_NOW && lsh_starts_with_word(reply->text, "CLUSTERDOWN")))
		lsh_route_doubt(e);
	return fault == LSH_FAULT_CLUSTER && e->cluster != NULL && lsh_route_follow(c->site, reply->text, asks, &why) == LEASH_OK;
}

static void
hear_step(struct lsh_confirmer *c, struct job *job)
{
	struct lsh_lock *lock = job->tenure->lock;
	enum lsh_outcome outcome = job->on_its_way ? lsh_pipe_await(lsh_node_pipe(c->node), &job->ticket, LSH_NEVER) : LSH_UNSENT;
	struct lsh_site *asks = NULL; /* in use */
	bool moved = outcome == LSH_ANSWERED && is_elsewhere(c, &job->ticket.reply, &asks);
	struct lsh_confirm_trouble trouble;

	pthread_mutex_lock(&lock->mutex);
	if (job->tenure->phase != LSH_HELD) {
		job->holds = false;
	} else if (moved && job->tenure->redirections++ < LSH_REDIRECTIONS) {
		lsh_route_settle(lock);
		lsh_confirm_give_to(job->tenure, asks != NULL ? asks : lsh_lock_site(lock), asks != NULL);
	} else if (outcome == LSH_ANSWERED) {
		job->holds = step_answered(c, job, &job->ticket.reply);
	} else {
		if (outcome == LSH_GARBLED)
			garbled(c, job->ticket.epoch, &trouble);
		else
			unanswered(c, &trouble);
		lsh_confirm_failed(job->tenure, c->node, &trouble);
	}
	pthread_mutex_unlock(&lock->mutex);
	lsh_site_leave(asks);
	if (!job->holds) {
		lsh_tenure_unref(job->tenure);
		job->tenure = NULL;
	}
}

/* False: nothing was counted. */
static bool
read_count(struct lsh_confirmer *c, const struct lsh_ticket *ticket, enum lsh_outcome outcome, struct lsh_confirm_count *count, struct lsh_confirm_trouble *trouble)
{
	const struct lsh_reply *reply = &ticket->reply;
	bool sane = c->fsynced ? reply->type == LSH_ARRAY && reply->count == 2 && reply->integers == 3 && reply->integer[0] >= 0 && reply->integer[1] >= 0
	                       : reply->type == LSH_INTEGER && reply->integer[0] >= 0;

	if (outcome == LSH_ANSWERED && reply->type == LSH_ERROR) {
		refused(c, ticket->epoch, c->fsynced ? "WAITAOF" : "WAIT", reply->text, trouble);
		return false;
	}
	if (outcome == LSH_GARBLED || (outcome == LSH_ANSWERED && !sane)) {
		garbled(c, ticket->epoch, trouble);
		return false;
	}
	if (outcome != LSH_ANSWERED) {
		unanswered(c, trouble);
		return false;
	}
	count->replicas = (unsigned)reply->integer[c->fsynced];
	count->written = c->fsynced && reply->integer[0] > 0;
	return true;
}

static void
settle(struct lsh_confirmer *c, struct job *job, const struct lsh_confirm_count *count, const struct lsh_confirm_trouble *trouble)
{
	struct lsh_tenure *t = job->tenure;
	struct lsh_lock *lock = t->lock;

	pthread_mutex_lock(&lock->mutex);
	/* the lock may have moved meanwhile: these replicas are no more those that it would be found at */
	if (t->phase == LSH_HELD && is_mine(c, t, job->asking)) {
		if (count != NULL)
			lsh_confirm_counted(t, c->node, job->sent, job->lease_ms, count);
		else
			lsh_confirm_failed(t, c->node, trouble);
	}
	pthread_mutex_unlock(&lock->mutex);
	lsh_tenure_unref(t);
}

/* Send the steps of `n` jobs and one WAIT for all of them, and see what becomes of it. */
static void
confirm(struct lsh_confirmer *c, size_t n, struct lsh_thread *self)
{
	uint64_t epoch = lsh_pipe_epoch(lsh_node_pipe(c->node));
	struct job *end = c->jobs + n;
	int64_t limit = LSH_NEVER;
	struct lsh_ticket ticket = {.epoch = epoch};
	enum lsh_outcome outcome = LSH_UNSENT;
	struct lsh_confirm_count count = {0};
	struct lsh_confirm_trouble trouble = {0};
	bool waits = false, known;

	for (struct job *job = c->jobs; job < end; job++) {
		if (!send_step(c, job, epoch, self)) {
			lsh_tenure_unref(job->tenure);
			job->tenure = NULL;
		} else if (job->on_its_way && job->limit < limit) {
			limit = job->limit;
		}
	}
	if (limit != LSH_NEVER && c->ready == epoch)
		waits = send_wait(c, &ticket, epoch, limit, self);
	for (struct job *job = c->jobs; job < end; job++)
		if (job->tenure != NULL) {
			hear_step(c, job);
			if (job->tenure != NULL)
				c->ready = epoch;
		}
	if (limit != LSH_NEVER && c->ready == epoch && !waits)
		waits = send_wait(c, &ticket, epoch, limit, self);
	if (waits)
		outcome = lsh_pipe_await(lsh_node_pipe(c->node), &ticket, LSH_NEVER);
	known = read_count(c, &ticket, outcome, &count, &trouble);
	for (struct job *job = c->jobs; job < end; job++)
		if (job->tenure != NULL)
			settle(c, job, known ? &count : NULL, &trouble);
}

/* ---- what its node calls ---- */

static void
give_held(struct lsh_lock *lock, void *arg)
{
	const struct lsh_confirmer *c = arg;

	if (lock->hold != NULL && lsh_terms_confirm(&lock->hold->terms) && lsh_lock_site(lock) == c->site)
		lsh_confirm_give(lock->hold->tenure);
}

static void
connected(void *ctx)
{
	struct lsh_confirmer *c = ctx;

	lsh_lock_each(c->site->engine, give_held, c);
}

static void
work(void *ctx)
{
	struct lsh_confirmer *c = ctx;
	struct lsh_thread *self = lsh_self();
	size_t n;

	if (self == NULL)
		return; /* the watchdog will bring it up again */
	while (!atomic_load(&c->site->engine->closing) && (n = take_work(c)) > 0)
		confirm(c, n, self);
}

static void
subscribed(void *ctx)
{
	(void)ctx;
}

static bool
expects_messages(void *ctx)
{
	(void)ctx;
	return false;
}

static void
message(void *ctx, const char *text, size_t size)
{
	(void)ctx, (void)text, (void)size;
}

/* The site's own node says so, too. */
static void
clock_jumped(void *ctx, int64_t by_us)
{
	(void)ctx, (void)by_us;
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	(void)ctx, (void)level, (void)line;
}

static const struct lsh_node_ops node_ops = {
	.connected = connected,
	.subscribed = subscribed,
	.work = work,
	.expects_messages = expects_messages,
	.message = message,
	.clock_jumped = clock_jumped,
	.log = log_line,
};

/* ---- life ---- */

static void
confirmer_free(struct lsh_confirmer *c)
{
	lsh_node_free(c->node);
	lsh_introduction_destroy(&c->introduction);
	lsh_free(c->jobs);
	lsh_free(c);
}

static struct lsh_confirmer *
confirmer_new(struct lsh_site *site, const struct lsh_terms *terms)
{
	struct lsh_engine *e = site->engine;
	struct lsh_node_options options = {.uri = site->uri, .name = e->options.client_name, .channel = NULL, .timeout = e->options.timeout,
	                                   .ask_every = e->options.lease_ms * LSH_MS / 3}; /* renewals go here: as often as for the site */
	struct lsh_confirmer *c = lsh_new(struct lsh_confirmer);
	int why;

	if (c == NULL)
		return NULL;
	c->site = site;
	c->min_replicas = terms->min_replicas;
	c->fsynced = terms->fsynced;
	lsh_list_init(&c->work);
	lsh_introduction_init(&c->introduction, e->options.prefix, e->uuid, e->options.client_name);
	c->jobs = lsh_alloc(WINDOW * sizeof *c->jobs);
	c->node = c->jobs != NULL ? lsh_node_new(&options, &node_ops, c) : NULL;
	if (c->node != NULL && lsh_node_start(c->node))
		return c;
	why = errno;
	confirmer_free(c);
	errno = why;
	return NULL;
}

/* engine->work_mutex held. */
static struct lsh_confirmer *
find(struct lsh_site *site, const struct lsh_terms *terms)
{
	for (struct lsh_confirmer *c = site->confirmers; c != NULL; c = c->next)
		if (c->min_replicas == terms->min_replicas && c->fsynced == terms->fsynced)
			return c;
	return NULL;
}

struct lsh_confirmer *
lsh_confirmer_find(struct lsh_site *site, const struct lsh_terms *terms)
{
	struct lsh_confirmer *c;

	pthread_mutex_lock(&site->engine->work_mutex);
	c = find(site, terms);
	pthread_mutex_unlock(&site->engine->work_mutex);
	return c;
}

bool
lsh_confirmer_make(struct lsh_site *site, const struct lsh_terms *terms)
{
	struct lsh_engine *e = site->engine;
	struct lsh_confirmer *fresh = NULL, *c = lsh_confirmer_find(site, terms);

	if (c != NULL)
		return true;
	fresh = confirmer_new(site, terms);
	if (fresh == NULL)
		return false;
	pthread_mutex_lock(&e->work_mutex);
	c = find(site, terms);
	if (c == NULL && !atomic_load(&e->closing)) {
		c = fresh;
		fresh = NULL;
		c->next = site->confirmers;
		site->confirmers = c;
	}
	pthread_mutex_unlock(&e->work_mutex);
	if (fresh != NULL) {
		lsh_node_stop(fresh->node); /* somebody else was faster: nothing was ever given to this one */
		confirmer_free(fresh);
	}
	return c != NULL;
}

void
lsh_confirmer_add(struct lsh_confirmer *c, struct lsh_tenure *t, bool asks)
{
	struct lsh_engine *e = c->site->engine;
	bool waits;

	if (t->wanted_at == 0)
		t->wanted_at = lsh_now_ns();
	pthread_mutex_lock(&e->work_mutex);
	waits = !lsh_list_empty(&t->confirm_link);
	if (!waits || t->confirmer != c) {
		lsh_site_use(c->site);
		if (waits) {
			lsh_list_remove(&t->confirm_link); /* from where the lock lived: whose keeper may be waiting for an answer that does not come */
			lsh_site_leave(t->confirmer->site);
		} else {
			lsh_tenure_retain(&t->timer);
		}
		lsh_list_append(&c->work, &t->confirm_link);
		t->confirmer = c;
		t->confirm_asks = asks;
	}
	pthread_mutex_unlock(&e->work_mutex);
	lsh_node_kick(c->node);
}

/* Who the client is was told over connections that nobody has any more: it is for the site's own to take it back. */
static void
hand_over_introduction(struct lsh_site *site, const struct lsh_confirmer *c)
{
	pthread_mutex_lock(&site->introduction.mutex);
	site->introduction.written |= c->introduction.written;
	pthread_mutex_unlock(&site->introduction.mutex);
}

void
lsh_confirm_stop(struct lsh_site *site)
{
	struct lsh_confirmer *c;
	size_t n;

	pthread_mutex_lock(&site->engine->work_mutex);
	c = site->confirmers; /* the engine is closing: from here on none is made, and nothing given, any more */
	pthread_mutex_unlock(&site->engine->work_mutex);
	for (; c != NULL; c = c->next) {
		lsh_pipe_break(lsh_node_pipe(c->node), 0); /* or the answer to a WAIT would be awaited */
		lsh_node_stop(c->node);
		hand_over_introduction(site, c);
		while ((n = take_work(c)) > 0)
			for (size_t i = 0; i < n; i++)
				lsh_tenure_unref(c->jobs[i].tenure);
	}
}

void
lsh_confirm_forsake(struct lsh_site *site)
{
	for (struct lsh_confirmer *c = site->confirmers; c != NULL; c = c->next)
		lsh_node_forsake(c->node);
}

void
lsh_confirm_free(struct lsh_site *site)
{
	for (struct lsh_confirmer *c = site->confirmers, *next; c != NULL; c = next) {
		next = c->next;
		confirmer_free(c);
	}
}
