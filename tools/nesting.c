/* A run inside of another one. See nesting.h.
 *
 * What a run around this one holds is known by its token, which is in our environment. To wait for it would be for
 * ever, if that run waits for us. So a lock is entered: we work under the outer hold, watch it, and release nothing.
 * Where that cannot be (the outer run reads, and we are to write; or the permits are too few for both) we end. */
#include "tools/nesting.h"

#include "tools/clock.h"
#include "tools/environment.h"
#include "tools/holder_watch.h"
#include "tools/stderr_writer.h"

#include <errno.h>
#include <string.h>

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
	h->outer = holder_watch_new(writer, h, &outer, asked_ns, lost_fd);
	if (h->outer == NULL)
		return writer_fail(writer, EXIT_INTERNAL, "cannot begin: %s", strerror(errno));
	if (*lease_ms == 0 || outer.remaining_ms < *lease_ms)
		*lease_ms = outer.remaining_ms;
	h->fence = outer.fence;
	memcpy(h->token, outer.token, sizeof h->token);
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
		holder_watch_end(set->held[i].outer);
		set->held[i].outer = NULL;
	}
}
