/* What the files of the player have of each other. A file uses only those that come before it here; play.c is the last.
 * play_system.c is not here: it has nothing but verbs. */
#pragma once

#include "tests/support/leashed.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

enum { WORDS = 64, TEXT = 9000, FEW = 8, LOCKS = 16, VARIABLES = 48, SECRETS = 16, NAME = 24 };

/* ---- what there is in a scene ---- */

struct text { /* a file */
	const char *path;
	const char *line[2000];
	int count, first; /* the first scene */
};

struct variable {
	char name[NAME], *value;
};

struct run {
	char name[NAME];
	struct tool *tool;
	int status;
	int line;              /* by which it was started */
	bool is_said[STREAMS]; /* something was expected of it */
};

struct hold {
	char name[LEASH_NAME_MAX + 1];
	leash_lock *lock;
	struct leashed_events events;
};

struct person {
	char name[NAME];
	leash_client *client;
	struct hold holds[LOCKS];
};

struct another { /* server, or quorum */
	char name[NAME];
	struct server *server;
	struct quorum *quorum;
};

struct mailbox { /* a socket of datagrams */
	char name[NAME];
	int fd; /* 0: none */
	char *heard[400];
	int count, first; /* the first that counts still */
};

/* All zero before a scene begins. */
extern struct play {
	const struct text *text; /* what is played, and the line of it */
	int at;
	const char *words[WORDS + 1]; /* of what was split last: so many, and NULL */
	int word_count;
	struct variable variables[VARIABLES];
	char *secrets[SECRETS]; /* nobody may say them */
	struct run foreground, background[FEW], *last; /* who was looked at last */
	struct another servers[FEW];
	struct mailbox mailboxes[FEW];
	struct tool *tmux, *asked; /* the window's server, and who asked that last */
	struct person people[FEW];
	char where[1000]; /* LEASH_URI; "": none */
	int64_t clock_ns;
} play;

/* ---- statements that begin with a verb, and what is behind it ---- */

extern struct verb {
	const char *name;
	void (*act)(char *rest);
	struct verb *next;
} *play_verbs;

#define VERB(title) VERB_AS(title, #title)
#define VERB_AS(id, text) \
	static void verb_##id(char *rest); \
	__attribute__((constructor)) static void add_verb_##id(void) \
	{ \
		static struct verb verb = {.name = (text), .act = verb_##id}; \
		verb.next = play_verbs; \
		play_verbs = &verb; \
	} \
	static void verb_##id(__attribute__((unused)) char *rest)

#define DOES(title, ...) VERB(title) { __VA_ARGS__; }

/* ---- play_state.c: what is wrong, and tables ---- */

_Noreturn void play_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void play_must(bool is_so, const char *else_it);
/* The entry of that name, or a new one, in a table of so many that begin with their names, each of so much room. */
void *play_entry(char *e, size_t count, size_t size, size_t room, const char *name);
#define ENTRY(table, name_) play_entry((table)->name, COUNT(table), sizeof *(table), sizeof (table)->name, (name_))

/* ---- play_words.c: variables, escapes and quotes ---- */

const char *play_value(const char *name);
void play_set(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of a name, "n_port" or the like. */
#define play_set_of(name, what, ...) \
	do { \
		char both_[2 * NAME]; \
		snprintf(both_, sizeof both_, "%s_" what, (name)); \
		play_set(both_, __VA_ARGS__); \
	} while (0)
/* All of `from`, with its variables and escapes. Until the fourth call from now. */
const char *play_expand(const char *from);
void play_split(const char *from); /* into play.words */

/* ---- play_said.c: what is said, and what was expected ---- */

/* Is it `pattern`, or has it that in it? Each "..." stands for anything. */
bool play_fits(const char *said, const char *pattern, bool from_begin, bool to_end);
char play_how_of(const char **line); /* how `*line`, behind a '>', is to fit, and what */
bool play_is_said(const char *said, char how, const char *pattern);
bool play_is_expectation(const char *line);
/* What is expected of it next, "> text" and the like. Who still runs is waited for. */
void play_expect(struct run *run, const char *line);
const char *play_said_behind(const char *mark); /* to a ", } or a comma */

/* ---- play_servers.c; play_window.c: a shell that tmux shows ---- */

const char *play_answer(const char *line); /* what a server answers: "HKEYS leash:{job}", "@n HKEYS leash:{job}" */

const char *play_shown(int row); /* what stands on it, or in one line of it from 0 on; -1: all */
void play_check_window(int row, const char *pattern); /* "%> text", "row 4>^ text" */
void play_close_window(void);

/* ---- play_variable.c, play_run.c, play_people.c, play_block.c: statements; false: it is none of these ---- */

bool play_variable(char *line); /* "$t = out", "$t = behind \"fence\":\"", "$t = redis HKEYS k", "$t = anything" */
bool play_command(char *line);  /* "$ words => 75", "&w words", "@w words", "w> text" */
void play_settle(void);         /* whoever was run to the end has said nothing but what was expected */
bool play_person(char *line);   /* "ann takes job 3000", "ann releases job => LOST" */
int play_block(int from, int to, int depth); /* all lines that are as deep; returns the one behind them */
