/* Gates: people meet at a barrier, arrive at latches and wait for them; and what must be true of that.
 *
 * Who is let in at a barrier was there together with enough others at some moment, unless a server lost what it had. So
 * it is counted how many are there; those who died there are never taken off, as their places are only late, nor are
 * those who do not know whether they are counted on. A latch opens once enough have arrived, and in a calm world soon
 * after that. */

#include "tests/sim/judge_parts.h"

#include <leash/gate.h>

#include <stdio.h>
#include <string.h>

enum { PARTIES = 8, MINUTES = 512 };

static int there;          /* who is at the barrier, or may be to the others */
static int64_t full_since; /* there have been enough all the time since then; 0: there are not */

/* Of the latch of a minute, by party: bits. */
static struct latch {
	unsigned begun, arrived; /* it arrives, or does not know; it has arrived */
	int64_t open_since;      /* so many have; 0: they have not */
} latches[MINUTES];

static void
count_there(int change)
{
	there += change;
	each_person(p)
		if (p->meets && there > p->met)
			p->met = there;
	if (there < sim_terms.parties)
		full_since = 0;
	else if (full_since == 0)
		full_since = sim_now;
}

/* What it was told must have had a reason. */
static void
look_at_status(const struct sim_person *p, const char *who)
{
	/* UNAVAILABLE: the time was over as it was asked */
	if (!p->client->leaves && sim_climate == SIM_CALM && p->said != LEASH_OK && p->said != LEASH_TIMEOUT &&
	    p->said != LEASH_UNAVAILABLE)
		sim_breach("%s is told %s: %s", who, leash_status_name(p->said), p->error.text);
}

static void
meet(struct sim_person *p)
{
	int64_t began = sim_now, wait_ms = sim_between(0, 4000);
	leash_barrier *barrier = NULL;
	bool lost_data;

	if (leash_barrier_new(&barrier, p->client->leash, "gate", sim_terms.parties, NULL) != LEASH_OK)
		return; /* there is no memory, or the client is closed */
	p->meets = true;
	p->met = 0;
	count_there(1);
	p->error = (leash_error){0};
	p->said = leash_barrier_wait(barrier, wait_ms, &p->error);
	sim_trace("client %d is at the barrier, for %lld ms: %s %s", p->client->process.number, (long long)wait_ms,
	          leash_status_name(p->said), p->error.text);
	lost_data = sim_has_struck[SIM_LOSS] || sim_has_struck[SIM_ROLLBACK] || sim_has_struck[SIM_FAILOVER] ||
	            sim_has_struck[SIM_STALL];
	if (p->said == LEASH_OK && !lost_data && p->met < sim_terms.parties)
		sim_breach("%d of %d were at the barrier that client %d has passed", p->met, sim_terms.parties,
		           p->client->process.number);
	if (p->said == LEASH_TIMEOUT && sim_climate == SIM_CALM && full_since != 0 &&
	    sim_now - full_since > 1500 * SIM_MS && sim_now - began > 1500 * SIM_MS)
		sim_breach("enough are at the barrier, but client %d has not passed", p->client->process.number);
	look_at_status(p, "who is at the barrier");
	p->meets = false;
	if (p->said == LEASH_OK || p->said == LEASH_TIMEOUT || p->said == LEASH_UNAVAILABLE)
		count_there(-1);
	leash_barrier_free(barrier);
}

static void
arrive(struct sim_person *p, leash_latch *latch, struct latch *of)
{
	unsigned number = sim_random(PARTIES);
	char party[] = {(char)('a' + number), '\0'};

	of->begun |= 1U << number;
	p->error = (leash_error){0};
	p->told = false;
	if (p->loops && sim_terms.chains)
		sim_await_told(p, leash_latch_count_down_start(latch, party, sim_be_told, p, NULL, &p->error));
	else
		p->said = leash_latch_count_down(latch, party, &p->error);
	sim_trace("client %d arrives as %s: %s %s", p->client->process.number, party, leash_status_name(p->said),
	          p->error.text);
	if (p->said == LEASH_OK)
		of->arrived |= 1U << number;
	if (of->open_since == 0 && __builtin_popcount(of->arrived) >= sim_terms.parties)
		of->open_since = sim_now;
	look_at_status(p, "who arrives at a latch");
}

static void
await(struct sim_person *p, leash_latch *latch, const struct latch *of)
{
	int64_t began = sim_now, wait_ms = sim_between(0, 3000);

	p->error = (leash_error){0};
	p->said = leash_latch_await(latch, wait_ms, &p->error);
	sim_trace("client %d awaits a latch: %s %s", p->client->process.number, leash_status_name(p->said), p->error.text);
	if (p->said == LEASH_OK && __builtin_popcount(of->begun) < sim_terms.parties)
		sim_breach("a latch is open at which %d of %d have arrived", __builtin_popcount(of->begun), sim_terms.parties);
	if (p->said == LEASH_TIMEOUT && sim_climate == SIM_CALM && of->open_since != 0 &&
	    sim_now - of->open_since > 1500 * SIM_MS && sim_now - began > 1500 * SIM_MS)
		sim_breach("%d have arrived at a latch for %d, which is not open", __builtin_popcount(of->arrived),
		           sim_terms.parties);
	look_at_status(p, "who awaits a latch");
}

void
sim_use_gate(struct sim_person *p)
{
	struct latch *of = &latches[sim_now / (60 * SIM_S) % MINUTES];
	leash_latch *latch = NULL;
	char name[32];

	sim_acts++;
	if (sim_chance(0.5)) {
		meet(p);
		return;
	}
	snprintf(name, sizeof name, "latch %lld", (long long)(sim_now / (60 * SIM_S)));
	if (leash_latch_new(&latch, p->client->leash, name, sim_terms.parties, NULL) != LEASH_OK)
		return; /* likewise */
	if (sim_chance(0.5))
		arrive(p, latch, of);
	else
		await(p, latch, of);
	leash_latch_free(latch);
}
