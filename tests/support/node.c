#include "tests/support/node.h"

#include "tests/support/asleep.h"
#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- its life ---- */

void
node_prepare(struct node *node, int number, bool door, bool tls, const char *password)
{
	char target[32];

	node->port = node->told = ports_take();
	node->tls = tls;
	node->certs = CERTS_SERVER;
	node->password = password;
	if (!door)
		return;
	snprintf(target, sizeof target, "127.0.0.1:%d", node->port);
	node->door = proxy_start_tcp(target);
	node->told = atoi(strrchr(proxy_target(node->door), ':') + 1);
	snprintf(node->address, sizeof node->address, "127.0.1.%d", number + 1);
}

void
node_words(const struct node *node, struct words *words)
{
	if (node->password)
		words_add(words, "--requirepass", node->password, "--masterauth", node->password);
	if (node->door) {
		words_add(words, "--bind-source-addr", node->address);
		words_add_number(words, "--repl-timeout", 600);   /* a link that is held is noticed by nobody */
	}
	if (node->tls) {
		words_add_all(words, certs_server_args(node->certs, false));
		words_add_number(words, "--port", 0);
		words_add_number(words, "--tls-port", node->port);
		words_add(words, "--tls-replication", "yes");
	}
	words_add_number(words, "--repl-diskless-sync-delay", 0);
}

void *
nodes_new(size_t size, const struct nodes_options *options, int count)
{
	struct nodes *nodes = zeroed(size);

	if (options)
		nodes->options = *options;
	if (count > NODES_MOST)
		trouble("more than %d servers", NODES_MOST);
	nodes->count = count;
	for (int i = 0; i < count; i++)
		node_prepare(&nodes->node[i], i, nodes->options.doors, nodes->options.tls, nodes->options.password);
	if (nodes->options.first)
		nodes->node[0].certs = nodes->options.first;
	return nodes;
}

void
nodes_start(struct nodes *nodes, int i, struct words *words)
{
	struct node *node = &nodes->node[i];

	words_add_all(words, nodes->options.args);
	node->server = SERVER_WITH(.port = node->port, .args = (const char *const *)words->at);
	words_free(words);
}

/* Last: what was added last is stopped first, and this stops the rest. */
void
nodes_add(struct nodes *nodes, char *uri)
{
	nodes->uri = uri;
	sweep_add(&nodes->item, nodes_stop, nodes);
}

void
nodes_stop(void *which)
{
	struct nodes *nodes = which;

	if (!nodes || !sweep_drop(&nodes->item))
		return;
	for (int i = nodes->count; i-- > 0;) {
		server_stop(nodes->node[i].server);
		proxy_stop(nodes->node[i].door);
	}
	sweep_remove(nodes->folder);
	free(nodes->uri);
	free(nodes->guarded);
	free(nodes);
}

bool
node_runs(const struct node *node)
{
	pid_t pid = node->server ? server_pid(node->server) : 0;

	return pid != 0 && !strchr("TtZX", state_of(pid));
}

/* ---- asking it ---- */

/* NULL: it does not answer. */
static redisContext *
dial(const struct node *node)
{
	return node_runs(node) ? server_dial(node->server, 1) : NULL;
}

redisReply *
node_ask(const struct node *node, const char *format, ...)
{
	redisReply *reply = NULL;
	sigset_t before;
	va_list args;

	socket_hush(&before);
	redisContext *c = dial(node);
	if (c) {
		va_start(args, format);
		reply = redisvCommand(c, format, args);
		va_end(args);
		redisFree(c);
	}
	socket_unhush(&before);
	if (reply && reply->type == REDIS_REPLY_ERROR) {
		freeReplyObject(reply);
		return NULL;
	}
	return reply;
}

/* A field of INFO, CLUSTER INFO: "role". False: it does not answer, or there is none. */
static bool
field_of(const struct node *node, const char *command, const char *field, char out[static 64])
{
	redisReply *reply = node_ask(node, command);
	size_t size = strlen(field);
	bool found = false;

	for (const char *line = reply ? reply->str : NULL; line && !found; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, size) == 0 && line[size] == ':')
			found = sscanf(line + size + 1, "%63[^\r\n]", out) == 1;
	}
	freeReplyObject(reply);
	return found;
}

bool
node_says(const struct node *node, const char *command, const char *field, const char *expected)
{
	char text[64];

	return field_of(node, command, field, text) && strcmp(text, expected) == 0;
}

bool
node_is_master(const struct node *node)
{
	return node_says(node, "INFO replication", "role", "master");
}

int64_t
node_number(const struct node *node, const char *command, const char *field)
{
	char text[64];

	return field_of(node, command, field, text) ? strtoll(text, NULL, 10) : -1;
}

/* Keys of a slot that is coming in are there for who says ASKING first. */
static bool
is_lasting(redisContext *c, const redisReply *key)
{
	redisReply *reply = redisCommand(c, "ASKING");

	freeReplyObject(reply);
	reply = redisCommand(c, "PTTL %b", key->str, key->len);
	bool lasting = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == -1;
	freeReplyObject(reply);
	return lasting;
}

static int64_t
keys(const struct node *node, const char *pattern, bool lasting)
{
	sigset_t before;
	int64_t n = 0;

	socket_hush(&before);
	redisContext *c = dial(node);
	redisReply *reply = c ? redisCommand(c, "KEYS %s", pattern) : NULL;
	for (size_t i = 0; reply && i < reply->elements; i++)
		n += !lasting || is_lasting(c, reply->element[i]);
	freeReplyObject(reply);
	redisFree(c);
	socket_unhush(&before);
	return n;
}

int64_t
nodes_keys(const struct nodes *nodes, const char *pattern, bool lasting)
{
	int64_t n = 0;

	for (int i = 0; i < nodes->count; i++)
		if (node_is_master(&nodes->node[i]))
			n += keys(&nodes->node[i], pattern, lasting);
	return n;
}

bool
node_has_all_of(const struct node *node, int told, int64_t offset)
{
	return node_says(node, "INFO replication", "role", "slave") &&
	       node_number(node, "INFO replication", "master_port") == told &&
	       node_says(node, "INFO replication", "master_link_status", "up") &&
	       node_number(node, "INFO replication", "slave_repl_offset") >= offset;
}

int64_t
node_replicas(const struct node *node)
{
	redisReply *reply = node_ask(node, "WAIT 9 1");   /* for what this connection has written: nothing */
	int64_t n = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;

	freeReplyObject(reply);
	return n;
}

/* ---- all of a deployment ---- */

int
nodes_told_at(const struct nodes *nodes, int64_t port)
{
	for (int i = 0; i < nodes->count; i++)
		if (nodes->node[i].told == port)
			return i;
	return -1;
}

void
nodes_hold_link(const struct node *nodes, int server, int replica)
{
	if (!nodes[server].door || proxy_set_held_from(nodes[server].door, nodes[replica].address, true) == 0)
		trouble("server %d is not connected to server %d: no link to hold", replica, server);
}

void
nodes_let_links_go(const struct node *nodes, int count)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < count; j++)
			proxy_set_held_from(nodes[i].door, nodes[j].address, false);
}

char *
nodes_uri(const struct node *nodes, int count, const char *kind, const char *password, const char *path, const char *more)
{
	const char *tls = nodes->tls ? certs_query() : "";
	char *uri = NULL;
	size_t size;
	FILE *out = open_memstream(&uri, &size);

	if (!out)
		trouble("no memory");
	fprintf(out, "redis%s+%s://", nodes->tls ? "s" : "", kind);
	if (password)
		fprintf(out, ":%s@", password);
	for (int i = 0; i < count; i++)
		fprintf(out, "%s127.0.0.1:%d", i > 0 ? "," : "", nodes[i].told);
	fprintf(out, "%s%s%s%s%s", path, *tls || *more ? "?" : "", more, *tls && *more ? "&" : "", tls);
	fclose(out);
	return uri;
}
