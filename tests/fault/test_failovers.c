/* The nemesis notes what sentinels, or replicas of a cluster, do without an order, and only that, as a breach: or its
 * judge would blame leash. */
#include "tests/fault/faults.h"
#include "tests/support/cluster.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"

#include <signal.h>

static struct run run;

static void
start(void)
{
	signal(SIGPIPE, SIG_IGN); /* hiredis knows nothing of it */
	run = (struct run){.folder = sweep_folder(), .arena = given, .ousted = -1};
	run.history = history_open(run.folder, "nemesis");
	run.arena->start(&run);
	run.watch = watch_start(&run);
}

static void
stop(void)
{
	watch_stop(run.watch);
	arena_stop(&run);
	history_close(run.history);
	sweep_remove(run.folder);
}

FIXTURE(start, stop);

static const struct part parts[] = {{"sentinel", .given = &arena_sentinel}, {"cluster", .given = &arena_cluster}};

PARTS(parts);

/* How many lines of the nemesis begin so? And the moments of the first and the last of them. */
static unsigned
noted(const char *words, int64_t *first, int64_t *last)
{
	char path[4096], line[256];
	unsigned count = 0;

	snprintf(path, sizeof path, "%s/nemesis.history", run.folder);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		char *rest;
		int64_t moment = strtoll(line, &rest, 10);

		if (strncmp(rest + 1, words, strlen(words)) != 0)
			continue;
		*(count++ == 0 ? first : last) = moment;
	}
	fclose(file);
	return count;
}

static unsigned
count(const char *words)
{
	return noted(words, &(int64_t){0}, &(int64_t){0});
}

/* What was ousted comes back early, at which the nemesis need not look at its contenders: there are none. */
static void
mend(void)
{
	uint64_t dice = 1;

	while (dice_roll(&(uint64_t){dice}, 3) != 0)
		dice++;
	arena_mend(&run, &dice);
}

/* At each server of a cluster: what comes cannot have begun sooner, and what was there is seen. */
static void
let_all_look(void)
{
	int64_t now = await_now_ns();

	for (unsigned i = 0; run.cluster != NULL && i < run.count; i++)
		await_true(watch_has_looked(run.watch, i, now));
}

/* That nobody ordered. Returns the port of the old master. A replica that takes over was seen as one before. */
static int
fail_over(void)
{
	unsigned master = run.arena->master(&run, &(struct blow){.dice = 1});

	let_all_look();
	if (run.sentinels != NULL)
		sentinel_set_failover(run.sentinels);
	else
		cluster_failover(run.cluster, (int)master);
	return run.nodes[master].told;
}

/* So many masters there have been that took over: no more than elections. */
static unsigned
takeovers(void)
{
	int epoch = 0;

	if (run.sentinels != NULL)
		return (unsigned)sentinel_set_switches(run.sentinels);
	for (unsigned i = 0; i < run.count; i++) {
		const char *at = strstr(server_text(run.nodes[i].server, "CLUSTER INFO"), "cluster_current_epoch:");

		epoch = atoi(strchr(at, ':') + 1) > epoch ? atoi(strchr(at, ':') + 1) : epoch;
	}
	return (unsigned)epoch;
}

/* When this returns the nemesis has seen it. On a busy machine a cluster may go on to do another one by itself. */
static void
fail_over_unasked(void)
{
	unsigned before = count("fault failover without an order"), past = takeovers();

	fail_over();
	/* an election that fails on a busy machine is held again after a while */
	await_true((mend(), count("fault failover without an order") > before));
	assert_in_range(count("fault failover without an order") - before, 1, takeovers() - past);
}

static void
fail_over_by_order(void)
{
	const struct fault *fault = run.arena->faults;
	struct blow blow = {.dice = 1, .chosen = 1};

	while (strcmp(fault->name, "failover") != 0)
		fault++;
	blow.fault = fault;
	fault_play(&run, &blow, fault->begin);
	await_true((mend(), run.ordered.port == 0));
}

SENTENCE(with_min_replicas_a_failover_without_an_order_excuses_nothing)
{
	run.min_replicas = 1;
	fail_over_unasked();
	assert_int_equal(count("breach"), 0);
	assert_int_equal(count("mended"), 0);
}

/* That one is noted by who orders it; what is noted here is that with sentinels its old master returns early. */
SENTENCE(a_failover_by_order_is_none_without_one_but_the_next_is_a_breach_from_its_beginning_until_all_is_whole)
{
	unsigned returns = run.sentinels != NULL;
	int64_t breach = 0, mended = 0;

	fail_over_by_order();
	assert_int_equal(count("fault"), 0);
	assert_int_equal(count("breach failover"), 0);
	assert_int_equal(count("mended"), returns);
	int64_t before = await_now_ns();
	unsigned past = takeovers();
	fail_over_unasked();
	assert_int_equal(count("breach"), returns + 1);
	assert_int_equal(noted("breach failover", &breach, &breach), 1);
	assert_int_equal(noted("mended", &mended, &mended), returns + 1);
	assert_true(before < breach && breach < mended && mended < await_now_ns());
	assert_true(run.sentinels == NULL || takeovers() == past + 1);
}

/* It is begun already when the nemesis ousts the same master. */
SENTENCE(an_order_that_comes_too_late_makes_no_order_of_it)
{
	int port = fail_over();

	let_all_look();
	run.ordered = (struct failover){.since_ns = await_now_ns(), .port = port};
	await_true((mend(), count("breach failover") > 0));
	assert_int_equal(count("mended"), count("breach failover"));
}
