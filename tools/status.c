/* leash status: who has a lock, since when, for how long still, and who waits for it. */
#include "tools/look.h"
#include "tools/moment.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 10 };

struct query {
	struct cli cli;
	leash_client *client;
	bool all;
	bool held;       /* one of them */
	uint64_t blocks; /* printed */
	struct look look; /* the lock at hand */
	uint64_t shown;  /* of those who wait for it */
	json_t *waiters;
	struct moment now;
};

/* ---- words ---- */

/* "2026-11-20 08:42:05, 12.3 s ago". The server's time. */
enum { WHEN_SIZE = 2 * CLI_TIME_SIZE + 16 };

static char *
say_when(char out[static WHEN_SIZE], const struct moment *now, int64_t server_ms)
{
	char time[CLI_TIME_SIZE], span[CLI_TIME_SIZE];

	if (server_ms <= 0)
		snprintf(out, WHEN_SIZE, "not known");
	else
		snprintf(out, WHEN_SIZE, "%s, %s ago", cli_time(time, moment_here(now, server_ms)),
		         cli_span(span, moment_age(now, server_ms)));
	return out;
}

/* When a client was opened, by the clock of its own machine. */
static void
print_running_since(const struct query *q, const leash_party *p)
{
	char time[CLI_TIME_SIZE];

	if (q->cli.verbose && p->since_ms > 0)
		printf("           running since %s, by its own clock\n", cli_time(time, p->since_ms));
}

static void
print_lease(int64_t remaining_ms)
{
	char span[CLI_TIME_SIZE];

	if (remaining_ms < 0)
		puts("  lease    none: its key has no expiry, and was not made by leash; it stays until somebody deletes it "
		     "(leash break)");
	else
		printf("  lease    %s left, unless it is renewed\n", cli_span(span, remaining_ms));
}

static void
print_fence(uint64_t fence, const char *if_none)
{
	if (fence > 0)
		printf("  fence    %" PRIu64 "\n", fence);
	else
		printf("  fence    %s\n", if_none);
}

static void
print_hold(const struct query *q, const leash_hold_info *hold)
{
	char who[CLI_PARTY_SIZE], need[LOOK_NEED_SIZE], token[4 * LEASH_TOKEN_MAX];

	printf("  %s  %s%s\n", look_is_gate(&q->look.info) ? "arrived" : "held by", cli_party(who, &hold->who),
	       look_need(need, &q->look.info, hold->count, hold->limit));
	print_running_since(q, &hold->who);
	printf("  token    %s\n", cli_show(token, sizeof token, hold->who.token));
	print_lease(hold->remaining_ms);
}

static void
print_held(const struct query *q)
{
	const leash_lock_info *info = &q->look.info;
	bool is_mutex = info->kind == LEASH_KIND_MUTEX;
	char when[WHEN_SIZE];

	printf("  kind     %s", cli_kind(info->kind));
	if (!is_mutex)
		printf(", %" PRId64 " %s", info->out, look_is_gate(info) ? "have arrived" : "out");
	putchar('\n');
	for (size_t i = 0; i < q->look.count; i++)
		print_hold(q, &q->look.holds[i]);
	if (q->look.count == LEASH_HOLDS_MAX)
		puts("           and perhaps more, whose leases end earlier");
	if (look_is_gate(info))
		return;
	printf("  since    %s\n", say_when(when, &q->now, info->held_since_ms));
	if (is_mutex)
		printf("  depth    %" PRIu32 "\n", info->depth);
	if (info->kind != LEASH_KIND_SEMAPHORE)
		print_fence(info->fence, "not known");
}

static void
print_limit(const leash_lock_info *info)
{
	if (info->limit >= 0)
		printf("  limit    %" PRId64 ", for a while%s\n", info->limit, info->limit == 0 ? ": nobody comes in" : "");
}

static void
print_free(const leash_lock_info *info)
{
	if (look_is_gate(info)) {
		printf("  kind     %s, for %" PRId64 "%s\n", cli_kind(info->kind), info->permits,
		       info->kind == LEASH_KIND_LATCH ? ": nobody has arrived" : "");
		return;
	}
	puts("  free");
	print_fence(info->fence, "none that is still kept");
}

static bool
print_waiter(void *arg, const leash_waiter_info *waiter)
{
	struct query *q = arg;
	char who[CLI_PARTY_SIZE], when[WHEN_SIZE], need[LOOK_NEED_SIZE];

	printf("  %6" PRIu64 ".  %s%s, since %s\n", waiter->position, cli_party(who, &waiter->who),
	       look_need(need, &q->look.info, waiter->count, waiter->limit),
	       say_when(when, &q->now, waiter->waiting_since_ms));
	print_running_since(q, &waiter->who);
	return ++q->shown < FIRST || q->all;
}

/* ---- JSON ---- */

static bool
note_waiter(void *arg, const leash_waiter_info *waiter)
{
	struct query *q = arg;
	json_t *object = json_pack("{sI}", "position", (json_int_t)waiter->position);

	cli_json_add(object, cli_json_party(&waiter->who));
	json_object_set_new(object, "waiting_since_ms", json_integer((json_int_t)waiter->waiting_since_ms));
	cli_json_set_need(object, q->look.info.kind, waiter->count, waiter->limit);
	json_array_append_new(q->waiters, object);
	return ++q->shown < FIRST || q->all;
}

static leash_status
answer_json(struct query *q, leash_lock *lock, leash_error *err)
{
	const leash_lock_info *info = &q->look.info;
	leash_status st = LEASH_OK;
	json_t *object;

	q->waiters = info->no_queue ? json_null() : json_array();
	if (info->waiting > 0)
		st = leash_lock_waiters(lock, note_waiter, q, err);
	if (st != LEASH_OK) {
		json_decref(q->waiters);
		return st;
	}
	object = look_json(&q->look);
	json_object_set_new(object, "waiters", q->waiters);
	cli_print(object);
	return LEASH_OK;
}

/* ---- a name ---- */

/* Who waits for a signal waits for a condition, which nobody has. */
static bool
note_condition(void *arg, const leash_waiter_info *first)
{
	leash_lock_info *info = arg;

	if (first->count < 0)
		info->kind = LEASH_KIND_CONDITION;
	return false;
}

static leash_status
answer_text(struct query *q, leash_lock *lock, leash_error *err)
{
	const leash_lock_info *info = &q->look.info;
	char name[4 * LEASH_NAME_MAX + 1];
	leash_status st;

	printf("%s%s\n", q->blocks++ > 0 ? "\n" : "", cli_show(name, sizeof name, info->name));
	if (info->held)
		print_held(q);
	else if (info->kind == LEASH_KIND_CONDITION)
		printf("  kind     %s\n", cli_kind(info->kind));
	else
		print_free(info);
	print_limit(info);
	if (info->waiting == 0) {
		puts(info->no_queue ? "  waiting  not known: a quorum has no queue" : "  waiting  nobody");
		return LEASH_OK;
	}
	printf("  waiting  %" PRIu32 "%s\n", info->waiting,
	       info->kind != LEASH_KIND_NONE ? "" : ": the next of them will be given it as soon as it asks");
	st = leash_lock_waiters(lock, print_waiter, q, err);
	if (st == LEASH_OK && q->shown < info->waiting && q->shown >= FIRST && !q->all)
		printf("           and %" PRIu64 " more\n", info->waiting - q->shown);
	return st;
}

static leash_status
answer(struct query *q, const char *name, leash_error *err)
{
	leash_lock *lock;
	leash_status st = leash_lock_new(&lock, q->client, name, CLI_LOOKING, err);

	if (st != LEASH_OK)
		return st;
	st = look_at(&q->look, lock, err);
	if (st == LEASH_OK && !q->look.info.held && q->look.info.waiting > 0)
		st = leash_lock_waiters(lock, note_condition, &q->look.info, err);
	q->shown = 0;
	q->now = moment_now(q->client);
	q->held |= st == LEASH_OK && q->look.info.held;
	if (st == LEASH_OK && q->cli.json)
		st = answer_json(q, lock, err);
	else if (st == LEASH_OK && !q->cli.quiet)
		st = answer_text(q, lock, err);
	leash_lock_free(lock);
	return st;
}

/* Each name gets a line, also one that failed. */
static void
print_failure(const char *name, const leash_error *err)
{
	cli_print(cli_json_named(name, json_pack("{ss so}", "error", leash_status_name(err->status), "text",
	                                         cli_json_text(err->text))));
}

static int
answer_all(struct query *q, int count, char **names)
{
	int status = EXIT_OK;
	leash_error err;

	for (int i = 0; i < count && !ferror(stdout); i++) {
		if (answer(q, names[i], &err) == LEASH_OK)
			continue;
		if (q->cli.json)
			print_failure(names[i], &err);
		fflush(stdout); /* so that the error comes after the locks before it */
		cli_fail_with(&q->cli, &err);
		if (status == EXIT_OK)
			status = cli_exit_of(err.status);
	}
	return status == EXIT_OK && q->cli.quiet && !q->held ? EXIT_FREE : status;
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct query q = {.all = false};
	int status = cli_read(&q, command, argc, argv);

	signal(SIGPIPE, SIG_DFL); /* a reader that has seen enough (head) ends us without an error */
	if (status == CLI_GO_ON)
		status = cli_names(&q.cli, argc, argv);
	if (status == CLI_GO_ON)
		status = cli_open_to_look(&q.cli, &q.client);
	if (status != CLI_GO_ON)
		return status;
	status = cli_finish(&q.cli, answer_all(&q, argc - optind, argv + optind));
	leash_close(q.client);
	return status;
}

static const struct cli_option options[] = {
	{.letter = 'a', .name = "all", .take = cli_take_flag, .at = offsetof(struct query, all),
	 .help = "print all waiters, not only the first ten"},
	{.name = NULL},
};

const struct command command_status = {
	.name = "status",
	.summary = "who has a lock, since when, and who waits for it",
	.usage = "NAME...",
	.about = "Show what kind each lock is, who holds it and since when, how deep it is nested, how long its lease "
	         "still lasts, its fence, and who waits for it, the next one first. If several share the lock, as with "
	         "permits, show each holder, up to 100. For a latch, show who has arrived.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: one object for each name, one per line; with \"error\" where there is no answer. -q prints "
	         "nothing (except JSON), as grep does: exit 0 if one of them is held, 1 if all are free. -v shows since "
	         "when their processes run. Times are by this machine's clock. A holder that has died is listed, too, "
	         "until its lease ends. Nobody verifies what clients say about themselves (host, pid, program).\n"
	         "Exit: 0 all were answered; with -q 0 one is held, 1 all are free; 64 usage; 69 the server cannot be "
	         "reached; 77 the server denies it; 78 the server has something else under a name; 70 internal error. A "
	         "name that fails does not stop the others; the first failure counts.\n",
	.operands = NAMES,
	.run = run,
};
