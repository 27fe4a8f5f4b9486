/* The composition root: a client is an engine, a courier and the options, wired together. Also what watches over all
 * clients of the process: the holds of a thread that ends, and that a forked child uses none of its parent's. */
#include "client/client.h"

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/mutation.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/thread.h"
#include "client/options.h"
#include "client/groups.h"
#include "core/op.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- all clients ---- */

static pthread_mutex_t clients_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards clients; before any mutex of an engine */
static struct lsh_list clients = {&clients, &clients};
static pthread_once_t once = PTHREAD_ONCE_INIT;

LSH_GUARD_FORK(&clients_mutex, lsh_list_init(&clients)) /* they are the parent's */

void
lsh_clients_abandon(const struct leash_owner *owner, const char *why)
{
	lsh_locked(&clients_mutex);
	lsh_list_each(struct leash_client, link, client, &clients)
		lsh_engine_owner_ended(client->engine, owner, why);
}

static void
thread_ended(struct lsh_thread *thread)
{
	lsh_clients_abandon(&thread->owner, "the thread that held it has ended");
}

static void
set_up(void)
{
	lsh_thread_observe(thread_ended);
	guard_fork();
}

/* ---- what a call may do ---- */

leash_status
lsh_no_fork_guard(leash_error *err)
{
	if (lsh_is_shortage(errno))
		return lsh_fail_short(err, errno, "cannot map a page that tells a forked child from its parent");
	return lsh_fail(err, LEASH_UNSUPPORTED, errno,
	                "this system cannot tell a forked child from its parent (MADV_WIPEONFORK, Linux 4.14)");
}

leash_status
lsh_client_check(const leash_client *client, leash_error *err)
{
	if (lsh_process_is(client->process) && lsh_courier_in_callback(NULL))
		return lsh_fail(err, LEASH_IN_CALLBACK, 0, "this call may wait, and a leash callback must not wait");
	return lsh_client_is_there(client, err);
}

leash_status
lsh_client_is_there(const leash_client *client, leash_error *err)
{
	if (!lsh_process_is(client->process))
		return lsh_fail(err, LEASH_FORKED, 0, "the client belongs to the parent process: open one in the child");
	if (atomic_load(&client->closed))
		return lsh_fail(err, LEASH_CLOSED, 0, "the client is closed");
	return LEASH_OK;
}

/* ---- events of the client ---- */

static void
deliver_clock_jump(struct lsh_letter *letter)
{
	leash_client *client = lsh_container(letter, struct leash_client, clock_letter);
	char text[160];
	leash_event event = {.size = sizeof event, .text = text, .type = LEASH_EVENT_CLOCK_JUMP};
	int64_t by_ms = atomic_exchange(&client->clock_jump_us, 0) / 1000;

	snprintf(text, sizeof text, "%s: its clock went %s by %lld ms against ours", client->uri.shown,
	         by_ms < 0 ? "back" : "forward", (long long)(by_ms < 0 ? -by_ms : by_ms));
	client->defaults.on_event(client->defaults.event_arg, &event);
}

static void
clock_jumped(void *ctx, int64_t by_us)
{
	leash_client *client = ctx;

	lsh_courier_log(client->courier, LEASH_LOG_WARNING, "the server's clock moved more than a second away from ours");
	if (client->defaults.on_event == NULL)
		return;
	atomic_fetch_add(&client->clock_jump_us, by_us);
	lsh_courier_post(client->courier, &client->clock_letter);
}

/* ---- life ---- */

static void
client_free(leash_client *client)
{
	lsh_engine_free(client->engine);
	if (client->annex != NULL)
		client->annex->free(client->annex);
	lsh_groups_free(client);
	lsh_courier_free(client->courier);
	lsh_uri_clear(&client->uri);
	lsh_free(client);
}

void
lsh_client_retain(leash_client *client)
{
	atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
}

void
lsh_client_unref(leash_client *client)
{
	if (atomic_fetch_sub(&client->references, 1) == 1)
		client_free(client);
}

/* "leash:" and the given name, or the program's with what CLIENT SETNAME refuses replaced. */
static void
make_name(char *out, size_t size, const char *given)
{
	snprintf(out, size, "leash:%s", given != NULL ? given : program_invocation_short_name);
	for (char *c = out; *c != '\0'; c++)
		if (*c <= ' ' || *c >= 0x7f)
			*c = '_';
}

static leash_status
open_client(leash_client **out, const leash_options *o, leash_error *err)
{
	leash_client *client;
	leash_status status;

	if (lsh_process_id() == 0)
		return lsh_no_fork_guard(err);
	lsh_mutation_read();
	client = lsh_new(struct leash_client);
	if (client == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a client");
	lsh_list_init(&client->link);
	atomic_init(&client->references, 1);
	client->process = lsh_process_id();
	client->clock_letter.deliver = deliver_clock_jump;
	lsh_list_init(&client->clock_letter.link);
	strcpy(client->prefix, o->prefix);
	client->defaults = (struct lsh_terms){
		.lease_ms = (int32_t)o->lease_ms, .on_event = o->on_event, .event_arg = o->event_arg,
		.handoffs = LSH_HANDOFFS, .handoff_ms = LSH_HANDOFF_MS,
	};
	status = lsh_uri_parse(&client->uri, o->uri, err);
	if (status != LEASH_OK)
		goto fail;
	client->defaults.restart_guard_ms = (int32_t)client->uri.restart_guard_ms;
	client->courier = lsh_courier_new(o->on_log, o->log_arg);
	if (client->courier == NULL) {
		status = lsh_fail_short(err, errno, "cannot make a thread for callbacks");
		goto fail;
	}
	make_name(client->name, sizeof client->name, o->client_name);
	status = lsh_engine_open(&client->engine, &(struct lsh_backend_options){
		.uri = &client->uri, .prefix = client->prefix, .client_name = client->name, .lease_ms = o->lease_ms,
		.fence_ttl_ms = o->fence_ttl_ms, .timeout = lsh_timeout(o, &client->uri),
		.clock_jumped = clock_jumped, .owner = client,
	}, client->courier, err);
	if (status != LEASH_OK)
		goto fail;

	pthread_once(&once, set_up);
	pthread_mutex_lock(&clients_mutex);
	lsh_list_append(&clients, &client->link);
	pthread_mutex_unlock(&clients_mutex);
	*out = client;
	return LEASH_OK;

fail:
	if (client->courier != NULL)
		lsh_courier_stop(client->courier);
	client_free(client);
	return status;
}

static void
rest(int64_t until)
{
	struct lsh_thread *self = lsh_self();

	while (self != NULL && lsh_now_ns() < until)
		lsh_park(&self->parker, until);
}

/* As long as the server is away, and there is time. */
static leash_status
open_patiently(leash_client **out, const leash_options *o, leash_error *err)
{
	int64_t now = lsh_now_ns(), pause = 50 * LSH_MS;
	int64_t until = o->open_wait_ms == LEASH_FOREVER ? LSH_NEVER : lsh_after_ms(now, o->open_wait_ms);
	leash_status status;

	while ((status = open_client(out, o, err)) == LEASH_UNAVAILABLE && (now = lsh_now_ns()) < until) {
		rest(pause < until - now ? now + pause : until);
		if (o->open_cancel != NULL && atomic_load(&o->open_cancel->fired))
			return lsh_fail(err, LEASH_CANCELED, 0, "client: the wait for its server was canceled");
		pause = pause < 800 * LSH_MS ? 2 * pause : pause;
	}
	return status;
}

leash_status
leash_open(leash_client **out, const leash_options *options, leash_error *err)
{
	lsh_guarded();
	leash_options o;
	leash_status status;

	if (out == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_open: `out` is NULL");
	if (lsh_courier_in_callback(NULL))
		return lsh_fail(err, LEASH_IN_CALLBACK, 0, "leash_open: this call may wait, and a callback must not wait");
	status = lsh_options_read(&o, options, err);
	return status == LEASH_OK ? open_patiently(out, &o, err) : status;
}

void
leash_close(leash_client *client)
{
	lsh_guarded();
	struct lsh_annex *annex;

	if (client == NULL || atomic_load(&client->closed))
		return;
	annex = atomic_load(&client->annex);
	if (lsh_process_is(client->process) &&
	    (lsh_courier_in_callback(client->courier) || (annex != NULL && annex->is_busy(annex)))) {
		lsh_courier_log(client->courier, LEASH_LOG_ERROR,
		                "leash_close() was called from a callback of the client: nothing was done");
		return;
	}
	atomic_store(&client->closed, true);
	if (!lsh_process_is(client->process)) {
		/* the mutexes may be taken by threads that are not here: the memory stays as it is */
		lsh_descriptor_close_inherited();
	} else {
		/* in the list until no thread has a hold in it: one that ends meanwhile must be found */
		lsh_engine_close(client->engine);
		if ((annex = atomic_load(&client->annex)) != NULL)
			annex->close(annex);
		pthread_mutex_lock(&clients_mutex);
		lsh_list_remove(&client->link);
		pthread_mutex_unlock(&clients_mutex);
		lsh_courier_stop(client->courier);
		lsh_client_unref(client);
	}
}

const char *
leash_client_uri(const leash_client *client)
{
	return client != NULL ? client->uri.shown : NULL;
}
