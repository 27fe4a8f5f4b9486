/* Sentinel sets. See sentinel_set.h.
 *
 * Sentinels tell each other and ask the servers only every few seconds; where SENTINEL DEBUG is known (7.0), they hurry while the set is
 * being started and keep their normal pace after that, as what happens in those seconds is what tests are about. */
#include "tests/support/sentinel_set.h"

#include "tests/support/await.h"
#include "tests/support/node.h"
#include "tests/support/ports.h"
#include "tests/support/sweep.h"
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "main"

struct sentinel_set {
	struct sweep_item item;
	struct sentinel_options options;
	struct node node[SENTINEL_SERVERS + SENTINEL_SENTINELS], *sentinel;   /* those that keep data, and after them the sentinels */
	char *uri, *folder;   /* of the password's file; NULL: none */
};

/* ---- what the sentinels say ---- */

/* The number of the server that is told at this port. */
static int
by_port(const struct sentinel_set *set, int port)
{
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		if (set->node[i].told == port)
			return i;
	return -1;
}

/* The master as this sentinel knows it; -1: it does not say. */
static int
master_at(const struct sentinel_set *set, int sentinel)
{
	redisReply *reply = node_ask(&set->sentinel[sentinel], "SENTINEL GET-MASTER-ADDR-BY-NAME %s", NAME);
	int master = reply && reply->elements == 2 ? by_port(set, atoi(reply->element[1]->str)) : -1;

	if (reply)
		freeReplyObject(reply);
	return master;
}

/* A field of what a sentinel knows of the master, to be freed; NULL: it does not say. */
static char *
field_at(const struct sentinel_set *set, int sentinel, const char *field)
{
	redisReply *reply = node_ask(&set->sentinel[sentinel], "SENTINEL MASTER %s", NAME);
	char *text = NULL;

	for (size_t i = 0; reply && i + 1 < reply->elements && !text; i += 2)
		if (strcmp(reply->element[i]->str, field) == 0)
			text = node_text("%s", reply->element[i + 1]->str);
	if (reply)
		freeReplyObject(reply);
	return text;
}

static bool
field_is(const struct sentinel_set *set, int sentinel, const char *field, const char *expected)
{
	char *text = field_at(set, sentinel, field);
	bool is = text && strcmp(text, expected) == 0;

	free(text);
	return is;
}

static bool
says_it_is_master(const struct sentinel_set *set, int i)
{
	char role[64];

	return node_field(&set->node[i], "INFO replication", "role", role) && strcmp(role, "master") == 0;
}

/* On whom all sentinels that run agree, and nothing is wrong or under way; -1: not so (yet). */
static int
agreed_master(const struct sentinel_set *set)
{
	int agreed = -1;

	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		int master;

		if (!node_runs(&set->sentinel[i]))
			continue;
		master = master_at(set, i);
		if (master < 0 || (agreed >= 0 && master != agreed) || !field_is(set, i, "flags", "master"))
			return -1;
		agreed = master;
	}
	return agreed >= 0 && says_it_is_master(set, agreed) ? agreed : -1;
}

/* ---- its life ---- */

static void
start_server(struct sentinel_set *set, int i)
{
	struct node *node = &set->node[i];
	struct words words = { .count = 0 };
	char told[16];

	node_words(node, &words);
	words_add(&words, "--replica-announce-ip");
	words_add(&words, "127.0.0.1");
	words_add_number(&words, "--replica-announce-port", node->told);
	if (i > 0) {
		snprintf(told, sizeof told, "%d", set->node[0].told);
		words_add(&words, "--replicaof");
		words_add(&words, "127.0.0.1");
		words_add(&words, told);
	}
	words_add_all(&words, set->options.args);
	node_start(node, &words);
	words_free(&words);
}

static char *
sentinel_config(const struct sentinel_set *set)
{
	char *config = NULL;
	size_t size;
	FILE *out = open_memstream(&config, &size);

	if (!out)
		trouble("no memory");
	fprintf(out, "sentinel monitor %s 127.0.0.1 %d 2\n", NAME, set->node[0].told);
	fprintf(out, "sentinel down-after-milliseconds %s 1000\n", NAME);
	fprintf(out, "sentinel failover-timeout %s 4000\n", NAME);
	fprintf(out, "sentinel parallel-syncs %s 2\n", NAME);
	if (set->options.password)
		fprintf(out, "sentinel auth-pass %s %s\n", NAME, set->options.password);
	if (set->options.sentinel_password)
		fprintf(out, "sentinel sentinel-pass %s\n", set->options.sentinel_password);
	fclose(out);
	return config;
}

static void
start_sentinel(struct sentinel_set *set, int i)
{
	struct node *node = &set->sentinel[i];
	struct words words = { .count = 0 };
	char *config = sentinel_config(set);

	node_words(node, &words);
	node->server = server_start_sentinel(node->port, config, (const char *const *)words.at);
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
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		redisReply *reply = node_ask(&set->sentinel[i], "SENTINEL DEBUG INFO-PERIOD %d PUBLISH-PERIOD %d", info_ms, publish_ms);

		if (reply)
			freeReplyObject(reply);
	}
}

/* The sentinels' password is read from a file: in a URI there is no place for a second one. */
static void
write_uri(struct sentinel_set *set)
{
	char *path = NULL, *query = NULL;
	FILE *file;

	if (set->options.sentinel_password) {
		set->folder = sweep_folder();
		path = node_text("%s/sentinel-password", set->folder);
		query = node_text("sentinel_password_file=%s", path);
		file = fopen(path, "we");
		if (!file || fputs(set->options.sentinel_password, file) < 0 || fclose(file) != 0)
			trouble("cannot write %s", path);
	}
	set->uri = nodes_uri(set->sentinel, SENTINEL_SENTINELS, "sentinel", set->options.password, "/" NAME, query ? query : "");
	free(path);
	free(query);
}

static void
stop(void *set)
{
	sentinel_set_stop(set);
}

struct sentinel_set *
sentinel_set_start(const struct sentinel_options *options)
{
	struct sentinel_set *set = calloc(1, sizeof *set);

	if (!set)
		trouble("no memory");
	set->sentinel = set->node + SENTINEL_SERVERS;
	if (options)
		set->options = *options;
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		node_prepare(&set->node[i], i, set->options.doors, set->options.tls, set->options.password);
	if (set->options.first)
		set->node[0].certs = set->options.first;
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		start_server(set, i);
	sentinel_set_await_synced(set);
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		node_prepare(&set->sentinel[i], SENTINEL_SERVERS + i, false, set->options.tls, set->options.sentinel_password);
		start_sentinel(set, i);
	}
	write_uri(set);
	hurry(set, 200, 100);
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		await_true_for(knows_all(set, i), 60);
	hurry(set, 10000, 2000);
	sweep_add(&set->item, stop, set);   /* last: what was added last is stopped first, and this stops the rest */
	return set;
}

void
sentinel_set_stop(struct sentinel_set *set)
{
	if (!set || !sweep_drop(&set->item))
		return;
	for (int i = 0; i < SENTINEL_SENTINELS; i++)
		node_stop(&set->sentinel[i]);
	for (int i = 0; i < SENTINEL_SERVERS; i++)
		node_stop(&set->node[i]);
	sweep_remove(set->folder);
	free(set->uri);
	free(set);
}

const char *
sentinel_set_uri(const struct sentinel_set *set)
{
	return set->uri;
}

const char *
sentinel_set_name(const struct sentinel_set *set)
{
	(void)set;
	return NAME;
}

const struct node *
sentinel_set_nodes(const struct sentinel_set *set)
{
	return set->node;
}

struct server *
sentinel_set_server(const struct sentinel_set *set, int i)
{
	return set->node[i].server;
}

struct server *
sentinel_set_sentinel(const struct sentinel_set *set, int i)
{
	return set->sentinel[i].server;
}

int
sentinel_set_port(const struct sentinel_set *set, int i)
{
	return set->node[i].told;
}

/* ---- who is master ---- */

static int
present_master(const struct sentinel_set *set)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		int master = node_runs(&set->sentinel[i]) ? master_at(set, i) : -1;

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

struct server *
sentinel_set_master(struct sentinel_set *set)
{
	return set->node[sentinel_set_master_number(set)].server;
}

int
sentinel_set_await_failover(struct sentinel_set *set, int before)
{
	int master = -1;

	await_true_for((master = agreed_master(set)) >= 0 && master != before, 90);
	return master;
}

static bool
begins_failover(const struct sentinel_set *set)
{
	for (int i = 0; i < SENTINEL_SENTINELS; i++) {
		redisReply *reply = node_runs(&set->sentinel[i]) ? node_ask(&set->sentinel[i], "SENTINEL FAILOVER %s", NAME) : NULL;

		if (!reply)
			continue;
		freeReplyObject(reply);
		return true;
	}
	return false;
}

/* It is refused while one is under way, and until a replica was heard of lately. */
void
sentinel_set_begin_failover(struct sentinel_set *set)
{
	await_true_for(begins_failover(set), 60);
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
	FILE *file;
	int n = 0;

	snprintf(path, sizeof path, "%s/redis.log", server_folder(sentinel->server));
	file = fopen(path, "re");
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
		int n = node_runs(&set->sentinel[i]) ? switches_at(&set->sentinel[i]) : 0;

		most = n > most ? n : most;
	}
	return most;
}

/* ---- replication ---- */

void
sentinel_set_await_synced(struct sentinel_set *set)
{
	int master = set->sentinel[0].server ? sentinel_set_master_number(set) : 0;
	int64_t offset = -1;
	int replicas = 0;

	await_true_for((offset = node_number(&set->node[master], "INFO replication", "master_repl_offset")) >= 0, 60);
	for (int i = 0; i < SENTINEL_SERVERS; i++) {
		if (i == master || !node_runs(&set->node[i]))
			continue;
		await_true_for(node_has_all_of(&set->node[i], set->node[master].told, offset), 60);
		replicas++;
	}
	await_true_for(node_replicas(&set->node[master]) >= replicas, 60);
}
