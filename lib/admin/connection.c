#include "admin/connection.h"

#include "admin/look.h"

#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "lease/host.h"
#include "redis/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what goes wrong ---- */

/* Say it of the lock, if it is about one. */
static leash_status __attribute__((format(printf, 5, 6)))
fail(const struct lsh_admin *q, leash_error *err, leash_status status, int sys_errno, const char *format, ...)
{
	char text[sizeof err->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (q->lock == NULL)
		return lsh_fail(err, status, sys_errno, "%s", text);
	return lsh_fail(err, status, sys_errno, "lock '%s': %s", q->lock, text);
}

/* The talk has failed. */
static leash_status
failed(const struct lsh_admin *q, const leash_error *why, leash_error *err)
{
	if (atomic_load(&q->backend->closing))
		return fail(q, err, LEASH_CLOSED, 0, "the client was closed");
	return fail(q, err, why->status, why->sys_errno, "%s", why->text);
}

leash_status
lsh_admin_refused(const struct lsh_admin *q, const char *command, const struct lsh_script *script, const char *words, leash_error *err)
{
	enum lsh_fault fault = lsh_fault_of(words);
	char within[24], says[LSH_FAULT_TEXT];

	if (script != NULL && lsh_script_blame(script, words, within, sizeof within))
		command = within;
	if (q->backend->options.uri->preloaded && lsh_starts_with_word(words, "NOSCRIPT"))
		words = LSH_NOT_LOADED;
	lsh_fault_say(says, words, command, NULL);
	if (fault == LSH_FAULT_DENIED) /* which has the command in it */
		return fail(q, err, LEASH_DENIED, 0, "%.60s: %s", q->uri->shown, says);
	return fail(q, err, lsh_fault_status(fault), 0, "%.60s: %s was refused: %s", q->uri->shown, command, says);
}

leash_status
lsh_admin_nonsense(const struct lsh_admin *q, const char *command, leash_error *err)
{
	return fail(q, err, LEASH_PROTOCOL, 0, "%.100s: %s: the answer is not what a Redis server says", q->uri->shown, command);
}

/* ---- the talk ---- */

leash_status
lsh_admin_open(struct lsh_admin *q, struct lsh_engine *e, struct lsh_host *host, const char *lock, leash_error *err)
{
	const struct lsh_backend_options *o = &host->backend->options;
	struct lsh_node *node = host->server.node;
	struct lsh_hello hello = {0};
	leash_error why = {0};
	leash_status status;

	q->engine = e;
	q->backend = host->backend;
	lsh_host_keep(&q->host, host);
	q->uri = lsh_node_where(node, &q->moved);
	q->lock = lock;
	if (q->uri == NULL) {
		q->uri = host->server.uri;
		if (lsh_node_is_up(node)) /* then it is known where that is */
			return fail(q, err, LEASH_NO_MEMORY, ENOMEM, "%.100s: out of memory for a connection", q->uri->shown);
		lsh_node_trouble(node, why.text, sizeof why.text, &why.sys_errno);
		return fail(q, err, LEASH_UNAVAILABLE, why.sys_errno, "%.200s", why.text);
	}
	lsh_engine_enter(e);
	status = lsh_talk_open(&q->talk, q->uri, o->client_name, o->timeout, &hello, &why);
	lsh_engine_leave(e);
	if (status != LEASH_OK)
		return failed(q, &why, err);
	if (hello.cluster && !lsh_router_is_cluster(q->backend->router)) /* this node knows but a part of it */
		return fail(q, err, LEASH_UNSUPPORTED, 0, "%.100s: the server is part of a cluster, which this URI does not name", q->uri->shown);
	return LEASH_OK;
}

void
lsh_admin_close(struct lsh_admin *q)
{
	lsh_talk_close(q->talk);
	q->talk = NULL;
	lsh_uri_clear(&q->moved);
	q->moved = (struct lsh_uri){0};
	lsh_host_keep(&q->host, NULL);
}

leash_status
lsh_admin_say(struct lsh_admin *q, const struct lsh_arg *args, size_t count, leash_error *err)
{
	leash_error why = {0};

	return lsh_talk_say(q->talk, args, count, &why) == LEASH_OK ? LEASH_OK : failed(q, &why, err);
}

leash_status
lsh_admin_hear(struct lsh_admin *q, const struct redisReply **answer, leash_error *err)
{
	leash_status status = LEASH_CLOSED;
	leash_error why = {0};

	/* before the look at `closing`: who closes either sees this, or is seen */
	lsh_engine_enter(q->engine);
	if (!atomic_load(&q->backend->closing))
		status = lsh_talk_hear(q->talk, answer, &why);
	lsh_engine_leave(q->engine);
	return status == LEASH_OK ? LEASH_OK : failed(q, &why, err);
}

/* ---- who clients are ---- */

static leash_party *
place_of(struct lsh_admin *q, const char *token)
{
	unsigned hash = 2166136261; /* FNV-1a: the UUIDs are random, but for those that somebody chose */

	for (int i = 0; i < LSH_UUID_SIZE; i++)
		hash = (hash ^ (unsigned char)token[i]) * 16777619;
	return &q->known[(hash ^ hash >> 16) % LSH_ACQUAINTANCES];
}

static bool
is_same_client(const leash_party *a, const leash_party *b)
{
	return memcmp(a->token, b->token, LSH_UUID_SIZE) == 0;
}

static void
copy_but_token(leash_party *to, const leash_party *from)
{
	char token[LEASH_TOKEN_MAX];

	memcpy(token, to->token, sizeof token);
	*to = *from;
	memcpy(to->token, token, sizeof token);
}

static leash_status
ask_who(struct lsh_admin *q, const leash_party *party, leash_error *err)
{
	struct lsh_script_call command;

	lsh_party_ask(&command, q->backend->options.prefix, party->token);
	return lsh_admin_say(q, command.args, command.count, err);
}

/* Whatever the server says instead, nothing is known of that client, and that is all. */
static leash_status
hear_who(struct lsh_admin *q, leash_party *party, leash_error *err)
{
	const struct redisReply *answer;
	leash_status status = lsh_admin_hear(q, &answer, err);
	struct lsh_item item;

	if (status != LEASH_OK)
		return status;
	item = lsh_answer_item(answer);
	if (item.type == LSH_STRING)
		lsh_party_read(item.text, item.length, party);
	*place_of(q, party->token) = *party;
	return LEASH_OK;
}

/* In a cluster. */
static leash_status
find_out(struct lsh_admin *q, leash_party *const *parties, size_t count, leash_error *err)
{
	struct lsh_thread *self = lsh_self();
	leash_status status = LEASH_CLOSED;
	leash_error why = {0};

	if (self == NULL)
		return fail(q, err, LEASH_NO_MEMORY, ENOMEM, "out of memory");
	lsh_engine_enter(q->engine); /* as for the answers of a talk */
	if (!atomic_load(&q->backend->closing)) {
		lsh_look_who(q->backend, parties, count, lsh_after(lsh_now_ns(), q->backend->options.timeout), &self->parker);
		status = LEASH_OK;
	}
	lsh_engine_leave(q->engine);
	for (size_t i = 0; i < count && status == LEASH_OK; i++)
		*place_of(q, parties[i]->token) = *parties[i];
	return status == LEASH_OK ? LEASH_OK : failed(q, &why, err);
}

/* Of those that this connection asked itself. */
static leash_status
hear_all(struct lsh_admin *q, leash_party *const *parties, size_t n, leash_error *err)
{
	leash_status status = LEASH_OK;

	for (size_t i = 0; i < n && status == LEASH_OK; i++)
		status = hear_who(q, parties[i], err);
	return status;
}

leash_status
lsh_admin_who(struct lsh_admin *q, leash_party *const *parties, size_t count, leash_error *err)
{
	size_t asked[LSH_ADMIN_WINDOW], same_as[LSH_ADMIN_WINDOW], n = 0;
	leash_party *found[LSH_ADMIN_WINDOW];
	bool elsewhere = lsh_router_is_cluster(q->backend->router);
	leash_status status = LEASH_OK;

	for (size_t i = 0; i < count && status == LEASH_OK; i++) {
		const leash_party *known = place_of(q, parties[i]->token);

		same_as[i] = i;
		if (is_same_client(known, parties[i])) {
			copy_but_token(parties[i], known);
			continue;
		}
		for (size_t j = 0; j < n && same_as[i] == i; j++)
			if (is_same_client(parties[asked[j]], parties[i]))
				same_as[i] = asked[j];
		if (same_as[i] == i) {
			found[n] = parties[i];
			asked[n++] = i;
			if (!elsewhere)
				status = ask_who(q, parties[i], err);
		}
	}
	if (status == LEASH_OK && n > 0)
		status = (elsewhere ? find_out : hear_all)(q, found, n, err);
	for (size_t i = 0; i < count && status == LEASH_OK; i++)
		if (same_as[i] != i)
			copy_but_token(parties[i], parties[same_as[i]]);
	return status;
}
