/* CLUSTER SLOTS answers an array of ranges, each an array of its first slot, its last slot, its master and its
 * replicas; each of these an array of host, port and, all but always, id, and with Redis 7 of further names for the
 * host, which need not concern us: the first is the one that the administrator wants to be used. It may be "" or nil
 * (the one that we used to ask) or "?" (there is none).
 *
 * It is believed in full or not at all: a node that says one impossible thing is not one to learn from. */
#include "redis/slots.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/mutex.h"
#include "base/text.h"
#include "redis/handshake.h"

#include <string.h>

#define IDLE (5 * LSH_S) /* a server without a slot, or anybody who uses it, until it is given up */

/* ---- what a node says ---- */

static bool
read_number(const struct redisReply *reply, int64_t most, int64_t *n)
{
	struct lsh_item item = lsh_answer_item(reply);

	*n = item.integer;
	return item.type == LSH_INTEGER && *n >= 0 && *n <= most;
}

bool
lsh_range_read(const struct redisReply *slots, size_t i, unsigned *first, unsigned *last)
{
	const struct redisReply *range = lsh_answer_at(slots, i);
	int64_t from, to;

	if (!read_number(lsh_answer_at(range, 0), LSH_SLOTS - 1, &from) ||
	    !read_number(lsh_answer_at(range, 1), LSH_SLOTS - 1, &to) || from > to)
		return false;
	*first = (unsigned)from;
	*last = (unsigned)to;
	return true;
}

bool
lsh_range_node(const struct redisReply *slots, size_t i, size_t n, const char *asked, struct lsh_slot_node *node)
{
	const struct redisReply *reply = lsh_answer_at(lsh_answer_at(slots, i), 2 + n);
	struct lsh_item host = lsh_answer_item(lsh_answer_at(reply, 0)), id = lsh_answer_item(lsh_answer_at(reply, 2));
	bool nowhere = strcmp(host.text, "?") == 0;
	int64_t port;

	if (!read_number(lsh_answer_at(reply, 1), UINT16_MAX, &port) || (host.type != LSH_NIL && host.type != LSH_STRING))
		return false;
	if (host.length > 0 && !nowhere && !lsh_is_host(host.text, host.length))
		return false;
	node->host = nowhere || port == 0 ? NULL : host.length > 0 ? host.text : asked;
	node->port = (uint16_t)port;
	node->id = id.length == LSH_NODE_ID ? id.text : "";
	return true;
}

const char *
lsh_slots_fault(const struct redisReply *slots, const char *asked, unsigned *served)
{
	bool had[LSH_SLOTS] = {false};
	struct lsh_slot_node node;
	unsigned first, last;

	*served = 0;
	if (lsh_answer_item(slots).type != LSH_ARRAY)
		return "not an array";
	for (size_t i = 0; i < lsh_answer_count(slots); i++) {
		size_t nodes = lsh_answer_count(lsh_answer_at(slots, i)) - 2;

		if (!lsh_range_read(slots, i, &first, &last))
			return "an invalid range of slots";
		for (size_t n = 0; n < nodes; n++)
			if (!lsh_range_node(slots, i, n, asked, &node))
				return n == 0 ? "an invalid master" : "an invalid replica";
		for (unsigned slot = first; slot <= last; slot++, *served += nodes > 0) {
			if (had[slot]) /* also of a range that nobody has: what is used is left by the first slot of a range */
				return "a slot that is named twice";
			had[slot] = true;
		}
	}
	return NULL;
}

uint64_t
lsh_rank_read(const struct redisReply *info)
{
	const char *text = lsh_answer_item(info).text, *value;
	uint64_t epoch = 0;
	bool healthy;
	size_t size;

	value = lsh_info_find(text, "cluster_state", &size);
	healthy = value == NULL || (size == 2 && memcmp(value, "ok", 2) == 0);
	value = lsh_info_find(text, "cluster_current_epoch", &size);
	if (value != NULL)
		lsh_decimal_read(value, size, &epoch);
	return (uint64_t)healthy << 63 | (epoch & INT64_MAX);
}

bool
lsh_redirection_read(const char *text, const char *verb, const char *said_by, unsigned *slot,
                     struct lsh_whereabouts *to)
{
	const char *number = strchr(text, ' '), *place = number != NULL ? strchr(++number, ' ') : NULL, *colon;
	size_t size;
	uint64_t n;

	if (place == NULL || !lsh_starts_with_word(text, verb))
		return false;
	colon = strrchr(++place, ':'); /* an IPv6 address has some of its own */
	if (colon == NULL || !lsh_decimal_read(number, (size_t)(place - 1 - number), &n) || n >= LSH_SLOTS)
		return false;
	*slot = (unsigned)n;
	size = (size_t)(colon - place);
	return lsh_whereabouts_read(to, size > 0 ? place : said_by, size > 0 ? size : strlen(said_by), colon + 1,
	                            strlen(colon + 1));
}

/* ---- what is believed ---- */

int
lsh_cluster_at(const struct lsh_cluster *c, unsigned slot)
{
	return atomic_load_explicit(&c->at[slot], memory_order_acquire);
}

uint64_t
lsh_cluster_version(const struct lsh_cluster *c)
{
	return atomic_load_explicit(&c->version, memory_order_acquire);
}

const struct lsh_uri *
lsh_cluster_server(const struct lsh_cluster *c, int number)
{
	return atomic_load_explicit(&c->server[number].uri, memory_order_acquire);
}

bool
lsh_cluster_serves(const struct lsh_cluster *c, int number)
{
	return atomic_load(&c->server[number].slots) > 0;
}

/* ---- servers ---- */

static bool
is_there(const struct lsh_slot_server *server) /* the mutex held */
{
	return server->uri != NULL && !server->retiring;
}

static void
free_uri(struct lsh_uri *uri)
{
	if (uri != NULL)
		lsh_uri_clear(uri);
	lsh_free(uri);
}

/* c->mutex held */
static int
find(const struct lsh_cluster *c, const char *host, uint16_t port)
{
	for (int i = 0; i < LSH_SERVERS; i++) {
		const struct lsh_uri *uri = lsh_cluster_server(c, i);

		if (is_there(&c->server[i]) && uri->port == port && lsh_is_same_host(uri->host, host))
			return i;
	}
	return LSH_NO_SERVER;
}

/* c->mutex held. Give the server a number, if there is one. */
static int
add_server(struct lsh_cluster *c, const char *host, uint16_t port, bool surveyed)
{
	int number = LSH_NO_SERVER;
	unsigned strangers = 0;
	struct lsh_uri *uri;

	for (int i = LSH_SERVERS; i-- > 0;) {
		strangers += c->server[i].uri != NULL && !c->server[i].surveyed;
		if (c->server[i].uri == NULL)
			number = i;
	}
	if (number == LSH_NO_SERVER || (!surveyed && strangers >= LSH_STRANGERS))
		return LSH_NO_SERVER;
	uri = lsh_new(struct lsh_uri);
	if (uri == NULL || !lsh_uri_of_server(uri, c->uri, host, port)) {
		lsh_free(uri);
		return LSH_NO_SERVER;
	}
	c->server[number].idle_since = 0;
	c->server[number].surveyed = surveyed;
	atomic_store_explicit(&c->server[number].uri, uri, memory_order_release);
	return number;
}

int
lsh_slots_number(struct lsh_cluster *c, const char *host, uint16_t port, bool surveyed)
{
	int number;

	lsh_locked(&c->mutex);
	number = find(c, host, port);
	if (number == LSH_NO_SERVER)
		number = add_server(c, host, port, surveyed);
	if (number != LSH_NO_SERVER)
		atomic_fetch_add(&c->server[number].users, 1);
	return number;
}

bool
lsh_cluster_use_number(struct lsh_cluster *c, int number)
{
	lsh_locked(&c->mutex);
	if (!is_there(&c->server[number]))
		return false;
	lsh_cluster_use(c, number);
	return true;
}

void
lsh_cluster_use(struct lsh_cluster *c, int number)
{
	atomic_fetch_add(&c->server[number].users, 1);
}

void
lsh_cluster_leave(struct lsh_cluster *c, int number)
{
	atomic_fetch_sub(&c->server[number].users, 1);
}

/* A number that nobody finds from now on, to be given up. `*some`: there may be one later. */
static int
retire(struct lsh_cluster *c, bool *some)
{
	int64_t now = lsh_now_ns();
	int found = LSH_NO_SERVER;
	unsigned there = 0;

	*some = false;
	lsh_locked(&c->mutex);
	for (int i = 0; i < LSH_SERVERS; i++) {
		struct lsh_slot_server *server = &c->server[i];

		if (!is_there(server))
			continue;
		there++;
		*some |= server->slots == 0;
		if (server->slots > 0 || server->users > 0)
			server->idle_since = 0;
		else if (server->idle_since == 0)
			server->idle_since = now;
		else if (now - server->idle_since >= IDLE && found == LSH_NO_SERVER)
			found = i;
	}
	if (there < 2)
		found = LSH_NO_SERVER;
	if (found != LSH_NO_SERVER)
		c->server[found].retiring = true;
	return found;
}

bool
lsh_slots_give_up(struct lsh_cluster *c, void (*given_up)(void *ctx, int number), void *ctx)
{
	bool some;
	int number;

	while ((number = retire(c, &some)) != LSH_NO_SERVER) {
		struct lsh_slot_server *server = &c->server[number];
		struct lsh_uri *uri;

		given_up(ctx, number);
		pthread_mutex_lock(&c->mutex);
		uri = atomic_exchange(&server->uri, NULL);
		server->retiring = server->surveyed = false;
		pthread_mutex_unlock(&c->mutex);
		free_uri(uri);
	}
	return some;
}

/* ---- slots ---- */

/* c->mutex held. Who finds the number finds its server, too. The version is told afterwards: who reads it before the
 * slots finds nothing older than that. */
static void
set(struct lsh_cluster *c, unsigned slot, int number)
{
	int from = c->at[slot];

	if (from != LSH_NO_SERVER)
		c->server[from].slots--;
	if (number != LSH_NO_SERVER)
		c->server[number].slots++;
	atomic_store_explicit(&c->at[slot], (int16_t)number, memory_order_release);
}

bool
lsh_slots_move(struct lsh_cluster *c, unsigned slot, int number)
{
	int64_t now = lsh_now_ns();

	lsh_locked(&c->mutex);
	c->learned_at[slot] = now != LSH_NEVER ? now : 0;
	if (c->at[slot] == number)
		return false;
	set(c, slot, number);
	atomic_fetch_add_explicit(&c->version, 1, memory_order_release);
	return true;
}

unsigned
lsh_slots_take(struct lsh_cluster *c, const int16_t at[static LSH_SLOTS], int64_t begun, bool higher, bool *held_back)
{
	unsigned served = 0;
	bool changed = false;

	lsh_locked(&c->mutex);
	for (int i = 0; i < LSH_SERVERS; i++)
		c->server[i].surveyed = false;
	for (unsigned slot = 0; slot < LSH_SLOTS; slot++) {
		int from = c->at[slot], to = at[slot];
		int64_t learned_at = c->learned_at[slot];
		int64_t counts_at = higher ? learned_at : lsh_after(learned_at, LSH_SLOT_STANDS);
		bool news = to != LSH_NOT_SAID && to != from;

		if (to >= 0)
			c->server[to].surveyed = true;
		if (news && learned_at != 0 && begun < counts_at) {
			*held_back = true;
		} else if (news) {
			set(c, slot, to);
			if (from != LSH_NO_SERVER)
				c->learned_at[slot] = begun;
			changed = true;
		}
		served += c->at[slot] != LSH_NO_SERVER;
	}
	if (changed)
		atomic_fetch_add_explicit(&c->version, 1, memory_order_release);
	return served;
}

/* ---- life ---- */

void
lsh_slots_open(struct lsh_cluster *c, const struct lsh_uri *uri)
{
	c->uri = uri;
	pthread_mutex_init(&c->mutex, NULL);
	for (unsigned slot = 0; slot < LSH_SLOTS; slot++)
		atomic_init(&c->at[slot], LSH_NO_SERVER);
}

void
lsh_slots_close(struct lsh_cluster *c)
{
	for (int i = 0; i < LSH_SERVERS; i++)
		free_uri(c->server[i].uri);
	pthread_mutex_destroy(&c->mutex);
}
