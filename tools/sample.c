#include "tools/sample.h"

#include "tools/clock.h"
#include "tools/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who is asked ---- */

/* The server's name as it was given, without user and password before it, and secrets behind it. */
static void
name_server(char *out, size_t size, const char *uri)
{
	const char *from = strstr(uri, "//"), *query = strpbrk(uri, "?#"), *at;
	char plain[256];
	size_t scheme = from != NULL ? (size_t)(from + 2 - uri) : 0, n;

	at = memrchr(uri, '@', query != NULL ? (size_t)(query - uri) : strlen(uri));
	from = at != NULL ? at + 1 : uri + scheme;
	n = strcspn(from, "?#");
	snprintf(plain, sizeof plain, "%.*s%.*s", (int)(scheme < 24 ? scheme : 0), uri, (int)(n < 200 ? n : 200), from);
	cli_show(out, size, plain);
}

void
subject_begin(struct subject *s, const struct cli *cli, const char *pattern)
{
	*s = (struct subject){.cli = cli, .pattern = pattern};
	name_server(s->server, sizeof s->server, cli->uri != NULL ? cli->uri : "redis://127.0.0.1:6379");
}

leash_status
subject_reach(struct subject *s, leash_error *err)
{
	leash_options options = cli_client_options(s->cli, NULL);
	leash_status st = LEASH_OK;

	if (s->client == NULL)
		st = leash_open(&s->client, &options, err);
	if (st == LEASH_OK && s->probe == NULL)
		st = leash_lock_new(&s->probe, s->client, "leash-top", CLI_LOOKING, err);
	return st;
}

int
subject_open(struct subject *s, const struct cli *cli, const char *pattern)
{
	leash_error err;
	int status;

	subject_begin(s, cli, pattern);
	status = cli_open_to_look(cli, &s->client);
	if (status == CLI_GO_ON && subject_reach(s, &err) != LEASH_OK)
		return cli_fail_with(cli, &err);
	return status;
}

void
subject_close(struct subject *s)
{
	leash_lock_free(s->probe);
	leash_close(s->client);
	s->probe = NULL;
	s->client = NULL;
}

/* ---- looking ---- */

bool
wish_fits(const struct wish *wish, const char *name)
{
	return strcasestr(name, wish->part) != NULL;
}

bool
sample_init(struct sample *sample, size_t rows)
{
	*sample = (struct sample){.circles = circles_new()};
	return ranking_init(&sample->ranking, rows) && sample->circles != NULL;
}

void
sample_destroy(struct sample *sample)
{
	ranking_destroy(&sample->ranking);
	circles_free(sample->circles);
	sample->circles = NULL;
}

struct scan {
	struct sample *sample;
	int64_t since_ms; /* by the server's clock: locks held since later were taken after the last sample */
	const atomic_bool *stop;
};

static bool
note_lock(void *arg, const leash_lock_info *info)
{
	struct scan *scan = arg;
	struct sample *s = scan->sample;

	if (wish_fits(&s->wish, info->name)) {
		if (!ranking_add(&s->ranking, info))
			return true; /* it was counted before */
		s->fitting++;
	}
	s->locks++;
	s->waiting += info->waiting;
	s->contended += info->waiting > 0;
	s->no_queues |= info->no_queue;
	s->queues |= !info->no_queue;
	s->ending += info->remaining_ms >= 0 && info->remaining_ms <= SAMPLE_ENDING_MS;
	s->endless += info->remaining_ms < 0;
	s->taken += scan->since_ms > 0 && info->held_since_ms > scan->since_ms;
	if (info->waiting > 0)
		circles_note(s->circles, info);
	return scan->stop == NULL || !atomic_load_explicit(scan->stop, memory_order_relaxed);
}

static leash_status
measure_trip(struct sample *sample, const struct subject *subject, leash_error *err)
{
	leash_lock_info info = {.size = sizeof info};
	int64_t from_ns = clock_steady_ns();
	leash_status st = leash_lock_inspect(subject->probe, &info, err);

	sample->trip_ns = clock_steady_ns() - from_ns;
	return st;
}

leash_status
sample_take(struct sample *sample, struct subject *subject, const struct wish *wish, int64_t before_ms,
            const atomic_bool *stop, leash_error *err)
{
	struct scan scan = {.sample = sample, .stop = stop};
	leash_status st;
	int64_t from_ns;

	*sample = (struct sample){.wish = *wish, .ranking = sample->ranking, .circles = sample->circles};
	ranking_clear(&sample->ranking, wish->order);
	circles_clear(sample->circles);
	st = subject_reach(subject, err);
	if (st == LEASH_OK)
		st = measure_trip(sample, subject, err);
	if (st != LEASH_OK)
		return st;
	sample->moment = moment_now(subject->client);
	if (before_ms > 0 && before_ms < sample->moment.here_ms) {
		sample->taken_in_ms = sample->moment.here_ms - before_ms;
		scan.since_ms = before_ms + sample->moment.ahead_ms;
	}
	from_ns = clock_steady_ns();
	st = leash_client_scan(subject->client, subject->pattern, note_lock, &scan, err);
	sample->scan_ns = clock_steady_ns() - from_ns;
	ranking_sort(&sample->ranking, wish->order);
	if (st == LEASH_OK)
		circles_find(sample->circles, subject->client, &sample->moment, stop);
	return st;
}

/* ---- telling ---- */

char *
sample_text(char out[static SAMPLE_TEXT_SIZE], const struct sample *s)
{
	char span[TABLE_SPAN_SIZE];

	out[0] = '\0';
	cli_append(out, SAMPLE_TEXT_SIZE, "%" PRIu64 " lock%s", s->locks, s->locks == 1 ? "" : "s");
	if (s->waiting > 0)
		cli_append(out, SAMPLE_TEXT_SIZE, ", %" PRIu64 " waiting for %" PRIu64 " of them", s->waiting, s->contended);
	else if (!s->no_queues)
		cli_append(out, SAMPLE_TEXT_SIZE, ", nobody waiting");
	if (s->taken_in_ms > 0)
		cli_append(out, SAMPLE_TEXT_SIZE, ", %" PRIu64 " taken in the last %s", s->taken,
		           table_span(span, s->taken_in_ms));
	if (s->ending > 0)
		cli_append(out, SAMPLE_TEXT_SIZE, ", %" PRIu64 " end%s within %d s", s->ending, s->ending == 1 ? "s" : "",
		           SAMPLE_ENDING_MS / 1000);
	if (s->endless > 0)
		cli_append(out, SAMPLE_TEXT_SIZE, ", %" PRIu64 " without expiry", s->endless);
	return out;
}
