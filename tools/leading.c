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
leading_name(struct leading *l, int argc, char **argv)
{
	char shown[80];

	if (optind == argc)
		return cli_usage(&l->cli, "which lock? A name is missing");
	if (optind + 1 < argc)
		return cli_usage(&l->cli, "one name is enough: what is '%s'?",
		                 cli_show_word(shown, sizeof shown, argv[optind + 1]));
	l->name = argv[optind];
	return cli_take_name(&l->cli, argv[optind]);
}

int
leading_open_and(struct leading *l, bool patiently, int (*act)(struct leading *l))
{
	leash_options options = cli_client_options(&l->cli, NULL);
	int64_t wait_ms = patiently ? LEASH_FOREVER : 0;
	leash_client *client = NULL;
	leash_error err;
	int status = cli_open_patiently(&l->cli, &options, &wait_ms, &client);

	if (status != CLI_GO_ON)
		return status;
	status = leash_watch_new(&l->watch, client, l->name, &err) == LEASH_OK ? act(l) : cli_fail_with(&l->cli, &err);
	leash_watch_free(l->watch);
	leash_close(client);
	return cli_finish(&l->cli, status);
}
