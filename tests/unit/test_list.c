/* The list, against an array that says what must be in it. */
#include "base/list.h"

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
check(const struct lsh_list *head, const int *numbers)
{
	const struct lsh_list *at = head;

	for (; *numbers >= 0; numbers++) {
		assert_ptr_equal(at->next->prev, at);
		at = at->next;
		assert_ptr_not_equal(at, head);
		assert_int_equal(lsh_container(at, const struct thing, link)->number, *numbers);
	}
	assert_ptr_equal(at->next, head);
	assert_ptr_equal(head->prev, at);
}

#define assert_list(head, ...) check((head), (const int[]){__VA_ARGS__ - 1})

SENTENCE(a_new_list_is_empty)
{
	assert_true(lsh_list_empty(&list));
	assert_null(lsh_list_first(&list));
	assert_true(lsh_list_empty(&things[0].link));
}

SENTENCE(a_link_leads_back_to_its_struct)
{
	assert_ptr_equal(lsh_container(&things[3].link, struct thing, link), &things[3]);
}

SENTENCE(appended_links_come_last)
{
	lsh_list_append(&list, &things[0].link);
	assert_false(lsh_list_empty(&list));
	assert_false(lsh_list_empty(&things[0].link));
	lsh_list_append(&list, &things[1].link);
	lsh_list_append(&list, &things[2].link);
	assert_list(&list, 0, 1, 2, );
	assert_ptr_equal(lsh_list_first(&list), &things[0].link);
}

SENTENCE(any_link_can_be_removed)
{
	for (int i = 0; i < 5; i++)
		lsh_list_append(&list, &things[i].link);
	lsh_list_remove(&things[2].link);
	assert_list(&list, 0, 1, 3, 4, );
	lsh_list_remove(&things[0].link);
	assert_list(&list, 1, 3, 4, );
	lsh_list_remove(&things[4].link);
	assert_list(&list, 1, 3, );
	lsh_list_remove(&things[1].link);
	lsh_list_remove(&things[3].link);
	assert_true(lsh_list_empty(&list));
	for (size_t i = 0; i < 5; i++)
		assert_true(lsh_list_empty(&things[i].link));
}

SENTENCE(a_second_removal_does_nothing)
{
	for (int i = 0; i < 3; i++)
		lsh_list_append(&list, &things[i].link);
	lsh_list_remove(&things[1].link);
	lsh_list_remove(&things[1].link);
	lsh_list_remove(&things[9].link);
	assert_list(&list, 0, 2, );
	lsh_list_append(&list, &things[1].link);
	assert_list(&list, 0, 2, 1, );
}

SENTENCE(the_link_that_is_visited_may_be_removed)
{
	int visited = 0;

	lsh_list_each(struct thing, link, thing, &list)
		fail_msg("%d", thing->number);
	for (int i = 0; i < 6; i++)
		lsh_list_append(&list, &things[i].link);
	lsh_list_each(struct thing, link, thing, &list) {
		assert_int_equal(thing->number, visited);
		visited++;
		if (thing->number % 2 == 0) {
			lsh_list_remove(&thing->link);
			memset(thing, 0xee, sizeof(*thing));
		}
	}
	assert_int_equal(visited, 6);
	assert_list(&list, 1, 3, 5, );
}

SENTENCE(changes_in_any_order_leave_the_list_that_they_should)
{
	int order[COUNT(things) + 1] = {-1};
	size_t n = 0;
	uint32_t seed = 12345;

	for (int round = 0; round < 20000; round++) {
		size_t i, at;

		seed = seed * 1664525u + 1013904223u;
		i = (seed >> 16) % COUNT(things);
		for (at = 0; at < n && order[at] != (int)i; at++)
			;
		if (at < n || (seed >> 28) == 0) {
			lsh_list_remove(&things[i].link);
			if (at < n)
				memmove(&order[at], &order[at + 1], (n-- - at) * sizeof(order[0]));
		} else {
			lsh_list_append(&list, &things[i].link);
			order[n++] = (int)i;
			order[n] = -1;
		}
		check(&list, order);
	}
}
