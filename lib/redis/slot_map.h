/* A slot map: which server has which slot, and what is known of when that was learned.
 *
 * It decides nothing but what is too soon to be believed; cluster.c says why. Readers are any threads, and take no mutex; writers
 * too, and take one for no longer than it takes to look at 16384 numbers. */
#ifndef LSH_REDIS_SLOT_MAP_H
#define LSH_REDIS_SLOT_MAP_H

#include "redis/slot.h"
#include "redis/survey.h"
#include "redis/uri.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lsh_slot_map;

enum {
	LSH_SERVERS = 1024,  /* at a time */
	LSH_STRANGERS = 64,  /* of these, those of which no survey says that they have a slot: who is sent to ever new ones follows no further */
	LSH_NO_SERVER = LSH_NOBODY,
};

struct lsh_slot_map *lsh_slot_map_new(const struct lsh_uri *uri); /* of the cluster; must outlive the map. NULL: no memory */
void lsh_slot_map_free(struct lsh_slot_map *map);                 /* NULL is allowed */

int lsh_slot_map_at(const struct lsh_slot_map *map, unsigned slot);  /* the number of a server, or LSH_NO_SERVER */
uint64_t lsh_slot_map_version(const struct lsh_slot_map *map);       /* grows with each change; 0: nobody has ever had anything */
size_t lsh_slot_map_servers(const struct lsh_slot_map *map);         /* all numbers are below that */
const struct lsh_uri *lsh_slot_map_server(const struct lsh_slot_map *map, int number); /* NULL: nobody has the number */

/* A server keeps its number for as long as it has a slot or the number is in use. What is in use may be used once more (lsh_slot_map_use());
 * these three begin, and return LSH_NO_SERVER or false where there is nothing to begin with. Each use ends by lsh_slot_map_leave(). */
int lsh_slot_map_number(struct lsh_slot_map *map, const char *host, uint16_t port, bool surveyed); /* a new one if it has none; else there is no
                                                                memory, or there are too many: of all, or, if it was not surveyed, of strangers */
int lsh_slot_map_use_at(struct lsh_slot_map *map, unsigned slot);
bool lsh_slot_map_use_number(struct lsh_slot_map *map, int number);
void lsh_slot_map_use(struct lsh_slot_map *map, int number);
void lsh_slot_map_leave(struct lsh_slot_map *map, int number);

/* A number that has had no slot and no use for `idle` ns, to be given up: nobody finds it from now on, and it is for the caller to let it go
 * once nothing of it is left. LSH_NO_SERVER: there is none; `*some`: there may be one later. The last one is kept. One thread. */
int lsh_slot_map_retire(struct lsh_slot_map *map, int64_t now, int64_t idle, bool *some);
void lsh_slot_map_let_go(struct lsh_slot_map *map, int number);

/* A slot was said to have moved, by whom it was at. (The number is in use, here and below.) False: that is no news. */
bool lsh_slot_map_move(struct lsh_slot_map *map, unsigned slot, int number);

/* Make the map what the survey says, in which node i is the server `number[i]` or one of LSH_NOBODY and LSH_NOT_SAID. It was begun at
 * `begun`; what was learned after that stands, and if it is not of `higher` rank than the map, what was learned less than `stands`
 * before it, too. `*held_back`: something was left as it is for that. Returns how many slots somebody has now. */
unsigned lsh_slot_map_take(struct lsh_slot_map *map, const struct lsh_survey *survey, const int number[static LSH_SURVEYED], int64_t begun,
                           bool higher, int64_t stands, bool *held_back);

#endif
