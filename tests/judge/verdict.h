/* The verdict on a run: whether what all its processes wrote down (history.h) could be so if leash kept its promises. It is found
 * afterwards, from the histories alone, without a line of leash's own code, in O(n log n).
 *
 * A hold is valid from the moment when the acquire that got it had returned, to the first of: its release begins; its process is
 * told that it is lost; the last valid-until that was noted of it is past. So that of a killed process is valid to its
 * valid-until. This is never more than what the process could rely on, and no two processes may rely on one lock at once.
 *
 *   exclusion  of a lock no two holds are valid at once that do not both read, and no more permits than any of them allows; where who
 *              reads goes on to write, or the other way round, nobody else wrote in between
 *   promise    a hold is not told lost before its valid-until
 *   fences     of valid holds they grow in the order in which those began; of all holds, if one was asked for after the other was
 *              got; no two are equal, but of those who read, and of those who read at once all. Permits have none
 *   releases   what a release answers agrees with what happened to the hold before
 *   waits      every ask and every release was answered, and every process ended, unless it was killed; a wait with an end has no
 *              TIMEOUT before it, and no answer long after it
 *   told       whose lease ran out is told so, before the next holder begins; and by an event, if a look or a release finds it out
 *   renewals   none was executed long after the release of its hold
 *   keys       none without an end, none left over
 *   register   it took no fence that is smaller than one that it had taken before, and refused none while its hold was valid
 *   gates      who passed a barrier was there at some moment together with enough others; who found a latch open, after enough
 *              had begun to arrive
 *   leaders    what was proclaimed by a hold is shown with that hold's fence, and to each who watches in the order of the fences
 *   history    the histories themselves make sense
 *
 * While something that the nemesis itself did ("breach" to "mended") broke what leash relies on, the first, the second, the fourth, the
 * sixth and those of barriers and leaders are not asked of what lived then; where it only emptied the server, the second, the fourth and that of leaders. Of those who have one
 * token, one after the other, all lived when the first did: handing on asks no server. So their fences are as old as the first's. Time
 * for which a process stood still is not counted against it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VERDICT_RULES_MAP(X) \
	X(EXCLUSION, "exclusion") X(PROMISE, "promise") X(FENCES, "fences") X(RELEASES, "releases") X(WAITS, "waits") \
	X(TOLD, "told") X(RENEWALS, "renewals") X(KEYS, "keys") X(REGISTER, "register") X(GATES, "gates") \
	X(LEADERS, "leaders") X(HISTORY, "history")

enum verdict_rule {
#define VERDICT_RULE_(name, text) VERDICT_##name,
	VERDICT_RULES_MAP(VERDICT_RULE_)
#undef VERDICT_RULE_
	VERDICT_RULES
};

enum {
	VERDICT_TEXTS = 10,             /* of so many violations of a rule it is said what they are */
	VERDICT_TOLD_GRACE_MS = 250,    /* within which a running process that is woken has written down that it is told */
	VERDICT_EVENT_GRACE_MS = 1000,  /* within which an event comes, which has a thread of its own, on a machine that is too busy */
	VERDICT_WAIT_GRACE_MS = 1000,   /* by which a wait may end late there */
	VERDICT_RENEW_GRACE_MS = 250,   /* within which a renewal is executed that was sent, */
	VERDICT_LATE_GRACE_MS = 10000,  /* and a late one */
	VERDICT_PLACE_GRACE_MS = 13000, /* within which a barrier notices that somebody has gone, of whom a late word may come */
};

/* What is counted beside violations. */
#define VERDICT_COUNTS(X) \
	X(files, "") X(processes, "") X(killed, "of them") X(faults, "") X(breaches, "") X(excused, "holds that lived in a breach") \
	X(locks, "") X(asks, "") X(holds, "") X(beside, "of them, that were valid together with others") X(trades, "of them, in place of another") \
	X(losses, "holds that were told lost, or were by the answer of their release") \
	X(met, "at barriers, with others") X(opened, "who found a latch open") X(news, "of leaders that proclaimed something") \
	X(taken, "writes to the registers") X(refused, "likewise: what a holder did after its lease") X(renewed, "")

struct verdict {
	uint64_t violations[VERDICT_RULES];
	char *texts[VERDICT_RULES][VERDICT_TEXTS];

#define VERDICT_FIELD_(name, text) int64_t name;
	VERDICT_COUNTS(VERDICT_FIELD_)
#undef VERDICT_FIELD_
};

/* Judge all "*.history" of a folder. False, and errno, if one cannot be read; then there is no verdict. */
bool verdict_find(struct verdict *verdict, const char *folder);
void verdict_clear(struct verdict *verdict);

uint64_t verdict_violations(const struct verdict *verdict);   /* of all rules */
const char *verdict_rule_name(enum verdict_rule rule);
void verdict_print(const struct verdict *verdict, FILE *out);
