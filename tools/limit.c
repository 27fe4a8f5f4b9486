/* leash limit: let fewer hold a name at once, for a while, whatever number their own programs say. */
#include "tools/hold.h"

enum { LONGEST_MS = 86400000 };

struct limit {
	struct cli cli;
	const char *name;
	int most;
	int64_t for_ms; /* 0: the limit ends */
	bool end;
};

static int
set_limit(const struct limit *l)
{
	char shown[HOLD_NAME_SIZE], span[CLI_TIME_SIZE];
	leash_client *client = NULL;
	leash_semaphore *semaphore = NULL;
	leash_error err;
	leash_status st;
	int status = cli_open(&l->cli, &client);

	if (status != CLI_GO_ON)
		return status;
	st = leash_semaphore_new(&semaphore, client, l->name, 1, CLI_LOOKING, &err);
	if (st == LEASH_OK)
		st = leash_semaphore_limit(semaphore, l->most, l->for_ms, &err);
	status = st == LEASH_OK ? EXIT_OK : cli_fail_with(&l->cli, &err);
	leash_semaphore_free(semaphore);
	leash_close(client);
	if (st != LEASH_OK)
		return status;
	cli_show(shown, sizeof shown, l->name);
	if (l->end)
		cli_say(&l->cli, CLI_DETAIL, "'%s' has only the limits of its programs again", shown);
	else
		cli_say(&l->cli, CLI_DETAIL, "at most %d at once have '%s', for %s", l->most, shown, cli_span(span, l->for_ms));
	if (l->cli.json)
		cli_print(cli_json_named(l->name, json_pack("{so sI}", "limit", l->end ? json_null() : json_integer(l->most),
		                                            "for_ms", (json_int_t)l->for_ms)));
	return cli_finish(&l->cli, status);
}

/* NAME N, or NAME with --end. */
static int
take_words(struct limit *l, int argc, char **argv)
{
	int words = argc - optind;
	char shown[80];

	if (words < 1)
		return cli_usage(&l->cli, "a limit of what? A name is missing");
	if (cli_take_name(&l->cli, argv[optind]) != CLI_GO_ON)
		return EXIT_USAGE;
	l->name = argv[optind];
	if (words > (l->end ? 1 : 2))
		return cli_usage(&l->cli, "a name and %s are enough: what is '%s'?", l->end ? "--end" : "a number",
		                 cli_show_word(shown, sizeof shown, argv[argc - 1]));
	if (l->end)
		return l->for_ms == 0 ? CLI_GO_ON : cli_usage(&l->cli, "--end is now: leave --for out");
	if (words < 2)
		return cli_usage(&l->cli, "how many at once? Write a number behind the name, or --end");
	if (!cli_number(argv[optind + 1], LEASH_SEMAPHORE_LIMIT_MAX, &l->most))
		return cli_usage(&l->cli, "'%s' is not a number of holders: write 0, which closes, to %d",
		                 cli_show_word(shown, sizeof shown, argv[optind + 1]), LEASH_SEMAPHORE_LIMIT_MAX);
	if (l->for_ms == 0)
		return cli_usage(&l->cli, "for how long? --for is missing: a limit ends by itself, after a day at most");
	return CLI_GO_ON;
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct limit l = {.for_ms = 0};
	int status = cli_read(&l, command, argc, argv);

	if (status == CLI_GO_ON)
		status = take_words(&l, argc, argv);
	return status == CLI_GO_ON ? set_limit(&l) : status;
}

static const struct cli_option options[] = {
	{.name = "for", .value = "DUR", .take = cli_take_duration, .at = offsetof(struct limit, for_ms), .least = 1,
	 .most = LONGEST_MS, .help = "how long the limit lasts from now on: 30s, 2h, at most 1d"},
	{.name = "end", .take = cli_take_flag, .at = offsetof(struct limit, end), .help = "end it now"},
	{.name = NULL},
};

const struct command command_limit = {
	.name = "limit",
	.summary = "for a while, let fewer have it at once",
	.usage = "NAME N --for DUR\n"
	         "NAME --end",
	.about = "Let at most N processes at once have NAME, as permits (--slots) or as readers (--shared), until DUR is "
	         "over, whatever number their own programs say. 0 closes: nobody comes in. Holders that are in stay in. A "
	         "mutex has no limit.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: {\"name\",\"limit\",\"for_ms\"}; no limit is null.\n"
	         "Exit: 0 done; 64 usage; 69 no server; 78 NAME is in use as a mutex.\n",
	.operands = A_NAME,
	.run = run,
};
