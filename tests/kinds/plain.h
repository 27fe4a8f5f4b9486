/* A kind that only tests have: a lock that is not reentrant, which is a string and a queue in Redis. */
#pragma once

#include "kind/kind.h"

#include <leash.h>

extern const struct lsh_kind plain_kind;

/* As leash_lock_new(). */
leash_status plain_lock_new(leash_lock **out, leash_client *client, const char *name, const leash_lock_options *options,
                            leash_error *err);
