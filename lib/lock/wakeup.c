/* Wake-ups: what a message says, and whom it is for. A message is a hint: it is believed only for a token that waits, and only for
 * as long as its claim can be counted on from before it was made. Everything else is asked of the server.
 *
 * Anybody who may PUBLISH can send one. They cannot guess a token (base/token.h): one that was never issued is ignored,
 * and costs nothing. Who may read the keys, too, knows those that wait; who hears the messages, those that are over. So a
 * fence that this client cannot get now is asked about first, and what asks again and again has to share a budget. Where
 * that is spent a message is ignored: the next word, or the end of the claim, makes up for it.
 *
 * Where a server may be replaced, because it is one of several or has replicas, it is not believed at all. What a master publishes reaches
 * its replicas as well, and a master that was replaced while it stood still, or behind a cut, has clients that do not know that yet: as a
 * replica it passes on to them what its successor published meanwhile. But that one had counted who hears (hand_on.inc), and gave the lock to
 * the next where nobody did. So the message says when to ask, and no more. Nor is it believed while commands go to another server than it
 * comes from, or to none just now: behind one address there may be one after the other. */
#include "lock/state.h"

#include "base/mutation.h"
#include "watchdog/pace.h"

#include <string.h>

enum { FENCE_OFF_US = 60 * 1000000 }; /* from the server's clock, as far as we know it: more is asked about */

/* For no better reason than a message: 32 scripts of each sort at once and then 40 a second, and one warning a second. */
static const int64_t ask_each = 25 * LSH_MS, ask_most = 32 * 25 * LSH_MS;
static const int64_t warn_each = LSH_S, warn_most = LSH_S;

struct grant {
	const char *token, *key;
	size_t token_size, key_size;
	uint64_t fence;
};

/* "g <token> <fence> <key of the lock>" */
static bool
read_grant(struct grant *grant, const struct lsh_engine *e, const char *text, size_t size)
{
	const char *end = text + size, *token = text + 2, *fence, *key;
	uint64_t n;

	if (size < 2 || text[0] != 'g' || text[1] != ' ')
		return false;
	fence = memchr(token, ' ', (size_t)(end - token));
	if (fence == NULL)
		return false;
	fence++;
	key = memchr(fence, ' ', (size_t)(end - fence));
	if (key == NULL || !lsh_decimal_read(fence, (size_t)(key - fence), &grant->fence))
		return false;
	key++;
	grant->token = token;
	grant->token_size = (size_t)(fence - 1 - token);
	grant->key = key;
	grant->key_size = (size_t)(end - key);
	return lsh_token_read(token, grant->token_size, e->uuid, &n) && lsh_numbers_has(&e->numbers, n) && grant->fence > 0 &&
	       grant->fence <= LSH_FENCE_MAX;
}

/* A budget that fills up as time goes by, to `most`. False: there are no `each` ns in it. */
static bool
spend(_Atomic int64_t *spent, int64_t each, int64_t most)
{
	int64_t now = lsh_now_ns(), before = atomic_load(spent), after;

	if (now == LSH_NEVER)
		return false;
	do {
		after = (before > now - most ? before : now - most) + each;
		if (after > now)
			return false;
	} while (!atomic_compare_exchange_weak(spent, &before, after));
	return true;
}

/* A grant for a token that is dead: somebody has to tell the server, or everybody waits for the claim to end. Its cancel may be
 * owed still; or it was answered for good, and the server took the place from data of an earlier time. */
static void
cancel_ghost(struct lsh_engine *e, struct lsh_lock *lock, const struct grant *grant)
{
	static const struct lsh_terms any = {.lease_ms = 1000};
	struct lsh_tenure *found;

	if (LSH_MUTATES(LSH_GHOSTS_STAY) || !spend(&e->ghosts_spent, ask_each, ask_most))
		return;
	found = lsh_tenure_find_owed(e, grant->token, grant->token_size);
	if (found != NULL) {
		pthread_mutex_lock(&found->lock->mutex);
		lsh_tenure_give_work(found);
		pthread_mutex_unlock(&found->lock->mutex);
		lsh_tenure_unref(found);
		return;
	}
	if (lock == NULL)
		return; /* the claim ends by itself */
	pthread_mutex_lock(&lock->mutex);
	/* while something is being released here it may be that, and the releaser's own answer is to tell what became of it */
	found = lsh_list_empty(&lock->releasing) ? lsh_tenure_new_for(lock, &any, grant->token, grant->token_size) : NULL;
	if (found != NULL) {
		found->asked = true;
		lsh_tenure_end(found);
	}
	pthread_mutex_unlock(&lock->mutex);
}

/* lock->mutex held. A later hold of this process is proof that the grant is over, or that somebody meddled. A fence that is
 * far from the time is one of a server whose clock was changed, or nobody's. Let the server say. */
static bool
is_doubtful(const struct lsh_lock *lock, const struct grant *grant)
{
	int64_t ahead_us = (int64_t)grant->fence - lsh_node_server_us(lsh_lock_node(lock), lsh_now_ns());

	return grant->fence * 256 <= lock->last_fence || (lock->hold != NULL && grant->fence * 256 < lock->hold->fence) ||
	       ahead_us > FENCE_OFF_US || ahead_us < -FENCE_OFF_US;
}

/* Is this but hearsay, see above? */
static bool
is_hearsay(const struct lsh_site *site)
{
	const struct lsh_engine *e = site->engine;

	return e->cluster != NULL || e->options.uri->deployment == LSH_SENTINEL || lsh_node_is_replicated(site->node) || !lsh_node_is_subscribed(site->node);
}

/* lock->mutex held. Its word decides; at once, or as soon as the answer to its ask says that it has a place. */
static void
ask_server(struct lsh_tenure *t)
{
	if (t->told && !spend(&t->lock->engine->asks_spent, ask_each, ask_most))
		return;
	t->told = true;
	if (t->phase == LSH_QUEUED)
		lsh_tenure_give_work(t);
	else
		t->hinted = true;
}

/* From when on a grant's claim counts. */
static int64_t
counts_from(const struct lsh_tenure *t)
{
	return LSH_MUTATES(LSH_CLAIMS_COUNT_FROM_NOW) ? lsh_now_ns() : t->counted_from;
}

void
lsh_wakeup_message(struct lsh_site *site, const char *text, size_t size)
{
	struct lsh_engine *e = site->engine;
	struct grant grant;
	struct lsh_lock *lock;
	bool known = false;

	if (!read_grant(&grant, e, text, size)) {
		if (spend(&e->warnings_spent, warn_each, warn_most))
			lsh_courier_log(e->courier, LEASH_LOG_WARNING,
			                "a message on the wake-up channel is not one of leash's: ignored. Who may PUBLISH there?");
		return;
	}
	lock = lsh_lock_find_by_key(e, grant.key, grant.key_size);
	if (lock != NULL) {
		struct lsh_tenure *t;

		pthread_mutex_lock(&lock->mutex);
		t = lsh_tenure_find(lock, grant.token, grant.token_size);
		if (t != NULL) {
			known = true;
			if ((t->phase == LSH_QUEUED || t->phase == LSH_ASKING) &&
			    (is_hearsay(site) || is_doubtful(lock, &grant) ||
			     !lsh_hold_grant(lock, t, (int64_t)grant.fence, counts_from(t),
			                     (LSH_MUTATES(LSH_CLAIMS_LAST_A_LEASE) ? t->lease_ms : t->claim_ms) * LSH_MS, true)))
				ask_server(t); /* not to be counted on */
		}
		pthread_mutex_unlock(&lock->mutex);
	}
	/* In a cluster PUBLISH reaches us once through each node. The copies are as good as the first, but when they come the token may be
	 * over: only what comes from where the lock lives is news about a token that is dead. */
	if (!known && (e->cluster == NULL || (lock != NULL && lsh_lock_site(lock) == site)))
		cancel_ghost(e, lock, &grant);
	if (lock != NULL)
		lsh_lock_unref(lock);
}
