/* Who is the master? The sentinels are asked, all at once:
 *
 *   - when the node wishes to know, which it does before it dials;
 *   - once in every period: a master that was replaced and returns takes writes for up to 10 s, until a sentinel gets at it;
 *   - when one of them says +switch-master. All are listened to: the one that leads a failover says so last, when the replicas
 *     follow the new master, while the others say it as soon as they hear of that. Anybody may publish, and as often as they like:
 *     the first such hint is followed at once, and what comes within HINT_GAP of one that was, once that is over, by one question.
 *
 * Each sentinel is a lookout (lookout.h), for itself: one that hangs keeps nobody waiting. What each said last is its view, until it fails
 * to answer. After every answer it is decided anew, among the views of a master that the URI allows:
 *
 *   the highest epoch      -> the others have not heard of the last failover yet
 *   the most sentinels     -> where those disagree; as after SENTINEL SET or MONITOR on some of them only
 *   the one believed in, else the one that the URI names first
 *
 * So the first answer counts at once, and one of a higher epoch overrides it. What a sentinel thinks of the master's health does not
 * count: down or not, there is no other as long as it names none.
 *
 * Where none of the sentinels of the URI answers, those that they named when they last did are asked as well. If nobody answers at all,
 * then whoever has a connection to the master keeps it, and nobody gets a new one: it could be to a master of the past. A wish is over when
 * there is an answer to it, or when all have failed at it.
 *
 * One thread does all of it, and never waits but in ppoll(). It alone has the lookouts. */
#include "redis/sentinel.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/token.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SLACK    (1 * LSH_S)    /* less than this longer is no news */
#define HINT_GAP (200 * LSH_MS) /* between two questions for which somebody's message is the reason */

enum { MOST = LSH_HOSTS_MAX + LSH_OTHERS };

struct post {
	struct lsh_lookout *lookout;
	char said[sizeof ((leash_error *)0)->text]; /* what was last said of its troubles */
};

struct lsh_sentinel {
	const struct lsh_sentinel_ops *ops;
	void *ctx;
	const struct lsh_uri *uri;
	char *name;
	int64_t timeout, period;
	int kick;
	atomic_bool stopping;
	_Atomic uint64_t wished;
	pthread_t thread;
	bool running;

	/* the thread's */
	size_t named, count;        /* of `posts`: those of the URI, and all that are there */
	struct post posts[MOST];
	int64_t next;               /* when the next question is due */
	bool hinted;                /* the master may be another one, and nobody was asked about that yet: */
	int64_t hint_at;            /* then it is due, at the soonest */

	pthread_mutex_t mutex;      /* guards the rest */
	bool found;
	struct lsh_master master;   /* if found */
	uint64_t epoch;             /* of which it is */
	uint64_t answered, failed, done; /* the last wish that there was an answer to; that all failed at; that was over for all */
	leash_error trouble;        /* why they failed */
	_Atomic uint64_t changes;
};

static void
say(struct lsh_sentinel *s, leash_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
say(struct lsh_sentinel *s, leash_log_level level, const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	s->ops->log(s->ctx, level, line);
}

static bool
is_same(const struct lsh_whereabouts *a, const struct lsh_whereabouts *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* ---- what to believe ---- */

static const struct lsh_view *
view_of(const struct lsh_sentinel *s, size_t i)
{
	return lsh_lookout_view(s->posts[i].lookout);
}

/* Does it name a master to go to? */
static bool
is_usable(const struct lsh_sentinel *s, const struct lsh_view *view)
{
	return view->sight == LSH_SEES_MASTER && lsh_uri_allows(s->uri, view->master.host);
}

static unsigned
votes_for(const struct lsh_sentinel *s, const struct lsh_view *view)
{
	unsigned votes = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct lsh_view *other = view_of(s, i);

		votes += is_usable(s, other) && other->epoch == view->epoch && is_same(&other->master, &view->master);
	}
	return votes;
}

static bool
is_better(const struct lsh_sentinel *s, const struct lsh_view *view, const struct lsh_view *best)
{
	unsigned votes, best_votes;

	if (view->epoch != best->epoch)
		return view->epoch > best->epoch;
	votes = votes_for(s, view);
	best_votes = votes_for(s, best);
	if (votes != best_votes)
		return votes > best_votes;
	return s->found && is_same(&view->master, &s->master.at) && !is_same(&best->master, &s->master.at);
}

/* Since when it is the master: each sentinel counts from when it saw it become that, or from its own start. */
static int64_t
since(const struct lsh_sentinel *s, const struct lsh_view *best)
{
	int64_t since = best->since;

	for (size_t i = 0; i < s->count; i++) {
		const struct lsh_view *view = view_of(s, i);

		if (is_usable(s, view) && view->epoch == best->epoch && is_same(&view->master, &best->master) && view->since < since)
			since = view->since;
	}
	return since;
}

static const struct lsh_view *
choose(const struct lsh_sentinel *s)
{
	const struct lsh_view *best = NULL;

	for (size_t i = 0; i < s->count; i++) {
		const struct lsh_view *view = view_of(s, i);

		if (is_usable(s, view) && (best == NULL || is_better(s, view, best)))
			best = view;
	}
	return best;
}

/* How much a failed view tells of why there is no answer. */
static unsigned
weight(const struct lsh_view *view)
{
	switch (view->sight) {
	case LSH_SEES_NOTHING:
		return 0;
	case LSH_SEES_MASTER:
		return 6; /* somewhere where we may not go */
	case LSH_SEES_STRANGER:
		return 5;
	case LSH_SEES_TROUBLE:
		break;
	}
	if (view->trouble.status == LEASH_UNAVAILABLE)
		return view->trouble.sys_errno == ENXIO ? 1 : 2; /* one that does not exist is not waited for: the others may come back */
	return view->trouble.status == LEASH_NO_MEMORY ? 3 : 4;
}

static void
explain(const struct lsh_sentinel *s, leash_error *err)
{
	const struct lsh_view *view = view_of(s, 0);
	const char *shown = s->uri->shown;

	for (size_t i = 1; i < s->count; i++)
		if (weight(view_of(s, i)) >= weight(view))
			view = view_of(s, i);
	if (view->sight == LSH_SEES_MASTER)
		lsh_fail(err, LEASH_DENIED, 0, "%.90s: its master is at %.60s:%u, where 'redirects' of the URI does not let us go", shown,
		         view->master.host, view->master.port);
	else if (view->sight == LSH_SEES_STRANGER)
		lsh_fail(err, LEASH_INVALID, 0, "%.120s: no sentinel knows a master called '%.60s'", shown, s->uri->master);
	else if (view->trouble.status == LEASH_UNAVAILABLE)
		lsh_fail(err, LEASH_UNAVAILABLE, view->trouble.sys_errno, "%.90s: no sentinel answered: %.130s", shown, view->trouble.text);
	else
		lsh_fail(err, view->trouble.status, view->trouble.sys_errno, "%.80s: a sentinel: %.150s", shown, view->trouble.text);
}

/* The wish that is over for all of the first `count`. */
static uint64_t
least_number(const struct lsh_sentinel *s, size_t count)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (view_of(s, i)->number < least)
			least = view_of(s, i)->number;
	return least;
}

/* Believe `best`, which may be NULL: then what was believed stands. Returns whether that is news; s->mutex held. */
static bool
believe(struct lsh_sentinel *s, const struct lsh_view *best)
{
	bool news;

	if (best == NULL)
		return false;
	s->master.down = best->down;
	news = !s->found || !is_same(&best->master, &s->master.at) || best->epoch != s->epoch || since(s, best) < s->master.since - SLACK;
	if (!news)
		return false;
	s->found = true;
	s->epoch = best->epoch;
	s->master = (struct lsh_master){.at = best->master, .since = since(s, best), .down = best->down};
	atomic_fetch_add(&s->changes, 1);
	return true;
}

static void
decide(struct lsh_sentinel *s)
{
	const struct lsh_view *best = choose(s);
	uint64_t answered = 0, done = least_number(s, s->count);
	bool news;

	for (size_t i = 0; i < s->count; i++)
		if (is_usable(s, view_of(s, i)) && view_of(s, i)->number > answered)
			answered = view_of(s, i)->number;
	pthread_mutex_lock(&s->mutex);
	news = believe(s, best) || answered > s->answered || done > s->done;
	if (answered > s->answered)
		s->answered = answered;
	if (done > s->done)
		s->done = done;
	if (s->answered < s->done) {
		s->failed = s->done;
		explain(s, &s->trouble);
	}
	pthread_mutex_unlock(&s->mutex);
	if (news)
		s->ops->news(s->ctx);
}

/* ---- the lookouts ---- */

/* `uri` is moved. */
static bool
post(struct lsh_sentinel *s, struct lsh_uri *uri)
{
	struct lsh_lookout *lookout = lsh_lookout_new(uri, s->uri->master, s->name, s->timeout);

	if (lookout == NULL)
		return false;
	s->posts[s->count].lookout = lookout;
	s->count++;
	return true;
}

static bool
is_posted(const struct lsh_sentinel *s, const struct lsh_whereabouts *at)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct lsh_uri *uri = lsh_lookout_uri(s->posts[i].lookout);

		if (uri->port == at->port && strcmp(uri->host, at->host) == 0)
			return true;
	}
	return false;
}

/* Send for those whom the sentinels of the URI once named. For whom there is no memory is not asked. */
static void
post_others(struct lsh_sentinel *s)
{
	const struct lsh_uri *first = lsh_lookout_uri(s->posts[0].lookout);

	for (size_t i = 0; i < s->named; i++) {
		const struct lsh_whereabouts *at;
		size_t count = lsh_lookout_others(s->posts[i].lookout, &at);

		for (; count > 0 && s->count < MOST; count--, at++) {
			struct lsh_uri uri = {0};

			if (at->host[0] != '\0' && at->port != 0 && lsh_uri_allows(s->uri, at->host) && !is_posted(s, at) &&
			    lsh_uri_of_server(&uri, first, at->host, at->port))
				post(s, &uri);
		}
	}
}

/* The last ones. In a child that is forked meanwhile none is in line that is not whole. */
static void
dismiss(struct lsh_sentinel *s, size_t left)
{
	while (s->count > left) {
		struct lsh_lookout *lookout = s->posts[--s->count].lookout;

		s->posts[s->count] = (struct post){0};
		lsh_lookout_free(lookout);
	}
}

/* Has none of the sentinels of the URI an answer to a wish that is over for all of them? */
static bool
has_failed(const struct lsh_sentinel *s)
{
	uint64_t least = least_number(s, s->named);

	for (size_t i = 0; i < s->named; i++)
		if (view_of(s, i)->sight == LSH_SEES_MASTER && view_of(s, i)->number >= least)
			return false;
	return least > 0;
}

/* What is wrong with a sentinel is said once, and again only when that changes. */
static void
say_trouble(struct lsh_sentinel *s, struct post *p)
{
	const struct lsh_view *view = lsh_lookout_view(p->lookout);
	const leash_error *deaf = lsh_lookout_deafness(p->lookout);
	const char *what = view->sight == LSH_SEES_TROUBLE ? view->trouble.text : deaf != NULL ? deaf->text : "";

	if (strcmp(p->said, what) == 0)
		return;
	memcpy(p->said, what, strlen(what) + 1);
	if (what[0] != '\0')
		say(s, LEASH_LOG_WARNING, "%.60s: a sentinel: %.150s%s", s->uri->shown, what, view->sight == LSH_SEES_TROUBLE ? "" : " (+switch-master)");
}

static void
step(struct lsh_sentinel *s, size_t i)
{
	struct post *p = &s->posts[i];
	bool ended = lsh_lookout_step(p->lookout);

	if (lsh_lookout_was_switched(p->lookout))
		s->hinted = true;
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
kick(struct lsh_sentinel *s)
{
	eventfd_write(s->kick, 1); /* does not block: the counter is far from full */
}

static void
set_next(struct lsh_sentinel *s, int64_t now)
{
	/* by chance a little sooner: not all clients at once */
	s->next = lsh_after(now, s->period - s->period / 8 / 1024 * (lsh_random32() % 1024));
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
	for (size_t i = 0; i < s->count; i++) {
		struct lsh_lookout *l = s->posts[i].lookout;

		if (!lsh_lookout_is_asking(l) && lsh_lookout_view(l)->number < wished)
			lsh_lookout_ask(l, wished);
	}
}

static void
sleep_and_step(struct lsh_sentinel *s)
{
	struct pollfd polled[1 + MOST * LSH_LOOKOUT_FDS];
	int64_t until = s->hinted && s->hint_at < s->next ? s->hint_at : s->next, left, now;
	struct timespec t;
	uint64_t drained;
	nfds_t n = 0;

	polled[n++] = (struct pollfd){.fd = s->kick, .events = POLLIN};
	for (size_t i = 0; i < s->count; i++)
		n += lsh_lookout_poll(s->posts[i].lookout, polled + n, &until);
	now = lsh_now_ns();
	left = now == LSH_NEVER ? LSH_SENTINEL_SHORTEST : until > now ? until - now : 0; /* without a clock nothing is ever due */
	t = (struct timespec){.tv_sec = left / LSH_S, .tv_nsec = left % LSH_S};
	if (ppoll(polled, n, &t, NULL) < 0)
		return;
	if (polled[0].revents != 0)
		eventfd_read(s->kick, &drained);
	for (size_t i = 0; i < s->count; i++)
		step(s, i);
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

	kick(s);
	return wish;
}

enum lsh_found
lsh_sentinel_answer(struct lsh_sentinel *s, uint64_t wish, struct lsh_master *master, leash_error *err)
{
	enum lsh_found found = LSH_NOT_YET;

	pthread_mutex_lock(&s->mutex);
	if (s->found && s->answered >= wish) {
		*master = s->master;
		found = LSH_FOUND;
	} else if (s->failed >= wish && s->failed != 0) {
		if (err != NULL)
			*err = s->trouble;
		found = LSH_NOBODY_KNOWS;
	}
	pthread_mutex_unlock(&s->mutex);
	return found;
}

bool
lsh_sentinel_is_done(struct lsh_sentinel *s, uint64_t wish)
{
	bool done;

	pthread_mutex_lock(&s->mutex);
	done = s->done >= wish;
	pthread_mutex_unlock(&s->mutex);
	return done;
}

uint64_t
lsh_sentinel_changes(struct lsh_sentinel *s)
{
	return atomic_load(&s->changes);
}

/* ---- life ---- */

struct lsh_sentinel *
lsh_sentinel_new(const struct lsh_sentinel_options *options, const struct lsh_sentinel_ops *ops, void *ctx)
{
	struct lsh_sentinel *s = lsh_new(struct lsh_sentinel);

	if (s == NULL)
		return NULL;
	s->ops = ops;
	s->ctx = ctx;
	s->uri = options->uri;
	s->timeout = options->timeout;
	s->period = options->period == 0 || options->period > LSH_SENTINEL_LONGEST ? LSH_SENTINEL_LONGEST : options->period;
	if (s->period < LSH_SENTINEL_SHORTEST)
		s->period = LSH_SENTINEL_SHORTEST;
	pthread_mutex_init(&s->mutex, NULL);
	s->kick = lsh_descriptor_lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	s->name = lsh_strdup(options->name);
	if (s->kick < 0 || s->name == NULL)
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
	s->running = lsh_thread_start(&s->thread, look_out, s) == 0;
	return s->running;
}

void
lsh_sentinel_stop(struct lsh_sentinel *s)
{
	atomic_store(&s->stopping, true);
	kick(s);
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
	if (s->kick >= 0)
		close(s->kick);
	lsh_free(s->name);
	pthread_mutex_destroy(&s->mutex);
	lsh_free(s);
}

void
lsh_sentinel_forsake(struct lsh_sentinel *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->posts[i].lookout != NULL)
			lsh_lookout_forsake(s->posts[i].lookout);
	close(s->kick);
}
