#include "lease/resource.h"

#include "lease/host.h"
#include "lease/subscription.h"
#include "lease/vote.h"

bool
lsh_resource_init(struct lsh_resource *r, struct lsh_backend *b, const struct lsh_kind *kind, const char *key, size_t key_size)
{
	struct lsh_server *server;

	lsh_monitor_init(&r->monitor);
	lsh_list_init(&r->leases);
	r->backend = b;
	r->kind = kind;
	r->key = key;
	r->key_size = key_size;
	r->slot = lsh_router_slot_of(b->router, key, key_size);
	server = lsh_router_of_slot(b->router, r->slot);
	if (server == NULL)
		server = lsh_router_any(b->router);
	if (server == NULL)
		return false;
	atomic_init(&r->host, lsh_host_of(server));
	return true;
}

void
lsh_resource_destroy(struct lsh_resource *r)
{
	struct lsh_host *host = lsh_resource_host(r);

	if (host != NULL) {
		lsh_subscription_forget(r);
		lsh_server_leave(&host->server);
	}
	lsh_monitor_destroy(&r->monitor);
}

void
lsh_resource_stir(struct lsh_resource *r)
{
	static const leash_error nothing = {LEASH_OK, 0, ""};
	struct lsh_list *at, *after;

	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		if (lease->state == LSH_ACQUIRING || lease->state == LSH_WAITING)
			r->events->waits(lease, &nothing, 0);
	}
}

static void
stir_later(struct lsh_later *later)
{
	struct lsh_resource *r = lsh_container(later, struct lsh_resource, moved);

	lsh_monitor_enter(&r->monitor);
	r->stirs = false;
	lsh_resource_stir(r);
	lsh_monitor_leave(&r->monitor);
	r->backend->ops->release(r);
}

/* The caller's use of the host becomes the resource's. Who waits is not told before the monitor is left: this happens while an answer is judged,
 * and only then has its lease heard of it. */
static void
move(struct lsh_resource *r, struct lsh_host *host)
{
	struct lsh_host *before = lsh_resource_host(r);
	struct lsh_list *at, *after;
	bool is_up;

	atomic_store(&r->host, host);
	r->subscribed = LSH_DEAF; /* where the slot was it ends by itself */
	r->subscribed_at = NULL;
	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);

		lsh_vote_move(&lease->votes[0], host);
	}
	lsh_server_leave(&before->server);
	/* In this order: who brings up what lives at a host that is up now either finds this lock there, or the host was up before. */
	is_up = lsh_host_is_up(host);
	lsh_list_each(at, after, &r->leases) {
		struct lsh_lease *lease = lsh_container(at, struct lsh_lease, link);
		int64_t now = lsh_now_ns(), look = lsh_after(now, lease->lease_ms * LSH_MS / 4);

		if (lease->state == LSH_HELD && lease->wanted_at != 0) { /* how long the new one is silent counts from now */
			lease->wanted_at = now;
			lsh_lease_arm(lease, look < lease->valid_until ? look : lease->valid_until, 0);
		}
		if (is_up)
			r->backend->strategy->connected(&lease->votes[0]);
	}
	if (r->stirs)
		return;
	r->stirs = true;
	r->backend->ops->retain(r);
	r->moved.run = stir_later;
	lsh_monitor_later(&r->monitor, &r->moved);
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

void
lsh_resource_opened(struct lsh_resource *r)
{
	lsh_monitor_enter(&r->monitor);
	lsh_resource_settle(r);
	lsh_monitor_leave(&r->monitor);
}
