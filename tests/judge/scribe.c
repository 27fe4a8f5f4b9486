/* The scribe: takes histories into the account, from lines to holds. The numbers of holds are the process's own, so they are names of
 * the file's. Events know a lock and a fence only, and may come before the acquire's line is written: they find their holds when the
 * file has been read. */
#include "tests/judge/account.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* LEASH_EVENT_LOST, or LEASH_EVENT_ABANDONED. */
struct ending {
	uint64_t fence;
	int64_t moment;
	uint32_t lock, line;
	bool abandoned;
};

struct scribe {
	struct account *account;
	const struct line *line;
	struct hold *hold;         /* that the line's first word names, if its kind is about one */
	uint32_t file, process;    /* process: NOBODY until it said who it is */
	uint32_t first_hold;
	struct names numbers;      /* of its holds, in their order */
	ARRAY(struct ending) endings;
};

static enum answer
answer(const struct word *word)
{
	static const struct {
		const char *name;
		enum answer answer;
	} answers[] = {
		{ "OK", ANSWER_OK }, { "TIMEOUT", ANSWER_TIMEOUT }, { "LOST", ANSWER_LOST }, { "NOT_HELD", ANSWER_NOT_HELD },
		{ "CANCELED", ANSWER_CANCELED }, { "UNAVAILABLE", ANSWER_UNAVAILABLE }, { "UNKNOWN", ANSWER_UNKNOWN },
		{ "INVALID", ANSWER_OTHER }, { "NO_MEMORY", ANSWER_OTHER }, { "DENIED", ANSWER_OTHER }, { "MISMATCH", ANSWER_OTHER },
		{ "FORKED", ANSWER_OTHER }, { "IN_CALLBACK", ANSWER_OTHER }, { "CLOSED", ANSWER_OTHER }, { "PROTOCOL", ANSWER_OTHER },
		{ "UNSUPPORTED", ANSWER_OTHER },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (word_is(word, answers[i].name))
			return answers[i].answer;
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
	a->files.at[s->file].process = s->process;
	return NULL;
}

static const char *
ask(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct account *a = s->account;

	if (!word_is(&words[3], "plain") && !word_is(&words[3], "fair"))
		return "neither plain nor fair";
	if (account_known(&s->numbers, &words[0]) != NOBODY)
		return "this hold was asked for before";
	account_name(&s->numbers, &words[0]);
	PUSH(&a->holds, (struct hold){ .number = (uint64_t)words[0].number, .process = s->process, .lock = account_name(&a->locks, &words[1]),
		.token = NOBODY, .ask_line = s->line->number, .asked = s->line->moment, .wait_ms = words[2].number, .last = s->line->moment,
		.got = NEVER, .told = NEVER, .announced = NEVER, .give = NEVER, .gave = NEVER, .let_go = NEVER, .later = NEVER,
		.later_hold = NOBODY });
	return NULL;
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
	/* one that was lost before it could be looked at has no fence, or no token, any more; it has no valid-until either */
	return (hold->fence == 0 || hold->token == NOBODY) && hold->until != 0 ? "held, but without a fence or a token" : NULL;
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
give(struct scribe *s)
{
	if (s->hold->give != NEVER)
		return "this hold was given before";
	s->hold->give = s->hold->last = s->line->moment;
	s->hold->give_line = s->line->number;
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
end_hold(struct scribe *s, const struct word *lock, bool abandoned)
{
	PUSH(&s->endings, (struct ending){ .lock = account_name(&s->account->locks, lock), .fence = (uint64_t)lock[1].number,
		.moment = s->line->moment, .line = s->line->number, .abandoned = abandoned });
	return NULL;
}

static const char *
lost(struct scribe *s)
{
	return end_hold(s, &s->line->words[0], false);
}

static const char *
event(struct scribe *s)
{
	const struct word *words = s->line->words;

	if (word_is(&words[0], "LOST"))
		return "that is \"lost\"";
	return word_is(&words[0], "ABANDONED") ? end_hold(s, &words[1], true) : NULL;
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

static const char *
still(struct scribe *s)
{
	int64_t ms = s->line->words[0].number, moment = s->line->moment;

	if (ms > moment / 1000000)
		return "that is longer than since the machine's start";
	PUSH(&s->account->pauses, (struct pause){ .process = s->process, .from = moment - ms * 1000000, .to = moment });
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

	a->verdict->killed += line->kind == LINE_KILLED;
	a->verdict->breaches += line->kind == LINE_BREACH;
	PUSH(&a->marks, (struct mark){ .moment = line->moment, .pid = line->words[0].number, .file = s->file, .line = line->number,
		.process = NOBODY, .kind = line->kind, .emptied = line->kind == LINE_BREACH && word_is(&line->words[0], "emptied") });
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

	account_object(s->account, rule, "%s:%" PRIu32 ": %s: \"%.*s\"", s->account->files.at[s->file].name, line->number, what,
	               line->size < 200 ? (int)line->size : 200, line->at);
}

static const char *
key(struct scribe *s)
{
	object(s, VERDICT_KEYS, s->line->kind == LINE_LEFT ? "a key was left over" : "a key has no end");
	return NULL;
}

static const struct {
	const char *(*take)(struct scribe *s); /* NULL: it says nothing to the judge */
	enum { ANYBODY, PROCESS, HOLD, GOT } by; /* a process that uses locks; of a hold that it asked for; that it got */
} kinds[LINE_KINDS_COUNT] = {
	[LINE_PROCESS] = { process, ANYBODY }, [LINE_ASK] = { ask, PROCESS }, [LINE_GOT] = { got, HOLD },
	[LINE_LOOK] = { look, GOT }, [LINE_GIVE] = { give, GOT }, [LINE_GAVE] = { gave, GOT }, [LINE_LOST] = { lost, PROCESS },
	[LINE_EVENT] = { event, PROCESS }, [LINE_WROTE] = { wrote, GOT }, [LINE_STILL] = { still, PROCESS },
	[LINE_END] = { end, PROCESS }, [LINE_SEED] = { NULL, ANYBODY }, [LINE_FAULT] = { fault, ANYBODY },
	[LINE_OVER] = { NULL, ANYBODY }, [LINE_KILLED] = { mark, ANYBODY }, [LINE_FROZEN] = { mark, ANYBODY },
	[LINE_THAWED] = { mark, ANYBODY }, [LINE_BREACH] = { mark, ANYBODY }, [LINE_MENDED] = { mark, ANYBODY },
	[LINE_RENEW] = { renew, ANYBODY }, [LINE_ENDLESS] = { key, ANYBODY }, [LINE_LEFT] = { key, ANYBODY },
};

static const char *
find_hold(struct scribe *s)
{
	uint32_t index = account_known(&s->numbers, &s->line->words[0]);

	if (index == NOBODY)
		return "no such hold was asked for";
	s->hold = &s->account->holds.at[s->first_hold + index];
	if (s->line->moment < s->hold->last)
		return "its moment is before that of the hold's last line";
	return kinds[s->line->kind].by == GOT && s->hold->got_answer != ANSWER_OK ? "this hold was never got" : NULL;
}

static const char *
take(struct scribe *s)
{
	struct account *a = s->account;
	struct process *p = s->process != NOBODY ? &a->processes.at[s->process] : NULL;
	const char *wrong = NULL;

	a->verdict->records++;
	if (s->line->moment > a->horizon)
		a->horizon = s->line->moment;
	if (p && s->line->moment > p->last)
		p->last = s->line->moment;
	if (p && p->ended != NEVER && s->line->kind != LINE_STILL)
		return "the process had ended";
	if (!p && kinds[s->line->kind].by != ANYBODY)
		return "by whom? There is no \"process\" in the first line";
	if (kinds[s->line->kind].by >= HOLD)
		wrong = find_hold(s);
	return wrong || !kinds[s->line->kind].take ? wrong : kinds[s->line->kind].take(s);
}

/* ---- whose ending was it? ---- */

static int
compare(const struct hold *l, const struct hold *r)
{
	int locks = account_compare(l->lock, r->lock);

	return locks ? locks : account_compare((int64_t)l->fence, (int64_t)r->fence);
}

static int
by_fence(const void *left, const void *right, void *holds)
{
	return compare((struct hold *)holds + *(const uint32_t *)left, (struct hold *)holds + *(const uint32_t *)right);
}

static struct hold *
of_ending(const struct scribe *s, const uint32_t *order, size_t count, const struct ending *ending)
{
	const struct hold like = { .lock = ending->lock, .fence = ending->fence };
	struct hold *holds = s->account->holds.at;

	FIRST_NOT(i, count, compare(&holds[order[i]], &like) < 0)
	return i < count && compare(&holds[order[i]], &like) == 0 ? &holds[order[i]] : NULL;
}

/* Those of which no line says a fence: they were lost before it could be read, or their process was killed before it wrote it. */
static bool
is_loose(const struct hold *hold)
{
	return hold->got_answer == ANSWER_NONE || (hold->got_answer == ANSWER_OK && hold->fence == 0);
}

static struct hold *
of_loose(const struct scribe *s, const uint32_t *order, size_t count, const struct ending *ending)
{
	for (size_t i = 0; i < count; i++) {
		struct hold *hold = &s->account->holds.at[order[i]];

		if (hold->lock == ending->lock && hold->asked <= ending->moment && !hold->ended)
			return hold;
	}
	return NULL;
}

static void
apply(struct hold *hold, const struct ending *ending)
{
	hold->ended = true;
	if (ending->abandoned) {
		if (ending->moment < hold->let_go)
			hold->let_go = hold->last < ending->moment ? hold->last : ending->moment;
		return;
	}
	if (ending->moment < hold->announced)
		hold->announced = ending->moment;
	if (ending->moment < hold->told) {
		hold->told = ending->moment;
		hold->told_line = ending->line;
	}
}

static void
apply_endings(struct scribe *s)
{
	struct account *a = s->account;
	size_t count = 0, loose = 0;
	uint32_t *order, *loose_ones;

	if (s->endings.count == 0)
		return;
	order = account_alloc(a->holds.count - s->first_hold, sizeof(*order));
	loose_ones = account_alloc(a->holds.count - s->first_hold, sizeof(*loose_ones));
	for (size_t i = s->first_hold; i < a->holds.count; i++) {
		if (is_loose(&a->holds.at[i]))
			loose_ones[loose++] = (uint32_t)i;
		else if (a->holds.at[i].got_answer == ANSWER_OK)
			order[count++] = (uint32_t)i;
	}
	qsort_r(order, count, sizeof(*order), by_fence, a->holds.at);
	EACH(const struct ending, ending, s->endings) {
		struct hold *hold = of_ending(s, order, count, ending);

		if (!hold)
			hold = of_loose(s, loose_ones, loose, ending);
		if (hold)
			apply(hold, ending);
		else
			account_object(a, VERDICT_HISTORY, "%s:%" PRIu32 ": there was no hold with fence %" PRIu64 " to be %s",
			               a->files.at[s->file].name, ending->line, ending->fence, ending->abandoned ? "abandoned" : "lost");
	}
	free(loose_ones);
	free(order);
}

void
scribe_read(struct account *a, uint32_t file)
{
	struct line line;
	struct scribe s = { .account = a, .line = &line, .file = file, .process = NOBODY, .first_hold = (uint32_t)a->holds.count };
	enum reader_result result;

	while ((result = reader_next(&a->files.at[file].reader, &line)) != READER_END) {
		const char *wrong = result == READER_LINE ? take(&s) : "no line of a history";

		if (result == READER_TORN)
			PUSH(&a->torn, (struct mark){ .file = file, .line = line.number, .process = s.process });
		else if (wrong)
			object(&s, VERDICT_HISTORY, wrong);
	}
	apply_endings(&s);
	if (s.process != NOBODY)
		a->processes.at[s.process].holds = (uint32_t)a->holds.count - s.first_hold;
	free(s.endings.at);
	free(s.numbers.words.at);
	free(s.numbers.table);
}
