/* Scenes: tests of what speaks to servers, as texts of steps with ';' between.
 *
 *     SCENE(a_node_that_hangs_keeps_nobody_waiting, "is s0 mute; begin 3; ask = 1000; await asked s1 >= 2")
 *
 * A step is a word with others behind it, and may be compared: = is the same, ~ has each of these words somewhere,
 * !~, which may follow that, has none of them, and >=, <=, > and < are for numbers. What is in '' or "" is one word.
 * What the first word does, and what is then seen, says a VERB of the program, or of what it is linked with. Besides:
 *
 *     await STEP          again and again, until it compares; await 5 STEP: for 5 s
 *     let x STEP          what is seen is $x from then on
 *     repeat N            what follows is played N times; up to the word next, if it comes
 *     each x WORDS        the same, once for each of these words, which is $x; each xy WORDS: for each pair of them
 *     pass MS             time passes
 *     clock               begins anew; took: so many ms ago that was
 *     descriptors         that are open
 *
 * A step that fails says which it was, and what was seen. */
#pragma once

#include <leash/status.h>
#include "tests/support/test.h"

#include <inttypes.h>

#define SCENE(title, ...) SENTENCE_AS(title, #title, play_given, .given = "" __VA_ARGS__)

enum { WORDS = 512 };

/* What a word does. word[1] is the first behind it; those that are not there are "". What it returns is seen; NULL:
 * nothing. */
#define VERB(title) \
	static const char *verb_##title(char **word); \
	__attribute__((constructor)) static void add_verb_##title(void) \
	{ \
		static struct verb verb = {.name = #title, .act = verb_##title}; \
		scenes_add(&verb); \
	} \
	static const char *verb_##title(__attribute__((unused)) char **word)

/* Of which nothing is seen. */
#define DEED(title) \
	static void do_##title(char **word); \
	VERB(title) { do_##title(word); return NULL; } \
	static void do_##title(__attribute__((unused)) char **word)

/* Those that are no more than an expression that is seen, or than something to be done. */
#define SEES(title, ...) VERB(title) { return __VA_ARGS__; }
#define DOES(title, ...) VERB(title) { __VA_ARGS__; return NULL; }

/* A callback that heeds nothing of what it is given. */
#define CALLED(title, ...) static void title(__attribute__((unused)) void *ctx) { __VA_ARGS__; }

struct verb {
	const char *name;
	const char *(*act)(char **word);
	struct verb *next;
};

void scenes_add(struct verb *verb);

/* What a program's scenes have of their own, if it says so: what a step does whose first word is no VERB, and is seen;
 * and whether that is what is expected behind a '=' (NULL: nothing is). */
struct language {
	const char *(*act)(char **word, int count, const char *const *expected);
	bool (*fits)(const char *const *expected, const char *seen);
};
extern const struct language *language;

void play(const char *format, ...) __attribute__((format(printf, 1, 2)));
void play_given(void);

/* What is seen; it lasts for the next seven. */
const char *seen(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define seen_number(number) seen("%" PRId64, (int64_t)(number))
#define seen_whether(it_is) ((it_is) ? "yes" : "no")
const char *seen_words(char **word); /* all from there on, with a space between */
/* What it came to: OK, or the status and the text, which does not end with '.', and is cleared. */
const char *seen_end(leash_status status, leash_error *err);

/* As a text goes over the wire: {WORD} is a bulk string, and @ that of `second`, if it is not NULL. How many bytes. */
size_t scenes_wire(char *out, const char *text, const char *second);

/* What let x does. */
void let(char variable, const char *value);

/* The number that a word is; `instead`, if it is "". */
int64_t number_of(const char *word, int64_t instead);
int64_t times_in(const char *text, const char *word);
/* The place of a word in a list; the test fails if it has none. */
int place_of(const char *word, const char *const *list, int count);
