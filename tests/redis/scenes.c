/* See scenes.h. */
#include "tests/redis/scenes.h"

#include "base/clock.h"
#include "tests/support/descriptors.h"

#include <ctype.h>

enum { TEXT = 65536, VARIABLES = 26, VARIABLE = 256 };

const struct language *language;

static struct verb *all;
static char variables[VARIABLES][VARIABLE];
static int64_t clock_began;
static const char *playing; /* the whole text */

void
scenes_add(struct verb *verb)
{
	for (const struct verb *other = all; other != NULL; other = other->next)
		if (strcmp(other->name, verb->name) == 0) {
			fprintf(stderr, "two verbs are called %s\n", verb->name);
			abort();
		}
	verb->next = all;
	all = verb;
}

const char *
seen(const char *format, ...)
{
	static char texts[8][TEXT];
	static unsigned next;
	char *text = texts[next++ % 8];
	va_list args;

	va_start(args, format);
	vsnprintf(text, TEXT, format, args);
	va_end(args);
	return text;
}

const char *
seen_words(char **word)
{
	char text[TEXT] = "";

	for (char **at = word; **at != '\0'; at++)
		sprintf(text + strlen(text), "%s%s", at > word ? " " : "", *at);
	return seen("%s", text);
}

const char *
seen_end(leash_status status, leash_error *err)
{
	const char *text = status == LEASH_OK ? "OK" : seen("%s: %s", leash_status_name(status), err->text);

	assert_true(status == LEASH_OK || err->status == status);
	assert_int_not_equal(text[strlen(text) - 1], '.');
	for (const char *at = text; *at != '\0'; at++)
		assert_in_range(*at, ' ', '~');
	memset(err, 0, sizeof *err);
	return text;
}

size_t
scenes_wire(char *out, const char *text, const char *second)
{
	char *end = out;

	for (; *text != '\0'; text++)
		if (*text == '@' && second != NULL) {
			end += sprintf(end, "$%zu\r\n%s\r\n", strlen(second), second);
		} else if (*text == '{') {
			size_t size = strcspn(++text, "}");

			end += sprintf(end, "$%zu\r\n%.*s\r\n", size, (int)size, text);
			text += size;
		} else {
			*end++ = *text;
		}
	*end = '\0';
	return (size_t)(end - out);
}

void
let(char variable, const char *value)
{
	assert_in_range(variable, 'a', 'z');
	assert_in_range(snprintf(variables[variable - 'a'], VARIABLE, "%s", value != NULL ? value : ""), 0, VARIABLE - 1);
}

int64_t
number_of(const char *word, int64_t instead)
{
	char *end;
	int64_t number = strtoll(word, &end, 10);

	if (*end != '\0')
		fail_msg("'%s' is no number", word);
	return *word != '\0' ? number : instead;
}

int64_t
times_in(const char *text, const char *word)
{
	int64_t n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

int
place_of(const char *word, const char *const *list, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, list[i]) == 0)
			return i;
	fail_msg("'%s' is none of those that are known", word);
	return -1;
}

/* The next word of `*text`, which is cut there; NULL: there is none. */
static char *
next_word(char **text)
{
	char *word = *text + strspn(*text, " ");
	const char end = *word == '\'' || *word == '"' ? *word : ' ';

	if (*word == '\0')
		return NULL;
	word += end != ' ';
	*text = word + strcspn(word, (char[]){end, '\0'});
	if (**text != '\0')
		*(*text)++ = '\0';
	return word;
}

struct step {
	char text[TEXT], *word[WORDS + 1];
	int count;
	const char *sign, *expected[WORDS + 1]; /* NULL: nothing */
};

/* A $x that no letter or digit follows is what x is. */
static void
put_in_variables(char *out, const char *text, size_t size)
{
	const char *end = text + size;
	size_t n = 0;

	for (; text < end; text++) {
		assert_true(n + VARIABLE < TEXT);
		if (*text == '$' && end - text > 1 && islower(text[1]) && (end - text == 2 || !isalnum(text[2]))) {
			n += (size_t)sprintf(out + n, "%s", variables[text[1] - 'a']);
			text++;
		} else {
			out[n++] = *text;
		}
	}
	out[n] = '\0';
}

static void
read_step(struct step *step, const char *text, size_t size)
{
	static const char *const signs[] = {"=", "~", "!~", ">=", "<=", ">", "<"};
	static char nothing[1];
	char *rest = step->text, *word;
	int expected = 0;

	put_in_variables(step->text, text, size);
	step->sign = NULL;
	step->count = 0;
	while ((word = next_word(&rest)) != NULL) {
		const char *sign = NULL;

		for (size_t i = 0; i < COUNT(signs) && step->sign == NULL; i++)
			sign = strcmp(word, signs[i]) == 0 ? signs[i] : sign;
		assert_true(step->count < WORDS && expected < WORDS);
		if (sign != NULL)
			step->sign = sign;
		else if (step->sign == NULL)
			step->word[step->count++] = word;
		else
			step->expected[expected++] = word;
	}
	step->expected[expected] = NULL;
	for (int i = step->count; i <= WORDS; i++)
		step->word[i] = nothing;
	if (step->sign != NULL && expected == 0)
		fail_msg("nothing is compared with: %.*s", (int)size, text);
}

/* ---- playing ---- */

static bool
compares(const struct step *step, const char *seen)
{
	bool without = step->sign != NULL && step->sign[0] == '!';

	if (language != NULL && (step->sign == NULL || strcmp(step->sign, "=") == 0))
		return language->fits(step->sign != NULL ? step->expected : NULL, seen);
	if (step->sign == NULL || seen == NULL)
		return step->sign == NULL;
	if (strcmp(step->sign, "=") == 0)
		return strcmp(seen, step->expected[0]) == 0;
	if (strchr(step->sign, '~') == NULL) {
		int64_t number = number_of(seen, 0), limit = number_of(step->expected[0], 0);

		return number == limit ? step->sign[1] == '=' : step->sign[0] == '>' ? number > limit : number < limit;
	}
	for (const char *const *word = step->expected; *word != NULL; word++)
		if (strcmp(*word, "!~") == 0)
			without = true;
		else if ((strstr(seen, *word) != NULL) == without)
			return false;
	return true;
}

/* What is seen of a step from its word `at` on. */
static const char *
act(struct step *step, int at)
{
	for (const struct verb *verb = all; verb != NULL; verb = verb->next)
		if (strcmp(verb->name, step->word[at]) == 0)
			return verb->act(step->word + at);
	if (language != NULL)
		return language->act(step->word + at, step->count - at, step->sign != NULL ? step->expected : NULL);
	fail_msg("there is no '%s'", step->word[at]);
	return NULL;
}

static void
play_step(const char *text, size_t size)
{
	double seconds = 0;
	struct step step;
	const char *is;

	read_step(&step, text, size);
	const bool lets = strcmp(step.word[0], "let") == 0;
	int at = lets ? 2 : 0;
	if (step.count == 0)
		return;
	if (strcmp(step.word[at], "await") == 0) {
		bool has_limit = strspn(step.word[++at], "0123456789") > 0;

		seconds = has_limit ? (double)number_of(step.word[at++], 0) : 30;
		assert_non_null(step.sign);
	}
	int64_t limit = await_limit_ns(seconds);
	while (is = act(&step, at), !compares(&step, is)) {
		if (seconds == 0 || await_is_past(limit))
			fail_msg("in the step '%.*s' was seen: %s\nof: %s", (int)size, text, is != NULL ? is : "nothing", playing);
		await_ms(1);
	}
	if (lets)
		let(step.word[1][0], is);
}

/* Of the step that begins there: a ';' in quotes does not end it. */
static const char *
end_of_step(const char *text)
{
	char quote = '\0';

	for (; *text != '\0' && (quote != '\0' || *text != ';'); text++)
		if (quote != '\0' ? *text == quote : *text == '\'' || *text == '"')
			quote = quote != '\0' ? '\0' : *text;
	return text;
}

static const char *play_text(const char *text, bool again);

/* What follows an each, which ends there: for as many words as it has letters at a time. */
static const char *
play_each(const char *each, const char *end)
{
	struct step step;
	const char *rest = NULL;

	read_step(&step, each, (size_t)(end - each));
	assert_true(step.count > 2 && (step.count - 2) % (int)strlen(step.word[1]) == 0);
	for (int i = 2; i < step.count;) {
		for (const char *letter = step.word[1]; *letter != '\0'; letter++)
			let(*letter, step.word[i++]);
		rest = play_text(end + 1, true);
	}
	return rest;
}

static const char *
play_text(const char *text, bool again)
{
	while (*text != '\0') {
		const char *end = end_of_step(text), *rest = end + (*end == ';');
		int times;

		text += strspn(text, " ");
		if (again && end - text == 4 && strncmp(text, "next", 4) == 0)
			return rest;
		if (sscanf(text, "repeat %d", &times) == 1) {
			text = rest;
			for (int i = 0; i < times; i++)
				rest = play_text(text, true);
		} else if (strncmp(text, "each ", 5) == 0) {
			rest = play_each(text, end);
		} else {
			play_step(text, (size_t)(end - text));
		}
		text = rest;
	}
	return text;
}

void
play(const char *format, ...)
{
	const char *before = playing;
	char text[TEXT];
	va_list args;

	va_start(args, format);
	assert_in_range(vsnprintf(text, sizeof text, format, args), 0, sizeof text - 1);
	va_end(args);
	playing = text;
	play_text(text, false);
	playing = before;
}

void
play_given(void)
{
	play("%s", (const char *)given);
}

DOES(pass, await_ms(number_of(word[1], 0)))
DOES(clock, clock_began = lsh_now_ns())
SEES(descriptors, seen_number(descriptors_count()))
SEES(took, seen_number((lsh_now_ns() - clock_began) / LSH_MS))
