/* How circles are found. First all who have a lock that is waited for, then who of them waits for another one. Of those
 * whoever can go on is left out, again and again: a process that waits for nothing, a lock whose holder goes on. What
 * remains leads into a circle, whichever way one goes. Its holds and waits are looked at a second time, when all have
 * been looked at once: a token is used for one hold and one wait, so those that are still there were there together. */
#include "tools/circle.h"

#include "tools/look.h"
#include "tools/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LOCKS_MOST = 1000,
	WAITERS_MOST = 20000, /* of all of them */
	HOLDS_MOST = 10000,
	ANCESTORS_MOST = 64,
	KEY_SIZE = LEASH_HOST_SIZE + 40,
};

/* Clients of one process are one. Those of which nobody knows the process are told apart by their tokens. */
struct member {
	char key[KEY_SIZE];
	bool stuck;
	size_t walk; /* in which it was met; 0: in none yet */
};

struct hold {
	size_t member;
	leash_party who;
};

struct wait {
	size_t lock, member;
	leash_party who;
	int64_t since_ms;
	const struct wait *next; /* of the same member */
};

struct locked {
	const leash_lock_info *info;
	size_t first_hold, holds;
	bool whole; /* those are all its holds */
	bool stuck;
};

struct graph {
	struct circles *circles;
	leash_client *client;
	const atomic_bool *stop;
	DIR *proc; /* NULL: there is none to look at */
	char host[LEASH_HOST_SIZE];

	struct locked *locks;
	struct hold *holds;
	struct member *members; /* sorted by key */
	struct wait *waits;
	const struct wait **waits_of; /* a member */
	size_t lock_count, hold_count, member_count, wait_count;

	size_t lock_now, waiters_left; /* while it goes through queues */
};

static bool
is_stopped(const struct graph *g)
{
	return g->stop != NULL && atomic_load_explicit(g->stop, memory_order_relaxed);
}

/* ---- who is who ---- */

static void
key_of_process(char key[static KEY_SIZE], const char *host, int64_t pid)
{
	snprintf(key, KEY_SIZE, "%s %lld", host, (long long)pid);
}

static void
key_of(char key[static KEY_SIZE], const leash_party *who)
{
	if (who->pid > 0)
		key_of_process(key, who->host, who->pid);
	else
		snprintf(key, KEY_SIZE, "%.*s", (int)strcspn(who->token, ":"), who->token);
}

static int
compare_members(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static struct member *
find_member(const struct graph *g, const struct member *like)
{
	return bsearch(like, g->members, g->member_count, sizeof *g->members, compare_members);
}

static bool
has_lock(const struct graph *g, const struct locked *lock, size_t member)
{
	for (size_t i = 0; i < lock->holds; i++)
		if (g->holds[lock->first_hold + i].member == member)
			return true;
	return false;
}

/* ---- who has what ---- */

static void
note_lock(struct graph *g, const leash_lock_info *info)
{
	struct locked *lock = &g->locks[g->lock_count];
	struct look look;

	*lock = (struct locked){.info = info, .first_hold = g->hold_count, .stuck = true};
	lock->whole = look_further(&look, g->client, info) && look.count < LEASH_HOLDS_MAX &&
	              look.count <= HOLDS_MOST - g->hold_count;
	for (; lock->holds < look.count && g->hold_count < HOLDS_MOST; lock->holds++)
		g->holds[g->hold_count++] = (struct hold){.who = look.holds[lock->holds].who};
	g->lock_count++;
}

static void
note_members(struct graph *g)
{
	for (size_t i = 0; i < g->hold_count; i++)
		key_of(g->members[i].key, &g->holds[i].who);
	qsort(g->members, g->hold_count, sizeof *g->members, compare_members);
	for (size_t i = 0; i < g->hold_count; i++)
		if (i == 0 || strcmp(g->members[i].key, g->members[g->member_count - 1].key) != 0)
			g->members[g->member_count++] = g->members[i];
	for (size_t i = 0; i < g->hold_count; i++) {
		struct member like;

		key_of(like.key, &g->holds[i].who);
		g->holds[i].member = (size_t)(find_member(g, &like) - g->members);
	}
}

/* ---- who waits for what ---- */

/* One waits for itself only between its threads, which is their matter. */
static void
add_wait(struct graph *g, const struct member *like, const leash_waiter_info *waiter)
{
	const struct member *member = find_member(g, like);
	struct wait *wait = &g->waits[g->wait_count]; /* there is one more */
	size_t i;

	if (member == NULL)
		return;
	g->circles->partial |= g->wait_count == WAITERS_MOST;
	if (g->wait_count == WAITERS_MOST)
		return;
	i = (size_t)(member - g->members);
	if (has_lock(g, &g->locks[g->lock_now], i))
		return;
	*wait = (struct wait){.lock = g->lock_now, .member = i, .who = waiter->who, .since_ms = waiter->waiting_since_ms,
	                      .next = g->waits_of[i]};
	g->waits_of[i] = wait;
	g->wait_count++;
}

static void
add_ancestors(struct graph *g, const leash_waiter_info *waiter)
{
	struct process process = {.parent = (pid_t)waiter->who.pid};
	struct member like;

	for (int i = 0; i < ANCESTORS_MOST && process_read(dirfd(g->proc), process.parent, &process); i++) {
		if (process.parent <= 1)
			return;
		key_of_process(like.key, g->host, process.parent);
		add_wait(g, &like, waiter);
	}
}

static bool
note_waiter(void *arg, const leash_waiter_info *waiter)
{
	struct graph *g = arg;
	struct member like;

	key_of(like.key, &waiter->who);
	add_wait(g, &like, waiter);
	if (g->proc != NULL && waiter->who.pid > 1 && waiter->who.pid <= INT32_MAX &&
	    strcmp(waiter->who.host, g->host) == 0)
		add_ancestors(g, waiter);
	return --g->waiters_left > 0 && !is_stopped(g);
}

/* False: the server is away, or enough was asked. */
static bool
ask_waiters(struct graph *g, size_t i)
{
	leash_lock *lock = NULL;
	leash_status st = leash_lock_new(&lock, g->client, g->locks[i].info->name, CLI_LOOKING, NULL);

	g->lock_now = i;
	if (st == LEASH_OK)
		st = leash_lock_waiters(lock, note_waiter, g, NULL);
	leash_lock_free(lock);
	if (st != LEASH_OK || g->waiters_left == 0)
		g->circles->partial = true;
	return st != LEASH_UNAVAILABLE && g->waiters_left > 0 && !is_stopped(g);
}

/* ---- who cannot go on ---- */

static bool
is_stuck(const struct graph *g, const struct locked *lock)
{
	size_t stuck = 0;

	for (size_t i = 0; i < lock->holds; i++)
		stuck += g->members[g->holds[lock->first_hold + i].member].stuck;
	if (lock->info->kind == LEASH_KIND_SEMAPHORE)
		return lock->whole && lock->holds > 0 && stuck == lock->holds;
	return stuck > 0 && (lock->info->kind == LEASH_KIND_MUTEX || lock->info->kind == LEASH_KIND_READ_WRITE);
}

static const struct wait *
stuck_wait(const struct graph *g, size_t member)
{
	const struct wait *wait = g->waits_of[member];

	while (wait != NULL && !g->locks[wait->lock].stuck)
		wait = wait->next;
	return wait;
}

static void
leave_out_who_goes_on(struct graph *g)
{
	bool changed = true;

	for (size_t i = 0; i < g->member_count; i++)
		g->members[i].stuck = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < g->member_count; i++)
			if (g->members[i].stuck && stuck_wait(g, i) == NULL)
				changed = true, g->members[i].stuck = false;
		for (size_t i = 0; i < g->lock_count; i++)
			if (g->locks[i].stuck && !is_stuck(g, &g->locks[i]))
				changed = true, g->locks[i].stuck = false;
	}
}

static const struct hold *
stuck_hold(const struct graph *g, const struct locked *lock)
{
	const struct hold *hold = &g->holds[lock->first_hold];

	while (!g->members[hold->member].stuck)
		hold++;
	return hold;
}

/* ---- circles ---- */

struct check {
	const char *token;
	bool found;
};

static bool
check_wait(void *arg, const leash_waiter_info *waiter)
{
	struct check *check = arg;

	check->found = strcmp(waiter->who.token, check->token) == 0;
	return !check->found;
}

/* `who` has it, and `waiter` waits for it. */
static bool
is_still_so(const struct graph *g, const char *name, const leash_party *who, const leash_party *waiter)
{
	struct check waits = {.token = waiter->token};
	struct look look;
	leash_lock *lock = NULL;

	if (leash_lock_new(&lock, g->client, name, CLI_LOOKING, NULL) == LEASH_OK &&
	    look_at(&look, lock, NULL) == LEASH_OK && look_has(&look, who))
		leash_lock_waiters(lock, check_wait, &waits, NULL);
	leash_lock_free(lock);
	return waits.found;
}

static bool
is_confirmed(const struct graph *g, const struct circle *circle)
{
	for (size_t i = 0; i < circle->count; i++) {
		const struct circle_link *before = &circle->link[(i + circle->count - 1) % circle->count];

		if (!is_still_so(g, circle->link[i].lock, &circle->link[i].who, &before->waiter))
			return false;
	}
	return true;
}

/* From a member that was met twice. What is longer than there is room for is passed over. */
static void
take_circle(struct graph *g, size_t from, const struct moment *now)
{
	struct circle *circle = &g->circles->at[g->circles->count];
	const leash_party *waiter_of_last = &stuck_wait(g, from)->who;
	int64_t begun_ms = 0;
	size_t member = from;

	circle->count = 0;
	do {
		const struct wait *wait = stuck_wait(g, member);
		const struct locked *lock = &g->locks[wait->lock];
		const struct hold *hold = stuck_hold(g, lock);

		if (circle->count == CIRCLE_LINKS_MAX)
			return;
		if (circle->count > 0)
			circle->link[circle->count - 1].waiter = wait->who;
		circle->link[circle->count].who = hold->who;
		strcpy(circle->link[circle->count++].lock, lock->info->name);
		begun_ms = wait->since_ms > begun_ms ? wait->since_ms : begun_ms;
		begun_ms = lock->info->held_since_ms > begun_ms ? lock->info->held_since_ms : begun_ms;
		member = hold->member;
	} while (member != from);
	circle->link[circle->count - 1].waiter = *waiter_of_last;
	circle->age_ms = moment_age(now, begun_ms);
	if (circle->age_ms >= CIRCLE_LEAST_MS && is_confirmed(g, circle))
		g->circles->count++;
}

static void
walk(struct graph *g, const struct moment *now)
{
	for (size_t i = 0; i < g->member_count && g->circles->count < CIRCLES_MAX; i++) {
		size_t member = i;

		while (g->members[member].stuck && g->members[member].walk == 0) {
			g->members[member].walk = i + 1;
			member = stuck_hold(g, &g->locks[stuck_wait(g, member)->lock])->member;
		}
		if (g->members[member].stuck && g->members[member].walk == i + 1)
			take_circle(g, member, now);
	}
}

/* ---- from outside ---- */

struct circles *
circles_new(void)
{
	struct circles *circles = calloc(1, sizeof *circles);

	if (circles != NULL && ranking_init(&circles->contended, LOCKS_MOST))
		return circles;
	free(circles);
	return NULL;
}

void
circles_free(struct circles *circles)
{
	if (circles != NULL)
		ranking_destroy(&circles->contended);
	free(circles);
}

void
circles_clear(struct circles *circles)
{
	circles->count = 0;
	circles->noted = 0;
	circles->partial = false;
	ranking_clear(&circles->contended, (struct order){RANK_WAITING, true});
}

void
circles_note(struct circles *circles, const leash_lock_info *info)
{
	circles->noted += ranking_add(&circles->contended, info);
}

static void
find(struct graph *g, const struct moment *now)
{
	const struct ranking *contended = &g->circles->contended;
	bool more = true;

	for (size_t i = 0; i < contended->count && !is_stopped(g); i++)
		note_lock(g, &contended->at[i]->info);
	note_members(g);
	for (size_t i = 0; i < g->lock_count && more; i++)
		more = ask_waiters(g, i);
	g->circles->partial |= !more;
	leave_out_who_goes_on(g);
	walk(g, now);
}

void
circles_find(struct circles *circles, leash_client *client, const struct moment *now, const atomic_bool *stop)
{
	size_t locks = circles->contended.count;
	struct graph g = {.circles = circles, .client = client, .stop = stop, .waiters_left = WAITERS_MOST};

	circles->partial = circles->noted > locks;
	if (locks < 2)
		return;
	ranking_sort(&circles->contended, circles->contended.order);
	g.locks = calloc(locks, sizeof *g.locks);
	g.holds = calloc(HOLDS_MOST, sizeof *g.holds);
	g.members = calloc(HOLDS_MOST, sizeof *g.members);
	g.waits_of = calloc(HOLDS_MOST, sizeof *g.waits_of);
	g.waits = calloc(WAITERS_MOST + 1, sizeof *g.waits);
	if (gethostname(g.host, sizeof g.host - 1) == 0)
		g.proc = process_open_proc();
	if (g.locks != NULL && g.holds != NULL && g.members != NULL && g.waits_of != NULL && g.waits != NULL)
		find(&g, now);
	else
		circles->partial = true;
	if (g.proc != NULL)
		closedir(g.proc);
	free(g.locks);
	free(g.holds);
	free(g.members);
	free(g.waits_of);
	free(g.waits);
}

const struct circle *
circles_with(const struct circles *circles, const char *name)
{
	for (size_t i = 0; i < circles->count; i++)
		for (size_t n = 0; n < circles->at[i].count; n++)
			if (strcmp(circles->at[i].link[n].lock, name) == 0)
				return &circles->at[i];
	return NULL;
}

/* "ann:12". Whether leash runs that makes no difference here. */
static void
say_party(char *out, size_t size, const leash_party *who)
{
	char program[4 * LEASH_PROGRAM_SIZE], *run;

	cli_show(program, sizeof program, who->program);
	run = strstr(program, CLI_UNDER_RUN);
	if (run != NULL)
		*run = '\0';
	snprintf(out, size, "%s:%lld", program[0] != '\0' ? program : "?", (long long)who->pid);
}

char *
circle_text(char out[static CIRCLE_TEXT_SIZE], const struct circle *circle)
{
	char who[4 * LEASH_PROGRAM_SIZE + 24], has[4 * LEASH_NAME_MAX + 1], wants[4 * LEASH_NAME_MAX + 1];

	out[0] = '\0';
	for (size_t i = 0; i < circle->count; i++) {
		const struct circle_link *here = &circle->link[i], *next = &circle->link[(i + 1) % circle->count];

		say_party(who, sizeof who, &here->who);
		cli_append(out, CIRCLE_TEXT_SIZE, "%s%s has %s, waits for %s", i > 0 ? "; " : "", who,
		           cli_show(has, sizeof has, here->lock), cli_show(wants, sizeof wants, next->lock));
	}
	return out;
}

char *
circle_link_text(char out[static CIRCLE_TEXT_SIZE], const struct circle *circle, size_t link)
{
	const struct circle_link *here = &circle->link[link], *next = &circle->link[(link + 1) % circle->count];
	char who[CLI_PARTY_SIZE], has[4 * LEASH_NAME_MAX + 1], wants[4 * LEASH_NAME_MAX + 1], child[64] = "";

	if (here->waiter.pid != here->who.pid)
		snprintf(child, sizeof child, "and pid %lld, which it started, ", (long long)here->waiter.pid);
	snprintf(out, CIRCLE_TEXT_SIZE, "%s, has %s, %swaits for %s", cli_party(who, &here->who),
	         cli_show(has, sizeof has, here->lock), child, cli_show(wants, sizeof wants, next->lock));
	return out;
}
