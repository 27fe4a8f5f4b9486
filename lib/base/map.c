#include "base/map.h"

#include "base/memory.h"
#include "base/token.h"

#include <sodium.h>
#include <string.h>

_Static_assert(LSH_MAP_KEY_SIZE == crypto_shorthash_KEYBYTES, "the key of SipHash");
_Static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES, "its hash");

static void
start_small(struct lsh_map *map)
{
	memset(map->first_chains, 0, sizeof(map->first_chains));
	map->chains = map->first_chains;
	map->size = LSH_MAP_FIRST_CHAINS;
	map->count = 0;
}

bool
lsh_map_init(struct lsh_map *map)
{
	memset(map, 0, sizeof(*map));
	if (!lsh_random_bytes(map->key, sizeof(map->key)))
		return false;
	start_small(map);
	return true;
}

void
lsh_map_clear(struct lsh_map *map)
{
	if (map->chains == NULL)
		return;
	if (map->chains != map->first_chains)
		lsh_free(map->chains);
	start_small(map);
}

uint64_t
lsh_map_hash(const struct lsh_map *map, const void *bytes, size_t n)
{
	uint64_t hash;

	crypto_shorthash((unsigned char *)&hash, bytes, n, map->key);
	return hash;
}

static void
link_node(struct lsh_map_node **chains, size_t size, struct lsh_map_node *node)
{
	struct lsh_map_node **chain = &chains[node->hash & (size - 1)];

	node->next = *chain;
	*chain = node;
}

static void
grow(struct lsh_map *map)
{
	size_t size = map->size * 2;
	struct lsh_map_node **chains;

	if (size > SIZE_MAX / sizeof(*chains) || (chains = lsh_alloc(size * sizeof(*chains))) == NULL)
		return; /* longer chains do as well; the next one put tries again */
	for (size_t i = 0; i < map->size; i++) {
		struct lsh_map_node *node = map->chains[i];

		while (node != NULL) {
			struct lsh_map_node *next = node->next;

			link_node(chains, size, node);
			node = next;
		}
	}
	if (map->chains != map->first_chains)
		lsh_free(map->chains);
	map->chains = chains;
	map->size = size;
}

void
lsh_map_put(struct lsh_map *map, struct lsh_map_node *node)
{
	if (map->count >= map->size)
		grow(map);
	link_node(map->chains, map->size, node);
	map->count++;
}

bool
lsh_map_remove(struct lsh_map *map, struct lsh_map_node *node)
{
	struct lsh_map_node **at = &map->chains[node->hash & (map->size - 1)];

	while (*at != NULL && *at != node)
		at = &(*at)->next;
	if (*at == NULL)
		return false;
	*at = node->next;
	node->next = NULL;
	map->count--;
	return true;
}
