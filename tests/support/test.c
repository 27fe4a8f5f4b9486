/* main() of the tests. See test.h. */
#include "tests/support/test.h"

#include "tests/support/trouble.h"

#include <errno.h>

const void *given;
const struct group *sentences_in = &(const struct group){.where = NULL};
int (*sentences_prelude)(int argc, char **argv);

static struct sentence *sentences; /* in their order */

static const struct part *parts = &(const struct part){.name = NULL};
static size_t part_count = 1;

/* A sentence in a part. */
struct turn {
	char name[200];
	const struct sentence *sentence;
	const struct part *part;
	const struct between *around;
	bool is_first, is_last; /* of the part */
};

/* Constructors run in any order, and those of a file whose sentences have the same place add them one after another. */
void
sentence_add(struct sentence *sentence)
{
	struct sentence **at = &sentences;

	while (*at != NULL && (*at)->order <= sentence->order)
		at = &(*at)->next;
	sentence->next = *at;
	*at = sentence;
}

void
sentences_in_parts(const struct part *array, size_t count)
{
	parts = array;
	part_count = count;
}

static struct {
	void (*act)(void *arg);
	void *arg;
} acts[64];
static size_t act_count;

void
afterwards(void (*act)(void *arg), void *arg)
{
	if (act_count == COUNT(acts))
		trouble("a sentence has more than %zu things that are to be ended", COUNT(acts));
	acts[act_count].act = act;
	acts[act_count++].arg = arg;
}

/* ---- what cmocka calls ---- */

static int
begin(void **state)
{
	const struct turn *t = *state;

	given = t->sentence->given != NULL ? t->sentence->given : t->part->given;
	if (t->is_first && t->part->around.begin != NULL)
		t->part->around.begin();
	if (t->around->begin != NULL)
		t->around->begin();
	return 0;
}

static void
run(void **state)
{
	const struct turn *t = *state;

	t->sentence->body();
}

static int
end(void **state)
{
	const struct turn *t = *state;

	while (act_count > 0) {
		act_count--;
		acts[act_count].act(acts[act_count].arg);
	}
	if (t->around->end != NULL)
		t->around->end();
	if (t->is_last && t->part->around.end != NULL)
		t->part->around.end();
	return 0;
}

static int
begin_group(void **state)
{
	(void)state;
	sentences_in->around.begin();
	return 0;
}

static int
end_group(void **state)
{
	(void)state;
	sentences_in->around.end();
	return 0;
}

/* ---- */

/* The sentence is excused; it is said why. */
static bool
is_excused(const struct turn *t)
{
	const char *reason = sentences_in->excuse != NULL ? sentences_in->excuse(t->sentence->but | t->part->but) : NULL;

	if (reason != NULL)
		print_message("# not in %s: %s: %s\n", sentences_in->where(), t->name, reason);
	return reason != NULL;
}

/* Those of the part that are to be run; how many. */
static size_t
list(const struct part *part, struct turn *turns)
{
	size_t n = 0;

	for (const struct sentence *s = sentences; s != NULL; s = s->next) {
		struct turn *t = &turns[n];

		if (s->of != 0 && (s->of & part->is) == 0)
			continue;
		*t = (struct turn){.sentence = s, .part = part, .around = s->own != NULL ? s->own : s->file};
		snprintf(t->name, sizeof t->name, "%s%s%s", part->name != NULL ? part->name : "", part->name != NULL ? ": " : "",
		         s->name);
		n += !is_excused(t);
	}
	if (n > 0)
		turns[0].is_first = turns[n - 1].is_last = true;
	return n;
}

int
main(int argc, char **argv)
{
	size_t most = 0, n = 0;
	struct CMUnitTest *tests;
	struct turn *turns;
	int result = sentences_prelude != NULL ? sentences_prelude(argc, argv) : GO_ON;
	const char *test = strstr(program_invocation_short_name, "test_"); /* "adopt", of .libs/lt-test_adopt */

	if (result != GO_ON)
		return result;
	for (const struct sentence *s = sentences; s != NULL; s = s->next)
		most += part_count;
	turns = zeroed(most * sizeof *turns);
	tests = zeroed(most * sizeof *tests);
	for (size_t i = 0; i < part_count; i++)
		n += list(&parts[i], turns + n);
	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){.name = turns[i].name, .test_func = run, .setup_func = begin, .teardown_func = end,
		                               .initial_state = &turns[i]};
	if (sentences_in->where != NULL)
		print_message("# in %s\n", sentences_in->where()); /* for test_everywhere.sh */
	result = _cmocka_run_group_tests(test != NULL ? test + strlen("test_") : program_invocation_short_name, tests, n,
	                                 n > 0 && sentences_in->around.begin != NULL ? begin_group : NULL,
	                                 n > 0 && sentences_in->around.end != NULL ? end_group : NULL);
	free(turns);
	free(tests);
	return result;
}
