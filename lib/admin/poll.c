#include "admin/poll.h"

#include "admin/agreement.h"
#include "base/error.h"
#include "base/memory.h"
#include "lease/electorate.h"

#include <string.h>

struct voter {
	bool gone, asked;
	struct lsh_admin admin;
	leash_lock_info infos[LSH_ADMIN_WINDOW];
};

struct lsh_poll {
	struct lsh_engine *engine;
	struct lsh_backend *backend;
	unsigned gone;
	size_t count;
	struct voter voters[];
};

struct lsh_poll *
lsh_poll_new(struct lsh_engine *e)
{
	struct lsh_backend *b = lsh_engine_backend(e);
	size_t count = lsh_router_count(b->router);
	struct lsh_poll *p = lsh_alloc(sizeof *p + count * sizeof p->voters[0]);

	if (p == NULL)
		return NULL;
	p->engine = e;
	p->backend = b;
	p->count = count;
	return p;
}

void
lsh_poll_free(struct lsh_poll *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->count; i++)
		lsh_admin_close(&p->voters[i].admin);
	lsh_free(p);
}

bool
lsh_poll_wants(const struct lsh_poll *p, size_t i)
{
	size_t unheard = p->count - i;

	for (size_t j = 0; j < i; j++)
		unheard += p->voters[j].gone;
	return !p->voters[i].gone && unheard >= p->backend->majority;
}

leash_status
lsh_poll_give_up(struct lsh_poll *p, size_t i, const leash_error *why, leash_error *err)
{
	char text[200];

	if (why->status == LEASH_CLOSED || why->status == LEASH_NO_MEMORY)
		return lsh_fail(err, why->status, why->sys_errno, "%s", why->text);
	p->gone += !p->voters[i].gone;
	p->voters[i].gone = true;
	lsh_admin_close(&p->voters[i].admin);
	if (p->count - p->gone >= p->backend->majority)
		return LEASH_OK;
	lsh_electorate_say(text, sizeof text, p->gone, p->count, "could not be asked", why->text);
	return lsh_fail(err, why->status, why->sys_errno, "%s", text);
}

static leash_status
ask(struct lsh_poll *p, size_t i, const struct lsh_window *window, leash_error *err)
{
	struct voter *v = &p->voters[i];
	leash_error why = {0};
	leash_status status = LEASH_OK;

	if (!v->asked)
		status = lsh_admin_open(&v->admin, p->engine, lsh_host_at(p->backend, i), NULL, &why);
	v->asked = true;
	if (status == LEASH_OK)
		status = lsh_window_inspect(window, &v->admin, v->infos, &why);
	return status == LEASH_OK ? LEASH_OK : lsh_poll_give_up(p, i, &why, err);
}

/* Lock `k` of the window is to be told of, as server `i` is gone through. */
static bool
is_told(struct lsh_poll *p, size_t i, struct lsh_window *window, size_t k)
{
	leash_lock_info *mine = &window->info[k], infos[LSH_QUORUM_MAX] = {0}, agreed;

	for (size_t j = 0; j < p->count; j++)
		if (j == i)
			infos[j] = *mine;
		else if (!p->voters[j].gone)
			infos[j] = p->voters[j].infos[k];
	if (lsh_agreement(infos, p->count, p->backend->majority, &agreed) < p->backend->majority)
		return false;
	if (!mine->held || strcmp(agreed.holder.token, mine->holder.token) != 0)
		return false;
	for (size_t j = 0; j < i; j++)
		if (infos[j].held && strcmp(infos[j].holder.token, mine->holder.token) == 0)
			return false;
	mine->fence = agreed.fence;
	mine->held_since_ms = agreed.held_since_ms;
	mine->remaining_ms = agreed.remaining_ms;
	mine->depth = agreed.depth;
	mine->waiting = 0; /* who waits is known to nobody but to those who do */
	mine->no_queue = true;
	return true;
}

leash_status
lsh_poll_count(struct lsh_poll *p, size_t i, struct lsh_window *window, leash_error *err)
{
	leash_status status = LEASH_OK;

	for (size_t j = 0; j < p->count && status == LEASH_OK && window->count > 0; j++) {
		if (j == i || p->voters[j].gone)
			continue;
		memset(p->voters[j].infos, 0, window->count * sizeof p->voters[j].infos[0]);
		status = ask(p, j, window, err);
	}
	for (size_t k = 0; k < window->count && status == LEASH_OK; k++)
		window->info[k].held = is_told(p, i, window, k);
	return status;
}
