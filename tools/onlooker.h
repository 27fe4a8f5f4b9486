/* Threads that look at a lock which somebody else has. */
#ifndef LEASH_TOOLS_ONLOOKER_H
#define LEASH_TOOLS_ONLOOKER_H

#include "tools/cli.h"

#include <leash.h>

#include <stdint.h>

struct herald;

/* Of a hold that we work under: until when it lasts. */
struct onlooker;

/* `info` is what leash_lock_inspect() said, asked at `asked_ns` (aside_now_ns()); `lost_fd`, an eventfd, is written to when the hold has
 * gone. Both it and `lock` must live until onlooker_end(). NULL: no memory, or no thread. */
struct onlooker *onlooker_new(struct herald *herald, leash_lock *lock, const leash_lock_info *info, int64_t asked_ns, int lost_fd);
int64_t onlooker_remaining_ms(const struct onlooker *onlooker); /* as leash_lock_remaining_ms() */
void onlooker_end(struct onlooker *onlooker);                   /* NULL is allowed */

/* Of a lock that we wait for: says who has it, if that is to be said (--verbose). */
struct teller;

struct teller *teller_new(struct herald *herald, leash_client *client, leash_lock *lock); /* NULL: nothing will be said */
void teller_hush(struct teller *teller); /* it says nothing more; does not wait for it */
void teller_end(struct teller *teller);  /* NULL is allowed, also above */

#endif
