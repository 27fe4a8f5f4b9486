/* A knob of the proxy for some of its connections: those that come from one address of ours, "127.0.1.2".
 *
 * So a proxy that replicas and clients share can hold the replicas' alone; it works for TLS, too, where nobody in between knows
 * what is said. */
#ifndef LEASH_TEST_PROXY_FROM_H
#define LEASH_TEST_PROXY_FROM_H

#include "tests/support/proxy.h"

#include <stddef.h>

/* On the connections that there are from `address` nothing arrives, either way, until this is undone or proxy_release. How many those are. */
size_t proxy_hold_from(struct proxy *proxy, const char *address);
size_t proxy_let_go_from(struct proxy *proxy, const char *address);

#endif
