/* Things of a sentence that nobody has to end: kept(open_client()). They are ended when it has ended, however it did and
 * before its fixture's end, the last first. So they may know nothing of the sentence's stack, as an event_arg is. */
#pragma once

#include "tests/support/fake.h"
#include "tests/support/monitor.h"
#include "tests/support/proxy.h"

#include <leash.h>

#define kept(thing) \
	_Generic((thing), leash_client *: keep_client, leash_lock *: keep_lock, leash_cancel *: keep_cancel, \
	         struct proxy *: keep_proxy, struct fake *: keep_fake, struct monitor *: keep_monitor, \
	         struct server *: keep_server)(thing)

leash_client *keep_client(leash_client *client);
leash_lock *keep_lock(leash_lock *lock);
leash_cancel *keep_cancel(leash_cancel *cancel);
struct proxy *keep_proxy(struct proxy *proxy);
struct fake *keep_fake(struct fake *fake);
struct monitor *keep_monitor(struct monitor *monitor);
struct server *keep_server(struct server *server);
