#include "tests/support/kept.h"

#include "tests/support/test.h"

#define KEEP(what, type, end) \
	static void end_##what(void *thing) { end(thing); } \
	type *keep_##what(type *thing) \
	{ \
		afterwards(end_##what, thing); \
		return thing; \
	}

KEEP(client, leash_client, leash_close)
KEEP(lock, leash_lock, leash_lock_free)
KEEP(cancel, leash_cancel, leash_cancel_free)
KEEP(proxy, struct proxy, proxy_stop)
KEEP(fake, struct fake, fake_stop)
KEEP(monitor, struct monitor, monitor_stop)
KEEP(server, struct server, server_stop)
