/* A cluster: asking its nodes who has which slot, and deciding whom to believe. The thread "leash-cluster" waits for
 * none of them. It asks each by a connection that lives for one question (informant.h), and judges answers as they
 * come:
 *
 *            period over, or asked for (100 to 500 ms after the look before)
 *   QUIET ------------------------------------------------------------------> LOOKING
 *     ^                                                                          |
 *     +---- two have confirmed the map or made it anew, or nobody is left -------+
 *
 * In a look two are asked at a time; one that has not answered for a while is joined by the next, and its late answer
 * is judged as any other. Whom to ask is decided by chance among equals, so that nobody asks a wrong one for ever.
 *
 * Whom to believe. A node that was cut off, or has not heard the news yet, tells what was true once. A wrong server
 * refuses commands (MOVED), so a wrong map costs time and no safety; but it must not stay wrong, nor change to and
 * fro. A majority would take many questions, and be wrong when most are on the wrong side. But each failover, and
 * nearly each moved slot, begins a new epoch, of which nodes tell each other; and a node that is not in touch with
 * most masters says so. Hence an answer has a rank, by that (cluster_state), then by its epoch (both from CLUSTER
 * INFO), and the map has the rank of the best that made it:
 *
 *   higher       counts, but for slots of which a MOVED told after the question was begun;
 *   the same     counts, but for slots that were changed, or of which a MOVED told, less than 2 s before: that is
 *                longer than the cluster takes to spread a word, so who is against it has not heard it;
 *   lower        is left aside. If there is nothing else for 10 s, then the cluster was set up anew, and it counts;
 *   from nodes   none of which was in the map (an address that belongs to another cluster now): likewise, but only from
 *                a node that the URI names: or all locks would wander off to wherever an address leads to.
 *
 * What the server at hand says of one slot (MOVED) beats all that was asked for before it. */
#include "redis/cluster.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "base/park.h"
#include "base/thread.h"
#include "base/token.h"
#include "redis/fault.h"
#include "redis/informant.h"
#include "redis/slots.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
	WITNESSES = 2,       /* whose answers end a look */
	PLACES = 64,         /* more than a URI may name */
	BYTES = 32 << 20,    /* of a map, and its elements: 16,384 ranges of one slot, with a master, seven replicas, and */
	ELEMENTS = 1 << 20,  /* a further name of each */
};

#define PERIOD       (20 * LSH_S)
#define SOON         (100 * LSH_MS) /* from look to look, when one is asked for */
#define NOT_SO_SOON  (500 * LSH_MS) /* if that goes on; and when nobody answers */
#define NOTHING_ELSE (10 * LSH_S)
#define BAD_LATELY   (10 * LSH_S)
#define PATIENCE     (2 * LSH_S)    /* at most, with one question */
#define LOOKS        LSH_S          /* for servers to be given up */
#define NEVER_YET    (-LSH_NEVER / 2)

/* Where a node may be asked; the question to it, while one is under way. */
struct place {
	struct lsh_whereabouts at;       /* "": the place is free */
	char id[LSH_NODE_ID + 1];        /* of the node, as far as it is known */
	bool named;                      /* by the URI */
	unsigned heard;                  /* of it: in which map */
	unsigned look;                   /* in which it was asked last */
	int64_t failed_at;

	struct lsh_informant *informant; /* NULL: no question is under way */
	struct lsh_uri uri;
	uint64_t rank;                   /* by CLUSTER INFO, once that is answered */
	bool ranked;
	int64_t begun, asked_at;         /* the look; the question itself */
};

/* A cluster, and who keeps its map right. */
struct asker {
	struct lsh_cluster cluster;
	struct lsh_cluster_options options;
	struct lsh_informant_options asked; /* how they are */
	int kick;
	pthread_t thread;
	bool started;
	atomic_bool stopping;
	atomic_bool wanted;           /* a look */
	leash_error trouble;          /* of the last look, LEASH_OK if that was answered; the cluster's mutex guards it */

	/* the thread's; until it runs, that of lsh_cluster_open() */
	struct place place[PLACES];   /* first those that the URI names */
	bool looking;
	bool held_back;               /* something was, because it is too soon to believe it */
	bool troubled;                /* `trouble` is of this look */
	unsigned look, witnesses;     /* its number; of it */
	int64_t begun, soonest, due;  /* the last look; the next one, if wanted; and in any case */
	int64_t pace;
	uint64_t rank;                /* of the map */
	unsigned maps;                /* so many were taken */
	int64_t outdated_since;       /* nothing but outdated answers; 0: not so */
	uint64_t told;                /* a version */
	unsigned served;              /* slots */
	char said[sizeof ((leash_error *)NULL)->text]; /* the last trouble that was logged */
	char refused[LSH_HOST_SIZE];  /* of the hosts to which we may not go, the first by name */
	bool info_denied;
	int16_t at[LSH_SLOTS];        /* who has it, as the answer that is judged says */
};

static struct asker *
asker_of(struct lsh_cluster *c)
{
	return lsh_container(c, struct asker, cluster);
}

static int64_t
elapsed(int64_t then, int64_t now)
{
	return now != LSH_NEVER ? now - then : LSH_NEVER; /* with a clock that cannot be read all is long ago */
}

/* ---- what is said ---- */

/* A question was of no use. Of several reasons the one is kept that tells a person most. */
static void
note(struct asker *a, const leash_error *why)
{
	lsh_locked(&a->cluster.mutex);
	if (!a->troubled || lsh_trouble_weight(why) > lsh_trouble_weight(&a->trouble))
		lsh_fail(&a->trouble, why->status, why->sys_errno, "%.90s: %s", a->cluster.uri->shown, why->text);
	a->troubled = true;
}

/* ---- places ---- */

/* May we go there, when `said_by` says so? Where we are already we may stay. */
static bool
is_allowed(const struct lsh_cluster *c, const char *host, const char *said_by)
{
	return lsh_is_same_host(host, said_by) || lsh_uri_allows(c->uri, host);
}

/* The place of a node. If it has none and `takes`, one that the URI does not name, where nobody is being asked, and of
 * which the last map does not tell. NULL: there is none. */
static struct place *
find_place(struct asker *a, const char *host, uint16_t port, bool takes)
{
	struct place *unused = NULL;

	for (struct place *place = a->place; place < a->place + PLACES; place++) {
		if (lsh_is_same_place(&place->at, host, port))
			return place;
		if (unused == NULL && !place->named && place->informant == NULL && place->heard != a->maps)
			unused = place;
	}
	if (!takes || unused == NULL)
		return NULL;
	*unused = (struct place){.at.port = port, .failed_at = NEVER_YET};
	snprintf(unused->at.host, LSH_HOST_SIZE, "%s", host);
	return unused;
}

/* Note which places a map tells of; with `takes` those that are new find room. */
static void
hear_of(struct asker *a, const struct redisReply *slots, const char *said_by, bool takes)
{
	struct lsh_slot_node node;

	for (size_t i = 0; i < lsh_answer_count(slots); i++)
		for (size_t n = 0; lsh_range_node(slots, i, n, said_by, &node); n++) {
			bool allowed = node.host != NULL && is_allowed(&a->cluster, node.host, said_by);
			struct place *place =
				node.host != NULL ? find_place(a, node.host, node.port, allowed && takes) : NULL;

			if (place == NULL || !(allowed || place->named))
				continue;
			place->heard = a->maps;
			strcpy(place->id, node.id);
		}
}

/* Those that the URI names stay, and those that are being asked; of the others those that were heard of last, before
 * any that is new. */
static void
keep_places(struct asker *a, const struct redisReply *slots, const char *said_by)
{
	struct place *place;

	a->maps++;
	hear_of(a, slots, said_by, false);
	hear_of(a, slots, said_by, true);
	for (place = a->place; place < a->place + PLACES; place++) {
		if (place->heard == a->maps)
			continue;
		place->id[0] = '\0';
		if (!place->named && place->informant == NULL)
			place->at = (struct lsh_whereabouts){.port = 0};
	}
}

/* Is any of the nodes one that we know? If either side says no ids, it is taken to be so. */
static bool
is_same_cluster(const struct asker *a, const struct redisReply *slots, const char *said_by)
{
	struct lsh_slot_node node;
	bool said = false, known = false;

	for (size_t i = 0; i < lsh_answer_count(slots); i++)
		for (size_t n = 0; lsh_range_node(slots, i, n, said_by, &node); n++) {
			said = said || node.id[0] != '\0';
			for (int at = 0; at < PLACES && node.id[0] != '\0'; at++) {
				known = known || a->place[at].id[0] != '\0';
				if (strcmp(a->place[at].id, node.id) == 0)
					return true;
			}
		}
	return !said || !known;
}

/* ---- judging ---- */

/* The server's number, in use; LSH_NOBODY if it is not one to go to, LSH_NOT_SAID if there is no address of it, or no
 * memory for it. */
static int
number_of(struct asker *a, const struct lsh_slot_node *node, const char *said_by, char refused[LSH_HOST_SIZE])
{
	int number;

	if (node->host == NULL)
		return LSH_NOT_SAID;
	if (!is_allowed(&a->cluster, node->host, said_by)) {
		if (refused[0] == '\0' || strcmp(node->host, refused) < 0)
			snprintf(refused, LSH_HOST_SIZE, "%s", node->host);
		return LSH_NOBODY;
	}
	number = lsh_slots_number(&a->cluster, node->host, node->port, true);
	return number != LSH_NO_SERVER ? number : LSH_NOT_SAID;
}

static void
tell_changes(struct asker *a, unsigned served, const char *refused)
{
	if (strcmp(refused, a->refused) != 0 && strcpy(a->refused, refused)[0] != '\0')
		lsh_courier_log(a->options.courier, LEASH_LOG_WARNING,
		                "%.100s: slots are served by '%.100s', which 'redirects' of the URI does not allow",
		                a->cluster.uri->shown, refused);
	if (served != a->served)
		lsh_courier_log(a->options.courier, served == LSH_SLOTS ? LEASH_LOG_INFO : LEASH_LOG_WARNING,
		                "%.100s: %u of %d slots are served", a->cluster.uri->shown, served, LSH_SLOTS);
	a->served = served;
}

/* Make the map what the node says. False: there was no memory for one of its servers. */
static bool
take(struct asker *a, const struct place *q, const struct redisReply *slots, bool higher)
{
	char refused[LSH_HOST_SIZE] = "";
	struct lsh_slot_node master;
	unsigned first, last;
	bool whole = true;

	memset(a->at, LSH_NOBODY, sizeof a->at); /* all of its bytes are -1, too */
	for (size_t i = 0; lsh_range_read(slots, i, &first, &last); i++) {
		int number = LSH_NOBODY;

		if (lsh_range_node(slots, i, 0, q->at.host, &master)) {
			number = number_of(a, &master, q->at.host, refused);
			whole &= number != LSH_NOT_SAID || master.host == NULL;
		}
		for (unsigned slot = first; slot <= last; slot++)
			a->at[slot] = (int16_t)number;
	}
	tell_changes(a, lsh_slots_take(&a->cluster, a->at, q->begun, higher, &a->held_back), refused);
	for (size_t i = 0; lsh_range_read(slots, i, &first, &last); i++)
		if (a->at[first] >= 0)
			lsh_cluster_leave(&a->cluster, a->at[first]);
	keep_places(a, slots, q->at.host);
	return whole;
}

/* These three: was it of use? Else `*why` says why not. */

static bool
judge_slots(struct asker *a, const struct place *q, const struct redisReply *slots, leash_error *why)
{
	bool first = lsh_cluster_version(&a->cluster) == 0, higher = first || q->rank > a->rank;
	bool same = is_same_cluster(a, slots, q->at.host), whole;
	int64_t now = lsh_now_ns();

	if (!first && (!same || q->rank < a->rank)) {
		lsh_fail(why, LEASH_UNAVAILABLE, 0,
		         same ? "its table of slots is out of date" : "an address leads to another cluster");
		if (a->witnesses > 0)
			return false;
		if (a->outdated_since == 0)
			a->outdated_since = now;
		if (elapsed(a->outdated_since, now) < NOTHING_ELSE || (!same && !q->named))
			return false;
		lsh_courier_log(a->options.courier, LEASH_LOG_WARNING,
		                "%.100s: this is another cluster than before: its slots are looked up again",
		                a->cluster.uri->shown);
		higher = true;
	}
	a->outdated_since = 0;
	a->rank = q->rank;
	whole = take(a, q, slots, higher);
	if (a->served > 0)
		a->witnesses++;
	else if (!whole)
		lsh_fail(why, LEASH_NO_MEMORY, ENOMEM, "out of memory for its servers");
	else
		lsh_fail(why, LEASH_DENIED, 0, "'redirects' of the URI allows none of its servers");
	return a->served > 0;
}

/* CLUSTER SLOTS was answered with an error. */
static bool
judge_refusal(const struct place *q, const char *said, leash_error *why)
{
	enum lsh_fault fault = lsh_fault_of(said);

	if (strstr(said, "cluster support disabled") != NULL)
		lsh_fail(why, LEASH_UNSUPPORTED, 0, "%.80s is not part of a cluster: for this server alone write %s",
		         q->uri.shown, q->uri.tls.on ? "rediss://" : "redis://");
	else
		lsh_fail(why, fault == LSH_FAULT_UNKNOWN ? LEASH_UNSUPPORTED : lsh_fault_status(fault), 0,
		         "%.60s: CLUSTER SLOTS %s: %.120s", q->uri.shown,
		         fault == LSH_FAULT_DENIED ? "is not permitted" : "was refused", said);
	return false;
}

static bool
judge(struct asker *a, const struct place *q, const struct redisReply *slots, leash_error *why)
{
	struct lsh_item item = lsh_answer_item(slots);
	unsigned served;
	const char *fault = lsh_slots_fault(slots, q->at.host, &served);

	if (item.type == LSH_ERROR)
		return judge_refusal(q, item.text, why);
	if (fault == NULL && served > 0)
		return judge_slots(a, q, slots, why);
	if (fault != NULL)
		lsh_fail(why, LEASH_PROTOCOL, 0, "%.80s: CLUSTER SLOTS: the answer is not what a Redis server sends: %s",
		         q->uri.shown, fault);
	else
		lsh_fail(why, LEASH_UNAVAILABLE, 0, "%.80s knows no server of any slot: was the cluster created?",
		         q->uri.shown);
	return false;
}

/* That comes first: if there is a newer order of things by the time of the slots, they count for less than they are. */
static void
take_info(struct asker *a, struct place *q, const struct redisReply *info)
{
	struct lsh_item item = lsh_answer_item(info);

	q->rank = lsh_rank_read(info);
	q->ranked = true;
	if (item.type != LSH_ERROR || lsh_fault_of(item.text) != LSH_FAULT_DENIED || a->info_denied)
		return;
	a->info_denied = true;
	lsh_courier_log(a->options.courier, LEASH_LOG_WARNING,
	                "%.100s: CLUSTER INFO is not permitted, so it cannot be seen which node is out of date: %.100s",
	                a->cluster.uri->shown, item.text);
}

/* ---- questions ---- */

static void
begin_question(struct asker *a, struct place *q, int64_t now)
{
	const struct lsh_arg info[] = {LSH_ARG("CLUSTER"), LSH_ARG("INFO")};
	const struct lsh_arg slots[] = {LSH_ARG("CLUSTER"), LSH_ARG("SLOTS")};
	static const leash_error shortage = {LEASH_NO_MEMORY, ENOMEM, "out of memory for a question"};
	struct lsh_informant *informant = NULL;

	q->look = a->look;
	q->begun = a->begun;
	q->asked_at = now;
	q->ranked = false;
	if (lsh_uri_of_server(&q->uri, a->cluster.uri, q->at.host, q->at.port))
		informant = lsh_informant_new(&q->uri, &a->asked);
	if (informant == NULL) {
		lsh_uri_clear(&q->uri);
		note(a, &shortage);
		return;
	}
	lsh_informant_connect(informant);
	lsh_informant_send(informant, info, 2);
	lsh_informant_send(informant, slots, 2);
	q->informant = informant;
}

static void
end_question(struct place *q, bool of_use)
{
	q->failed_at = of_use ? NEVER_YET : lsh_now_ns();
	lsh_informant_free(q->informant);
	q->informant = NULL;
	lsh_uri_clear(&q->uri);
}

static void
go_on_asking(struct asker *a, struct place *q)
{
	enum lsh_progress informed = lsh_informant_step(q->informant);
	leash_error why = *lsh_informant_trouble(q->informant);
	bool of_use = false;

	if (informed == LSH_WAIT || informed == LSH_GO_ON)
		return;
	if (informed == LSH_DONE && !q->ranked) {
		take_info(a, q, lsh_informant_reply(q->informant));
		return;
	}
	if (informed == LSH_DONE)
		of_use = judge(a, q, lsh_informant_reply(q->informant), &why);
	if (!of_use)
		note(a, &why);
	end_question(q, of_use);
}

/* ---- looks ---- */

/* About as long: clients that were thrown out together are not to come back together. */
static int64_t
about(int64_t ns)
{
	return ns * 3 / 4 + ns / 2 / 1024 * (lsh_random32() % 1024);
}

/* Who is asked next: those that failed lately last, those of the URI behind those that were heard of, else by
 * chance. NULL: all were asked. */
static struct place *
next_place(struct asker *a, int64_t now)
{
	struct place *next = NULL;
	uint32_t soonest = 0;

	for (int i = 0; i < PLACES; i++) {
		struct place *place = &a->place[i];
		uint32_t turn = (elapsed(place->failed_at, now) < BAD_LATELY ? 2u : 0u) + (place->named ? 1u : 0u);

		if (place->at.host[0] == '\0' || place->informant != NULL || place->look == a->look)
			continue;
		turn = turn << 16 | lsh_random32() >> 16;
		if (next == NULL || turn < soonest) {
			next = place;
			soonest = turn;
		}
	}
	return next;
}

static void
begin_look(struct asker *a, int64_t now)
{
	atomic_store(&a->wanted, false); /* first: what is wanted from now on is another one */
	a->pace = elapsed(a->begun, now) > LSH_SLOT_STANDS ? SOON : 2 * a->pace < NOT_SO_SOON ? 2 * a->pace : NOT_SO_SOON;
	a->looking = true;
	a->held_back = false;
	a->troubled = false;
	a->witnesses = 0;
	a->look++;
	a->begun = now;
	a->soonest = lsh_after(now, about(a->pace));
	a->due = lsh_after(now, about(a->options.period));
}

static void
end_look(struct asker *a)
{
	a->looking = false;
	if (a->witnesses == 0) {
		atomic_store(&a->wanted, true);
		if (strcmp(a->said, a->trouble.text) != 0)
			lsh_courier_log(a->options.courier, LEASH_LOG_WARNING, "%s", strcpy(a->said, a->trouble.text));
		return;
	}
	if (a->held_back && a->due > lsh_after(a->begun, LSH_SLOT_STANDS + SOON))
		a->due = lsh_after(a->begun, LSH_SLOT_STANDS + SOON);
	pthread_mutex_lock(&a->cluster.mutex);
	a->trouble = (leash_error){0};
	pthread_mutex_unlock(&a->cluster.mutex);
	a->said[0] = '\0';
}

/* How many questions of this look are under way, and how many of them are not slow. Returns when one becomes slow. */
static int64_t
count_questions(const struct asker *a, int64_t now, unsigned *asked, unsigned *fresh)
{
	int64_t until = LSH_NEVER;

	*asked = *fresh = 0;
	for (const struct place *q = a->place; q < a->place + PLACES; q++) {
		int64_t slow_at = lsh_after(q->asked_at, a->asked.timeout / 5);

		if (q->informant == NULL || q->look != a->look)
			continue;
		*asked += 1;
		*fresh += now < slow_at;
		until = now < slow_at && slow_at < until ? slow_at : until;
	}
	return until;
}

/* Begin a look if it is time to, or go on with it. Returns when it wants to be called again. */
static int64_t
go_on(struct asker *a)
{
	int64_t now = lsh_now_ns(), until = atomic_load(&a->wanted) && a->soonest < a->due ? a->soonest : a->due;
	unsigned asked, fresh;
	struct place *next;

	if (!a->looking && now < until)
		return until;
	if (!a->looking)
		begin_look(a, now);
	do {
		until = count_questions(a, now, &asked, &fresh);
		next = a->witnesses + fresh < WITNESSES ? next_place(a, now) : NULL;
		if (next != NULL)
			begin_question(a, next, now);
	} while (next != NULL);
	if (a->witnesses < WITNESSES && asked > 0)
		return until;
	end_look(a);
	return 0;
}

/* Do all that there is to do. Returns when it wants to be called again. */
static int64_t
work(struct asker *a)
{
	uint64_t version;
	int64_t until, again = LSH_NEVER;

	for (int i = 0; i < PLACES; i++)
		if (a->place[i].informant != NULL)
			go_on_asking(a, &a->place[i]);
	version = lsh_cluster_version(&a->cluster);
	if (version != a->told && a->options.changed != NULL)
		a->options.changed(a->options.ctx);
	a->told = version;
	if (a->options.given_up != NULL && lsh_slots_give_up(&a->cluster, a->options.given_up, a->options.ctx))
		again = lsh_after(lsh_now_ns(), LOOKS);
	until = go_on(a);
	return again < until ? again : until;
}

static void
sleep_until(struct asker *a, int64_t until)
{
	struct pollfd polled[1 + PLACES];
	nfds_t n = 1;

	for (int i = 0; i < PLACES; i++)
		if (a->place[i].informant != NULL)
			n += lsh_informant_poll(a->place[i].informant, polled + n, &until);
	lsh_kick_poll(a->kick, polled, n, until);
}

static void *
lead(void *arg)
{
	struct asker *a = arg;

	lsh_thread_begin("leash-cluster");
	while (!atomic_load(&a->stopping))
		sleep_until(a, work(a));
	return NULL;
}

/* ---- callers ---- */

void
lsh_cluster_refresh(struct lsh_cluster *c)
{
	if (!atomic_exchange(&asker_of(c)->wanted, true))
		lsh_kick(asker_of(c)->kick);
}

leash_status
lsh_cluster_redirect(struct lsh_cluster *c, bool asks, const char *text, int from, int *index, leash_error *err)
{
	const struct lsh_uri *said_by = lsh_cluster_server(c, from);
	struct lsh_whereabouts to;
	unsigned slot;

	if (!lsh_redirection_read(text, asks ? "ASK" : "MOVED", said_by->host, &slot, &to))
		return lsh_fail(err, LEASH_PROTOCOL, 0, "%.100s: it names an invalid address: %.100s", said_by->shown, text);
	if (!is_allowed(c, to.host, said_by->host))
		return lsh_fail(err, LEASH_DENIED, 0,
		                "%.80s: it redirects us to '%.80s:%u', which 'redirects' of the URI does not allow",
		                said_by->shown, to.host, to.port);
	*index = lsh_slots_number(c, to.host, to.port, false);
	if (*index == LSH_NO_SERVER) {
		lsh_kick(asker_of(c)->kick); /* there may be some to be given up */
		return lsh_fail(err, LEASH_UNAVAILABLE, 0,
		                "%.60s: it redirects us to '%.60s:%u', which was not followed: %d servers that CLUSTER SLOTS "
		                "does not name are in use already (or no memory is left)",
		                said_by->shown, to.host, to.port, (int)LSH_STRANGERS);
	}
	if (!asks && lsh_slots_move(c, slot, *index))
		lsh_cluster_refresh(c); /* hardly that one alone */
	return LEASH_OK;
}

leash_status
lsh_cluster_trouble(struct lsh_cluster *c, unsigned slot, leash_error *err)
{
	leash_error trouble;

	pthread_mutex_lock(&c->mutex);
	trouble = asker_of(c)->trouble;
	pthread_mutex_unlock(&c->mutex);
	if (trouble.status == LEASH_OK)
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "%.100s: no server serves slot %u", c->uri->shown, slot);
	return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
}

/* ---- life ---- */

leash_status
lsh_cluster_open(struct lsh_cluster *c, leash_error *err)
{
	struct asker *a = asker_of(c);
	int64_t deadline = lsh_after(lsh_now_ns(), a->options.timeout), until = work(a);
	leash_error trouble;
	int e;

	while (lsh_cluster_version(c) == 0 && a->looking && lsh_now_ns() < deadline) {
		sleep_until(a, until < deadline ? until : deadline);
		until = work(a);
	}
	trouble = a->trouble;
	e = lsh_thread_start(&a->thread, lead, a);
	if (e != 0)
		return lsh_fail_short(err, e, "cannot make a thread that looks at the cluster's slots");
	a->started = true;
	if (lsh_cluster_version(c) != 0)
		return LEASH_OK;
	if (trouble.status == LEASH_OK)
		return lsh_fail(err, LEASH_UNAVAILABLE, ETIMEDOUT, "%.100s: none of its nodes answered in time", c->uri->shown);
	return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
}

void
lsh_cluster_stop(struct lsh_cluster *c)
{
	struct asker *a = asker_of(c);

	atomic_store(&a->stopping, true);
	lsh_kick(a->kick);
	if (a->started)
		pthread_join(a->thread, NULL);
	a->started = false;
	for (int i = 0; i < PLACES; i++)
		if (a->place[i].informant != NULL)
			end_question(&a->place[i], false);
}

void
lsh_cluster_free(struct lsh_cluster *c)
{
	if (c == NULL)
		return;
	lsh_slots_close(c);
	lsh_kick_give(asker_of(c)->kick);
	lsh_free(asker_of(c));
}

struct lsh_cluster *
lsh_cluster_new(const struct lsh_cluster_options *options)
{
	struct asker *a = lsh_new(struct asker);
	/* so that whoever opens it in vain is told what was in the way */
	int64_t patience = options->timeout - options->timeout / 8;

	if (a == NULL)
		return NULL;
	lsh_slots_open(&a->cluster, options->uri);
	a->options = *options;
	if (a->options.period == 0)
		a->options.period = PERIOD;
	a->asked = (struct lsh_informant_options){
		.name = options->name, .timeout = patience < PATIENCE ? patience : PATIENCE,
		.bytes = BYTES, .elements = ELEMENTS,
	};
	a->begun = NEVER_YET;
	a->maps = 1; /* all places are free */
	for (size_t i = 0; i < options->uri->host_count; i++)
		find_place(a, options->uri->hosts[i].host, options->uri->hosts[i].port, true)->named = true;
	a->kick = lsh_kick_take();
	if (a->kick < 0) {
		lsh_cluster_free(&a->cluster);
		return NULL;
	}
	return &a->cluster;
}
