/* Who is the master? All sentinels are asked at once:
 *
 *   - when the node wishes to know, which it does before it connects;
 *   - once in every period: a master that was replaced and returns takes writes for up to 10 s, until a sentinel makes
 *     it a replica;
 *   - when one of them says +switch-master. All are listened to: the leader of a failover says so last, when the
 *     replicas follow the new master. Anybody may publish, and without end: the first such hint is followed at once,
 *     those within HINT_GAP of it by one question.
 *
 * Each is an informant for itself: one that hangs keeps nobody waiting. A question is three commands, sent at once:
 *
 *   SENTINEL GET-MASTER-ADDR-BY-NAME   the address; in a failover it changes sooner than that of SENTINEL MASTER
 *   SENTINEL MASTER                    the epoch, and what else a sentinel thinks of the master
 *   SENTINEL SENTINELS                 the others
 *
 * The first of them is enough, for a user who is permitted no more. A kept connection that turns out to be broken is no
 * reply: another is connected at once. A second one subscribes to +switch-master, once questions are answered.
 *
 * What each said last is its view, until it fails to reply. Of those of a master that the URI allows the best is
 *
 *   of the highest epoch   -> the others have not heard of the last failover yet
 *   of the most sentinels  -> where those disagree; as after SENTINEL SET or MONITOR on some of them only
 *   the one believed in, else that of the sentinel that the URI names first
 *
 * So the first answer counts at once, until one has a higher epoch. Whether a sentinel takes the master for down does
 * not matter: while it names no other, there is none.
 *
 * Where none of the URI's sentinels answers, those that they last named are asked as well. If nobody answers, nobody
 * gets a new connection: it could be to a master of the past. A wish is over when it is answered, or all have failed
 * at it.
 *
 * One thread does all of it, and waits only in ppoll(). */
#include "redis/sentinel.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "base/park.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/token.h"
#include "redis/fault.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SLACK              (1 * LSH_S)    /* less than this longer is no news */
#define HINT_GAP           (200 * LSH_MS) /* between two questions for which somebody's message is the reason */
#define RESUBSCRIBE        (1 * LSH_S)    /* so long after a subscription that broke, at the soonest */
#define RESUBSCRIBE_DENIED (30 * LSH_S)   /* that is noted down in a log of the sentinel each time */

enum {
	OTHERS_MOST = 16,            /* sentinels that one of them may name; more are not heeded */
	POSTS = LSH_HOSTS_MAX + OTHERS_MOST,
	BYTES = 1 << 18,             /* of one reply, and its elements */
	ELEMENTS = 1 << 14,
};

enum sight {
	SEES_NOTHING,  /* not asked yet */
	SEES_MASTER,
	SEES_STRANGER, /* knows no master of that name */
	SEES_TROUBLE,  /* no reply, or a refusal */
};

/* What a sentinel says. */
struct view {
	enum sight sight;
	uint64_t number;              /* of the wish that this answers; 0: none */
	struct lsh_master master;
	uint64_t epoch;               /* of the configuration that made it the master; 0 also if that is not told */
	unsigned votes;               /* of sentinels that say the same, and the earliest `since` of them */
	int64_t earliest;
	leash_error trouble;          /* names the sentinel */
};

struct post {
	struct lsh_uri uri;
	struct lsh_informant *asked, *news;
	bool asking, kept;            /* a question is under way; by a connection that served one before */
	unsigned replies;             /* to it, so far */
	struct view coming, view;     /* what these say; what was said last */
	size_t other_count;
	struct lsh_whereabouts others[OTHERS_MOST];
	bool subscribed;              /* and that is confirmed */
	int64_t subscribe_at;
	leash_error deafness;         /* why it failed; LEASH_OK: it did not */
	char said[sizeof ((leash_error *)0)->text]; /* the last of its troubles that was logged */
};

struct lsh_sentinel {
	struct lsh_sentinel_options options;
	const struct lsh_uri *uri;
	int kick;
	atomic_bool stopping;
	_Atomic uint64_t wished;
	pthread_t thread;
	bool running;

	/* the thread's */
	size_t named, count;        /* of `posts`: those of the URI, and all */
	struct post *posts[POSTS];
	int64_t next;               /* when the next question is due */
	bool hinted;                /* there may be another master, and nobody was asked since: that is due */
	int64_t hint_at;            /* then, at the soonest */

	pthread_mutex_t mutex;      /* guards the rest */
	bool found;
	struct lsh_master master;   /* if found */
	uint64_t epoch;             /* its */
	uint64_t answered;          /* the last wish that was answered, */
	_Atomic uint64_t done;      /* that was over for all; also read without the mutex */
	leash_error trouble;        /* why `done` was not answered, if it is later than `answered` */
};

static bool
is_same(const struct lsh_whereabouts *a, const struct lsh_whereabouts *b)
{
	return lsh_is_same_place(a, b->host, b->port);
}

/* ---- what to believe ---- */

/* Does it name a master to go to? */
static bool
is_usable(const struct lsh_sentinel *s, const struct view *view)
{
	return view->sight == SEES_MASTER && lsh_uri_allows(s->uri, view->master.at.host);
}

/* Each sentinel counts from when it saw it become the master, or from its own start. */
static void
count_votes(const struct lsh_sentinel *s, struct view *view)
{
	view->votes = 0;
	view->earliest = view->master.since;
	for (size_t i = 0; i < s->count; i++) {
		const struct view *other = &s->posts[i]->view;

		if (!is_usable(s, other) || other->epoch != view->epoch || !is_same(&other->master.at, &view->master.at))
			continue;
		view->votes++;
		if (other->master.since < view->earliest)
			view->earliest = other->master.since;
	}
}

static bool
is_better(const struct lsh_sentinel *s, const struct view *view, const struct view *best)
{
	if (view->epoch != best->epoch)
		return view->epoch > best->epoch;
	if (view->votes != best->votes)
		return view->votes > best->votes;
	return s->found && is_same(&view->master.at, &s->master.at) && !is_same(&best->master.at, &s->master.at);
}

/* `*answered`: the last wish that any usable view answers. */
static const struct view *
choose(struct lsh_sentinel *s, uint64_t *answered)
{
	const struct view *best = NULL;

	*answered = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct view *view = &s->posts[i]->view;

		if (!is_usable(s, view))
			continue;
		*answered = view->number > *answered ? view->number : *answered;
		count_votes(s, view);
		if (best == NULL || is_better(s, view, best))
			best = view;
	}
	return best;
}

/* How much a failed view tells of why there is no answer. */
static int
weight(const struct view *view)
{
	static const int by_sight[] = {
		[SEES_NOTHING] = -2, [SEES_STRANGER] = 6, [SEES_MASTER] = 7, /* somewhere where we may not go */
	};

	return view->sight == SEES_TROUBLE ? lsh_trouble_weight(&view->trouble) : by_sight[view->sight];
}

static void
explain(const struct lsh_sentinel *s, leash_error *err)
{
	const struct view *view = &s->posts[0]->view;
	const struct lsh_whereabouts *at;
	const char *shown = s->uri->shown;
	const leash_error *why;

	for (size_t i = 1; i < s->count; i++)
		if (weight(&s->posts[i]->view) >= weight(view))
			view = &s->posts[i]->view;
	why = &view->trouble;
	at = &view->master.at;
	if (view->sight == SEES_MASTER)
		lsh_fail(err, LEASH_DENIED, 0,
		         "%.90s: its master is at %.60s:%u, which 'redirects' of the URI does not allow", shown, at->host,
		         at->port);
	else if (view->sight == SEES_STRANGER)
		lsh_fail(err, LEASH_INVALID, 0, "%.120s: no sentinel knows a master called '%.60s'", shown, s->uri->master);
	else if (why->status == LEASH_UNAVAILABLE)
		lsh_fail(err, LEASH_UNAVAILABLE, why->sys_errno, "%.90s: no sentinel answered: %.130s", shown, why->text);
	else
		lsh_fail(err, why->status, why->sys_errno, "%.80s: a sentinel: %.150s", shown, why->text);
}

/* The wish that is over for all of the first `count`. */
static uint64_t
least_number(const struct lsh_sentinel *s, size_t count)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (s->posts[i]->view.number < least)
			least = s->posts[i]->view.number;
	return least;
}

/* s->mutex held. Returns whether that is news. */
static bool
believe(struct lsh_sentinel *s, const struct view *best)
{
	s->master.down = best->master.down;
	if (s->found && is_same(&best->master.at, &s->master.at) && best->epoch == s->epoch &&
	    best->earliest >= s->master.since - SLACK)
		return false;
	s->found = true;
	s->epoch = best->epoch;
	s->master = best->master;
	s->master.since = best->earliest;
	return true;
}

/* Where no view is of use, what was believed stands. */
static void
decide(struct lsh_sentinel *s)
{
	uint64_t answered, done = least_number(s, s->count);
	const struct view *best = choose(s, &answered);
	bool news;

	pthread_mutex_lock(&s->mutex);
	news = (best != NULL && believe(s, best)) || done > s->done || answered > s->answered;
	s->answered = answered > s->answered ? answered : s->answered;
	if (done > s->done) /* less: others were sent for meanwhile */
		s->done = done;
	if (s->answered < s->done)
		explain(s, &s->trouble);
	pthread_mutex_unlock(&s->mutex);
	if (news)
		s->options.news(s->options.ctx);
}

/* ---- what a sentinel says ---- */

static struct lsh_item
field(const struct redisReply *reply, const char *name)
{
	for (size_t i = 0; i + 1 < lsh_answer_count(reply); i += 2)
		if (strcmp(lsh_answer_item(lsh_answer_at(reply, i)).text, name) == 0)
			return lsh_answer_item(lsh_answer_at(reply, i + 1));
	return lsh_answer_item(NULL);
}

static uint64_t
number(const struct redisReply *reply, const char *name)
{
	struct lsh_item item = field(reply, name);
	uint64_t n = 0;

	lsh_decimal_read(item.text, item.length, &n);
	return n;
}

static bool
take_place(struct lsh_whereabouts *at, struct lsh_item host, struct lsh_item port)
{
	return lsh_whereabouts_read(at, host.text, host.length, port.text, port.length);
}

static void
take_refusal(struct post *p, const char *said)
{
	leash_status status = lsh_fault_status(lsh_fault_of(said));

	if (lsh_starts_with_word(said, "ERR")) /* unknown command */
		lsh_fail(&p->coming.trouble, LEASH_INVALID, 0, "%.120s: is it a sentinel? SENTINEL was refused: %.*s",
		         p->uri.shown, (int)strcspn(said, "'`\","), said);
	else
		lsh_fail(&p->coming.trouble, status == LEASH_OK ? LEASH_PROTOCOL : status, 0,
		         "%.120s: SENTINEL GET-MASTER-ADDR-BY-NAME was refused: %.120s", p->uri.shown, said);
}

static void
take_address(struct post *p, const struct redisReply *reply)
{
	struct lsh_item item = lsh_answer_item(reply), host = lsh_answer_item(lsh_answer_at(reply, 0));

	p->coming.sight = SEES_TROUBLE;
	if (item.type == LSH_ERROR)
		take_refusal(p, item.text);
	else if (item.type == LSH_NIL)
		p->coming.sight = SEES_STRANGER;
	else if (take_place(&p->coming.master.at, host, lsh_answer_item(lsh_answer_at(reply, 1))))
		p->coming.sight = SEES_MASTER;
	else
		lsh_fail(&p->coming.trouble, LEASH_PROTOCOL, 0, "%.120s: it names an invalid address for the master",
		         p->uri.shown);
}

static void
take_master(struct post *p, const struct redisReply *reply)
{
	uint64_t role_ms = number(reply, "role-reported-time");
	struct lsh_whereabouts at;

	p->coming.epoch = number(reply, "config-epoch");
	/* in a failover the rest may be about the master before */
	if (!take_place(&at, field(reply, "ip"), field(reply, "port")) || !is_same(&at, &p->coming.master.at))
		return;
	p->coming.master.down = strstr(field(reply, "flags").text, "_down") != NULL;
	if (role_ms <= INT64_MAX / LSH_MS / 2)
		p->coming.master.since = -(int64_t)role_ms * LSH_MS; /* from the end of the question */
}

static void
take_others(struct post *p, const struct redisReply *reply)
{
	p->other_count = 0;
	for (size_t i = 0; i < lsh_answer_count(reply) && p->other_count < OTHERS_MOST; i++) {
		const struct redisReply *other = lsh_answer_at(reply, i);

		p->other_count += take_place(&p->others[p->other_count], field(other, "ip"), field(other, "port"));
	}
}

/* ---- questions ---- */

static const struct {
	const char *command;
	void (*take)(struct post *p, const struct redisReply *reply);
} questions[] = {
	{"GET-MASTER-ADDR-BY-NAME", take_address}, {"MASTER", take_master}, {"SENTINELS", take_others},
};

enum { QUESTIONS = sizeof questions / sizeof *questions };

static void
begin_question(struct lsh_sentinel *s, struct post *p, uint64_t wish)
{
	p->kept = !lsh_informant_is_down(p->asked);
	if (!p->kept)
		lsh_informant_connect(p->asked);
	for (int i = 0; i < QUESTIONS; i++) {
		const struct lsh_arg args[] = {LSH_ARG("SENTINEL"), lsh_arg_text(questions[i].command),
		                               lsh_arg_text(s->uri->master)};

		lsh_informant_send(p->asked, args, 3);
	}
	lsh_informant_ask(p->asked);
	p->asking = true;
	p->replies = 0;
	p->coming = (struct view){.number = wish};
}

/* Begin to listen again at once, when it answers again: whoever does not answer says nothing either. */
static void
end_question(struct post *p)
{
	p->asking = false;
	p->coming.master.since += lsh_now_ns();
	p->view = p->coming;
	if (p->view.sight != SEES_TROUBLE)
		return;
	lsh_informant_stop(p->asked);
	lsh_informant_stop(p->news);
	p->subscribed = false;
	p->subscribe_at = 0;
}

/* True: a question has ended, and the view is new. */
static bool
go_on_asking(struct lsh_sentinel *s, struct post *p)
{
	const leash_error *trouble = lsh_informant_trouble(p->asked);
	enum lsh_progress informed = lsh_informant_step(p->asked);

	if (informed == LSH_DONE) {
		questions[p->replies++].take(p, lsh_informant_reply(p->asked));
		if (p->replies < QUESTIONS)
			return false;
	} else if (informed != LSH_FAILED || !p->asking) {
		return false; /* if nothing was asked, the next question is, by another connection */
	} else if (p->kept && trouble->sys_errno != ETIMEDOUT) {
		begin_question(s, p, p->coming.number);
		return false;
	} else {
		p->coming = (struct view){.sight = SEES_TROUBLE, .number = p->coming.number, .trouble = *trouble};
	}
	end_question(p);
	return true;
}

/* ---- the subscription ---- */

static bool
wants_to_listen(const struct post *p)
{
	return !p->asking && p->view.sight == SEES_MASTER && lsh_informant_is_down(p->news);
}

static void
end_listening(struct post *p, const leash_error *why)
{
	if (!p->subscribed)
		p->deafness = *why;
	p->subscribe_at = lsh_after(lsh_now_ns(), p->deafness.status == LEASH_DENIED ? RESUBSCRIBE_DENIED : RESUBSCRIBE);
	p->subscribed = false;
	lsh_informant_stop(p->news);
}

static void
hear(struct lsh_sentinel *s, struct post *p, const struct redisReply *reply)
{
	const char *text = lsh_answer_item(lsh_answer_at(reply, 2)).text;
	const size_t n = strlen(s->uri->master);
	struct lsh_item said = lsh_answer_item(reply);
	leash_error refusal;

	if (said.type == LSH_ERROR) {
		lsh_fail(&refusal, lsh_fault_status(lsh_fault_of(said.text)), 0, "%.120s: SUBSCRIBE was refused: %.120s",
		         p->uri.shown, said.text);
		end_listening(p, &refusal);
	} else if (!p->subscribed) {
		p->subscribed = true;
		p->deafness = (leash_error){0};
		s->hinted = true; /* what was said before is not known */
	} else if (strncmp(text, s->uri->master, n) == 0 && text[n] == ' ') {
		s->hinted = true; /* "name old-ip old-port new-ip new-port"; a sentinel may watch other masters, too */
	}
}

static void
go_on_listening(struct lsh_sentinel *s, struct post *p)
{
	const struct lsh_arg args[] = {LSH_ARG("SUBSCRIBE"), LSH_ARG("+switch-master")};
	int64_t now = lsh_now_ns();
	enum lsh_progress informed = LSH_WAIT;

	if (!lsh_informant_is_down(p->news)) {
		informed = lsh_informant_step(p->news);
	} else if (wants_to_listen(p) && now >= p->subscribe_at && now != LSH_NEVER) {
		lsh_informant_connect(p->news);
		if (!lsh_informant_send(p->news, args, 2))
			informed = LSH_FAILED;
	}
	if (informed == LSH_DONE)
		hear(s, p, lsh_informant_reply(p->news));
	else if (informed == LSH_FAILED)
		end_listening(p, lsh_informant_trouble(p->news));
}

/* ---- the posts ---- */

static void
free_post(struct post *p)
{
	lsh_informant_free(p->asked);
	lsh_informant_free(p->news);
	lsh_uri_clear(&p->uri);
	lsh_free(p);
}

/* Send for the sentinel of this URI, which is taken, also if there is no memory. */
static bool
post(struct lsh_sentinel *s, struct lsh_uri *uri)
{
	struct lsh_informant_options options = {
		.name = s->options.name, .timeout = s->options.timeout, .want = LSH_WANT_SENTINEL,
		.bytes = BYTES, .elements = ELEMENTS,
	};
	struct post *p = lsh_new(struct post);

	if (p == NULL) {
		lsh_uri_clear(uri);
		return false;
	}
	p->uri = *uri;
	p->asked = lsh_informant_new(&p->uri, &options);
	options.unasked = true;
	p->news = lsh_informant_new(&p->uri, &options);
	if (p->asked == NULL || p->news == NULL) {
		free_post(p);
		return false;
	}
	s->posts[s->count++] = p;
	return true;
}

static bool
is_posted(const struct lsh_sentinel *s, const struct lsh_whereabouts *at)
{
	for (size_t i = 0; i < s->count; i++)
		if (lsh_is_same_place(at, s->posts[i]->uri.host, s->posts[i]->uri.port))
			return true;
	return false;
}

/* Send for those whom the sentinels of the URI last named, as far as there is memory. */
static void
post_others(struct lsh_sentinel *s)
{
	for (size_t i = 0; i < s->named; i++) {
		const struct post *p = s->posts[i];

		for (size_t j = 0; j < p->other_count && s->count < POSTS; j++) {
			const struct lsh_whereabouts *at = &p->others[j];
			struct lsh_uri uri = {0};

			if (lsh_uri_allows(s->uri, at->host) && !is_posted(s, at) &&
			    lsh_uri_of_server(&uri, &p->uri, at->host, at->port))
				post(s, &uri);
		}
	}
}

/* The last ones. */
static void
dismiss(struct lsh_sentinel *s, size_t left)
{
	while (s->count > left)
		free_post(s->posts[--s->count]);
}

/* Has none of the sentinels of the URI an answer to a wish that is over for all of them? */
static bool
has_failed(const struct lsh_sentinel *s)
{
	uint64_t least = least_number(s, s->named);

	for (size_t i = 0; i < s->named; i++)
		if (s->posts[i]->view.sight == SEES_MASTER && s->posts[i]->view.number >= least)
			return false;
	return least > 0;
}

/* What is wrong with a sentinel is said once, and again only when that changes. */
static void
say_trouble(struct lsh_sentinel *s, struct post *p)
{
	bool troubled = p->view.sight == SEES_TROUBLE;
	const char *what = troubled ? p->view.trouble.text : p->deafness.text;

	if (strcmp(p->said, what) == 0)
		return;
	strcpy(p->said, what);
	if (what[0] != '\0')
		lsh_courier_log(s->options.courier, LEASH_LOG_WARNING, "%.60s: a sentinel: %.150s%s", s->uri->shown, what,
		                troubled ? "" : " (+switch-master)");
}

static void
step(struct lsh_sentinel *s, struct post *p)
{
	bool ended = go_on_asking(s, p);

	go_on_listening(s, p);
	say_trouble(s, p);
	if (!ended)
		return;
	if (!has_failed(s))
		dismiss(s, s->named);
	else if (s->count == s->named)
		post_others(s);
	decide(s);
}

/* ---- the thread ---- */

static void
set_next(struct lsh_sentinel *s, int64_t now)
{
	/* by chance a little sooner: not all clients at once */
	s->next = lsh_after(now, s->options.period - s->options.period / 8 / 1024 * (lsh_random32() % 1024));
}

/* Ask whoever has not been asked since the last wish. */
static void
ask(struct lsh_sentinel *s)
{
	int64_t now = lsh_now_ns();
	uint64_t wished;

	if (now >= s->next && now != LSH_NEVER) {
		atomic_fetch_add(&s->wished, 1);
		set_next(s, now);
	}
	if (s->hinted && now >= s->hint_at && now != LSH_NEVER) {
		atomic_fetch_add(&s->wished, 1);
		s->hinted = false;
		s->hint_at = lsh_after(now, HINT_GAP);
	}
	wished = atomic_load(&s->wished);
	for (size_t i = 0; i < s->count; i++)
		if (!s->posts[i]->asking && s->posts[i]->view.number < wished)
			begin_question(s, s->posts[i], wished);
}

static void
sleep_and_step(struct lsh_sentinel *s)
{
	struct pollfd polled[1 + 2 * POSTS];
	int64_t until = s->hinted && s->hint_at < s->next ? s->hint_at : s->next;
	nfds_t n = 1;

	for (size_t i = 0; i < s->count; i++) {
		const struct post *p = s->posts[i];

		n += lsh_informant_poll(p->asked, polled + n, &until);
		n += lsh_informant_poll(p->news, polled + n, &until);
		until = wants_to_listen(p) && p->subscribe_at < until ? p->subscribe_at : until;
	}
	if (!lsh_kick_poll(s->kick, polled, n, until))
		return;
	for (size_t i = 0; i < s->count; i++)
		step(s, s->posts[i]);
}

static void *
look_out(void *arg)
{
	struct lsh_sentinel *s = arg;

	lsh_thread_begin("leash-sentinel");
	set_next(s, lsh_now_ns());
	while (!atomic_load(&s->stopping)) {
		ask(s);
		sleep_and_step(s);
	}
	return NULL;
}

/* ---- what others call ---- */

uint64_t
lsh_sentinel_wish(struct lsh_sentinel *s)
{
	uint64_t wish = atomic_fetch_add(&s->wished, 1) + 1;

	lsh_kick(s->kick);
	return wish;
}

enum lsh_known
lsh_sentinel_answer(struct lsh_sentinel *s, uint64_t wish, struct lsh_master *master, leash_error *err)
{
	lsh_locked(&s->mutex);
	if (s->found && s->answered >= wish) {
		*master = s->master;
		return LSH_KNOWN;
	}
	if (s->done < wish || s->done == 0)
		return LSH_NOT_YET;
	if (err != NULL)
		*err = s->trouble;
	return LSH_NOBODY_KNOWS;
}

bool
lsh_sentinel_is_done(struct lsh_sentinel *s, uint64_t wish)
{
	return atomic_load(&s->done) >= wish;
}

/* ---- life ---- */

struct lsh_sentinel *
lsh_sentinel_new(const struct lsh_sentinel_options *options)
{
	struct lsh_sentinel *s = lsh_new(struct lsh_sentinel);

	if (s == NULL)
		return NULL;
	s->options = *options;
	s->uri = options->uri;
	if (s->options.period == 0 || s->options.period > LSH_SENTINEL_LONGEST)
		s->options.period = LSH_SENTINEL_LONGEST;
	else if (s->options.period < LSH_SENTINEL_SHORTEST)
		s->options.period = LSH_SENTINEL_SHORTEST;
	pthread_mutex_init(&s->mutex, NULL);
	s->kick = lsh_kick_take();
	if (s->kick < 0)
		goto fail;
	for (; s->named < s->uri->host_count; s->named++) {
		struct lsh_uri uri = {0};

		if (!lsh_uri_of_sentinel(&uri, s->uri, s->named) || !post(s, &uri))
			goto fail;
	}
	return s;

fail:
	lsh_sentinel_free(s);
	return NULL;
}

bool
lsh_sentinel_start(struct lsh_sentinel *s)
{
	if (s == NULL)
		return true;
	s->running = lsh_thread_start(&s->thread, look_out, s) == 0;
	return s->running;
}

void
lsh_sentinel_stop(struct lsh_sentinel *s)
{
	if (s == NULL)
		return;
	atomic_store(&s->stopping, true);
	lsh_kick(s->kick);
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

void
lsh_sentinel_free(struct lsh_sentinel *s)
{
	if (s == NULL)
		return;
	dismiss(s, 0);
	lsh_kick_give(s->kick);
	pthread_mutex_destroy(&s->mutex);
	lsh_free(s);
}
