/* Redis is shared with others, and whoever may write there may write what he likes: nothing is taken that is not in the
 * form in which leash writes it. */
#include "admin/lock_line.h"

#include "base/text.h"
#include "base/token.h"
#include "kind/kind.h"

#include <leash/lock.h>

#include <string.h>

/* ---- words ---- */

struct word {
	const char *text;
	size_t size;
};

/* Split all of `text` at single spaces into just `count` words, none of them empty. */
static bool
split(const char *text, size_t size, struct word *words, size_t count)
{
	const char *end = text + size;

	for (size_t i = 0; i < count; i++) {
		const char *space = i + 1 < count ? memchr(text, ' ', (size_t)(end - text)) : end;

		if (space == NULL || space == text)
			return false;
		words[i] = (struct word){text, (size_t)(space - text)};
		text = space + 1;
	}
	return true;
}

static bool
read_number(struct word word, uint64_t most, uint64_t *n)
{
	uint64_t value;

	if (!lsh_decimal_read(word.text, word.size, &value) || value > most)
		return false;
	*n = value;
	return true;
}

static bool
is(struct word word, const char *text)
{
	return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

/* ---- tokens ---- */

static const char *
what_is_wrong(const char *text, size_t size)
{
	if (size == 0)
		return "it is empty";
	if (size < LSH_UUID_SIZE + 2)
		return "it is too short";
	if (size > LSH_UUID_SIZE + 1 + LSH_DECIMAL_DIGITS)
		return "it is too long";
	for (size_t i = 0; i < LSH_UUID_SIZE; i++) {
		const char *allowed = i == 8 || i == 13 || i == 18 || i == 23 ? "-" : "0123456789abcdefABCDEF";

		if (memchr(allowed, text[i], strlen(allowed)) == NULL)
			return "it does not begin with a UUID";
	}
	if (text[LSH_UUID_SIZE] != ':')
		return "there is no colon behind its UUID";
	for (size_t i = LSH_UUID_SIZE + 1; i < size; i++)
		if (text[i] < '0' || text[i] > '9')
			return "there is no number behind its colon";
	return NULL;
}

bool
lsh_token_is_one(const char *text, size_t size, const char **why)
{
	const char *wrong = what_is_wrong(text, size);

	if (why != NULL)
		*why = wrong;
	return wrong == NULL;
}

/* ---- answers ---- */

/* "<count>/<limit>", of which a limit of 0 is none; or "w", alone, which is 0 of both; or "?", a signal, -1 of none. */
static bool
read_need(struct word word, uint32_t *need, int64_t *count, int64_t *limit)
{
	if (!lsh_need_read(need, word.text, word.size))
		return false;
	*count = *need == LSH_NEED_SIGNAL ? -1 : (int64_t)lsh_need_count(*need);
	*limit = *count > 0 ? lsh_need_limit(*need) : 0;
	return true;
}

static leash_kind
kind_of(const leash_hold_info *hold, uint32_t need)
{
	enum lsh_gate gate = lsh_need_gate(need);

	if (need == 0 || need == LSH_NEED_SIGNAL)
		return need == 0 ? LEASH_KIND_MUTEX : LEASH_KIND_CONDITION;
	if (gate != LSH_NO_GATE)
		return gate == LSH_BARRIER ? LEASH_KIND_BARRIER : LEASH_KIND_LATCH;
	return hold->limit > 0 ? LEASH_KIND_SEMAPHORE : LEASH_KIND_READ_WRITE;
}

/* Who has how much of it, and for how many ms; "<token> <need>", or "<token> <depth>" of a mutex. For 0 ms: who waits
 * at a gate. */
static bool
read_hold(struct word who, struct word left, leash_hold_info *hold, uint64_t *depth, leash_kind *kind)
{
	enum { TOKEN, NEED, WORDS };
	struct word word[WORDS];
	bool endless = is(left, "-1"), is_mutex;
	uint64_t ttl = 0;
	uint32_t need = 0;

	*hold = (leash_hold_info){.size = sizeof *hold};
	*depth = 0;
	if (!split(who.text, who.size, word, WORDS) || !lsh_token_is_one(word[TOKEN].text, word[TOKEN].size, NULL) ||
	    (!endless && !read_number(left, INT64_MAX, &ttl)))
		return false;
	is_mutex = read_number(word[NEED], LEASH_DEPTH_MAX, depth);
	if (is_mutex ? *depth == 0 : endless || !read_need(word[NEED], &need, &hold->count, &hold->limit))
		return false;
	*kind = kind_of(hold, need);
	if (!endless && (ttl == 0) != (lsh_need_gate(need) == LSH_LATCH || lsh_need_gate(need) == LSH_BARRIER))
		return false;
	memcpy(hold->who.token, word[TOKEN].text, word[TOKEN].size);
	hold->remaining_ms = endless ? -1 : (int64_t)ttl;
	return true;
}

static struct word
take_line(const char **text)
{
	struct word line = {*text, strcspn(*text, "\n")};

	*text += line.size + ((*text)[line.size] != '\0');
	return line;
}

/* What is told of the lock is told of that hold. */
static void
take_holder(leash_lock_info *info, const leash_hold_info *hold, uint64_t depth)
{
	info->holder = hold->who;
	info->held = true;
	info->held_since_ms = (int64_t)(info->fence / 256 / 1000);
	info->remaining_ms = hold->remaining_ms;
	info->depth = depth > 0 ? (uint32_t)depth : 1;
	info->count = hold->count;
}

static bool
read_numbers(const char **lines, leash_lock_info *info)
{
	enum { NOW, OUT, WAITING, FENCE, LIMIT, NUMBERS };
	struct word word[NUMBERS];
	uint64_t out, waiting, fence, limit = 0;
	bool limited;

	for (int i = 0; i < NUMBERS; i++)
		word[i] = take_line(lines);
	limited = !is(word[LIMIT], "-1");
	if (!read_number(word[OUT], INT64_MAX, &out) || !read_number(word[WAITING], INT64_MAX, &waiting) ||
	    !read_number(word[FENCE], LSH_FENCE_MAX, &fence) ||
	    (limited && !read_number(word[LIMIT], LSH_NEED_LIMIT_MAX, &limit)))
		return false;
	info->fence = fence * 256;
	info->waiting = waiting < UINT32_MAX ? (uint32_t)waiting : UINT32_MAX;
	info->out = (int64_t)out;
	info->limit = limited ? (int64_t)limit : -1;
	return true;
}

/* One more of those who have it. Or, where nobody has a gate, the first who waits there, who is the only one. */
static bool
take_hold(const char **lines, leash_lock_info *info, leash_hold_info *hold, bool is_first)
{
	struct word who = take_line(lines), left = take_line(lines);
	uint64_t depth;
	leash_kind kind;
	bool waits;

	if (!read_hold(who, left, hold, &depth, &kind))
		return false;
	waits = hold->remaining_ms == 0;
	if (is_first) {
		info->kind = kind;
		info->permits = hold->limit;
	}
	if (is_first && !waits)
		take_holder(info, hold, depth);
	return waits ? is_first && info->out == 0 && **lines == '\0' : depth == 0 || info->out == 1;
}

bool
lsh_lock_lines_read(const char *lines, leash_lock_info *info, leash_hold_info *holds, size_t most, size_t *count)
{
	leash_lock_info read = {.size = info->size};

	memcpy(read.name, info->name, sizeof read.name);
	if (!read_numbers(&lines, &read))
		return false;
	for (*count = 0; *lines != '\0'; ++*count)
		if (*count == most || !take_hold(&lines, &read, &holds[*count], *count == 0))
			return false;
	if (read.held != (read.out > 0))
		return false;
	if (!read.held)
		*count = 0;
	*info = read;
	return true;
}

bool
lsh_place_read(const char *text, size_t size, leash_waiter_info *waiter)
{
	enum { TOKEN, NEED, CLAIM, WORDS };
	struct word word[WORDS];
	size_t count = split(text, size, word, WORDS) ? WORDS : WORDS - 1;
	uint64_t claim;
	uint32_t need;

	*waiter = (leash_waiter_info){.size = sizeof *waiter};
	if (!split(text, size, word, count) || !lsh_token_is_one(word[TOKEN].text, word[TOKEN].size, NULL) ||
	    !read_number(word[count - 1], UINT64_MAX, &claim) ||
	    (count == WORDS && !read_need(word[NEED], &need, &waiter->count, &waiter->limit)))
		return false;
	memcpy(waiter->who.token, word[TOKEN].text, word[TOKEN].size);
	return true;
}

/* A word that people can read, into zeroed memory. */
static bool
read_text(struct word word, char *out, size_t size)
{
	for (size_t i = 0; i < word.size; i++)
		if (word.text[i] <= ' ' || word.text[i] > '~')
			return false;
	if (word.size >= size)
		return false;
	memcpy(out, word.text, word.size);
	return true;
}

bool
lsh_party_read(const char *text, size_t size, leash_party *party)
{
	enum { PID, SINCE, HOST, PROGRAM, WORDS };
	struct word word[WORDS];
	leash_party read = {.token = ""};
	uint64_t pid, since;

	if (!split(text, size, word, WORDS) || !read_number(word[PID], INT64_MAX, &pid) || pid == 0 ||
	    !read_number(word[SINCE], INT64_MAX, &since) || !read_text(word[HOST], read.host, sizeof read.host) ||
	    !read_text(word[PROGRAM], read.program, sizeof read.program))
		return false;
	read.pid = (int64_t)pid;
	read.since_ms = (int64_t)since;
	memcpy(read.token, party->token, sizeof read.token);
	*party = read;
	return true;
}
