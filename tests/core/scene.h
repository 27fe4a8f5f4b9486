/* Scenes of the scripted world (world.h) as texts: what happens -> what comes of it.
 *
 *     SCENE(a_request_whose_answer_was_lost_is_sent_again_with_its_token,
 *           "ann acquires 10000 -> acquire 1; cut -> ann waits; reconnect -> acquire 1; HELD -> ann OK")
 *
 * What people do begins with their name. An answer may begin with those of the servers that give it one after
 * another, of which the last is the one that gives the next: "ab HELD; c GONE"; or with all of them: "all HELD".
 * Numbers may be sums: "30000 - 2". world.c has the verbs (DOES, VERB); a program may have more of them, which do not
 * play themselves.
 *
 * What comes of it, with ", " between: commands are all that was sent since it was asked for last, and what is behind
 * "told" is all that was told; or it is "nothing sent" and "nothing told". Behind "asked" is what one server of several
 * is asked, where it is the same for all. Of people: "waits", how its last operation ended ("OK"), "why" and a part of
 * the text of its error, "left" and how many ms, "depth", "fence" and the server's number; "has it", and "has it anew",
 * "next" (by a hand-off) or "still" compare the fence with the one that was seen so last. "limit" is that of the oldest
 * acquire, and "now" the time, both in ms. */
#pragma once

#include "tests/core/world.h"

#define SCENE(title, ...) SENTENCE_AS(title, #title, play_given, .given = "" __VA_ARGS__)

void play(const char *format, ...) __attribute__((format(printf, 1, 2)));
void play_given(void);
void expect_person(struct person *person, const char *text); /* as behind the name of one in a scene */

/* What a word does: by whom, or NULL, and what is behind it. */
#define VERB(title) \
	static void verb_##title(struct person *person, const char *rest); \
	__attribute__((constructor)) static void add_verb_##title(void) \
	{ \
		static struct verb verb = {.name = #title, .act = verb_##title}; \
		scene_add(&verb); \
	} \
	static void verb_##title(__attribute__((unused)) struct person *person, __attribute__((unused)) const char *rest)

#define DOES(title, ...) VERB(title) { __VA_ARGS__; }

struct verb {
	const char *name;
	void (*act)(struct person *person, const char *rest);
	struct verb *next;
};

void scene_add(struct verb *verb);
int64_t number_of(const char *text, int64_t instead); /* of "" */
struct person *person_of_name(const char *name);
enum answer answer_of(const char *text);
