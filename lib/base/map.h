/* A hash map of things that carry its node in themselves.
 *
 * It keeps chains of nodes, no keys and no values: the caller hashes the key, puts the hash into the node, and compares
 * keys itself, by lsh_map_each_of() and lsh_container().
 *
 * Lock names may come from outside, so bytes are hashed under a random key (SipHash): nobody can choose names that
 * share a chain. Putting cannot fail: a map starts with room of its own and grows when it can; without memory only its
 * chains get longer.
 *
 * A map stays where it was initialized. Not thread-safe: whoever owns it guards it. */
#ifndef LSH_BASE_MAP_H
#define LSH_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LSH_MAP_FIRST_CHAINS = 8, LSH_MAP_KEY_SIZE = 16 };

struct lsh_map_node {
	struct lsh_map_node *next;
	uint64_t hash; /* of the key; set by the caller before the node is put */
};

struct lsh_map {
	struct lsh_map_node **chains;
	size_t size;  /* chains: a power of two */
	size_t count; /* nodes */
	struct lsh_map_node *first_chains[LSH_MAP_FIRST_CHAINS];
	unsigned char key[LSH_MAP_KEY_SIZE];
};

/* Make an empty map. False: the system has no randomness for its key. */
bool lsh_map_init(struct lsh_map *map);

/* Forget all nodes, which are the caller's, and free the chains. The map is empty and may be used again. A zeroed map
 * is allowed, and stays zeroed. */
void lsh_map_clear(struct lsh_map *map);

/* The hash of a key, in this map. */
uint64_t lsh_map_hash(const struct lsh_map *map, const void *bytes, size_t n);

/* Add a node, whose `hash` is set and which is in no map. Two nodes may have one hash, and one key too. */
void lsh_map_put(struct lsh_map *map, struct lsh_map_node *node);

/* Take out a node. False: it was not in. */
bool lsh_map_remove(struct lsh_map *map, struct lsh_map_node *node);

static inline struct lsh_map_node *
lsh_map_like_(struct lsh_map_node *node, uint64_t hash)
{
	while (node != NULL && node->hash != hash)
		node = node->next;
	return node;
}

/* Visit the nodes with this hash, in no order. The body must not change the map and go on. */
#define lsh_map_each_of(node, map, of)                                                                            \
	for (struct lsh_map_node *node = lsh_map_like_((map)->chains[(of) & ((map)->size - 1)], (of)); node != NULL; \
	     node = lsh_map_like_(node->next, node->hash))

/* Visit all nodes, in no order. The body may remove the node that it is at, and free it; no other, and put none. It
 * must not break off. */
#define lsh_map_each(node, map)                                                                            \
	for (size_t chain_ = 0; chain_ < (map)->size; chain_++)                                                \
		for (struct lsh_map_node *node = (map)->chains[chain_], *next_; node != NULL && (next_ = node->next, true); \
		     node = next_)

#endif
