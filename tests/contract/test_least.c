/* The user with no more rights than it needs, as docs/deployments.md has it: all that it is for works, in every deployment; and each right
 * is needed, as without it something is refused in words that name it, and no key stays for ever. */
#include "tests/support/child.h"
#include "tests/support/cluster.h"
#include "tests/support/deployment.h"
#include "tests/support/leashed.h"
#include "tests/support/least.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/test.h"

#include <pthread.h>

static struct deployment *deployment;
static char *uri;
static _Thread_local leash_error err;

/* For a lock that comes; without a right some do not: then a lease and a little more. */
static int64_t lease_ms = 3000, patience_ms = 10000;

/* ---- what is told ---- */

/* All that leash says: texts of refusals, lines of the log. */
static struct {
	pthread_mutex_t mutex;
	char text[65536];
	int refusals;
} told = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void
note(const char *text)
{
	size_t n;

	pthread_mutex_lock(&told.mutex);
	n = strlen(told.text);
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
went_well(leash_status status, const leash_error *why)
{
	if (status == LEASH_OK)
		return true;
	note(why->text);
	pthread_mutex_lock(&told.mutex);
	told.refusals++;
	pthread_mutex_unlock(&told.mutex);
	return false;
}

#define try(call) went_well((call), &err)

/* "+client|setname" is told as CLIENT SETNAME or client|setname, "~leash:*" as keys. */
static bool
is_told(const char *rule)
{
	char words[LEAST_RULE_SIZE], *bar;

	if (rule[0] == '~')
		return strstr(told.text, "key") != NULL;
	if (rule[0] == '&')
		return strstr(told.text, "channel") != NULL;
	snprintf(words, sizeof words, "%s", rule + 1);
	if (strcasestr(told.text, words) != NULL)
		return true;
	bar = strchr(words, '|');
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
	pthread_t thread;
	_Atomic int ended;
	bool acquired;
	char token[LEASH_TOKEN_MAX];
	_Atomic int told, done;
};

static void
check_ttls(void)
{
	assert_int_equal(deployment_lasting_keys(deployment, "leash:*"), 0);
}

static bool
visit(void *arg, const leash_lock_info *info)
{
	++*(int *)arg;
	(void)info;
	return true;
}

static bool
visit_waiter(void *arg, const leash_waiter_info *info)
{
	++*(int *)arg;
	(void)info;
	return true;
}

static void
look(struct life *life, bool held)
{
	leash_lock_info info = { .size = sizeof info };
	int locks = 0;

	if (try(leash_lock_inspect(life->theirs, &info, &err)) && held)
		assert_true(info.held);
	if (try(leash_client_scan(life->other, NULL, visit, &locks, &err)) && held)
		assert_true(locks > 0);
	check_ttls();
}

/* The other one: acquires, is adopted. */
static void *
wait_and_hold(void *arg)
{
	struct life *life = arg;

	life->acquired = try(leash_lock_acquire(life->theirs, patience_ms, &err));
	leash_lock_token(life->theirs, life->token, sizeof life->token);
	life->ended = 1;
	await_true_for(life->done, 60);
	if (life->acquired)
		leash_lock_release(life->theirs, NULL); /* it was adopted meanwhile, if all went well */
	return NULL;
}

static bool
waits(struct life *life)
{
	char key[64];

	snprintf(key, sizeof key, "leash:{%s}:queue", life->name);
	return life->ended || deployment_integer(deployment, key, "EXISTS %s", key) == 1;
}

/* In a quorum there is no queue: who waits is seen by nobody. */
static void
hand_over(struct life *life)
{
	bool is_queue = deployment_kind(deployment) != DEPLOYMENT_QUORUM;
	int64_t limit = await_limit_ns(2);
	int waiters = 0;

	pthread_create(&life->thread, NULL, wait_and_hold, life);
	while (is_queue && !waits(life) && !await_is_past(limit))
		await_ms(1);
	if (is_queue)
		try(leash_lock_waiters(life->lock, visit_waiter, &waiters, &err));
	check_ttls();
}

static void
await_renewal(struct life *life)
{
	leash_stats before = { .size = sizeof before }, now = before;
	int64_t limit = await_limit_ns(5);

	leash_client_stats(life->mine, &before, NULL);
	do {
		await_ms(10);
		leash_client_stats(life->mine, &now, NULL);
	} while (now.renewed == before.renewed && now.renewals_failed == before.renewals_failed && leash_lock_held(life->lock) && !await_is_past(limit));
	check_ttls();
}

/* Who gives up takes the place back. By then, `theirs` has one already. */
static void
give_up(struct life *life)
{
	leash_status status = leash_lock_acquire(life->third, 200, &err);

	if (status == LEASH_OK)
		leash_lock_release(life->third, NULL);
	else if (status != LEASH_TIMEOUT)
		went_well(status, &err);
}

static void
use(struct life *life)
{
	bool held = try(leash_lock_acquire(life->lock, 2000, &err));

	check_ttls();
	if (held) {
		assert_int_equal(leash_lock_acquire(life->lock, 0, &err), LEASH_OK);
		assert_int_equal(leash_lock_release(life->lock, &err), LEASH_OK);
		try(leash_lock_extend(life->lock, 4500, &err));
		check_ttls();
	}
	look(life, held);
	hand_over(life);
	if (held)
		await_renewal(life);
	give_up(life);
	check_ttls();
	if (held)
		try(leash_lock_release(life->lock, &err));
	check_ttls();
	await_true(life->ended);
	if (life->acquired && try(leash_lock_adopt(life->lock, life->token, &err)))
		try(leash_lock_release(life->lock, &err));
	life->done = 1;
	pthread_join(life->thread, NULL);
	check_ttls();
	if (try(leash_lock_acquire(life->theirs, patience_ms, &err))) {
		try(leash_lock_break(life->lock, &err));
		leash_lock_release(life->theirs, NULL);
	}
	check_ttls();
}

/* Once written by a replica, too. */
static void
use_replicas(struct life *life)
{
	leash_lock *lock;
	char name[48];

	if (deployment_kind(deployment) != DEPLOYMENT_SENTINEL && deployment_kind(deployment) != DEPLOYMENT_CLUSTER)
		return;
	snprintf(name, sizeof name, "%s-copied", life->name);
	lock = leashed_lock(life->mine, name, LEASH_LOCK_OPTIONS(.min_replicas = 1));
	if (try(leash_lock_acquire(lock, 3000, &err)))
		try(leash_lock_release(lock, &err));
	leash_lock_free(lock);
	check_ttls();
	if (!least_is_known(deployment_master(deployment, 0), "+waitaof"))
		return;
	snprintf(name, sizeof name, "%s-written", life->name);
	lock = leashed_lock(life->mine, name, LEASH_LOCK_OPTIONS(.fsynced = true));
	if (try(leash_lock_acquire(lock, 3000, &err)))
		try(leash_lock_release(lock, &err));
	leash_lock_free(lock);
	check_ttls();
}

/* Reached while its keys are at one server of a cluster and its slot still at another. */
static void
use_slot_that_moves(struct life *life)
{
	struct cluster *cluster = deployment_cluster(deployment);
	leash_lock *lock;
	char name[48], key[64];
	int slot;

	if (cluster == NULL)
		return;
	snprintf(name, sizeof name, "%s-moved", life->name);
	snprintf(key, sizeof key, "leash:{%s}", name);
	slot = cluster_slot(key);
	lock = leashed_lock(life->mine, name, NULL);
	if (try(leash_lock_acquire(lock, 3000, &err))) {
		cluster_move_begin(cluster, slot, (cluster_master_of_slot(cluster, slot) + 1) % CLUSTER_MASTERS);
		cluster_move_keys(cluster, slot, 10);
		try(leash_lock_extend(lock, 4500, &err));
		check_ttls();
		cluster_move_end(cluster, slot);
		try(leash_lock_release(lock, &err));
	}
	leash_lock_free(lock);
	check_ttls();
}

/* Each life has a name of its own: what one left whose end was denied is gone a lease later. */
static void
live(void)
{
	static int lives;
	leash_options options = *LEASH_OPTIONS(.uri = uri, .lease_ms = lease_ms, .timeout_ms = 3000, .on_log = note_line);
	struct life life = { .ended = 0 };

	told.text[0] = '\0';
	told.refusals = 0;
	snprintf(life.name, sizeof life.name, "life-%d", lives++);
	if (!try(leash_open(&life.mine, &options, &err)))
		return;
	life.other = leashed_open(uri, &options);
	life.one_more = leashed_open(uri, &options);
	life.lock = leashed_lock(life.mine, life.name, NULL);
	life.theirs = leashed_lock(life.other, life.name, NULL);
	life.third = leashed_lock(life.one_more, life.name, NULL);
	use(&life);
	use_replicas(&life);
	use_slot_that_moves(&life);
	leash_lock_free(life.lock);
	leash_lock_free(life.theirs);
	leash_lock_free(life.third);
	leash_close(life.mine);
	leash_close(life.other);
	leash_close(life.one_more);
	check_ttls();
}

static void
live_with_all(void)
{
	least_admit(deployment, NULL);
	least_denied(deployment);
	live();
	assert_string_equal(told.text, "");
	assert_int_equal(told.refusals, 0);
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
		if (strcmp(forgone[i].rule, rule) == 0 && (forgone[i].where == ANYWHERE || forgone[i].where == (int)deployment_kind(deployment)))
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
		const char *rule = least->rule[i], *denied;

		if (strchr("+~&", rule[0]) == NULL || is_for_another_time(rule) || !least_is_known(deployment_master(deployment, 0), rule))
			continue;
		least_admit(deployment, rule);
		forget_scripts();
		least_denied(deployment);
		live();
		denied = least_denied(deployment);
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
	pid_t pid;
} lanes[] = {
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_single", DEPLOYMENT_SINGLE, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_sentinel", DEPLOYMENT_SENTINEL, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_cluster", DEPLOYMENT_CLUSTER, 0},
	{"what_a_user_needs_is_permitted_and_what_it_lacks_is_named_in_quorum", DEPLOYMENT_QUORUM, 0},
};

static int
use_deployment(void *arg)
{
	static const char *const durable[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
	const struct lane *lane = arg;
	struct least least, sentinels = {.count = 0};
	int wrong;

	deployment = deployment_start_with(lane->kind, durable);
	uri = least_uri(deployment);
	live_with_all();
	least_of(&least, lane->kind);
	wrong = live_without_each(&least);
	if (lane->kind == DEPLOYMENT_SENTINEL) {
		least_read(&sentinels, "Sentinel");
		wrong += live_without_each(&sentinels);
	}
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
