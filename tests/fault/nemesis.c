/* The nemesis: runs contenders under faults, so that their histories can be judged. Its options: see `help`.
 *
 * It starts a deployment, six contenders, and watchers. Then bursts of up to three faults that overlap, and quiet times
 * between them, in each of which every lock must be seen to be taken again, until the time is over. In the end there
 * are no faults, and every thread of every contender must come to its end. Then the judge reads the histories.
 *
 * That a lock was taken is seen at the register that it protects (tests/judge/register.h): somebody has it, and writes
 * there.
 *
 * Which faults come, when and to whom follows from the seed; how the contenders and the server fare depends on the
 * scheduler as well. Ends with 1 if the judge found something, a contender failed or no progress was seen; then the
 * histories are kept, and it is said where they are. */
#include "tests/fault/nemesis.h"

#include "tests/fault/faults.h"
#include "tests/judge/register.h"
#include "tests/judge/verdict.h"
#include "tests/support/await.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_MS = 2, AGAIN_MS = 40, PATIENCE_S = 20 };

struct arguments {
	double seconds;
	uint64_t seed;
	const struct arena *arena;
	unsigned min_replicas;
	const char *folder;
	char *only;
	int list, help;
};

/* ---- faults ---- */

static void
describe(const struct blow *blow, char text[static 120])
{
	static const char *const seats[SEATS] = {[SEAT_PROCESS] = "contender", [SEAT_PROXY] = "proxy"};
	const char *seat = seats[blow->fault->seat];
	char whose[40] = "";

	if (seat != NULL)
		snprintf(whose, sizeof whose, " %s %u", seat, blow->target);
	snprintf(text, 120, "%s%s for %" PRId64 " ms", blow->fault->name, whose, blow->for_ms);
}

static bool
does_harm(const struct run *run, const struct fault *fault)
{
	return fault->harm != HARM_NONE && (fault->enough == 0 || run->min_replicas < fault->enough);
}

static void
begin_blow(struct run *run, struct blow *blow, int64_t now)
{
	char text[120];

	describe(blow, text);
	if (does_harm(run, blow->fault))
		history_note(run->history, "breach %s", blow->fault->harm == HARM_LOST ? "emptied" : blow->fault->name);
	if (blow->fault->delays)
		watch_delays(run->watch, true);
	fault_play(run, blow, blow->fault->begin);
	blow->begun = true;
	history_note_at(run->history, now, "fault %s%s%s", text, blow->words[0] != '\0' ? " " : "", blow->words);
	run->counts[blow->fault - run->arena->faults]++;
	blow->again_ns = await_now_ns() + AGAIN_MS * MS;
}

static void
end_blow(struct run *run, struct blow *blow)
{
	fault_play(run, blow, blow->fault->end);
	blow->ended = true;
	history_note(run->history, "over %s", blow->fault->name);
	if (does_harm(run, blow->fault) && !blow->fault->until_whole)
		history_note(run->history, "mended");
}

/* What is due of it at `now`. When is it over? */
static int64_t
step_blow(struct run *run, struct blow *blow, int64_t began, int64_t now)
{
	int64_t from = began + blow->from_ms * MS, until = from + blow->for_ms * MS;

	if (!blow->begun && now >= from)
		begin_blow(run, blow, now);
	else if (blow->begun && !blow->ended && now >= until)
		end_blow(run, blow);
	else if (blow->begun && !blow->ended && blow->fault->again != NULL && now >= blow->again_ns) {
		fault_play(run, blow, blow->fault->again);
		blow->again_ns = now + AGAIN_MS * MS;
	}
	return blow->ended ? until + blow->linger_ms * MS : INT64_MAX;
}

static void
strike(struct run *run, struct burst *burst)
{
	int64_t now, over = INT64_MAX;

	arena_mend(run, &burst->blows[0].dice);   /* what the servers did by themselves in the quiet time is over */
	int64_t began = now = await_now_ns();
	while (now < over) {
		bool delays = false;

		over = 0;
		for (unsigned i = 0; i < burst->count; i++) {
			const struct blow *blow = &burst->blows[i];
			int64_t until = step_blow(run, &burst->blows[i], began, now);

			delays |= blow->fault->delays && blow->begun && (!blow->ended || blow->fault->until_whole);
			over = until > over ? until : over;
		}
		watch_delays(run->watch, delays);
		await_ms(STEP_MS);
		now = await_now_ns();
	}
	arena_mend(run, &burst->blows[0].dice);   /* everything that a fault has left is undone */
	for (unsigned i = 0; i < burst->count; i++)
		if (burst->blows[i].fault->until_whole && does_harm(run, burst->blows[i].fault))
			history_note(run->history, "mended");
	watch_delays(run->watch, false);
}

/* ---- progress ---- */

/* In a time without faults all locks are given to somebody, who writes to what they protect. */
static bool
see_progress(struct run *run, int64_t quiet_ms)
{
	int64_t began = await_now_ns(), limit = await_limit_ns(PATIENCE_S + 5 * (double)run->arena->lease_ms / 1e3);
	uint64_t before[LOCKS];
	unsigned left = 0;

	for (unsigned i = 0; i < LOCKS; i++)
		before[i] = fenced_greatest(run->registers, i);
	while (left < LOCKS && !await_is_past(limit) && crew_failures(run->crew) == 0)
		if (fenced_greatest(run->registers, left) != before[left])
			left++;
		else
			await_ms(10);
	if (crew_failures(run->crew) > 0)
		return false;
	if (left < LOCKS) {
		fprintf(stderr, "nemesis: lock-%u was taken by nobody in %.0f s without faults\n", left,
		        (double)(await_now_ns() - began) / 1e9);
		return false;
	}
	int64_t took = await_now_ns() - began;
	if (took > run->slowest_ns)
		run->slowest_ns = took;
	while (await_now_ns() - began < quiet_ms * MS)
		await_ms(STEP_MS);
	return true;
}

/* ---- a run ---- */

static bool
fight(struct run *run, struct plan *plan, double seconds)
{
	struct burst burst;

	/* who is new has to wait until the servers have been up for as long as the guard says */
	if (!see_progress(run, 0))
		return false;
	int64_t began = await_now_ns();
	while ((double)(await_now_ns() - began) < seconds * 1e9) {
		plan_next(plan, &burst);
		strike(run, &burst);
		run->bursts++;
		if (!see_progress(run, burst.quiet_ms))
			return false;
	}
	return true;
}

static void
start(struct run *run)
{
	run->begun = await_now_ns();
	run->history = history_open(run->folder, "nemesis");
	history_note(run->history, "seed %" PRIu64, run->seed);
	run->registers = fenced_create(run->folder, LOCKS);
	run->ousted = -1;
	run->arena->start(run);
	run->watch = watch_start(run);
	run->crew = crew_start(run);
}

/* All keys but fences go when the last lease has run out at the latest; but what those said of themselves who were
 * killed. */
static bool
finish(struct run *run, bool well)
{
	well &= crew_finish(run->crew) == 0;
	if (well)
		arena_mend(run, &(uint64_t){1});
	await_ms(run->arena->guard_ms);
	watch_left(run->watch);
	watch_stop(run->watch);
	crew_free(run->crew);
	arena_stop(run);
	history_close(run->history);
	return well;
}

/* ---- what is said of it ---- */

static void
print_summary(const struct run *run)
{
	size_t total = 0;

	for (size_t i = 0; i < run->arena->fault_count; i++)
		total += run->counts[i];
	printf("# %s, seed %" PRIu64 ": %.0f s, %zu faults in %zu bursts; after each of them all %d locks were taken again "
	       "within %.1f s\n",
	       run->arena->name, run->seed, (double)(await_now_ns() - run->begun) / 1e9, total, run->bursts, LOCKS,
	       (double)run->slowest_ns / 1e9);
	for (size_t i = 0; i < run->arena->fault_count; i++)
		if (run->counts[i] > 0)
			printf("# %s %u\n", run->arena->faults[i].name, run->counts[i]);
	printf("# %zu contenders with %d threads each; %zu renewals seen by the servers\n", run->contenders, THREADS,
	       run->renewals);
	printf("# the fenced registers refused %" PRIu64 " writes; without fences %" PRIu64 " would have done harm\n",
	       fenced_refused(run->registers), fenced_corrupted(run->registers));
}

static int
judge(const struct run *run)
{
	struct verdict verdict;

	if (!verdict_find(&verdict, run->folder))
		trouble("%s: %s", run->folder, strerror(errno));
	verdict_print(&verdict, stdout);
	int status = verdict_violations(&verdict) > 0;
	verdict_clear(&verdict);
	return status;
}

static void
list(struct plan *plan, double seconds)
{
	struct burst burst;
	int64_t at = 0;
	char text[120];

	while ((double)at < seconds * 1e3) {
		plan_next(plan, &burst);
		for (unsigned i = 0; i < burst.count; i++) {
			describe(&burst.blows[i], text);
			printf("%8.2f s: %s\n", (double)(at + burst.blows[i].from_ms) / 1e3, text);
		}
		at += burst_ms(&burst);
	}
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: nemesis [OPTION]...\n"
	"Let contenders use locks of servers of their own under faults, and judge what they did.\n"
	"\n"
	"  --seconds N           how long; default 60\n"
	"  --seed S              which faults come, when and to whom; default 1\n"
	"  --deployment KIND     single, tls, sentinel, cluster or quorum; default single\n"
	"  --min-replicas N      of all locks; default 0\n"
	"  --only FAULT,FAULT    none but these\n"
	"  --list                tell which come, and do nothing\n"
	"  --folder DIR          write the histories there, and keep them; in nemesis.history is each fault when it comes\n"
	"  --help                this text\n"
	"\n"
	"Exits with 0 if the judge found nothing, 1 if it did, 77 without a redis-server (or $LEASH_TEST_SERVER), 2 if anything else\n"
	"is wrong. The faults of a %s deployment are:\n";

static const struct arena *const arenas[] = {&arena_single, &arena_tls, &arena_sentinel, &arena_cluster, &arena_quorum};

static const struct arena *
find_arena(const char *name)
{
	for (size_t i = 0; i < sizeof arenas / sizeof *arenas; i++)
		if (strcmp(arenas[i]->name, name) == 0)
			return arenas[i];
	misused("there is no deployment", name);
}

static void
read_arguments(int argc, char **argv, struct arguments *a)
{
	const struct option options[] = {
		{"seconds", required_argument, NULL, 's'}, {"seed", required_argument, NULL, 'e'},
		{"deployment", required_argument, NULL, 'd'}, {"min-replicas", required_argument, NULL, 'm'},
		{"folder", required_argument, NULL, 'f'}, {"only", required_argument, NULL, 'o'},
		{"list", no_argument, &a->list, 1}, {"help", no_argument, &a->help, 1},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = NULL;

		if (c == 's')
			a->seconds = strtod(optarg, &end);
		else if (c == 'e')
			a->seed = strtoull(optarg, &end, 10);
		else if (c == 'd')
			a->arena = find_arena(optarg);
		else if (c == 'm')
			a->min_replicas = (unsigned)strtoul(optarg, &end, 10);
		else if (c == 'f')
			a->folder = optarg;
		else if (c == 'o')
			a->only = optarg;
		else if (c != 0)
			exit(2);
		if (end != NULL && (*end != '\0' || end == optarg || !(a->seconds > 0)))
			misused("this is no such number:", optarg);
	}
	if (optind != argc)
		misused("this is no option:", argv[optind]);
	if (!a->help)
		return;
	printf(help, a->arena->name);
	for (size_t i = 0; i < a->arena->fault_count; i++)
		if (arena_has(a->arena, &a->arena->faults[i]))
			printf("  %s\n", a->arena->faults[i].name);
	exit(0);
}

static char *
make_folder(const char *named)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = NULL;

	if (named != NULL) {
		if (mkdir(named, 0777) != 0 && errno != EEXIST)
			trouble("%s: %s", named, strerror(errno));
		folder = realpath(named, NULL);
	} else if (asprintf(&folder, "%s/leash-nemesis.XXXXXX", tmp != NULL && *tmp != '\0' ? tmp : "/tmp") > 0) {
		folder = mkdtemp(folder);
	}
	if (folder == NULL)
		trouble("no folder for the histories: %s", strerror(errno));
	return folder;
}

int
main(int argc, char **argv)
{
	struct arguments a = {.arena = &arena_single, .seconds = 60, .seed = 1};
	struct run run;

	read_arguments(argc, argv, &a);
	signal(SIGPIPE, SIG_IGN);   /* hiredis knows nothing of it */
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct plan *plan = plan_new(a.arena, a.seed, a.only);
	if (a.list) {
		list(plan, a.seconds);
		plan_free(plan);
		return 0;
	}
	run = (struct run){.folder = make_folder(a.folder), .arena = a.arena, .min_replicas = a.min_replicas, .seed = a.seed};
	run.counts = zeroed(a.arena->fault_count * sizeof *run.counts);
	start(&run);
	bool well = fight(&run, plan, a.seconds);
	well = finish(&run, well);
	print_summary(&run);
	fenced_close(run.registers);
	int status = judge(&run);
	if (!well && status == 0)
		status = 1;
	if (status != 0)
		printf("# seed %" PRIu64 ": the histories are in %s\n", a.seed, run.folder);
	if (status == 0 && a.folder == NULL)
		sweep_remove(run.folder);
	else
		free(run.folder);
	free(run.counts);
	plan_free(plan);
	return status;
}
