#include "admin/step.h"

#include "admin/query.h"
#include "base/memory.h"

#include <string.h>

struct step {
	enum lsh_verb verb;
	int64_t limit, for_ms;
	const char *token, *value; /* "": none */
};

/* NULL: no memory. */
static struct lsh_query *
make(struct lsh_lock *lock, const struct step *s)
{
	const struct lsh_resource *r = lsh_lock_resource(lock);
	struct lsh_query *q = lsh_query_new(r->backend, LSH_STEP, r->kind, lsh_resource_key(r), r->key_size);
	size_t token_size = strlen(s->token) + 1, size = strlen(s->value) + 1;

	if (q == NULL)
		return NULL;
	q->verb = s->verb;
	q->limit = s->limit;
	q->for_ms = s->for_ms;
	q->words = lsh_alloc(token_size + size);
	if (q->words != NULL) {
		memcpy(mempcpy(q->words, s->token, token_size), s->value, size);
		return q;
	}
	lsh_query_drop(q);
	return NULL;
}

/* Ask it, and wait; NULL: no memory. `*held`, which may be NULL: see lsh_proclaim_found(). */
static leash_status
run(struct lsh_lock *lock, struct lsh_query *q, bool *held, leash_error *err)
{
	leash_status status = lsh_query_run(q, lock, err);

	if (held != NULL)
		*held = status != LEASH_OK || lsh_proclaim_found(q);
	lsh_query_drop(q);
	return status;
}

leash_status
lsh_limit(struct lsh_lock *lock, int64_t limit, int64_t for_ms, leash_error *err)
{
	const struct step step = {LSH_LIMIT, .limit = limit, .for_ms = for_ms, .token = "", .value = ""};

	return run(lock, make(lock, &step), NULL, err);
}

struct lsh_query *
lsh_signal_query(struct lsh_lock *lock, int64_t most)
{
	const struct step step = {LSH_SIGNAL, .limit = most, .token = "", .value = ""};

	return make(lock, &step);
}

leash_status
lsh_signal(struct lsh_lock *lock, int64_t most, leash_error *err)
{
	return run(lock, lsh_signal_query(lock, most), NULL, err);
}

struct lsh_query *
lsh_arrive_query(struct lsh_lock *lock, const char *token)
{
	const struct step step = {LSH_ARRIVE, .for_ms = LSH_ARRIVAL_MS, .token = token, .value = ""};

	return make(lock, &step);
}

leash_status
lsh_arrive(struct lsh_lock *lock, const char *token, leash_error *err)
{
	return run(lock, lsh_arrive_query(lock, token), NULL, err);
}

struct lsh_query *
lsh_proclaim_query(struct lsh_lock *lock, const char *token, const char *value)
{
	const struct step step = {LSH_PROCLAIM, .token = token, .value = value};

	return make(lock, &step);
}

bool
lsh_proclaim_found(const struct lsh_query *q)
{
	return q->asks[0].state != LSH_REPLIED || strcmp(q->asks[0].text, "0") != 0;
}

leash_status
lsh_proclaim(struct lsh_lock *lock, const char *token, const char *value, bool *held, leash_error *err)
{
	return run(lock, lsh_proclaim_query(lock, token, value), held, err);
}
