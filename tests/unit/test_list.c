/* The list, against an array that says what must be in it. */
#include "base/list.h"

#include "tests/support/random.h"
#include "tests/support/test.h"

struct thing {
	int number;
	struct lsh_list link;
	char behind;
};

static struct thing things[10];
static struct lsh_list list;

static void
start(void)
{
	lsh_list_init(&list);
	for (size_t i = 0; i < COUNT(things); i++) {
		things[i].number = (int)i;
		lsh_list_init(&things[i].link);
	}
}

FIXTURE(start, NULL);

/* `numbers` ends with -1. */
static void
check(const int *numbers)
{
	const struct lsh_list *at = &list;

	assert_int_equal(lsh_list_empty(&list), *numbers < 0);
	assert_ptr_equal(lsh_list_first(&list), *numbers < 0 ? NULL : &things[*numbers].link);
	for (; *numbers >= 0; numbers++) {
		assert_ptr_equal(at->next->prev, at);
		at = at->next;
		assert_ptr_not_equal(at, &list);
		assert_ptr_equal(lsh_container(at, const struct thing, link), &things[*numbers]);
	}
	assert_ptr_equal(at->next, &list);
	assert_ptr_equal(list.prev, at);
}

SENTENCE(the_link_that_is_visited_may_be_removed)
{
	int visited = 0;

	lsh_list_each(struct thing, link, thing, &list)
		fail_msg("%d", thing->number);
	for (int i = 0; i < 6; i++)
		lsh_list_append(&list, &things[i].link);
	lsh_list_each(struct thing, link, thing, &list) {
		assert_int_equal(thing->number, visited++);
		if (thing->number % 2 == 0) {
			lsh_list_remove(&thing->link);
			memset(thing, 0xee, sizeof(*thing));
		}
	}
	assert_int_equal(visited, 6);
	check((const int[]){1, 3, 5, -1});
}

/* Appended comes last; any can be removed, and what is in no list, too. */
SENTENCE(changes_in_any_order_leave_the_list_that_they_should)
{
	int order[COUNT(things) + 1] = {-1};
	uint64_t seed = 12345;
	size_t n = 0;

	for (int round = 0; round < 20000; round++) {
		size_t i = random_below(&seed, COUNT(things)), at = 0;

		while (at < n && order[at] != (int)i)
			at++;
		assert_int_equal(lsh_list_empty(&things[i].link), at == n);
		if (at < n || random_below(&seed, 16) == 0) {
			lsh_list_remove(&things[i].link);
			if (at < n)
				memmove(&order[at], &order[at + 1], (n-- - at) * sizeof(order[0]));
		} else {
			lsh_list_append(&list, &things[i].link);
			order[n++] = (int)i;
			order[n] = -1;
		}
		check(order);
	}
}
