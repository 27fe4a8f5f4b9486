/* The watch over the hold of an outer run. See holder_watch.h.
 *
 * If the outer run loses the lock it ends all its descendants, and so us. But if it is killed (kill -9) it does not. So
 * the inner run has a thread that asks the server how long the hold still lasts, and treats that as its own lease: CMD
 * is dead before its end.
 *
 * It asks seldom: its connection may have other work. */
#include "tools/holder_watch.h"

#include "tools/clock.h"
#include "tools/thread.h"
#include "tools/stderr_writer.h"
#include "tools/holding.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct holder_watch {
	struct side_thread thread;
	struct stderr_writer *writer;
	struct holding *holding;
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
note(struct holder_watch *o, const struct holding_outer *outer, int64_t asked_ns)
{
	if (outer->remaining_ms > 2 && strcmp(outer->token, o->token) == 0) {
		atomic_store(&o->valid_until, asked_ns + (outer->remaining_ms - 2) * (MS - MS / 100));
		return;
	}
	atomic_store(&o->valid_until, 0);
	writer_tell(o->writer,
	            &(struct cli_news){.level = CLI_ERROR, .lock = o->holding->name, .event = "LOST", .fence = o->fence},
	            "the run around this one has lost %s", o->holding->shown);
	thread_ring(o->lost_fd);
}

static void *
look_on(void *arg)
{
	struct holder_watch *o = arg;

	while (atomic_load(&o->valid_until) != 0) {
		int64_t pause_ms = holder_watch_remaining_ms(o) / 6, asked_ns;
		struct holding_outer outer;

		if (!thread_sleep(&o->thread, pause_ms > 5000 ? 5000 : pause_ms < 100 ? 100 : pause_ms))
			break;
		asked_ns = clock_boot_ns();
		if (holding_look(o->holding, &outer, NULL) == LEASH_OK)
			note(o, &outer, asked_ns);
	}
	return NULL;
}

struct holder_watch *
holder_watch_new(struct stderr_writer *writer, struct holding *holding, const struct holding_outer *outer,
                 int64_t asked_ns, int lost_fd)
{
	struct holder_watch *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	o->writer = writer;
	o->holding = holding;
	o->lost_fd = lost_fd;
	snprintf(o->token, sizeof o->token, "%s", outer->token);
	o->fence = outer->fence;
	note(o, outer, asked_ns);
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
