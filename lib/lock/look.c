/* Looking at a lock over the client's own connection: who has it, and who that is. */
#include "lock/errand.h"

#include "base/error.h"
#include "lock/inspect.h"
#include "lock/quorum.h"
#include "lock/route.h"
#include "redis/fault.h"

#include <errno.h>
#include <string.h>

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
	leash_status status = LEASH_OK;

	if (lock->engine->quorum != NULL)
		return lsh_canvass_look(lock, deadline, self, info, err);
	look.errand.whole = &look.whole;
	if (!lsh_errand_run(&look.errand, patience, deadline, self, &a))
		status = lsh_errand_unanswered(&look.errand, &a, what, err);
	else if (a.reply.type == LSH_ERROR)
		status = lsh_errand_refused(&look.errand, &a, &lsh_script_inspect, what, err);
	else if (a.reply.type != LSH_STRING || !lsh_lock_line_read(a.reply.text, strlen(a.reply.text), info))
		status = lsh_errand_nonsense(&look.errand, &a, err);
	else
		strcpy(info->name, lock->name);
	lsh_errand_end(&a);
	return status;
}

/* ---- who that is ---- */

struct question {
	struct lsh_errand errand;
	struct lsh_party_question party;
	bool whole;
};

static void
make_question(struct lsh_step *step, struct lsh_errand *errand)
{
	const struct question *q = lsh_container(errand, struct question, errand);

	memcpy(step->call.args, q->party.args, sizeof q->party.args);
	step->call.count = LSH_PARTY_ARGS;
}

/* Whatever goes wrong, it is not known who that is, and that is all. lock->mutex held; released meanwhile. */
static void
ask_who(struct lsh_lock *lock, int64_t deadline, struct lsh_thread *self, leash_party *party)
{
	struct question q = {.errand = {.lock = lock, .make = make_question}};
	struct lsh_attempt a;

	if (lock->engine->cluster != NULL) {
		pthread_mutex_unlock(&lock->mutex);
		lsh_route_who(lock->engine, &party, 1, deadline, self);
		pthread_mutex_lock(&lock->mutex);
		return;
	}
	if (lock->engine->quorum != NULL) {
		lsh_canvass_who(lock, deadline, self, party);
		return;
	}
	q.errand.whole = &q.whole;
	lsh_party_ask(&q.party, lock->engine->options.prefix, party->token);
	if (lsh_errand_run(&q.errand, lock->engine->options.timeout, deadline, self, &a) && a.reply.type == LSH_STRING)
		lsh_party_read(a.reply.text, strlen(a.reply.text), party);
	lsh_errand_end(&a);
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
