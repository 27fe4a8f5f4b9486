#include "lock/step.h"

#include "base/mutation.h"
#include "base/text.h"
#include "lock/state.h"
#include "lua/scripts.h"

bool
lsh_step_may_send_whole(const struct lsh_engine *e)
{
	return !e->options.uri->preloaded;
}

void
lsh_step_say(char out[static LSH_FAULT_TEXT], const struct lsh_lock *lock, const struct lsh_script *script, const char *words)
{
	unsigned key = script != NULL ? lsh_script_blame_key(script, words) : 0;
	char command[24];
	bool known = script != NULL && lsh_script_blame(script, words, command, sizeof command);

	if (lock->engine->options.uri->preloaded && lsh_starts_with_word(words, "NOSCRIPT"))
		words = LSH_NOT_LOADED;
	lsh_fault_say(out, words, known ? command : NULL, key >= 1 && key <= 3 ? lock->key[key - 1] : NULL);
}

static void
begin(struct lsh_step *step, const struct lsh_script *script, const struct lsh_tenure *t, unsigned keys)
{
	lsh_script_begin(&step->call, lsh_mutated(script), keys);
	if (t->send_whole)
		lsh_script_send_whole(&step->call);
	for (unsigned i = 0; i < keys; i++)
		lsh_script_push(&step->call, (struct lsh_arg){t->lock->key[i], t->lock->key_size[i]});
}

static void
push_token(struct lsh_step *step, const struct lsh_tenure *t)
{
	lsh_script_push(&step->call, (struct lsh_arg){t->token, t->token_size});
}

void
lsh_step_ask(struct lsh_step *step, const struct lsh_tenure *t, int64_t not_after_us, bool takes_place)
{
	begin(step, &lsh_script_acquire, t, 3);
	push_token(step, t);
	lsh_script_push(&step->call, lsh_arg_decimal(step->number[0], t->lease_ms));
	lsh_script_push(&step->call, lsh_arg_decimal(step->number[1], not_after_us));
	lsh_script_push(&step->call, lsh_arg_text(takes_place ? t->cfg : t->sharded ? t->lock->engine->cfg_sharded_try : t->lock->engine->cfg_try));
}

void
lsh_step_cancel(struct lsh_step *step, const struct lsh_tenure *t)
{
	begin(step, &lsh_script_release, t, 3);
	push_token(step, t);
	lsh_script_push(&step->call, lsh_arg_text(t->lock->engine->quorum != NULL ? t->lock->engine->cfg_try : t->cfg));
}

void
lsh_step_forget(struct lsh_step *step, const struct lsh_tenure *t)
{
	step->call.args[0] = LSH_ARG("HDEL");
	step->call.args[1] = (struct lsh_arg){t->lock->key[0], t->lock->key_size[0]};
	step->call.args[2] = (struct lsh_arg){t->token, t->token_size};
	step->call.count = 3;
}

void
lsh_step_word(struct lsh_step *step, const struct lsh_tenure *t)
{
	begin(step, &lsh_script_heartbeat, t, 3);
	lsh_script_push(&step->call, (struct lsh_arg){t->lock->engine->uuid, LSH_UUID_SIZE});
	lsh_script_push(&step->call, lsh_arg_decimal(step->number[0], t->lease_ms));
	push_token(step, t);
}

void
lsh_step_word_add(struct lsh_step *step, const struct lsh_tenure *t)
{
	push_token(step, t);
}

void
lsh_step_word_end(struct lsh_step *step, const struct lsh_tenure *t)
{
	lsh_script_push(&step->call, lsh_arg_text(t->cfg));
}

void
lsh_step_renew(struct lsh_step *step, const struct lsh_tenure *t, int64_t lease_ms, unsigned depth)
{
	begin(step, &lsh_script_renew, t, 1);
	push_token(step, t);
	lsh_script_push(&step->call, lsh_arg_decimal(step->number[0], lease_ms));
	lsh_script_push(&step->call, lsh_arg_decimal(step->number[1], depth));
	lsh_script_push(&step->call, lsh_arg_text(t->lock->engine->fence_ttl));
}
