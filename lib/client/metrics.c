/* What clients have done, and how long it took, as a text in the exposition format of Prometheus (0.0.4), with the
 * names and units that OpenMetrics asks for. It is made as a whole before it is written, so that the program may do in
 * `write` whatever it likes. */
#include "client/handle.h"
#include "client/groups.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "redis/buffer.h"

#include <leash/inspect.h>
#include <leash/metrics.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAST_BITS = 12, /* the limits of a histogram: from 4 us, */
	MOST_BITS = 41,  /* to 2199 s */
	LINE = 1024,
	TEXT_MAX = 64 << 20,
};

struct page {
	struct lsh_buffer text;
	struct lsh_figures_seen seen;
	bool is_short; /* of memory */
};

__attribute__((format(printf, 2, 3))) static void
put(struct page *page, const char *format, ...)
{
	va_list args;
	int size;

	if (!lsh_buffer_reserve(&page->text, LINE, TEXT_MAX)) {
		page->is_short = true;
		return;
	}
	va_start(args, format);
	size = vsnprintf(page->text.bytes + page->text.end, LINE, format, args);
	va_end(args);
	page->text.end += size < LINE ? (size_t)size : LINE - 1;
}

static void
put_head(struct page *page, const char *name, const char *type, const char *help)
{
	put(page, "# HELP leash_%s %s.\n# TYPE leash_%s %s\n", name, help, name, type);
}

/* What a label may be, in quotes: those that are in it are escaped. */
static const char *
quoted(char out[static 2 * 128 + 1], const char *value)
{
	char *to = out;

	for (size_t i = 0; i < 128 && value[i] != '\0'; i++) {
		if (value[i] == '"' || value[i] == '\\')
			*to++ = '\\';
		*to++ = value[i];
	}
	*to = '\0';
	return out;
}

static const char *
name_of(const leash_client *client)
{
	return client->name + strlen("leash:");
}

/* `client="web",server="redis://cache:6379"`, and the group, if there is one */
static void
label(char out[static LINE], const leash_client *client, const struct lsh_group *group)
{
	char name[257], server[257], of[257];

	snprintf(out, LINE, "client=\"%s\",server=\"%s\"%s%s%s", quoted(name, name_of(client)),
	         quoted(server, client->uri.shown), group != NULL ? ",group=\"" : "",
	         group != NULL ? quoted(of, group->name) : "", group != NULL ? "\"" : "");
}

/* ---- counts ---- */

static const struct metric {
	const char *name, *type, *help;
	size_t offset, size;
} metrics[] = {
#define METRIC(name, type, field, help) \
	{(name), (type), (help), offsetof(leash_stats, field), sizeof(((leash_stats *)0)->field)}
	METRIC("acquired_total", "counter", acquired, "Locks acquired, without nested acquires"),
	METRIC("handed_on_total", "counter", handed_on, "Locks acquired from thread to thread without asking the server"),
	METRIC("waited_total", "counter", waited, "Locks acquired after a wait in the server's queue"),
	METRIC("released_total", "counter", released, "Locks released by their owner"),
	METRIC("lost_total", "counter", lost, "Holds that were lost"),
	METRIC("abandoned_total", "counter", abandoned, "Holds whose thread or owner ended"),
	METRIC("renewed_total", "counter", renewed, "Renewals that the server confirmed"),
	METRIC("renewals_failed_total", "counter", renewals_failed, "Renewals that the server did not confirm"),
	METRIC("gave_up_total", "counter", gave_up, "Acquires that ended without the lock"),
	METRIC("commands_total", "counter", commands, "Commands sent"),
	METRIC("connects_total", "counter", connects, "Connections made for commands"),
	METRIC("holding", "gauge", holding, "Locks held now"),
	METRIC("waiting", "gauge", waiting, "Acquires that wait now"),
	METRIC("connected", "gauge", connected, "1 if every server accepts commands"),
	METRIC("listening", "gauge", listening, "1 if every server sends wake-ups"),
#undef METRIC
};

static unsigned long long
value_of(const leash_stats *stats, const struct metric *m)
{
	const char *at = (const char *)stats + m->offset;
	uint64_t number;

	if (m->size == sizeof(bool))
		return *(const bool *)at;
	memcpy(&number, at, sizeof number);
	return number;
}

/* Each metric with all clients, as the format asks. */
static void
put_counts(struct page *page, leash_client *const *clients, const leash_stats *stats, size_t count)
{
	char labels[LINE];

	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		put_head(page, metrics[m].name, metrics[m].type, metrics[m].help);
		for (size_t i = 0; i < count; i++) {
			label(labels, clients[i], NULL);
			put(page, "leash_%s{%s} %llu\n", metrics[m].name, labels, value_of(&stats[i], &metrics[m]));
		}
	}
	put_head(page, "server_ahead_seconds", "gauge", "How far the server's clock is ahead of ours");
	for (size_t i = 0; i < count; i++) {
		label(labels, clients[i], NULL);
		put(page, "leash_server_ahead_seconds{%s} %s%lld.%03lld\n", labels, stats[i].server_ahead_ms < 0 ? "-" : "",
		    llabs(stats[i].server_ahead_ms) / 1000, llabs(stats[i].server_ahead_ms) % 1000);
	}
}

/* ---- times ---- */

static const struct {
	const char *name, *help;
} times[] = {
	[LEASH_TIME_WAIT] = {"wait_seconds", "From the call of an acquire until it had the lock"},
	[LEASH_TIME_HOLD] = {"hold_seconds", "From then until the lock was released or lost"},
	[LEASH_TIME_LEFT] = {"lease_left_seconds", "Rest of the lease when its renewal was sent"},
	[LEASH_TIME_ROUND_TRIP] = {"round_trip_seconds", "From sending a command to reading its answer"},
};

static void
put_seconds(struct page *page, uint64_t ns)
{
	put(page, "%llu.%09llu", (unsigned long long)(ns / 1000000000), (unsigned long long)(ns % 1000000000));
}

static void
put_histogram(struct page *page, const char *group, const char *name, const char *labels,
              const struct lsh_figure *figure)
{
	const struct lsh_figures_seen *seen = &page->seen;

	lsh_figure_read(&page->seen, figure);
	for (unsigned bits = LEAST_BITS; bits <= MOST_BITS; bits++) {
		put(page, "leash_%s%s_bucket{%s,le=\"", group, name, labels);
		put_seconds(page, UINT64_C(1) << bits);
		put(page, "\"} %llu\n", (unsigned long long)lsh_figure_below(seen, bits));
	}
	put(page, "leash_%s%s_bucket{%s,le=\"+Inf\"} %llu\n", group, name, labels, (unsigned long long)seen->count);
	put(page, "leash_%s%s_sum{%s} ", group, name, labels);
	put_seconds(page, seen->sum);
	put(page, "\nleash_%s%s_count{%s} %llu\n", group, name, labels, (unsigned long long)seen->count);
}

static void
put_times(struct page *page, leash_client *const *clients, size_t count)
{
	char labels[LINE];

	for (unsigned t = 0; t < sizeof times / sizeof *times; t++) {
		put_head(page, times[t].name, "histogram", times[t].help);
		for (size_t i = 0; i < count; i++) {
			struct lsh_engine *e = clients[i]->engine;

			label(labels, clients[i], NULL);
			put_histogram(page, "", times[t].name, labels, t < LSH_TIMES ? &lsh_engine_times(e)->of[t]
			              : lsh_router_round_trips(lsh_engine_backend(e)->router));
		}
	}
}

static void
put_groups(struct page *page, leash_client *const *clients, size_t count)
{
	char name[64], labels[LINE];

	for (unsigned t = 0; t < LSH_TIMES; t++) {
		snprintf(name, sizeof name, "group_%s", times[t].name);
		put_head(page, name, "histogram", times[t].help);
		for (size_t i = 0; i < count; i++) {
			for (struct lsh_group *group = atomic_load(&clients[i]->groups); group != NULL; group = group->next) {
				label(labels, clients[i], group);
				put_histogram(page, "group_", times[t].name, labels, &group->times.of[t]);
			}
		}
	}
}

/* ---- the call ---- */

static leash_status
check(leash_client *const *clients, size_t count, const char *call, leash_error *err)
{
	leash_status status;

	for (size_t i = 0; i < count; i++) {
		if (clients[i] == NULL)
			return lsh_fail(err, LEASH_INVALID, 0, "%s: the client is NULL", call);
		status = lsh_fail_about(err, lsh_client_is_there(clients[i], err), call, NULL);
		if (status != LEASH_OK)
			return status;
		for (size_t j = 0; j < i; j++)
			if (strcmp(clients[i]->name, clients[j]->name) == 0)
				return lsh_fail(err, LEASH_INVALID, 0, "%s: two of the clients are called '%s': give each a "
				                "client_name of its own", call, name_of(clients[i]));
	}
	return LEASH_OK;
}

/* NULL: no memory */
static struct page *
make(leash_client *const *clients, size_t count)
{
	struct page *page = lsh_new(struct page);
	leash_stats *stats = lsh_alloc(count * sizeof *stats);

	if (page != NULL && stats != NULL) {
		for (size_t i = 0; i < count; i++)
			lsh_client_count(clients[i], &stats[i]);
		put_counts(page, clients, stats, count);
		put_times(page, clients, count);
		put_groups(page, clients, count);
	}
	if (page != NULL && (stats == NULL || page->is_short)) {
		lsh_free(page->text.bytes);
		lsh_free(page);
		page = NULL;
	}
	lsh_free(stats);
	return page;
}

static void
free_page(void *arg)
{
	struct page *page = arg;

	lsh_free(page->text.bytes);
	lsh_free(page);
}

/* The program may be canceled in it, or fork. */
static bool
hand_over(struct page *page, leash_write_fn write, void *arg, struct lsh_guard *guard)
{
	bool is_taken = false;

	pthread_cleanup_push(free_page, page);
	lsh_leave(guard);
	is_taken = write(arg, page->text.bytes, page->text.end);
	*guard = lsh_enter();
	pthread_cleanup_pop(1);
	return is_taken;
}

leash_status
leash_metrics_write(leash_client *const *clients, size_t count, leash_write_fn write, void *arg, leash_error *err)
{
	static const char call[] = "leash_metrics_write";
	struct lsh_guard guard = lsh_enter();
	leash_status status = LEASH_OK;
	struct page *page;

	if (clients == NULL || count == 0 || write == NULL)
		status = lsh_fail(err, LEASH_INVALID, 0, "%s: %s", call,
		                  write == NULL ? "`write` is NULL" : "there are no clients");
	if (status == LEASH_OK)
		status = check(clients, count, call, err);
	if (status == LEASH_OK) {
		page = make(clients, count);
		if (page == NULL)
			status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%s: out of memory", call);
		else if (!hand_over(page, write, arg, &guard))
			status = lsh_fail(err, LEASH_CANCELED, 0, "%s: `write` returned false", call);
	}
	lsh_leave(&guard);
	return status;
}
