#include "tools/sharing.h"

#include "tools/environment.h"
#include "tools/hold.h"

static bool
visit(void *arg, const leash_permit_info *hold)
{
	struct sharing_found *f = arg;

	if (f->holds++ == 0)
		f->one = *hold;
	if (!hold_is_ours(&hold->who) && f->others++ == 0)
		f->other = hold->who;
	if (!environment_has_token(hold->who.token))
		return true;
	f->out += sharing_writes(hold) ? 1 : hold->count;
	if (sharing_writes(hold) || sharing_reads(hold))
		f->own = *hold;
	return true;
}

leash_status
sharing_look(struct sharing *s, const struct cli *cli, const char *name, struct sharing_found *found, leash_error *err)
{
	leash_options options = cli_client_options(cli, NULL);
	leash_semaphore_info info = {.size = sizeof info};
	leash_status status = LEASH_OK;

	*found = (struct sharing_found){.holds = 0};
	if (s->client == NULL)
		status = leash_open(&s->client, &options, err);
	if (status == LEASH_OK && s->semaphore == NULL)
		status = leash_semaphore_new(&s->semaphore, s->client, name, 1, CLI_LOOKING, err);
	if (status == LEASH_OK)
		status = leash_semaphore_inspect(s->semaphore, &info, visit, found, err);
	return status;
}

void
sharing_end(struct sharing *s)
{
	leash_semaphore_free(s->semaphore);
	leash_close(s->client);
	*s = (struct sharing){NULL, NULL};
}
