/* Going through a queue. Each page begins behind the arrival of the last one told of, and not at a rank: those in front leave all the time,
 * and whoever moved up meanwhile would be passed over. No two places have the same arrival (lib/lua/acquire.lua). */
#include "admin/waiters.h"

#include "base/error.h"
#include "base/memory.h"
#include "admin/connection.h"
#include "lease/host.h"
#include "lease/resource.h"
#include "redis/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 200 };

struct lsh_waiters {
	struct lsh_admin admin;
	struct lsh_lock *lock;
	uint64_t last;           /* arrival, us by the server's clock, and */
	uint64_t position;       /* position of the last one read */
	struct lsh_host *host;   /* where it is (in use); in a cluster it may move */
	bool asks;               /* but it is not, and was sent there for once (ASK) */
	bool over;               /* there is no further page */

	struct redisReply *page; /* member, score, member, score ... */
	size_t next_element;

	size_t count, next;      /* of those in the window; the next one to be told of */
	leash_waiter_info waiter[LSH_ADMIN_WINDOW];
};

leash_status
lsh_waiters_open(struct lsh_waiters **out, struct lsh_lock *lock, leash_error *err)
{
	struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_waiters *queue;
	leash_status status;

	if (!r->backend->strategy->has_queue)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "lock '%s': a quorum has no queue: nobody knows who waits", r->shown);
	queue = lsh_new(struct lsh_waiters);
	if (queue == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory for its queue", r->shown);
	queue->lock = lock;
	lsh_monitor_enter(&r->monitor);
	lsh_host_keep(&queue->host, lsh_resource_host(r));
	lsh_monitor_leave(&r->monitor);
	status = lsh_admin_open(&queue->admin, lsh_lock_engine(lock), queue->host, r->shown, err);
	if (status != LEASH_OK)
		lsh_waiters_close(queue);
	else
		*out = queue;
	return status;
}

void
lsh_waiters_close(struct lsh_waiters *queue)
{
	if (queue == NULL)
		return;
	lsh_admin_close(&queue->admin);
	lsh_host_keep(&queue->host, NULL);
	lsh_answer_free(queue->page);
	lsh_free(queue);
}

/* It is at another server. */
static leash_status
follow(struct lsh_waiters *queue, const char *words, leash_error *err)
{
	struct lsh_resource *r = lsh_lock_resource(queue->lock);
	struct lsh_server *asks;
	leash_error why;

	if (lsh_router_follow(&queue->host->server, words, &asks, &why) != LEASH_OK)
		return lsh_fail(err, why.status, why.sys_errno, "lock '%s': %s", r->shown, why.text);
	lsh_monitor_enter(&r->monitor);
	lsh_resource_settle(r);
	lsh_host_keep(&queue->host, asks != NULL ? lsh_host_of(asks) : lsh_resource_host(r));
	lsh_monitor_leave(&r->monitor);
	lsh_server_leave(asks);
	queue->asks = asks != NULL;
	lsh_admin_close(&queue->admin);
	return lsh_admin_open(&queue->admin, lsh_lock_engine(queue->lock), queue->host, r->shown, err);
}

/* Say it, and hear what is answered. */
static leash_status
ask(struct lsh_waiters *queue, const struct lsh_arg *args, size_t count, const struct redisReply **answer, leash_error *err)
{
	static const struct lsh_arg asking = LSH_ARG("ASKING");
	leash_status status = LEASH_OK;

	if (queue->asks)
		status = lsh_admin_say(&queue->admin, &asking, 1, err);
	if (status == LEASH_OK)
		status = lsh_admin_say(&queue->admin, args, count, err);
	if (status == LEASH_OK && queue->asks) {
		struct lsh_item item;

		status = lsh_admin_hear(&queue->admin, answer, err);
		item = lsh_answer_item(status == LEASH_OK ? *answer : NULL);
		if (item.type == LSH_ERROR) /* or it would be sent to and fro */
			return lsh_admin_refused(&queue->admin, "ASKING", NULL, item.text, err);
	}
	if (status == LEASH_OK)
		status = lsh_admin_hear(&queue->admin, answer, err);
	return status;
}

static leash_status
turn_page(struct lsh_waiters *queue, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(queue->lock);
	char behind[LSH_DECIMAL_DIGITS + 2], key[LSH_LOCK_KEY_MAX + sizeof ":queue"];
	struct lsh_arg args[] = {
		LSH_ARG("ZRANGEBYSCORE"), {key, (size_t)snprintf(key, sizeof key, "%s:queue", r->key)}, {behind, 0}, LSH_ARG("+inf"),
		LSH_ARG("WITHSCORES"), LSH_ARG("LIMIT"), LSH_ARG("0"), LSH_ARG("200"),
	};
	const struct redisReply *answer;
	struct lsh_item item;
	leash_status status;

	args[2].size = (size_t)snprintf(behind, sizeof behind, "(%llu", (unsigned long long)queue->last);
	lsh_answer_free(queue->page);
	queue->page = NULL;
	for (unsigned redirections = 0;; redirections++) {
		status = ask(queue, args, sizeof args / sizeof *args, &answer, err);
		if (status != LEASH_OK)
			return status;
		item = lsh_answer_item(answer);
		if (item.type != LSH_ERROR || lsh_fault_of(item.text) != LSH_FAULT_CLUSTER || redirections == LSH_REDIRECTIONS)
			break;
		status = follow(queue, item.text, err);
		if (status != LEASH_OK)
			return status;
	}
	if (item.type == LSH_ERROR)
		return lsh_admin_refused(&queue->admin, "ZRANGEBYSCORE", NULL, item.text, err);
	if (item.type != LSH_ARRAY || lsh_answer_count(answer) % 2 != 0)
		return lsh_admin_nonsense(&queue->admin, "ZRANGEBYSCORE", err);
	queue->page = lsh_talk_take(queue->admin.talk);
	queue->over = lsh_answer_count(queue->page) < 2 * PAGE;
	queue->next_element = 0;
	return LEASH_OK;
}

/* A place, "<token> <claim>", and its arrival. */
static bool
read_place(const struct lsh_item *member, const struct lsh_item *score, leash_waiter_info *waiter, uint64_t *arrival)
{
	const char *space = memchr(member->text, ' ', member->length);
	size_t token_size = space != NULL ? (size_t)(space - member->text) : 0;
	uint64_t claim;

	if (space == NULL || !lsh_token_is_one(member->text, token_size, NULL) ||
	    !lsh_decimal_read(space + 1, member->length - token_size - 1, &claim) || !lsh_decimal_read(score->text, score->length, arrival) ||
	    *arrival > LSH_FENCE_MAX)
		return false;
	memset(waiter, 0, sizeof *waiter);
	waiter->size = sizeof *waiter;
	memcpy(waiter->who.token, member->text, token_size);
	waiter->waiting_since_ms = (int64_t)(*arrival / 1000);
	return true;
}

static leash_status
fill_window(struct lsh_waiters *queue, leash_error *err)
{
	queue->count = queue->next = 0;
	for (; queue->next_element < lsh_answer_count(queue->page) && queue->count < LSH_ADMIN_WINDOW; queue->next_element += 2) {
		struct lsh_item member = lsh_answer_item(lsh_answer_at(queue->page, queue->next_element));
		struct lsh_item score = lsh_answer_item(lsh_answer_at(queue->page, queue->next_element + 1));
		leash_waiter_info *waiter = &queue->waiter[queue->count];
		uint64_t arrival;

		if (member.type != LSH_STRING || score.type != LSH_STRING)
			return lsh_admin_nonsense(&queue->admin, "ZRANGEBYSCORE", err);
		if (!read_place(&member, &score, waiter, &arrival))
			return lsh_fail(err, LEASH_MISMATCH, 0, "lock '%s': %s: its queue holds something that is no place", lsh_lock_shown(queue->lock),
			                queue->admin.uri->shown);
		if (arrival <= queue->last)
			return lsh_admin_nonsense(&queue->admin, "ZRANGEBYSCORE", err); /* so it would go on for ever */
		queue->last = arrival;
		waiter->position = ++queue->position;
		queue->count++;
	}
	return LEASH_OK;
}

static leash_status
identify(struct lsh_waiters *queue, leash_error *err)
{
	leash_party *who[LSH_ADMIN_WINDOW];

	for (size_t i = 0; i < queue->count; i++)
		who[i] = &queue->waiter[i].who;
	return lsh_admin_who(&queue->admin, who, queue->count, err);
}

leash_status
lsh_waiters_next(struct lsh_waiters *queue, const leash_waiter_info **waiter, leash_error *err)
{
	leash_status status = LEASH_OK;

	while (queue->next == queue->count && status == LEASH_OK) {
		bool is_read = queue->next_element == lsh_answer_count(queue->page);

		if (is_read && queue->over) {
			*waiter = NULL;
			return LEASH_OK;
		}
		if (is_read)
			status = turn_page(queue, err);
		if (status == LEASH_OK)
			status = fill_window(queue, err);
		if (status == LEASH_OK)
			status = identify(queue, err);
	}
	if (status == LEASH_OK)
		*waiter = &queue->waiter[queue->next++];
	return status;
}
