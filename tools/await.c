/* leash await: wait until enough have arrived at a latch. */
#include "tools/hold.h"

struct await {
	struct cli cli;
	const char *name;
	int count; /* 0: not said */
	int64_t wait_ms;
};

/* For programs: how many had arrived at the end. */
static int
end(const struct await *a, leash_latch *latch, int status)
{
	int64_t arrived = 0;
	leash_error err;

	if (!a->cli.json)
		return status;
	if (leash_latch_arrived(latch, &arrived, &err) != LEASH_OK)
		return cli_fail_with(&a->cli, &err);
	cli_print(cli_json_named(a->name, json_pack("{si sI}", "count", a->count, "arrived", (json_int_t)arrived)));
	return status;
}

static int
await(struct await *a)
{
	leash_client *client = NULL;
	leash_latch *latch = NULL;
	leash_error err;
	leash_status st;
	int status = cli_open_patiently(&a->cli, NULL, &a->wait_ms, &client);

	if (status != CLI_GO_ON)
		return status;
	st = leash_latch_new(&latch, client, a->name, a->count, &err);
	if (st == LEASH_OK)
		st = leash_latch_await(latch, a->wait_ms, &err);
	status = st == LEASH_OK ? EXIT_OK : cli_fail_with(&a->cli, &err);
	if (st == LEASH_OK || st == LEASH_TIMEOUT)
		status = end(a, latch, status);
	leash_latch_free(latch);
	leash_close(client);
	return cli_finish(&a->cli, status);
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct await a = {.wait_ms = LEASH_FOREVER};
	int status = cli_read(&a, command, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	a.name = cli_only_name(&a.cli, argc, argv);
	if (a.name == NULL)
		return EXIT_USAGE;
	return a.count > 0 ? await(&a) : cli_usage(&a.cli, "--count is missing: how many arrivals to wait for?");
}

static const struct cli_option options[] = {
	{.name = "count", .value = "N", .take = cli_take_number, .at = offsetof(struct await, count), .least = 1,
	 .most = LEASH_LATCH_MAX, .help = "how many arrivals to wait for"},
	HOLD_WAIT_OPTIONS(struct await, "ask once, and do not wait", ", also for a server that is away"),
	{.name = NULL},
};

const struct command command_await = {
	.name = "await",
	.summary = "wait until enough have arrived at a latch",
	.usage = "NAME --count N",
	.about = "Wait until N have arrived at the latch NAME (leash arrive). The latch then stays open. While the server "
	         "is away, leash await retries until the time is over.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: {\"name\",\"count\",\"arrived\"}, arrived is how many had arrived at the end.\n"
	         "Exit: 0 N have arrived; 75 fewer have; 64 usage; 69 no server; 78 NAME is in use as something else.\n",
	.operands = A_NAME,
	.run = run,
};
