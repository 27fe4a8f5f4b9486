#include "client/loop.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/timerfd.h>

/* Where leash_client_next() wants an end of an operation that has an arg and no function. */
struct end {
	void **arg;
	leash_error *why;
};

#define AWAKE INT64_MIN /* rings_at while somebody dispatches, who sets it in the end */

struct lsh_loop {
	struct lsh_annex annex;  /* first */
	int fd;                  /* a timerfd; -1: the client is closed, and nobody dispatches any more */
	atomic_bool dispatching;
	struct lsh_thread *_Atomic dispatcher;
	pthread_mutex_t mutex;   /* a leaf; guards the rest, and of each op the link, the tick and the flags */
	struct lsh_list news;
	size_t news_count;
	struct lsh_heap ticks;
	int64_t rings_at;
};

/* ---- what there is to do; the mutex is held ---- */

static void
ring_at(struct lsh_loop *l, int64_t at)
{
	l->rings_at = at;
	lsh_alarm_set(l->fd, at);
}

static void
add_news(leash_op *o)
{
	struct lsh_loop *l = o->loop;

	if (!lsh_list_empty(&o->link))
		return;
	lsh_list_append(&l->news, &o->link);
	l->news_count++;
	if (l->rings_at > 0)
		ring_at(l, 0);
}

static leash_op *
take_news(struct lsh_loop *l)
{
	leash_op *o = lsh_list_at(l->news.next, &l->news, leash_op, link);

	if (o == NULL)
		return NULL;
	lsh_list_remove(&o->link);
	l->news_count--;
	o->was_looked_at = true;
	if (o->is_done)
		lsh_heap_remove(&l->ticks, &o->tick);
	return o;
}

static leash_op *
take_due(struct lsh_loop *l, int64_t now)
{
	struct lsh_timer *first = lsh_heap_top(&l->ticks);

	if (first == NULL || first->due_ns > now)
		return NULL;
	lsh_heap_remove(&l->ticks, first);
	return lsh_container(first, leash_op, tick);
}

static int64_t
next(const struct lsh_loop *l)
{
	const struct lsh_timer *first = lsh_heap_top(&l->ticks);

	if (l->news_count > 0)
		return 0;
	return first != NULL ? first->due_ns : LSH_NEVER;
}

static void
set_tick(leash_op *o, int64_t at)
{
	struct lsh_loop *l = o->loop;

	lsh_heap_remove(&l->ticks, &o->tick);
	if (o->is_done || at == LSH_NEVER)
		return;
	o->tick.due_ns = at;
	lsh_heap_put(&l->ticks, &o->tick);
	if (at < l->rings_at)
		ring_at(l, at);
}

/* ---- the front of its ops ---- */

static void
done(struct lsh_op *op)
{
	leash_op *o = lsh_container(op, leash_op, op);

	lsh_locked(&o->loop->mutex);
	o->is_done = true;
	add_news(o);
}

static void
stirred(struct lsh_op *op)
{
	leash_op *o = lsh_container(op, leash_op, op);

	lsh_locked(&o->loop->mutex);
	add_news(o);
}

void
lsh_loop_stirred(void *op)
{
	stirred(&((leash_op *)op)->op);
}

void
lsh_loop_end(leash_op *o, leash_status status, const leash_error *why)
{
	o->op.status = status;
	if (status != LEASH_OK)
		o->op.why = *why;
	done(&o->op);
}

/* ---- under way ---- */

static void
unref(leash_op *o)
{
	struct lsh_resource *resource = lsh_lock_resource(o->op.lock);
	leash_client *client = o->client;

	if (!lsh_unshare(&o->references))
		return;
	lsh_terms_unref(o->op.terms);
	lsh_owner_unref(o->op.owner);
	resource->backend->ops->release(resource);
	lsh_free(o);
	lsh_client_unref(client);
}

/* It was looked at, and this was seen. */
static void
go_on(leash_op *o, struct lsh_outlook *outlook, bool is_new)
{
	lsh_source_leave(&outlook->source);
	lsh_locked(&o->loop->mutex);
	if (!is_new || !o->was_looked_at) /* else something later was seen already */
		set_tick(o, outlook->tick_at);
}

void
lsh_loop_tick_at(leash_op *o, int64_t at)
{
	lsh_locked(&o->loop->mutex);
	set_tick(o, at);
}

static void
finish(leash_op *o)
{
	pthread_mutex_lock(&o->loop->mutex);
	lsh_heap_unreserve(&o->loop->ticks);
	pthread_mutex_unlock(&o->loop->mutex);
	unref(o);
}

static struct lsh_loop *
of_annex(struct lsh_annex *annex)
{
	return lsh_container(annex, struct lsh_loop, annex);
}

static bool
is_dispatched_here(const struct lsh_loop *l)
{
	const struct lsh_thread *dispatcher = atomic_load(&l->dispatcher);

	return dispatcher != NULL && dispatcher == lsh_self_if_known();
}

/* The threads of the connections read, but may sleep there. What is begun while this thread dispatches goes out when
 * that is over, all in one write. */
static void
send_out(const leash_client *client)
{
	struct lsh_annex *annex = atomic_load(&client->annex);

	if (annex == NULL || !is_dispatched_here(of_annex(annex)))
		lsh_backend_flush(lsh_engine_backend(client->engine));
}

/* Nobody may be there to tell it any more. */
static leash_status
drop(leash_op *o, leash_op **out, leash_error *err)
{
	leash_status status;

	if (out != NULL)
		*out = NULL;
	status = lsh_fail(err, LEASH_CLOSED, 0, "%s '%s': the client is closed",
	                  lsh_lock_resource(o->op.lock)->kind->name, lsh_lock_shown(o->op.lock));
	if (o->end != NULL)
		o->end(o);
	finish(o);
	return status;
}

leash_status
lsh_loop_begin(leash_op *o, const struct lsh_op_verb *verb, leash_op **out, leash_error *err)
{
	struct lsh_outlook outlook;
	leash_status status = LEASH_OK;

	if (out != NULL)
		*out = o;
	atomic_fetch_add(&o->references, 1); /* another thread may tell its end at once */
	if (!lsh_op_begin(&o->op, verb, &outlook)) {
		go_on(o, &outlook, true);
		send_out(o->client);
	} else if (!atomic_load(&o->client->closed)) {
		if (o->op.nowait)
			send_out(o->client);
		done(&o->op);
	} else {
		status = drop(o, out, err);
	}
	unref(o);
	return status;
}

static leash_status
hand_over(leash_op *o, void (*news)(struct lsh_op *), leash_op **out, leash_error *err)
{
	if (atomic_load(&o->client->closed)) /* else who closes it tells it */
		return drop(o, out, err);
	if (out != NULL)
		*out = o;
	news(&o->op);
	return LEASH_OK;
}

leash_status
lsh_loop_stir(leash_op *o, leash_op **out, leash_error *err)
{
	return hand_over(o, stirred, out, err);
}

leash_status
lsh_loop_over(leash_op *o, leash_op **out, leash_error *err)
{
	return hand_over(o, done, out, err);
}

static void
look(leash_op *o)
{
	struct lsh_outlook outlook;

	if (o->look != NULL)
		o->look(o);
	else if (lsh_op_look(&o->op, &outlook))
		go_on(o, &outlook, false);
}

static void
return_end(const struct end *out, const leash_op *o)
{
	*out->arg = o->arg;
	if (o->op.status != LEASH_OK)
		*out->why = o->op.why;
	else
		*out->why = (leash_error){.status = LEASH_OK};
}

/* False: this is a forked child by now, and all that is here is its parent's. */
static bool
tell(leash_op *o, const struct end *out)
{
	leash_status status = o->op.status;
	uint64_t process = o->client->process;

	if (o->end != NULL)
		o->end(o);
	if (o->done != NULL)
		o->done(o->arg, status, status != LEASH_OK ? &o->op.why : NULL);
	else if (out != NULL)
		return_end(out, o);
	if (!lsh_process_is(process))
		return false;
	finish(o);
	return true;
}

static bool
is_found(const struct end *out)
{
	return out != NULL && *out->arg != NULL;
}

/* What there is by now, up to the first end for `out` if there is one, and all ticks if the client is closed; the rest
 * is for the next time. False: likewise. */
static bool
dispatch(struct lsh_loop *l, const struct end *out, bool is_closed)
{
	size_t news, ticks;
	leash_op *o;

	pthread_mutex_lock(&l->mutex);
	l->rings_at = AWAKE;
	news = l->news_count;
	ticks = l->ticks.count;
	while (!is_found(out) && news-- > 0 && (o = take_news(l)) != NULL) {
		bool is_done = o->is_done;

		pthread_mutex_unlock(&l->mutex);
		if (!is_done)
			look(o);
		else if (!tell(o, out))
			return false;
		pthread_mutex_lock(&l->mutex);
	}
	while (!is_found(out) && ticks-- > 0 && (o = take_due(l, is_closed ? LSH_NEVER : lsh_now_ns())) != NULL) {
		pthread_mutex_unlock(&l->mutex);
		lsh_op_tick(&o->op);
		look(o);
		pthread_mutex_lock(&l->mutex);
	}
	ring_at(l, is_found(out) ? 0 : next(l));
	pthread_mutex_unlock(&l->mutex);
	return true;
}

/* ---- life ---- */

/* From now on this thread dispatches. False: somebody does. */
static bool
take(struct lsh_loop *l, struct lsh_thread *self)
{
	if (atomic_exchange(&l->dispatching, true))
		return false;
	atomic_store(&l->dispatcher, self);
	return true;
}

static void
give_back(struct lsh_loop *l)
{
	atomic_store(&l->dispatcher, NULL);
	atomic_store(&l->dispatching, false);
}

static bool
is_busy(struct lsh_annex *annex)
{
	return is_dispatched_here(of_annex(annex));
}

/* Nothing is under way any more; or else it is about to be among the news. */
static bool
is_empty(struct lsh_loop *l)
{
	lsh_locked(&l->mutex);
	return l->ticks.reserved == 0;
}

/* Tell what is over, which is all. */
static void
end(struct lsh_annex *annex)
{
	struct lsh_loop *l = of_annex(annex);
	struct lsh_parker parker = {0};
	int fd = l->fd;

	while (!take(l, lsh_self())) /* another thread is in the middle of it */
		lsh_park(&parker, lsh_after(lsh_now_ns(), LSH_MS));
	for (;;) {
		if (!dispatch(l, NULL, true))
			return;
		if (is_empty(l))
			break;
		lsh_park(&parker, lsh_after(lsh_now_ns(), LSH_MS)); /* another thread is about to say that something is done */
	}
	l->fd = -1;
	lsh_descriptor_close(fd);
	give_back(l);
}

static void
free_loop(struct lsh_annex *annex)
{
	struct lsh_loop *l = of_annex(annex);

	lsh_descriptor_close(l->fd);
	lsh_heap_clear(&l->ticks);
	pthread_mutex_destroy(&l->mutex);
	lsh_free(l);
}

static struct lsh_loop *
new_loop(void)
{
	struct lsh_loop *l = lsh_new(struct lsh_loop);

	if (l == NULL)
		return NULL;
	l->annex = (struct lsh_annex){.is_busy = is_busy, .close = end, .free = free_loop};
	lsh_list_init(&l->news);
	l->rings_at = LSH_NEVER;
	pthread_mutex_init(&l->mutex, NULL);
	l->fd = lsh_descriptor_take(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
	if (l->fd >= 0)
		return l;
	free_loop(&l->annex);
	return NULL;
}

/* The client's, made if there is none. NULL: errno says what there is no more of. */
static struct lsh_loop *
loop_of(leash_client *client)
{
	struct lsh_annex *found = atomic_load(&client->annex);
	struct lsh_loop *made;

	if (found != NULL)
		return of_annex(found);
	made = new_loop();
	if (made == NULL || atomic_compare_exchange_strong(&client->annex, &found, &made->annex))
		return made;
	free_loop(&made->annex);
	return of_annex(found);
}

leash_status
lsh_loop_make(leash_op **out, const leash_lock *lock, leash_done_fn done_fn, void *arg, leash_error *err)
{
	static const struct lsh_front front = {.done = done, .stirred = stirred};
	struct lsh_loop *l = loop_of(lsh_client_of(lock));
	struct lsh_resource *resource = lsh_lock_resource(lock->lock);
	bool has_room = false;
	leash_op *o;

	if (l == NULL)
		return lsh_handle_named(lock, lsh_fail_short(err, errno, "a descriptor for operations"), err);
	o = lsh_new(leash_op);
	if (o != NULL) {
		pthread_mutex_lock(&l->mutex);
		has_room = lsh_heap_reserve(&l->ticks);
		pthread_mutex_unlock(&l->mutex);
	}
	if (!has_room) {
		lsh_free(o);
		return lsh_handle_named(lock, lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory"), err);
	}
	lsh_handle_op(&o->op, lock);
	o->op.front = &front;
	o->loop = l;
	o->client = lsh_client_of(lock);
	atomic_init(&o->references, 1);
	lsh_list_init(&o->link);
	o->done = done_fn;
	o->arg = arg;
	lsh_share(&o->op.terms->references);
	lsh_share(&o->op.owner->references);
	resource->backend->ops->retain(resource);
	lsh_client_retain(o->client);
	*out = o;
	return LEASH_OK;
}

/* ---- calls ---- */

void
lsh_loop_vacate(leash_op *o)
{
	struct leash_owner *owner = o->op.owner;

	lsh_handle_vacate(owner);
	if (atomic_load(&owner->gone) && atomic_load(&owner->holds) > 0)
		lsh_clients_abandon(owner, "its owner was freed");
}

leash_status
lsh_loop_check(const leash_lock *lock, const char *call, leash_error *err)
{
	leash_status status = lsh_handle_is_there(lock, call, err);

	if (status != LEASH_OK || lock->owner != NULL)
		return status;
	status = lsh_fail(err, LEASH_INVALID, 0, "%s: its handle has no owner, and a thread cannot be the owner here, "
	                  "because the operation may end on another thread: make the handle with .owner", call);
	return lsh_handle_named(lock, status, err);
}

leash_status
lsh_loop_check_acquire(const leash_lock *lock, const leash_acquire *how, const char *call, leash_error *err)
{
	if (how->cancel == NULL)
		return LEASH_OK;
	return lsh_handle_named(lock, lsh_fail(err, LEASH_INVALID, 0, "%s: it takes no `cancel`: use leash_op_cancel()",
	                                       call), err);
}

leash_status
lsh_loop_read_acquire(const leash_lock *lock, leash_acquire *a, const leash_acquire *how, const char *call,
                      leash_error *err)
{
	leash_status status = lsh_handle_read_acquire(lock, a, how, err);

	return status == LEASH_OK ? lsh_loop_check_acquire(lock, a, call, err) : status;
}

leash_status
leash_client_fd(leash_client *client, int *fd, leash_error *err)
{
	static const char call[] = "leash_client_fd";
	lsh_guarded();
	leash_status status;
	struct lsh_loop *l;

	if (client == NULL || fd == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, client == NULL ? "the client" : "`fd`");
	status = lsh_fail_about(err, lsh_client_is_there(client, err), call, NULL);
	if (status != LEASH_OK)
		return status;
	l = loop_of(client);
	if (l == NULL)
		return lsh_fail_short(err, errno, "leash_client_fd: a descriptor for operations");
	*fd = l->fd;
	return LEASH_OK;
}

static leash_status
report(leash_client *client, const struct end *out, const char *call, leash_error *err)
{
	leash_status status = lsh_fail_about(err, lsh_client_check(client, err), call, NULL);
	struct lsh_annex *annex = status == LEASH_OK ? atomic_load(&client->annex) : NULL;
	struct lsh_thread *self = lsh_self();
	struct lsh_loop *l;

	if (annex == NULL)
		return status;
	l = of_annex(annex);
	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%s: out of memory", call);
	if (!take(l, self))
		return lsh_fail(err, LEASH_INVALID, 0, "%s: another thread dispatches at this moment, or this is called from a "
		                "leash_done_fn", call);
	if (l->fd < 0)
		status = lsh_fail(err, LEASH_CLOSED, 0, "%s: the client is closed", call);
	else if (!dispatch(l, out, false))
		return lsh_fail(err, LEASH_FORKED, 0, "%s: this is a forked child, in which nothing is reported", call);
	give_back(l);
	if (status == LEASH_OK && !is_found(out))
		send_out(client);
	return status;
}

leash_status
leash_client_dispatch(leash_client *client, leash_error *err)
{
	static const char call[] = "leash_client_dispatch";
	lsh_guarded();

	if (client == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the client is NULL", call);
	return report(client, NULL, call, err);
}

leash_status
leash_client_next(leash_client *client, void **arg, leash_error *end, leash_error *err)
{
	static const char call[] = "leash_client_next";
	lsh_guarded();

	if (client == NULL || arg == NULL || end == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call,
		                client == NULL ? "the client" : arg == NULL ? "`arg`" : "`end`");
	*arg = NULL;
	return report(client, &(struct end){arg, end}, call, err);
}

void
leash_op_cancel(leash_op *op)
{
	lsh_guarded();

	if (op == NULL || !lsh_process_is(op->op.owner->process))
		return;
	if (op->leave == NULL) {
		lsh_op_leave(&op->op);
		return;
	}
	lsh_locked(&op->loop->mutex);
	if (op->is_done) /* what it stands for may be gone */
		return;
	op->leave(op);
	add_news(op);
}
