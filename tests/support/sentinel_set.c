/* Sentinel sets. See sentinel_set.h.
 *
 * Sentinels tell each other and ask the servers only every few seconds; where SENTINEL DEBUG is known (7.0), they hurry while the set is
 * being started and keep their normal pace after that, as what happens in those seconds is what tests are about. */
#include "tests/support/sentinel_set.h"

#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME SENTINEL_NAME

/* ---- what the sentinels say ---- */

static const struct node *
sentinel_node(const struct sentinel_set *set, int i)
{
	return &set->all.node[SENTINEL_SERVERS + i];
}

/* The master as this sentinel knows it; -1: it does not say. */
static int
master_at(const struct sentinel_set *set, int sentinel)
{
	redisReply *reply = node_ask(sentinel_node(set, sentinel), "SENTINEL GET-MASTER-ADDR-BY-NAME %s", NAME);
	int master = reply && reply->elements == 2 ? nodes_told_at(&set->all, atoi(reply->element[1]->str)) : -1;

	freeReplyObject(reply);
	return master;
}

/* Does a sentinel know that of the master? */
static bool
field_is(const struct sentinel_set *set, int sentinel, const char *field, const char *expected)
{
	redisReply *reply = node_ask(sentinel_node(set, sentinel), "SENTINEL MASTER %s", NAME);
	bool is = false;

	for (size_t i = 0; reply && i + 1 < reply->elements; i += 2)
		is |= strcmp(reply->element[i]->str, field) == 0 && strcmp(reply->element[i + 1]->str, expected) == 0;
	freeReplyObject(reply);
	return is;
}

/* On whom all sentinels that run agree, and nothing is wrong or under way; -1: not so (yet). */
static int
agreed_master(const struct sentinel_set *set)
{
	int agreed = -1;

	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		if (!node_runs(sentinel_node(set, i)))
			continue;
		int master = master_at(set, i);
		if (master < 0 || (agreed >= 0 && master != agreed) || !field_is(set, i, "flags", "master"))
			return -1;
		agreed = master;
	}
	return agreed >= 0 && node_is_master(&set->all.node[agreed]) ? agreed : -1;
}

/* ---- its life ---- */

static void
start_server(struct sentinel_set *set, int i)
{
	const struct node *node = &set->all.node[i];
	struct words words = { .count = 0 };
	char told[16];

	node_words(node, &words);
	words_add(&words, "--replica-announce-ip", "127.0.0.1");
	words_add_number(&words, "--replica-announce-port", node->told);
	if (i > 0) {
		snprintf(told, sizeof told, "%d", set->all.node[0].told);
		words_add(&words, "--replicaof", "127.0.0.1", told);
	}
	nodes_start(&set->all, i, &words);
}

static char *
sentinel_config(const struct sentinel_set *set)
{
	const char *password = set->all.options.password, *own = set->all.options.sentinel_password;
	int down_ms = set->all.options.fails_over ? 1000 : 10000;

	return text_of("sentinel monitor " NAME " 127.0.0.1 %d 2\n"
	               "sentinel down-after-milliseconds " NAME " %d\n"
	               "sentinel failover-timeout " NAME " 4000\n"
	               "sentinel parallel-syncs " NAME " 2\n"
	               "%s%s\n%s%s\n", set->all.node[0].told, down_ms, password ? "sentinel auth-pass " NAME " " : "",
	               password ? password : "", own ? "sentinel sentinel-pass " : "", own ? own : "");
}

static void
start_sentinel(struct sentinel_set *set, int i)
{
	struct node *node = &set->all.node[SENTINEL_SERVERS + i];
	struct words words = { .count = 0 };
	char *config = sentinel_config(set);

	node_prepare(node, SENTINEL_SERVERS + i, false, set->all.options.tls, set->all.options.sentinel_password);
	set->all.count++;
	node_words(node, &words);
	node->server = SERVER_WITH(.port = node->port, .sentinel = config, .args = (const char *const *)words.at);
	words_free(&words);
	free(config);
}

static bool
knows_all(const struct sentinel_set *set, int sentinel)
{
	return field_is(set, sentinel, "num-slaves", "2") && field_is(set, sentinel, "num-other-sentinels", "2") &&
	       field_is(set, sentinel, "flags", "master");
}

/* Seconds less at the start, if they know the words. */
static void
hurry(const struct sentinel_set *set, int info_ms, int publish_ms)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		freeReplyObject(node_ask(sentinel_node(set, i), "SENTINEL DEBUG INFO-PERIOD %d PUBLISH-PERIOD %d", info_ms, publish_ms));
}

/* The sentinels' password is read from a file: in a URI there is no place for a second one. */
static char *
uri_of(struct sentinel_set *set)
{
	char *uri;

	if (!set->all.options.sentinel_password)
		return nodes_uri(sentinel_node(set, 0), SENTINEL_SENTINELS, "sentinel", set->all.options.password, "/" NAME, "");
	set->all.folder = sweep_folder();
	char *path = sweep_file(set->all.folder, "sentinel-password", set->all.options.sentinel_password);
	char *query = text_of("sentinel_password_file=%s", path);
	uri = nodes_uri(sentinel_node(set, 0), SENTINEL_SENTINELS, "sentinel", set->all.options.password, "/" NAME, query);
	free(path);
	free(query);
	return uri;
}

struct sentinel_set *
sentinel_set_start(const struct nodes_options *options)
{
	struct sentinel_set *set = nodes_new(sizeof *set, options, SENTINEL_SERVERS);

	for (int i = 0; i < SENTINEL_SERVERS; i++)
		start_server(set, i);
	sentinel_set_await_synced(set);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		start_sentinel(set, i);
	hurry(set, 200, 100);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		await_true(knows_all(set, i));
	hurry(set, 10000, 2000);
	nodes_add(&set->all, uri_of(set));
	return set;
}

/* ---- who is master ---- */

static int
present_master(const struct sentinel_set *set)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		int master = node_runs(sentinel_node(set, i)) ? master_at(set, i) : -1;

		if (master >= 0)
			return master;
	}
	return -1;
}

int
sentinel_set_master_number(struct sentinel_set *set)
{
	await_true(present_master(set) >= 0);
	return present_master(set);
}

int
sentinel_set_await_failover(struct sentinel_set *set, int before)
{
	int master = -1;

	await_true((master = agreed_master(set)) >= 0 && master != before);
	return master;
}

static bool
begins_failover(const struct sentinel_set *set)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		redisReply *reply = node_runs(sentinel_node(set, i)) ? node_ask(sentinel_node(set, i), "SENTINEL FAILOVER %s", NAME) : NULL;

		freeReplyObject(reply);
		if (reply)
			return true;
	}
	return false;
}

/* It is refused while one is under way, and until a replica was heard of lately. */
void
sentinel_set_begin_failover(struct sentinel_set *set)
{
	await_true(begins_failover(set));
}

int
sentinel_set_failover(struct sentinel_set *set)
{
	int before = sentinel_set_await_failover(set, -1);

	sentinel_set_begin_failover(set);
	return sentinel_set_await_failover(set, before);
}

/* How often its log says so. */
static int
switches_at(const struct node *sentinel)
{
	char path[256], line[1024];
	int n = 0;

	snprintf(path, sizeof path, "%s/redis.log", server_folder(sentinel->server));
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		n += strstr(line, "+switch-master") != NULL;
	if (file)
		fclose(file);
	return n;
}

int
sentinel_set_switches(struct sentinel_set *set)
{
	int most = 0;

	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		int n = node_runs(sentinel_node(set, i)) ? switches_at(sentinel_node(set, i)) : 0;

		most = n > most ? n : most;
	}
	return most;
}

void
sentinel_set_await_synced(struct sentinel_set *set)
{
	int master = set->all.count > SENTINEL_SERVERS ? sentinel_set_master_number(set) : 0;
	int64_t offset = -1;
	int replicas = 0;

	await_true((offset = node_number(&set->all.node[master], "INFO replication", "master_repl_offset")) >= 0);
	for (int i = 0; i < SENTINEL_SERVERS; i++) {
		if (i == master || !node_runs(&set->all.node[i]))
			continue;
		await_true(node_has_all_of(&set->all.node[i], set->all.node[master].told, offset));
		replicas++;
	}
	await_true(node_replicas(&set->all.node[master]) >= replicas);
}
