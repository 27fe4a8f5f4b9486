/* How long things took so far: the answers of leash_client_times(). */
#include "client/groups.h"
#include "client/handle.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

#include <leash/metrics.h>

#include <errno.h>
#include <stddef.h>

/* NULL: there is none, and `err` says so. */
static const struct lsh_figure *
figure_of(leash_client *client, const char *name, leash_time which, const char *call, leash_error *err)
{
	struct lsh_engine *e = client->engine;
	const struct lsh_group *group = NULL;

	if (name != NULL && (group = lsh_group_find(client, name)) == NULL) {
		lsh_fail(err, LEASH_INVALID, 0, "%s: no handle of this client has the group '%.64s'", call, name);
		return NULL;
	}
	switch (which) {
	case LEASH_TIME_WAIT:
	case LEASH_TIME_HOLD:
	case LEASH_TIME_LEFT:
		return &(group != NULL ? &group->times : lsh_engine_times(e))->of[which];
	case LEASH_TIME_ROUND_TRIP:
		if (group == NULL)
			return lsh_router_round_trips(lsh_engine_backend(e)->router);
		lsh_fail(err, LEASH_INVALID, 0, "%s: a group has no LEASH_TIME_ROUND_TRIP: commands are the client's", call);
		return NULL;
	}
	lsh_fail(err, LEASH_INVALID, 0, "%s: there is no leash_time %d", call, (int)which);
	return NULL;
}

leash_status
leash_client_times(leash_client *client, const char *group, leash_time which, leash_times *times, leash_error *err)
{
	static const char call[] = "leash_client_times";
	lsh_guarded();
	struct lsh_figures_seen *seen;
	const struct lsh_figure *figure;
	leash_status status;

	if (client == NULL || times == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: %s is NULL", call, client == NULL ? "the client" : "`times`");
	status = lsh_check_size(times->size, offsetof(leash_times, sum_ns), call, "times", err);
	if (status == LEASH_OK)
		status = lsh_fail_about(err, lsh_client_is_there(client, err), call, NULL);
	if (status != LEASH_OK)
		return status;
	figure = figure_of(client, group, which, call, err);
	if (figure == NULL)
		return LEASH_INVALID;
	seen = lsh_new(struct lsh_figures_seen);
	if (seen == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%s: out of memory", call);
	lsh_figure_read(seen, figure);
	lsh_copy_out(times, times->size, &(leash_times){
		.count = seen->count, .sum_ns = seen->sum, .p50_ns = lsh_figure_at(seen, 0.5),
		.p90_ns = lsh_figure_at(seen, 0.9), .p99_ns = lsh_figure_at(seen, 0.99),
		.p999_ns = lsh_figure_at(seen, 0.999), .max_ns = lsh_figure_at(seen, 1),
	}, sizeof(leash_times));
	lsh_free(seen);
	return LEASH_OK;
}
