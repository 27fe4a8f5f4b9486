/* How a lock moves.
 *
 *   the map changed (the cluster's thread)         each lock whose slot is another server's now lives at that one's site
 *   a server said MOVED (who sent the command)     the same for that lock, at once; the command goes there
 *   a server said ASK                              the lock stays; the command goes there, behind ASKING, for this once
 *
 * Moving is a matter of memory, and waits for nothing: the new site's keeper is given the renewal of the hold and the words of those who
 * wait, which find out what of them there is at the new server; and who sleeps is woken to look again. Nothing is lost by that and
 * nothing is believed: if the slot was moved all is there, TTLs and places too; if a replica took over for a master that died, it has
 * what reached it, and answers "not held" or "unknown" for the rest.
 *
 * What an earlier server still says after the lock has moved is not counted: the new one has been asked already, or is asked then.
 *
 * A token is asked for at one server only. If it is not known what became of an ask there (no answer), and the lock has moved, the next
 * ask has a new token, and a cancel is owed for the old one. The cancel goes where the lock lives, and is settled by whoever answers it
 * there, once no ask can come any more by the clock of the server that was asked (tenure.c): commands that are stuck on their way to an
 * earlier server cannot reach the one that has the slot now, and the earlier one refuses them as soon as it knows of that, and when it
 * does not, for being cut off, whatever it says is not seen by anybody: what it had is thrown away when it comes back. What a replica
 * had of the token when it took over is what the cancel is for.
 *
 * A site is made when a server is first heard of. It is given up, with its thread and its connections, some seconds after its server has lost its
 * last slot and nobody uses the site any more: no lock lives there, nothing is to be sent or awaited there. The uses are those of the server's number
 * (lib/redis/cluster.h): that is found, used and given up under one mutex. How many there may be of which nobody but MOVED and ASK told is limited. */
#include "lock/route.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "lock/confirm.h"
#include "redis/cluster.h"
#include "redis/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)LSH_SERVERS <= (int)LSH_SITES_MAX, "each server can have a site");

#define PATIENT (200 * LSH_MS) /* so long the first dial may take before the map is doubted */
#define AGAIN   LSH_S          /* after an introduction was not taken */

/* ---- sites ---- */

static void
discard(struct lsh_site *site)
{
	lsh_node_stop(site->node);
	lsh_site_free(site);
}

/* The site of a server whose number is in use, made if there is none. No mutex held. NULL: errno says what there is no more of, or the
 * client is being closed. */
static struct lsh_site *
site_of_server(struct lsh_engine *e, int number)
{
	size_t i = (size_t)number;
	struct lsh_site *site = lsh_site_at(e, i), *fresh = NULL;

	if (site != NULL)
		return site;
	fresh = lsh_site_new(e, lsh_cluster_server(e->cluster, number), number);
	if (fresh == NULL)
		return NULL;
	pthread_mutex_lock(&e->sites_mutex);
	site = lsh_site_at(e, i);
	if (site == NULL && !e->sites_closed) {
		site = fresh;
		fresh = NULL;
		atomic_store_explicit(&e->sites[i], site, memory_order_release);
		if (lsh_site_count(e) <= i)
			atomic_store_explicit(&e->site_count, i + 1, memory_order_release);
	}
	pthread_mutex_unlock(&e->sites_mutex);
	if (fresh != NULL)
		discard(fresh); /* somebody else was faster */
	return site;
}

/* A site for each server that has a slot. 0, or an errno: there is no memory, thread or descriptor for one of them. */
static int
make_sites(struct lsh_engine *e)
{
	bool serves[LSH_SERVERS] = {false};
	char text[LSH_ERRNO_TEXT], line[200];
	int short_of = 0;

	for (unsigned slot = 0; slot < LSH_SLOTS; slot++) {
		int number = lsh_cluster_at(e->cluster, slot);

		if (number != LSH_NO_SERVER)
			serves[number] = true;
	}
	for (int i = 0; i < LSH_SERVERS; i++) {
		struct lsh_site *site;

		if (!lsh_cluster_use_number(e->cluster, i))
			continue;
		site = serves[i] ? site_of_server(e, i) : lsh_site_at(e, (size_t)i);
		if (site != NULL) {
			atomic_store(&site->serves, serves[i]);
		} else if (serves[i] && !atomic_load(&e->closing)) {
			short_of = errno;
			snprintf(line, sizeof line, "no connection to a server of the cluster: %s", lsh_shortage_text(short_of, text));
			lsh_courier_log(e->courier, LEASH_LOG_WARNING, line);
		}
		lsh_cluster_leave(e->cluster, i);
	}
	return short_of;
}

/* The cluster's thread: nobody uses the number, and nobody finds it any more. */
static void
given_up(void *ctx, int number)
{
	struct lsh_engine *e = ctx;
	struct lsh_site *site = lsh_site_at(e, (size_t)number);

	if (site == NULL)
		return;
	pthread_mutex_lock(&e->sites_mutex);
	atomic_store(&e->ending, site);
	atomic_store_explicit(&e->sites[number], NULL, memory_order_release);
	atomic_fetch_add(&e->commands_gone, lsh_pipe_commands(lsh_node_pipe(site->node)));
	atomic_fetch_add(&e->connects_gone, lsh_pipe_connects(lsh_node_pipe(site->node)));
	pthread_mutex_unlock(&e->sites_mutex);
	lsh_confirm_stop(site);
	lsh_pipe_break(lsh_node_pipe(site->node), 0); /* should its keeper await an answer */
	lsh_node_stop(site->node);
	atomic_store(&e->ending, NULL);
	lsh_site_free(site);
}

static struct lsh_site *
any_site(struct lsh_engine *e)
{
	struct lsh_site *any = NULL;

	for (size_t i = 0; i < lsh_site_count(e) && (any == NULL || !lsh_node_is_up(any->node)); i++) {
		struct lsh_site *site = lsh_site_get(e, i);

		if (site != NULL && (any == NULL || lsh_node_is_up(site->node)))
			lsh_site_keep(&any, site);
		lsh_site_leave(site);
	}
	return any;
}

struct lsh_site *
lsh_route_at(struct lsh_engine *e, unsigned slot)
{
	int number = lsh_cluster_use_at(e->cluster, slot);
	struct lsh_site *site = number != LSH_NO_SERVER ? lsh_site_at(e, (size_t)number) : NULL;

	if (number != LSH_NO_SERVER && site == NULL)
		lsh_cluster_leave(e->cluster, number);
	return site;
}

struct lsh_site *
lsh_route_site(struct lsh_engine *e, unsigned slot)
{
	struct lsh_site *site = lsh_route_at(e, slot);

	return site != NULL ? site : any_site(e);
}

/* ---- moving ---- */

/* Where it asked is needed only for the clock by which those asks end that may still be on their way: who holds a lock, or waits for it, for months
 * is not to keep every server that it was ever at. */
static void
leave_where_it_asked(struct lsh_tenure *t)
{
	if (t->not_after_us == 0 && t->ghost_until_us == 0)
		lsh_site_keep(&t->ask_site, NULL);
}

/* lock->mutex held. The caller's use of the site becomes the lock's. */
static void
move(struct lsh_lock *lock, struct lsh_site *site)
{
	struct lsh_site *before = lsh_lock_site(lock);
	struct lsh_list *at, *after;
	bool is_up;

	atomic_store(&lock->site, site);
	lock->channel = LSH_DEAF; /* where the slot was it ends by itself */
	lock->channel_site = NULL;
	lsh_site_leave(before);
	/* In this order: who brings up what lives at a site that is up now either finds this lock there, or the site was up before. */
	is_up = lsh_node_is_up(site->node);
	if (lock->hold != NULL) {
		struct lsh_tenure *t = lock->hold->tenure;
		int64_t now = lsh_now_ns(), look = lsh_after(now, lock->hold->terms.lease_ms * LSH_MS / 4);

		if (t->wanted_at != 0) { /* how long the new one is silent counts from now */
			t->wanted_at = now;
			lsh_tenure_arm(t, look < t->valid_until ? look : t->valid_until, 0);
		}
		t->redirections = 0;
		leave_where_it_asked(t);
		if (is_up)
			lsh_tenure_give_work(t);
	}
	lsh_list_each(at, after, &lock->lines) {
		struct lsh_line *line = lsh_container(at, struct lsh_line, link);

		if (line->tenure != NULL && line->tenure->phase == LSH_QUEUED) {
			leave_where_it_asked(line->tenure);
			if (is_up)
				lsh_tenure_give_work(line->tenure);
		}
		lsh_line_wake(line);
	}
}

void
lsh_route_settle(struct lsh_lock *lock)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_site *site;

	if (e->cluster == NULL || lsh_cluster_at(e->cluster, lock->slot) == lsh_lock_site(lock)->number)
		return;
	site = lsh_route_at(e, lock->slot);
	if (site != NULL && site != lsh_lock_site(lock))
		move(lock, site);
	else
		lsh_site_leave(site);
}

static void
settle(struct lsh_lock *lock, void *arg)
{
	(void)arg;
	lsh_route_settle(lock);
}

static void
changed(void *ctx)
{
	struct lsh_engine *e = ctx;

	make_sites(e);
	lsh_lock_each(e, settle, NULL);
	lsh_sites_bring_up_owed(e, NULL);
}

/* ---- being sent elsewhere ---- */

leash_status
lsh_route_follow(struct lsh_site *from, const char *words, struct lsh_site **asks, leash_error *err)
{
	struct lsh_engine *e = from->engine;
	bool once = lsh_starts_with_word(words, "ASK");
	struct lsh_site *site;
	char text[LSH_ERRNO_TEXT];
	leash_status status;
	unsigned slot;
	int number, short_of;

	if (e->cluster == NULL)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "%.80s: it is part of a cluster: write redis+cluster:// or rediss+cluster://: %.100s",
		                lsh_node_shown(from->node), words);
	if (once)
		status = lsh_cluster_ask(e->cluster, words, from->number, &slot, &number, err);
	else
		status = lsh_cluster_moved(e->cluster, words, from->number, &slot, &number, err);
	if (status != LEASH_OK) {
		status = status == LEASH_PROTOCOL ? status : LEASH_UNAVAILABLE;
		if (err != NULL)
			err->status = status;
		return status;
	}
	site = site_of_server(e, number);
	short_of = errno;
	*asks = once ? site : NULL;
	if (*asks == NULL)
		lsh_cluster_leave(e->cluster, number);
	if (site == NULL)
		return lsh_fail(err, atomic_load(&e->closing) ? LEASH_UNAVAILABLE : LEASH_NO_MEMORY, short_of,
		                "%.80s: no connection to the server that it names: %.80s: %.60s", lsh_node_shown(from->node),
		                lsh_shortage_text(short_of, text), words);
	return LEASH_OK;
}

leash_status
lsh_route_circles(const struct lsh_site *from, const char *words, leash_error *err)
{
	return lsh_fail(err, LEASH_UNAVAILABLE, 0, "%.80s: sent from server to server %d times in a row, the last time by: %.100s",
	                lsh_node_shown(from->node), LSH_REDIRECTIONS, words);
}

void
lsh_route_doubt(struct lsh_engine *e)
{
	if (e->cluster != NULL)
		lsh_cluster_refresh(e->cluster);
}

/* ---- who clients are ---- */

static unsigned
slot_of_party(const struct lsh_engine *e, const char *token)
{
	char key[LSH_PARTY_KEY_SIZE];
	size_t size = lsh_party_key(key, e->options.prefix, token);

	return lsh_slot_of(key, size);
}

/* False: for so long it was wanted already. */
static bool
want_introduction(struct lsh_site *site, int64_t lease_ms)
{
	int64_t wanted_ms = atomic_load(&site->introduce_ms);

	while (wanted_ms < lease_ms)
		if (atomic_compare_exchange_weak(&site->introduce_ms, &wanted_ms, lease_ms))
			return true;
	return false;
}

void
lsh_route_introduce(struct lsh_engine *e, int64_t lease_ms, int64_t now)
{
	struct lsh_site *site = lsh_route_at(e, e->client_slot);

	if (site == NULL || now < atomic_load_explicit(&site->introduce_after, memory_order_relaxed) ||
	    lsh_introduction_is_there(&site->introduction, lsh_pipe_epoch(lsh_node_pipe(site->node)), lease_ms, now)) {
		lsh_site_leave(site);
		return;
	}
	if (want_introduction(site, lease_ms))
		lsh_node_kick(site->node); /* where it is down: once it is back */
	lsh_site_leave(site);
}

void
lsh_route_prolong(struct lsh_engine *e, const char *token, int64_t lease_ms, int64_t now)
{
	struct lsh_site *site = lsh_route_at(e, slot_of_party(e, token));

	if (site != NULL && lsh_node_is_up(site->node)) {
		lsh_introduction_prolong(lsh_node_pipe(site->node), e->options.prefix, token, lease_ms, now);
		atomic_store(&site->unheard, true);
		lsh_node_kick(site->node);
	}
	lsh_site_leave(site);
}

/* Questions of one window. */
enum { WINDOW = 16 };

struct question {
	struct lsh_party_question party;
	struct lsh_site *site; /* that was asked, in use; NULL: none was */
	struct lsh_ticket ticket;
};

static void
ask_who(struct lsh_engine *e, struct question *q, const char *token, struct lsh_thread *self)
{
	struct lsh_site *site = lsh_route_at(e, slot_of_party(e, token));

	lsh_party_ask(&q->party, e->options.prefix, token);
	q->ticket = (struct lsh_ticket){.done = lsh_ticket_wake, .parker = &self->parker};
	q->site = NULL;
	if (site != NULL && lsh_pipe_append(lsh_node_pipe(site->node), &q->ticket, q->party.args, LSH_PARTY_ARGS, lsh_now_ns(), e->options.timeout) ==
	                        LSH_APPENDED)
		q->site = site;
	else
		lsh_site_leave(site);
}

/* False: somebody else is to be asked. */
static bool
hear_who(struct question *q, leash_party *party, int64_t deadline)
{
	const struct lsh_reply *reply = &q->ticket.reply;
	struct lsh_site *asks;
	leash_error err;
	bool moved = false;

	if (q->site != NULL && lsh_pipe_await(lsh_node_pipe(q->site->node), &q->ticket, deadline) == LSH_ANSWERED) {
		if (reply->type == LSH_STRING)
			lsh_party_read(reply->text, strlen(reply->text), party);
		moved = reply->type == LSH_ERROR && lsh_starts_with_word(reply->text, "MOVED") && lsh_route_follow(q->site, reply->text, &asks, &err) == LEASH_OK;
	}
	lsh_site_leave(q->site);
	q->site = NULL;
	return !moved;
}

void
lsh_route_who(struct lsh_engine *e, leash_party *const *parties, size_t count, int64_t deadline, struct lsh_thread *self)
{
	struct question question[WINDOW];

	for (size_t i = 0; i < count; i += WINDOW) {
		size_t n = count - i < WINDOW ? count - i : WINDOW;

		for (size_t j = 0; j < n; j++)
			ask_who(e, &question[j], parties[i + j]->token, self);
		for (size_t j = 0; j < n; j++)
			if (!hear_who(&question[j], parties[i + j], deadline)) {
				ask_who(e, &question[j], parties[i + j]->token, self);
				hear_who(&question[j], parties[i + j], deadline);
			}
	}
}

/* ---- the keeper ---- */

/* Whatever is answered but a redirection, it is not written again soon: nothing depends on it. */
static void
introduce(struct lsh_site *site, struct lsh_thread *self)
{
	int64_t lease_ms = atomic_exchange(&site->introduce_ms, 0);
	struct lsh_site *asks;
	struct lsh_reply reply;
	leash_error err;

	/* who came while the one before was on its way has been served by that */
	if (lease_ms == 0 || lsh_introduction_is_there(&site->introduction, lsh_pipe_epoch(lsh_node_pipe(site->node)), lease_ms, lsh_now_ns()))
		return;
	if (!lsh_introduction_say(&site->introduction, lsh_node_pipe(site->node), lease_ms, site->engine->options.timeout, self, &reply)) {
		want_introduction(site, lease_ms); /* over the next connection */
		return;
	}
	if (reply.type == LSH_ERROR && lsh_fault_of(reply.text) == LSH_FAULT_CLUSTER) {
		lsh_introduction_lose(&site->introduction);
		if (lsh_route_follow(site, reply.text, &asks, &err) == LEASH_OK)
			lsh_site_leave(asks);
		atomic_store(&site->introduce_after, lsh_after(lsh_now_ns(), AGAIN));
	}
}

/* A connection with answers that nobody has read looks dead. */
static void
read_unheard(struct lsh_site *site, struct lsh_thread *self)
{
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &self->parker};
	struct lsh_pipe *pipe = lsh_node_pipe(site->node);
	struct lsh_arg ping = LSH_ARG("PING");

	if (atomic_exchange(&site->unheard, false) &&
	    lsh_pipe_append(pipe, &ticket, &ping, 1, lsh_now_ns(), site->engine->options.timeout) == LSH_APPENDED)
		lsh_pipe_await(pipe, &ticket, LSH_NEVER);
}

void
lsh_route_work(struct lsh_site *site)
{
	struct lsh_thread *self = lsh_self();

	if (lsh_node_is_up(site->node)) {
		site->doubt_at = 0;
		if (self != NULL) {
			introduce(site, self);
			read_unheard(site, self);
		}
		return;
	}
	/* it cannot be reached: perhaps another one has taken over */
	if (site->doubt_at == LSH_NEVER)
		site->doubt_at = lsh_after(lsh_now_ns(), PATIENT);
	if (atomic_load(&site->serves) && lsh_now_ns() >= site->doubt_at)
		lsh_route_doubt(site->engine);
}

/* ---- life ---- */

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	struct lsh_engine *e = ctx;

	lsh_courier_log(e->courier, level, line);
}

static leash_status
await_hellos(struct lsh_engine *e, int short_of, leash_error *err)
{
	leash_error worst = {LEASH_OK, 0, ""}, why;
	bool any = false;

	for (size_t i = 0; i < lsh_site_count(e); i++) {
		struct lsh_site *site = lsh_site_get(e, i);

		if (site == NULL)
			continue;
		why = (leash_error){LEASH_OK, 0, ""};
		if (lsh_node_await_hello(site->node, &why) == LEASH_OK)
			any = true;
		else if (worst.status == LEASH_OK || (why.status == LEASH_DENIED && worst.status != LEASH_DENIED))
			worst = why;
		lsh_site_leave(site);
	}
	if (any)
		return LEASH_OK;
	if (worst.status == LEASH_OK)
		return lsh_fail_short(err, short_of, "cannot make the connections to the servers of the cluster");
	return lsh_fail(err, worst.status, worst.sys_errno, "%s", worst.text);
}

leash_status
lsh_route_open(struct lsh_engine *e, leash_error *err)
{
	static const struct lsh_cluster_ops ops = {.changed = changed, .log = log_line, .given_up = given_up};
	struct lsh_cluster_options options = {.uri = e->options.uri, .name = e->options.client_name, .timeout = e->options.timeout};
	leash_status status;

	e->client_slot = slot_of_party(e, e->uuid);
	e->cluster = lsh_cluster_new(&options, &ops, e);
	if (e->cluster == NULL)
		return lsh_fail_short(err, errno, "cannot look at the slots of the cluster");
	status = lsh_cluster_open(e->cluster, err);
	if (status != LEASH_OK)
		return status;
	return await_hellos(e, make_sites(e), err);
}

void
lsh_route_stop(struct lsh_engine *e)
{
	if (e->cluster == NULL)
		return;
	pthread_mutex_lock(&e->sites_mutex);
	e->sites_closed = true;
	pthread_mutex_unlock(&e->sites_mutex);
	lsh_cluster_stop(e->cluster);
}
