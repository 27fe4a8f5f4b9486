#include "redis/locator.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* From now on the server is at `master`. Returns whether that is elsewhere; false also without memory: then `*err`
 * says so. */
static bool
move(struct lsh_locator *l, const struct lsh_master *master, leash_error *err)
{
	bool moved = l->place == NULL || !lsh_is_same_place(&master->at, l->place->host, l->place->port);
	struct lsh_uri *other = &l->places[l->place == &l->places[0]];

	if (moved) {
		lsh_uri_clear(other);
		moved = lsh_uri_of_server(other, l->uri, master->at.host, master->at.port);
		if (!moved)
			lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for the address of its master",
			         l->uri->shown);
	}
	atomic_store(&l->since, master->since);
	pthread_mutex_lock(&l->mutex);
	l->place = moved ? other : l->place;
	pthread_mutex_unlock(&l->mutex);
	return moved;
}

void
lsh_locator_follow(struct lsh_locator *l)
{
	struct lsh_master master;

	if (l->sentinel != NULL && !l->seeking && lsh_sentinel_answer(l->sentinel, 0, &master, NULL) == LSH_KNOWN &&
	    move(l, &master, NULL))
		l->located = true;
}

enum lsh_located
lsh_locator_step(struct lsh_locator *l, int64_t due, int64_t now, int64_t *until, leash_error *err)
{
	struct lsh_master master;
	leash_error why = {0};
	enum lsh_known known;

	if (!l->seeking && now < due) {
		*until = due;
		return LSH_LOCATED_WAIT;
	}
	if (l->sentinel == NULL || l->located) {
		l->located = false;
		return LSH_LOCATED_DIAL;
	}
	if (!l->seeking) {
		l->seeking = true;
		l->wish = lsh_sentinel_wish(l->sentinel);
		l->until = lsh_after(now, l->timeout);
	}
	known = lsh_sentinel_answer(l->sentinel, l->wish, &master, &why);
	if (known == LSH_NOT_YET && now < l->until) {
		*until = l->until;
		return LSH_LOCATED_WAIT;
	}
	if (known == LSH_NOT_YET)
		lsh_fail(&why, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", l->uri->shown);
	else if (known == LSH_KNOWN)
		move(l, &master, &why);
	l->seeking = false;
	*err = why;
	return why.status == LEASH_OK ? LSH_LOCATED_DIAL : LSH_LOCATED_FAILED;
}

bool
lsh_locator_explain(struct lsh_locator *l, leash_error *err)
{
	leash_error why = *err;
	struct lsh_master master;
	bool down;

	if (l->sentinel == NULL)
		return true;
	down = lsh_sentinel_answer(l->sentinel, 0, &master, NULL) == LSH_KNOWN && master.down;
	lsh_fail(err, why.status, why.sys_errno, "%.80s: %.120s%s", l->uri->shown, why.text,
	         down ? "; it is down to the sentinels, too" : "");
	return lsh_sentinel_is_done(l->sentinel, 1);
}

/* ---- any thread ---- */

const struct lsh_uri *
lsh_locator_where(struct lsh_locator *l, struct lsh_uri *made)
{
	bool known;

	*made = (struct lsh_uri){0};
	if (l->sentinel == NULL)
		return l->uri;
	pthread_mutex_lock(&l->mutex);
	known = l->place != NULL && lsh_uri_of_server(made, l->uri, l->place->host, l->place->port);
	pthread_mutex_unlock(&l->mutex);
	return known ? made : NULL;
}

const char *
lsh_locator_name(struct lsh_locator *l, char out[static LSH_SERVER_NAME])
{
	pthread_mutex_lock(&l->mutex);
	if (l->place == NULL || l->sentinel == NULL)
		snprintf(out, LSH_SERVER_NAME, "%.110s", l->uri->shown);
	else
		snprintf(out, LSH_SERVER_NAME, "%.80s (%.60s)", l->uri->shown, l->place->shown);
	pthread_mutex_unlock(&l->mutex);
	return out;
}

int64_t
lsh_locator_since(const struct lsh_locator *l)
{
	return atomic_load(&l->since);
}

/* ---- life ---- */

bool
lsh_locator_init(struct lsh_locator *l, const struct lsh_sentinel_options *options)
{
	l->uri = options->uri;
	l->timeout = options->timeout;
	atomic_init(&l->since, INT64_MIN);
	pthread_mutex_init(&l->mutex, NULL);
	if (options->uri->deployment == LSH_SENTINEL)
		return (l->sentinel = lsh_sentinel_new(options)) != NULL;
	l->place = options->uri;
	return true;
}

void
lsh_locator_destroy(struct lsh_locator *l)
{
	lsh_sentinel_free(l->sentinel);
	lsh_uri_clear(&l->places[0]);
	lsh_uri_clear(&l->places[1]);
	pthread_mutex_destroy(&l->mutex);
}
