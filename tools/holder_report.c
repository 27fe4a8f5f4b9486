#include "tools/holder_report.h"

#include "tools/clock.h"
#include "tools/hold_set.h"
#include "tools/notify.h"
#include "tools/stderr_writer.h"
#include "tools/thread.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A standby of a service waits for weeks, and there are many: where nobody looks on, it asks less often. */
enum { SOON_MS = 300, FIRST_MS = 1000, AGAIN_MS = 3000, STANDBY_MS = 10000, REMIND_MS = 30000 };

struct holder_report {
	struct side_thread thread;
	struct stderr_writer *writer;
	struct notify *notify;
	const struct hold_set *set;
	bool soon;
	_Atomic bool muted;
};

static void *
keep_telling(void *arg)
{
	struct holder_report *t = arg;
	char last[LEASH_TOKEN_MAX] = "", whose[LEASH_TOKEN_MAX], said[HOLDING_WHO_SIZE + 60];
	char status[sizeof said + sizeof "waiting: "];
	const int64_t again_ms = t->writer != NULL ? AGAIN_MS : STANDBY_MS;
	int64_t told_ns = 0;
	uint64_t place;
	bool is_news;

	for (int64_t pause_ms = t->soon ? SOON_MS : FIRST_MS; thread_sleep(&t->thread, pause_ms); pause_ms = again_ms) {
		if (!hold_set_who(t->set, said, whose))
			continue;
		is_news = strcmp(last, whose) != 0 || clock_boot_ns() - told_ns >= REMIND_MS * MS;
		place = is_news || t->notify != NULL ? hold_set_place(t->set) : 0;
		if (place > 0)
			cli_append(said, sizeof said, "; our place in the queue is %" PRIu64, place);
		snprintf(status, sizeof status, "waiting: %s", said);
		notify_wait_on(t->notify, status);
		if (!is_news)
			continue;
		strcpy(last, whose);
		told_ns = clock_boot_ns();
		if (t->writer != NULL && !atomic_load(&t->muted))
			writer_say(t->writer, CLI_INFO, "%s", said);
	}
	return NULL;
}

struct holder_report *
holder_report_new(struct stderr_writer *writer, struct notify *notify, const struct hold_set *set, bool soon)
{
	struct holder_report *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->writer = writer;
	t->notify = notify;
	t->set = set;
	t->soon = soon;
	if (thread_begin(&t->thread, keep_telling, t))
		return t;
	free(t);
	return NULL;
}

void
holder_report_mute(struct holder_report *report)
{
	if (report == NULL)
		return;
	atomic_store(&report->muted, true);
	thread_ring(report->thread.bell);
}

void
holder_report_end(struct holder_report *report)
{
	if (report == NULL)
		return;
	thread_end(&report->thread);
	free(report);
}
