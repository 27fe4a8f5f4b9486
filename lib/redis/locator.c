#include "redis/locator.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct lsh_locator {
	const struct lsh_uri *uri;
	int64_t timeout;
	struct lsh_sentinel *sentinel; /* NULL: the URI says where the server is */

	/* the node's thread's */
	bool seeking;                  /* the sentinels were asked, */
	uint64_t first_wish, wish;     /* by this number, */
	int64_t until;                 /* and have so long to answer */
	bool located;                  /* by an answer that is no older than the wish to dial */
	uint64_t changes;              /* of the master, that were seen */
	struct lsh_uri places[2];      /* the last two; that which is in use only it writes, and with the mutex held */

	pthread_mutex_t mutex;         /* guards these two */
	const struct lsh_uri *place;
	int64_t since;
};

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
	pthread_mutex_lock(&l->mutex);
	l->since = master->since;
	l->place = moved ? other : l->place;
	pthread_mutex_unlock(&l->mutex);
	return moved;
}

void
lsh_locator_follow(struct lsh_locator *l)
{
	uint64_t changes = l->sentinel != NULL ? lsh_sentinel_changes(l->sentinel) : 0;
	struct lsh_master master;
	leash_error err = {0};

	if (changes == l->changes || l->seeking) /* who seeks comes to the same */
		return;
	l->changes = changes;
	if (lsh_sentinel_answer(l->sentinel, 0, &master, NULL) != LSH_FOUND)
		return;
	if (move(l, &master, &err))
		l->located = true;
	else if (err.status != LEASH_OK)
		l->changes--; /* again, as soon as something happens */
}

static void
begin(struct lsh_locator *l, int64_t now)
{
	l->seeking = true;
	l->wish = lsh_sentinel_wish(l->sentinel);
	if (l->first_wish == 0)
		l->first_wish = l->wish;
	l->until = lsh_after(now, l->timeout);
}

enum lsh_located
lsh_locator_step(struct lsh_locator *l, int64_t due, int64_t now, int64_t *until, leash_error *err)
{
	struct lsh_master master;
	leash_error why = {0};

	if (!l->seeking && now < due) {
		*until = due;
		return LSH_LOCATED_WAIT;
	}
	if (l->sentinel == NULL || l->located) {
		l->located = false;
		return LSH_LOCATED_DIAL;
	}
	if (!l->seeking)
		begin(l, now);
	switch (lsh_sentinel_answer(l->sentinel, l->wish, &master, &why)) {
	case LSH_NOT_YET:
		*until = l->until;
		if (now < l->until)
			return LSH_LOCATED_WAIT;
		lsh_fail(&why, LEASH_UNAVAILABLE, ETIMEDOUT, "%.120s: no sentinel answered in time", l->uri->shown);
		break;
	case LSH_NOBODY_KNOWS:
		break;
	case LSH_FOUND:
		move(l, &master, &why);
		break;
	}
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
	down = lsh_sentinel_answer(l->sentinel, 0, &master, NULL) == LSH_FOUND && master.down;
	lsh_fail(err, why.status, why.sys_errno, "%.80s: %.120s%s", l->uri->shown, why.text,
	         down ? "; it is down to the sentinels, too" : "");
	return lsh_sentinel_is_done(l->sentinel, l->first_wish);
}

const struct lsh_uri *
lsh_locator_place(const struct lsh_locator *l)
{
	return l->place;
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
lsh_locator_since(struct lsh_locator *l)
{
	int64_t since;

	pthread_mutex_lock(&l->mutex);
	since = l->since;
	pthread_mutex_unlock(&l->mutex);
	return since;
}

/* ---- life ---- */

struct lsh_locator *
lsh_locator_new(const struct lsh_sentinel_options *options, const struct lsh_sentinel_ops *ops, void *ctx)
{
	struct lsh_locator *l = lsh_new(struct lsh_locator);

	if (l == NULL)
		return NULL;
	l->uri = options->uri;
	l->timeout = options->timeout;
	l->since = INT64_MIN;
	pthread_mutex_init(&l->mutex, NULL);
	if (options->uri->deployment != LSH_SENTINEL) {
		l->place = options->uri;
	} else if ((l->sentinel = lsh_sentinel_new(options, ops, ctx)) == NULL) {
		lsh_locator_free(l);
		return NULL;
	}
	return l;
}

bool
lsh_locator_start(struct lsh_locator *l)
{
	return l->sentinel == NULL || lsh_sentinel_start(l->sentinel);
}

void
lsh_locator_stop(struct lsh_locator *l)
{
	if (l->sentinel != NULL)
		lsh_sentinel_stop(l->sentinel);
}

void
lsh_locator_free(struct lsh_locator *l)
{
	if (l == NULL)
		return;
	lsh_sentinel_free(l->sentinel);
	lsh_uri_clear(&l->places[0]);
	lsh_uri_clear(&l->places[1]);
	pthread_mutex_destroy(&l->mutex);
	lsh_free(l);
}

void
lsh_locator_forsake(struct lsh_locator *l)
{
	if (l->sentinel != NULL)
		lsh_sentinel_forsake(l->sentinel);
}
