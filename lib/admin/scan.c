/* Scanning. The server goes through its keys in small steps (SCAN), and names those that look like locks; of these the ones whose names fit
 * are inspected, a window at a time; then it is found out who their holders are, a window at a time.
 *
 *   page of keys --fit the pattern--> window --inspected, and still held--> found --visited--> gone
 *
 * On a quorum, what one server has is what the others are asked about (poll.h).
 *
 * There is one page and one window at a time, so it needs the same memory for any number of locks. What is not a lock of ours, or not
 * any more, is passed over. */
#include "admin/scan.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "admin/poll.h"
#include "lease/host.h"

#include <errno.h>
#include <fnmatch.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

enum {
	COUNT = 200,   /* keys that the server looks at in one step, which lasts less than a millisecond */
	/* A scan ends, but whoever says that he is a server may say that it goes on for ever. A step that finds nothing looks at 10 times as
	 * many places, and a table has seldom more than 16 for each key. */
	STEPS = 1 << 16,
	PLACES = 16,
};

#define STEPS_MOST (UINT64_C(1) << 28) /* for the largest table */

struct lsh_scan {
	struct lsh_admin admin;
	locale_t bytes;              /* the C locale, where a character is a byte */
	bool matches;                /* there is a pattern */
	char pattern[LSH_PATTERN_MAX + 1];
	char prefix[80], match[84];  /* of keys; and what SCAN is to look for */
	char cursor[LSH_DECIMAL_DIGITS + 1];
	bool over;                   /* there is no further page */
	size_t site;                 /* which is asked; in a cluster and a quorum there are others behind it */
	struct lsh_poll *poll;       /* of a quorum; else NULL */
	uint64_t steps, steps_most;

	struct redisReply *page;
	const struct redisReply *keys; /* in it */
	size_t next_key;

	struct lsh_window window;
	size_t next;                 /* in it: to be told of */
};

/* ---- life ---- */

/* The next server that has slots, or of a quorum one that is to be gone through; in use. NULL: there is none. */
static struct lsh_server *
find_server(struct lsh_scan *scan, struct lsh_router *router)
{
	for (; scan->site < lsh_router_count(router); scan->site++) {
		struct lsh_server *server = lsh_router_get(router, scan->site);

		if (server != NULL && (!lsh_router_is_cluster(router) || atomic_load(&server->serves)) &&
		    (scan->poll == NULL || lsh_poll_wants(scan->poll, scan->site)))
			return server;
		lsh_server_leave(server);
	}
	return NULL;
}

/* What the server said, or did not say, ends the scan; or, of a quorum, it is given up, and there is no page any more. */
static leash_status
failed(struct lsh_scan *scan, const leash_error *why, leash_error *err)
{
	if (scan->poll == NULL)
		return lsh_fail(err, why->status, why->sys_errno, "%s", why->text);
	lsh_answer_free(scan->page);
	scan->page = NULL;
	scan->keys = NULL;
	scan->next_key = 0;
	scan->window.count = scan->next = 0;
	scan->over = true;
	return lsh_poll_give_up(scan->poll, scan->site, why, err);
}

/* Begin with the next server, `site` or one behind it. `*found`: there is one. */
static leash_status
begin(struct lsh_scan *scan, struct lsh_engine *e, bool *found, leash_error *err)
{
	leash_status status = LEASH_OK;
	struct lsh_server *server;
	leash_error why = {0};

	for (; status == LEASH_OK && (server = find_server(scan, lsh_engine_backend(e)->router)) != NULL; scan->site++) {
		strcpy(scan->cursor, "0");
		scan->over = false;
		scan->steps = 0;
		scan->steps_most = STEPS;
		status = lsh_admin_open(&scan->admin, e, lsh_host_of(server), NULL, &why);
		lsh_server_leave(server);
		if (status == LEASH_OK)
			break;
		lsh_admin_close(&scan->admin);
		status = failed(scan, &why, err);
	}
	*found = server != NULL;
	return status;
}

leash_status
lsh_scan_open(struct lsh_scan **out, struct lsh_engine *e, const char *pattern, leash_error *err)
{
	struct lsh_scan *scan = lsh_new(struct lsh_scan);
	struct lsh_backend *b = lsh_engine_backend(e);
	leash_status status;
	bool found;

	if (scan == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a scan");
	scan->matches = pattern != NULL;
	if (pattern != NULL)
		memcpy(scan->pattern, pattern, strlen(pattern) + 1);
	snprintf(scan->prefix, sizeof scan->prefix, "%s:{", b->options.prefix);
	snprintf(scan->match, sizeof scan->match, "%s*}", scan->prefix); /* in a prefix there is nothing that a pattern has a meaning for */
	scan->bytes = newlocale(LC_ALL_MASK, "C", NULL);
	if (!b->strategy->has_queue)
		scan->poll = lsh_poll_new(e);
	if (scan->bytes == NULL || (!b->strategy->has_queue && scan->poll == NULL))
		status = lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a scan");
	else if ((status = begin(scan, e, &found, err)) == LEASH_OK && !found)
		status = lsh_router_trouble(b->router, 0, err);
	if (status != LEASH_OK)
		lsh_scan_close(scan);
	else
		*out = scan;
	return status;
}

void
lsh_scan_close(struct lsh_scan *scan)
{
	if (scan == NULL)
		return;
	lsh_admin_close(&scan->admin);
	lsh_answer_free(scan->page);
	lsh_poll_free(scan->poll);
	if (scan->bytes != NULL)
		freelocale(scan->bytes);
	lsh_free(scan);
}

/* ---- pages ---- */

/* It has been a long way: is it as long as the server's data? */
static leash_status
check_way(struct lsh_scan *scan, leash_error *err)
{
	struct lsh_arg dbsize = LSH_ARG("DBSIZE");
	const struct redisReply *answer;
	struct lsh_item item;
	leash_status status;

	if (scan->steps < scan->steps_most)
		return LEASH_OK;
	status = lsh_admin_say(&scan->admin, &dbsize, 1, err);
	if (status == LEASH_OK)
		status = lsh_admin_hear(&scan->admin, &answer, err);
	if (status != LEASH_OK)
		return status;
	item = lsh_answer_item(answer);
	scan->steps_most = STEPS_MOST;
	if (item.type == LSH_INTEGER && item.integer >= 0 && (uint64_t)item.integer < STEPS_MOST / PLACES * COUNT)
		scan->steps_most = STEPS + (uint64_t)item.integer / COUNT * PLACES;
	if (scan->steps >= scan->steps_most)
		return lsh_admin_nonsense(&scan->admin, "SCAN goes on for ever", err);
	return LEASH_OK;
}

static leash_status
take_page(struct lsh_scan *scan, leash_error *err)
{
	const struct redisReply *keys = lsh_answer_at(scan->page, 1);
	struct lsh_item all = lsh_answer_item(scan->page), cursor = lsh_answer_item(lsh_answer_at(scan->page, 0));
	uint64_t number;

	if (all.type == LSH_ERROR)
		return lsh_admin_refused(&scan->admin, "SCAN", NULL, all.text, err);
	if (lsh_answer_count(scan->page) != 2 || lsh_answer_item(keys).type != LSH_ARRAY || cursor.type != LSH_STRING ||
	    !lsh_decimal_read(cursor.text, cursor.length, &number))
		return lsh_admin_nonsense(&scan->admin, "SCAN", err);
	scan->over = number == 0;
	if (!scan->over && strcmp(scan->cursor, cursor.text) == 0)
		return lsh_admin_nonsense(&scan->admin, "SCAN goes on for ever", err);
	strcpy(scan->cursor, cursor.text);
	scan->keys = keys;
	scan->next_key = 0;
	return LEASH_OK;
}

static leash_status
turn_page(struct lsh_scan *scan, leash_error *err)
{
	struct lsh_arg args[] = {
		LSH_ARG("SCAN"), lsh_arg_text(scan->cursor), LSH_ARG("MATCH"), lsh_arg_text(scan->match),
		LSH_ARG("COUNT"), LSH_ARG("200"), LSH_ARG("TYPE"), LSH_ARG("hash"),
	};
	const struct redisReply *answer;
	leash_status status = check_way(scan, err);

	lsh_answer_free(scan->page);
	scan->page = NULL;
	scan->keys = NULL;
	scan->steps++;
	if (status == LEASH_OK)
		status = lsh_admin_say(&scan->admin, args, sizeof args / sizeof *args, err);
	if (status == LEASH_OK)
		status = lsh_admin_hear(&scan->admin, &answer, err);
	if (status != LEASH_OK)
		return status;
	scan->page = lsh_talk_take(scan->admin.talk);
	return take_page(scan, err);
}

/* ---- windows ---- */

static bool
fits(const struct lsh_scan *scan, const char *name)
{
	locale_t before;
	bool fit;

	if (!scan->matches)
		return true;
	before = uselocale(scan->bytes);
	fit = fnmatch(scan->pattern, name, 0) == 0;
	uselocale(before);
	return fit;
}

/* Is it the key of a lock with a name that fits? Writes that to `name`. */
static bool
is_wanted(const struct lsh_scan *scan, const struct lsh_item *key, char name[static LEASH_NAME_MAX + 8])
{
	size_t head = strlen(scan->prefix), length;
	char decoded[3 * LEASH_NAME_MAX];

	if (key->length <= head + 1 || key->length - head - 1 > sizeof decoded || memcmp(key->text, scan->prefix, head) != 0 ||
	    key->text[key->length - 1] != '}' || !lsh_key_decode(decoded, &length, key->text + head, key->length - head - 1) || length > LEASH_NAME_MAX)
		return false;
	memcpy(name, decoded, length);
	name[length] = '\0';
	return fits(scan, name);
}

/* Put into the window, which is empty, as many of the page's keys as have room. */
static leash_status
fill_window(struct lsh_scan *scan, leash_error *err)
{
	struct lsh_window *w = &scan->window;

	w->count = scan->next = 0;
	for (; scan->next_key < lsh_answer_count(scan->keys) && w->count < LSH_ADMIN_WINDOW; scan->next_key++) {
		struct lsh_item key = lsh_answer_item(lsh_answer_at(scan->keys, scan->next_key));
		leash_lock_info *info = &w->info[w->count];

		if (key.type != LSH_STRING)
			return lsh_admin_nonsense(&scan->admin, "SCAN", err);
		if (!is_wanted(scan, &key, info->name))
			continue;
		info->size = sizeof *info;
		info->held = false;
		w->key[w->count] = key;
		w->count++;
	}
	return LEASH_OK;
}

/* Keep those that are held, and see who holds them. */
static leash_status
identify(struct lsh_scan *scan, leash_error *err)
{
	struct lsh_window *w = &scan->window;
	leash_party *holders[LSH_ADMIN_WINDOW];
	size_t held = 0;

	for (size_t i = 0; i < w->count; i++) {
		if (!w->info[i].held)
			continue;
		if (held != i)
			w->info[held] = w->info[i];
		holders[held] = &w->info[held].holder;
		held++;
	}
	w->count = held;
	return lsh_admin_who(&scan->admin, holders, held, err);
}

/* `*ours`: what went wrong is not this server's fault. */
static leash_status
next_window(struct lsh_scan *scan, bool *ours, leash_error *err)
{
	leash_status status = LEASH_OK;

	*ours = false;
	if (scan->next_key == lsh_answer_count(scan->keys))
		status = turn_page(scan, err);
	if (status == LEASH_OK)
		status = fill_window(scan, err);
	if (status == LEASH_OK)
		status = lsh_window_inspect(&scan->window, &scan->admin, scan->window.info, err);
	if (status == LEASH_OK && scan->poll != NULL) {
		status = lsh_poll_count(scan->poll, scan->site, &scan->window, err);
		*ours = status != LEASH_OK;
	}
	return status == LEASH_OK ? identify(scan, err) : status;
}

leash_status
lsh_scan_next(struct lsh_scan *scan, const leash_lock_info **info, leash_error *err)
{
	struct lsh_engine *e = scan->admin.engine;
	leash_status status = LEASH_OK;

	while (scan->next == scan->window.count && status == LEASH_OK) {
		leash_error why = {0};
		bool found, ours;

		if (scan->next_key == lsh_answer_count(scan->keys) && scan->over) {
			scan->site++;
			lsh_admin_close(&scan->admin);
			status = begin(scan, e, &found, err);
			if (status == LEASH_OK && !found) {
				*info = NULL;
				return LEASH_OK;
			}
			continue;
		}
		status = next_window(scan, &ours, &why);
		if (status != LEASH_OK)
			status = ours ? lsh_fail(err, status, why.sys_errno, "%s", why.text) : failed(scan, &why, err);
	}
	if (status == LEASH_OK)
		*info = &scan->window.info[scan->next++];
	return status;
}
