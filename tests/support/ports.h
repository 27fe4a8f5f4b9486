/* Ports of 127.0.0.1 for servers that must know theirs before they are started, because others are told it. */
#pragma once

enum { PORTS_BUS = 10000 };   /* so much above its own port a node of a cluster has its bus */

/* One that is free, as is the one of its bus, and that this process has not been given before. Below those that the kernel gives to
 * connections, so nobody takes it by chance before its server does. */
int ports_take(void);
