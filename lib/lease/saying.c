/* What is said of votes lies in memory that a host lends. No mutex; any thread. */
#include "lease/host.h"

#include "base/memory.h"

struct lsh_saying *
lsh_saying_borrow(struct lsh_host *host)
{
	uint32_t unlent = atomic_load(&host->unlent);
	struct lsh_saying *s;

	do
		if (unlent == 0)
			return lsh_new(struct lsh_saying);
	while (!atomic_compare_exchange_weak(&host->unlent, &unlent, unlent & (unlent - 1)));
	s = &host->sayings[__builtin_ctz(unlent)];
	lsh_host_keep(&s->lender, host);
	return s;
}

void
lsh_saying_give_back(struct lsh_saying *s)
{
	struct lsh_host *lender = s->lender;

	if (lender == NULL) {
		lsh_free(s);
		return;
	}
	s->lender = NULL;
	atomic_fetch_or(&lender->unlent, UINT32_C(1) << (s - lender->sayings));
	if (atomic_load(&lender->all_wanted) && atomic_exchange(&lender->all_wanted, false))
		lsh_node_kick(lender->server.node);
	lsh_server_leave(&lender->server);
}
