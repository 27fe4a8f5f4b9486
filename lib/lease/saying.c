/* What is said of votes lies in memory that a host lends. No mutex; any thread. */
#include "lease/host.h"

#include "base/memory.h"

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
