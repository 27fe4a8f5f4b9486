/* Where the server of a node is, and its clock. A URI without sentinels says so itself; else they are asked before each
 * attempt to connect, but for one to a master that they have just named unasked:
 *
 *   attempt due --> seeking --a sentinel answers--> DIAL
 *                      | none does, or not in time: FAILED
 *   any time --they name another master--> leave the one before, DIAL */
#include "redis/node_inside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mutation.h"
#include "base/mutex.h"

#include <errno.h>
#include <stdio.h>

/* From now on the server is at `master`. If that is elsewhere, both lines lead there, and true is returned; false also
 * without memory: then `*err` says so. */
static bool
move(struct lsh_node *n, const struct lsh_master *master, leash_error *err)
{
	struct lsh_uri *other = &n->places[n->place == &n->places[0]];

	atomic_store(&n->master_since, master->since);
	if (n->place != NULL && lsh_is_same_place(&master->at, n->place->host, n->place->port))
		return false;
	lsh_uri_clear(other);
	if (!lsh_uri_of_server(other, n->uri, master->at.host, master->at.port)) {
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for the address of its master", n->uri->shown);
		return false;
	}
	pthread_mutex_lock(&n->mutex);
	n->place = other;
	pthread_mutex_unlock(&n->mutex);
	lsh_connector_move(n->commands.connector, other);
	lsh_connector_move(n->messages.connector, other);
	n->commands.connecting = n->messages.connecting = false;
	n->messages.reconnect_at = 0;
	n->messages.failures = 0;
	lsh_pubsub_break(n->pubsub);
	lsh_courier_log(n->courier, LEASH_LOG_INFO, "%.110s: the master is %.60s", n->uri->shown, other->shown);
	return true;
}

bool
lsh_node_follow(struct lsh_node *n)
{
	struct lsh_master master;

	if (n->sentinel == NULL || n->seeking || lsh_sentinel_answer(n->sentinel, 0, &master, NULL) != LSH_KNOWN ||
	    !move(n, &master, NULL))
		return false;
	n->located = true;
	return true;
}

enum lsh_located
lsh_node_locate(struct lsh_node *n, int64_t now, int64_t *until, leash_error *err)
{
	struct lsh_master master;
	enum lsh_known known;

	if (n->sentinel == NULL || n->located) {
		n->located = false;
		return LSH_LOCATED_DIAL;
	}
	if (!n->seeking) {
		n->seeking = true;
		n->wish = lsh_sentinel_wish(n->sentinel);
		n->seek_until = lsh_after(now, n->timeout);
	}
	*err = (leash_error){0};
	known = lsh_sentinel_answer(n->sentinel, n->wish, &master, err);
	if (known == LSH_NOT_YET && now < n->seek_until) {
		*until = n->seek_until;
		return LSH_LOCATED_WAIT;
	}
	n->seeking = false;
	if (known == LSH_NOT_YET)
		lsh_fail(err, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", n->uri->shown);
	else if (known == LSH_KNOWN)
		move(n, &master, err);
	return err->status == LEASH_OK ? LSH_LOCATED_DIAL : LSH_LOCATED_FAILED;
}

bool
lsh_node_explain(struct lsh_node *n, leash_error *err)
{
	leash_error why = *err;
	struct lsh_master master;
	bool down;

	if (n->sentinel == NULL)
		return true;
	down = lsh_sentinel_answer(n->sentinel, 0, &master, NULL) == LSH_KNOWN && master.down;
	lsh_fail(err, why.status, why.sys_errno, "%.80s: %.120s%s", n->uri->shown, why.text,
	         down ? "; the sentinels see it as down, too" : "");
	return lsh_sentinel_is_done(n->sentinel, 1);
}

const struct lsh_uri *
lsh_node_where(struct lsh_node *n, struct lsh_uri *moved)
{
	*moved = (struct lsh_uri){0};
	if (n->sentinel == NULL)
		return n->uri;
	lsh_locked(&n->mutex);
	return n->place != NULL && lsh_uri_of_server(moved, n->uri, n->place->host, n->place->port) ? moved : NULL;
}

const char *
lsh_node_name(struct lsh_node *n, char out[static LSH_SERVER_NAME])
{
	lsh_locked(&n->mutex);
	if (n->place == NULL || n->sentinel == NULL)
		snprintf(out, LSH_SERVER_NAME, "%.110s", n->uri->shown);
	else
		snprintf(out, LSH_SERVER_NAME, "%.80s (%.60s)", n->uri->shown, n->place->shown);
	return out;
}

/* ---- its clock, as an offset to ours, and its age ---- */

int64_t
lsh_node_server_us(struct lsh_node *n, int64_t at)
{
	return at / LSH_US + atomic_load_explicit(&n->offset_us, memory_order_relaxed);
}

int64_t
lsh_node_server_us_at_least(struct lsh_node *n, int64_t at)
{
	int64_t age = at - atomic_load_explicit(&n->learned, memory_order_relaxed);

	return lsh_node_server_us(n, at) - (age > 0 ? age / LSH_US / 100 : 0);
}

void
lsh_node_set_clock(struct lsh_node *n, int64_t offset_us, int64_t received)
{
	atomic_store_explicit(&n->offset_us, offset_us, memory_order_relaxed);
	atomic_store_explicit(&n->learned, received, memory_order_relaxed);
}

void
lsh_node_learn_clock(struct lsh_node *n, int64_t server_us, int64_t sent, int64_t received)
{
	int64_t offset, age_us, least, most, off, drift;

	if (sent == LSH_NEVER || received == LSH_NEVER)
		return; /* our own clock could not be read */
	offset = atomic_load_explicit(&n->offset_us, memory_order_relaxed);
	age_us = (received - atomic_load_explicit(&n->learned, memory_order_relaxed)) / LSH_US;
	least = server_us - received / LSH_US; /* it was read between these two */
	most = server_us - sent / LSH_US;
	off = offset < least ? least - offset : offset > most ? most - offset : 0;
	drift = age_us > 0 ? age_us / 100 : 0;
	/* what we believe is among what is possible, and perhaps from a faster answer: keep it */
	lsh_node_set_clock(n, off == 0 ? offset : least, received);
	if ((off > 1000000 + drift || off < -1000000 - drift) && n->ops->clock_jumped != NULL)
		n->ops->clock_jumped(n->ctx, off);
}

int64_t
lsh_node_uptime(struct lsh_node *n, int64_t now)
{
	int64_t since = atomic_load(&n->up_since), master_since = atomic_load(&n->master_since);

	/* a replica that was made the master may lack what the one before had granted, just as one that was restarted */
	if (since < master_since)
		since = master_since;
	if (LSH_MUTATES(LSH_RESTARTS_DO_NOT_COUNT))
		return LSH_NEVER;
	if (since == LSH_NEVER)
		return -1;
	return now != LSH_NEVER ? now - since : 0; /* `since` may be long before our own start */
}
