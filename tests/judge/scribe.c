/* The scribe: takes histories into the account, from lines to holds. Lines are taken apart, word by word, as
 * history.h says; the words stay where they are in the mapped file. The numbers of holds are the process's own, so
 * they are names of the file's. Events know a lock and a fence only, and may come before the acquire's line is
 * written: they find their holds when the file has been read. */
#include "tests/judge/account.h"

#include "tests/support/trouble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
	uint32_t number;            /* in its file, from 1 */
	const char *at;             /* the whole of it, without its end */
	uint32_t size;
	int64_t moment;
	const struct kind *kind;
	struct word words[5];       /* as many as the kind has; where it has any words, their first */
};

/* LEASH_EVENT_LOST. */
struct loss {
	uint64_t fence;
	int64_t moment;
	uint32_t lock, line;
	uint32_t hold;             /* NOBODY: it is not named */
};

struct scribe {
	struct account *account;
	const struct line *line;
	struct hold *hold;         /* that the line's first word names, if its kind is about one */
	uint32_t file, process;    /* process: NOBODY until it said who it is */
	uint32_t first_hold;
	struct names numbers;      /* of its holds, in their order */
	ARRAY(struct loss) losses;
};

static bool
word_is(const struct word *word, const char *text)
{
	return strlen(text) == word->size && memcmp(word->at, text, word->size) == 0;
}

/* With its words: n a number, i a number or -1, w a word, * any words, or none. */
struct kind {
	const char *name, *words;
	const char *(*take)(struct scribe *s);   /* NULL: it says nothing to the judge */
	enum { ANYBODY, PROCESS, HOLD, GOT } by; /* a process that uses locks; of a hold that it asked for; that it got */
	enum mark_kind mark;                     /* of mark() */
	const char *wrong;                       /* of key() */
};

/* The next word, and where the one behind it begins; behind the last one that is past the end. An empty one is none. */
static bool
next_word(const char **at, const char *end, struct word *word)
{
	const char *space = *at < end ? memchr(*at, ' ', (size_t)(end - *at)) : NULL;

	*word = (struct word){ .at = *at, .size = *at < end ? (uint32_t)((space ? space : end) - *at) : 0 };
	*at += *at <= end ? word->size + 1 : 0;
	return word->size > 0;
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
	return form == 'w' || (form == 'i' && word_is(word, "-1")) || to_number(word);
}

static enum answer
answer(const struct word *word)
{
	static const char *const names[] = { /* the first as the enum has them */
		"OK", "TIMEOUT", "LOST", "NOT_HELD", "CANCELED", "UNAVAILABLE", "UNKNOWN", "INVALID", "NO_MEMORY", "DENIED",
		"MISMATCH", "FORKED", "IN_CALLBACK", "CLOSED", "PROTOCOL", "UNSUPPORTED",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word_is(word, names[i]))
			return ANSWER_OK + i < ANSWER_OTHER ? (enum answer)(ANSWER_OK + i) : ANSWER_OTHER;
	return ANSWER_NONE;
}

/* ---- each kind of line: what is wrong with it, or NULL ---- */

static const char *
process(struct scribe *s)
{
	struct account *a = s->account;

	if (s->line->number != 1)
		return "this belongs into the first line";
	s->process = (uint32_t)a->processes.count;
	PUSH(&a->processes, (struct process){ .file = s->file, .pid = s->line->words[0].number, .started = s->line->moment, .ended = NEVER,
		.killed = NEVER, .first_hold = s->first_hold });
	return NULL;
}

static const char *
slashed(const struct word *word, struct word *left, struct word *right)
{
	const char *slash = memrchr(word->at, '/', word->size);

	if (!slash)
		return "there is no slash";
	*left = (struct word){ .at = word->at, .size = (uint32_t)(slash - word->at) };
	*right = (struct word){ .at = slash + 1, .size = word->size - left->size - 1 };
	return left->size > 0 && right->size > 0 ? NULL : "there is nothing on a side of the slash";
}

/* "<k>/<n>", "meet/<n>", "await/<n>" */
static bool
read_count(struct hold *hold, const struct word *need)
{
	struct word count, limit;

	if (slashed(need, &count, &limit) != NULL)
		return false;
	count.number = 1;
	hold->meets = word_is(&count, "meet");
	hold->awaits = word_is(&count, "await");
	if (!hold->meets && !hold->awaits && !to_number(&count))
		return false;
	if (!to_number(&limit) || count.number < 1 || count.number > limit.number || limit.number > 1000000)
		return false;
	hold->count = (uint32_t)count.number;
	hold->limit = (uint32_t)limit.number;
	return hold->is_permits = true;
}

static const char *
ask_for(struct scribe *s, struct hold hold, const struct word *number, const struct word *need)
{
	if (account_known(&s->numbers, number) != NOBODY)
		return "this hold was asked for before";
	hold.count = 1;
	hold.limit = !word_is(need, "read");
	hold.of_set = word_is(need, "several");
	if (!hold.of_set && !word_is(need, "plain") && !word_is(need, "fair") && !word_is(need, "write") && hold.limit > 0 && !read_count(&hold, need))
		return "nobody needs that";
	account_name(&s->numbers, number);
	hold.number = (uint64_t)number->number;
	hold.process = s->process;
	hold.ask_line = s->line->number;
	hold.asked = hold.last = s->line->moment;
	hold.token = hold.next = NOBODY;
	hold.got = hold.told = hold.announced = hold.give = hold.gave = hold.let_go = hold.later = NEVER;
	PUSH(&s->account->holds, hold);
	return NULL;
}

static const char *
ask(struct scribe *s)
{
	const struct word *words = s->line->words;

	return ask_for(s, (struct hold){ .lock = account_name(&s->account->locks, &words[1]), .wait_ms = words[2].number, .old = NOBODY },
	               &words[0], &words[3]);
}

static const char *
give(struct scribe *s)
{
	if (s->hold->give != NEVER)
		return "this hold was given before";
	s->hold->give = s->hold->last = s->line->moment;
	s->hold->give_line = s->line->number;
	return NULL;
}

/* From now on its process relies on no more than what both have in common. */
static const char *
trade(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct hold new = { .lock = s->hold->lock, .old = (uint32_t)(s->hold - s->account->holds.at),
		.waited = strcmp(s->line->kind->name, "wait") == 0 };
	const char *wrong = give(s);

	return wrong ? wrong : ask_for(s, new, &words[1], &words[2]);
}

static void
traded(struct scribe *s, struct hold *old)
{
	enum answer how = s->hold->got_answer;

	old->last = s->line->moment;
	if (how != ANSWER_OK && (!s->hold->waited || how == ANSWER_CANCELED)) {
		old->give = NEVER;
		old->unsettled = how == ANSWER_LOST && (s->hold->is_permits || s->hold->limit != 1);
		return;
	}
	old->gave = s->line->moment;
	old->gave_answer = s->hold->got_answer;
	if (how != ANSWER_OK && how != ANSWER_LOST)
		old->gave_answer = ANSWER_UNKNOWN;   /* it has been given up, or it is gone */
	if (how == ANSWER_OK)
		old->next = (uint32_t)(s->hold - s->account->holds.at);
}

static const char *
got(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct hold *hold = s->hold;
	enum answer how = answer(&words[1]);

	if (hold->got_answer != ANSWER_NONE)
		return "this acquire had returned before";
	if (how == ANSWER_NONE)
		return "no such status";
	if (how != ANSWER_OK && (words[2].number != 0 || !word_is(&words[3], "-") || words[4].number != 0))
		return "not held, but it has something";
	hold->got_answer = how;
	hold->got = hold->last = s->line->moment;
	hold->got_line = hold->until_line = s->line->number;
	hold->fence = (uint64_t)words[2].number;
	hold->until = words[4].number;
	if (!word_is(&words[3], "-"))
		hold->token = account_name(&s->account->tokens, &words[3]);
	if (hold->old != NOBODY)
		traded(s, &s->account->holds.at[hold->old]);
	if (hold->meets || hold->awaits)
		hold->let_go = hold->got;
	if (hold->is_permits && hold->fence != 0)
		return "permits with a fence";
	/* one that was lost before it could be looked at has no fence, or no token, any more; it has no valid-until either */
	if (((hold->fence == 0 && !hold->is_permits) || hold->token == NOBODY) && hold->until != 0)
		return "held, but without a fence or a token";
	return NULL;
}

static const char *
look(struct scribe *s)
{
	struct hold *hold = s->hold;
	int64_t until = s->line->words[1].number;

	if (hold->give != NEVER)
		return NULL;   /* it has been given up: of no use to anybody */
	hold->last = s->line->moment;
	if (until == 0 && hold->told == NEVER) {
		hold->told = s->line->moment;
		hold->told_line = s->line->number;
	} else if (until != 0 && hold->told != NEVER) {
		account_object(s->account, VERDICT_TOLD, "%s:%" PRIu32 ": hold %" PRIu64 " is held again, after line %" PRIu32 " said that it is not",
		               s->account->files.at[s->file].name, s->line->number, hold->number, hold->told_line);
	}
	if (until > hold->until) {
		hold->until = until;
		hold->until_line = s->line->number;
	}
	return NULL;
}

static const char *
gave(struct scribe *s)
{
	struct hold *hold = s->hold;
	enum answer how = answer(&s->line->words[1]);

	if (hold->give == NEVER)
		return "no release of this hold had begun";
	if (hold->gave != NEVER)
		return "this release had returned before";
	if (how == ANSWER_NONE || how == ANSWER_TIMEOUT || how == ANSWER_CANCELED)
		return "no status of a release";
	hold->gave = hold->last = s->line->moment;
	hold->gave_answer = how;
	return NULL;
}

static const char *
lost(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct loss loss = { .lock = account_name(&s->account->locks, &words[0]), .moment = s->line->moment,
		.fence = (uint64_t)words[1].number, .line = s->line->number, .hold = NOBODY };

	if (words[2].size > 0 && (loss.hold = account_known(&s->numbers, &words[2])) == NOBODY)
		return "no such hold was asked for";
	PUSH(&s->losses, loss);
	return NULL;
}

static const char *
event(struct scribe *s)
{
	return word_is(&s->line->words[0], "LOST") ? "that is \"lost\"" : NULL;
}

static const char *
wrote(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct hold *hold = s->hold;
	struct account *a = s->account;
	bool taken = word_is(&words[3], "taken");

	if (!taken && !word_is(&words[3], "refused"))
		return "neither taken nor refused";
	if (account_name(&a->locks, &words[1]) != hold->lock || hold->fence != (uint64_t)words[2].number)
		return "this hold has another lock, or another fence";
	PUSH(&a->deeds, (struct deed){ .before = hold->last, .moment = s->line->moment, .fence = hold->fence,
		.hold = (uint32_t)(hold - a->holds.at), .lock = hold->lock, .line = s->line->number, .taken = taken });
	hold->last = s->line->moment;
	return NULL;
}

/* A party arrives once, whatever it says later. */
static const char *
arrive(struct scribe *s)
{
	struct account *a = s->account;
	struct word latch, party;
	const char *wrong = slashed(&s->line->words[0], &latch, &party);

	if (wrong || account_known(&a->parties, &s->line->words[0]) != NOBODY)
		return wrong;
	account_name(&a->parties, &s->line->words[0]);
	PUSH(&a->arrivals, (struct arrival){ .moment = s->line->moment, .lock = account_name(&a->locks, &latch) });
	return NULL;
}

static const char *
leads(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct word name, hold;
	const char *wrong = slashed(&words[3], &name, &hold);

	if (wrong || !to_number(&hold))
		return wrong ? wrong : "that is no hold";
	s->account->verdict->news++;
	PUSH(&s->account->news, (struct news){ .moment = s->line->moment, .fence = (uint64_t)words[1].number, .number = (uint64_t)hold.number,
		.name = name, .process = s->process, .lock = account_name(&s->account->locks, &words[0]),
		.token = account_name(&s->account->tokens, &words[2]), .line = s->line->number });
	return NULL;
}

static const char *
still(struct scribe *s)
{
	int64_t ms = s->line->words[0].number, moment = s->line->moment;

	if (ms > moment / 1000000)
		return "that is longer than since the machine's start";
	PUSH(&s->account->processes.at[s->process].stills, (struct span){ .from = moment - ms * 1000000, .to = moment });
	return NULL;
}

static const char *
end(struct scribe *s)
{
	s->account->processes.at[s->process].ended = s->line->moment;
	return NULL;
}

static const char *
mark(struct scribe *s)
{
	struct account *a = s->account;
	const struct line *line = s->line;
	enum mark_kind kind = line->kind->mark;

	a->verdict->killed += kind == MARK_KILLED;
	a->verdict->breaches += kind == MARK_BREACH;
	PUSH(&a->marks, (struct mark){ .moment = line->moment, .pid = line->words[0].number, .file = s->file, .kind = kind,
		.line = line->number, .emptied = kind == MARK_BREACH && word_is(&line->words[0], "emptied") });
	return NULL;
}

static const char *
fault(struct scribe *s)
{
	s->account->verdict->faults++;
	return NULL;
}

static const char *
renew(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct account *a = s->account;
	bool late = word_is(&words[1], "late");

	if (!late && words[1].size > 0)
		return "how is it, if not late?";
	PUSH(&a->renewals, (struct renewal){ .moment = s->line->moment, .file = s->file, .line = s->line->number,
		.token = account_name(&a->tokens, &words[0]), .late = late });
	return NULL;
}

/* ---- a file ---- */

static void
object(struct scribe *s, enum verdict_rule rule, const char *what)
{
	const struct line *line = s->line;

	account_object(s->account, rule, "%s:%" PRIu32 ": %s: \"%.*s\"", s->account->files.at[s->file].name, line->number,
	               what, line->size < 200 ? (int)line->size : 200, line->at);
}

static const char *
key(struct scribe *s)
{
	object(s, VERDICT_KEYS, s->line->kind->wrong);
	return NULL;
}

static const struct kind kinds[] = {
	{ "process", "nw", process, .by = ANYBODY }, { "ask", "nwiw", ask, .by = PROCESS },
	{ "got", "nwnwn", got, .by = HOLD }, { "look", "nn", look, .by = GOT }, { "give", "n", give, .by = GOT },
	{ "gave", "nw", gave, .by = GOT }, { "wrote", "nwnw", wrote, .by = GOT }, { "trade", "nnw", trade, .by = GOT },
	{ "wait", "nnw", trade, .by = GOT }, { "arrive", "w", arrive, .by = PROCESS }, { "leads", "wnww", leads, .by = PROCESS },
	{ "lost", "wn*", lost, .by = PROCESS }, { "event", "wwn*", event, .by = PROCESS },
	{ "still", "n", still, .by = PROCESS }, { "end", "", end, .by = PROCESS },
	{ "seed", "w", NULL, .by = ANYBODY }, { "fault", "w*", fault, .by = ANYBODY }, { "over", "w*", NULL, .by = ANYBODY },
	{ "killed", "n", mark, .mark = MARK_KILLED }, { "frozen", "n", mark, .mark = MARK_FROZEN },
	{ "thawed", "n", mark, .mark = MARK_THAWED }, { "breach", "*", mark, .mark = MARK_BREACH },
	{ "mended", "", mark, .mark = MARK_MENDED }, { "renew", "w*", renew, .by = ANYBODY },
	{ "endless", "w*", key, .wrong = "a key has no end" }, { "left", "w*", key, .wrong = "a key was left over" },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool
take_apart(struct line *line)
{
	const char *at = line->at, *end = at + line->size, *words;
	struct word word;
	unsigned n = 0;

	if (!next_word(&at, end, &word) || !to_number(&word))
		return false;
	line->moment = word.number;
	if (!next_word(&at, end, &word))
		return false;
	for (line->kind = kinds; !word_is(&word, line->kind->name); line->kind++)
		if (line->kind == &kinds[KINDS - 1])
			return false;
	for (words = line->kind->words; *words && *words != '*'; words++, n++)
		if (!next_word(&at, end, &line->words[n]) || !has_form(&line->words[n], *words))
			return false;
	if (*words == '*')
		line->words[n] = (struct word){ .at = at };
	while (*words == '*' && at <= end) {
		if (!next_word(&at, end, &word))
			return false;
		if (line->words[n].size == 0)
			line->words[n] = word;
	}
	return at > end;
}

static const char *
find_hold(struct scribe *s)
{
	uint32_t index = account_known(&s->numbers, &s->line->words[0]);

	if (index == NOBODY)
		return "no such hold was asked for";
	s->hold = &s->account->holds.at[s->first_hold + index];
	if (s->line->moment < s->hold->last)
		return "its moment is before that of the hold's last line";
	return s->line->kind->by == GOT && s->hold->got_answer != ANSWER_OK ? "this hold was never got" : NULL;
}

static const char *
take(struct scribe *s)
{
	struct account *a = s->account;
	struct process *p = s->process != NOBODY ? &a->processes.at[s->process] : NULL;
	const char *wrong = NULL;

	if (s->line->moment > a->horizon)
		a->horizon = s->line->moment;
	if (p && s->line->moment > p->last)
		p->last = s->line->moment;
	if (p && p->ended != NEVER && s->line->kind->take != still)
		return "the process had ended";
	if (!p && s->line->kind->by != ANYBODY)
		return "by whom? There is no \"process\" in the first line";
	if (s->line->kind->by >= HOLD)
		wrong = find_hold(s);
	return wrong || !s->line->kind->take ? wrong : s->line->kind->take(s);
}

/* ---- whose loss was it? ---- */

ORDER(by_fence, struct hold, fence)

/* How a hold compares with those of this lock that have this fence. */
static int
compare(const struct hold *hold, uint32_t lock, uint64_t fence)
{
	int locks = account_compare(hold->lock, lock);

	return locks ? locks : account_compare((int64_t)hold->fence, (int64_t)fence);
}

static struct hold *
named(struct scribe *s, const struct loss *loss)
{
	return &s->account->holds.at[s->first_hold + loss->hold];
}

static bool
was_not_all_of_a_set(const struct hold *hold, const struct loss *loss)
{
	return hold->of_set && (hold->got_answer != ANSWER_OK || (hold->fence != 0 && hold->fence != loss->fence));
}

/* What it had become by then: what was lost is not traded. */
static struct hold *
that_is_named(struct scribe *s, const struct loss *loss)
{
	struct hold *hold = named(s, loss);

	while (hold->next != NOBODY && s->account->holds.at[hold->next].asked <= loss->moment)
		hold = &s->account->holds.at[hold->next];
	return hold->lock == loss->lock && (hold->got_answer == ANSWER_OK || hold->got_answer == ANSWER_NONE) ? hold : NULL;
}

/* `order` has those that were got, or may have been. Of some no line says a fence: they were lost before it could be
 * read, or their process was killed before it wrote it. */
static struct hold *
of_loss(struct hold **order, size_t count, const struct loss *loss)
{
	FIRST_NOT(i, count, compare(order[i], loss->lock, loss->fence) < 0)
	if (i < count && loss->fence != 0 && compare(order[i], loss->lock, loss->fence) == 0)
		return order[i];
	FIRST_NOT(j, count, compare(order[j], loss->lock, 0) < 0)
	for (; j < count && compare(order[j], loss->lock, 0) == 0; j++)
		if (order[j]->asked <= loss->moment && order[j]->announced == NEVER)
			return order[j];
	return NULL;
}

static void
apply(struct hold *hold, const struct loss *loss)
{
	if (loss->moment < hold->announced)
		hold->announced = loss->moment;
	if (loss->moment < hold->told) {
		hold->told = loss->moment;
		hold->told_line = loss->line;
	}
}

static void
apply_losses(struct scribe *s)
{
	struct account *a = s->account;
	struct hold **order = zeroed((a->holds.count - s->first_hold) * sizeof(struct hold *));
	size_t count = 0;

	for (size_t i = s->first_hold; i < a->holds.count; i++)
		if (a->holds.at[i].got_answer == ANSWER_OK || a->holds.at[i].got_answer == ANSWER_NONE)
			order[count++] = &a->holds.at[i];
	qsort(order, count, sizeof(struct hold *), by_fence);
	EACH(const struct loss, loss, s->losses) {
		struct hold *hold = loss->hold == NOBODY ? of_loss(order, count, loss) : that_is_named(s, loss);

		if (loss->hold != NOBODY && was_not_all_of_a_set(named(s, loss), loss))
			continue;
		if (hold)
			apply(hold, loss);
		else
			account_object(a, VERDICT_HISTORY, "%s:%" PRIu32 ": there was no hold with fence %" PRIu64 " to be lost",
			               a->files.at[s->file].name, loss->line, loss->fence);
	}
	free(order);
}

void
scribe_read(struct account *a, uint32_t file)
{
	const struct file *f = &a->files.at[file];
	const char *text = f->size > 0 ? f->text : "", *end = text + f->size, *wrong;
	struct line line = { .number = 0 };
	struct scribe s = { .account = a, .line = &line, .file = file, .process = NOBODY, .first_hold = (uint32_t)a->holds.count };

	for (line.at = text; line.at < end; line.at += line.size + 1) {
		const char *line_end = memchr(line.at, '\n', (size_t)(end - line.at));

		line.number++;
		line.size = (uint32_t)((line_end ? line_end : end) - line.at);
		wrong = line_end ? take_apart(&line) ? take(&s) : "no line of a history" : NULL;
		if (!line_end)
			PUSH(&a->torn, (struct mark){ .file = file, .line = line.number, .process = s.process });
		else if (wrong)
			object(&s, VERDICT_HISTORY, wrong);
	}
	if (s.losses.count > 0)
		apply_losses(&s);
	if (s.process != NOBODY)
		a->processes.at[s.process].holds = (uint32_t)a->holds.count - s.first_hold;
	free(s.losses.at);
	account_forget(&s.numbers);
}
