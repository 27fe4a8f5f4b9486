/* A message is a hint: it is believed only for a token that waits, and only for as long as its claim can be counted on
 * from before it was made. Everything else is asked of the server.
 *
 * Anybody who may PUBLISH can send one. They cannot guess a token (base/token.h): one that was never issued is ignored.
 * Who may read the keys, or hears the messages, knows some. So a fence that this client cannot get now is asked about
 * first, and what asks again and again has to share a budget. Where that is spent a message is ignored: the next
 * heartbeat, or the end of the claim, makes up for it.
 *
 * Where a server may be replaced, because it is one of several or has replicas, a message says when to ask, and no
 * more: a master that was replaced while it stood still has clients that do not know it yet, and passes on to them, as
 * a replica, what its successor published. But that one had counted who hears (hand_on.inc), and gave the lock to the
 * next where nobody did. Nor is a message believed while commands go to another server than it comes from, or to
 * none. */
#include "lease/host.h"

#include "base/mutation.h"
#include "lease/subscription.h"

#include <string.h>

enum { FENCE_OFF_US = 60 * 1000000 }; /* from the server's clock, as far as we know it: more is asked about */

/* For no better reason than a message: 32 scripts of each sort at once and then 40 a second, and one warning a
 * second. */
static const int64_t ask_each = 25 * LSH_MS, ask_most = 32 * 25 * LSH_MS;
static const int64_t warn_each = LSH_S, warn_most = LSH_S;

struct grant {
	const char *token, *key;
	size_t token_size, key_size;
	uint64_t fence;
	uint32_t need; /* 0: none is named */
};

/* "g <token> <fence> <key of the lock>", and of a shared kind " <need>" */
static bool
read_grant(struct grant *grant, const struct lsh_backend *b, const char *text, size_t size)
{
	const char *end = text + size, *token = text + 2, *fence, *key, *need;
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
	need = memchr(key, ' ', (size_t)(end - key));
	grant->need = 0;
	if (need != NULL && !lsh_need_read(&grant->need, need + 1, (size_t)(end - need - 1)))
		return false;
	if (need != NULL)
		end = need;
	grant->token = token;
	grant->token_size = (size_t)(fence - 1 - token);
	grant->key = key;
	grant->key_size = (size_t)(end - key);
	return lsh_token_read(token, grant->token_size, b->uuid, &n) && lsh_numbers_has(&b->numbers, n) &&
	       grant->fence > 0 && grant->fence <= LSH_FENCE_MAX;
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

/* A grant for a token that is dead: somebody has to tell the server, or everybody waits for the claim to end. Its
 * cancel may be on its way still; or it was answered for good, and the server took the place from data of an earlier
 * time. */
static void
cancel_ghost(struct lsh_resource *r, const struct grant *w)
{
	struct lsh_wish any = {.lease_ms = 1000, .need = w->need};
	struct lsh_lease *lease = lsh_lease_find(r, w->token, w->token_size);

	if (LSH_MUTATES(LSH_GHOSTS_STAY) || !spend(&r->backend->ghosts_spent, ask_each, ask_most))
		return;
	if (lease != NULL)
		lsh_lease_check(lease);
	else if ((lease = lsh_lease_new_for(r, &any, w->token, w->token_size)) != NULL)
		lsh_lease_release_everywhere(lease, NULL);
}

/* A later hold of this process is proof that the grant is over, or that somebody meddled. A fence that is far from the
 * time is one of a server whose clock was changed, or nobody's. Let the server say. */
static bool
is_doubtful(const struct lsh_lease *lease, const struct grant *w)
{
	struct lsh_node *node = lsh_resource_host(lease->resource)->server.node;
	int64_t ahead_us = (int64_t)w->fence - lsh_node_server_us(node, lsh_now_ns());

	return lsh_events_of(lease)->is_old(lease, (int64_t)w->fence) || ahead_us > FENCE_OFF_US ||
	       ahead_us < -FENCE_OFF_US;
}

/* May the server have been replaced? */
static bool
is_hearsay(const struct lsh_host *host)
{
	const struct lsh_backend *b = host->backend;
	struct lsh_node *node = host->server.node;

	return lsh_router_is_cluster(b->router) || b->options.uri->deployment == LSH_SENTINEL ||
	       lsh_node_is_replicated(node) || !lsh_node_is_subscribed(node);
}

/* Its heartbeat decides; at once, or as soon as the answer to what is on its way says that it has a place. */
static void
ask_server(struct lsh_lease *lease)
{
	struct lsh_vote *v = &lease->votes[0];

	if (v->told && !spend(&lease->resource->backend->asks_spent, ask_each, ask_most))
		return;
	v->told = true;
	if (lease->state == LSH_WAITING && v->batch == NULL && !lsh_vote_is_out(v))
		lsh_vote_due(v);
	else
		v->hinted = true;
}

static void
heed(struct lsh_lease *lease, const struct lsh_host *host, const struct grant *w)
{
	const struct lsh_vote *v = &lease->votes[0];
	int64_t from = LSH_MUTATES(LSH_CLAIMS_COUNT_FROM_NOW) ? lsh_now_ns() : v->counted_from;
	int64_t lasts_ms = LSH_MUTATES(LSH_CLAIMS_LAST_A_LEASE) ? lease->lease_ms : lease->claim_ms;

	if ((is_hearsay(host) && !LSH_MUTATES(LSH_HEARSAY_IS_BELIEVED)) || is_doubtful(lease, w) ||
	    lsh_lease_is_guarded(lease, true) || !lsh_lease_granted(lease, (int64_t)w->fence, from, lasts_ms, true))
		ask_server(lease); /* not to be counted on */
}

/* A step has asked whether anybody hears it here: that is the answer. Or it came on the channel of a lock, where
 * whatever is said means that it is free. */
static bool
is_for_everybody(struct lsh_host *host, const struct lsh_item *channel, const char *text, size_t size)
{
	if (size == 1 && text[0] == 'p')
		return true;
	return (size == 0 || text[0] != 'g') && lsh_subscription_heard(host, channel->text, channel->length);
}

void
lsh_wakeup_message(void *ctx, const struct lsh_item *channel, const char *text, size_t size)
{
	struct lsh_host *host = ctx;
	struct lsh_backend *b = host->backend;
	struct lsh_resource *r;
	struct lsh_lease *lease;
	struct grant w;

	if (is_for_everybody(host, channel, text, size))
		return;
	if (!read_grant(&w, b, text, size)) {
		if (spend(&b->warnings_spent, warn_each, warn_most))
			lsh_courier_log(b->courier, LEASH_LOG_WARNING,
			                "a message on the wake-up channel is not from leash: ignored; see who may PUBLISH there");
		return;
	}
	r = b->ops->find(b->ctx, w.key, w.key_size);
	if (r == NULL)
		return; /* the claim ends by itself */
	lsh_monitor_enter(&r->monitor);
	lease = lsh_lease_find(r, w.token, w.token_size);
	if (lease != NULL && (lease->state == LSH_WAITING || (lease->state == LSH_ACQUIRING && !lease->adopting)))
		heed(lease, host, &w);
	/* In a cluster PUBLISH reaches us once through each node. The copies are as good as the first, but when they come
	 * the token may be over: only what comes from where the lock lives is news about a token that is dead. */
	else if ((lease == NULL || lease->state >= LSH_ENDING) && lsh_resource_host(r) == host)
		cancel_ghost(r, &w);
	lsh_monitor_leave(&r->monitor);
	b->ops->release(r);
}
