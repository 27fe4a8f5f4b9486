#include "admin/window.h"

#include "base/text.h"
#include "lease/host.h"
#include "redis/fault.h"

enum { ROUNDS = 3 }; /* while the server says that it lacks the script */

struct look {
	const struct lsh_window *window;
	struct lsh_admin *admin;
	leash_lock_info *infos;
	bool asks[LSH_ADMIN_WINDOW]; /* is still to be inspected */
};

/* The script's text goes along with the first where the server lacks it, and with each should it be forgotten at once. */
static leash_status
ask(struct look *look, int round, leash_error *err)
{
	leash_status status = LEASH_OK;
	bool whole = round > 0;

	for (size_t i = 0; i < look->window->count && status == LEASH_OK; i++) {
		const struct lsh_item *key = &look->window->key[i];
		struct lsh_script_call command;

		look->asks[i] = look->asks[i] && lsh_inspect_make(&command, (struct lsh_arg){key->text, key->length});
		if (!look->asks[i])
			continue;
		if (whole)
			lsh_script_send_whole(&command);
		whole = round > 1;
		status = lsh_admin_say(look->admin, command.args, command.count, err);
	}
	return status;
}

/* What becomes of key `i` by its answer. */
static leash_status
settle(struct look *look, size_t i, const struct lsh_item *answer, bool last, leash_error *err)
{
	const struct lsh_backend *b = look->admin->backend;
	enum lsh_fault fault;

	look->asks[i] = false;
	if (answer->type == LSH_STRING && lsh_lock_line_read(answer->text, answer->length, &look->infos[i]))
		return LEASH_OK;
	if (answer->type != LSH_ERROR)
		return lsh_admin_nonsense(look->admin, "EVALSHA", err);
	fault = lsh_fault_of(answer->text);
	if (fault == LSH_FAULT_MISMATCH)
		return LEASH_OK; /* it is somebody else's */
	if (lsh_router_is_cluster(b->router) && (fault == LSH_FAULT_CLUSTER || lsh_starts_with_word(answer->text, "TRYAGAIN")))
		return LEASH_OK; /* its slot has moved, or is moving */
	if (fault != LSH_FAULT_NOSCRIPT || last || b->options.uri->preloaded)
		return lsh_admin_refused(look->admin, "EVALSHA", &lsh_script_inspect, answer->text, err);
	look->asks[i] = true;
	return LEASH_OK;
}

leash_status
lsh_window_inspect(const struct lsh_window *window, struct lsh_admin *admin, leash_lock_info *infos, leash_error *err)
{
	struct look look = {.window = window, .admin = admin, .infos = infos};
	leash_status status = LEASH_OK;
	bool again = window->count > 0;

	for (size_t i = 0; i < window->count; i++)
		look.asks[i] = true;
	for (int round = 0; round < ROUNDS && again && status == LEASH_OK; round++) {
		status = ask(&look, round, err);
		again = false;
		for (size_t i = 0; i < window->count && status == LEASH_OK; i++) {
			const struct redisReply *answer;
			struct lsh_item item;

			if (!look.asks[i])
				continue;
			status = lsh_admin_hear(admin, &answer, err);
			if (status != LEASH_OK)
				break;
			item = lsh_answer_item(answer);
			status = settle(&look, i, &item, round + 1 == ROUNDS, err);
			again |= look.asks[i];
		}
	}
	return status;
}
