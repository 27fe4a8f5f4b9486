#include "tests/support/least.h"

#include "tests/support/sentinel_set.h"
#include "tests/support/trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PASSWORD[] = "aeL4ookaiShu", VARIABLE[] = "LEASH_TEST_LEAST_PASSWORD";

bool
least_is_wanted(void)
{
	const char *user = getenv("LEASH_TEST_USER");

	if (!user || !*user)
		return false;
	if (strcmp(user, "least") != 0)
		trouble("LEASH_TEST_USER is '%s': it can be least, or nothing", user);
	return true;
}

/* ---- what is written ---- */

static void
take_words(struct least *least, char *line)
{
	char *rest = NULL;

	for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		if (strcmp(word, "ACL") == 0 || strcmp(word, "SETUSER") == 0 || strcmp(word, "locks") == 0 || word[0] == '>')
			continue;
		if (least->count == LEAST_RULES || strlen(word) >= LEAST_RULE_SIZE)
			trouble("docs/deployments.md has too many rules, or '%s' is too long", word);
		snprintf(least->rule[least->count++], LEAST_RULE_SIZE, "%s", word);
	}
}

/* A block is what is indented: its first line begins with ACL SETUSER. */
void
least_read(struct least *least, const char *heading)
{
	static const char begin[] = "    ACL SETUSER locks ";
	bool below = false, inside = false;
	const char *source = getenv("LEASH_SRCDIR");
	int before = least->count;
	char path[1024], line[512];

	snprintf(path, sizeof path, "%s/docs/deployments.md", source && *source ? source : ".");
	FILE *file = fopen(path, "re");
	if (!file)
		trouble("no %s: does LEASH_SRCDIR name the folder of the sources?", path);
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, "### ", 4) == 0 || strncmp(line, "## ", 3) == 0)
			below = strncmp(line, "### ", 4) == 0 && strncmp(line + 4, heading, strlen(heading)) == 0 && line[4 + strlen(heading)] == '\n';
		inside = strncmp(line, begin, sizeof begin - 1) == 0 || (inside && strncmp(line, "    ", 4) == 0);
		if (below && inside)
			take_words(least, line);
	}
	fclose(file);
	if (least->count == before)
		trouble("docs/deployments.md has no ACL SETUSER below '### %s'", heading);
}

void
least_of(struct least *least, enum deployment_kind kind)
{
	*least = (struct least){ .count = 0 };
	if (kind == DEPLOYMENT_QUORUM) {
		least_read(least, "Quorum");
		return;
	}
	least_read(least, "One server");
	if (kind == DEPLOYMENT_CLUSTER)
		least_read(least, "Cluster");
	if (kind == DEPLOYMENT_CLUSTER || kind == DEPLOYMENT_SENTINEL)
		least_read(least, "min_replicas");
}

/* ---- users ---- */

bool
least_is_known(struct server *server, const char *rule)
{
	char command[LEAST_RULE_SIZE];
	bool known;

	if (rule[0] != '+' || strchr(rule, '|'))
		return true;
	snprintf(command, sizeof command, "%s", rule + 1);
	redisReply *reply = server_command(server, "COMMAND INFO %s", command);
	known = reply->type != REDIS_REPLY_ARRAY || reply->elements != 1 || reply->element[0]->type == REDIS_REPLY_ARRAY;
	freeReplyObject(reply);
	return known;
}

static void
admit(struct server *server, const struct least *least, const char *without)
{
	const char *words[LEAST_RULES + 8] = { "ACL", "SETUSER", LEAST_USER, "reset" };
	char password[64];
	int n = 4;

	snprintf(password, sizeof password, ">%s", PASSWORD);
	words[n++] = password;
	for (int i = 0; i < least->count; i++)
		if ((!without || strcmp(least->rule[i], without) != 0) && least_is_known(server, least->rule[i]))
			words[n++] = least->rule[i];
	redisContext *c = server_connect(server);
	redisReply *reply = redisCommandArgv(c, n, words, NULL);
	if (!reply || reply->type == REDIS_REPLY_ERROR)
		trouble("ACL SETUSER, as docs/deployments.md says: %s", reply ? reply->str : c->errstr);
	freeReplyObject(reply);
	freeReplyObject(redisCommand(c, "ACL SAVE")); /* an error where it was not started for that: see LEAST_FILE */
	redisFree(c);
}

void
least_admit(struct deployment *d, const char *without)
{
	enum deployment_kind kind = deployment_kind(d);
	struct least servers, sentinels = { .count = 0 };
	struct server *server;

	least_of(&servers, kind);
	if (kind == DEPLOYMENT_SENTINEL)
		least_read(&sentinels, "Sentinel");
	for (int i = 0; (server = deployment_member(d, i)) != NULL; i++)
		admit(server, kind == DEPLOYMENT_SENTINEL && i < SENTINEL_SENTINELS ? &sentinels : &servers, without);
}

char *
least_uri(struct deployment *d)
{
	const char *uri = deployment_uri(d), *behind = strstr(uri, "://");
	int scheme = (int)(behind + 3 - uri);
	char sentinel[128] = "";

	setenv(VARIABLE, PASSWORD, 1);
	if (deployment_kind(d) == DEPLOYMENT_SENTINEL)
		snprintf(sentinel, sizeof sentinel, "%csentinel_user=" LEAST_USER "&sentinel_password_env=%s", strchr(uri, '?') ? '&' : '?', VARIABLE);
	return text_of("%.*s%s:%s@%s%s", scheme, uri, LEAST_USER, PASSWORD, uri + scheme, sentinel);
}

/* "username", "object" and their values are in turns in each entry. */
static const char *
field(const redisReply *entry, const char *name)
{
	for (size_t i = 0; i + 1 < entry->elements; i += 2)
		if (strcmp(entry->element[i]->str, name) == 0)
			return entry->element[i + 1]->str;
	return "";
}

const char *
least_denied(struct deployment *d)
{
	static char denied[512];
	struct server *server;

	denied[0] = '\0';
	for (int i = 0; (server = deployment_member(d, i)) != NULL; i++) {
		redisReply *log = server_pid(server) != 0 ? server_command(server, "ACL LOG") : NULL;

		for (size_t e = 0; log && log->type == REDIS_REPLY_ARRAY && e < log->elements; e++) {
			const char *object = field(log->element[e], "object");
			size_t n = strlen(denied);

			if (strcmp(field(log->element[e], "username"), "locks") == 0 && !strstr(denied, object))
				snprintf(denied + n, sizeof denied - n, "%s%s", n > 0 ? " " : "", object);
		}
		if (!log)
			continue;
		freeReplyObject(log);
		freeReplyObject(server_command(server, "ACL LOG RESET"));
	}
	return denied;
}
