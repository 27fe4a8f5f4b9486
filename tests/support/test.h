/* What every test is written with.
 *
 *     FIXTURE(open_client, close_client);
 *
 *     SENTENCE(what_is_released_is_free)
 *     {
 *             ...
 *     }
 *
 * A program runs its sentences in the order in which they stand in their file; main() is in test.c. What differs from
 * sentence to sentence is said behind its name: SENTENCE(name, BETWEEN(start, stop), .but = PLACE_NO_QUEUE). */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/await.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What runs before and after; each may be NULL. An assertion may fail there, too. */
struct between {
	void (*begin)(void);
	void (*end)(void);
};

struct sentence {
	const char *name;
	void (*body)(void);
	const struct between *file, *own; /* the fixture of its file, and the one that it has instead, or NULL */
	const void *given;
	unsigned but;                     /* why it is not for everywhere: of enum place_reason, for a PLACE() */
	unsigned of;                      /* with PARTS(): bits of those that it belongs to; 0: to all */
	unsigned order;                   /* in its file */
	struct sentence *next;
};

void sentence_add(struct sentence *sentence);

/* Do that when the present sentence has ended, however it did, and before its fixture's end: the last of them first. */
void afterwards(void (*act)(void *arg), void *arg);

/* What the present sentence has: its own, a row of SENTENCES(), or what its part is given; else NULL. */
extern const void *given;

#define SENTENCE(title, ...) \
	static void title(void); \
	SENTENCE_AS(title, #title, title, __VA_ARGS__) \
	static void title(void)

/* A sentence whose name is not that of its function. */
#define SENTENCE_AS(id, text, function, ...) \
	static struct sentence id##_sentence = { \
		.name = (text), .body = (function), .file = &fixture_of_file, .order = __COUNTER__, __VA_ARGS__}; \
	__attribute__((constructor)) static void add_##id(void) { sentence_add(&id##_sentence); }

/* A sentence for each row of an array, which has its name: title is the function of all, and `given` points to the row. */
#define SENTENCES(title, array) \
	static void title(void); \
	__attribute__((constructor)) static void add_##title(void) \
	{ \
		static struct sentence rows[COUNT(array)]; \
		for (size_t i = 0; i < COUNT(array); i++) { \
			rows[i] = (struct sentence){.name = (array)[i].name, .body = title, .file = &fixture_of_file, \
			                            .given = &(array)[i], .order = __COUNTER__}; \
			sentence_add(&rows[i]); \
		} \
	} \
	static void title(void)

/* Around each sentence of this file that says nothing else by BETWEEN(). */
static const struct between fixture_of_file __attribute__((unused)); /* {NULL, NULL}, unless the file says FIXTURE() */
#define FIXTURE(first, last) static const struct between fixture_of_file = {(first), (last)}
#define BETWEEN(first, last) .own = &(const struct between){(first), (last)}

/* Around all sentences of the program. */
#define GROUP(first, last) SENTENCES_IN(.around = {(first), (last)})

#define SENTENCES_IN(...) \
	__attribute__((constructor)) static void set_group(void) \
	{ \
		static const struct group group = {__VA_ARGS__}; \
		sentences_in = &group; \
	} \
	struct group

struct group {
	struct between around;
	const char *(*where)(void);         /* what the deployment is called in which they run; NULL: in none, */
	const char *(*excuse)(unsigned but); /* and why a sentence does not run in it; NULL: it does */
};
extern const struct group *sentences_in;

/* A program may run its sentences several times: once in each part, which has a name that is put before theirs, and
 * what runs before the first and after the last of them. */
struct part {
	const char *name;
	struct between around;
	const void *given;
	unsigned is;  /* for `of` of a sentence */
	unsigned but; /* as of each sentence */
};

#define PARTS(array) \
	__attribute__((constructor)) static void set_parts(void) { sentences_in_parts((array), COUNT(array)); } \
	struct part

void sentences_in_parts(const struct part *parts, size_t count);

/* main() begins with it: a program that has another life, or cannot run here, ends with what it returns but GO_ON. */
#define PRELUDE(function) \
	__attribute__((constructor)) static void set_prelude(void) { sentences_prelude = (function); } \
	struct sentence
extern int (*sentences_prelude)(int argc, char **argv);

enum { GO_ON = -1 };
