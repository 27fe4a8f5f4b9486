/* The public face of what people and monitoring ask: who has a lock, and what a client has done. */
#include "client/handle.h"

#include "admin/inspect.h"
#include "base/error.h"
#include "base/memory.h"

#include <leash/inspect.h>
#include <leash/semaphore.h>

#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { LARGEST = 65536 }; /* of a struct that any leash will ever have; what says more was not set */

leash_status
lsh_check_size(size_t size, size_t least, const char *call, const char *what, leash_error *err)
{
	if (size >= least && size <= LARGEST)
		return LEASH_OK;
	return lsh_fail(err, LEASH_INVALID, 0, "%s: the size of %s is not set: write leash_%s x = {.size = sizeof x}", call,
	                what, what);
}

void
lsh_copy_out(void *out, size_t size, const void *from, size_t from_size)
{
	size_t n = size < from_size ? size : from_size;

	memcpy((char *)out + sizeof(size_t), (const char *)from + sizeof(size_t), n - sizeof(size_t));
}

/* Of what was told already, so whatever the application does in a visit harms nothing: it may be canceled, or fork. */
static void
visit_each(struct lsh_sight *sight, leash_hold_fn visit, void *arg, struct lsh_guard *guard)
{
	bool more = visit != NULL;

	pthread_cleanup_push(lsh_free, sight);
	for (size_t i = 0; i < sight->count && more; i++) {
		lsh_leave(guard);
		more = visit(arg, &sight->hold[i]);
		*guard = lsh_enter();
	}
	pthread_cleanup_pop(1);
}

/* Through a handle that was checked. */
static leash_status
look(const leash_lock *lock, leash_lock_info *info, leash_hold_fn visit, void *arg, const char *call,
     struct lsh_guard *guard, leash_error *err)
{
	leash_status status = LEASH_OK;
	struct lsh_sight *sight;

	if (info == NULL)
		status = lsh_fail(err, LEASH_INVALID, 0, "%s: `info` is NULL", call);
	if (status == LEASH_OK)
		status = lsh_check_size(info->size, offsetof(leash_lock_info, holder), call, "lock_info", err);
	if (status == LEASH_OK)
		status = lsh_inspect(&sight, lock->lock, visit != NULL, true, err);
	if (status != LEASH_OK)
		return status;
	lsh_copy_out(info, info->size, &sight->info, sizeof sight->info);
	visit_each(sight, visit, arg, guard);
	return LEASH_OK;
}

static leash_status
check_and_look(const leash_lock *lock, leash_lock_info *info, leash_hold_fn visit, void *arg, const char *call,
               leash_error *err)
{
	struct lsh_guard guard = lsh_enter();
	leash_status status = lsh_handle_check(lock, call, err);

	if (status == LEASH_OK)
		status = look(lock, info, visit, arg, call, &guard, err);
	lsh_leave(&guard);
	return status;
}

leash_status
leash_lock_holders(leash_lock *lock, leash_lock_info *info, leash_hold_fn visit, void *arg, leash_error *err)
{
	return check_and_look(lock, info, visit, arg, "leash_lock_holders", err);
}

leash_status
leash_lock_inspect(leash_lock *lock, leash_lock_info *info, leash_error *err)
{
	return check_and_look(lock, info, NULL, NULL, "leash_lock_inspect", err);
}

leash_status
leash_semaphore_inspect(leash_semaphore *semaphore, leash_lock_info *info, leash_hold_fn visit, void *arg,
                        leash_error *err)
{
	static const char call[] = "leash_semaphore_inspect";
	struct lsh_guard guard = lsh_enter();
	leash_status status = lsh_semaphore_check(semaphore, call, err);

	if (status == LEASH_OK)
		status = look(semaphore->handle, info, visit, arg, call, &guard, err);
	lsh_leave(&guard);
	return status;
}

void
lsh_client_count(leash_client *client, leash_stats *stats)
{
	struct lsh_router *router = lsh_engine_backend(client->engine)->router;
	struct lsh_server *first = NULL; /* in use */

	lsh_engine_count(client->engine, stats);
	stats->connected = stats->listening = lsh_router_count(router) > 0;
	lsh_router_gone(router, &stats->commands, &stats->connects);
	for (size_t i = 0; i < lsh_router_count(router); i++) {
		struct lsh_server *server = lsh_router_get(router, i);

		if (server == NULL)
			continue;
		stats->commands += lsh_pipeline_commands(lsh_node_pipeline(server->node));
		stats->connects += lsh_pipeline_connects(lsh_node_pipeline(server->node));
		/* else a replica, or gone: nothing is missing if that is not there */
		if (lsh_server_serves(server)) {
			stats->connected = stats->connected && lsh_node_is_up(server->node);
			stats->listening = stats->listening && lsh_node_is_subscribed(server->node);
			if (first == NULL || (!lsh_node_is_up(first->node) && lsh_node_is_up(server->node)))
				lsh_server_keep(&first, server); /* whose clock is known */
		}
		lsh_server_leave(server);
	}
	if (first != NULL)
		stats->server_ahead_ms = (lsh_node_server_us(first->node, lsh_now_ns()) - lsh_wall_us()) / 1000;
	lsh_server_leave(first);
}

leash_status
leash_client_stats(leash_client *client, leash_stats *stats, leash_error *err)
{
	static const char call[] = "leash_client_stats";
	lsh_guarded();
	leash_stats found = {0};
	leash_status status;

	if (client == NULL || stats == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, client == NULL ? "the client" : "`stats`");
	status = lsh_check_size(stats->size, offsetof(leash_stats, handed_on), call, "stats", err);
	if (status == LEASH_OK)
		status = lsh_fail_about(err, lsh_client_is_there(client, err), call, NULL);
	if (status != LEASH_OK)
		return status;
	lsh_client_count(client, &found);
	lsh_copy_out(stats, stats->size, &found, sizeof found);
	return LEASH_OK;
}
