/* Where the server is, with sentinels (redis+sentinel:). The line of the commands has one state more for that, and whatever state the two are
 * in, the news that the master is another one takes them there:
 *
 *   DOWN --redial_at has come--> SEEKING --a sentinel answers--> DIALING
 *                                   | none does, or in time: failed
 *   any --another master--> what there is is broken or stopped --> DIALING that one, at once: it is known where to go
 *
 * The line of the messages goes where the commands go, and is dialed as soon as that is known. */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* From now on both lines lead to `master`. Returns whether that is elsewhere; false also without memory: then `*err` says so. */
static bool
move(struct lsh_node *n, const struct lsh_master *master, leash_error *err)
{
	struct lsh_uri place = {0}, old;
	bool same;

	pthread_mutex_lock(&n->mutex);
	n->master_since = master->since;
	same = n->place.host != NULL && n->place.port == master->at.port && strcmp(n->place.host, master->at.host) == 0;
	pthread_mutex_unlock(&n->mutex);
	if (same)
		return false;
	if (!lsh_uri_of_server(&place, n->uri, master->at.host, master->at.port)) {
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for the address of its master", n->uri->shown);
		return false;
	}
	pthread_mutex_lock(&n->mutex);
	old = n->place;
	n->place = place;
	pthread_mutex_unlock(&n->mutex);
	lsh_dial_move(n->commands.dial, &n->place); /* which do not look at the old one any more */
	lsh_dial_move(n->messages.dial, &n->place);
	lsh_uri_clear(&old);
	n->commands.dialing = n->messages.dialing = false;
	lsh_listener_break(n->listener);
	n->messages.redial_at = 0;
	n->messages.failures = 0;
	lsh_node_say(n, LEASH_LOG_INFO, "%.110s: the master is %.60s", n->uri->shown, n->place.shown);
	return true;
}

/* If the sentinels have named another master, leave this one for it. */
void
lsh_node_follow(struct lsh_node *n)
{
	uint64_t changes = n->sentinel != NULL ? lsh_sentinel_changes(n->sentinel) : 0;
	struct lsh_master master;
	leash_error err = {0};

	if (changes == n->changes || n->seeking) /* who seeks comes to the same */
		return;
	n->changes = changes;
	if (lsh_sentinel_answer(n->sentinel, 0, &master, NULL) != LSH_FOUND)
		return;
	if (move(n, &master, &err)) {
		n->located = true;
		n->moved = n->up;
		n->commands.redial_at = 0;
		n->commands.failures = 0;
		lsh_pipe_break(n->pipe, 0);
	} else if (err.status != LEASH_OK) {
		n->changes--; /* again, as soon as something happens */
	}
}

/* See what the sentinels have answered, and dial that. */
void
lsh_node_seek(struct lsh_node *n, int64_t now)
{
	struct lsh_master master;
	leash_error err = {0};

	switch (lsh_sentinel_answer(n->sentinel, n->wish, &master, &err)) {
	case LSH_NOT_YET:
		if (now < n->seek_until)
			return;
		lsh_fail(&err, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", n->uri->shown);
		break;
	case LSH_NOBODY_KNOWS:
		break;
	case LSH_FOUND:
		move(n, &master, &err);
		break;
	}
	n->seeking = false;
	if (err.status != LEASH_OK)
		lsh_node_attempt_failed(n, &n->commands, &err, true);
	else
		lsh_node_start_dial(n, &n->commands, now);
}

/* An attempt is due. */
void
lsh_node_begin_attempt(struct lsh_node *n, struct lsh_node_line *line, int64_t now)
{
	if (n->sentinel == NULL || line == &n->messages || n->located) {
		if (line == &n->commands)
			n->located = false;
		lsh_node_start_dial(n, line, now);
		return;
	}
	n->seeking = true;
	n->wish = lsh_sentinel_wish(n->sentinel);
	if (n->first_wish == 0)
		n->first_wish = n->wish;
	n->seek_until = lsh_after(now, n->timeout);
}
