#include "tools/leading.h"

void
leading_print_json(const struct leading *l)
{
	const leash_leader *is = &l->is;

	if (!is->leads)
		cli_print(cli_json_named(l->name, json_pack("{sb}", "leads", false)));
	else
		cli_print(cli_json_named(l->name, json_pack("{sb so so ss sI}", "leads", true, "value",
		                         is->value[0] != '\0' ? cli_json_text(is->value) : json_null(), "fence",
		                         cli_json_hold_fence(is->fence), "token", is->token, "left_ms",
		                         (json_int_t)is->remaining_ms)));
}

int
leading_run(const struct command *command, int argc, char **argv, bool patiently, int (*act)(struct leading *l))
{
	struct leading l = {.is.size = sizeof l.is};
	int64_t wait_ms = patiently ? LEASH_FOREVER : 0;
	leash_client *client = NULL;
	leash_error err;
	int status = cli_read(&l, command, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	l.name = cli_only_name(&l.cli, argc, argv);
	if (l.name == NULL)
		return EXIT_USAGE;
	status = cli_open_patiently(&l.cli, NULL, &wait_ms, &client);
	if (status != CLI_GO_ON)
		return status;
	status = leash_watch_new(&l.watch, client, l.name, &err) == LEASH_OK ? act(&l) : cli_fail_with(&l.cli, &err);
	leash_watch_free(l.watch);
	leash_close(client);
	return cli_finish(&l.cli, status);
}
