/* Looking: who has a lock, and who that is. One server is asked, or all of a quorum; it is over as soon as enough is known. */
#include "admin/look.h"

#include "admin/agreement.h"
#include "admin/lock_line.h"
#include "admin/inquiry.h"
#include "base/error.h"
#include "base/thread.h"
#include "lease/electorate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* One question to each server that has a vote. */
struct canvass {
	struct lsh_backend *backend;
	struct lsh_parker *parker;
	int64_t deadline;
	unsigned majority;
	size_t count;
	struct lsh_inquiry *questions[LSH_QUORUM_MAX];
};

static void
end(struct canvass *c)
{
	for (size_t i = 0; i < c->count; i++)
		lsh_inquiry_drop(c->questions[i]);
}

/* False: no memory. */
static bool
begin(struct canvass *c, struct lsh_backend *b, bool who, const char *subject, size_t size, int64_t deadline, struct lsh_parker *parker)
{
	size_t servers = b->strategy->has_queue ? 1 : lsh_router_count(b->router);

	*c = (struct canvass){.backend = b, .parker = parker, .deadline = deadline, .majority = b->strategy->has_queue ? 1 : b->majority};
	for (; c->count < servers; c->count++) {
		struct lsh_host *host = b->strategy->has_queue ? NULL : lsh_host_at(b, c->count);

		c->questions[c->count] = lsh_inquiry_new(b, host, who, subject, size, parker);
		if (c->questions[c->count] == NULL) {
			end(c);
			return false;
		}
	}
	return true;
}

static bool
is_over(const struct canvass *c)
{
	return lsh_now_ns() >= c->deadline || atomic_load(&c->backend->closing);
}

/* ---- who has it ---- */

/* What the servers have said so far. */
struct opinion {
	unsigned answered, pending, nonsense;
	unsigned away;  /* of the others: may answer once there is a connection again */
	unsigned agree; /* that the lock is its holder's: as many as agree on any one */
	const struct lsh_inquiry *in_the_way; /* one that has no answer; or NULL, */
	leash_error why;                      /* and what is known of the reason */
	bool garbled;
	leash_lock_info info;
};

/* Its monitor entered. */
static bool
may_come(const struct lsh_inquiry *q)
{
	return q->call.out || !q->away || !lsh_node_has_tried(q->host->server.node);
}

static void
form_opinion(const struct canvass *c, struct opinion *o)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0};

	*o = (struct opinion){0};
	for (size_t i = 0; i < c->count; i++) {
		struct lsh_inquiry *q = c->questions[i];
		enum lsh_inquiry_state state = lsh_inquiry_look(q);

		lsh_monitor_enter(&q->monitor); /* its answer may come just now */
		if (state == LSH_REPLIED && lsh_lock_line_read(q->text, strlen(q->text), &infos[i])) {
			o->answered++;
		} else if (state == LSH_REPLIED) {
			o->nonsense++;
		} else {
			o->nonsense += state == LSH_GAVE_UP && q->nonsense;
			o->pending += state == LSH_ASKING && may_come(q);
			o->away += state == LSH_ASKING && !may_come(q);
			if (o->in_the_way == NULL || (o->why.status == LEASH_OK && q->why.status != LEASH_OK)) {
				o->in_the_way = q;
				o->why = q->why;
				o->garbled = q->garbled;
			}
		}
		lsh_monitor_leave(&q->monitor);
		if (infos[i].fence > o->info.fence)
			o->info.fence = infos[i].fence;
	}
	if (c->count > 1) {
		o->agree = lsh_agreement(infos, c->count, c->majority, &o->info);
	} else if (o->answered > 0) {
		o->info = infos[0];
		o->agree = 1;
	}
}

/* When one has a majority, or nobody can have, enough is known; what most servers cannot say yet is waited for. */
static bool
is_formed(const struct opinion *o, unsigned majority)
{
	if (o->agree >= majority)
		return true;
	if (o->answered >= majority)
		return o->agree + o->pending < majority;
	return o->answered + o->pending + o->away < majority;
}

static leash_status
explain(const struct canvass *c, const struct opinion *o, const char *shown, leash_error *err)
{
	const struct lsh_inquiry *q = o->in_the_way;
	leash_error why = {LEASH_UNAVAILABLE, 0, "no answer in time"};
	char text[200];

	if (atomic_load(&c->backend->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "lock '%s': the client was closed", shown);
	if (c->count > 1 && o->nonsense > 0)
		return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': not known who has it: the answers are not what Redis servers say to a script", shown);
	if (q == NULL) /* it has replied */
		return lsh_fail(err, LEASH_PROTOCOL, 0, "lock '%s': %s: the answer is not what a Redis server says to a script", shown,
		                lsh_host_shown(c->questions[0]->host));
	if (o->garbled)
		lsh_fail(&why, LEASH_PROTOCOL, 0, "%.100s: what it sends is not what a Redis server says", lsh_host_shown(q->host));
	else if (o->why.status != LEASH_OK)
		why = o->why;
	else if (c->count == 1)
		why.status = lsh_node_trouble(q->host->server.node, why.text, sizeof why.text, &why.sys_errno);
	if (c->count == 1)
		return lsh_fail(err, why.status, why.sys_errno, "lock '%s': %s%s", shown, q->nonsense && !q->away ? "" : "not known who has it: ", why.text);
	lsh_electorate_say(text, sizeof text, (unsigned)c->count - o->answered, c->count, "did not answer", why.text);
	return lsh_fail(err, why.status, why.sys_errno, "lock '%s': not known who has it: %s", shown, text);
}

static leash_status
look(struct lsh_lock *lock, int64_t deadline, struct lsh_parker *parker, leash_lock_info *info, leash_error *err)
{
	struct lsh_backend *b = lsh_engine_backend(lsh_lock_engine(lock));
	const struct lsh_resource *r = lsh_lock_resource(lock);
	const char *shown = lsh_lock_shown(lock);
	size_t size = info->size;
	leash_status status = LEASH_OK;
	struct opinion o;
	struct canvass c;

	if (!begin(&c, b, false, r->key, r->key_size, deadline, parker))
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", shown);
	for (;;) {
		form_opinion(&c, &o);
		if (is_formed(&o, c.majority) || is_over(&c))
			break;
		lsh_inquiries_await(c.questions, c.count, parker, c.deadline);
	}
	if (atomic_load(&b->closing) || (o.agree < c.majority && o.answered < c.majority)) {
		status = explain(&c, &o, shown, err);
	} else {
		uint64_t fence = o.info.fence;

		if (o.agree < c.majority)
			o.info = (leash_lock_info){.fence = fence}; /* single votes make no holder */
		*info = o.info;
		info->size = size;
		if (c.count > 1) {
			info->held_since_ms = info->held ? (int64_t)(info->fence / 256 / 1000) : 0;
			info->waiting = 0; /* who waits is known to nobody but to those who do */
			info->no_queue = true;
		}
		strcpy(info->name, lsh_lock_name(lock));
	}
	end(&c);
	return status;
}

/* ---- who that is ---- */

static bool
hear_who(struct lsh_inquiry *q, leash_party *party, bool alone, bool *pending)
{
	enum lsh_inquiry_state state = lsh_inquiry_look(q);

	*pending |= state == LSH_ASKING && (alone || may_come(q));
	return state == LSH_REPLIED && q->type == LSH_STRING && lsh_party_read(q->text, strlen(q->text), party);
}

/* Whatever goes wrong, it is not known who that is, and that is all. */
static void
ask_who(struct lsh_backend *b, leash_party *party, int64_t deadline, struct lsh_parker *parker)
{
	bool known = false, pending = true;
	struct canvass c;

	if (!begin(&c, b, true, party->token, strlen(party->token), deadline, parker))
		return;
	while (!known && pending) {
		pending = false;
		for (size_t i = 0; i < c.count && !known; i++)
			known = hear_who(c.questions[i], party, c.count == 1, &pending);
		if (known || !pending || is_over(&c))
			break;
		lsh_inquiries_await(c.questions, c.count, parker, c.deadline);
	}
	end(&c);
}

void
lsh_look_who(struct lsh_backend *b, leash_party *const *parties, size_t count, int64_t deadline, struct lsh_parker *parker)
{
	enum { WINDOW = 16 };
	struct lsh_inquiry *qs[WINDOW];

	for (size_t i = 0; i < count; i += WINDOW) {
		size_t n = count - i < WINDOW ? count - i : WINDOW, made = 0;
		bool pending = true;

		for (; made < n; made++) {
			qs[made] = lsh_inquiry_new(b, NULL, true, parties[i + made]->token, strlen(parties[i + made]->token), parker);
			if (qs[made] == NULL)
				break;
		}
		while (pending && lsh_now_ns() < deadline && !atomic_load(&b->closing)) {
			pending = false;
			for (size_t j = 0; j < made; j++)
				hear_who(qs[j], parties[i + j], true, &pending);
			if (pending)
				lsh_inquiries_await(qs, made, parker, deadline);
		}
		for (size_t j = 0; j < made; j++)
			lsh_inquiry_drop(qs[j]);
	}
}

static leash_status
inspect(struct lsh_lock *lock, bool who, leash_lock_info *info, leash_error *err)
{
	struct lsh_engine *e = lsh_lock_engine(lock);
	struct lsh_backend *b = lsh_engine_backend(e);
	struct lsh_thread *self = lsh_self();
	int64_t deadline = lsh_after(lsh_now_ns(), b->options.timeout);
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lsh_lock_shown(lock));
	lsh_engine_enter(e);
	status = look(lock, deadline, &self->parker, info, err);
	if (status == LEASH_OK && info->held && who)
		ask_who(b, &info->holder, deadline, &self->parker);
	lsh_engine_leave(e);
	return status;
}

leash_status
lsh_inspect(struct lsh_lock *lock, leash_lock_info *info, leash_error *err)
{
	return inspect(lock, true, info, err);
}

leash_status
lsh_look(struct lsh_lock *lock, leash_lock_info *info, leash_error *err)
{
	return inspect(lock, false, info, err);
}

/* ---- what a client has done ---- */

static int64_t
wall_clock_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_REALTIME, &t) == 0 ? (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 : 0;
}

void
lsh_stats(struct lsh_engine *e, leash_stats *stats)
{
	struct lsh_router *router = lsh_engine_backend(e)->router;
	struct lsh_server *first = NULL; /* in use */

	lsh_engine_count(e, stats);
	stats->connected = stats->listening = lsh_router_count(router) > 0;
	stats->commands = lsh_router_commands_gone(router);
	stats->connects = lsh_router_connects_gone(router);
	for (size_t i = 0; i < lsh_router_count(router); i++) {
		struct lsh_server *server = lsh_router_get(router, i);

		if (server == NULL)
			continue;
		stats->commands += lsh_pipe_commands(lsh_node_pipe(server->node));
		stats->connects += lsh_pipe_connects(lsh_node_pipe(server->node));
		if (!lsh_router_is_cluster(router) || atomic_load(&server->serves)) { /* else a replica, or gone: nothing is missing if that is not there */
			stats->connected = stats->connected && lsh_node_is_up(server->node);
			stats->listening = stats->listening && lsh_node_is_subscribed(server->node);
			if (first == NULL || (!lsh_node_is_up(first->node) && lsh_node_is_up(server->node)))
				lsh_server_keep(&first, server); /* whose clock is known */
		}
		lsh_server_leave(server);
	}
	if (first != NULL)
		stats->server_ahead_ms = (lsh_node_server_us(first->node, lsh_now_ns()) - wall_clock_us()) / 1000;
	lsh_server_leave(first);
}
