/* leash scripts: what runs in the server, for administrators who load it themselves. */
#include "tools/cli.h"

#include <stdio.h>

static const char help[] =
	"Usage: leash scripts [--load] [-r URI] [--json]\n"
	"Print the scripts that leash runs in the server: SHA-1 sum and name.\n\n"
	"      --load         load them into the server, or into each of those that the\n"
	"                     URI of a cluster or a quorum names, for users who may not\n"
	"                     send scripts and say scripts=preloaded in their URI. For\n"
	"                     every server, replicas too, and again after a restart\n"
	"  -r, --redis URI    the server, else $LEASH_URI\n"
	"      --json         {\"name\",\"sha1\",\"text\"}, an object for each\n"
	"  -q, --quiet        print nothing      -v, --verbose\n\n"
	"Exit: 0; 64 usage; 69 no server, or it does not let us load them.\n";

enum { LOAD = CLI_OWN };

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
	static const struct option options[] = {{"load", no_argument, NULL, LOAD}, CLI_LONG, CLI_LONG_END};
	bool loads = false;
	struct cli cli;
	leash_options client;
	leash_error err;
	char shown[80];
	int c, status = CLI_GO_ON;

	cli_begin(&cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":" CLI_SHORT, options, NULL)) != -1) {
		if (c == LOAD)
			loads = true;
		else
			status = cli_option(&cli, c, argv);
	}
	if (status != CLI_GO_ON)
		return status;
	if (optind < argc)
		return cli_usage(&cli, "what is '%s'? -r URI names a server", cli_show_word(shown, sizeof shown, argv[optind]));
	if (loads && cli_check_server(&cli) != CLI_GO_ON)
		return EXIT_USAGE;
	client = cli_client_options(&cli, "scripts");
	if (loads && leash_scripts_load(&client, &err) != LEASH_OK)
		return cli_fail_with(&cli, &err);
	print_scripts(&cli);
	return cli_finish(&cli, EXIT_OK);
}

const struct command command_scripts = {"scripts", "what runs in the server, to be loaded beforehand", help, run};
