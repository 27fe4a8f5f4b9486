/* Plans: which faults hit whom, when and for how long. All of it follows from the seed, and the names of the faults that are allowed.
 *
 * There is a deck of cards for each place where faults happen, shuffled, so that each comes before any comes again. One burst has up
 * to three that overlap; two that would be in each other's way (two for the servers, two beside them; two for one contender's process, or for
 * its proxy) do not. Every other time one that could hit whoever has been hit elsewhere does so: who lost its network is killed or frozen. */
#include "tests/fault/faults.h"
#include "tests/support/random.h"
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct deck {
	size_t count, next;             /* next == count: to be shuffled */
	const struct fault **cards;
};

struct plan {
	const struct arena *arena;
	uint64_t dice;
	struct deck decks[SEATS];
};

uint64_t
dice_roll(uint64_t *dice, uint64_t below)
{
	return (random_next(dice) >> 11) % below;
}

_Noreturn void
misused(const char *what, const char *word)
{
	fprintf(stderr, "nemesis: %s '%s'; see --help\n", what, word);
	exit(2);
}

static void
add_cards(struct plan *plan, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < plan->arena->fault_count; i++) {
		const struct fault *fault = &plan->arena->faults[i];
		struct deck *deck = &plan->decks[fault->seat];

		if (!arena_has(plan->arena, fault) || (name != NULL && strcmp(name, fault->name) != 0))
			continue;
		if (deck->cards == NULL)
			deck->cards = zeroed(plan->arena->fault_count * sizeof *deck->cards);
		if (deck->count == plan->arena->fault_count)
			misused("there are not so many faults as", fault->name);
		deck->cards[deck->count++] = fault;
		deck->next = deck->count;
		found = true;
	}
	if (!found)
		misused("there is no fault", name);
}

struct plan *
plan_new(const struct arena *arena, uint64_t seed, char *only)
{
	struct plan *plan = zeroed(sizeof *plan);

	plan->arena = arena;
	arena_check(arena);
	do
		add_cards(plan, strsep(&only, ","));
	while (only != NULL);
	plan->dice = seed * 2862933555777941757U + 8588800670370825764U;
	if (plan->dice == 0)
		plan->dice = 1;
	return plan;
}

void
plan_free(struct plan *plan)
{
	for (unsigned i = 0; i < SEATS; i++)
		free(plan->decks[i].cards);
	free(plan);
}

static const struct fault *
draw(struct plan *plan, struct deck *deck)
{
	if (deck->next == deck->count) {
		for (size_t i = deck->count; i > 1; i--) {
			size_t j = (size_t)dice_roll(&plan->dice, i);
			const struct fault *other = deck->cards[j];

			deck->cards[j] = deck->cards[i - 1];
			deck->cards[i - 1] = other;
		}
		deck->next = 0;
	}
	return deck->cards[deck->next++];
}

/* Those are about all servers, or some that it chooses itself; the others have a target. */
static bool
is_of_servers(unsigned seat)
{
	return seat == SEAT_SERVER || seat == SEAT_ASIDE;
}

static bool
is_hit(const struct burst *burst, unsigned seat, unsigned target)
{
	for (unsigned i = 0; i < burst->count; i++)
		if (burst->blows[i].fault->seat == seat && burst->blows[i].target == target)
			return true;
	return false;
}

/* A deck that may be drawn from: the servers' rather than another as long as they have not been hit, as it has the most cards. NULL: none. */
static struct deck *
choose_deck(struct plan *plan, const struct burst *burst)
{
	uint64_t kind = dice_roll(&plan->dice, 10);
	unsigned seat = kind < 6 ? SEAT_SERVER : kind < 8 ? SEAT_PROCESS : SEAT_PROXY;

	for (unsigned i = 0; i < SEATS; i++, seat = (seat + 1) % SEATS)
		if (plan->decks[seat].count > 0 && !(is_of_servers(seat) && is_hit(burst, seat, 0)))
			return &plan->decks[seat];
	return NULL;
}

static unsigned
choose_target(struct plan *plan, const struct burst *burst, const struct fault *fault)
{
	unsigned target = (unsigned)dice_roll(&plan->dice, CONTENDERS);
	bool again = dice_roll(&plan->dice, 2) == 0;

	if (is_of_servers(fault->seat))
		return 0;
	for (unsigned i = 0; i < burst->count && again; i++)
		if (!is_of_servers(burst->blows[i].fault->seat))
			target = burst->blows[i].target;
	while (is_hit(burst, fault->seat, target))
		target = (target + 1) % CONTENDERS;
	return target;
}

void
plan_next(struct plan *plan, struct burst *burst)
{
	uint64_t lease_ms = (uint64_t)plan->arena->lease_ms;
	unsigned wanted = 1 + (unsigned)dice_roll(&plan->dice, MAX_BLOWS);
	struct deck *deck;

	*burst = (struct burst){.quiet_ms = 300 + (int64_t)dice_roll(&plan->dice, lease_ms)};
	while (burst->count < wanted && (deck = choose_deck(plan, burst)) != NULL) {
		const struct fault *fault = draw(plan, deck);
		struct blow *blow = &burst->blows[burst->count];

		*blow = (struct blow){.fault = fault, .target = choose_target(plan, burst, fault), .dice = plan->dice,
		                      .chosen = 1};
		blow->from_ms = burst->count == 0 ? 0 : (int64_t)dice_roll(&plan->dice, lease_ms);
		blow->for_ms = (fault->least + (int64_t)dice_roll(&plan->dice, (uint64_t)(fault->most - fault->least + 1))) * plan->arena->lease_ms / 100;
		burst->count++;
	}
}

int64_t
burst_ms(const struct burst *burst)
{
	int64_t ms = 0;

	for (const struct blow *blow = burst->blows; blow < burst->blows + burst->count; blow++)
		ms = blow->from_ms + blow->for_ms > ms ? blow->from_ms + blow->for_ms : ms;
	return ms + burst->quiet_ms;
}
