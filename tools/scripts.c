/* leash scripts: what runs in the server, for administrators who load it themselves. */
#include "tools/cli.h"

#include <stdio.h>

struct request {
	struct cli cli;
	bool loads;
};

static void
print_scripts(const struct cli *cli)
{
	leash_script script = {.size = sizeof script};

	for (size_t i = 0; !cli->quiet && leash_script_at(i, &script); i++) {
		if (cli->json)
			cli_print(json_pack("{ss ss ss}", "name", script.name, "sha1", script.sha1, "text", script.text));
		else
			printf("%s  %s\n", script.sha1, script.name);
	}
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct request r = {.loads = false};
	int status = cli_read(&r, command, argc, argv);
	leash_options client;
	leash_error err;
	char shown[80];

	if (status != CLI_GO_ON)
		return status;
	if (optind < argc)
		return cli_usage(&r.cli, "what is '%s'? -r URI names a server",
		                 cli_show_word(shown, sizeof shown, argv[optind]));
	if (r.loads && cli_check_server(&r.cli) != CLI_GO_ON)
		return EXIT_USAGE;
	client = cli_client_options(&r.cli, "scripts");
	if (r.loads && leash_scripts_load(&client, &err) != LEASH_OK)
		return cli_fail_to_open(&r.cli, &err);
	print_scripts(&r.cli);
	return cli_finish(&r.cli, EXIT_OK);
}

static const struct cli_option options[] = {
	{.name = "load", .take = cli_take_flag, .at = offsetof(struct request, loads),
	 .help = "load them into the server, or into each server that the URI of a cluster or a quorum names, for users "
	         "who may not send scripts themselves, and who write scripts=preloaded in their URI. Load them into "
	         "every server, replicas too, and again after each restart, because a server does not keep them"},
	{.name = NULL},
};

const struct command command_scripts = {
	.name = "scripts",
	.summary = "what runs in the server, to be loaded beforehand",
	.usage = "",
	.about = "Print the scripts that leash runs in the server: SHA-1 sum and name.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: {\"name\",\"sha1\",\"text\"}, an object for each. -q prints nothing.\n"
	         "Exit: 0; 64 usage; 69 no server; 77 it does not let us load them.\n",
	.run = run,
};
