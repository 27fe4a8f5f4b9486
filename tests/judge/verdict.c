/* The rules. Each goes once through the holds, in the order that it needs: by lock, and within that by the moment of the ask or of
 * the acquire's return, or by fence. Sorting is what costs most. */
#include "tests/judge/verdict.h"

#include "tests/judge/account.h"
#include "tests/support/trouble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

ORDER(by_got, struct hold, got)
ORDER(by_since, struct hold, since)
ORDER(by_fence, struct hold, fence)
ORDER(by_begin, struct deed, before)
ORDER(by_end, struct deed, moment)

static void
put_in_order(struct account *a)
{
	struct hold **all = zeroed(a->holds.count * sizeof(struct hold *));

	EACH(struct hold, hold, a->holds)
		if (hold->got_answer == ANSWER_OK)
			all[a->got++] = hold;
	a->by_got = account_sorted(all, a->got, by_got);
	a->by_since = account_sorted(all, a->got, by_since);
	a->by_fence = account_sorted(all, a->got, by_fence);
	free(all);
}

#define SHOW(hold, line) account_hold(a, hold, (hold)->line)

#define object(account, rule, hold, ...) account_object_to((account), (rule), (hold)->lock, __VA_ARGS__)

/* ---- exclusion ---- */

static void
fence_object(struct account *a, const struct hold *before, const struct hold *hold, const char *why)
{
	object(a, VERDICT_FENCES, hold, "%s has fence %" PRIu64 ", and %s, %s, has %" PRIu64, SHOW(before, got_line),
	       before->fence, SHOW(hold, got_line), why, hold->fence);
}

static bool
reads(const struct hold *hold)
{
	return hold->limit == 0;
}

/* Beside these, which were got before it. If that leaves no room, those have ended that nobody relies on any more. */
static void
come_in(struct account *a, struct hold *const *in, size_t count, const struct hold *hold)
{
	uint64_t out = hold->count, limit = reads(hold) ? UINT64_MAX : hold->limit;
	const struct hold *longest = NULL, *unlike = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct hold *other = in[i];

		if (other->ends <= hold->got)
			continue;
		out += other->count;
		limit = !reads(other) && other->limit < limit ? other->limit : limit;
		if (!longest || other->ends > longest->ends)
			longest = other;
		if (reads(hold) && reads(other) && other->fence < hold->fence)
			unlike = other;
	}
	if (unlike)
		fence_object(a, unlike, hold, "which reads together with it");
	a->verdict->beside += longest != NULL;
	if (out > limit)
		object(a, VERDICT_EXCLUSION, hold, "%s is valid from %" PRId64 " to %" PRId64 ", by %s, "
		       "but %s begins at %" PRId64 ", and is valid to %" PRId64 ": %" PRIu64 " of %" PRIu64, SHOW(longest, got_line),
		       longest->got, longest->ends, SHOW(longest, until_line), SHOW(hold, got_line),
		       hold->got, hold->ends, out, limit);
	for (size_t i = 0; out == limit && i < count; i++)
		if (in[i]->ends <= hold->got && in[i]->is_permits && in[i]->later == NEVER) {
			in[i]->later = hold->got;
			in[i]->later_hold = hold;
		}
}

static void
exclusion(struct account *a)
{
	struct hold **in = zeroed(a->got * sizeof(*in));
	size_t count = 0;

	for (size_t i = 0; i < a->got; i++) {
		struct hold *hold = a->by_got[i];
		size_t n = 0;

		/* those are left that are valid still, or of which their process believes it */
		for (size_t k = 0; k < count; k++)
			if (in[k]->lock == hold->lock &&
			    (in[k]->ends > hold->got || (in[k]->let_go > hold->got && a->processes.at[in[k]->process].killed > hold->got)))
				in[n++] = in[k];
		count = n;
		if (hold->excused)
			continue;
		if (hold->valid)
			come_in(a, in, count, hold);
		in[count++] = hold;
	}
	free(in);
}

/* Who reads, and then writes without having given it up, or the other way round, wrote after nobody else in between. */
static void
trades(struct account *a)
{
	const struct hold *writer = NULL;   /* the last before it, by fences */

	for (size_t i = 0; i < a->got; i++) {
		const struct hold *hold = a->by_fence[i], *old = hold->old != NOBODY ? &a->holds.at[hold->old] : NULL;

		a->verdict->trades += old != NULL && !hold->waited;
		if (old && !hold->waited && hold->fence != 0 && old->fence != 0 && !hold->excused && !old->excused && writer && writer->lock == hold->lock &&
		    writer->fence > old->fence)
			object(a, VERDICT_EXCLUSION, hold, "%s, with fence %" PRIu64 ", was traded for %s, with %" PRIu64 ", "
			       "but %s was alone with %" PRIu64, SHOW(old, got_line), old->fence, SHOW(hold, got_line), hold->fence,
			       SHOW(writer, got_line), writer->fence);
		if (!reads(hold))
			writer = hold;
	}
}

/* ---- promise ---- */

static void
promise(struct account *a)
{
	EACH(const struct hold, hold, a->holds) {
		if (hold->got_answer == ANSWER_OK && !hold->emptied && hold->told < hold->let_go && hold->told < hold->until - MS)
			object(a, VERDICT_PROMISE, hold, "%s was lost at %" PRId64 ", line %" PRIu32 ", "
			       "but line %" PRIu32 " says that it is valid to %" PRId64, SHOW(hold, got_line),
			       hold->told, hold->told_line, hold->until_line, hold->until);
	}
}

/* ---- fences ---- */

/* Of holds that are valid one after the other. Each is compared with the one before it, so that one wrong fence is one violation.
 * One that was over when its line was written, or was excused, may itself be older than it looks, but it is no younger. */
static void
fences_of_valid(struct account *a)
{
	const struct hold *before = NULL;

	for (size_t i = 0; i < a->got; i++) {
		struct hold *hold = a->by_got[i];
		bool counts = hold->valid && !hold->excused;

		if (before && before->lock != hold->lock)
			before = NULL;
		if (counts && before && hold->fence < before->fence) {
			fence_object(a, before, hold, "which began later");
			hold->objected = true;
		}
		if (counts || !before || hold->fence > before->fence)
			before = hold;
	}
}

/* Of all holds: a fence that was known when another was asked for is the smaller one, whatever was broken meanwhile. */
static void
fences_of_all(struct account *a)
{
	const struct hold *largest = NULL;
	size_t known = 0;

	for (size_t i = 0; i < a->got; i++) {
		const struct hold *hold = a->by_since[i];

		for (; known < a->got; known++) {
			const struct hold *other = a->by_got[known];

			if (other->lock > hold->lock || (other->lock == hold->lock && other->got >= hold->since))
				break;
			if (!largest || largest->lock != other->lock || other->fence > largest->fence)
				largest = other;
		}
		if (largest && largest->lock == hold->lock && hold->fence != 0 && hold->fence < largest->fence &&
		    !hold->objected)
			fence_object(a, largest, hold, "asked for after that");
	}
}

static void
fences_unique(struct account *a)
{
	for (size_t i = 1; i < a->got; i++) {
		const struct hold *before = a->by_fence[i - 1], *hold = a->by_fence[i];

		if (before->lock == hold->lock && before->fence == hold->fence && hold->fence != 0 && !(reads(before) && reads(hold)))
			fence_object(a, before, hold, "another hold");
	}
}

static void
fences(struct account *a)
{
	fences_of_valid(a);
	fences_of_all(a);
	fences_unique(a);
}

/* ---- the next holder ---- */

static const struct hold *
earlier(const struct hold *a, const struct hold *b)
{
	return !a || (b && b->got < a->got) ? b : a;
}

/* Of each hold: the first moment at which one with a larger fence was got. By then this one had ended in Redis. If that was before this
 * one began, it is the fences that are wrong. */
static void
find_later(struct account *a)
{
	/* the next one in that order; and the first got, of those with a larger fence, and of those with that of the next one */
	const struct hold *after = NULL, *first = NULL, *same = NULL;

	for (size_t i = a->got; i-- > 0;) {
		struct hold *hold = a->by_fence[i];

		if (!after || after->lock != hold->lock)
			first = same = NULL;
		else if (after->fence != hold->fence) {
			first = earlier(first, same);
			same = NULL;
		}
		after = hold;
		if (hold->fence == 0)
			continue;   /* nobody knows which are later */
		if (first && first->got > (hold->valid && !hold->excused ? hold->got : hold->since)) {
			hold->later = first->got;
			hold->later_hold = first;
		}
		same = earlier(same, hold);
	}
}

/* ---- releases ---- */

static bool
found_gone(const struct hold *hold)
{
	return hold->gave_answer == ANSWER_LOST || hold->gave_answer == ANSWER_NOT_HELD;
}

static void
release_object(struct account *a, const struct hold *hold, const char *answer, const char *but, int64_t moment)
{
	object(a, VERDICT_RELEASES, hold, "the release of %s, at %" PRId64 " to %" PRId64 ", answered %s, %s %" PRId64,
	       SHOW(hold, give_line), hold->give, hold->gave, answer, but, moment);
}

static void
releases(struct account *a)
{
	EACH(const struct hold, hold, a->holds) {
		bool ok = hold->gave_answer == ANSWER_OK;
		char but[300];

		if (hold->emptied_later)
			continue;
		if (ok && hold->told < hold->give) {
			snprintf(but, sizeof(but), "but line %" PRIu32 " tells that it is lost, at", hold->told_line);
			release_object(a, hold, "OK", but, hold->told);
		} else if (ok && hold->later < hold->give) {
			const struct hold *later = hold->later_hold;

			snprintf(but, sizeof(but), "but %s was got before, at", SHOW(later, got_line));
			release_object(a, hold, "OK", but, hold->later);
		} else if (found_gone(hold) && hold->until - MS > hold->gave && hold->told > hold->give) {
			snprintf(but, sizeof(but), "but line %" PRIu32 " says that it is valid to", hold->until_line);
			release_object(a, hold, hold->gave_answer == ANSWER_LOST ? "LOST" : "NOT_HELD", but, hold->until);
		}
	}
}

/* ---- waits ---- */

static void
wait_object(struct account *a, const struct hold *hold, const char *how)
{
	object(a, VERDICT_WAITS, hold, "the ask for %s, at %" PRId64 ", for %" PRId64 " ms, was answered %s, at %" PRId64,
	       SHOW(hold, ask_line), hold->asked, hold->wait_ms, how, hold->got);
}

/* One without an end has no TIMEOUT. A try is as long as the server may take to answer, which the judge does not know; and so is the end
 * of one at a barrier. */
static void
wait_in_time(struct account *a, const struct process *p, const struct hold *hold)
{
	if (hold->got_answer == ANSWER_TIMEOUT && (hold->wait_ms < 0 || (hold->got - hold->asked) / MS + 1 < hold->wait_ms))
		wait_object(a, hold, "TIMEOUT before that was over");
	if (hold->wait_ms > 0 && hold->wait_ms <= NEVER / MS && !hold->meets &&
	    account_awake(p, hold->asked, hold->got) - hold->wait_ms * MS > VERDICT_WAIT_GRACE_MS * MS)
		wait_object(a, hold, "long after that");
}

static void
waits_of(struct account *a, const struct process *p)
{
	bool excused = account_cut_short(p);

	if (p->ended == NEVER && !excused)
		account_object(a, VERDICT_WAITS, "%s: process %" PRId64 " has not ended, and was not killed; its last line is of %" PRId64,
		               a->files.at[p->file].name, p->pid, p->last);
	for (uint32_t i = p->first_hold; i < p->first_hold + p->holds; i++) {
		const struct hold *hold = &a->holds.at[i];

		if (hold->got_answer != ANSWER_NONE)
			wait_in_time(a, p, hold);
		else if (!excused)
			object(a, VERDICT_WAITS, hold, "the ask for %s, at %" PRId64 ", was never answered", SHOW(hold, ask_line), hold->asked);
		if (hold->give != NEVER && hold->gave == NEVER && !excused)
			object(a, VERDICT_WAITS, hold, "the release of %s, at %" PRId64 ", was never answered",
			       SHOW(hold, give_line), hold->give);
	}
}

static void
waits(struct account *a)
{
	EACH(const struct process, p, a->processes)
		waits_of(a, p);
}

/* ---- told ---- */

/* Its next holder began while its process had not given it up, and it ran: how long did it run on without being told? */
static bool
told_before_later(struct account *a, const struct process *p, const struct hold *hold)
{
	int64_t alive = account_alive(a, p), told = hold->told < alive ? hold->told : alive;
	int64_t untold = account_awake(p, hold->later, told);

	if (untold <= VERDICT_TOLD_GRACE_MS * MS)
		return true;
	object(a, VERDICT_TOLD, hold, "%s was lost by %" PRId64 ", when %s was got, but that was %s, in %" PRId64 " ms of running on",
	       SHOW(hold, got_line), hold->later, SHOW(hold->later_hold, got_line), hold->told == NEVER ? "never told" : "told too late",
	       untold / MS);
	return false;
}

/* A look or a release has found out that it is lost: an event must come too, if the process lives to see it. */
static void
told_by_event(struct account *a, const struct process *p, const struct hold *hold)
{
	bool never = hold->announced == NEVER, by_look = hold->told != NEVER;
	int64_t found = by_look ? hold->told : hold->gave, alive = account_alive(a, p);
	int64_t untold = account_awake(p, found, hold->announced < alive ? hold->announced : alive);

	if (untold <= VERDICT_EVENT_GRACE_MS * MS && (!never || p->ended == NEVER))
		return;
	object(a, VERDICT_TOLD, hold, "%s was lost, by a %s at %" PRId64 ", but no event told that%s",
	       account_hold(a, hold, by_look ? hold->told_line : hold->give_line), by_look ? "look" : "release",
	       found, never ? "" : " in time");
}

static void
told(struct account *a)
{
	EACH(const struct hold, hold, a->holds) {
		const struct process *p = &a->processes.at[hold->process];

		if (hold->got_answer != ANSWER_OK)
			continue;
		a->verdict->losses += hold->told != NEVER || found_gone(hold);
		if (hold->excused_later || hold->let_go <= hold->until)
			continue;   /* its lease did not run out, as far as anybody promised */
		if (hold->later < hold->let_go && !told_before_later(a, p, hold))
			continue;
		if (hold->told != NEVER || found_gone(hold))
			told_by_event(a, p, hold);
	}
}

/* ---- renewals ---- */

/* A release that is OK was executed behind all renewals that were sent before it; another one may have come back at once. And who was
 * killed may not have written down who had the token next. */
static int64_t
renewal_grace(const struct account *a, const struct renewal *renewal, const struct hold *hold)
{
	bool late = renewal->late || hold->gave_answer != ANSWER_OK || account_cut_short(&a->processes.at[hold->process]);

	return (late ? VERDICT_LATE_GRACE_MS : VERDICT_RENEW_GRACE_MS) * MS;
}

/* Handed on to a set in its process, which was waiting for another lock. */
static bool
may_be_in_a_set(const struct account *a, const struct renewal *renewal, const struct hold *hold)
{
	const struct process *p = &a->processes.at[hold->process];

	for (uint32_t i = p->first_hold; i < p->first_hold + p->holds; i++) {
		const struct hold *other = &a->holds.at[i];

		if (other->of_set && other->lock == hold->lock && other->asked <= hold->gave && other->got >= hold->give &&
		    (other->got == NEVER || renewal->moment - VERDICT_LATE_GRACE_MS * MS <= other->got))
			return true;
	}
	return false;
}

static void
renewals(struct account *a)
{
	const struct hold **last = account_last_holds(a);

	EACH(const struct renewal, renewal, a->renewals) {
		const struct hold *hold = last[renewal->token];

		/* of another token nobody wrote down that it has it: it was killed */
		if (hold && hold->gave != NEVER && renewal->moment - renewal_grace(a, renewal, hold) > hold->gave &&
		    !may_be_in_a_set(a, renewal, hold))
			object(a, VERDICT_RENEWALS, hold, "%s was released at %" PRId64 ", but renewed at %" PRId64 " (%s:%" PRIu32 ")",
			       SHOW(hold, give_line), hold->gave, renewal->moment, a->files.at[renewal->file].name, renewal->line);
	}
	free(last);
}

/* ---- register ---- */

/* Those that were taken; the others are judged here: who is refused while its hold is valid had somebody with a larger fence before
 * it, at once with it, or out of order. */
static const struct deed **
taken(struct account *a)
{
	const struct deed **all = zeroed(a->deeds.count * sizeof(*all));

	EACH(const struct deed, deed, a->deeds) {
		const struct hold *hold = &a->holds.at[deed->hold];

		a->verdict->refused += !deed->taken;
		if (deed->taken)
			all[a->verdict->taken++] = deed;
		else if (!hold->excused && deed->moment < hold->ends)
			object(a, VERDICT_REGISTER, hold, "the register refused %s a write, by %" PRId64 ", though it is valid to %" PRId64,
			       account_hold(a, hold, deed->line), deed->moment, hold->ends);
	}
	return all;
}

/* A write was done between the line before it and its own: so only what was written down before the former is before it. */
static void
fenced(struct account *a)
{
	const struct deed **all = taken(a), *largest = NULL;
	size_t count = (size_t)a->verdict->taken, done = 0;
	const struct deed **by_ends = account_sorted(all, count, by_end), **by_begins = account_sorted(all, count, by_begin);

	for (size_t i = 0; i < count; i++) {
		const struct deed *deed = by_begins[i];
		const struct hold *hold = &a->holds.at[deed->hold];

		for (; done < count; done++) {
			const struct deed *other = by_ends[done];

			if (other->lock > deed->lock || (other->lock == deed->lock && other->moment >= deed->before))
				break;
			if (!largest || largest->lock != other->lock || other->fence > largest->fence)
				largest = other;
		}
		if (largest && largest->lock == deed->lock && deed->fence < largest->fence)
			object(a, VERDICT_REGISTER, hold, "the register took fence %" PRIu64 " of %s, "
			       "written after %" PRId64 ", though it had taken %" PRIu64 " of %s, written by %" PRId64,
			       deed->fence, SHOW(hold, got_line), deed->before, largest->fence,
			       account_hold(a, &a->holds.at[largest->hold], largest->line), largest->moment);
	}
	free(by_ends);
	free(by_begins);
	free(all);
}

/* ---- the whole ---- */

static void
count(struct account *a)
{
	struct verdict *v = a->verdict;

	v->files = (int64_t)a->files.count;
	v->processes = (int64_t)a->processes.count;
	v->locks = (int64_t)a->locks.words.count;
	v->asks = (int64_t)a->holds.count;
	v->renewed = (int64_t)a->renewals.count;
	EACH(const struct hold, hold, a->holds) {
		v->holds += hold->got_answer == ANSWER_OK;
		v->excused += hold->excused_later;
	}
}

bool
verdict_find(struct verdict *verdict, const char *folder)
{
	struct account a;

	*verdict = (struct verdict){ .files = 0 };
	if (!account_read(&a, verdict, folder)) {
		verdict_clear(verdict);
		account_free(&a);
		return false;
	}
	count(&a);
	put_in_order(&a);
	find_later(&a);
	exclusion(&a);
	trades(&a);
	promise(&a);
	fences(&a);
	releases(&a);
	waits(&a);
	told(&a);
	renewals(&a);
	fenced(&a);
	verdict_gates(&a);
	verdict_leaders(&a);
	account_free(&a);
	return true;
}

void
verdict_clear(struct verdict *v)
{
	for (unsigned rule = 0; rule < VERDICT_RULES; rule++)
		for (unsigned i = 0; i < VERDICT_TEXTS; i++)
			free(v->texts[rule][i]);
	*v = (struct verdict){ .files = 0 };
}

uint64_t
verdict_violations(const struct verdict *v)
{
	uint64_t n = 0;

	for (unsigned rule = 0; rule < VERDICT_RULES; rule++)
		n += v->violations[rule];
	return n;
}

const char *
verdict_rule_name(enum verdict_rule rule)
{
#define NAME(name, text) text,
	return (const char *const[]){VERDICT_RULES_MAP(NAME)}[rule];
}

void
verdict_print(const struct verdict *v, FILE *out)
{
#define PRINT(name, text) fprintf(out, "%-17s %12" PRId64 "%s%s\n", #name, v->name, *(text) ? "  " : "", text);
	VERDICT_COUNTS(PRINT)
	for (unsigned rule = 0; rule < VERDICT_RULES; rule++) {
		for (unsigned i = 0; i < VERDICT_TEXTS && v->texts[rule][i]; i++)
			fprintf(out, "%s: %s\n", verdict_rule_name(rule), v->texts[rule][i]);
		if (v->violations[rule] > VERDICT_TEXTS)
			fprintf(out, "%s: ... and %" PRIu64 " more\n", verdict_rule_name(rule), v->violations[rule] - VERDICT_TEXTS);
	}
	fprintf(out, "verdict: %" PRIu64 " violations\n", verdict_violations(v));
}
