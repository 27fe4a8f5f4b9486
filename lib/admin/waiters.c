/* Going through a queue. Each batch begins behind the arrival of the last one told of, not at a rank: those in front
 * leave all the time, and who moved up would be passed over. No two have the same arrival (lib/lua/acquire.lua). */
#include "admin/waiters.h"

#include "admin/inspect.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

struct lsh_waiters {
	struct lsh_lock *lock;
	uint64_t last;         /* arrival, us by the server's clock, and */
	uint64_t position;     /* position of the last one read */
	bool over;             /* there are no further places */
	size_t count, next;    /* of those in the batch; the next one to be told of */
	leash_waiter_info waiter[LSH_QUERIES];
	struct lsh_acquaintances known;
};

leash_status
lsh_waiters_open(struct lsh_waiters **out, struct lsh_lock *lock, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	const char *kind = r->kind->name, *shown = lsh_resource_shown(r);
	struct lsh_waiters *queue;

	if (!r->backend->strategy->has_queue)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "%s '%s': a quorum has no queue, so its waiters are not known", kind,
		                shown);
	if (r->kind->channel != NULL)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "%s '%s': Redisson has no queue, so its waiters are not known", kind,
		                shown);
	queue = lsh_new(struct lsh_waiters);
	if (queue == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%s '%s': out of memory for its queue", kind, shown);
	queue->lock = lock;
	*out = queue;
	return LEASH_OK;
}

void
lsh_waiters_close(struct lsh_waiters *queue)
{
	lsh_free(queue);
}

/* A place and its arrival. */
static bool
read_place(const char *member, size_t size, const char *score, size_t score_size, leash_waiter_info *waiter,
           uint64_t *arrival)
{
	if (!lsh_place_read(member, size, waiter) || !lsh_decimal_read(score, score_size, arrival) ||
	    *arrival > LSH_FENCE_MAX)
		return false;
	waiter->waiting_since_ms = (int64_t)(*arrival / 1000);
	return true;
}

/* Lines of members and scores. */
static leash_status
read_places(struct lsh_waiters *queue, const char *text, leash_error *why)
{
	while (*text != '\0') {
		size_t size = strcspn(text, "\n"), score_size = strcspn(text + size + 1, "\n");
		leash_waiter_info *waiter = &queue->waiter[queue->count];
		uint64_t arrival;

		if (queue->count == LSH_QUERIES ||
		    !read_place(text, size, text + size + 1, score_size, waiter, &arrival))
			return lsh_fail(why, LEASH_MISMATCH, 0, "its queue holds something that is not a waiter");
		if (arrival <= queue->last) /* so it would go on for ever */
			return lsh_fail(why, LEASH_PROTOCOL, 0, "the answer is not what a Redis server sends to ZRANGEBYSCORE");
		queue->last = arrival;
		waiter->position = ++queue->position;
		queue->count++;
		text += size + 1 + score_size + 1;
	}
	queue->over = queue->count < LSH_QUERIES;
	return LEASH_OK;
}

static leash_status
next_batch(struct lsh_waiters *queue, leash_error *err)
{
	const struct lsh_resource *r = lsh_lock_resource(queue->lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_WHO_WAITS, r->kind, lsh_resource_key(r), r->key_size);
	int64_t deadline = lsh_after(lsh_now_ns(), r->backend->options.timeout);
	leash_party *who[LSH_QUERIES];
	leash_error why = {0};
	leash_status status;

	if (q != NULL)
		q->after = queue->last;
	queue->count = queue->next = 0;
	status = lsh_queries_ask(r->backend, &q, 1, deadline, &why);
	if (status == LEASH_OK)
		status = q->asks[0].state == LSH_REPLIED ? read_places(queue, q->asks[0].text, &why)
		                                         : lsh_ask_explain(&q->asks[0], &why);
	lsh_query_drop(q);
	for (size_t i = 0; i < queue->count; i++)
		who[i] = &queue->waiter[i].who;
	if (status == LEASH_OK)
		status = lsh_identify(r->backend, &queue->known, who, queue->count, deadline, &why);
	if (status != LEASH_OK)
		lsh_fail(err, status, why.sys_errno, "%s '%s': %s", r->kind->name, lsh_resource_shown(r), why.text);
	return status;
}

leash_status
lsh_waiters_next(struct lsh_waiters *queue, const leash_waiter_info **waiter, leash_error *err)
{
	leash_status status = LEASH_OK;

	*waiter = NULL;
	while (queue->next == queue->count && !queue->over && status == LEASH_OK)
		status = next_batch(queue, err);
	if (status == LEASH_OK && queue->next < queue->count)
		*waiter = &queue->waiter[queue->next++];
	return status;
}
