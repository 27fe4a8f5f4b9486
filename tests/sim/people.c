#include "tests/sim/people.h"

#include "tests/sim/fiber.h"
#include "tests/sim/judge.h"
#include "tests/sim/site.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct sim_terms sim_terms;
struct sim_habits sim_habits;
struct sim_client sim_clients[SIM_PROCESSES];
int sim_client_count;
uint64_t sim_acquired, sim_acts;
bool sim_is_child;

static bool all_leave;

const char *const sim_names[SIM_NAMES] = {"apple", "birch", "cedar", "dates"};

int64_t
sim_left_ms(const struct sim_person *p, int l)
{
	return l == SIM_PERMITS ? leash_permit_remaining_ms(p->permit) : leash_lock_remaining_ms(p->handles[l]);
}

/* Again, for as long as there is no memory. False: it cannot be made, because the client is closed. */
static bool
make_handle(const struct sim_client *c, leash_lock **handle, const char *name, const leash_lock_options *options)
{
	leash_error err;

	*handle = NULL;
	while (leash_lock_new(handle, c->leash, name, options, &err) != LEASH_OK) {
		if (err.status == LEASH_CLOSED && c->leaves)
			return false;
		if (err.status != LEASH_NO_MEMORY)
			sim_breach("no handle is made: %s", err.text);
		sim_sleep(20 * SIM_MS);
	}
	return true;
}

static leash_lock_options
options_of(struct sim_person *person, int l)
{
	leash_lock_options options = *LEASH_LOCK_OPTIONS(.min_replicas = sim_terms.min_replicas,
	                                                 .restart_guard_ms = sim_terms.guard_ms,
	                                                 .fsynced = sim_terms.fsynced);

	if (l != SIM_PERMITS) {
		options.fair = sim_terms.fair[l] && !sim_terms.redisson[l];
		options.no_handoff = sim_terms.alone[l];
		options.owner = person != NULL ? person->own : NULL;
		options.mode = sim_terms.readwrite[l] ? LEASH_WRITE : sim_terms.redisson[l] ? LEASH_REDISSON : LEASH_MUTEX;
	}
	if (person != NULL && options.mode == LEASH_WRITE) {
		options.on_event = sim_judge_told_person;
		options.event_arg = person;
		if (!options.fair && !options.no_handoff)
			options.handoff_ms = sim_terms.lease_ms / 4; /* so that some meet in a turn */
	}
	if (person != NULL && sim_terms.nowait && sim_chance(0.5))
		options.release_nowait = person->nowait = true;
	if (person != NULL && sim_terms.limits && sim_chance(0.2))
		options.no_renew = person->limited = true;
	if (person != NULL && sim_terms.limits && sim_chance(0.2)) {
		options.max_hold_ms = person->most_ms[l] = sim_between(sim_terms.lease_ms / 2, 3 * sim_terms.lease_ms);
		person->limited = true;
	}
	if (person != NULL && sim_terms.limits && sim_chance(0.2)) {
		int64_t ms = sim_between(100, 2 * sim_terms.lease_ms);

		if (!options.no_renew && (options.max_hold_ms == 0 || ms <= options.max_hold_ms)) /* else it does nothing */
			options.alive_ms = ms;
		person->limited = true;
	}
	return options;
}

/* False: the client is closed. */
static bool
open_handles(const struct sim_client *c, leash_lock *handles[SIM_LOCKS], struct sim_person *person)
{
	for (int l = 0; l < sim_terms.locks; l++) {
		leash_lock_options options = options_of(person, l);

		if (!make_handle(c, &handles[l], sim_names[l], &options))
			return false;
		options.mode = LEASH_READ;
		if (person != NULL && sim_terms.readwrite[l] && !make_handle(c, &person->others[l], sim_names[l], &options))
			return false;
	}
	return true;
}

static void
free_handles(leash_lock *handles[SIM_LOCKS])
{
	for (int l = 0; l < sim_terms.locks; l++) {
		leash_lock *handle = handles[l];

		handles[l] = NULL;
		leash_lock_free(handle);
	}
}

static void
free_all_handles(struct sim_person *p)
{
	free_handles(p->handles);
	free_handles(p->others);
}

static void
open_conditions(struct sim_person *p)
{
	for (int l = 0; l < sim_terms.locks; l++) {
		int64_t recheck_ms = sim_between(100, 4 * sim_terms.lease_ms);

		if (sim_terms.readwrite[l] ||
		    leash_condition_new(&p->conditions[l], p->handles[l], "more",
		                        LEASH_CONDITION_OPTIONS(.recheck_ms = recheck_ms), NULL) != LEASH_OK)
			p->conditions[l] = NULL; /* there is no memory, or the client is closed */
	}
}

static void *
live(void *arg)
{
	struct sim_person *p = arg;
	bool frees_first = sim_chance(0.5);

	p->loops = sim_terms.loops && p->number % 2 == 0;
	if ((sim_chance(sim_habits.owns) || p->loops) && leash_owner_new(&p->own, NULL) != LEASH_OK)
		p->own = NULL; /* there is no memory */
	p->loops &= p->own != NULL;
	p->owner = p->own != NULL ? p->own->id : sim_fiber_thread()->owner.id;
	if (!open_handles(p->client, p->handles, p))
		frees_first = true;
	else if (sim_terms.sets && leash_multi_new(&p->set, p->handles, (size_t)sim_terms.locks, NULL) != LEASH_OK)
		p->set = NULL; /* there is no memory, or a handle has limits */
	leash_lock_options options = sim_terms.permits > 0 ? options_of(p, SIM_PERMITS) : *LEASH_LOCK_OPTIONS();
	if (sim_terms.permits > 0 && leash_semaphore_new(&p->semaphore, p->client->leash, sim_names[SIM_PERMITS],
	                                                 sim_terms.permits, &options, NULL) != LEASH_OK)
		p->semaphore = NULL; /* there is no memory, or the client is closed */
	strcpy(p->led_by, "?");
	if (sim_terms.leads && sim_is_mutex(0) && leash_watch_new(&p->watch, p->client->leash, sim_names[0],
	                                                          NULL) != LEASH_OK)
		p->watch = NULL; /* there is no memory, or the client is closed */
	if (sim_terms.conditions && p->handles[sim_terms.locks - 1] != NULL)
		open_conditions(p);
	while (!p->client->leaves && !p->ended && !sim_chance(0.01)) {
		int l = (int)sim_random((uint32_t)sim_terms.locks);

		if (p->client->heir_of != NULL && sim_chance(0.3))
			sim_adopt(p, l);
		if (p->ended)
			break;
		if (sim_terms.breaks && sim_chance(0.02))
			sim_break(p, l);
		if (sim_chance(sim_habits.looks))
			sim_look(p, l);
		if (p->watch != NULL && sim_chance(0.5))
			sim_watch(p);
		if (sim_terms.parties > 0 && sim_chance(0.5))
			sim_use_gate(p);
		sim_sleep(sim_between(0, sim_chance(sim_habits.rests) ? 2 * SIM_S : 20 * SIM_MS));
		if (p->semaphore != NULL && sim_chance(0.6))
			sim_use_permits(p);
		else if (p->set != NULL && sim_chance(0.3))
			sim_use_set(p);
		else if (p->loops && sim_terms.chains && sim_chance(0.4))
			sim_use_chain(p, l);
		else
			sim_use_lock(p, l);
	}
	leash_multi_free(p->set);
	leash_watch_free(p->watch);
	p->watch = NULL;
	for (int l = 0; l < sim_terms.locks; l++)
		leash_condition_free(p->conditions[l]);
	leash_semaphore_free(p->semaphore);
	p->semaphore = NULL;
	if (frees_first)
		free_all_handles(p);
	leash_owner_free(p->own);
	p->client->living--;
	p->ended = true;
	return NULL; /* its thread or its owner ends, and with it what it holds */
}

static void *
dispatch(void *arg)
{
	struct sim_client *c = arg;
	struct pollfd polled = {.events = POLLIN};

	while (c->dispatches && leash_client_fd(c->leash, &polled.fd, NULL) != LEASH_OK)
		sim_sleep(20 * SIM_MS); /* there is no memory, or no descriptor */
	while (c->dispatches)
		if (poll(&polled, 1, 100) > 0)
			leash_client_dispatch(c->leash, NULL);
	return NULL;
}

/* Whoever still waits to be told is so when the client is closed. */
static void
stop_dispatching(struct sim_client *c, struct sim_fiber **dispatcher)
{
	c->dispatches = false;
	if (*dispatcher != NULL)
		sim_fiber_join(*dispatcher);
	*dispatcher = NULL;
}

static void
work(struct sim_client *c)
{
	struct sim_fiber *fibers[SIM_THREADS], *dispatcher = NULL;

	memset(c->fences, 0, sizeof c->fences);
	open_handles(c, c->watched, NULL);
	c->dispatches = sim_terms.loops;
	if (c->dispatches)
		dispatcher = sim_fiber_start(&c->process, dispatch, c);
	for (int i = 0; i < sim_terms.threads; i++) {
		c->people[i] = (struct sim_person){.client = c, .number = i};
		c->living++;
		fibers[i] = sim_fiber_start(&c->process, live, &c->people[i]);
	}
	while (!c->leaves && c->living > 0)
		sim_sleep(100 * SIM_MS);
	c->leaves = true;
	bool closes_first = sim_chance(0.5); /* while they wait, and hold */
	sim_trace("client %d closes", c->process.number);
	if (closes_first) {
		stop_dispatching(c, &dispatcher);
		leash_close(c->leash);
	}
	for (int i = 0; i < sim_terms.threads; i++) {
		sim_fiber_join(fibers[i]);
		free_all_handles(&c->people[i]);
	}
	stop_dispatching(c, &dispatcher);
	free_handles(c->watched);
	if (!closes_first)
		leash_close(c->leash);
}

static bool
open_client(struct sim_client *c)
{
	leash_client *leash;
	leash_error err;
	leash_status status = leash_open(&leash, LEASH_OPTIONS(.uri = sim_site.uri, .lease_ms = sim_terms.lease_ms,
	                                                       .timeout_ms = sim_terms.timeout_ms, .client_name = "sim",
	                                                       .on_event = sim_judge_told, .event_arg = c), &err);

	sim_trace("client %d opens: %s", c->process.number, status == LEASH_OK ? "" : err.text);
	if (status != LEASH_OK)
		sim_judge_unopened(c, status, &err);
	else
		c->leash = leash;
	return status == LEASH_OK;
}

static void *
live_client(void *arg)
{
	struct sim_client *c = arg;

	while (!all_leave) {
		c->leaves = false;
		if (!open_client(c)) {
			sim_sleep(100 * SIM_MS);
			continue;
		}
		work(c);
		c->leash = NULL;
		sim_trace("client %d is closed", c->process.number);
		sim_judge_closed(c);
	}
	c->gone = true;
	return NULL;
}

static void
add_client(const struct sim_client *heir_of)
{
	struct sim_client *c = &sim_clients[sim_client_count];

	c->heir_of = heir_of;
	c->process.number = sim_client_count++;
	sim_fiber_start(&c->process, live_client, c);
}

void
sim_people_arrive(void)
{
	for (int i = 0; i < sim_terms.clients; i++)
		add_client(NULL);
}

void
sim_people_leave(void)
{
	all_leave = true;
	for (int i = 0; i < sim_client_count; i++)
		sim_clients[i].leaves = true;
}

bool
sim_people_are_gone(void)
{
	for (int i = 0; i < sim_client_count; i++)
		if (!sim_clients[i].gone && !sim_clients[i].process.dead)
			return false;
	return true;
}

void
sim_client_die(struct sim_client *c)
{
	sim_trace("client %d dies", c->process.number);
	c->process.dead = true;
	sim_process_gone(&c->process);
	if (sim_client_count < SIM_PROCESSES && !all_leave)
		add_client(c);
}

/* ---- forked children ---- */

static void
use(leash_lock *handle)
{
	leash_error err;

	if (leash_lock_held(handle))
		sim_breach("a forked child has a lock");
	if (leash_lock_acquire(handle, 100, &err) != LEASH_FORKED || leash_lock_extend(handle, 100, &err) != LEASH_FORKED ||
	    leash_lock_release(handle, &err) != LEASH_FORKED)
		sim_breach("a forked child uses a lock of its parent's: %s", err.text);
}

static void
use_permits(const struct sim_person *p)
{
	leash_permit *more;
	leash_error err;

	if (leash_permit_held(p->permit))
		sim_breach("a forked child has permits");
	if ((p->semaphore != NULL && leash_semaphore_acquire(p->semaphore, 1, 100, &more, &err) != LEASH_FORKED) ||
	    leash_permit_extend(p->permit, 100, &err) != LEASH_FORKED ||
	    leash_permit_release(p->permit, &err) != LEASH_FORKED)
		sim_breach("a forked child uses permits of its parent's: %s", err.text);
}

/* All that it may do, while the parent's threads, which are no more there, were in the middle of anything. */
static void *
use_all(void *arg)
{
	struct sim_client *c = arg;

	for (int i = 0; i < sim_terms.threads; i++) {
		for (int l = 0; l < sim_terms.locks; l++)
			if (c->people[i].handles[l] != NULL && c->people[i].own == NULL) { /* else that may be freed */
				use(c->people[i].handles[l]);
				if (c->people[i].others[l] != NULL)
					use(c->people[i].others[l]);
			}
		if (c->people[i].permit != NULL)
			use_permits(&c->people[i]);
	}
	leash_close(c->leash);
	return NULL;
}

void
sim_fork(struct sim_client *c)
{
	int status;

	if (c->leash == NULL || c->process.dead)
		return;
	sim_trace("client %d forks", c->process.number);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		sim_is_child = true;
		if (!sim_fiber_run(&c->process, use_all, c))
			sim_breach("a forked child waits");
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		_exit(1); /* it has said why */
}
