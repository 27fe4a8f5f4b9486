#include "lease/resource.h"

#include "base/memory.h"
#include "lease/host.h"

#include <string.h>

/* ---- what is said of votes lies in memory that a host lends; no mutex; any thread ---- */

struct lsh_saying *
lsh_saying_borrow(struct lsh_host *host)
{
	uint32_t unlent = atomic_load(&host->unlent);
	struct lsh_saying *s;

	while (unlent != 0 && !atomic_compare_exchange_weak(&host->unlent, &unlent, unlent & (unlent - 1)))
		;
	s = unlent != 0 ? &host->sayings[__builtin_ctz(unlent)] : lsh_new(struct lsh_saying);
	if (s == NULL)
		return NULL;
	s->is_lent = unlent != 0;
	lsh_host_keep(&s->host, host);
	return s;
}

void
lsh_saying_give_back(struct lsh_saying *s)
{
	struct lsh_host *host = s->host;

	s->host = NULL;
	if (s->is_lent)
		atomic_fetch_or(&host->unlent, UINT32_C(1) << (s - host->sayings));
	else
		lsh_free(s);
	if (atomic_load(&host->all_wanted) && atomic_exchange(&host->all_wanted, false))
		lsh_node_kick(host->server.node);
	lsh_server_leave(&host->server);
}

/* ---- its leases ---- */

size_t
lsh_lease_token(const struct lsh_lease *lease, char out[static LSH_TOKEN_SIZE])
{
	if (!lease->foreign)
		return lsh_token_write(out, lease->resource->backend->uuid, lease->token.number);
	return (size_t)(stpcpy(out, lease->token.text) - out);
}

size_t
lsh_lease_who(const struct lsh_lease *lease, char who[static LSH_WHO_SIZE])
{
	size_t size = lsh_lease_token(lease, who);

	if (lease->need == 0)
		return size;
	who[size++] = ' ';
	return size + lsh_need_write(who + size, lease->need);
}

bool
lsh_lease_has_token(const struct lsh_lease *lease, const char *token, size_t size)
{
	uint64_t number;

	if (lease->foreign)
		return strlen(lease->token.text) == size && memcmp(lease->token.text, token, size) == 0;
	return lsh_token_read(token, size, lease->resource->backend->uuid, &number) && lease->token.number == number;
}

struct lsh_lease *
lsh_lease_find(const struct lsh_resource *r, const char *token, size_t size)
{
	uint64_t number;
	bool is_ours = lsh_token_read(token, size, r->backend->uuid, &number);

	lsh_each_lease(lease, r)
		if (lease->foreign ? lsh_lease_has_token(lease, token, size) : is_ours && lease->token.number == number)
			return lease;
	return NULL;
}

void
lsh_lease_free(struct lsh_lease *lease)
{
	for (size_t i = 0; lease != NULL && i < lease->count; i++) {
		lsh_host_keep(&lease->votes[i].late.host, NULL);
		lsh_host_keep(&lease->votes[i].host, NULL);
		if (lease->votes[i].saying != NULL)
			lsh_saying_give_back(lease->votes[i].saying);
	}
	lsh_free(lease);
}

void
lsh_lease_unref(struct lsh_lease *lease)
{
	struct lsh_resource *r = lease->resource;
	struct lsh_backend *b = r->backend;

	if (atomic_fetch_sub(&lease->references, 1) != 1)
		return;
	lsh_watchdog_unreserve(b->watchdog);
	lsh_lease_free(lease);
	b->ops->release(r);
}

void
lsh_lease_arm(struct lsh_lease *lease, int64_t due, int64_t slack)
{
	struct lsh_backend *b = lease->resource->backend;

	if (slack < 0) /* a mistake of ours about time, which is no reason to end the application */
		lsh_courier_log(b->courier, LEASH_LOG_ERROR,
		                "a retry was due in the past: it is made at once");
	lsh_watchdog_arm(b->watchdog, &lease->timer, due, slack);
}

void
lsh_lease_want(struct lsh_lease *lease, int64_t now)
{
	int64_t look = lsh_after(now, lease->lease_ms * LSH_MS / 4);

	lease->wanted_at = now != LSH_NEVER ? now : 1;
	lsh_lease_arm(lease, look < lease->valid_until ? look : lease->valid_until, 0);
}

/* ---- where it lives ---- */

void
lsh_resource_stir(struct lsh_resource *r)
{
	static const leash_error nothing = {LEASH_OK, 0, ""};
	lsh_each_lease(lease, r)
		if (lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING)
			lsh_events_of(lease)->waits(lease, &nothing, 0);
}

static void
stir_later(struct lsh_later *later)
{
	struct lsh_resource *r = lsh_container(later, struct lsh_roaming, moved)->resource;

	lsh_monitor_enter(&r->monitor);
	r->cluster->stirs = false;
	lsh_resource_stir(r);
	lsh_monitor_leave(&r->monitor);
	r->backend->ops->release(r);
}

void
lsh_resource_ask_at(struct lsh_resource *r, struct lsh_server *server)
{
	if (lsh_router_is_cluster(r->backend->router))
		lsh_host_keep(&r->cluster->asks, server != NULL ? lsh_host_of(server) : NULL);
}

/* The caller's use of the host becomes the resource's. Who waits is not told before the monitor is left: this happens
 * while an answer is judged, and only then has its lease heard of it. */
static void
move(struct lsh_resource *r, struct lsh_host *host)
{
	struct lsh_host *before = lsh_resource_host(r);
	bool is_up;

	atomic_store(&r->host, host);
	r->cluster->subscribed = LSH_DEAF; /* where the slot was it ends by itself */
	r->cluster->subscribed_at = NULL;
	lsh_resource_ask_at(r, NULL);
	lsh_each_lease(lease, r) {
		/* where it is due at the host before it stays in that one's list: whose thread gives it to this one */
		lsh_host_keep(&lease->votes[0].host, host);
	}
	lsh_server_leave(&before->server);
	/* In this order: who brings up what lives at a host that is up now either finds this lock there, or the host was up
	 * before. */
	is_up = lsh_host_is_up(host);
	lsh_each_lease(lease, r) {
		if (lease->state == LSH_HELD && lease->wanted_at != 0)
			lsh_lease_want(lease, lsh_now_ns()); /* how long the new one is silent counts from now */
		if (is_up)
			r->backend->strategy->connected(&lease->votes[0]);
	}
	if (r->cluster->stirs)
		return;
	r->cluster->stirs = true;
	r->backend->ops->retain(r);
	r->cluster->moved.run = stir_later;
	lsh_monitor_later(&r->monitor, &r->cluster->moved);
}

void
lsh_resource_settle(struct lsh_resource *r)
{
	struct lsh_host *host = lsh_resource_host(r);
	struct lsh_server *server;

	if (lsh_router_has_slot(&host->server, r->slot))
		return;
	server = lsh_router_of_slot(r->backend->router, r->slot);
	if (server != NULL && server != &host->server)
		move(r, lsh_host_of(server));
	else
		lsh_server_leave(server);
}
