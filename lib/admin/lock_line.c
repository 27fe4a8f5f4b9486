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

/* A token, and for how many ms it has the lock, or -1: without an end; or "-" and -2: nobody has it. */
static bool
read_holder(struct word token, struct word left, bool *held, int64_t *remaining_ms)
{
	uint64_t ttl;

	*held = !is(token, "-");
	*remaining_ms = is(left, "-1") ? -1 : 0;
	if (!*held)
		return is(left, "-2");
	if (!lsh_token_is_one(token.text, token.size, NULL))
		return false;
	if (*remaining_ms == -1)
		return true;
	if (!read_number(left, INT64_MAX, &ttl))
		return false;
	*remaining_ms = ttl > 0 ? (int64_t)ttl : 1; /* there is a part of a millisecond left */
	return true;
}

bool
lsh_lock_line_read(const char *text, size_t size, leash_lock_info *info)
{
	enum { TOKEN, DEPTH, TTL, FENCE, WAITING, NOW, WORDS };
	struct word word[WORDS];
	uint64_t depth, fence, waiting, now;
	leash_party holder = {.token = ""};
	int64_t remaining_ms;
	bool held;

	if (!split(text, size, word, WORDS) || !read_holder(word[TOKEN], word[TTL], &held, &remaining_ms))
		return false;
	if (!read_number(word[DEPTH], LEASH_DEPTH_MAX, &depth) || (depth > 0) != held ||
	    !read_number(word[FENCE], LSH_FENCE_MAX, &fence) || !read_number(word[WAITING], UINT64_MAX, &waiting) ||
	    !read_number(word[NOW], LSH_FENCE_MAX, &now))
		return false;
	if (held)
		memcpy(holder.token, word[TOKEN].text, word[TOKEN].size);
	info->holder = holder;
	info->fence = fence * 256;
	info->held_since_ms = held ? (int64_t)(fence / 1000) : 0;
	info->remaining_ms = remaining_ms;
	info->depth = (uint32_t)depth;
	info->waiting = waiting < UINT32_MAX ? (uint32_t)waiting : UINT32_MAX;
	info->held = held;
	info->no_queue = false;
	memset(info->reserved_, 0, sizeof info->reserved_);
	return true;
}

/* "<count>/<limit>"; or "w", which is 0 of both: alone. A limit of 0 is none. */
static bool
read_need(struct word need, int64_t *count, int64_t *limit)
{
	const char *slash = memchr(need.text, '/', need.size);
	size_t before = slash != NULL ? (size_t)(slash - need.text) : need.size;
	struct word words[] = {{need.text, before}, {need.text + before + 1, need.size - before - (slash != NULL)}};
	uint64_t n = 0, of = 0;

	if (!is(need, "w") && (slash == NULL || !read_number(words[0], LSH_NEED_COUNT_MAX, &n) || n == 0 ||
	                       !read_number(words[1], LSH_NEED_LIMIT_MAX, &of) || (of < n && of != 0)))
		return false;
	*count = (int64_t)n;
	*limit = (int64_t)of;
	return true;
}

static bool
read_permit(struct word who, struct word left, leash_permit_info *permit)
{
	enum { TOKEN, NEED, WORDS };
	struct word word[WORDS];
	uint64_t ttl;

	*permit = (leash_permit_info){.size = sizeof *permit};
	if (!split(who.text, who.size, word, WORDS) || !lsh_token_is_one(word[TOKEN].text, word[TOKEN].size, NULL) ||
	    !read_need(word[NEED], &permit->count, &permit->limit) || !read_number(left, INT64_MAX, &ttl) || ttl == 0)
		return false;
	memcpy(permit->who.token, word[TOKEN].text, word[TOKEN].size);
	permit->remaining_ms = (int64_t)ttl;
	return true;
}

static struct word
take_line(const char **text)
{
	struct word line = {*text, strcspn(*text, "\n")};

	*text += line.size + ((*text)[line.size] != '\0');
	return line;
}

bool
lsh_share_lines_read(const char *lines, leash_semaphore_info *info, leash_permit_info *permits, size_t most,
                     size_t *count)
{
	enum { NOW, OUT, WAITING, FENCE, LIMIT, NUMBERS };
	struct word word[NUMBERS];
	uint64_t out, waiting, limit;
	bool limited;

	for (int i = 0; i < NUMBERS; i++)
		word[i] = take_line(&lines);
	limited = !is(word[LIMIT], "-1");
	if (!read_number(word[OUT], INT64_MAX, &out) || !read_number(word[WAITING], INT64_MAX, &waiting) ||
	    (limited && !read_number(word[LIMIT], LSH_NEED_LIMIT_MAX, &limit)))
		return false;
	info->out = (int64_t)out;
	info->waiting = (int64_t)waiting;
	info->limit = limited ? (int64_t)limit : -1;
	for (*count = 0; *lines != '\0'; ++*count) {
		struct word who = take_line(&lines), left = take_line(&lines);

		if (*count == most || !read_permit(who, left, &permits[*count]))
			return false;
	}
	return true;
}

bool
lsh_place_read(const char *text, size_t size, bool shared, leash_waiter_info *waiter)
{
	enum { TOKEN, NEED, CLAIM, WORDS };
	size_t count = shared ? WORDS : WORDS - 1;
	struct word word[WORDS];
	uint64_t claim;
	int64_t limit;

	*waiter = (leash_waiter_info){.size = sizeof *waiter};
	if (!split(text, size, word, count) || !lsh_token_is_one(word[TOKEN].text, word[TOKEN].size, NULL) ||
	    !read_number(word[count - 1], UINT64_MAX, &claim) || (shared && !read_need(word[NEED], &waiter->count, &limit)))
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
