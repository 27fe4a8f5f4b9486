/* The simulator:
 *
 *     run [--seed N] [--seeds COUNT | --seconds S] [--steps K] [--deployment D] [--without FAULT]... [--trace]
 *
 * It runs a world for each seed from N on (by default from the time), one after the other, each in its own process.
 * The same seed, steps and faults are the same world again. Ends with 1 where the judge has seen a breach. */
#include "base/mutation.h"

#include "tests/sim/faults.h"

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
static int64_t allocated; /* by leash, and not freed */

/* ---- memory ---- */

static void *
count_alloc(size_t size)
{
	allocated++;
	return malloc(size);
}

static void *
count_realloc(void *old, size_t size)
{
	allocated += old == NULL;
	return realloc(old, size);
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
		if (sim_without[i])
			fprintf(stderr, " --without %s", sim_fault_names[i]);
	fprintf(stderr, " --trace\n");
}

static void
step(void)
{
	sim_step();
	sim_judge_look();
}

/* Whoever waits has gone by then, whatever it waited for. */
static int64_t
last_call(void)
{
	int64_t ms = 2 * sim_terms.wait_ms + 10 * sim_terms.longest_ms + 20 * sim_terms.timeout_ms;

	return sim_now + ms * SIM_MS + 60 * SIM_S;
}

static bool
somebody_died(void)
{
	for (int i = 0; i < sim_client_count; i++)
		if (sim_clients[i].process.dead)
			return true;
	return false;
}

static void
run_world(void)
{
	static const leash_memory memory = {count_alloc, count_realloc, count_free};
	int64_t until;

	alarm(300);
	if (leash_set_memory(&memory) != LEASH_OK)
		abort();
	lsh_mutation_read();
	sim_on_breach = say_how;
	sim_seed(seed);
	sim_faults_draw(deployment);
	sim_trace("%s, seed %" PRIu64 ": climate %d, %d clients of %d threads, %d locks, lease %lld ms, timeout %lld ms, "
	          "guard %lld ms", sim_site.uri, seed, (int)sim_climate, sim_terms.clients, sim_terms.threads,
	          sim_terms.locks,
	          (long long)sim_terms.lease_ms, (long long)sim_terms.timeout_ms, (long long)sim_terms.guard_ms);
	sim_people_arrive();
	sim_faults_begin();
	while (sim_steps < steps)
		step();
	sim_faults_end();
	sim_people_leave();
	for (until = last_call(); !sim_people_are_gone(); step())
		if (sim_now > until)
			sim_breach("somebody has not gone");
	sim_judge_end();
	if (!somebody_died() && allocated != 0)
		sim_breach("%" PRId64 " pieces of memory are left", allocated);
}

/* ---- many ---- */

struct sum {
	uint64_t steps, acts, acquired;
};

/* False: there was a breach. */
static bool
run_apart(struct sum *sum)
{
	struct sum of_this;
	int pipes[2], status;
	pid_t child;

	fflush(stdout);
	if (pipe(pipes) != 0 || (child = fork()) < 0) {
		perror("run");
		exit(2);
	}
	if (child == 0) {
		run_world();
		of_this = (struct sum){sim_steps, sim_acts, sim_acquired};
		fflush(stdout);
		_exit(write(pipes[1], &of_this, sizeof of_this) == sizeof of_this ? 0 : 2);
	}
	close(pipes[1]);
	if (read(pipes[0], &of_this, sizeof of_this) == sizeof of_this) {
		sum->steps += of_this.steps;
		sum->acts += of_this.acts;
		sum->acquired += of_this.acquired;
	}
	close(pipes[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "signal %d\n", WTERMSIG(status));
		say_how();
	}
	return status == 0;
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

		if (strcmp(name, "--trace") == 0) {
			sim_traces = true;
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
			sim_without[find(*arg, sim_fault_names, SIM_FAULTS)] = true;
		} else {
			fprintf(stderr, "run: what is '%s'?\n", name);
			exit(2);
		}
	}
}

int
main(int argc, char **argv)
{
	struct sum sum = {0};
	double began = now_s(), took;
	uint64_t first, breaches = 0;

	(void)argc;
	read_arguments(argv + 1);
	for (first = seed; seconds > 0 ? now_s() - began < (double)seconds : seed < first + seeds; seed++)
		breaches += !run_apart(&sum);
	took = now_s() - began;
	printf("%s, seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " steps (%.0f a second), %" PRIu64 " calls, %" PRIu64
	       " acquired, %" PRIu64 " breaches\n", sim_deployment_names[deployment], first, seed - 1, sum.steps,
	       (double)sum.steps / took, sum.acts, sum.acquired, breaches);
	return breaches > 0;
}
