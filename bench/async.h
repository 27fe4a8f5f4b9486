/* The limit: the same acquires and releases by hiredis' asynchronous interface, over one connection, many under way at
 * once. */
#ifndef LEASH_BENCH_ASYNC_H
#define LEASH_BENCH_ASYNC_H

#include "bench/side.h"

struct async;

/* One under way for each of these desks. */
struct async *async_new(struct hiredis_desk *const *desks, size_t count, int port);
void async_free(struct async *async);

/* Pairs in the next `ns`. */
uint64_t async_run(struct async *async, int64_t ns);

#endif
