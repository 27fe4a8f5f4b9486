/* Scanning. A server goes through its keys in small steps (SCAN), over a connection of its own because pages are long,
 * and names those that look like locks; the ones whose names fit are inspected by queries, a batch at a time.
 *
 *   page of keys --fit the pattern--> batch --inspected, and held--> told of
 *
 * There is one page and one batch at a time, so it needs the same memory for any number of locks. What is not a lock of
 * ours, or not any more, is passed over. The connection ends with the client: who closes that waits for the page that
 * is awaited at that moment, and not for what is done with it. */
#include "admin/scan.h"

#include "admin/inspect.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "lease/electorate.h"
#include "redis/informant.h"

#include <errno.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum {
	COUNT = 200,   /* keys that the server looks at in one step, which lasts less than a millisecond */
	/* A scan ends, but whoever says that he is a server may say that it goes on for ever. A step that finds nothing
	 * looks at 10 times as many places, and a table has seldom more than 16 for each key. */
	STEPS = 1 << 16,
	PLACES = 16,
};

#define STEPS_MOST (UINT64_C(1) << 28) /* for the largest table */

struct lsh_scan {
	struct lsh_backend *backend;
	locale_t bytes;              /* the C locale, where a character is a byte */
	char pattern[LSH_PATTERN_MAX + 1];
	char prefix[80], match[84];  /* of keys; and what SCAN is to look for: of a lock its first key, of whatever type */

	size_t at;                   /* the server that is gone through; there may be others behind it */
	struct lsh_host *host;       /* in use */
	struct lsh_uri moved;        /* its address, if it is not always the same server */
	const char *shown;
	struct lsh_informant *talk;
	char cursor[LSH_DECIMAL_DIGITS + 1];
	bool over;                   /* it has no further page */
	uint64_t steps, steps_most;
	bool gone[LSH_QUORUM_MAX];   /* of a quorum: given up */

	struct redisReply *page;
	const struct redisReply *keys; /* in it */
	size_t next_key;

	size_t count, next;          /* of the batch: are held; are to be told of */
	leash_lock_info info[LSH_QUERIES];
	struct lsh_acquaintances known;
};

/* ---- servers ---- */

static void
forget_page(struct lsh_scan *s)
{
	lsh_answer_free(s->page);
	s->page = NULL;
	s->keys = NULL;
	s->next_key = 0;
}

static void
disconnect(struct lsh_scan *s)
{
	lsh_informant_free(s->talk);
	s->talk = NULL;
	lsh_uri_clear(&s->moved);
	s->moved = (struct lsh_uri){0};
	lsh_host_keep(&s->host, NULL);
}

static size_t
count_gone(const struct lsh_scan *s, size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += s->gone[i];
	return n;
}

/* Server `i` has failed. LEASH_OK: the scan goes on without it. */
static leash_status
give_up(struct lsh_scan *s, size_t i, const leash_error *why, leash_error *err)
{
	size_t count = lsh_router_count(s->backend->router), gone;

	if (s->backend->strategy->has_queue || why->status == LEASH_CLOSED || why->status == LEASH_NO_MEMORY)
		return lsh_fail(err, why->status, why->sys_errno, "%s", why->text);
	s->gone[i] = true;
	if (i == s->at) {
		forget_page(s);
		s->over = true;
	}
	gone = count_gone(s, count);
	if (count - gone >= s->backend->majority)
		return LEASH_OK;
	return lsh_electorate_fail(err, (unsigned)gone, count, "could not be asked", why);
}

static bool
is_to_be_gone_through(const struct lsh_scan *s, const struct lsh_server *server)
{
	const struct lsh_router *router = s->backend->router;

	if (s->backend->strategy->has_queue)
		return lsh_server_serves(server);
	return !s->gone[s->at] && s->at - count_gone(s, s->at) <= lsh_router_count(router) - s->backend->majority;
}

/* The next one, s->at or behind it; in use. NULL: there is none. */
static struct lsh_server *
find_server(struct lsh_scan *s)
{
	for (; s->at < lsh_router_count(s->backend->router); s->at++) {
		struct lsh_server *server = lsh_router_get(s->backend->router, s->at);

		if (server != NULL && is_to_be_gone_through(s, server))
			return server;
		lsh_server_leave(server);
	}
	return NULL;
}

static leash_status
connect_to(struct lsh_scan *s, struct lsh_server *server, leash_error *err)
{
	const struct lsh_backend_options *o = &s->backend->options;
	const struct lsh_uri *uri = lsh_node_where(server->node, &s->moved);
	leash_status status;

	lsh_host_keep(&s->host, lsh_host_of(server));
	s->shown = server->uri->shown;
	if (uri == NULL && lsh_node_is_up(server->node)) /* it is known where that is */
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.100s: out of memory for a connection", s->shown);
	if (uri == NULL) {
		lsh_node_trouble(server->node, err);
		return err->status = LEASH_UNAVAILABLE;
	}
	s->shown = uri->shown;
	lsh_backend_enter(s->backend);
	status = lsh_talk_open(&s->talk, uri, LSH_WANT_SERVER, o->client_name, o->timeout, err);
	lsh_backend_leave(s->backend);
	/* does it know but a part? */
	if (status == LEASH_OK && lsh_informant_hello(s->talk)->cluster && !lsh_router_is_cluster(s->backend->router))
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "%.100s: it is part of a cluster: write redis+cluster:// or rediss+cluster://", s->shown);
	return status;
}

/* Begin with the next server. `*found`: there is one. */
static leash_status
begin(struct lsh_scan *s, bool *found, leash_error *err)
{
	leash_status status = LEASH_OK;
	struct lsh_server *server;

	for (; status == LEASH_OK && (server = find_server(s)) != NULL; s->at++) {
		leash_error why = {0};

		strcpy(s->cursor, "0");
		s->over = false;
		s->steps = 0;
		s->steps_most = STEPS;
		status = connect_to(s, server, &why);
		lsh_server_leave(server);
		if (status == LEASH_OK)
			break;
		disconnect(s);
		status = give_up(s, s->at, &why, err);
	}
	*found = server != NULL;
	return status;
}

leash_status
lsh_scan_open(struct lsh_scan **out, struct lsh_backend *b, const char *pattern, leash_error *err)
{
	struct lsh_scan *s = lsh_new(struct lsh_scan);
	leash_status status;
	bool found;

	if (s == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a scan");
	s->backend = b;
	strcpy(s->pattern, pattern != NULL ? pattern : "*");
	snprintf(s->prefix, sizeof s->prefix, "%s:{", s->backend->options.prefix);
	snprintf(s->match, sizeof s->match, "%s*}", s->prefix); /* in a prefix nothing has a meaning for a pattern */
	s->bytes = newlocale(LC_ALL_MASK, "C", NULL);
	if (s->bytes == NULL)
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a scan");
	else if ((status = begin(s, &found, err)) == LEASH_OK && !found)
		status = lsh_router_trouble(s->backend->router, 0, err);
	if (status != LEASH_OK)
		lsh_scan_close(s);
	else
		*out = s;
	return status;
}

void
lsh_scan_close(struct lsh_scan *s)
{
	if (s == NULL)
		return;
	disconnect(s);
	forget_page(s);
	if (s->bytes != NULL)
		freelocale(s->bytes);
	lsh_free(s);
}

/* ---- pages ---- */

static leash_status
nonsense(const struct lsh_scan *s, const char *what, leash_error *err)
{
	return lsh_fail(err, LEASH_PROTOCOL, 0, "%.100s: %s: the answer is not what a Redis server sends", s->shown, what);
}

/* Ask the server, over the scan's own connection. A refusal is a failure. */
static leash_status
ask(struct lsh_scan *s, const struct lsh_arg *args, size_t count, const struct redisReply **answer, leash_error *err)
{
	char says[LSH_FAULT_TEXT];
	leash_status status = LEASH_CLOSED;
	struct lsh_item item;

	lsh_backend_enter(s->backend); /* before the look at `closing`: who closes either sees this, or is seen */
	if (!atomic_load(&s->backend->closing)) {
		lsh_informant_send(s->talk, args, count);
		status = lsh_talk_hear(s->talk, answer, err);
	}
	lsh_backend_leave(s->backend);
	if (atomic_load(&s->backend->closing))
		return lsh_fail(err, LEASH_CLOSED, 0, "the client was closed");
	if (status != LEASH_OK)
		return status;
	item = lsh_answer_item(*answer);
	if (item.type != LSH_ERROR)
		return LEASH_OK;
	lsh_fault_say(says, item.text, args[0].bytes, NULL);
	return lsh_fail(err, lsh_fault_status(lsh_fault_of(item.text)), 0, "%.60s: %s: %s", s->shown, args[0].bytes, says);
}

/* It has been a long way: is it as long as the server's data? */
static leash_status
check_way(struct lsh_scan *s, leash_error *err)
{
	struct lsh_arg dbsize = LSH_ARG("DBSIZE");
	const struct redisReply *answer;
	struct lsh_item item;
	leash_status status;

	if (s->steps < s->steps_most)
		return LEASH_OK;
	status = ask(s, &dbsize, 1, &answer, err);
	if (status != LEASH_OK)
		return status;
	item = lsh_answer_item(answer);
	s->steps_most = STEPS_MOST;
	if (item.type == LSH_INTEGER && item.integer >= 0 && (uint64_t)item.integer < STEPS_MOST / PLACES * COUNT)
		s->steps_most = STEPS + (uint64_t)item.integer / COUNT * PLACES;
	return s->steps < s->steps_most ? LEASH_OK : nonsense(s, "SCAN does not end", err);
}

static leash_status
take_page(struct lsh_scan *s, leash_error *err)
{
	const struct redisReply *keys = lsh_answer_at(s->page, 1);
	struct lsh_item cursor = lsh_answer_item(lsh_answer_at(s->page, 0));
	uint64_t number;

	if (lsh_answer_count(s->page) != 2 || lsh_answer_item(keys).type != LSH_ARRAY || cursor.type != LSH_STRING ||
	    !lsh_decimal_read(cursor.text, cursor.length, &number))
		return nonsense(s, "SCAN", err);
	s->over = number == 0;
	if (!s->over && strcmp(s->cursor, cursor.text) == 0)
		return nonsense(s, "SCAN does not end", err);
	strcpy(s->cursor, cursor.text);
	s->keys = keys;
	return LEASH_OK;
}

static leash_status
turn_page(struct lsh_scan *s, leash_error *err)
{
	struct lsh_arg args[] = {
		LSH_ARG("SCAN"), lsh_arg_text(s->cursor), LSH_ARG("MATCH"), lsh_arg_text(s->match),
		LSH_ARG("COUNT"), LSH_ARG("200"),
	};
	const struct redisReply *answer;
	leash_status status = check_way(s, err);

	forget_page(s);
	s->steps++;
	if (status == LEASH_OK)
		status = ask(s, args, sizeof args / sizeof *args, &answer, err);
	if (status != LEASH_OK)
		return status;
	s->page = lsh_informant_take(s->talk);
	return take_page(s, err);
}

/* ---- batches ---- */

static bool
fits(const struct lsh_scan *s, const char *name)
{
	locale_t before = uselocale(s->bytes);
	bool fit = fnmatch(s->pattern, name, 0) == 0;

	uselocale(before);
	return fit;
}

/* Is it the key of a lock with a name that fits? Writes that to `name`. */
static bool
is_wanted(const struct lsh_scan *s, const struct lsh_item *key, char name[static LEASH_NAME_MAX + 8])
{
	size_t head = strlen(s->prefix), length;
	char decoded[3 * LEASH_NAME_MAX];

	if (key->length <= head + 1 || key->length - head - 1 > sizeof decoded || memcmp(key->text, s->prefix, head) != 0 ||
	    key->text[key->length - 1] != '}')
		return false;
	if (!lsh_key_decode(decoded, &length, key->text + head, key->length - head - 1) || length > LEASH_NAME_MAX)
		return false;
	memcpy(name, decoded, length);
	name[length] = '\0';
	return fits(s, name);
}

/* As many of the page's keys as have room: their names, and a query for each. */
static leash_status
fill_batch(struct lsh_scan *s, struct lsh_query **qs, size_t *count, leash_error *err)
{
	for (; s->next_key < lsh_answer_count(s->keys) && *count < LSH_QUERIES; s->next_key++) {
		struct lsh_item key = lsh_answer_item(lsh_answer_at(s->keys, s->next_key));
		struct lsh_query *q;

		if (key.type != LSH_STRING)
			return nonsense(s, "SCAN", err);
		if (!is_wanted(s, &key, s->info[*count].name))
			continue;
		q = qs[(*count)++] = lsh_query_new(s->backend, LSH_WHO_HAS, &lsh_mutex, key.text, key.length);
		if (q == NULL)
			continue;
		q->hurried = true;
		for (size_t i = 0; i < q->count && !q->by_slot; i++)
			if (s->gone[i])
				q->asks[i].state = LSH_GAVE_UP;
	}
	return LEASH_OK;
}

/* One answer; nobody has what is somebody else's, or in a cluster has moved meanwhile. */
static leash_status
read_answer(const struct lsh_ask *a, leash_lock_info *info, leash_error *why)
{
	bool may_move = lsh_router_is_cluster(a->query->backend->router);
	leash_status status;

	if (lsh_ask_read(a, info))
		return LEASH_OK;
	status = lsh_ask_explain(a, why);
	return status == LEASH_MISMATCH || (a->elsewhere && may_move) ? LEASH_OK : status;
}

/* By what each server of a quorum said: is it held, and is s->at the first one that has it? Then
 * `mine`, its own answer, becomes theirs. */
static bool
is_told(const struct lsh_scan *s, const leash_lock_info *infos, size_t count, leash_lock_info *mine)
{
	leash_lock_info agreed;

	if (lsh_agreement(infos, count, s->backend->majority, &agreed) < s->backend->majority || !mine->held ||
	    strcmp(agreed.holder.token, mine->holder.token) != 0)
		return false;
	for (size_t i = 0; i < s->at; i++)
		if (infos[i].held && strcmp(infos[i].holder.token, mine->holder.token) == 0)
			return false;
	*mine = agreed;
	return true;
}

/* Keep it, behind those that are kept, if it is held. */
static leash_status
take_lock(struct lsh_scan *s, const struct lsh_query *q, const char *name, leash_error *err)
{
	leash_lock_info infos[LSH_QUORUM_MAX] = {0}, mine;
	leash_status status = LEASH_OK;

	for (size_t i = 0; i < q->count && status == LEASH_OK; i++) {
		leash_error why = {0};

		if (!q->by_slot && s->gone[i])
			continue;
		status = read_answer(&q->asks[i], &infos[i], &why);
		if (status != LEASH_OK)
			status = give_up(s, i, &why, err);
	}
	mine = infos[q->by_slot ? 0 : s->at];
	if (status != LEASH_OK || !(q->by_slot ? mine.held : is_told(s, infos, q->count, &mine)))
		return status;
	mine.size = sizeof mine;
	memcpy(mine.name, name, sizeof mine.name);
	s->info[s->count++] = mine;
	return LEASH_OK;
}

static leash_status
inspect_batch(struct lsh_scan *s, struct lsh_query *const *qs, size_t count, leash_error *err)
{
	int64_t deadline = lsh_after(lsh_now_ns(), s->backend->options.timeout);
	leash_status status = lsh_queries_ask(s->backend, qs, count, deadline, err);
	leash_party *holders[LSH_QUERIES];

	for (size_t i = 0; i < count && status == LEASH_OK; i++)
		status = take_lock(s, qs[i], s->info[i].name, err);
	for (size_t i = 0; i < s->count; i++)
		holders[i] = &s->info[i].holder;
	deadline = lsh_after(lsh_now_ns(), s->backend->options.timeout);
	return status == LEASH_OK ? lsh_identify(s->backend, &s->known, holders, s->count, deadline, err) : status;
}

static leash_status
next_batch(struct lsh_scan *s, leash_error *err)
{
	struct lsh_query *qs[LSH_QUERIES] = {NULL};
	leash_status status = LEASH_OK;
	leash_error why = {0};
	size_t count = 0;

	s->count = s->next = 0;
	if (s->next_key == lsh_answer_count(s->keys))
		status = turn_page(s, &why);
	if (status == LEASH_OK)
		status = fill_batch(s, qs, &count, &why);
	status = status == LEASH_OK ? inspect_batch(s, qs, count, err) : give_up(s, s->at, &why, err);
	for (size_t i = 0; i < count; i++)
		lsh_query_drop(qs[i]);
	return status;
}

leash_status
lsh_scan_next(struct lsh_scan *s, const leash_lock_info **info, leash_error *err)
{
	leash_status status = LEASH_OK;
	bool found = true;

	*info = NULL;
	while (s->next == s->count && found && status == LEASH_OK)
		if (s->over && s->next_key == lsh_answer_count(s->keys)) {
			disconnect(s);
			s->at++;
			status = begin(s, &found, err);
		} else {
			status = next_batch(s, err);
		}
	if (status == LEASH_OK && found)
		*info = &s->info[s->next++];
	return status;
}
