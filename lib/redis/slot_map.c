#include "redis/slot_map.h"

#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct lsh_slot_map {
	const struct lsh_uri *uri;

	/* written with the mutex held, read without */
	_Atomic uint64_t version;
	_Atomic int16_t at[LSH_SLOTS];
	_Atomic size_t server_count;
	struct lsh_uri *_Atomic server[LSH_SERVERS]; /* NULL: the number is free */
	atomic_uint users[LSH_SERVERS]; /* from 0 on, only with the mutex held */

	pthread_mutex_t mutex;         /* guards the above against other writers, and */
	int64_t learned_at[LSH_SLOTS]; /* when it was last taken from one server and given to another; 0: never */
	unsigned slots[LSH_SERVERS];   /* that it has */
	bool surveyed[LSH_SERVERS];    /* the last survey says that it has some */
	bool retiring[LSH_SERVERS];
	int64_t idle_since[LSH_SERVERS]; /* as far as it was looked at; 0: it is not idle */
};

int
lsh_slot_map_at(const struct lsh_slot_map *m, unsigned slot)
{
	return atomic_load_explicit(&m->at[slot], memory_order_acquire);
}

uint64_t
lsh_slot_map_version(const struct lsh_slot_map *m)
{
	return atomic_load_explicit(&m->version, memory_order_acquire);
}

size_t
lsh_slot_map_servers(const struct lsh_slot_map *m)
{
	return atomic_load_explicit(&m->server_count, memory_order_acquire);
}

const struct lsh_uri *
lsh_slot_map_server(const struct lsh_slot_map *m, int number)
{
	return atomic_load_explicit(&m->server[number], memory_order_acquire);
}

/* ---- servers ---- */

/* m->mutex held */
static bool
is_there(const struct lsh_slot_map *m, int number)
{
	return m->server[number] != NULL && !m->retiring[number];
}

/* m->mutex held */
static int
find(const struct lsh_slot_map *m, const char *host, uint16_t port)
{
	int count = (int)lsh_slot_map_servers(m);

	for (int i = 0; i < count; i++) {
		const struct lsh_uri *uri = lsh_slot_map_server(m, i);

		if (is_there(m, i) && uri->port == port && strcasecmp(uri->host, host) == 0)
			return i;
	}
	return LSH_NO_SERVER;
}

static void
free_uri(struct lsh_uri *uri)
{
	if (uri != NULL)
		lsh_uri_clear(uri);
	lsh_free(uri);
}

static struct lsh_uri *
make_uri(const struct lsh_slot_map *m, const char *host, uint16_t port)
{
	struct lsh_uri *uri = lsh_new(struct lsh_uri);

	if (uri != NULL && lsh_uri_of_server(uri, m->uri, host, port))
		return uri;
	lsh_free(uri);
	return NULL;
}

/* m->mutex held. A number for one more server, or LSH_NO_SERVER. */
static int
find_free(const struct lsh_slot_map *m, bool surveyed)
{
	unsigned strangers = 0;
	int number = 0;

	for (int i = 0; i < LSH_SERVERS; i++)
		strangers += m->server[i] != NULL && !m->surveyed[i];
	if (!surveyed && strangers >= LSH_STRANGERS)
		return LSH_NO_SERVER;
	while (number < LSH_SERVERS && m->server[number] != NULL)
		number++;
	return number < LSH_SERVERS ? number : LSH_NO_SERVER;
}

/* The same; in use. */
static int
find_and_use(struct lsh_slot_map *m, const char *host, uint16_t port)
{
	int number = find(m, host, port);

	if (number != LSH_NO_SERVER)
		atomic_fetch_add(&m->users[number], 1);
	return number;
}

int
lsh_slot_map_number(struct lsh_slot_map *m, const char *host, uint16_t port, bool surveyed)
{
	struct lsh_uri *uri;
	int number;

	pthread_mutex_lock(&m->mutex);
	number = find_and_use(m, host, port);
	pthread_mutex_unlock(&m->mutex);
	if (number != LSH_NO_SERVER)
		return number;
	uri = make_uri(m, host, port); /* not with the mutex held: a password is copied to memory that is locked first */
	if (uri == NULL)
		return LSH_NO_SERVER;
	pthread_mutex_lock(&m->mutex);
	number = find_and_use(m, host, port); /* another thread may have been faster */
	if (number == LSH_NO_SERVER && (number = find_free(m, surveyed)) != LSH_NO_SERVER) {
		atomic_fetch_add(&m->users[number], 1);
		m->idle_since[number] = 0;
		m->surveyed[number] = surveyed;
		atomic_store_explicit(&m->server[number], uri, memory_order_release);
		if (m->server_count <= (size_t)number)
			atomic_store_explicit(&m->server_count, (size_t)number + 1, memory_order_release);
		uri = NULL;
	}
	pthread_mutex_unlock(&m->mutex);
	free_uri(uri);
	return number;
}

int
lsh_slot_map_use_at(struct lsh_slot_map *m, unsigned slot)
{
	int number;

	pthread_mutex_lock(&m->mutex);
	number = m->at[slot];
	if (number != LSH_NO_SERVER)
		atomic_fetch_add(&m->users[number], 1);
	pthread_mutex_unlock(&m->mutex);
	return number;
}

bool
lsh_slot_map_use_number(struct lsh_slot_map *m, int number)
{
	bool there;

	pthread_mutex_lock(&m->mutex);
	there = is_there(m, number);
	if (there)
		atomic_fetch_add(&m->users[number], 1);
	pthread_mutex_unlock(&m->mutex);
	return there;
}

void
lsh_slot_map_use(struct lsh_slot_map *m, int number)
{
	atomic_fetch_add(&m->users[number], 1);
}

void
lsh_slot_map_leave(struct lsh_slot_map *m, int number)
{
	atomic_fetch_sub(&m->users[number], 1);
}

/* m->mutex held. For how long it has had no slot and no use, as far as it was looked at; -1: it has. */
static int64_t
idle_for(struct lsh_slot_map *m, int number, int64_t now)
{
	if (m->slots[number] > 0 || m->users[number] > 0) {
		m->idle_since[number] = 0;
		return -1;
	}
	if (m->idle_since[number] == 0)
		m->idle_since[number] = now;
	return now - m->idle_since[number];
}

int
lsh_slot_map_retire(struct lsh_slot_map *m, int64_t now, int64_t idle, bool *some)
{
	int found = LSH_NO_SERVER;
	unsigned there = 0;

	*some = false;
	pthread_mutex_lock(&m->mutex);
	for (int i = 0; i < LSH_SERVERS; i++) {
		if (!is_there(m, i))
			continue;
		there++;
		*some |= m->slots[i] == 0;
		if (idle_for(m, i, now) >= idle && found == LSH_NO_SERVER)
			found = i;
	}
	if (there < 2)
		found = LSH_NO_SERVER;
	if (found != LSH_NO_SERVER)
		m->retiring[found] = true;
	pthread_mutex_unlock(&m->mutex);
	return found;
}

void
lsh_slot_map_let_go(struct lsh_slot_map *m, int number)
{
	struct lsh_uri *uri;

	pthread_mutex_lock(&m->mutex);
	uri = atomic_exchange(&m->server[number], NULL);
	m->retiring[number] = m->surveyed[number] = false;
	pthread_mutex_unlock(&m->mutex);
	free_uri(uri);
}

/* ---- slots ---- */

/* m->mutex held. Who finds the number finds its server, too. The version is told afterwards: who reads it before the slots finds nothing
 * older than that. */
static void
set(struct lsh_slot_map *m, unsigned slot, int number)
{
	int from = m->at[slot];

	if (from != LSH_NO_SERVER)
		m->slots[from]--;
	if (number != LSH_NO_SERVER)
		m->slots[number]++;
	atomic_store_explicit(&m->at[slot], (int16_t)number, memory_order_release);
}

static void
tell_version(struct lsh_slot_map *m)
{
	atomic_fetch_add_explicit(&m->version, 1, memory_order_release);
}

bool
lsh_slot_map_move(struct lsh_slot_map *m, unsigned slot, int number)
{
	int64_t now = lsh_now_ns();
	bool news;

	pthread_mutex_lock(&m->mutex);
	news = m->at[slot] != number;
	m->learned_at[slot] = now != LSH_NEVER ? now : 0;
	if (news) {
		set(m, slot, number);
		tell_version(m);
	}
	pthread_mutex_unlock(&m->mutex);
	return news;
}

unsigned
lsh_slot_map_take(struct lsh_slot_map *m, const struct lsh_survey *s, const int number[static LSH_SURVEYED], int64_t begun, bool higher,
                  int64_t stands, bool *held_back)
{
	unsigned served = 0;
	bool changed = false;

	pthread_mutex_lock(&m->mutex);
	memset(m->surveyed, 0, sizeof m->surveyed);
	for (unsigned i = 0; i < s->count; i++)
		if (number[i] >= 0)
			m->surveyed[number[i]] = true;
	for (unsigned slot = 0; slot < LSH_SLOTS; slot++) {
		int from = m->at[slot], to = s->at[slot] >= 0 ? number[s->at[slot]] : s->at[slot];
		int64_t learned_at = m->learned_at[slot];

		if (to == LSH_NOT_SAID || to == from) {
			served += from != LSH_NO_SERVER;
		} else if (learned_at != 0 && begun < (higher ? learned_at : lsh_after(learned_at, stands))) {
			*held_back = true;
			served += from != LSH_NO_SERVER;
		} else {
			set(m, slot, to);
			if (from != LSH_NO_SERVER)
				m->learned_at[slot] = begun;
			changed = true;
			served += to != LSH_NO_SERVER;
		}
	}
	if (changed)
		tell_version(m);
	pthread_mutex_unlock(&m->mutex);
	return served;
}

/* ---- life ---- */

struct lsh_slot_map *
lsh_slot_map_new(const struct lsh_uri *uri)
{
	struct lsh_slot_map *m = lsh_new(struct lsh_slot_map);

	if (m == NULL)
		return NULL;
	m->uri = uri;
	pthread_mutex_init(&m->mutex, NULL);
	for (unsigned slot = 0; slot < LSH_SLOTS; slot++)
		atomic_init(&m->at[slot], LSH_NO_SERVER);
	return m;
}

void
lsh_slot_map_free(struct lsh_slot_map *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->server_count; i++)
		free_uri(m->server[i]);
	pthread_mutex_destroy(&m->mutex);
	lsh_free(m);
}
