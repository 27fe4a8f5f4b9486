/* Looking at a lock over the client's own connection: who has it, and who that is. */
#include "lock/errand.h"

#include "base/error.h"
#include "lock/inspect.h"
#include "redis/fault.h"

#include <errno.h>
#include <string.h>

enum { PARTY_MOST = 200 }; /* bytes of what a client says of itself; what is longer is not leash's */

struct look {
	struct lsh_errand errand;
	struct lsh_inspect_step step;
	bool whole;
};

static void
make_look(struct lsh_step *step, struct lsh_errand *errand)
{
	struct look *look = lsh_container(errand, struct look, errand);

	lsh_inspect_make(&look->step, errand->lock->key[0], errand->lock->key_size[0]);
	if (look->whole)
		lsh_script_send_whole(&look->step.call);
	step->call = look->step.call;
}

leash_status
lsh_look(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_lock_info *info, leash_error *err)
{
	static const char what[] = "not known who has it: ";
	struct look look = {.errand = {.lock = lock, .make = make_look}};
	int64_t patience = lock->engine->options.timeout;
	struct lsh_attempt a;

	look.errand.whole = &look.whole;
	if (!lsh_errand_run(&look.errand, patience, deadline, self, &a))
		return lsh_errand_unanswered(&look.errand, &a, what, err);
	if (a.reply.type == LSH_ERROR)
		return lsh_errand_refused(&look.errand, &a, &lsh_script_inspect, what, err);
	if (a.reply.type != LSH_STRING || !lsh_lock_line_read(a.reply.text, strlen(a.reply.text), info))
		return lsh_errand_nonsense(&look.errand, &a, err);
	strcpy(info->name, lock->name);
	return LEASH_OK;
}

/* ---- who that is ---- */

struct question {
	struct lsh_errand errand;
	char key[LSH_PARTY_KEY_SIZE];
	size_t key_size;
	char last[LSH_DECIMAL_SIZE];
	bool whole;
};

/* Not GET: anybody may have written a value of any size, and one that a reply has no room for would break the connection. */
static void
make_question(struct lsh_step *step, struct lsh_errand *errand)
{
	struct question *q = lsh_container(errand, struct question, errand);

	step->call.args[0] = LSH_ARG("GETRANGE");
	step->call.args[1] = (struct lsh_arg){q->key, q->key_size};
	step->call.args[2] = LSH_ARG("0");
	step->call.args[3] = lsh_arg_decimal(q->last, PARTY_MOST);
	step->call.count = 4;
}

/* Whatever goes wrong, it is not known who that is, and that is all. lock->mutex held; released meanwhile. */
static void
ask_who(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_party *party)
{
	struct question q = {.errand = {.lock = lock, .make = make_question}};
	struct lsh_attempt a;

	q.errand.whole = &q.whole;
	q.key_size = lsh_party_key(q.key, lock->engine->options.prefix, party->token);
	if (lsh_errand_run(&q.errand, lock->engine->options.timeout, deadline, self, &a) && a.reply.type == LSH_STRING)
		lsh_party_read(a.reply.text, strlen(a.reply.text), party);
}

leash_status
lsh_inspect(struct lsh_lock *lock, leash_lock_info *info, leash_error *err)
{
	struct lsh_engine *e = lock->engine;
	struct lsh_thread *self = lsh_self();
	int64_t deadline = lsh_after(lsh_now_ns(), e->options.timeout);
	leash_status status;

	if (self == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "lock '%s': out of memory", lock->shown);
	lsh_engine_go_in(e);
	pthread_mutex_lock(&lock->mutex);
	status = lsh_look(lock, deadline, self, info, err);
	if (status == LEASH_OK && info->held)
		ask_who(lock, deadline, self, &info->holder);
	pthread_mutex_unlock(&lock->mutex);
	lsh_engine_go_out(e);
	return status;
}
