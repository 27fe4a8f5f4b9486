/* From lines to holds. The numbers of holds are the process's own, so they are names of the file's. Events know a
 * lock and a fence only, and may come before the acquire's line is written: they find their holds when the file has been read. */
#include "tests/judge/scribe.h"

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
	uint32_t file, process;    /* process: NOBODY until it said who it is */
	uint32_t first_hold;
	struct names numbers;      /* of its holds, in their order */
	ARRAY(struct ending) endings;
};

/* ---- objections ---- */

static void
object(struct scribe *s, const char *what)
{
	const struct line *line = s->line;

	account_object(s->account, VERDICT_HISTORY, "%s:%" PRIu32 ": %s: \"%.*s\"", s->account->files.at[s->file].name, line->number, what,
	               line->size < 200 ? (int)line->size : 200, line->at);
}

/* ---- holds by their number ---- */

/* The hold that the line's first word names; NULL, and an objection, if it was never asked for. */
static struct hold *
find(struct scribe *s)
{
	uint32_t index = account_known(&s->numbers, &s->line->words[0]);
	struct hold *hold;

	if (index == NOBODY) {
		object(s, "no such hold was asked for");
		return NULL;
	}
	hold = &s->account->holds.at[s->first_hold + index];
	if (s->line->moment < hold->last) {
		object(s, "its moment is before that of the hold's last line");
		return NULL;
	}
	return hold;
}

/* ... and that it was got. */
static struct hold *
find_got(struct scribe *s)
{
	struct hold *hold = find(s);

	if (hold && hold->got_answer != ANSWER_OK) {
		object(s, "this hold was never got");
		return NULL;
	}
	return hold;
}

/* ---- words ---- */

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

/* ---- by a process that uses locks ---- */

static void
process(struct scribe *s)
{
	struct account *a = s->account;

	if (s->line->number != 1) {
		object(s, "this belongs into the first line");
		return;
	}
	s->process = (uint32_t)a->processes.count;
	PUSH(&a->processes, (struct process){ .file = s->file, .pid = s->line->words[0].number, .started = s->line->moment, .ended = NEVER,
		.killed = NEVER, .first_hold = s->first_hold });
	a->files.at[s->file].process = s->process;
}

static void
ask(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct account *a = s->account;

	if (!word_is(&words[3], "plain") && !word_is(&words[3], "fair")) {
		object(s, "neither plain nor fair");
		return;
	}
	if (account_known(&s->numbers, &words[0]) != NOBODY) {
		object(s, "this hold was asked for before");
		return;
	}
	account_name(&s->numbers, &words[0]);
	PUSH(&a->holds, (struct hold){ .number = (uint64_t)words[0].number, .process = s->process, .lock = account_name(&a->locks, &words[1]), .token = NOBODY,
		.ask_line = s->line->number, .asked = s->line->moment, .wait_ms = words[2].number, .last = s->line->moment,
		.got = NEVER, .told = NEVER, .announced = NEVER, .give = NEVER, .gave = NEVER, .let_go = NEVER, .later = NEVER, .later_hold = NOBODY });
}

static void
got(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct hold *hold = find(s);
	enum answer how = answer(&words[1]);
	bool nothing = words[2].number == 0 && word_is(&words[3], "-") && words[4].number == 0;

	if (!hold)
		return;
	if (hold->got_answer != ANSWER_NONE) {
		object(s, "this acquire had returned before");
		return;
	}
	if (how == ANSWER_NONE || (how != ANSWER_OK && !nothing)) {
		object(s, how == ANSWER_NONE ? "no such status" : "not held, but it has something");
		return;
	}
	hold->got_answer = how;
	hold->got = hold->last = s->line->moment;
	hold->got_line = hold->until_line = s->line->number;
	hold->fence = (uint64_t)words[2].number;
	hold->until = words[4].number;
	if (!word_is(&words[3], "-"))
		hold->token = account_name(&s->account->tokens, &words[3]);
	/* one that was lost before it could be looked at has no fence, or no token, any more; it has no valid-until either */
	if ((hold->fence == 0 || hold->token == NOBODY) && hold->until != 0)
		object(s, "held, but without a fence or a token");
}

static void
look(struct scribe *s)
{
	struct hold *hold = find_got(s);
	int64_t until = s->line->words[1].number;

	if (!hold || hold->give != NEVER)
		return;   /* it has been given up: of no use to anybody */
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
}

static void
give(struct scribe *s)
{
	struct hold *hold = find_got(s);

	if (!hold)
		return;
	if (hold->give != NEVER) {
		object(s, "this hold was given before");
		return;
	}
	hold->give = hold->last = s->line->moment;
	hold->give_line = s->line->number;
}

static void
gave(struct scribe *s)
{
	struct hold *hold = find_got(s);
	enum answer how = answer(&s->line->words[1]);

	if (!hold)
		return;
	if (hold->give == NEVER || hold->gave != NEVER) {
		object(s, hold->give == NEVER ? "no release of this hold had begun" : "this release had returned before");
		return;
	}
	if (how == ANSWER_NONE || how == ANSWER_TIMEOUT || how == ANSWER_CANCELED) {
		object(s, "no status of a release");
		return;
	}
	hold->gave = hold->last = s->line->moment;
	hold->gave_answer = how;
}

static void
end_hold(struct scribe *s, const struct word *lock, const struct word *fence, bool abandoned)
{
	PUSH(&s->endings, (struct ending){ .lock = account_name(&s->account->locks, lock), .fence = (uint64_t)fence->number,
		.moment = s->line->moment, .line = s->line->number, .abandoned = abandoned });
}

static void
lost(struct scribe *s)
{
	end_hold(s, &s->line->words[0], &s->line->words[1], false);
}

static void
event(struct scribe *s)
{
	const struct word *words = s->line->words;

	if (word_is(&words[0], "LOST"))
		object(s, "that is \"lost\"");
	else if (word_is(&words[0], "ABANDONED"))
		end_hold(s, &words[1], &words[2], true);
}

static void
wrote(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct hold *hold = find_got(s);
	struct account *a = s->account;
	bool taken = word_is(&words[3], "taken");

	if (!hold)
		return;
	if (!taken && !word_is(&words[3], "refused")) {
		object(s, "neither taken nor refused");
		return;
	}
	if (account_name(&a->locks, &words[1]) != hold->lock || hold->fence != (uint64_t)words[2].number) {
		object(s, "this hold has another lock, or another fence");
		return;
	}
	PUSH(&a->deeds, (struct deed){ .before = hold->last, .moment = s->line->moment, .fence = hold->fence,
		.hold = (uint32_t)(hold - a->holds.at), .line = s->line->number, .taken = taken });
	hold->last = s->line->moment;
}

static void
still(struct scribe *s)
{
	struct account *a = s->account;
	int64_t ms = s->line->words[0].number, moment = s->line->moment;

	if (ms > moment / 1000000) {
		object(s, "that is longer than since the machine's start");
		return;
	}
	PUSH(&a->pauses, (struct pause){ .process = s->process, .from = moment - ms * 1000000, .to = moment });
}

static void
end(struct scribe *s)
{
	s->account->processes.at[s->process].ended = s->line->moment;
}

/* ---- by the others ---- */

static void
mark(struct scribe *s)
{
	struct account *a = s->account;

	PUSH(&a->marks, (struct mark){ .moment = s->line->moment, .pid = s->line->words[0].number, .file = s->file,
		.line = s->line->number, .process = NOBODY, .kind = s->line->kind });
}

static void
killed(struct scribe *s)
{
	s->account->verdict->killed++;
	mark(s);
}

static void
breach(struct scribe *s)
{
	struct account *a = s->account;

	a->verdict->breaches++;
	mark(s);
	a->marks.at[a->marks.count - 1].emptied = word_is(&s->line->words[0], "emptied");
}

static void
fault(struct scribe *s)
{
	s->account->verdict->faults++;
}

static void
renew(struct scribe *s)
{
	const struct word *words = s->line->words;
	struct account *a = s->account;
	bool late = word_is(&words[1], "late");

	if (!late && words[1].size > 0) {
		object(s, "how is it, if not late?");
		return;
	}
	PUSH(&a->renewals, (struct renewal){ .moment = s->line->moment, .file = s->file, .line = s->line->number,
		.token = account_name(&a->tokens, &words[0]), .late = late });
}

static void
key(struct scribe *s)
{
	const struct line *line = s->line;

	account_object(s->account, VERDICT_KEYS, "%s:%" PRIu32 ": a key %s: \"%.*s\"", s->account->files.at[s->file].name, line->number,
	               line->kind == LINE_LEFT ? "was left over" : "has no end", line->size < 200 ? (int)line->size : 200, line->at);
}

static void
nothing(struct scribe *s)
{
	(void)s;
}

/* ---- a file ---- */

static const struct {
	void (*take)(struct scribe *s);
	bool anybody;   /* may write it, not only a process that uses locks */
} kinds[LINE_KINDS_COUNT] = {
	[LINE_PROCESS] = { process, true }, [LINE_ASK] = { ask, false }, [LINE_GOT] = { got, false },
	[LINE_LOOK] = { look, false }, [LINE_GIVE] = { give, false }, [LINE_GAVE] = { gave, false },
	[LINE_LOST] = { lost, false }, [LINE_EVENT] = { event, false }, [LINE_WROTE] = { wrote, false },
	[LINE_STILL] = { still, false }, [LINE_END] = { end, false }, [LINE_SEED] = { nothing, true },
	[LINE_FAULT] = { fault, true }, [LINE_OVER] = { nothing, true }, [LINE_KILLED] = { killed, true },
	[LINE_FROZEN] = { mark, true }, [LINE_THAWED] = { mark, true }, [LINE_BREACH] = { breach, true },
	[LINE_MENDED] = { mark, true }, [LINE_RENEW] = { renew, true }, [LINE_ENDLESS] = { key, true }, [LINE_LEFT] = { key, true },
};

static void
take(struct scribe *s)
{
	struct account *a = s->account;
	struct process *p = s->process != NOBODY ? &a->processes.at[s->process] : NULL;

	a->verdict->records++;
	if (s->line->moment > a->horizon)
		a->horizon = s->line->moment;
	if (p && s->line->moment > p->last)
		p->last = s->line->moment;
	if (p && p->ended != NEVER && s->line->kind != LINE_STILL)
		object(s, "the process had ended");
	else if (!p && !kinds[s->line->kind].anybody)
		object(s, "by whom? There is no \"process\" in the first line");
	else
		kinds[s->line->kind].take(s);
}

static void
torn(struct scribe *s)
{
	struct account *a = s->account;

	PUSH(&a->torn, (struct mark){ .file = s->file, .line = s->line->number, .process = s->process });
}

/* ---- whose ending was it? ---- */

static int
by_fence(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg, *l = &holds[*(const uint32_t *)left], *r = &holds[*(const uint32_t *)right];

	if (l->lock != r->lock)
		return l->lock < r->lock ? -1 : 1;
	return (l->fence > r->fence) - (l->fence < r->fence);
}

static bool
is_before(const struct hold *hold, const struct ending *ending)
{
	return hold->lock < ending->lock || (hold->lock == ending->lock && hold->fence < ending->fence);
}

static struct hold *
of_ending(const struct scribe *s, const uint32_t *order, size_t count, const struct ending *ending)
{
	struct hold *holds = s->account->holds.at;

	FIRST_NOT(i, count, is_before(&holds[order[i]], ending))
	return i < count && holds[order[i]].lock == ending->lock && holds[order[i]].fence == ending->fence ? &holds[order[i]] : NULL;
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
	for (size_t i = 0; i < s->endings.count; i++) {
		const struct ending *ending = &s->endings.at[i];
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
		if (result == READER_LINE)
			take(&s);
		else if (result == READER_TORN)
			torn(&s);
		else
			object(&s, "no line of a history");
	}
	apply_endings(&s);
	if (s.process != NOBODY)
		a->processes.at[s.process].holds = (uint32_t)a->holds.count - s.first_hold;
	free(s.endings.at);
	free(s.numbers.words.at);
	free(s.numbers.table);
}
