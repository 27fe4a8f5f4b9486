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
	LSH_SERVERS = 1024,  /* that had a slot, or were to be asked for one, since the map was made */
	LSH_NO_SERVER = LSH_NOBODY,
};

struct lsh_slot_map *lsh_slot_map_new(const struct lsh_uri *uri); /* of the cluster; must outlive the map. NULL: no memory */
void lsh_slot_map_free(struct lsh_slot_map *map);                 /* NULL is allowed */

int lsh_slot_map_at(const struct lsh_slot_map *map, unsigned slot);  /* the number of a server, or LSH_NO_SERVER */
uint64_t lsh_slot_map_version(const struct lsh_slot_map *map);       /* grows with each change; 0: nobody has ever had anything */
size_t lsh_slot_map_servers(const struct lsh_slot_map *map);
const struct lsh_uri *lsh_slot_map_server(const struct lsh_slot_map *map, int number);

/* The number of a server, a new one if it has none. LSH_NO_SERVER: there is no memory, or there are no more numbers. */
int lsh_slot_map_number(struct lsh_slot_map *map, const char *host, uint16_t port);

/* A slot was said to have moved, by whom it was at. False: that is no news. */
bool lsh_slot_map_move(struct lsh_slot_map *map, unsigned slot, int number);

/* Make the map what the survey says, in which node i is the server `number[i]` or one of LSH_NOBODY and LSH_NOT_SAID. It was begun at
 * `begun`; what was learned after that stands, and if it is not of `higher` rank than the map, what was learned less than `stands`
 * before it, too. `*held_back`: something was left as it is for that. Returns how many slots somebody has now. */
unsigned lsh_slot_map_take(struct lsh_slot_map *map, const struct lsh_survey *survey, const int number[static LSH_SURVEYED], int64_t begun,
                           bool higher, int64_t stands, bool *held_back);

#endif
