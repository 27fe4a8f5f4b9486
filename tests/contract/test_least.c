/* The user with no more rights than it needs, as docs/deployments.md has it: all that it is for works, in every
 * deployment, also without EVAL where the scripts are loaded beforehand; and each right is needed, as without it
 * something is refused in words that name it, and no key stays for ever. */
#include "tests/support/actor.h"
#include "tests/support/cluster.h"
#include "tests/support/leashed.h"
#include "tests/support/least.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

static struct deployment *deployment;
static char *uri;
static _Thread_local leash_error err;

/* For a lock that comes; without a right some do not: then a lease and a little more. */
static int64_t lease_ms = 3000, patience_ms = 10000;

/* ---- what is told ---- */

/* All that leash says, each on a line: texts of refusals, the log. */
static struct {
	pthread_mutex_t mutex;
	char text[65536];
} told = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
note(const char *text)
{
	pthread_mutex_lock(&told.mutex);
	size_t n = strlen(told.text);
	snprintf(told.text + n, sizeof told.text - n, "%s\n", text);
	pthread_mutex_unlock(&told.mutex);
}

static void
note_line(void *arg, leash_log_level level, const char *line)
{
	(void)arg;
	if (level <= LEASH_LOG_WARNING)
		note(line);
}

static bool
went_well(leash_status status)
{
	if (status == LEASH_OK)
		return true;
	note(err.text);
	return false;
}

static bool
leaves_no_key_for_ever(bool well)
{
	assert_int_equal(deployment_lasting_keys(deployment, "leash:*"), 0);
	return well;
}

#define try(call) leaves_no_key_for_ever(went_well(call))

/* "+client|setname" is told as CLIENT SETNAME or client|setname, "~leash:*" as keys. */
static bool
is_told(const char *rule)
{
	char words[LEAST_RULE_SIZE];

	if (rule[0] == '~')
		return strstr(told.text, "key") != NULL;
	if (rule[0] == '&')
		return strstr(told.text, "channel") != NULL;
	snprintf(words, sizeof words, "%s", rule + 1);
	if (strcasestr(told.text, words) != NULL)
		return true;
	char *bar = strchr(words, '|');
	if (bar == NULL)
		return false;
	*bar = ' ';
	return strcasestr(told.text, words) != NULL;
}

/* ---- the life of a lock ---- */

struct life {
	leash_client *mine, *other, *one_more;
	leash_lock *lock, *theirs, *third; /* of each */
	char name[32];
	struct actor actor; /* a thread of the other one's: it acquires, is adopted from, and meets at gates */
};

static bool
waits(const struct life *life)
{
	char key[64];

	snprintf(key, sizeof key, "leash:{%s}:queue", life->name);
	return actor_is_done(&life->actor) || deployment_integer(deployment, key, "EXISTS %s", key) == 1;
}

/* In a quorum there is no queue: who waits is seen by nobody. */
static void
let_other_wait(struct life *life)
{
	int64_t limit = await_limit_ns(2);

	actor_tell(&life->actor, actor_acquire);
	if (deployment_kind(deployment) == DEPLOYMENT_QUORUM)
		return;
	while (!waits(life) && !await_is_past(limit))
		await_ms(1);
	try(leash_lock_waiters(life->lock, count_waiter, &(int){0}, &err));
}

static void
await_renewal(struct life *life)
{
	leash_stats before = {.size = sizeof before}, now = before;
	int64_t limit = await_limit_ns(5);

	leash_client_stats(life->mine, &before, NULL);
	do {
		await_ms(10);
		leash_client_stats(life->mine, &now, NULL);
	} while (now.renewed == before.renewed && now.renewals_failed == before.renewals_failed &&
	         leash_lock_held(life->lock) && !await_is_past(limit));
}

/* Who gives up takes the place back. By then, `theirs` has one already. */
static void
give_up(struct life *life)
{
	leash_status status = leash_lock_acquire(life->third, 200, &err);

	if (status == LEASH_OK)
		leash_lock_release(life->third, NULL);
	else if (status != LEASH_TIMEOUT)
		went_well(status);
}

static void
adopt_from_other(struct actor *a)
{
	const struct life *life = a->ctx;
	char token[LEASH_TOKEN_MAX];

	leash_lock_token(a->lock, token, sizeof token);
	if (try(leash_lock_adopt(life->lock, token, &err)))
		try(leash_lock_release(life->lock, &err));
	leash_lock_release(a->lock, NULL); /* it was adopted meanwhile, if all went well */
}

static void
use(struct life *life)
{
	leash_lock_info info = {.size = sizeof info};
	bool held = try(leash_lock_acquire(life->lock, 2000, &err));
	int locks = 0;

	if (held) {
		assert_int_equal(leash_lock_acquire(life->lock, 0, &err), LEASH_OK);
		assert_int_equal(leash_lock_release(life->lock, &err), LEASH_OK);
		try(leash_lock_extend(life->lock, 4500, &err));
	}
	if (try(leash_lock_inspect(life->theirs, &info, &err)))
		assert_true(info.held || !held);
	if (try(leash_client_scan(life->other, NULL, count_lock, &locks, &err)))
		assert_true(locks > 0 || !held);
	let_other_wait(life);
	if (held)
		await_renewal(life);
	give_up(life);
	if (held)
		try(leash_lock_release(life->lock, &err));
	actor_hear(&life->actor);
	if (life->actor.status == LEASH_OK) {
		actor_tell(&life->actor, adopt_from_other);
		actor_hear(&life->actor);
	} else {
		note(life->actor.err.text);
	}
	if (try(leash_lock_acquire(life->theirs, patience_ms, &err))) {
		try(leash_lock_break(life->lock, &err));
		leash_lock_release(life->theirs, NULL);
	}
}

/* Another lock of this life; `amid` may be NULL. */
static void
use_another(struct life *life, const char *which, const leash_lock_options *options,
            void (*amid)(leash_lock *lock, const char *name))
{
	char name[48];

	snprintf(name, sizeof name, "%s-%s", life->name, which);
	leash_lock *lock = leashed_lock(life->mine, name, options);
	if (try(leash_lock_acquire(lock, 3000, &err))) {
		if (amid != NULL)
			amid(lock, name);
		try(leash_lock_release(lock, &err));
	}
	leash_lock_free(lock);
}

static bool
count_permit(__attribute__((unused)) void *arg, __attribute__((unused)) const leash_hold_info *hold)
{
	return true;
}

static void
take_two(struct actor *a)
{
	leash_permit *permit = NULL;

	if (try(leash_semaphore_acquire(a->semaphore, 2, patience_ms, &permit, &err)))
		leash_permit_release(permit, NULL);
}

/* Permits are all that there are, so that the other one waits, and is let in by an operator. */
static void
share(struct life *life)
{
	leash_lock_info info = {.size = sizeof info};
	leash_semaphore *mine, *theirs;
	leash_permit *permit = NULL, *adopted = NULL;
	char name[48], token[LEASH_TOKEN_MAX];

	snprintf(name, sizeof name, "%s-permits", life->name);
	assert_int_equal(leash_semaphore_new(&mine, life->mine, name, 3, NULL, &err), LEASH_OK);
	assert_int_equal(leash_semaphore_new(&theirs, life->other, name, 3, NULL, &err), LEASH_OK);
	life->actor.semaphore = theirs;
	if (try(leash_semaphore_acquire(mine, 2, 3000, &permit, &err))) {
		try(leash_permit_extend(permit, 4500, &err));
		actor_tell(&life->actor, take_two);
		await_ms(20);
		try(leash_semaphore_waiters(mine, count_waiter, &(int){0}, &err));
		try(leash_semaphore_limit(mine, 4, 60000, &err));
		try(leash_semaphore_limit(mine, 0, 0, &err));
		try(leash_semaphore_inspect(mine, &info, count_permit, NULL, &err));
		leash_permit_token(permit, token, sizeof token);
		if (try(leash_semaphore_adopt(theirs, 2, token, &adopted, &err)))
			try(leash_permit_release(adopted, &err));
		leash_permit_release(permit, NULL); /* it was adopted meanwhile, if all went well */
		actor_hear(&life->actor);
	}
	leash_semaphore_free(mine);
	leash_semaphore_free(theirs);
}

static void
meet(struct actor *a)
{
	try(leash_barrier_wait(a->ctx, patience_ms, &err));
}

/* One waits at a latch until the other has arrived, and then they meet. */
static void
pass_gates(struct life *life)
{
	leash_latch *latch = NULL;
	leash_barrier *mine = NULL, *theirs = NULL;
	char name[48];

	snprintf(name, sizeof name, "%s-latch", life->name);
	assert_int_equal(leash_latch_new(&latch, life->mine, name, 1, &err), LEASH_OK);
	if (try(leash_latch_count_down(latch, "me", &err)))
		try(leash_latch_await(latch, patience_ms, &err));
	try(leash_latch_arrived(latch, &(int64_t){0}, &err));
	leash_latch_free(latch);
	snprintf(name, sizeof name, "%s-barrier", life->name);
	assert_int_equal(leash_barrier_new(&mine, life->mine, name, 2, &err), LEASH_OK);
	assert_int_equal(leash_barrier_new(&theirs, life->other, name, 2, &err), LEASH_OK);
	life->actor.ctx = theirs;
	actor_tell(&life->actor, meet);
	try(leash_barrier_wait(mine, patience_ms, &err));
	actor_hear(&life->actor);
	leash_barrier_free(mine);
	leash_barrier_free(theirs);
}

/* Reached while its keys are at one server of a cluster and its slot still at another. */
static void
move(leash_lock *lock, const char *name)
{
	struct cluster *cluster = deployment_cluster(deployment);
	char key[64];

	snprintf(key, sizeof key, "leash:{%s}", name);
	int slot = cluster_slot(key);
	cluster_move_begin(cluster, slot, (cluster_master_of_slot(cluster, slot) + 1) % CLUSTER_MASTERS);
	cluster_move_keys(cluster, slot, 10);
	try(leash_lock_extend(lock, 4500, &err));
	cluster_move_end(cluster, slot);
}

/* Each life has a name of its own: what one left whose end was denied is gone a lease later. */
static void
live(void)
{
	static int lives;
	leash_options options = *LEASH_OPTIONS(.uri = uri, .lease_ms = lease_ms, .timeout_ms = 3000, .on_log = note_line);
	struct life life = {.lock = NULL};

	told.text[0] = '\0';
	snprintf(life.name, sizeof life.name, "life-%d", lives++);
	if (!try(leash_open(&life.mine, &options, &err)))
		return;
	life.other = leashed_open(uri, &options);
	life.one_more = leashed_open(uri, &options);
	life.lock = leashed_lock(life.mine, life.name, NULL);
	life.theirs = leashed_lock(life.other, life.name, NULL);
	life.third = leashed_lock(life.one_more, life.name, NULL);
	actor_begin(&life.actor, life.theirs, patience_ms);
	life.actor.ctx = &life;
	use(&life);
	if (deployment_kind(deployment) != DEPLOYMENT_QUORUM) {
		share(&life);
		pass_gates(&life);
	}
	if (deployment_kind(deployment) == DEPLOYMENT_SENTINEL || deployment_kind(deployment) == DEPLOYMENT_CLUSTER) {
		use_another(&life, "copied", LEASH_LOCK_OPTIONS(.min_replicas = 1), NULL);
		if (least_is_known(deployment_master(deployment, 0), "+waitaof"))
			use_another(&life, "written", LEASH_LOCK_OPTIONS(.fsynced = true), NULL);
	}
	if (deployment_cluster(deployment) != NULL)
		use_another(&life, "moved", NULL, move);
	actor_end(&life.actor);
	leash_lock_free(life.lock);
	leash_lock_free(life.theirs);
	leash_lock_free(life.third);
	leash_close(life.mine);
	leash_close(life.other);
	leash_close(life.one_more);
	leaves_no_key_for_ever(true);
}

static void
live_with_all(const char *but)
{
	least_admit(deployment, but);
	least_denied(deployment);
	live();
	assert_string_equal(told.text, "");
	assert_string_equal(least_denied(deployment), "");
}

/* ---- without ---- */

enum { ANYWHERE = -1 };

/* What leash does without, saying nothing of it. leash doctor does. */
static const struct {
	int where; /* a deployment */
	const char *rule, *reason;
} forgone[] = {
	{ANYWHERE, "+client|setname", "a name for people"},
	{ANYWHERE, "+ping", "its refusal is an answer as good as any"},
	{ANYWHERE, "+getrange", "who has a lock is told without a name"},
	{ANYWHERE, "+publish", "who was handed the lock learns it by asking, a little later"},
	{ANYWHERE, "+spublish", "likewise"},
	{ANYWHERE, "+sunsubscribe", "channels that are left stay, until the connection ends"},
	{DEPLOYMENT_SINGLE, "+info", "no restart is seen, and no eviction"},
	{DEPLOYMENT_SENTINEL, "+info", "likewise, and the sentinels are believed"},
	{DEPLOYMENT_CLUSTER, "+info", "likewise"},
	{DEPLOYMENT_SENTINEL, "+sentinel|master", "a sentinel's answer has no age"},
	{DEPLOYMENT_SENTINEL, "+sentinel|sentinels", "only those are asked that the URI names"},
	{DEPLOYMENT_QUORUM, "+del", "who the client was stays for a lease"},
};

static const char *
why_forgone(const char *rule)
{
	for (size_t i = 0; i < COUNT(forgone); i++)
		if (strcmp(forgone[i].rule, rule) == 0 &&
		    (forgone[i].where == ANYWHERE || forgone[i].where == (int)deployment_kind(deployment)))
			return forgone[i].reason;
	return NULL;
}

/* Only where there is no SPUBLISH: a server before Redis 7. */
static bool
is_for_another_time(const char *rule)
{
	return deployment_kind(deployment) == DEPLOYMENT_CLUSTER && strcmp(rule, "+publish") == 0;
}

static void
forget_scripts(void)
{
	struct server *server;

	for (size_t i = 0; (server = deployment_master(deployment, i)) != NULL; i++)
		freeReplyObject(server_command(server, "SCRIPT FLUSH"));
}

static int
live_without_each(const struct least *least)
{
	int wrong = 0;

	lease_ms = slow_ms(1500);
	patience_ms = slow_ms(2500);
	for (int i = 0; i < least->count; i++) {
		const char *rule = least->rule[i];

		if (strchr("+~&", rule[0]) == NULL || is_for_another_time(rule) ||
		    !least_is_known(deployment_master(deployment, 0), rule))
			continue;
		least_admit(deployment, rule);
		forget_scripts();
		least_denied(deployment);
		live();
		const char *denied = least_denied(deployment);
		if (denied[0] == '\0') {
			print_message("# nothing is denied without %s\n", rule);
			wrong++;
		} else if (!is_told(rule) && why_forgone(rule) == NULL) {
			print_message("# without %s nothing is said of it: %s\n", rule, told.text);
			wrong++;
		}
	}
	return wrong;
}

/* ---- all deployments side by side, each in a process of its own ---- */

static struct lane {
	const char *name;
	enum deployment_kind kind;
	bool preloaded;
	pid_t pid;
} lanes[] = {
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_single", DEPLOYMENT_SINGLE, false, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_sentinel", DEPLOYMENT_SENTINEL, false, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_cluster", DEPLOYMENT_CLUSTER, false, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_quorum", DEPLOYMENT_QUORUM, false, 0},
	{"a_user_who_may_send_no_script_does_all_with_those_that_are_loaded", DEPLOYMENT_SINGLE, true, 0},
};

static int
live_with_loaded_scripts(void)
{
	assert_int_equal(leash_scripts_load(LEASH_OPTIONS(.uri = deployment_uri(deployment)), &err), LEASH_OK);
	uri = text_of("%s%sscripts=preloaded", uri, strchr(uri, '?') != NULL ? "&" : "?");
	live_with_all("+eval");
	return 0;
}

static int
live_without_each_in_turn(enum deployment_kind kind)
{
	struct least least, sentinels = {.count = 0};

	live_with_all(NULL);
	least_of(&least, kind);
	int wrong = live_without_each(&least);
	if (kind == DEPLOYMENT_SENTINEL) {
		least_read(&sentinels, "Sentinel");
		wrong += live_without_each(&sentinels);
	}
	return wrong;
}

static int
use_deployment(void *arg)
{
	static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
	const struct lane *lane = arg;

	deployment = deployment_start_with(lane->kind, durable);
	uri = least_uri(deployment);
	int wrong = lane->preloaded ? live_with_loaded_scripts() : live_without_each_in_turn(lane->kind);
	deployment_stop(deployment);
	free(uri);
	return wrong;
}

/* All of them, or that which LEASH_TEST_DEPLOYMENT names. */
static void
start(void)
{
	const char *only = getenv("LEASH_TEST_DEPLOYMENT");

	for (size_t i = 0; i < COUNT(lanes); i++)
		if (only == NULL || *only == '\0' || strcmp(only, deployment_name(lanes[i].kind)) == 0)
			lanes[i].pid = child_run(use_deployment, &lanes[i]);
}

GROUP(start, NULL);

SENTENCES(what_a_user_needs_is_permitted_and_what_it_lacks_is_named, lanes)
{
	const struct lane *lane = given;

	if (lane->pid == 0)
		skip();
	assert_int_equal(child_end(lane->pid), 0);
}
