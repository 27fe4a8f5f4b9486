/* The simulator:
 *
 *     run [--deployment D] [--seed N] [--seeds COUNT | --seconds S] [--steps K] [--trace] [--shrink]
 *         [--without FAULT]... [--clients N] [--threads N] [--locks N]
 *
 * It runs a world for each seed from N on (by default from the time) until there is a breach, each in its own process.
 * The same words are the same world again. Ends with 1 where the judge has seen a breach.
 *
 * --shrink looks for a shorter way to a breach: without some faults, with fewer clients, threads and locks. */
#include "base/mutation.h"

#include "tests/sim/faults.h"
#include "tests/sim/fiber.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <leash/memory.h>

static uint64_t seed, seeds = 1, steps = 100000;
static int64_t seconds;
static enum sim_deployment deployment;
static bool shrinks;
static int64_t allocated; /* by leash, and not freed */

/* What there is less of than the seed says. */
static struct less {
	bool without[SIM_FAULTS];
	int most[3]; /* clients, threads of each, locks; 0: as the seed says */
} less;
static const char *const most_names[] = {"--clients", "--threads", "--locks"};

/* What a world tells the process that began it. */
static struct told {
	uint64_t steps, acts, acquired;
	bool fine;
} told;
static int tells_to;

/* ---- memory ---- */

static void *
count_realloc(void *old, size_t size)
{
	if (sim_runs_short())
		return NULL;
	allocated += old == NULL;
	return realloc(old, size);
}

static void *
count_alloc(size_t size)
{
	return count_realloc(NULL, size);
}

static void
count_free(void *old)
{
	allocated -= old != NULL;
	free(old);
}

/* ---- one world ---- */

static void
say_how(void)
{
	fprintf(stderr, "again: run --deployment %s --seed %" PRIu64 " --steps %" PRIu64, sim_deployment_names[deployment],
	        seed, steps);
	for (int i = 0; i < SIM_FAULTS; i++)
		if (less.without[i])
			fprintf(stderr, " --without %s", sim_fault_names[i]);
	for (int i = 0; i < 3; i++)
		if (less.most[i] > 0)
			fprintf(stderr, " %s %d", most_names[i], less.most[i]);
	fprintf(stderr, " --trace\n");
}

static void
tell(bool fine)
{
	told = (struct told){sim_steps, sim_acts, sim_acquired, fine};
	if (write(tells_to, &told, sizeof told) != sizeof told)
		_exit(2);
}

static void
on_breach(void)
{
	tell(false);
	say_how();
}

static void
limit(int *count, int most)
{
	if (most > 0 && *count > most)
		*count = most;
}

static void
step(void)
{
	sim_step();
	sim_judge_look();
	if (sim_terms.forks && sim_steps % 500 == 0)
		sim_fork(&sim_clients[sim_steps / 500 % (uint64_t)sim_client_count]);
	if (sim_terms.meddles && sim_steps % 500 == 0)
		sim_meddle(sim_steps / 500);
}

static void
run_world(void)
{
	static const leash_memory memory = {count_alloc, count_realloc, count_free};
	int64_t until;
	bool died = false;

	alarm(300);
	if (leash_set_memory(&memory) != LEASH_OK)
		abort();
	lsh_mutation_read();
	sim_on_breach = on_breach;
	sim_seed(seed);
	memcpy(sim_without, less.without, sizeof sim_without);
	sim_faults_draw(deployment);
	limit(&sim_terms.clients, less.most[0]);
	limit(&sim_terms.threads, less.most[1]);
	limit(&sim_terms.locks, less.most[2]);
	for (int l = 0; l < sim_terms.locks; l++)
		sim_terms.readwrite[l] = seed % 7 == 0 && deployment != SIM_QUORUM && (l == 0 || seed / 7 % 2 == 0);
	for (int l = 0; l < sim_terms.locks; l++)
		sim_terms.redisson[l] = seed > 64 && seed % 9 == 1 && deployment != SIM_QUORUM && !sim_terms.readwrite[l] &&
		                        (l == 0 || seed / 9 % 2 == 0);
	sim_terms.sets = seed % 4 == 3 && !sim_terms.readwrite[0];
	sim_terms.forks = seed % 16 == 1;
	sim_terms.meddles = seed % 8 == 7 || sim_terms.redisson[0];
	sim_terms.parties = seed > 64 && seed % 13 == 5 && deployment != SIM_QUORUM ? 2 + (int)(seed / 13 % 3) : 0;
	sim_terms.nowait = seed > 64 && seed % 11 == 0;
	sim_terms.chains = (seed > 64 && seed % 22 == 0) || (seed > 100000 && seed % 110 == 69);
	sim_terms.stands = seed > 100000 && seed % 130 == 7 && deployment != SIM_QUORUM;
	sim_terms.loops = (seed > 64 && seed % 10 == 9) || sim_terms.chains || sim_terms.stands;
	sim_terms.leads = seed % 11 == 3 && deployment != SIM_QUORUM;
	sim_terms.conditions = (seed > 64 && seed % 8 == 1 && deployment != SIM_QUORUM) || sim_terms.stands;
	sim_terms.permits = seed % 5 == 2 && deployment != SIM_QUORUM ? 1 + (int)(seed / 5 % 5) : 0;
	sim_faults_vary(seed);
	sim_trace("%s, seed %" PRIu64 ": climate %d, %d clients of %d threads, %d locks, lease %lld ms, timeout %lld ms, "
	          "guard %lld ms", sim_site.uri, seed, (int)sim_climate, sim_terms.clients, sim_terms.threads,
	          sim_terms.locks, (long long)sim_terms.lease_ms, (long long)sim_terms.timeout_ms,
	          (long long)sim_terms.guard_ms);
	sim_people_arrive();
	sim_faults_begin();
	while (sim_steps < steps)
		step();
	sim_faults_end();
	sim_people_leave();
	/* whoever waits has gone by then, whatever it waited for */
	until = sim_now + 60 * SIM_S +
	        (2 * sim_terms.wait_ms + 10 * sim_terms.longest_ms + 20 * sim_terms.timeout_ms) * SIM_MS;
	for (; !sim_people_are_gone(); step())
		if (sim_now > until)
			sim_breach("somebody has not gone");
	sim_judge_end();
	for (int i = 0; i < sim_client_count; i++)
		died |= sim_clients[i].process.dead;
	if (!died && allocated != 0)
		sim_breach("%" PRId64 " pieces of memory are left", allocated);
}

/* ---- many ---- */

/* False: there was a breach, or worse. `told` has what it told, if it did. */
static bool
run_apart(bool quiet)
{
	int pipes[2], status;
	pid_t child;

	fflush(stdout);
	if (pipe(pipes) != 0 || (child = fork()) < 0) {
		perror("run");
		exit(2);
	}
	if (child == 0) {
		tells_to = pipes[1];
		if (quiet && freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		run_world();
		fflush(stdout);
		tell(true);
		exit(0);
	}
	close(pipes[1]);
	if (read(pipes[0], &told, sizeof told) != sizeof told)
		told = (struct told){.fine = false, .steps = steps};
	close(pipes[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status) && !quiet) {
		fprintf(stderr, "signal %d\n", WTERMSIG(status));
		say_how();
	}
	return status == 0;
}

/* Is there a breach with that, no later? */
static bool
is_shorter(const struct less *tried, uint64_t *at)
{
	const struct less before = less;

	less = *tried;
	if (!run_apart(true) && told.steps <= *at) {
		*at = told.steps;
		return true;
	}
	less = before;
	return false;
}

/* There is a breach. Do with less as long as there still is one. */
static void
shrink(void)
{
	uint64_t at = told.steps, before;

	do {
		before = at;
		for (int i = 0; i < SIM_FAULTS; i++) {
			struct less tried = less;

			tried.without[i] = true;
			if (!less.without[i])
				is_shorter(&tried, &at);
		}
		for (int i = 0; i < 3; i++)
			for (int most = 1; most < 5; most++) {
				struct less tried = less;

				tried.most[i] = most;
				if ((less.most[i] == 0 || most < less.most[i]) && is_shorter(&tried, &at))
					break;
			}
	} while (at < before);
	run_apart(false);
}

static double
now_s(void)
{
	struct timespec t;

	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
find(const char *what, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (what != NULL && strcmp(what, names[i]) == 0)
			return i;
	fprintf(stderr, "run: '%s' is none of:", what != NULL ? what : "");
	for (int i = 0; i < count; i++)
		fprintf(stderr, " %s", names[i]);
	fprintf(stderr, "\n");
	exit(2);
}

static void
read_arguments(char **arg)
{
	seed = (uint64_t)time(NULL) * 1000;
	for (; *arg != NULL; arg++) {
		const char *name = *arg;

		if (strcmp(name, "--trace") == 0 || strcmp(name, "--shrink") == 0) {
			sim_traces = sim_traces || name[2] == 't';
			shrinks = shrinks || name[2] == 's';
			continue;
		}
		arg += arg[1] != NULL;
		if (strcmp(name, "--seed") == 0) {
			seed = strtoull(*arg, NULL, 10);
		} else if (strcmp(name, "--seeds") == 0) {
			seeds = strtoull(*arg, NULL, 10);
		} else if (strcmp(name, "--seconds") == 0) {
			seconds = atoll(*arg);
		} else if (strcmp(name, "--steps") == 0) {
			steps = strtoull(*arg, NULL, 10);
		} else if (strcmp(name, "--deployment") == 0) {
			deployment = (enum sim_deployment)find(*arg, sim_deployment_names, SIM_DEPLOYMENTS);
		} else if (strcmp(name, "--without") == 0) {
			less.without[find(*arg, sim_fault_names, SIM_FAULTS)] = true;
		} else {
			less.most[find(name, most_names, 3)] = atoi(*arg);
		}
	}
}

int
main(int argc, char **argv)
{
	struct told sum = {0};
	double began = now_s();
	bool fine = true;

	(void)argc;
	read_arguments(argv + 1);
	uint64_t first = seed;
	while (fine && (seconds > 0 ? now_s() - began < (double)seconds : seed < first + seeds)) {
		fine = run_apart(shrinks);
		sum.steps += told.steps;
		sum.acts += told.acts;
		sum.acquired += told.acquired;
		if (!fine && shrinks)
			shrink();
		seed++;
	}
	double took = now_s() - began;
	printf("%s, seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " steps (%.0f a second), %" PRIu64 " calls, %" PRIu64
	       " acquired, %s\n", sim_deployment_names[deployment], first, seed - 1, sum.steps,
	       (double)sum.steps / took, sum.acts, sum.acquired, fine ? "no breach" : "a breach");
	return !fine;
}
