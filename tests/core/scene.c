#include "tests/core/scene.h"

#include "tests/core/wire.h"

enum { TEXT = 2000 };

static struct verb *all;
static char playing[TEXT]; /* the whole text, */
static const char *at;     /* and the step of it; NULL: none is played */

void
scene_add(struct verb *verb)
{
	verb->next = all;
	all = verb;
}

/* ---- words ---- */

/* What is behind the word with which the text begins; NULL: it is another one. */
static const char *
behind(const char *word, const char *text)
{
	size_t size = strlen(word);

	if (strncmp(text, word, size) != 0 || (text[size] != ' ' && text[size] != '\0'))
		return NULL;
	return text + size + strspn(text + size, " ");
}

static struct person *
person_at(const char **text)
{
	for (size_t i = 0; i < COUNT(people); i++) {
		const char *rest = behind(people[i].name, *text);

		if (rest != NULL) {
			*text = rest;
			return &people[i];
		}
	}
	return NULL;
}

struct person *
person_of_name(const char *name)
{
	struct person *person = person_at(&name);

	if (person == NULL)
		fail_msg("'%s' is nobody", name);
	return person;
}

int64_t
number_of(const char *text, int64_t instead)
{
	int64_t sum = 0, sign = 1;
	char *end;

	if (*text == '\0')
		return instead;
	for (;;) {
		sum += sign * strtoll(text, &end, 10);
		if (end == text)
			fail_msg("'%s' is no number", text);
		end += strspn(end, " ");
		if (*end == '\0')
			return sum;
		sign = *end == '-' ? -1 : 1;
		text = end + 1;
	}
}

enum answer
answer_of(const char *text)
{
	static const char *const names[] = {
		[HELD] = "HELD", [QUEUED] = "QUEUED", [TAKEN] = "TAKEN", [TOO_LATE] = "TOO_LATE", [KEPT] = "KEPT",
		[RELEASED] = "RELEASED", [LEFT] = "LEFT", [GONE] = "GONE",
	};

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(text, names[i]) == 0)
			return (enum answer)i;
	fail_msg("there is no '%s'", text);
	return GONE;
}

/* ---- what happens ---- */

#define TERMS(X) \
	X(lease_ms) X(max_hold_ms) X(alive_ms) X(restart_guard_ms) X(handoff_ms) X(handoffs) X(safety.min_replicas) \
	X(safety.replicas_ms) X(safety.fsynced)

/* no_renew, or another term and its number */
VERB(wants)
{
	const char *value = behind("no_renew", rest);

	if (value != NULL) {
		person->terms.no_renew = true;
		return;
	}
#define SET(term) \
	if ((value = behind(#term, rest)) != NULL) { \
		person->terms.term = (__typeof__(person->terms.term))number_of(value, 0); \
		return; \
	}
	TERMS(SET)
	fail_msg("'%s' is no term", rest);
}

DOES(refuse, refuse(rest))
DOES(answer_fence, answer_fence(number_of(rest, 0)))
DOES(forget_sent, world_sent())

static void
do_it(struct person *person, const char *text)
{
	for (const struct verb *verb = all; verb != NULL; verb = verb->next) {
		const char *rest = behind(verb->name, text);

		if (rest != NULL) {
			verb->act(person, rest);
			return;
		}
	}
	answer(answer_of(text));
}

static void
happen(const char *text)
{
	size_t servers = strspn(text, "abcde");
	struct person *person = person_at(&text);

	if (person != NULL || text[servers] != ' ') {
		do_it(person, text);
		return;
	}
	for (size_t i = 0; i < servers; i++) {
		on(text[i]);
		do_it(NULL, text + servers + 1);
	}
}

/* ---- what comes of it ---- */

static uint64_t last_fence; /* of those that people were seen to have */

static void
expect_part(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in: %s", part, text);
}

void
expect_person(struct person *person, const char *text)
{
	uint64_t before = last_fence;
	const char *rest;

	if ((rest = behind("left", text)) != NULL)
		assert_int_equal(world_left_ms(person), number_of(rest, 0));
	else if ((rest = behind("fence", text)) != NULL)
		assert_int_equal(world_view(person).fence, 256 * number_of(rest, 0));
	else if ((rest = behind("why", text)) != NULL)
		expect_part(person->op.why.text, rest);
	else if ((rest = behind("depth", text)) != NULL)
		assert_int_equal(world_view(person).depth, number_of(rest, 0));
	else if (strcmp(text, "has it") == 0)
		assert_true((last_fence = world_view(person).fence) > 0);
	else if (strcmp(text, "has it anew") == 0)
		assert_true((last_fence = world_view(person).fence) > before);
	else if (strcmp(text, "has it next") == 0)
		assert_int_equal(last_fence = world_view(person).fence, before + 1);
	else if (strcmp(text, "has it still") == 0)
		assert_int_equal(world_view(person).fence, before);
	else
		assert_string_equal(person->is_busy ? "waits" : leash_status_name(person->op.status), text);
}

struct words {
	bool any;
	char text[TEXT];
};

static void
add(struct words *words, const char *word)
{
	size_t size = strlen(words->text);

	snprintf(words->text + size, TEXT - size, "%s%s", words->any ? ", " : "", word);
	words->any = true;
}

static void
expect(char *text)
{
	struct words sent = {.any = false}, asked = {.any = false}, told = {.any = false};
	char *next = text;

	while (next != NULL) {
		const char *item = next, *rest;
		struct person *person;

		next = strstr(next, ", ");
		if (next != NULL) {
			*next = '\0';
			next += 2;
		}
		if ((person = person_at(&item)) != NULL)
			expect_person(person, item);
		else if (strcmp(item, "nothing told") == 0)
			told.any = true;
		else if (strcmp(item, "nothing sent") == 0)
			sent.any = true;
		else if ((rest = behind("asked", item)) != NULL)
			add(&asked, rest);
		else if ((rest = behind("told", item)) != NULL)
			add(&told, rest);
		else if ((rest = behind("limit", item)) != NULL)
			assert_int_equal(world_limit_ms(), number_of(rest, 0));
		else if ((rest = behind("now", item)) != NULL)
			assert_int_equal(world_ms(), number_of(rest, 0));
		else
			add(&sent, item);
	}
	if (sent.any)
		assert_string_equal(world_sent(), sent.text);
	if (asked.any)
		assert_string_equal(world_asked(), asked.text);
	if (told.any)
		assert_string_equal(world_told(), told.text);
}

/* ---- playing ---- */

static void
say_where(void *arg)
{
	(void)arg;
	last_fence = 0;
	if (at != NULL)
		print_error("at %lld ms, in '%.*s' of: %s\n", (long long)world_ms(), (int)strcspn(at, ";"), at, playing);
	at = NULL;
	playing[0] = '\0';
}

static void
play_step(const char *text, size_t size)
{
	char step[TEXT];

	snprintf(step, sizeof step, "%.*s", (int)size, text);
	char *arrow = strstr(step, "->");
	size_t cause = arrow != NULL ? (size_t)(arrow - step) : strlen(step);
	if (arrow != NULL)
		arrow += 2 + strspn(arrow + 2, " ");
	while (cause > 0 && step[cause - 1] == ' ')
		cause--;
	step[cause] = '\0';
	if (cause > 0)
		happen(step);
	if (arrow != NULL)
		expect(arrow);
}

void
play(const char *format, ...)
{
	va_list args;

	if (playing[0] == '\0')
		afterwards(say_where, NULL);
	va_start(args, format);
	assert_in_range(vsnprintf(playing, sizeof playing, format, args), 1, sizeof playing - 1);
	va_end(args);
	for (at = playing; *at != '\0'; at += *at == ';') {
		at += strspn(at, " ");
		size_t size = strcspn(at, ";");
		play_step(at, size);
		at += size;
	}
	at = NULL;
}

void
play_given(void)
{
	play("%s", (const char *)given);
}
