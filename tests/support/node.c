/* Nodes of deployments. See node.h. */
#include "tests/support/node.h"

#include "tests/support/await.h"
#include "tests/support/ports.h"
#include "tests/support/proxy_from.h"
#include "tests/support/socket.h"
#include "tests/support/trouble.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts and words ---- */

char *
node_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		trouble("no memory");
	va_end(args);
	return text;
}

void
words_add(struct words *words, const char *word)
{
	if (words->count + 1 == sizeof words->at / sizeof *words->at)
		trouble("more than %zu arguments for a server", words->count);
	words->at[words->count++] = node_text("%s", word);
}

void
words_add_number(struct words *words, const char *word, int64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)number);
	words_add(words, word);
	words_add(words, text);
}

void
words_add_all(struct words *words, const char *const *more)
{
	for (; more && *more; more++)
		words_add(words, *more);
}

void
words_free(struct words *words)
{
	while (words->count > 0)
		free(words->at[--words->count]);
}

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
	if (node->password) {
		words_add(words, "--requirepass");
		words_add(words, node->password);
		words_add(words, "--masterauth");
		words_add(words, node->password);
	}
	if (node->door) {
		words_add(words, "--bind-source-addr");
		words_add(words, node->address);
		words_add_number(words, "--repl-timeout", 600);   /* a link that is held is noticed by nobody */
	}
	if (node->tls) {
		words_add_all(words, certs_server_args(node->certs, false));
		words_add_number(words, "--port", 0);
		words_add_number(words, "--tls-port", node->port);
		words_add(words, "--tls-replication");
		words_add(words, "yes");
	}
	words_add_number(words, "--repl-diskless-sync-delay", 0);
}

void
node_start(struct node *node, const struct words *words)
{
	node->server = server_start_at(node->port, (const char *const *)words->at);
}

void
node_stop(struct node *node)
{
	server_stop(node->server);
	proxy_stop(node->door);
}

bool
node_runs(const struct node *node)
{
	pid_t pid = node->server ? server_pid(node->server) : 0;
	char path[64], stat[512];
	const char *state = NULL;
	FILE *file;

	if (pid == 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	stat[fread(stat, 1, sizeof stat - 1, file)] = '\0';
	fclose(file);
	state = strrchr(stat, ')');
	return state && state[1] == ' ' && !strchr("TtZX", state[2]);
}

/* ---- asking it ---- */

/* NULL: it does not answer. */
static redisContext *
dial(const struct node *node)
{
	struct timeval timeout = { .tv_sec = (time_t)await_slowness() };
	redisContext *c = node_runs(node) ? redisConnectUnixWithTimeout(server_socket(node->server), timeout) : NULL;
	redisReply *reply;

	if (!c)
		return NULL;
	if (!c->err) {
		fcntl(c->fd, F_SETFD, FD_CLOEXEC);
		redisSetTimeout(c, timeout);
		if (!node->password)
			return c;
		reply = redisCommand(c, "AUTH %s", node->password);
		if (reply) {
			freeReplyObject(reply);
			return c;
		}
	}
	redisFree(c);
	return NULL;
}

redisReply *
node_ask(const struct node *node, const char *format, ...)
{
	redisReply *reply = NULL;
	redisContext *c;
	sigset_t before;
	va_list args;

	socket_hush(&before);
	c = dial(node);
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

void
node_tell(const struct node *node, const char *format, ...)
{
	redisContext *c;
	redisReply *reply;
	sigset_t before;
	va_list args;

	socket_hush(&before);
	c = dial(node);
	if (!c)
		trouble("the server on port %d does not answer", node->port);
	va_start(args, format);
	reply = redisvCommand(c, format, args);
	va_end(args);
	socket_unhush(&before);
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		trouble("the server on port %d answers '%s' with: %s", node->port, format, reply ? reply->str : c->errstr);
	freeReplyObject(reply);
	redisFree(c);
}

bool
node_field(const struct node *node, const char *command, const char *field, char out[static 64])
{
	redisReply *reply = node_ask(node, command);
	size_t size = strlen(field);
	bool found = false;

	for (const char *line = reply ? reply->str : NULL; line && !found; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, field, size) == 0 && line[size] == ':')
			found = sscanf(line + size + 1, "%63[^\r\n]", out) == 1;
	}
	if (reply)
		freeReplyObject(reply);
	return found;
}

int64_t
node_number(const struct node *node, const char *command, const char *field)
{
	char text[64];

	return node_field(node, command, field, text) ? strtoll(text, NULL, 10) : -1;
}

/* Keys of a slot that is coming in are there for who says ASKING first. */
static bool
is_lasting(redisContext *c, const redisReply *key)
{
	redisReply *reply = redisCommand(c, "ASKING");
	bool lasting;

	if (reply)
		freeReplyObject(reply);
	reply = redisCommand(c, "PTTL %b", key->str, key->len);
	lasting = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == -1;
	if (reply)
		freeReplyObject(reply);
	return lasting;
}

int64_t
node_keys(const struct node *node, const char *pattern, bool lasting)
{
	redisReply *reply;
	redisContext *c;
	sigset_t before;
	int64_t n = 0;

	socket_hush(&before);
	c = dial(node);
	reply = c ? redisCommand(c, "KEYS %s", pattern) : NULL;
	for (size_t i = 0; reply && i < reply->elements; i++)
		n += !lasting || is_lasting(c, reply->element[i]);
	if (reply)
		freeReplyObject(reply);
	if (c)
		redisFree(c);
	socket_unhush(&before);
	return n;
}

bool
node_has_all_of(const struct node *node, int told, int64_t offset)
{
	char text[64];

	return node_field(node, "INFO replication", "role", text) && strcmp(text, "slave") == 0 &&
	       node_number(node, "INFO replication", "master_port") == told &&
	       node_field(node, "INFO replication", "master_link_status", text) && strcmp(text, "up") == 0 &&
	       node_number(node, "INFO replication", "slave_repl_offset") >= offset;
}

int64_t
node_replicas(const struct node *node)
{
	redisReply *reply = node_ask(node, "WAIT 9 1");   /* for what this connection has written: nothing */
	int64_t n = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;

	if (reply)
		freeReplyObject(reply);
	return n;
}

/* ---- all of a deployment ---- */

void
nodes_hold_link(const struct node *nodes, int server, int replica)
{
	if (!nodes[server].door || proxy_hold_from(nodes[server].door, nodes[replica].address) == 0)
		trouble("server %d is not connected to server %d: no link to hold", replica, server);
}

void
nodes_let_links_go(const struct node *nodes, int count)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < count; j++)
			proxy_let_go_from(nodes[i].door, nodes[j].address);
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
