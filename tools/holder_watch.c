/* Threads that look at a lock which another process holds. See holder_watch.h.
 *
 * The watch is for a run inside a run of the same lock, which works under the hold of the outer run. If the outer run
 * loses the lock it ends all its descendants, and so us. But if it is killed (kill -9) it does not. So the inner run
 * has a thread that asks the server how long the hold still lasts, and treats that as its own lease: CMD is dead before
 * its end.
 *
 * Both threads ask seldom: their connection has other work. */
#include "tools/holder_watch.h"

#include "tools/clock.h"
#include "tools/thread.h"
#include "tools/stderr_writer.h"
#include "tools/holding.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the watch ---- */

struct holder_watch {
	struct side_thread thread;
	struct stderr_writer *writer;
	const struct holding *holding;
	char token[LEASH_TOKEN_MAX];
	uint64_t fence;
	_Atomic int64_t valid_until; /* clock_boot_ns(); 0: the hold is lost */
	int lost_fd;
};

int64_t
holder_watch_remaining_ms(const struct holder_watch *watch)
{
	int64_t left = atomic_load(&watch->valid_until) - clock_boot_ns();

	return left > 0 ? left / MS : 0;
}

/* Valid-until counts from before the question, less what the two clocks may differ by, as for a lease of our own. */
static void
note(struct holder_watch *o, const leash_lock_info *info, int64_t asked_ns)
{
	if (info->held && info->remaining_ms > 2 && strcmp(info->holder.token, o->token) == 0) {
		atomic_store(&o->valid_until, asked_ns + (info->remaining_ms - 2) * (MS - MS / 100));
		return;
	}
	atomic_store(&o->valid_until, 0);
	writer_report(o->writer, CLI_ERROR, &(leash_event){.type = LEASH_EVENT_LOST, .fence = o->fence},
	              "the run around this one has lost the lock");
	thread_ring(o->lost_fd);
}

static void *
look_on(void *arg)
{
	struct holder_watch *o = arg;

	while (atomic_load(&o->valid_until) != 0) {
		int64_t pause_ms = holder_watch_remaining_ms(o) / 6, asked_ns;
		leash_lock_info info = {.size = sizeof info};

		if (!thread_sleep(&o->thread, pause_ms > 5000 ? 5000 : pause_ms < 100 ? 100 : pause_ms))
			break;
		asked_ns = clock_boot_ns();
		if (o->holding->kind->look(o->holding, &info, NULL) == LEASH_OK)
			note(o, &info, asked_ns);
	}
	return NULL;
}

struct holder_watch *
holder_watch_new(struct stderr_writer *writer, const struct holding *holding, const leash_lock_info *info,
                 int64_t asked_ns, int lost_fd)
{
	struct holder_watch *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	o->writer = writer;
	o->holding = holding;
	o->lost_fd = lost_fd;
	snprintf(o->token, sizeof o->token, "%s", info->holder.token);
	o->fence = info->fence;
	note(o, info, asked_ns);
	if (thread_begin(&o->thread, look_on, o))
		return o;
	free(o);
	return NULL;
}

void
holder_watch_end(struct holder_watch *watch)
{
	if (watch == NULL)
		return;
	thread_end(&watch->thread);
	free(watch);
}

/* ---- the report ---- */

enum { FIRST_MS = 300, AGAIN_MS = 3000, REMIND_MS = 30000 };

struct holder_report {
	struct side_thread thread;
	struct stderr_writer *writer;
	const struct holding *holding;
	_Atomic bool muted;
};

static void *
keep_telling(void *arg)
{
	struct holder_report *t = arg;
	char last[LEASH_TOKEN_MAX] = "", whose[LEASH_TOKEN_MAX], who[HOLDING_WHO_SIZE];
	int64_t told_ns = 0;

	for (int64_t pause_ms = FIRST_MS; thread_sleep(&t->thread, pause_ms); pause_ms = AGAIN_MS) {
		if (!t->holding->kind->who(t->holding, who, whose))
			continue;
		if (strcmp(last, whose) == 0 && clock_boot_ns() - told_ns < REMIND_MS * MS)
			continue;
		strcpy(last, whose);
		told_ns = clock_boot_ns();
		if (!atomic_load(&t->muted))
			writer_say(t->writer, CLI_DETAIL, "%s", who);
	}
	return NULL;
}

struct holder_report *
holder_report_new(struct stderr_writer *writer, const struct holding *holding)
{
	struct holder_report *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->writer = writer;
	t->holding = holding;
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
