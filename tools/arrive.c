/* leash arrive: count a latch down. */
#include "tools/hold.h"

struct arrival {
	struct cli cli;
	const char *name, *party; /* NULL: another one each time */
};

/* Who has arrived is said only where somebody wants to read it. */
static int
tell(const struct arrival *a, leash_latch *latch)
{
	char shown[HOLD_NAME_SIZE];
	int64_t arrived = 0;
	leash_error err;

	if (!a->cli.json && !cli_is_said(&a->cli, CLI_DETAIL))
		return EXIT_OK;
	if (leash_latch_arrived(latch, &arrived, &err) != LEASH_OK)
		return cli_fail_with(&a->cli, &err);
	cli_show(shown, sizeof shown, a->name);
	cli_say(&a->cli, CLI_DETAIL, "%lld have arrived at '%s'", (long long)arrived, shown);
	if (a->cli.json)
		cli_print(cli_json_named(
			a->name, json_pack("{so sI}", "as", a->party != NULL ? cli_json_text(a->party) : json_null(), "arrived",
			                   (json_int_t)arrived)));
	return EXIT_OK;
}

static int
arrive(const struct arrival *a)
{
	leash_client *client = NULL;
	leash_latch *latch = NULL;
	leash_error err;
	leash_status st;
	int status = cli_open(&a->cli, &client);

	if (status != CLI_GO_ON)
		return status;
	st = leash_latch_new(&latch, client, a->name, 1, &err);
	if (st == LEASH_OK)
		st = leash_latch_count_down(latch, a->party, &err);
	status = st == LEASH_OK ? tell(a, latch) : cli_fail_with(&a->cli, &err);
	leash_latch_free(latch);
	leash_close(client);
	return cli_finish(&a->cli, status);
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct arrival a = {.party = NULL};
	int status = cli_read(&a, command, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	a.name = cli_only_name(&a.cli, argc, argv);
	return a.name != NULL ? arrive(&a) : EXIT_USAGE;
}

static const struct cli_option options[] = {
	{.name = "as", .value = "PARTY", .take = cli_take_text, .at = offsetof(struct arrival, party),
	 .help = "who arrives: a party counts once, however often it arrives. Without it each call counts"},
	{.name = NULL},
};

const struct command command_arrive = {
	.name = "arrive",
	.summary = "arrive at a latch; see leash await",
	.usage = "NAME",
	.about = "Arrive at the latch NAME. It opens for the waiters there (leash await) as soon as the number of "
	         "arrivals that they wait for is reached. An arrival counts for a day. A latch is used once: next time "
	         "choose another name, or call leash break NAME.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: {\"name\",\"as\",\"arrived\"}, arrived is how many have arrived.\n"
	         "Exit: 0 arrived; 64 usage; 69 no server; 78 NAME is in use as something else.\n",
	.operands = A_NAME,
	.run = run,
};
