/* leash limit: let fewer hold a name at once, for a while, whatever number their own programs say. */
#include "tools/hold.h"

enum { END = CLI_OWN, FOR, LONGEST_MS = 86400000 };

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
		cli_say(&l->cli, CLI_DETAIL, "'%s' has no limit any more but those of its programs", shown);
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
		return cli_usage(&l->cli, "'%s' is not how many: write 0, which closes, to %d",
		                 cli_show_word(shown, sizeof shown, argv[optind + 1]), LEASH_SEMAPHORE_LIMIT_MAX);
	if (l->for_ms == 0)
		return cli_usage(&l->cli, "for how long? --for is missing: a limit ends by itself, after a day at most");
	return CLI_GO_ON;
}

static int
take_option(struct limit *l, int c, char **argv)
{
	int status;

	switch (c) {
	case END:
		l->end = true;
		return CLI_GO_ON;
	case FOR:
		status = cli_duration_option(&l->cli, "--for", optarg, &l->for_ms);
		if (status == CLI_GO_ON && (l->for_ms < 1 || l->for_ms > LONGEST_MS))
			return cli_usage(&l->cli, "--for: a limit lasts from 1ms to 1d, not %s", optarg);
		return status;
	default:
		return cli_option(&l->cli, c, argv);
	}
}

static int
run(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {
		{"for", required_argument, NULL, FOR}, {"end", no_argument, NULL, END}, CLI_LONG, CLI_LONG_END};
	struct limit l = {.for_ms = 0};
	int c, status = CLI_GO_ON;

	cli_begin(&l.cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" CLI_SHORT, options, NULL)) != -1)
		status = take_option(&l, c, argv);
	if (status == CLI_GO_ON)
		status = take_words(&l, argc, argv);
	return status == CLI_GO_ON ? set_limit(&l) : status;
}

const struct command command_limit = {
	"limit",
	"for a while, let fewer have it at once",
	"Usage: leash limit [OPTION...] NAME N --for DUR\n"
	"       leash limit [OPTION...] NAME --end\n"
	"Let at most N at once have NAME, permits (--slots) or readers (--shared), until\n"
	"DUR is over; whatever number their own programs say. 0 closes: nobody comes in.\n"
	"Who is in stays in. A mutex has no limit.\n"
	"\n"
	"      --for DUR      for how long: 30s, 2h, at most 1d; then it ends by itself\n"
	"      --end          end it now\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         {\"name\",\"limit\",\"for_ms\"}; no limit is null\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 done; 64 usage; 69 no server, or NAME is in use as a mutex.\n",
	run,
};
