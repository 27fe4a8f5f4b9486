/* The hello: what a server says of itself when it is greeted. */
#ifndef LSH_REDIS_HELLO_H
#define LSH_REDIS_HELLO_H

#include "redis/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct lsh_message;

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
	struct lsh_wire wire;          /* connected, CLOEXEC, non-blocking, TCP_NODELAY, SO_KEEPALIVE; the receiver owns it */
	char run_id[LSH_RUN_ID_SIZE];  /* of this life of the server; "" if INFO is not permitted */
	unsigned version;              /* 0xMMmmpp; 0 if INFO is not permitted */
	int64_t uptime_ms;             /* at least so long up when `received_ns`; -1 if INFO is not permitted */
	bool cluster;                  /* runs in cluster mode */
	bool sentinel;                 /* is a sentinel */
	bool replica;                  /* is one (not of a subscription; nor if INFO is not permitted, or does not tell) */
	bool alone;                    /* it is a master without replicas, and never was one: nothing says that another one may take its place */
	char eviction[LSH_POLICY_SIZE]; /* maxmemory-policy; "noeviction" also without a maxmemory; "" if INFO does not tell (or of a subscription) */
	int64_t server_us;             /* TIME (not of a subscription: 0) */
	int64_t received_ns;           /* when the last answer arrived, by lsh_now_ns() */
};

/* Take in the answer to INFO server, INFO memory, INFO replication, or TIME. False: that is no such answer. */
bool lsh_hello_take_info(struct lsh_hello *hello, const struct lsh_message *message);
bool lsh_hello_take_memory(struct lsh_hello *hello, const struct lsh_message *message);
bool lsh_hello_take_replication(struct lsh_hello *hello, const struct lsh_message *message);
bool lsh_hello_take_time(struct lsh_hello *hello, const struct lsh_message *message);

#endif
