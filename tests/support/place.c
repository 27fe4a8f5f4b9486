#include "tests/support/place.h"

#include "tests/support/cluster.h"
#include "tests/support/counted.h"
#include "tests/support/least.h"
#include "tests/support/quorum.h"
#include "tests/support/sentinel_set.h"

struct deployment *place;
const bool place_plain = false, place_fair = true;

/* ---- what is not for everywhere ---- */

static const struct {
	enum place_reason reason;
	unsigned where; /* bits of enum deployment_kind */
	const char *text;
} reasons[] = {
	{PLACE_NO_QUEUE, 1U << DEPLOYMENT_QUORUM, "there is no queue"},
	{PLACE_MANY_SERVERS, 1U << DEPLOYMENT_CLUSTER | 1U << DEPLOYMENT_QUORUM, "one server is not the whole of it"},
	{PLACE_MAJORITY, 1U << DEPLOYMENT_QUORUM, "at each server alone it may come later"},
	{PLACE_ONE_SOCKET, ~(1U << DEPLOYMENT_SINGLE), "it is about one server on a unix socket"},
	{PLACE_SHORT_LEASE, 1U << DEPLOYMENT_QUORUM, "the default lease is longer than its guard"},
};

const char *
place_excuse(unsigned but)
{
	if ((but & PLACE_RIGHTS) != 0 && least_is_wanted())
		return "it needs rights that the least user does not have";
	for (size_t i = 0; i < COUNT(reasons); i++)
		if ((but & (unsigned)reasons[i].reason) != 0 && (reasons[i].where & 1U << deployment_chosen()) != 0)
			return reasons[i].text;
	return NULL;
}

/* ---- its life ---- */

void
place_open(void)
{
	enum deployment_kind kind = deployment_chosen();
	struct words args = { .count = 0 };

	if (least_is_wanted())
		words_add(&args, LEAST_FILE);
	place = deployment_start_with(kind, (const char *const *)args.at);
	words_free(&args);
}

void
place_open_counted(void)
{
	place_open();
	counted_start();
}

void
place_close(void)
{
	deployment_stop(place);
	place = NULL;
}

const char *
place_name(void)
{
	return deployment_name(deployment_chosen());
}

/* ---- what is in it ---- */

int64_t
place_lease_ms(int64_t ms)
{
	return deployment_quorum(place) && (ms == 0 || ms > DEPLOYMENT_GUARD_MS) ? DEPLOYMENT_GUARD_MS : ms;
}

static bool
is_connected(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	return leash_client_stats(client, &stats, NULL) == LEASH_OK && stats.connected;
}

leash_client *
place_client(const leash_options *options)
{
	leash_options in_it = options ? *options : *LEASH_OPTIONS();

	in_it.lease_ms = place_lease_ms(in_it.lease_ms);
	leash_client *client = leashed_open(place_uri(), &in_it);
	if (place_is(PLACE_MAJORITY))
		await_true(is_connected(client));
	return client;
}

const char *
place_user(void)
{
	return least_is_wanted() ? LEAST_USER : "default";
}

struct server *
place_at(const char *lock)
{
	char key[2048]; /* of a name whose bytes are all escaped */

	snprintf(key, sizeof key, "leash:{%s}", lock);
	return deployment_at(place, key);
}

void
place_await_waiting(const char *lock, int64_t n)
{
	if (!place_is(PLACE_NO_QUEUE))
		await_true(place_integer(lock, "ZCOUNT leash:{%s}:queue (0 +inf", lock) == n);
}

void
place_await_votes(const char *lock)
{
	for (size_t i = 0; place_with(lock, i) != NULL; i++)
		await_true(server_integer(place_with(lock, i), "EXISTS leash:{%s}", lock) == 1);
}

static int
by_length(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t
place_left_ms(const char *lock)
{
	int64_t left_ms[QUORUM_MOST];
	struct server *server;
	size_t n = 0;

	if (!deployment_quorum(place))
		return place_integer(lock, "PTTL leash:{%s}", lock);
	while ((server = deployment_master(place, n)) != NULL)
		left_ms[n++] = server_pid(server) != 0 ? server_integer(server, "PTTL leash:{%s}", lock) : -2;
	qsort(left_ms, n, sizeof *left_ms, by_length);
	return left_ms[n / 2];
}

struct server *
place_with(const char *key, size_t i)
{
	struct quorum *quorum = deployment_quorum(place);

	if (!quorum)
		return i == 0 ? deployment_at(place, key) : NULL;
	for (int n = 0; n < quorum_count(quorum); n++)
		if (quorum_runs(quorum, n) && i-- == 0)
			return quorum_server(quorum, n);
	return NULL;
}

int64_t
place_introductions(void)
{
	struct server *server;
	int64_t sum = 0, most = 0;

	for (size_t i = 0; (server = deployment_master(place, i)) != NULL; i++) {
		int64_t n = leashed_introductions(server);

		sum += n;
		most = n > most ? n : most;
	}
	return deployment_quorum(place) ? most : sum;
}

bool
place_is_free(const char *lock)
{
	char key[2048];

	snprintf(key, sizeof key, "leash:{%s}", lock);
	for (size_t i = 0; place_with(key, i) != NULL; i++)
		if (server_integer(place_with(key, i), "EXISTS %s %s:queue", key, key) != 0)
			return false;
	return true;
}

bool
place_is_empty(void)
{
	static const char script[] = "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do if not string.find(k, "
	                             "':fence$') and not string.find(k, '^leash:client:') then n = n + 1 end end return n";
	struct server *server;

	for (size_t i = 0; (server = deployment_master(place, i)) != NULL; i++)
		if (server_pid(server) != 0 && server_integer(server, "EVAL %s 0", script) != 0)
			return false;
	return true;
}

/* The sentinels first, and they are back last: they must not make something of it that the servers are gone. */
void
place_kill(void)
{
	for (int i = 0; i < deployment_members(place); i++)
		server_kill(deployment_member(place, i));
}

void
place_restart(void)
{
	for (int i = deployment_members(place); i-- > 0;)
		server_restart(deployment_member(place, i));
	if (deployment_sentinel_set(place))
		sentinel_set_await_failover(deployment_sentinel_set(place), -1);
	if (deployment_cluster(place))
		cluster_await_ok(deployment_cluster(place));
	if (deployment_quorum(place))
		quorum_await_uptime(deployment_quorum(place), DEPLOYMENT_GUARD_MS);
}

void
place_take_away(const char *lock)
{
	if (!deployment_quorum(place)) {
		place_integer(lock, "DEL leash:{%s}", lock);
		return;
	}
	place_say_all("EVAL %s 1 leash:{%s}",
	              "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], '00000000-0000-4000-8000-000000000000:1', 1) "
	              "return redis.call('PEXPIRE', KEYS[1], 1000)",
	              lock);
}

int
place_thin(const struct leashed_events *events)
{
	return place_is(PLACE_MAJORITY) ? events->count[LEASH_EVENT_JEOPARDY] + events->count[LEASH_EVENT_RECOVERED] : 0;
}
