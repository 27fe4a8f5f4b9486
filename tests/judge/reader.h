/* Reading histories: files are mapped, and lines taken apart, word by word, as history.h says. Words stay where they are in the
 * file, so nothing is copied, and a reader must outlive what was read. */
#ifndef LEASH_TEST_READER_H
#define LEASH_TEST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of lines, with their words: n a number, i a number or -1, w a word, * any words, or none. */
#define LINE_KINDS(X) \
	X(PROCESS, "process", "nw") \
	X(ASK, "ask", "nwiw") \
	X(GOT, "got", "nwnwn") \
	X(LOOK, "look", "nn") \
	X(GIVE, "give", "n") \
	X(GAVE, "gave", "nw") \
	X(LOST, "lost", "wn") \
	X(EVENT, "event", "wwn") \
	X(WROTE, "wrote", "nwnw") \
	X(STILL, "still", "n") \
	X(END, "end", "") \
	X(SEED, "seed", "w") \
	X(FAULT, "fault", "w*") \
	X(OVER, "over", "w*") \
	X(KILLED, "killed", "n") \
	X(FROZEN, "frozen", "n") \
	X(THAWED, "thawed", "n") \
	X(BREACH, "breach", "*") \
	X(MENDED, "mended", "") \
	X(RENEW, "renew", "w*") \
	X(ENDLESS, "endless", "w*") \
	X(LEFT, "left", "w*")

enum line_kind {
#define LINE_KIND_(name, text, words) LINE_##name,
	LINE_KINDS(LINE_KIND_)
#undef LINE_KIND_
	LINE_KINDS_COUNT
};

enum { READER_WORDS = 5 };

struct word {
	const char *at;   /* not NUL-terminated */
	uint32_t size;
	int64_t number;   /* if it is one */
};

struct line {
	uint32_t number;                    /* in its file, from 1 */
	const char *at;                     /* the whole of it, without its end */
	uint32_t size;
	int64_t moment;
	enum line_kind kind;
	struct word words[READER_WORDS];    /* as many as the kind has; where it has any words, their first */
};

enum reader_result { READER_LINE, READER_MALFORMED, READER_TORN, READER_END };

struct reader {
	char *text;
	size_t size, at;
	uint32_t lines;
};

/* False, and errno, if it cannot be read. */
bool reader_open(struct reader *reader, const char *path);
void reader_close(struct reader *reader);

/* The next line. READER_MALFORMED: it is none of a history; READER_TORN: the last one, which has no end. In both cases only
 * `number`, `at` and `size` are there. */
enum reader_result reader_next(struct reader *reader, struct line *line);

bool word_is(const struct word *word, const char *text);

#endif
