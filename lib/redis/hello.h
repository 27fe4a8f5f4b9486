/* The hello: what a server says of itself when it is greeted. */
#ifndef LSH_REDIS_HELLO_H
#define LSH_REDIS_HELLO_H

#include "redis/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define LSH_NO_EVICTION "noeviction"

enum {
	LSH_RUN_ID_SIZE = 41,
	LSH_POLICY_SIZE = 32,
};

/* What a server has to be. */
enum lsh_want {
	LSH_WANT_SERVER,   /* any that takes our commands */
	LSH_WANT_MASTER,   /* likewise, and no replica */
	LSH_WANT_SENTINEL,
};

struct lsh_hello {
	struct lsh_wire wire;          /* connected; the receiver owns it */
	char run_id[LSH_RUN_ID_SIZE];  /* of this life of the server; "" if INFO is not permitted */
	unsigned version;              /* 0xMMmmpp; 0 if INFO is not permitted */
	int64_t uptime_ms;             /* at least so long up when `received_ns`; -1 if INFO is not permitted */
	bool cluster;                  /* runs in cluster mode */
	bool sentinel;                 /* is a sentinel */
	bool replica;                  /* is one (not of a subscription; nor if INFO is not permitted, or does not tell) */
	bool alone;                    /* a master without replicas that never was one: nobody is to take its place */
	char eviction[LSH_POLICY_SIZE]; /* maxmemory-policy; LSH_NO_EVICTION also without a maxmemory; "": unknown */
	int64_t server_us;             /* TIME (not of a subscription: 0) */
	int64_t received_ns;           /* when the last answer arrived, by lsh_now_ns() */
};

#endif
