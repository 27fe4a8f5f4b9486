#include "admin/query.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	LIST_SIZE = LSH_TEXT_SIZE + LSH_ITEMS * LSH_DECIMAL_SIZE, /* of all items, with the ends of their lines */
	PARTY_MOST = 200, /* bytes; what is longer is not leash's */
	HEAD = 5,         /* numbers, before the holds */
};

_Static_assert(HEAD + 2 * LSH_HOLDS <= (int)LSH_ITEMS && LSH_HOLDS * LSH_WHO_SIZE <= (int)LSH_TEXT_SIZE &&
               (HEAD + 1) * LSH_DECIMAL_SIZE + LSH_WHO_SIZE < (int)LSH_REPLY_TEXT, "what an answer can hold");

/* For the text of an answer. */
static size_t
room_of(enum lsh_question question)
{
	bool is_long = question == LSH_WHO_WAITS || question == LSH_WHO_SHARES || question == LSH_WHO_LEADS;

	return is_long ? LIST_SIZE : LSH_REPLY_TEXT;
}

#define LOOK_AGAIN (5 * LSH_MS) /* for a connection: nobody tells when it is there */

void
lsh_query_drop(struct lsh_query *q)
{
	if (q == NULL || atomic_fetch_sub(&q->references, 1) != 1)
		return;
	for (size_t i = 0; i < q->count; i++)
		lsh_host_keep(&q->asks[i].host, NULL);
	lsh_free(q->words);
	lsh_free(q);
}

/* ---- the calls ---- */

static struct lsh_server *
home(struct lsh_call *call)
{
	struct lsh_ask *a = call->owner;
	struct lsh_query *q = a->query;
	struct lsh_server *server = q->by_slot && !q->over ? lsh_router_of_slot(q->backend->router, q->slot) : NULL;

	if (server != NULL) {
		lsh_host_keep(&a->host, lsh_host_of(server));
		lsh_server_leave(server);
	}
	return &a->host->server;
}

static unsigned
most_holds(const struct lsh_query *q)
{
	return q->question == LSH_WHO_SHARES ? LSH_HOLDS : 1;
}

static void
make_inspection(const struct lsh_query *q, struct lsh_script_call *command)
{
	unsigned keys = 0;

	while (q->kind->suffix[keys] != NULL)
		keys++;
	lsh_script_begin(command, q->kind->inspect, keys);
	for (unsigned i = 0; i < keys; i++)
		lsh_script_push_joined(command, (struct lsh_arg){q->subject, q->subject_size}, q->kind->suffix[i]);
	lsh_script_push_number(command, most_holds(q));
}

/* What is no question: it changes something. */
static void
make_step(const struct lsh_call *call, struct lsh_script_call *command, int64_t now)
{
	const struct lsh_ask *a = call->owner;
	const struct lsh_query *q = a->query;
	size_t token_size = strlen(q->words);
	struct lsh_request request = {
		.protocol = &q->backend->protocol, .kind = q->kind, .key = {q->subject, q->subject_size},
		.token = q->words, .token_size = token_size, .value = q->words + token_size + 1,
		.limit = q->limit, .lease_ms = q->for_ms, .sharded = atomic_load(&a->host->sharded),
		.not_after_us = lsh_node_server_us(call->server->node, now) + (q->deadline - now) / LSH_US,
	};

	q->kind->make(command, q->verb, &request, 1);
}

static bool
build(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	const struct lsh_query *q = ((struct lsh_ask *)call->owner)->query;
	struct lsh_arg subject = {q->subject, q->subject_size};
	char party[LSH_PARTY_KEY_SIZE], after[LSH_DECIMAL_SIZE];

	(void)patience;
	switch (q->question) {
	case LSH_WHO_HAS:
	case LSH_WHO_SHARES:
	case LSH_WHO_LEADS:
		make_inspection(q, command);
		break;
	case LSH_WHO_IS: /* not by GET: anybody may have written there, and a value of any size */
		subject = (struct lsh_arg){party, lsh_party_key(party, q->backend->options.prefix, q->subject)};
		lsh_script_push(command, LSH_ARG("GETRANGE"));
		lsh_script_push_joined(command, subject, "");
		lsh_script_push(command, LSH_ARG("0"));
		lsh_script_push_number(command, PARTY_MOST);
		break;
	case LSH_WHO_WAITS:
		lsh_script_push(command, LSH_ARG("ZRANGEBYSCORE"));
		lsh_script_push_joined(command, subject, ":queue");
		after[lsh_decimal_write(after, q->after)] = '\0';
		lsh_script_push_joined(command, LSH_ARG("("), after);
		lsh_script_push(command, LSH_ARG("+inf"));
		lsh_script_push(command, LSH_ARG("WITHSCORES"));
		lsh_script_push(command, LSH_ARG("LIMIT"));
		lsh_script_push(command, LSH_ARG("0"));
		lsh_script_push_number(command, LSH_QUERIES);
		break;
	case LSH_STEP:
		make_step(call, command, now);
		break;
	}
	return !q->over;
}

/* So many numbers, and up to `most` pairs of a text and a `type`. */
static bool
is_list(const struct lsh_message *m, unsigned head, unsigned most, enum lsh_type type)
{
	if (m->type != LSH_ARRAY || m->count < head || (m->count - head) % 2 != 0 || m->count > head + 2 * most)
		return false;
	for (unsigned i = 0; i < m->count; i++)
		if (m->item[i].type != (i < head ? LSH_INTEGER : (i - head) % 2 == 0 ? LSH_STRING : type))
			return false;
	return true;
}

static bool
is_answer(const struct lsh_call *call, const struct lsh_message *message)
{
	const struct lsh_query *q = ((const struct lsh_ask *)call->owner)->query;
	struct lsh_verdict verdict;

	switch (q->question) {
	case LSH_WHO_HAS:
	case LSH_WHO_SHARES:
		return is_list(message, HEAD, most_holds(q), LSH_INTEGER);
	case LSH_WHO_WAITS:
		return is_list(message, 0, LSH_QUERIES, LSH_STRING);
	case LSH_WHO_LEADS:
		return message->count == 6 && is_list(message, 4, 1, LSH_STRING);
	case LSH_STEP:
		return q->kind->read(&verdict, q->verb, message, 0, 1);
	default:
		return true;
	}
}

/* The step came too late, by our idea of its clock: that is better now, so it is sent again. */
static bool
is_too_late(struct lsh_ask *a, const struct lsh_result *r)
{
	const struct lsh_query *q = a->query;
	struct lsh_verdict verdict;

	if (q->question != LSH_STEP || !q->kind->read(&verdict, q->verb, r->message, 0, 1) || verdict.what != LSH_TOO_LATE)
		return false;
	lsh_node_learn_clock(r->server->node, verdict.server_us, r->sent, lsh_now_ns());
	a->again_at = 0;
	return true;
}

static void
take_answer(struct lsh_ask *a, const struct lsh_message *m)
{
	size_t room = room_of(a->query->question), n = 0;

	a->state = LSH_REPLIED;
	if (m->type != LSH_ARRAY) {
		if (m->type == LSH_INTEGER)
			snprintf(a->text, room, "%lld", (long long)m->item[0].integer);
		else
			snprintf(a->text, room, "%s", m->type == LSH_STRING ? m->item[0].text : "");
		return;
	}
	for (unsigned i = 0; i < m->count && n < room; i++)
		if (m->item[i].type == LSH_INTEGER)
			n += (size_t)snprintf(a->text + n, room - n, "%lld\n", (long long)m->item[i].integer);
		else
			n += (size_t)snprintf(a->text + n, room - n, "%s\n", m->item[i].text);
}

static void
take_refusal(struct lsh_ask *a, const struct lsh_call *call, const struct lsh_result *r)
{
	int64_t now = lsh_now_ns();
	char command[24] = "EVALSHA", says[LSH_FAULT_TEXT];
	struct lsh_query *q = a->query;

	a->away = r->what == LSH_CALL_UNSENT || r->what == LSH_CALL_UNKNOWN || r->garbled;
	a->garbled |= r->garbled;
	q->stranded |= a->away && r->what != LSH_CALL_UNSENT && lsh_verb_has_end(q->verb);
	a->elsewhere = r->fault == LSH_FAULT_CLUSTER || (r->words != NULL && lsh_starts_with_word(r->words, "TRYAGAIN"));
	lsh_call_explain(call, r, &a->why);
	if (r->fault == LSH_FAULT_DENIED) { /* name the command */
		if (q->question == LSH_WHO_WAITS)
			strcpy(command, "ZRANGEBYSCORE");
		else if (call->script != NULL)
			lsh_script_blame(call->script, r->words, command, sizeof command);
		lsh_fault_say(says, r->words, command, NULL);
		lsh_fail(&a->why, LEASH_DENIED, 0, "%.60s: %s", lsh_host_shown(a->host), says);
	}
	if (a->away)
		a->again_at = now;
	else if (r->again && !q->hurried)
		a->again_at = lsh_after_ms(now, 50 + lsh_random32() % 200);
	else
		a->state = LSH_GAVE_UP;
}

static void
done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_ask *a = call->owner;

	if (a->query->over)
		return;
	if (r->what != LSH_CALL_ANSWERED)
		take_refusal(a, call, r);
	else if (!is_too_late(a, r))
		take_answer(a, r->message);
	if (a->query->parker != NULL)
		lsh_unpark(a->query->parker);
	else
		a->query->stirred(a->query->waiter);
}

static void
release(void *owner)
{
	lsh_query_drop(((struct lsh_ask *)owner)->query);
}

static void
show_key(const struct lsh_call *call, unsigned n, char *out, size_t size)
{
	const struct lsh_query *q = ((const struct lsh_ask *)call->owner)->query;
	const char *suffix = q->kind != NULL && n <= 4 ? q->kind->suffix[n - 1] : NULL;

	snprintf(out, size, "%s%s", q->subject, suffix != NULL ? suffix : "");
}

static const struct lsh_call_ops ops = {
	.home = home, .build = build, .is_answer = is_answer, .done = done, .release = release, .show_key = show_key,
};

/* ---- whoever asks ---- */

/* In use. NULL: there is none. */
static struct lsh_server *
first_server(struct lsh_query *q, size_t i)
{
	struct lsh_server *server;

	if (!q->by_slot)
		return lsh_router_get(q->backend->router, i);
	server = lsh_router_of_slot(q->backend->router, q->slot);
	return server != NULL ? server : lsh_router_any(q->backend->router);
}

struct lsh_query *
lsh_query_new(struct lsh_backend *b, enum lsh_question question, const struct lsh_kind *kind, const char *subject,
              size_t size)
{
	size_t count = b->strategy->has_queue ? 1 : lsh_router_count(b->router);
	size_t room = room_of(question);
	struct lsh_query *q = lsh_alloc(sizeof *q + count * (sizeof q->asks[0] + room) + size + 1);
	char *text, key[LSH_PARTY_KEY_SIZE];

	if (q == NULL)
		return NULL;
	text = (char *)&q->asks[count];
	q->subject = text + count * room;
	memcpy(q->subject, subject, size);
	q->subject_size = size;
	lsh_monitor_init(&q->monitor);
	atomic_init(&q->references, 1);
	q->backend = b;
	q->question = question;
	q->kind = kind;
	q->by_slot = b->strategy->has_queue;
	if (question == LSH_WHO_IS)
		q->slot = lsh_router_slot_of(b->router, key, lsh_party_key(key, b->options.prefix, subject));
	else
		q->slot = lsh_router_slot_of(b->router, subject, size);
	for (; q->count < count; q->count++) {
		struct lsh_ask *a = &q->asks[q->count];
		struct lsh_server *server = first_server(q, q->count);

		if (server == NULL) {
			lsh_query_drop(q);
			return NULL;
		}
		lsh_call_init(&a->call, &ops, &q->monitor, a);
		a->query = q;
		a->text = text + q->count * room;
		a->host = lsh_host_of(server);
	}
	return q;
}

bool
lsh_ask_is_pending(const struct lsh_ask *a)
{
	if (a->state != LSH_ASKING || a->query->over)
		return false;
	return a->query->by_slot || a->call.out || !a->away || !lsh_node_has_tried(a->host->server.node);
}

leash_status
lsh_ask_explain(const struct lsh_ask *a, leash_error *why)
{
	const char *shown = lsh_host_shown(a->host);

	*why = a->why;
	if (a->state == LSH_REPLIED)
		return lsh_fail(why, LEASH_MISMATCH, 0, "%.100s: its key holds something that is not a lock", shown);
	if (a->garbled)
		return lsh_fail(why, LEASH_PROTOCOL, 0, "%.100s: it does not answer as a Redis server does", shown);
	if (why->status == LEASH_OK)
		lsh_node_trouble(a->host->server.node, why);
	return why->status;
}

static void
send(struct lsh_ask *a)
{
	struct lsh_query *q = a->query;

	atomic_fetch_add(&q->references, 1);
	a->away = !lsh_call_start(&a->call, NULL);
	if (!a->away)
		return;
	atomic_fetch_sub(&q->references, 1);
	lsh_node_trouble(a->host->server.node, &a->why);
	a->again_at = lsh_after(lsh_now_ns(), LOOK_AGAIN);
}

/* Send what is to be sent; `*until` is not later than the next time for that. False: enough is known. */
static bool
see_to(struct lsh_query *q, int64_t *until)
{
	bool pending = false;

	lsh_within(&q->monitor);
	for (size_t i = 0; i < q->count; i++) {
		struct lsh_ask *a = &q->asks[i];

		if (a->state == LSH_ASKING && !a->call.out && lsh_now_ns() >= a->again_at)
			send(a);
		if (a->state == LSH_ASKING && !a->call.out && a->again_at < *until)
			*until = a->again_at;
		pending |= lsh_ask_is_pending(a);
	}
	return q->is_enough != NULL ? !q->is_enough(q) : pending || q->stranded;
}

static void
end(struct lsh_query *q)
{
	lsh_within(&q->monitor);
	q->over = true;
}

bool
lsh_query_goes_on(struct lsh_query *q, int64_t *until)
{
	*until = q->deadline;
	if (!atomic_load(&q->backend->closing) && see_to(q, until) && lsh_now_ns() < q->deadline)
		return true;
	end(q);
	return false;
}

static leash_status
closed(leash_error *err)
{
	return lsh_fail(err, LEASH_CLOSED, 0, "the client was closed");
}

leash_status
lsh_query_none(const struct lsh_backend *b, leash_error *err)
{
	return atomic_load(&b->closing) ? closed(err) : lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
}

leash_status
lsh_queries_ask(struct lsh_backend *b, struct lsh_query *const *qs, size_t count, int64_t deadline, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	bool waits = true, closing = false;

	for (size_t i = 0; i < count; i++) {
		if (self == NULL || qs[i] == NULL)
			return lsh_query_none(b, err);
		qs[i]->parker = &self->parker;
		qs[i]->deadline = deadline;
	}
	lsh_backend_enter(b); /* before the look at `closing`: who closes either sees this, or is seen */
	while (waits && !(closing = atomic_load(&b->closing))) {
		int64_t until = deadline;

		waits = false;
		for (size_t i = 0; i < count; i++)
			waits |= see_to(qs[i], &until);
		if (lsh_now_ns() >= deadline)
			break;
		if (waits)
			lsh_park(&self->parker, until);
	}
	for (size_t i = 0; i < count; i++)
		end(qs[i]);
	lsh_backend_leave(b);
	return closing ? closed(err) : LEASH_OK;
}

/* It was answered, or why not; of one server. */
static leash_status
explain(const struct lsh_query *q, const struct lsh_lock *lock, leash_status status, leash_error *why, leash_error *err)
{
	if (status == LEASH_OK && q->asks[0].state != LSH_REPLIED)
		status = lsh_ask_explain(&q->asks[0], why);
	if (status != LEASH_OK)
		lsh_fail(err, status, why->sys_errno, "%s '%s': %s", q->kind->name, lsh_lock_shown(lock), why->text);
	return status;
}

leash_status
lsh_query_result(const struct lsh_query *q, const struct lsh_lock *lock, leash_error *err)
{
	leash_error why = {0};
	leash_status status = LEASH_OK;

	if (q->asks[0].state != LSH_REPLIED && atomic_load(&q->backend->closing))
		status = closed(&why);
	return explain(q, lock, status, &why, err);
}

leash_status
lsh_query_run(struct lsh_query *q, struct lsh_lock *lock, leash_error *err)
{
	struct lsh_backend *b = lsh_lock_resource(lock)->backend;
	leash_error why = {0};
	leash_status status = lsh_queries_ask(b, &q, 1, lsh_after(lsh_now_ns(), b->options.timeout), &why);

	if (q == NULL)
		return lsh_fail(err, status, why.sys_errno, "%s '%s': %s", lsh_lock_resource(lock)->kind->name,
		                lsh_lock_shown(lock), why.text);
	return explain(q, lock, status, &why, err);
}
