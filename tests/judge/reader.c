/* Lines and words of histories. */
#include "tests/judge/reader.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct form {
	const char *name, *words;
	uint32_t size;
};

static const struct form forms[] = {
#define FORM(name, text, words) { text, words, sizeof(text) - 1 },
	LINE_KINDS(FORM)
#undef FORM
};

bool
reader_open(struct reader *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool good;

	*r = (struct reader){ .text = NULL };
	if (fd < 0)
		return false;
	good = fstat(fd, &st) == 0;
	if (good && st.st_size > 0) {
		r->size = (size_t)st.st_size;
		r->text = mmap(NULL, r->size, PROT_READ, MAP_PRIVATE, fd, 0);
		good = r->text != MAP_FAILED;
	}
	if (!good)
		r->text = NULL;
	close(fd);
	return good;
}

void
reader_close(struct reader *r)
{
	if (r->text)
		munmap(r->text, r->size);
	r->text = NULL;
}

bool
word_is(const struct word *word, const char *text)
{
	return strlen(text) == word->size && memcmp(word->at, text, word->size) == 0;
}

/* ---- one line ---- */

struct cursor {
	const char *at, *end;
};

/* The next word, with the space before it, unless it is the first. An empty one is none. */
static bool
next_word(struct cursor *c, bool first, struct word *word)
{
	const char *from = c->at, *to;

	if (!first && (from == c->end || *from++ != ' '))
		return false;
	to = memchr(from, ' ', (size_t)(c->end - from));
	if (!to)
		to = c->end;
	word->at = from;
	word->size = (uint32_t)(to - from);
	c->at = to;
	return to > from;
}

static bool
to_number(struct word *word)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < word->size; i++) {
		int digit = word->at[i] - '0';

		if (digit < 0 || digit > 9 || n > (INT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	word->number = n;
	return word->size > 0;
}

static bool
has_form(struct word *word, char form)
{
	word->number = -1;
	switch (form) {
	case 'i':
		return word_is(word, "-1") || to_number(word);
	case 'n':
		return to_number(word);
	default:
		return true;
	}
}

static bool
find_kind(const struct word *word, enum line_kind *kind)
{
	for (unsigned i = 0; i < LINE_KINDS_COUNT; i++) {
		if (word->size == forms[i].size && memcmp(word->at, forms[i].name, word->size) == 0) {
			*kind = (enum line_kind)i;
			return true;
		}
	}
	return false;
}

static bool
take_apart(struct line *line)
{
	struct cursor c = { line->at, line->at + line->size };
	const char *words;
	struct word word;
	unsigned n = 0;

	if (!next_word(&c, true, &word) || !to_number(&word))
		return false;
	line->moment = word.number;
	if (!next_word(&c, false, &word) || !find_kind(&word, &line->kind))
		return false;
	for (words = forms[line->kind].words; *words && *words != '*'; words++, n++)
		if (!next_word(&c, false, &line->words[n]) || !has_form(&line->words[n], *words))
			return false;
	if (*words == '*')
		line->words[n] = (struct word){ .at = c.at };
	while (*words == '*' && c.at < c.end) {
		if (!next_word(&c, false, &word))
			return false;
		if (line->words[n].size == 0)
			line->words[n] = word;
	}
	return c.at == c.end;
}

enum reader_result
reader_next(struct reader *r, struct line *line)
{
	const char *from, *end;

	if (r->at == r->size)
		return READER_END;
	from = r->text + r->at;
	end = memchr(from, '\n', r->size - r->at);
	line->number = ++r->lines;
	line->at = from;
	line->size = (uint32_t)(end ? (size_t)(end - from) : r->size - r->at);
	r->at += line->size + (end ? 1 : 0);
	if (!end)
		return READER_TORN;
	return take_apart(line) ? READER_LINE : READER_MALFORMED;
}
