/* leash renew: prolong the lease of what leash acquire has taken.
 *
 * Takes the hold over by its token, which renews it, and ends without closing its client, which would release it. */
#include "tools/holding.h"

#include <unistd.h>

static int
run(const struct command *command, int argc, char **argv)
{
	struct holding_request r = {.ttl_ms = HOLD_TTL_MS};
	struct holding held;
	int status = holding_take_over(&held, &r, command, argc, argv);

	if (status == CLI_GO_ON) {
		if (r.cli.json)
			cli_print(holding_json(&held, "remaining_ms", holding_remaining_ms(&held)));
		_exit(cli_finish(&r.cli, EXIT_OK));
	}
	leash_close(held.client);
	holding_end(&held);
	return status;
}

static const struct cli_option options[] = {HOLD_TTL_OPTION(struct holding_request, "100ms"), {.name = NULL}};

static const struct cli_group groups[] = {
	{"Options", options, 0},
	{"The same as for leash acquire", hold_need_options, offsetof(struct holding_request, need)},
	{"Replicas have the new lease", hold_replicas_options, offsetof(struct holding_request, replicas)},
	{.options = NULL},
};

const struct command command_renew = {
	.name = "renew",
	.summary = "prolong what leash acquire has taken",
	.usage = "NAME TOKEN",
	.about = "Make sure that the lease of the lock NAME lasts for at least --ttl from now; it is never shortened. "
	         "TOKEN is what leash acquire printed. Renew in time, for example after half a lease.\n",
	.groups = groups,
	.notes = "With --json: {\"name\",\"token\",\"fence\",\"remaining_ms\"}.\n"
	         "Exit: 0 renewed; 64 usage; 69 no server: held for what is left of its lease; 79 not held by that "
	         "token any more: stop at once, somebody else may have it.\n",
	.operands = A_NAME,
	.run = run,
};
