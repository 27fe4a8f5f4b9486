/* Putting the histories together: reading the files one by one (scribe.c), then what the nemesis did to whom. */
#include "tests/judge/account.h"

#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory ---- */

void *
account_grown(void *at, size_t *capacity, size_t size)
{
	*capacity = *capacity ? *capacity * 2 : 64;
	at = reallocarray(at, *capacity, size);
	if (!at)
		trouble("no memory");
	return at;
}

void *
account_sorted(const void *all, size_t count, int (*order)(const void *, const void *))
{
	void *copy = zeroed(count * sizeof(void *));

	if (count > 0)
		memcpy(copy, all, count * sizeof(void *));
	qsort(copy, count, sizeof(void *), order);
	return copy;
}

/* ---- names ---- */

struct name {
	struct word word;
	uint32_t number;
};

static int
by_text(const void *left, const void *right)
{
	const struct word *l = left, *r = right;
	int sizes = account_compare(l->size, r->size);

	return sizes ? sizes : memcmp(l->at, r->at, l->size);
}

uint32_t
account_known(const struct names *names, const struct word *word)
{
	struct name *const *found = tfind(word, &names->tree, by_text);

	return found ? (*found)->number : NOBODY;
}

uint32_t
account_name(struct names *names, const struct word *word)
{
	uint32_t number = account_known(names, word);

	if (number != NOBODY)
		return number;
	struct name *name = zeroed(sizeof(*name));
	*name = (struct name){ .word = *word, .number = (uint32_t)names->words.count };
	if (!tsearch(name, &names->tree, by_text))
		trouble("no memory");
	PUSH(&names->words, *word);
	return name->number;
}

void
account_forget(struct names *names)
{
	tdestroy(names->tree, free);
	free(names->words.at);
}

/* ---- objections ---- */

void
account_object(struct account *a, enum verdict_rule rule, const char *format, ...)
{
	uint64_t n = a->verdict->violations[rule]++;
	va_list args;

	if (n >= VERDICT_TEXTS)
		return;
	va_start(args, format);
	if (vasprintf(&a->verdict->texts[rule][n], format, args) < 0)
		trouble("no memory");
	va_end(args);
}

void
account_object_to(struct account *a, enum verdict_rule rule, uint32_t lock, const char *format, ...)
{
	const struct word *name = &a->locks.words.at[lock];
	char text[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	account_object(a, rule, "lock %.*s: %s", (int)name->size, name->at, text);
}

const char *
account_hold(const struct account *a, const struct hold *hold, uint32_t line)
{
	static char texts[4][200];
	static unsigned used;
	const char *file = a->files.at[a->processes.at[hold->process].file].name;
	char *text = texts[used++ % 4];

	snprintf(text, sizeof(texts[0]), "hold %" PRIu64 " (%s:%" PRIu32 ")", hold->number, file, line);
	return text;
}

/* ---- time ---- */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

bool
account_breached(const struct account *a, int64_t from, int64_t to, bool emptied)
{
	FIRST_NOT(i, a->breaches.count, a->breaches.at[i].span.to < from)

	for (; i < a->breaches.count && a->breaches.at[i].span.from <= to; i++)
		if (emptied || !a->breaches.at[i].emptied)
			return true;
	return false;
}

static int64_t
still_before(const struct process *p, int64_t moment)
{
	FIRST_NOT(i, p->stills.count, p->stills.at[i].from < moment)
	if (i == 0)
		return 0;
	const struct span *last = &p->stills.at[i - 1];
	return last->sum + least(moment, last->to) - last->from;
}

int64_t
account_awake(const struct process *p, int64_t from, int64_t to)
{
	return to <= from ? 0 : to - from - (still_before(p, to) - still_before(p, from));
}

bool
account_cut_short(const struct process *p)
{
	return p->killed != NEVER && p->ended == NEVER;
}

int64_t
account_alive(const struct account *a, const struct process *p)
{
	if (p->ended != NEVER)
		return p->ended;
	return p->killed != NEVER ? p->last : a->horizon;
}

/* ---- what the nemesis did ---- */

static int
by_moment(const void *left, const void *right)
{
	return account_compare(((const struct mark *)left)->moment, ((const struct mark *)right)->moment);
}

/* The last process with that number that had begun. */
static struct process *
who(const struct account *a, const struct mark *mark)
{
	struct process *last = NULL;

	EACH(struct process, p, a->processes)
		if (p->pid == mark->pid && p->started <= mark->moment && (!last || p->started >= last->started))
			last = p;
	return last;
}

static void
freeze(struct process *p, const struct mark *mark)
{
	if (mark->kind == MARK_FROZEN && p->frozen == 0) {
		PUSH(&p->stills, (struct span){ .from = mark->moment, .to = NEVER });
		p->frozen = p->stills.count;
	} else if (mark->kind == MARK_THAWED && p->frozen != 0) {
		p->stills.at[p->frozen - 1].to = mark->moment;
		p->frozen = 0;
	}
}

static void
breach(struct account *a, const struct mark *mark, unsigned *depth)
{
	struct breach *last = a->breaches.count > 0 ? &a->breaches.at[a->breaches.count - 1] : NULL;

	if (mark->kind == MARK_BREACH && ++*depth == 1)
		PUSH(&a->breaches, (struct breach){ .span = { .from = mark->moment, .to = NEVER }, .emptied = mark->emptied });
	else if (mark->kind == MARK_BREACH)
		last->emptied &= mark->emptied;
	else if (*depth == 0)
		account_object(a, VERDICT_HISTORY, "%s:%" PRIu32 ": mended, and there was no breach", a->files.at[mark->file].name, mark->line);
	else if (--*depth == 0)
		last->span.to = mark->moment;
}

static void
kill_at(struct account *a, struct process *p, const struct mark *mark)
{
	if (mark->moment < p->killed)
		p->killed = mark->moment;
	if (p->last > mark->moment)
		account_object(a, VERDICT_HISTORY, "%s:%" PRIu32 ": process %" PRId64 " was killed, but %s goes on afterwards, to %" PRId64,
		               a->files.at[mark->file].name, mark->line, mark->pid, a->files.at[p->file].name, p->last);
}

/* How many were killed that wrote nothing is the result. */
static size_t
apply_marks(struct account *a)
{
	size_t unknown = 0;
	unsigned depth = 0;

	if (a->marks.count > 0)
		qsort(a->marks.at, a->marks.count, sizeof(*a->marks.at), by_moment);
	EACH(const struct mark, mark, a->marks) {
		struct process *p = who(a, mark);

		if (mark->kind == MARK_BREACH || mark->kind == MARK_MENDED)
			breach(a, mark, &depth);
		else if (p && mark->kind == MARK_KILLED)
			kill_at(a, p, mark);
		else if (p)
			freeze(p, mark);
		else
			unknown += mark->kind == MARK_KILLED;
	}
	return unknown;
}

static int
by_begin(const void *left, const void *right)
{
	return account_compare(((const struct span *)left)->from, ((const struct span *)right)->from);
}

/* Those that meet become one. */
static void
settle_stills(struct process *p)
{
	size_t n = 0;

	if (p->stills.count > 0)
		qsort(p->stills.at, p->stills.count, sizeof(*p->stills.at), by_begin);
	EACH(struct span, still, p->stills) {
		struct span *last = n > 0 ? &p->stills.at[n - 1] : NULL;

		if (last && still->from <= last->to) {
			last->to = most(last->to, still->to);
			continue;
		}
		still->sum = last ? last->sum + last->to - last->from : 0;
		p->stills.at[n++] = *still;
	}
	p->stills.count = n;
}

/* ---- lines without an end ---- */

/* A process that was killed may have been at it; one whose first line it was is not known to have been there by anything else. */
static void
excuse_torn(struct account *a, size_t unknown)
{
	EACH(const struct mark, torn, a->torn) {
		if (torn->process != NOBODY && account_cut_short(&a->processes.at[torn->process]))
			continue;
		if (torn->process == NOBODY && torn->line == 1 && unknown > 0) {
			unknown--;
			continue;
		}
		account_object(a, VERDICT_HISTORY, "%s:%" PRIu32 ": a line without an end, by one who was not killed",
		               a->files.at[torn->file].name, torn->line);
	}
}

/* ---- holds ---- */

/* A token that is handed on goes from hold to hold within a process, without a word to the server: so they are one grant, and what befell
 * it before the last of them asked concerns that one too. When each token was asked for first. */
static int64_t *
first_asks(const struct account *a)
{
	int64_t *asked = zeroed(a->tokens.words.count * sizeof(*asked));
	uint64_t *fence = zeroed(a->tokens.words.count * sizeof(*fence));   /* the smallest so far */

	EACH(const struct hold, hold, a->holds) {
		if (hold->token == NOBODY || hold->fence == 0 || (fence[hold->token] != 0 && fence[hold->token] <= hold->fence))
			continue;
		fence[hold->token] = hold->fence;
		asked[hold->token] = hold->asked;
	}
	free(fence);
	return asked;
}

/* What all rules need of a hold, once everything is known of its process. */
static void
settle_hold(const struct account *a, struct hold *hold, const int64_t *first_asked)
{
	const struct process *p = &a->processes.at[hold->process];
	int64_t first = hold->asked;

	if (hold->got_answer != ANSWER_OK)
		return;
	if (hold->give != NEVER)
		hold->let_go = hold->give;
	else if (p->ended != NEVER)
		hold->let_go = least(hold->let_go, hold->last);
	hold->ends = least(least(hold->let_go, hold->told), hold->until);
	hold->valid = hold->ends > hold->got;
	int64_t over = hold->gave != NEVER ? hold->gave : least(hold->told, account_alive(a, p));
	if (hold->token != NOBODY && hold->fence != 0)
		first = least(first, first_asked[hold->token]);
	hold->excused = hold->unsettled || account_breached(a, first, most(hold->ends, hold->got), false);
	hold->excused_later = hold->excused || account_breached(a, first, over, false);
	hold->emptied = account_breached(a, first, most(hold->ends, hold->got), true);
	hold->emptied_later = hold->emptied || account_breached(a, first, over, true);
	hold->since = hold->excused ? first : hold->asked;
}

const struct hold **
account_last_holds(const struct account *a)
{
	const struct hold **last = zeroed(a->tokens.words.count * sizeof(*last));

	EACH(const struct hold, hold, a->holds)
		if (hold->token != NOBODY && (!last[hold->token] || hold->fence > last[hold->token]->fence ||
		                              (hold->fence == last[hold->token]->fence && hold->gave > last[hold->token]->gave)))
			last[hold->token] = hold;
	return last;
}

/* ---- the folder ---- */

static bool
read_one(struct account *a, const char *path)
{
	struct file file = { .name = text_of("%s", strrchr(path, '/') + 1) };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (size > 0)
		file.text = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	file.size = size > 0 && file.text != MAP_FAILED ? (size_t)size : 0;
	PUSH(&a->files, file);
	close(fd);
	if (size < 0 || file.text == MAP_FAILED)
		return false;
	scribe_read(a, (uint32_t)a->files.count - 1);
	return true;
}

static bool
read_all(struct account *a, const char *folder)
{
	glob_t found = { .gl_pathc = 0 };
	char *pattern = text_of("%s/*.history", folder);
	bool good = glob(pattern, 0, NULL, &found) == 0;

	for (size_t i = 0; good && i < found.gl_pathc; i++)
		good = read_one(a, found.gl_pathv[i]);
	int saved = errno;
	globfree(&found);
	free(pattern);
	errno = saved;
	return good;
}

bool
account_read(struct account *a, struct verdict *verdict, const char *folder)
{
	*a = (struct account){ .verdict = verdict };
	if (!read_all(a, folder))
		return false;
	excuse_torn(a, apply_marks(a));
	EACH(struct process, p, a->processes)
		settle_stills(p);
	int64_t *first_asked = first_asks(a);
	EACH(struct hold, hold, a->holds)
		settle_hold(a, hold, first_asked);
	free(first_asked);
	return true;
}

void
account_free(struct account *a)
{
	EACH(struct file, file, a->files) {
		if (file->size > 0)
			munmap(file->text, file->size);
		free(file->name);
	}
	EACH(struct process, p, a->processes)
		free(p->stills.at);
	void *all[] = { a->files.at, a->processes.at, a->holds.at, a->deeds.at, a->renewals.at, a->arrivals.at, a->news.at, a->marks.at, a->torn.at,
		a->by_got, a->by_since, a->by_fence, a->breaches.at };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
	account_forget(&a->locks);
	account_forget(&a->tokens);
	account_forget(&a->parties);
}
