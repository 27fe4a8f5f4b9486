/* leash arrive: count a latch down. */
#include "tools/hold.h"

enum { AS = CLI_OWN };

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
	static const struct option options[] = {{"as", required_argument, NULL, AS}, CLI_LONG, CLI_LONG_END};
	struct arrival a = {.party = NULL};
	int c, status = CLI_GO_ON;

	cli_begin(&a.cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" CLI_SHORT, options, NULL)) != -1)
		if (c == AS)
			a.party = optarg;
		else
			status = cli_option(&a.cli, c, argv);
	if (status != CLI_GO_ON)
		return status;
	a.name = cli_only_name(&a.cli, argc, argv);
	return a.name != NULL ? arrive(&a) : EXIT_USAGE;
}

const struct command command_arrive = {
	"arrive",
	"arrive at a latch; see leash await",
	"Usage: leash arrive [OPTION...] NAME\n"
	"Arrive at the latch NAME. It opens for those who wait there (leash await) once\n"
	"as many have arrived as they want. An arrival counts for a day, and a latch is\n"
	"used once: for the next time take another name, or leash break NAME.\n"
	"\n"
	"      --as PARTY     who arrives: counts once, however often it does. Else each\n"
	"                     call is another arrival\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         {\"name\",\"as\",\"arrived\"}: how many have arrived\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 arrived; 64 usage; 69 no server, or NAME is in use as something else.\n",
	run,
};
