/* leash await: wait until enough have arrived at a latch. */
#include "tools/hold.h"

enum { COUNT = CLI_OWN };

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
	leash_options options = cli_client_options(&a->cli, NULL);
	leash_client *client = NULL;
	leash_latch *latch = NULL;
	leash_error err;
	leash_status st;
	int status = cli_open_patiently(&a->cli, &options, &a->wait_ms, &client);

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
take_option(struct await *a, int c, char **argv)
{
	char shown[80];

	switch (c) {
	case 'n':
		a->wait_ms = 0;
		return CLI_GO_ON;
	case 'w':
		return cli_duration_option(&a->cli, "--wait", optarg, &a->wait_ms);
	case COUNT:
		if (cli_number(optarg, LEASH_LATCH_MAX, &a->count) && a->count > 0)
			return CLI_GO_ON;
		return cli_usage(&a->cli, "--count: '%s' is not how many: write 1 to %d",
		                 cli_show_word(shown, sizeof shown, optarg), LEASH_LATCH_MAX);
	default:
		return cli_option(&a->cli, c, argv);
	}
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"count", required_argument, NULL, COUNT}, {"nonblock", no_argument, NULL, 'n'},
		{"wait", required_argument, NULL, 'w'}, CLI_LONG, CLI_LONG_END};
	struct await a = {.wait_ms = LEASH_FOREVER};
	int c, status = CLI_GO_ON;

	cli_begin(&a.cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":nw:" CLI_SHORT, options, NULL)) != -1)
		status = take_option(&a, c, argv);
	if (status != CLI_GO_ON)
		return status;
	a.name = cli_only_name(&a.cli, argc, argv);
	if (a.name == NULL)
		return EXIT_USAGE;
	return a.count > 0 ? await(&a) : cli_usage(&a.cli, "how many are to arrive? --count is missing");
}

const struct command command_await = {
	"await",
	"wait until enough have arrived at a latch",
	"Usage: leash await [OPTION...] NAME --count N\n"
	"Wait until N have arrived at the latch NAME (leash arrive). It stays open.\n"
	"\n"
	"      --count N      how many are to arrive\n"
	"  -n, --nonblock     do not wait: only ask\n"
	"  -w, --wait DUR     wait at most this long (30, 30s, 5m; default: for ever)\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         {\"name\",\"count\",\"arrived\"}: how many had arrived at the end\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"A server that is away is asked again until the time is over.\n"
	"Exit: 0 N have arrived; 75 fewer have; 64 usage; 69 no server, or NAME is in use\n"
	"as something else.\n",
	run,
};
