/* A cluster: asking its nodes who has which slot, and deciding whom to believe.
 *
 * The thread "leash-cluster" never waits for a node. When the map has to be looked at, it has nodes asked, each by a thread that
 * lives for that question, and judges the answers as they come:
 *
 *            period over, or asked for (100 to 500 ms after the look before)
 *   QUIET ------------------------------------------------------------------> LOOKING: two are asked at a time; one that has not
 *     ^                                                                          |     answered for a while is joined by the next
 *     +---- two have confirmed the map or made it anew, or nobody is left -------+
 *
 * Who hangs costs the others nothing but a little patience, and its late answer is judged as any other. Those that failed lately are
 * asked last, those of the URI after those that were heard of; among equals chance decides, so that nobody asks a wrong one for ever.
 *
 * Whom to believe. A node that was cut off, or stood still, tells what was true once, and so does one that has not heard the news
 * yet. A command that is sent to a wrong server is refused by it (MOVED), so a wrong map costs time and no safety; but it must not
 * stay wrong, nor change to and fro. Counting heads would need many questions each time, and be wrong when most of those asked are on
 * the wrong side. The cluster has a measure of its own: each failover, and all but each moved slot, begins a new epoch, which nodes
 * tell each other with every word; and a node that is not in touch with most masters says so. Hence an answer has a rank, by that
 * (cluster_state), then by its epoch (both from CLUSTER INFO), and the map has the rank of the best that made it:
 *
 *   higher       counts, but for slots of which a MOVED told after the question was begun;
 *   the same     counts, but for slots that were changed, or of which a MOVED told, less than 2 s before: that is longer than the
 *                cluster takes to spread a word, so an answer that is against it then is of one who has not heard it;
 *   lower        is left aside. If there is nothing else for 10 s, then the cluster was set up anew, and it counts;
 *   from nodes   none of which was in the map (an address that belongs to another cluster now): likewise, but only if one said it
 *                that the URI names: or all locks would wander off to wherever an address leads to.
 *
 * What the server at hand says of one slot (MOVED) beats all that was asked for before it. */
#include "redis/cluster.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/park.h"
#include "base/thread.h"
#include "base/token.h"
#include "redis/fault.h"
#include "redis/question.h"
#include "redis/survey.h"
#include "redis/talk.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
	WITNESSES = 2,  /* whose answers end a look */
	QUESTIONS = 8,  /* at a time; more than WITNESSES are under way only if some are slow */
	PLACES = 64,
	REFUSED = 8,
	IDS = 64,
	ID_SIZE = 40,
};

#define PERIOD       (20 * LSH_S)
#define SOON         (100 * LSH_MS) /* from look to look, when one is asked for */
#define NOT_SO_SOON  (500 * LSH_MS) /* if that goes on; and when nobody answers */
#define STANDS       (2 * LSH_S)    /* what was learned, against the same rank */
#define NOTHING_ELSE (10 * LSH_S)
#define BAD_LATELY   (10 * LSH_S)
#define PATIENCE     (2 * LSH_S)    /* at most, with one step of a question */
#define IDLE         (5 * LSH_S)    /* a server without a slot, or anybody who uses it, until it is given up */
#define LOOKS        LSH_S          /* for such */
#define NEVER_YET    (-LSH_NEVER / 2)

/* Where a node may be asked. */
struct place {
	char host[LSH_HOST_SIZE];
	uint16_t port;
	bool named;         /* by the URI */
	int64_t failed_at;
};

struct rank {
	bool healthy;
	uint64_t epoch;
};

struct asking {
	struct lsh_question question;
	struct place whom;
	unsigned look;
	int64_t begun, asked_at; /* the look; the question itself */
};

struct lsh_cluster {
	const struct lsh_cluster_ops *ops;
	void *ctx;
	const struct lsh_uri *uri;
	int64_t timeout, patience, period;
	struct lsh_slot_map *map;
	pthread_t thread;
	bool started;
	atomic_bool stopping;
	atomic_bool wanted;           /* a look */
	struct lsh_parker parker;     /* of the thread; nobody wakes it who is not in the cluster, so it may end with it */
	struct lsh_parker *_Atomic opener;

	pthread_mutex_t mutex;        /* guards these two */
	leash_error trouble;          /* of the last look; LEASH_OK if that was answered */
	bool looked;                  /* the first look is over */

	/* the thread's */
	struct asking asking[QUESTIONS];
	struct place place[PLACES];   /* first those that the URI names */
	unsigned named, places;
	struct place line[PLACES];    /* in which they are asked in this look, */
	unsigned line_count, next;    /* how many, and who is the next */
	bool looking, held_back;      /* something was, because it is too soon to believe it */
	bool troubled;                /* `trouble` is of this look */
	unsigned look, witnesses;     /* its number; of it */
	int64_t begun, soonest, due;  /* the last look; the next one, if wanted; and in any case */
	int64_t pace;
	struct rank rank;             /* of the map */
	int64_t outdated_since;       /* nothing but outdated answers; 0: not so */
	unsigned ids;
	char id[IDS][ID_SIZE];        /* of nodes of the map */
	uint64_t told;                /* a version */
	unsigned served, served_told; /* slots */
	char said[sizeof ((leash_error *)NULL)->text]; /* the last trouble that was logged */
	char refused[REFUSED][LSH_HOST_SIZE]; /* the last hosts that were; */
	unsigned refused_next;        /* which of them is the oldest */
	bool info_denied;
	struct lsh_survey survey;
};

static int64_t
elapsed(int64_t then, int64_t now)
{
	return now != LSH_NEVER ? now - then : LSH_NEVER; /* with a clock that cannot be read all is long ago */
}

/* ---- what is said ---- */

static void say(struct lsh_cluster *c, leash_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
say(struct lsh_cluster *c, leash_log_level level, const char *format, ...)
{
	char line[320];
	int n = snprintf(line, sizeof line, "%.100s: ", c->uri->shown);
	va_list args;

	va_start(args, format);
	vsnprintf(line + n, sizeof line - (size_t)n, format, args);
	va_end(args);
	c->ops->log(c->ctx, level, line);
}

/* How much it tells a person that a look ended so. A host that does not exist is not waited for: the others may come back. */
static int
weight(leash_status status, int sys_errno)
{
	static const leash_status by_weight[] = {LEASH_UNAVAILABLE, LEASH_NO_MEMORY, LEASH_PROTOCOL, LEASH_UNSUPPORTED, LEASH_INVALID, LEASH_DENIED};
	int n = sizeof by_weight / sizeof *by_weight;

	while (--n > 0 && by_weight[n] != status)
		;
	return n > 0 || sys_errno != ENXIO ? n : -1;
}

/* A question was of no use. */
static void
note(struct lsh_cluster *c, leash_status status, int sys_errno, const char *text)
{
	pthread_mutex_lock(&c->mutex);
	if (!c->troubled || weight(status, sys_errno) > weight(c->trouble.status, c->trouble.sys_errno))
		lsh_fail(&c->trouble, status, sys_errno, "%.90s: %s", c->uri->shown, text);
	c->troubled = true;
	pthread_mutex_unlock(&c->mutex);
}

/* ---- judging: the thread's ---- */

/* May we go there, when `said_by` says so? Where we are already we may stay. */
static bool
is_allowed(const struct lsh_cluster *c, const char *host, const char *said_by)
{
	return strcasecmp(host, said_by) == 0 || lsh_uri_allows(c->uri, host);
}

static int
compare(struct rank a, struct rank b)
{
	if (a.healthy != b.healthy)
		return a.healthy ? 1 : -1;
	return a.epoch < b.epoch ? -1 : a.epoch > b.epoch;
}

/* Is any of the nodes one that we know? If either side says no ids, it is taken to be so. */
static bool
is_same_cluster(const struct lsh_cluster *c, const struct lsh_survey *s)
{
	bool said = false;

	for (unsigned i = 0; i < s->count; i++) {
		if (strlen(s->node[i].id) != ID_SIZE)
			continue;
		said = true;
		for (unsigned j = 0; j < c->ids; j++)
			if (memcmp(c->id[j], s->node[i].id, ID_SIZE) == 0)
				return true;
	}
	return !said || c->ids == 0;
}

static void
keep_ids(struct lsh_cluster *c, const struct lsh_survey *s)
{
	c->ids = 0;
	for (unsigned i = 0; i < s->count && c->ids < IDS; i++)
		if (strlen(s->node[i].id) == ID_SIZE)
			memcpy(c->id[c->ids++], s->node[i].id, ID_SIZE);
}

static struct place *
find_place(struct lsh_cluster *c, const char *host, uint16_t port)
{
	for (unsigned i = 0; i < c->places; i++)
		if (c->place[i].port == port && strcasecmp(c->place[i].host, host) == 0)
			return &c->place[i];
	return NULL;
}

/* Those that the URI names stay, of the others those that were heard of last. */
static void
keep_places(struct lsh_cluster *c, const struct lsh_survey *s, const char *said_by)
{
	struct place kept[PLACES];
	unsigned count = 0;

	for (unsigned i = 0; i < s->count && c->named + count < PLACES; i++) {
		const struct lsh_surveyed *node = &s->node[i];
		const struct place *known = find_place(c, node->host, node->port);

		if ((known != NULL && known->named) || !is_allowed(c, node->host, said_by))
			continue;
		kept[count] = (struct place){.port = node->port, .failed_at = known != NULL ? known->failed_at : NEVER_YET};
		snprintf(kept[count++].host, LSH_HOST_SIZE, "%s", node->host);
	}
	memcpy(c->place + c->named, kept, count * sizeof *kept);
	c->places = c->named + count;
}

/* Once, while there are no more than a few. */
static void
say_refused(struct lsh_cluster *c, const char *host)
{
	for (unsigned i = 0; i < REFUSED; i++)
		if (strcmp(c->refused[i], host) == 0)
			return;
	snprintf(c->refused[c->refused_next++ % REFUSED], LSH_HOST_SIZE, "%s", host);
	say(c, LEASH_LOG_WARNING, "slots are served by '%.100s', to which 'redirects' of the URI does not let us be sent", host);
}

/* The server's number, LSH_NOBODY if it is not one to go to, LSH_NOT_SAID if there is no memory for it. */
static int
number_of(struct lsh_cluster *c, const struct lsh_surveyed *node, const char *said_by)
{
	int number;

	if (!is_allowed(c, node->host, said_by)) {
		say_refused(c, node->host);
		return LSH_NOBODY;
	}
	number = lsh_slot_map_number(c->map, node->host, node->port, true);
	return number != LSH_NO_SERVER ? number : LSH_NOT_SAID;
}

/* Make the map what the survey says. False: there was no memory for one of its servers. */
static bool
take(struct lsh_cluster *c, const struct asking *a, bool higher)
{
	const struct lsh_survey *s = &c->survey;
	int number[LSH_SURVEYED];
	bool whole = true;

	for (unsigned i = 0; i < s->count; i++) {
		number[i] = s->node[i].master ? number_of(c, &s->node[i], a->whom.host) : LSH_NOT_SAID;
		whole &= !s->node[i].master || number[i] != LSH_NOT_SAID;
	}
	c->served = lsh_slot_map_take(c->map, s, number, a->begun, higher, STANDS, &c->held_back);
	for (unsigned i = 0; i < s->count; i++)
		if (number[i] >= 0)
			lsh_slot_map_leave(c->map, number[i]);
	keep_places(c, s, a->whom.host);
	keep_ids(c, s);
	return whole;
}

static void
judge_survey(struct lsh_cluster *c, const struct asking *a)
{
	const struct lsh_survey *s = &c->survey;
	struct rank rank = {s->healthy, s->epoch};
	bool first = lsh_cluster_version(c) == 0, same = is_same_cluster(c, s), whole;
	int64_t now = lsh_now_ns();
	int higher = compare(rank, c->rank);

	if (!first && (!same || higher < 0)) {
		note(c, LEASH_UNAVAILABLE, 0, same ? "what is said of the slots is out of date" : "an address leads to another cluster");
		if (c->witnesses > 0)
			return;
		if (c->outdated_since == 0)
			c->outdated_since = now;
		if (elapsed(c->outdated_since, now) < NOTHING_ELSE || (!same && !a->whom.named))
			return;
		say(c, LEASH_LOG_WARNING, "the cluster is another one than before: its slots are looked at anew");
		higher = 1;
	}
	c->outdated_since = 0;
	c->rank = rank;
	whole = take(c, a, higher > 0 || first);
	if (c->served > 0)
		c->witnesses++;
	else if (!whole)
		note(c, LEASH_NO_MEMORY, ENOMEM, "out of memory for its servers");
	else
		note(c, LEASH_DENIED, 0, "'redirects' of the URI does not let us be sent to any of its servers");
}

/* CLUSTER SLOTS was answered with an error. */
static void
judge_refusal(struct lsh_cluster *c, const struct asking *a, const char *said)
{
	enum lsh_fault fault = lsh_fault_of(said);
	char text[sizeof a->question.err.text];

	if (strstr(said, "cluster support disabled") != NULL) {
		snprintf(text, sizeof text, "%.80s is no part of a cluster: for this server alone write %s", a->question.uri.shown,
		         a->question.uri.tls.on ? "rediss://" : "redis://");
		note(c, LEASH_UNSUPPORTED, 0, text);
	} else {
		snprintf(text, sizeof text, "%.60s: CLUSTER SLOTS %s: %.120s", a->question.uri.shown,
		         fault == LSH_FAULT_DENIED ? "is not permitted" : "was refused", said);
		note(c, fault == LSH_FAULT_UNKNOWN ? LEASH_UNSUPPORTED : lsh_fault_status(fault), 0, text);
	}
}

static void
judge_info(struct lsh_cluster *c, const struct asking *a)
{
	struct lsh_item info = lsh_answer_item(a->question.info);

	lsh_survey_read_info(&c->survey, a->question.info);
	if (info.type == LSH_ERROR && !c->info_denied) {
		c->info_denied = true;
		say(c, LEASH_LOG_WARNING, "CLUSTER INFO is not permitted, so a node that is out of date cannot be told from the others: %.100s", info.text);
	}
}

static void
judge(struct lsh_cluster *c, const struct asking *a)
{
	unsigned witnesses = c->witnesses;
	struct lsh_item slots = lsh_answer_item(a->question.slots);
	struct place *place;
	char text[sizeof a->question.err.text];
	const char *why;

	if (a->question.status != LEASH_OK) {
		note(c, a->question.status, a->question.err.sys_errno, a->question.err.text);
	} else if (slots.type == LSH_ERROR) {
		judge_refusal(c, a, slots.text);
	} else if (!lsh_survey_read(&c->survey, a->question.slots, a->question.uri.host, &why)) {
		snprintf(text, sizeof text, "%.80s: CLUSTER SLOTS: the answer is not what a Redis server says: %s", a->question.uri.shown, why);
		note(c, LEASH_PROTOCOL, 0, text);
	} else if (c->survey.served == 0) {
		snprintf(text, sizeof text, "%.80s knows of nobody who serves a slot: was the cluster created?", a->question.uri.shown);
		note(c, LEASH_UNAVAILABLE, 0, text);
	} else {
		judge_info(c, a);
		judge_survey(c, a);
	}
	place = find_place(c, a->whom.host, a->whom.port);
	if (place != NULL)
		place->failed_at = c->witnesses > witnesses ? NEVER_YET : lsh_now_ns();
}

/* ---- looks: the thread's ---- */

/* About as long: clients that were thrown out together are not to come back together. */
static int64_t
about(int64_t ns)
{
	return ns * 3 / 4 + ns / 2 / 1024 * (lsh_random32() % 1024);
}

/* When it is this one's turn: the smaller, the sooner. */
static int
turn_of(const struct place *place, int64_t now)
{
	return (elapsed(place->failed_at, now) < BAD_LATELY ? 2 : 0) + (place->named ? 1 : 0);
}

/* Those that failed lately last, those of the URI behind those that were heard of, else by chance. */
static void
line_up(struct lsh_cluster *c, int64_t now)
{
	struct place shuffled[PLACES];

	for (unsigned i = 0; i < c->places; i++) {
		unsigned j = lsh_random32() % (i + 1);

		shuffled[i] = shuffled[j];
		shuffled[j] = c->place[i];
	}
	c->line_count = c->next = 0;
	for (int turn = 0; turn <= 3; turn++)
		for (unsigned i = 0; i < c->places; i++)
			if (turn_of(&shuffled[i], now) == turn)
				c->line[c->line_count++] = shuffled[i];
}

static void
begin_look(struct lsh_cluster *c, int64_t now)
{
	atomic_store(&c->wanted, false); /* first: what is wanted from now on is another one */
	c->pace = elapsed(c->begun, now) > STANDS ? SOON : 2 * c->pace < NOT_SO_SOON ? 2 * c->pace : NOT_SO_SOON;
	c->looking = true;
	c->held_back = false;
	c->troubled = false;
	c->witnesses = 0;
	c->look++;
	c->begun = now;
	c->soonest = lsh_after(now, about(c->pace));
	c->due = lsh_after(now, about(c->period));
	line_up(c, now);
}

static void
end_look(struct lsh_cluster *c)
{
	struct lsh_parker *opener;
	leash_error trouble;

	c->looking = false;
	if (c->witnesses == 0 || (c->witnesses < WITNESSES && c->line_count < c->places))
		atomic_store(&c->wanted, true); /* nobody knew, or there are others who might */
	else if (c->held_back && c->due > lsh_after(c->begun, STANDS + SOON))
		c->due = lsh_after(c->begun, STANDS + SOON);
	pthread_mutex_lock(&c->mutex);
	if (c->witnesses > 0)
		c->trouble = (leash_error){0};
	trouble = c->trouble;
	c->looked = true;
	pthread_mutex_unlock(&c->mutex);
	opener = atomic_load(&c->opener);
	if (opener != NULL)
		lsh_unpark(opener);
	if (c->witnesses > 0)
		c->said[0] = '\0';
	else if (strcmp(c->said, trouble.text) != 0)
		c->ops->log(c->ctx, LEASH_LOG_WARNING, strcpy(c->said, trouble.text));
}

static bool
is_being_asked(const struct lsh_cluster *c, const struct place *place)
{
	for (int i = 0; i < QUESTIONS; i++) {
		const struct asking *a = &c->asking[i];

		if (a->question.asked && a->whom.port == place->port && strcmp(a->whom.host, place->host) == 0)
			return true;
	}
	return false;
}

/* Ask the next in line. */
static void
ask_next(struct lsh_cluster *c, struct asking *a, int64_t now)
{
	const struct place *place = &c->line[c->next++];
	leash_error err;

	if (is_being_asked(c, place))
		return; /* in an earlier look: it hangs */
	a->whom = *place;
	a->look = c->look;
	a->begun = c->begun;
	a->asked_at = now;
	if (!lsh_question_ask(&a->question, c->uri, place->host, place->port, &err))
		note(c, err.status, err.sys_errno, err.text);
}

/* Judge what was answered. */
static void
collect(struct lsh_cluster *c)
{
	for (int i = 0; i < QUESTIONS; i++) {
		struct asking *a = &c->asking[i];

		if (!a->question.asked || !atomic_load(&a->question.answered))
			continue;
		lsh_question_take(&a->question);
		judge(c, a);
		lsh_question_forget(&a->question);
	}
}

/* Say what is news. */
static void
tell(struct lsh_cluster *c)
{
	uint64_t version = lsh_cluster_version(c);
	struct lsh_parker *opener = atomic_load(&c->opener);

	if (version == c->told)
		return;
	c->told = version;
	if (opener != NULL)
		lsh_unpark(opener);
	if (c->served != c->served_told)
		say(c, c->served == LSH_SLOTS ? LEASH_LOG_INFO : LEASH_LOG_WARNING, "%u of %d slots are served", c->served, LSH_SLOTS);
	c->served_told = c->served;
	c->ops->changed(c->ctx);
}

/* How the look stands: how many questions of it are under way; how many of those are not slow; when the next one will be. Returns
 * one to be asked; NULL: there is none. */
static struct asking *
count_questions(struct lsh_cluster *c, int64_t now, unsigned *asked, unsigned *fresh, int64_t *until)
{
	struct asking *idle = NULL;

	*asked = *fresh = 0;
	*until = LSH_NEVER;
	for (int i = 0; i < QUESTIONS; i++) {
		struct asking *a = &c->asking[i];
		int64_t slow_at = lsh_after(a->asked_at, c->patience / 5);

		if (!a->question.asked)
			idle = a;
		if (!a->question.asked || a->look != c->look)
			continue;
		++*asked;
		if (slow_at <= now)
			continue;
		++*fresh;
		*until = slow_at < *until ? slow_at : *until;
	}
	return idle;
}

/* Begin a look if it is time to, or bring it forward. Returns when it wants to be called again. */
static int64_t
go_on(struct lsh_cluster *c)
{
	for (;;) {
		int64_t now = lsh_now_ns(), until = atomic_load(&c->wanted) && c->soonest < c->due ? c->soonest : c->due;
		struct asking *idle;
		unsigned asked, fresh;

		if (!c->looking && now < until)
			return until;
		if (!c->looking)
			begin_look(c, now);
		idle = count_questions(c, now, &asked, &fresh, &until);
		if (c->witnesses >= WITNESSES || (c->next == c->line_count && asked == 0))
			end_look(c);
		else if (c->next == c->line_count || idle == NULL || c->witnesses + fresh >= WITNESSES)
			return until;
		else
			ask_next(c, idle, now);
	}
}

/* Give up servers that nobody needs. Returns when it wants to be called again. */
static int64_t
give_up(struct lsh_cluster *c)
{
	int64_t now = lsh_now_ns();
	bool some = false;
	int number;

	while (c->ops->given_up != NULL && (number = lsh_slot_map_retire(c->map, now, IDLE, &some)) != LSH_NO_SERVER) {
		c->ops->given_up(c->ctx, number);
		lsh_slot_map_let_go(c->map, number);
	}
	return some ? lsh_after(now, LOOKS) : LSH_NEVER;
}

static void *
lead(void *arg)
{
	struct lsh_cluster *c = arg;

	lsh_thread_begin("leash-cluster");
	while (!atomic_load(&c->stopping)) {
		int64_t until, again;

		/* what is answered, or wanted, from here on wakes it again */
		collect(c);
		tell(c);
		again = give_up(c);
		until = go_on(c);
		if (again < until)
			until = again;
		if (!atomic_load(&c->stopping))
			lsh_park(&c->parker, until);
	}
	return NULL;
}

/* ---- callers ---- */

int
lsh_cluster_at(const struct lsh_cluster *c, unsigned slot)
{
	return lsh_slot_map_at(c->map, slot);
}

uint64_t
lsh_cluster_version(const struct lsh_cluster *c)
{
	return lsh_slot_map_version(c->map);
}

size_t
lsh_cluster_servers(const struct lsh_cluster *c)
{
	return lsh_slot_map_servers(c->map);
}

const struct lsh_uri *
lsh_cluster_server(const struct lsh_cluster *c, int index)
{
	return lsh_slot_map_server(c->map, index);
}

int
lsh_cluster_use_at(struct lsh_cluster *c, unsigned slot)
{
	return lsh_slot_map_use_at(c->map, slot);
}

bool
lsh_cluster_use_number(struct lsh_cluster *c, int index)
{
	return lsh_slot_map_use_number(c->map, index);
}

void
lsh_cluster_use(struct lsh_cluster *c, int index)
{
	lsh_slot_map_use(c->map, index);
}

void
lsh_cluster_leave(struct lsh_cluster *c, int index)
{
	lsh_slot_map_leave(c->map, index);
}

void
lsh_cluster_refresh(struct lsh_cluster *c)
{
	if (!atomic_exchange(&c->wanted, true))
		lsh_unpark(&c->parker);
}

static leash_status
redirect(struct lsh_cluster *c, const char *text, const char *verb, int from, unsigned *slot, int *index, leash_error *err)
{
	const struct lsh_uri *said_by = lsh_cluster_server(c, from);
	char host[LSH_HOST_SIZE];
	uint16_t port;

	if (!lsh_redirection_read(text, verb, slot, host, &port))
		return lsh_fail(err, LEASH_PROTOCOL, 0, "%.100s: where it sends us is nowhere: %.100s", said_by->shown, text);
	if (host[0] == '\0')
		snprintf(host, sizeof host, "%s", said_by->host);
	if (!is_allowed(c, host, said_by->host))
		return lsh_fail(err, LEASH_DENIED, 0, "%.80s: it sends us to '%.80s:%u', to which 'redirects' of the URI does not let us be sent",
		                said_by->shown, host, port);
	*index = lsh_slot_map_number(c->map, host, port, false);
	if (*index != LSH_NO_SERVER)
		return LEASH_OK;
	lsh_unpark(&c->parker); /* there may be some to be given up */
	return lsh_fail(err, LEASH_UNAVAILABLE, 0, "%.60s: it sends us to '%.60s:%u', which is not followed: %d servers that CLUSTER SLOTS does not name are in use (or no memory is left)",
	                said_by->shown, host, port, (int)LSH_STRANGERS);
}

leash_status
lsh_cluster_moved(struct lsh_cluster *c, const char *text, int from, unsigned *slot, int *index, leash_error *err)
{
	leash_status status = redirect(c, text, "MOVED", from, slot, index, err);

	if (status == LEASH_OK && lsh_slot_map_move(c->map, *slot, *index))
		lsh_cluster_refresh(c); /* hardly that one alone */
	return status;
}

leash_status
lsh_cluster_ask(struct lsh_cluster *c, const char *text, int from, unsigned *slot, int *index, leash_error *err)
{
	return redirect(c, text, "ASK", from, slot, index, err);
}

leash_status
lsh_cluster_trouble(struct lsh_cluster *c, unsigned slot, leash_error *err)
{
	leash_error trouble;

	pthread_mutex_lock(&c->mutex);
	trouble = c->trouble;
	pthread_mutex_unlock(&c->mutex);
	if (trouble.status == LEASH_OK)
		return lsh_fail(err, LEASH_UNAVAILABLE, 0, "%.100s: nobody serves slot %u", c->uri->shown, slot);
	return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
}

/* ---- life ---- */

leash_status
lsh_cluster_open(struct lsh_cluster *c, leash_error *err)
{
	int64_t deadline = lsh_after(lsh_now_ns(), c->timeout);
	struct lsh_thread *self = lsh_self();
	leash_error trouble;
	bool looked = false;
	int e;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	atomic_store(&c->opener, &self->parker);
	e = lsh_thread_start(&c->thread, lead, c);
	if (e != 0)
		return lsh_fail_short(err, e, "cannot make a thread that looks at the cluster's slots");
	c->started = true;
	while (lsh_cluster_version(c) == 0 && !looked && lsh_now_ns() < deadline) {
		lsh_park(&self->parker, deadline);
		pthread_mutex_lock(&c->mutex);
		looked = c->looked;
		pthread_mutex_unlock(&c->mutex);
	}
	atomic_store(&c->opener, NULL);
	if (lsh_cluster_version(c) != 0)
		return LEASH_OK;
	pthread_mutex_lock(&c->mutex);
	trouble = c->trouble;
	pthread_mutex_unlock(&c->mutex);
	if (trouble.status == LEASH_OK)
		return lsh_fail(err, LEASH_UNAVAILABLE, ETIMEDOUT, "%.100s: none of its nodes answered in time", c->uri->shown);
	return lsh_fail(err, trouble.status, trouble.sys_errno, "%s", trouble.text);
}

void
lsh_cluster_stop(struct lsh_cluster *c)
{
	if (!c->started)
		return;
	c->started = false;
	atomic_store(&c->stopping, true);
	lsh_unpark(&c->parker);
	pthread_join(c->thread, NULL);
	for (int i = 0; i < QUESTIONS; i++)
		lsh_question_drop(&c->asking[i].question);
	for (int i = 0; i < QUESTIONS; i++) {
		struct lsh_question *q = &c->asking[i].question;

		if (!q->asked)
			continue;
		lsh_question_take(q);
		lsh_question_forget(q);
	}
}

void
lsh_cluster_forsake(struct lsh_cluster *c)
{
	for (int i = 0; i < QUESTIONS; i++)
		lsh_question_forsake(&c->asking[i].question);
}

void
lsh_cluster_free(struct lsh_cluster *c)
{
	if (c == NULL)
		return;
	lsh_slot_map_free(c->map);
	pthread_mutex_destroy(&c->mutex);
	lsh_free(c);
}

static void
name_places(struct lsh_cluster *c)
{
	for (size_t i = 0; i < c->uri->host_count; i++) {
		const struct lsh_endpoint *host = &c->uri->hosts[i];
		struct place *place = &c->place[c->places];

		if (find_place(c, host->host, host->port) != NULL)
			continue; /* twice in the URI */
		*place = (struct place){.port = host->port, .named = true, .failed_at = NEVER_YET};
		snprintf(place->host, sizeof place->host, "%s", host->host);
		c->places++;
	}
	c->named = c->places;
}

struct lsh_cluster *
lsh_cluster_new(const struct lsh_cluster_options *options, const struct lsh_cluster_ops *ops, void *ctx)
{
	struct lsh_cluster *c = lsh_new(struct lsh_cluster);
	int64_t patience = options->timeout - options->timeout / 8; /* so that whoever opens it in vain is told what was in the way */

	if (c == NULL)
		return NULL;
	c->ops = ops;
	c->ctx = ctx;
	c->uri = options->uri;
	c->timeout = options->timeout;
	c->period = options->period > 0 ? options->period : PERIOD;
	c->patience = patience < PATIENCE ? patience : PATIENCE;
	c->begun = NEVER_YET;
	pthread_mutex_init(&c->mutex, NULL);
	for (int i = 0; i < QUESTIONS; i++) {
		c->asking[i].question.name = options->name;
		c->asking[i].question.patience = c->patience;
		c->asking[i].question.parker = &c->parker;
	}
	name_places(c);
	c->map = lsh_slot_map_new(c->uri);
	if (c->map == NULL) {
		lsh_cluster_free(c);
		return NULL;
	}
	return c;
}
