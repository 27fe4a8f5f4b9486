/* Going through a queue. Each page begins behind the arrival of the last one told of, and not at a rank: those in front leave all the time,
 * and whoever moved up meanwhile would be passed over. No two places have the same arrival (lib/lua/acquire.lua). */
#include "lock/queue.h"

#include "base/error.h"
#include "base/memory.h"
#include "lock/inquiry.h"
#include "lock/route.h"
#include "redis/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 200 };

struct lsh_queue {
	struct lsh_inquiry inquiry;
	struct lsh_lock *lock;
	uint64_t last;           /* arrival, us by the server's clock, and */
	uint64_t position;       /* position of the last one read */
	struct lsh_site *site;   /* where it is (in use); in a cluster it may move */
	bool asks;               /* but it is not, and was sent there for once (ASK) */
	bool over;               /* there is no further page */

	struct redisReply *page; /* member, score, member, score ... */
	size_t next_element;

	size_t count, next;      /* of those in the window; the next one to be told of */
	leash_waiter_info waiter[LSH_INQUIRY_WINDOW];
};

leash_status
lsh_queue_open(struct lsh_queue **out, struct lsh_lock *lock, leash_error *err)
{
	struct lsh_queue *queue;
	leash_status status;

	if (lock->engine->quorum != NULL)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "lock '%s': a quorum has no queue: nobody knows who waits", lock->shown);
	queue = lsh_new(struct lsh_queue);
	if (queue == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory for its queue", lock->shown);
	queue->lock = lock;
	pthread_mutex_lock(&lock->mutex);
	lsh_site_keep(&queue->site, lsh_lock_site(lock));
	pthread_mutex_unlock(&lock->mutex);
	status = lsh_inquiry_open(&queue->inquiry, queue->site, lock->shown, err);
	if (status != LEASH_OK)
		lsh_queue_close(queue);
	else
		*out = queue;
	return status;
}

void
lsh_queue_close(struct lsh_queue *queue)
{
	if (queue == NULL)
		return;
	lsh_inquiry_close(&queue->inquiry);
	lsh_site_leave(queue->site);
	lsh_answer_free(queue->page);
	lsh_free(queue);
}

/* It is at another server. */
static leash_status
follow(struct lsh_queue *queue, const char *words, leash_error *err)
{
	struct lsh_lock *lock = queue->lock;
	struct lsh_site *asks;
	leash_error why;

	if (lsh_route_follow(queue->site, words, &asks, &why) != LEASH_OK)
		return lsh_fail(err, why.status, why.sys_errno, "lock '%s': %s", lock->shown, why.text);
	pthread_mutex_lock(&lock->mutex);
	lsh_route_settle(lock);
	lsh_site_keep(&queue->site, asks != NULL ? asks : lsh_lock_site(lock));
	pthread_mutex_unlock(&lock->mutex);
	lsh_site_leave(asks);
	queue->asks = asks != NULL;
	lsh_inquiry_close(&queue->inquiry);
	return lsh_inquiry_open(&queue->inquiry, queue->site, lock->shown, err);
}

/* Say it, and hear what is answered. */
static leash_status
ask(struct lsh_queue *queue, const struct lsh_arg *args, size_t count, const struct redisReply **answer, leash_error *err)
{
	static const struct lsh_arg asking = LSH_ARG("ASKING");
	leash_status status = LEASH_OK;

	if (queue->asks)
		status = lsh_inquiry_say(&queue->inquiry, &asking, 1, err);
	if (status == LEASH_OK)
		status = lsh_inquiry_say(&queue->inquiry, args, count, err);
	if (status == LEASH_OK && queue->asks) {
		struct lsh_item item;

		status = lsh_inquiry_hear(&queue->inquiry, answer, err);
		item = lsh_answer_item(status == LEASH_OK ? *answer : NULL);
		if (item.type == LSH_ERROR) /* or it would be sent to and fro */
			return lsh_inquiry_refused(&queue->inquiry, "ASKING", NULL, item.text, err);
	}
	if (status == LEASH_OK)
		status = lsh_inquiry_hear(&queue->inquiry, answer, err);
	return status;
}

static leash_status
turn_page(struct lsh_queue *queue, leash_error *err)
{
	char behind[LSH_DECIMAL_DIGITS + 2];
	const struct lsh_lock *lock = queue->lock;
	struct lsh_arg args[] = {
		LSH_ARG("ZRANGEBYSCORE"), {lock->key[2], lock->key_size[2]}, {behind, 0}, LSH_ARG("+inf"),
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
		return lsh_inquiry_refused(&queue->inquiry, "ZRANGEBYSCORE", NULL, item.text, err);
	if (item.type != LSH_ARRAY || lsh_answer_count(answer) % 2 != 0)
		return lsh_inquiry_nonsense(&queue->inquiry, "ZRANGEBYSCORE", err);
	queue->page = lsh_talk_take(queue->inquiry.talk);
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
fill_window(struct lsh_queue *queue, leash_error *err)
{
	queue->count = queue->next = 0;
	for (; queue->next_element < lsh_answer_count(queue->page) && queue->count < LSH_INQUIRY_WINDOW; queue->next_element += 2) {
		struct lsh_item member = lsh_answer_item(lsh_answer_at(queue->page, queue->next_element));
		struct lsh_item score = lsh_answer_item(lsh_answer_at(queue->page, queue->next_element + 1));
		leash_waiter_info *waiter = &queue->waiter[queue->count];
		uint64_t arrival;

		if (member.type != LSH_STRING || score.type != LSH_STRING)
			return lsh_inquiry_nonsense(&queue->inquiry, "ZRANGEBYSCORE", err);
		if (!read_place(&member, &score, waiter, &arrival))
			return lsh_fail(err, LEASH_MISMATCH, 0, "lock '%s': %s: its queue holds something that is no place", queue->lock->shown,
			                queue->inquiry.uri->shown);
		if (arrival <= queue->last)
			return lsh_inquiry_nonsense(&queue->inquiry, "ZRANGEBYSCORE", err); /* so it would go on for ever */
		queue->last = arrival;
		waiter->position = ++queue->position;
		queue->count++;
	}
	return LEASH_OK;
}

static leash_status
identify(struct lsh_queue *queue, leash_error *err)
{
	leash_party *who[LSH_INQUIRY_WINDOW];

	for (size_t i = 0; i < queue->count; i++)
		who[i] = &queue->waiter[i].who;
	return lsh_inquiry_who(&queue->inquiry, who, queue->count, err);
}

leash_status
lsh_queue_next(struct lsh_queue *queue, const leash_waiter_info **waiter, leash_error *err)
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
