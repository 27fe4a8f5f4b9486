/* A run inside of another one. See nesting.h.
 *
 * What a run around this one holds is known by its token, which is in our environment. To wait for it would be for
 * ever, if that run waits for us. So a lock is entered: we work under the outer hold, watch it, and release nothing.
 * Where that cannot be (the outer run reads, and we are to write; or the permits are too few for both) we end.
 *
 * If the outer run loses the lock it ends all its descendants, and so us. But if it is killed (kill -9) it does not. So
 * a thread asks the server how long the hold still lasts, and that is taken for a lease of our own: CMD is dead before
 * its end. It asks seldom: its connection may have other work. */
#include "tools/nesting.h"

#include "tools/clock.h"
#include "tools/environment.h"
#include "tools/stderr_writer.h"
#include "tools/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The watch over the hold that `holding` was entered under. */
struct nesting {
	struct side_thread thread;
	struct stderr_writer *writer;
	const struct holding *holding;
	_Atomic int64_t valid_until; /* clock_boot_ns(); 0: the hold is lost */
	int lost_fd;
};

int64_t
nesting_remaining_ms(const struct nesting *nesting)
{
	int64_t left = atomic_load(&nesting->valid_until) - clock_boot_ns();

	return left > 0 ? left / MS : 0;
}

/* Valid-until counts from before the question, less what the two clocks may differ by, as for a lease of our own. */
static void
note(struct nesting *n, const struct holding_outer *outer, int64_t asked_ns)
{
	const struct holding *h = n->holding;

	if (outer->remaining_ms > 2 && strcmp(outer->token, h->token) == 0) {
		atomic_store(&n->valid_until, asked_ns + (outer->remaining_ms - 2) * (MS - MS / 100));
		return;
	}
	atomic_store(&n->valid_until, 0);
	writer_tell(n->writer, &(struct cli_news){.level = CLI_ERROR, .lock = h->name, .event = "LOST", .fence = h->fence},
	            "the run around this one has lost %s", h->shown);
	thread_ring(n->lost_fd);
}

static void *
watch(void *arg)
{
	struct nesting *n = arg;

	while (atomic_load(&n->valid_until) != 0) {
		int64_t pause_ms = nesting_remaining_ms(n) / 6, asked_ns;
		struct holding_outer outer;

		if (!thread_sleep(&n->thread, pause_ms > 5000 ? 5000 : pause_ms < 100 ? 100 : pause_ms))
			break;
		asked_ns = clock_boot_ns();
		if (holding_look(n->holding, &outer, NULL) == LEASH_OK)
			note(n, &outer, asked_ns);
	}
	return NULL;
}

/* False: no memory, or no thread. */
static bool
enter(struct holding *h, const struct holding_outer *outer, int64_t asked_ns, struct stderr_writer *writer, int lost_fd)
{
	struct nesting *n = calloc(1, sizeof *n);

	if (n == NULL)
		return false;
	n->writer = writer;
	n->holding = h;
	n->lost_fd = lost_fd;
	h->fence = outer->fence;
	memcpy(h->token, outer->token, sizeof h->token);
	note(n, outer, asked_ns);
	if (thread_begin(&n->thread, watch, n)) {
		h->outer = n;
		return true;
	}
	free(n);
	return false;
}

static int
look(struct holding *h, bool waits, struct stderr_writer *writer, int lost_fd, int64_t *lease_ms)
{
	struct holding_outer outer;
	int64_t asked_ns = clock_boot_ns();
	char fence[HOLDING_FENCE_SIZE];
	leash_error err;

	if (holding_look(h, &outer, &err) != LEASH_OK) {
		holding_explain(h, &err);
		return writer_fail(writer, cli_exit_of(err.status), "%s", err.text);
	}
	if (outer.token[0] == '\0' && outer.never[0] != '\0' && waits)
		return writer_fail(writer, EXIT_CONFLICT, HOLDING_NEVER, h->shown, outer.never);
	if (outer.token[0] == '\0')
		return CLI_GO_ON;
	if (!enter(h, &outer, asked_ns, writer, lost_fd))
		return writer_fail(writer, EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
	if (*lease_ms == 0 || outer.remaining_ms < *lease_ms)
		*lease_ms = outer.remaining_ms;
	writer_say(writer, CLI_DETAIL, "%s is held by the run around this one%s", h->shown, holding_fence(fence, h));
	return CLI_GO_ON;
}

int
nesting_enter(struct hold_set *set, bool waits, struct stderr_writer *writer, int lost_fd, int64_t *lease_ms)
{
	int status = CLI_GO_ON;

	*lease_ms = 0;
	for (size_t i = 0; i < set->count && status == CLI_GO_ON && !environment_has_no_token(); i++)
		status = look(&set->held[i], waits, writer, lost_fd, lease_ms);
	return status;
}

void
nesting_end(struct hold_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct nesting *n = set->held[i].outer;

		set->held[i].outer = NULL;
		if (n == NULL)
			continue;
		thread_end(&n->thread);
		free(n);
	}
}
