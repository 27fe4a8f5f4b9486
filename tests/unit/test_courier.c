/* The courier: what is posted is delivered, in order, one at a time, on its own thread; and nothing after it has stopped. */
#include "base/courier.h"

#include "tests/support/test.h"

#include <pthread.h>

enum { LETTERS = 100 };

static _Atomic int delivered, open_gate, in_callback, lines, dropped;
static int order[LETTERS];

struct numbered {
	struct lsh_letter letter;
	int n;
};

static void
make(struct numbered *numbered, void (*deliver)(struct lsh_letter *letter), int n)
{
	*numbered = (struct numbered){.letter = {.deliver = deliver}, .n = n};
	lsh_list_init(&numbered->letter.link);
}

static void
note(struct lsh_letter *letter)
{
	order[delivered] = lsh_container(letter, struct numbered, letter)->n;
	in_callback += lsh_courier_in_callback(NULL);
	delivered++;
}

static void
wait_at_the_gate(struct lsh_letter *letter)
{
	note(letter);
	await_true(open_gate);
}

static void
note_line(void *arg, leash_log_level level, const char *line)
{
	(void)arg;
	(void)level;
	dropped += strstr(line, "dropped") != NULL;
	lines++;
}

static struct lsh_courier *courier;

static void
start(void)
{
	delivered = open_gate = in_callback = lines = dropped = 0;
	courier = lsh_courier_new(note_line, NULL);
}

static void
end(void)
{
	lsh_courier_free(courier);
}

FIXTURE(start, end);

SENTENCE(letters_arrive_in_the_order_in_which_they_were_posted)
{
	struct numbered letters[LETTERS];

	for (int i = 0; i < LETTERS; i++) {
		make(&letters[i], note, i);
		assert_true(lsh_courier_post(courier, &letters[i].letter));
	}
	lsh_courier_stop(courier);
	assert_int_equal(delivered, LETTERS);
	for (int i = 0; i < LETTERS; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(in_callback, LETTERS);
	assert_false(lsh_courier_in_callback(NULL));
}

SENTENCE(a_letter_is_posted_once_and_can_be_taken_back_until_it_is_delivered)
{
	struct numbered first, second;

	make(&first, wait_at_the_gate, 1);
	make(&second, note, 2);
	assert_true(lsh_courier_post(courier, &first.letter));
	await_true(delivered == 1);
	assert_false(lsh_courier_withdraw(courier, &first.letter)); /* on its way */
	assert_true(lsh_courier_post(courier, &second.letter));
	assert_false(lsh_courier_post(courier, &second.letter));
	assert_true(lsh_courier_withdraw(courier, &second.letter));
	assert_false(lsh_courier_withdraw(courier, &second.letter));
	assert_true(lsh_courier_post(courier, &second.letter));
	open_gate = 1;
	await_true(delivered == 2);
	assert_true(lsh_courier_post(courier, &second.letter)); /* and again */
	await_true(delivered == 3);
	lsh_courier_stop(courier);
}

SENTENCE(nothing_is_delivered_after_it_has_stopped)
{
	struct numbered letter;

	make(&letter, note, 0);
	lsh_courier_stop(courier);
	lsh_courier_stop(courier);
	assert_false(lsh_courier_post(courier, &letter.letter));
	lsh_courier_log(courier, LEASH_LOG_INFO, "late");
	assert_int_equal(delivered + lines, 0);
}

SENTENCE(lines_that_find_no_room_are_counted)
{
	struct numbered gate;

	make(&gate, wait_at_the_gate, 0);
	assert_true(lsh_courier_post(courier, &gate.letter));
	await_true(delivered == 1);
	for (int i = 0; i < 1000; i++)
		lsh_courier_log(courier, LEASH_LOG_INFO, "a line");
	open_gate = 1;
	lsh_courier_stop(courier);
	assert_int_equal(dropped, 1);
	assert_true(lines > 1 && lines < 1000);
}
