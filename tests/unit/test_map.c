/* The hash map: against a table of what must be in it, with memory and without. */
#include "base/map.h"

#include "base/list.h"

#include "tests/support/counted.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

GROUP(counted_start, NULL);

static uint64_t seed;

static struct lsh_map map;

static void
start(void)
{
	seed = UINT64_C(0x9e3779b97f4a7c15);
	counted_withhold(false);
	assert_true(lsh_map_init(&map));
	counted.calls = 0;
}

static void
end(void)
{
	lsh_map_clear(&map);
	assert_int_equal(counted.blocks, 0);
}

FIXTURE(start, end);

struct thing {
	unsigned key;
	bool in;
	unsigned visits;
	struct lsh_map_node node;
};

static struct thing *
thing_of(struct lsh_map_node *node)
{
	return lsh_container(node, struct thing, node);
}

static uint64_t
hash_of(unsigned key)
{
	return lsh_map_hash(&map, &key, sizeof(key));
}

static struct thing *
get(unsigned key, uint64_t hash)
{
	lsh_map_each_of(at, &map, hash) {
		assert_true(at->hash == hash);
		if (thing_of(at)->key == key)
			return thing_of(at);
	}
	return NULL;
}

/* All that is in is visited once, and nothing else. */
static void
check_all(struct thing *things, size_t n)
{
	size_t in = 0, visited = 0;

	for (size_t i = 0; i < n; i++) {
		things[i].visits = 0;
		in += things[i].in;
	}
	assert_int_equal(map.count, in);
	lsh_map_each(at, &map) {
		assert_true(thing_of(at)->in);
		assert_int_equal(thing_of(at)->visits++, 0);
		visited++;
	}
	assert_int_equal(visited, in);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(get(things[i].key, things[i].node.hash), things[i].in ? &things[i] : NULL);
}

SENTENCE(a_map_grows_with_what_is_in_it_and_neither_frees_nor_allocates_when_it_goes)
{
	enum { MANY = 20000 };
	struct thing *things = calloc(MANY, sizeof(*things));
	size_t longest = 0;

	for (unsigned i = 0; i < MANY; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "lock:%u", i);

		things[i] = (struct thing){.key = i, .in = true, .node.hash = lsh_map_hash(&map, name, (size_t)n)};
		lsh_map_put(&map, &things[i].node);
	}
	check_all(things, MANY);
	assert_true(map.size >= MANY && map.size < 4 * MANY);
	assert_true((map.size & (map.size - 1)) == 0);
	for (size_t i = 0; i < map.size; i++) {
		size_t length = 0;

		for (struct lsh_map_node *at = map.chains[i]; at != NULL; at = at->next)
			length++;
		if (length > longest)
			longest = length;
	}
	assert_true(longest < 20); /* random hashes make one so long less than once in 10^13 runs */
	counted.calls = 0;
	for (unsigned i = 0; i < MANY; i++)
		assert_true(lsh_map_remove(&map, &things[i].node));
	assert_int_equal(counted.calls, 0);
	assert_int_equal(counted.blocks, 1);
	free(things);
}

/* A tenth shares one hash, a tenth the low bits of it. Half of the time there is no memory, with which it would grow. */
SENTENCE(changes_in_any_order_leave_the_map_that_they_should_and_so_does_clearing_it)
{
	enum { KEYS = 400 };
	static struct thing things[KEYS];
	long tried = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		things[i] = (struct thing){.key = i, .node.hash = hash_of(i)};
		if (i % 10 < 2)
			things[i].node.hash = i % 10 == 0 ? 77 : 77 | (uint64_t)i << 32;
	}
	for (int round = 0; round < 60000; round++) {
		/* it fills and empties by turns */
		bool filling = round / 3000 % 2 == 0;
		struct thing *thing = &things[random_below(&seed, KEYS)];

		counted_withhold(round < 3000 || random_below(&seed, 2) == 0);
		if (random_below(&seed, 4) != 0 ? filling : !filling) {
			if (!thing->in)
				lsh_map_put(&map, &thing->node);
			thing->in = true;
		} else {
			assert_int_equal(lsh_map_remove(&map, &thing->node), thing->in);
			thing->in = false;
		}
		assert_ptr_equal(get(thing->key, thing->node.hash), thing->in ? thing : NULL);
		if (round % 100 == 0)
			check_all(things, KEYS);
		tried += counted.calls;
		if (round == 2999) /* without memory puts succeed all the same, ... */
			assert_true(tried > 0 && map.size == LSH_MAP_FIRST_CHAINS && map.count > 100);
		if (round == 8999) /* and with memory again it catches up */
			assert_true(map.size >= map.count);
	}
	counted_withhold(false);
	lsh_map_clear(&map);
	assert_int_equal(counted.blocks, 0);
	check_all(NULL, 0);
	lsh_map_put(&map, &things[3].node);
	assert_ptr_equal(get(3, things[3].node.hash), &things[3]);
}

SENTENCE(the_node_that_is_visited_may_be_removed_and_freed)
{
	for (unsigned i = 0; i < 1000; i++) {
		struct thing *thing = calloc(1, sizeof(*thing));

		thing->key = i;
		thing->node.hash = i % 5 == 0 ? 1 : hash_of(i);
		lsh_map_put(&map, &thing->node);
	}
	for (int all = 0; all < 2; all++) { /* or all but every third */
		lsh_map_each(at, &map) {
			if (all == 0 && thing_of(at)->key % 3 == 0)
				continue;
			assert_true(lsh_map_remove(&map, at));
			free(thing_of(at));
		}
		assert_int_equal(map.count, all == 0 ? 334 : 0);
	}
}

SENTENCE(one_map_hashes_as_it_did_and_another_otherwise)
{
	struct lsh_map other;

	assert_true(lsh_map_init(&other));
	assert_true(lsh_map_hash(&map, "orders", 6) == lsh_map_hash(&map, "orders", 6));
	assert_true(lsh_map_hash(&map, "orders", 6) != lsh_map_hash(&map, "orders", 5));
	assert_true(lsh_map_hash(&map, "orders", 6) != lsh_map_hash(&map, "order5", 6));
	assert_true(lsh_map_hash(&map, "orders", 6) != lsh_map_hash(&other, "orders", 6));
	lsh_map_clear(&other);
}
