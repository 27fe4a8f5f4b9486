/* leash doctor: what is wrong with a server and how to mend it, for people and for scripts, with an exit status to match. */
#include "tests/support/fake.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <jansson.h>

enum { FIT = 0, WARNINGS = 1, UNFIT = 2, USAGE = 64, NO_SERVER = 69 };

static struct server *server; /* healthy, as long as no test makes it ill */
static char patient[300];     /* the URI of it; a busy machine is no slow server */

static void
start(void)
{
	server = server_start((const char *const[]){"--appendonly", "yes", NULL});
	snprintf(patient, sizeof patient, "%s?timeout=60000", server_uri(server));
}

static void
end(void)
{
	server_stop(server);
}

GROUP(start, end);

static void
ask(const char *command)
{
	redisReply *reply = server_command(server, command);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, reply->str);
	freeReplyObject(reply);
}

/* How many lines of what it said begin so. */
static int
lines(const char *begin)
{
	const char *line = tool_said();
	int n = 0;

	for (; line != NULL && *line != '\0'; line = strchr(line, '\n'), line += line != NULL)
		n += strncmp(line, begin, strlen(begin)) == 0;
	return n;
}

static void
check_said(const char *part)
{
	if (strstr(tool_said(), part) == NULL)
		fail_msg("it says nothing of '%s', but:\n%s%s", part, tool_said(), tool_complained());
}

static void
check_nothing_is_left(void)
{
	assert_string_equal(server_text(server, "KEYS *"), "");
}

/* ---- by the example of four servers ---- */

SENTENCE(a_healthy_server_exits_0_and_is_called_fit)
{
	assert_int_equal(TOOL(patient, "doctor"), FIT);
	assert_string_equal(tool_complained(), "");
	assert_int_equal(lines("error"), 0);
	assert_int_equal(lines("warning"), 0);
	assert_int_equal(lines("unix://"), 1);
	assert_true(lines("ok       ") >= 9);
	check_said("0 errors, 0 warnings, ");
	check_said("this server is fit to keep locks\n");
	check_nothing_is_left();
}

SENTENCE(a_server_that_evicts_exits_2_until_what_it_says_was_done)
{
	ask("CONFIG SET maxmemory 100mb");
	ask("CONFIG SET maxmemory-policy allkeys-lru");
	assert_int_equal(TOOL(patient, "doctor"), UNFIT);
	assert_int_equal(lines("error    eviction     maxmemory-policy is allkeys-lru"), 1);
	check_said("\n                   -> CONFIG SET maxmemory-policy noeviction, ");
	check_said("1 error, 0 warnings");
	check_said("not fit");
	ask("CONFIG SET maxmemory-policy noeviction");
	assert_int_equal(TOOL(patient, "doctor"), FIT);
	ask("CONFIG SET maxmemory 0");
}

SENTENCE(a_user_without_permissions_exits_2_and_is_told_the_line_that_gives_them)
{
	char uri[300];

	ask("ACL SETUSER eve reset on >sesame");
	snprintf(uri, sizeof uri, "unix://eve:sesame@%s?timeout=60000", server_socket(server));
	assert_int_equal(TOOL(uri, "doctor"), UNFIT);
	check_said("ACL SETUSER eve +evalsha +eval +time ");
	check_said(" ~leash:* &leash:wake:*");
	ask("ACL SETUSER eve +@all -zadd -hset ~leash:* &leash:wake:*");
	assert_int_equal(TOOL(uri, "doctor"), UNFIT);
	assert_int_equal(lines("error    permissions  user eve may not run HSET, ZADD"), 1);
	check_said("-> ACL SETUSER eve +hset +zadd, ");
	ask("ACL SETUSER eve +@all -scan");
	assert_int_equal(TOOL(uri, "doctor"), WARNINGS);
	check_said("leash list does not work");
	ask("ACL SETUSER eve +@all");
	assert_int_equal(TOOL(uri, "doctor"), FIT);
	check_nothing_is_left();
}

SENTENCE(a_replica_exits_2_and_names_its_master)
{
	struct server *master = server_start_tcp(NULL);
	char where[60], uri[300];

	snprintf(where, sizeof where, "-> name the master in the URI: redis://127.0.0.1:%d\n", server_port(master));
	freeReplyObject(server_command(server, "REPLICAOF 127.0.0.1 %d", server_port(master)));
	assert_int_equal(TOOL(patient, "doctor"), UNFIT);
	assert_int_equal(lines("error    replication  it is a replica of"), 1);
	check_said(where);
	ask("REPLICAOF NO ONE");
	snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?timeout=60000", server_port(master));
	assert_int_equal(TOOL(uri, "doctor"), WARNINGS); /* it keeps nothing */
	check_said("with the reservations above");
	server_stop(master);
}

/* ---- no server ---- */

SENTENCE(a_server_that_is_not_there_exits_69)
{
	assert_int_equal(TOOL("unix:///nowhere/x.sock", "doctor"), NO_SERVER);
	assert_int_equal(lines("error    connection"), 1);
	check_said("redis-cli -s /nowhere/x.sock ping");
	check_said("there is no talking to this server");
	assert_string_equal(tool_complained(), "");
	server_pause(server);
	assert_int_equal(TOOL(NULL, "doctor", "-q", "-r", server_uri(server)), NO_SERVER);
	server_resume(server);
	check_said("no answer in time");
}

SENTENCE(a_wrong_password_exits_69_and_is_not_shown)
{
	struct server *locked = server_start((const char *const[]){"--requirepass", "right-as-rain", NULL});
	char uri[300];

	snprintf(uri, sizeof uri, "unix://:wrong-as-sin@%s", server_socket(locked));
	for (int json = 0; json < 2; json++) {
		assert_int_equal(json ? TOOL(uri, "doctor", "--json", "-v") : TOOL(uri, "doctor", "-v"), NO_SERVER);
		check_said("WRONGPASS");
		assert_null(strstr(tool_said(), "wrong-as-sin"));
		assert_null(strstr(tool_complained(), "wrong-as-sin"));
	}
	assert_int_equal(TOOL(NULL, "doctor", "-r", uri), USAGE); /* where ps would show it */
	assert_null(strstr(tool_said(), "wrong-as-sin"));
	assert_null(strstr(tool_complained(), "wrong-as-sin"));
	server_stop(locked);
}

static size_t
greet_on_the_web(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	(void)ctx, (void)argc, (void)argv, (void)argl;
	return fake_say(out, size, "HTTP/1.1 400 Bad Request\r\n\r\n");
}

SENTENCE(what_is_no_redis_exits_69)
{
	struct fake *fake = fake_start(greet_on_the_web, NULL);

	assert_int_equal(TOOL(fake_uri(fake), "doctor", "-q"), NO_SERVER);
	assert_int_equal(lines("error    connection"), 1);
	fake_stop(fake);
}

/* ---- how it speaks ---- */

SENTENCE(quiet_says_only_what_is_wrong)
{
	assert_int_equal(TOOL(patient, "doctor", "-q"), FIT);
	assert_string_equal(tool_said(), "");
	assert_string_equal(tool_complained(), "");
	ask("CONFIG SET appendonly no");
	assert_int_equal(TOOL(patient, "doctor", "--quiet"), WARNINGS);
	assert_int_equal(lines("warning  persistence"), 1);
	assert_int_equal(lines("ok"), 0);
	assert_int_equal(lines("note"), 0);
	ask("CONFIG SET appendonly yes");
}

SENTENCE(a_file_gets_no_colour)
{
	tool_setenv("TERM", "xterm-256color");
	TOOL(patient, "doctor");
	tool_setenv("TERM", NULL);
	assert_null(strchr(tool_said(), '\033'));
}

/* Each line is an object: the findings, then the summary, which is returned. */
static json_t *
read_json(size_t *errors)
{
	json_t *object, *last = NULL;
	const char *line = tool_said();

	*errors = 0;
	while (*line != '\0') {
		size_t n = strcspn(line, "\n");
		json_t *remedy;

		assert_int_equal(line[n], '\n');
		object = json_loadb(line, n, 0, NULL);
		assert_non_null(object);
		assert_null(last); /* nothing comes behind the summary */
		line += n + 1;
		last = json_incref(json_object_get(object, "summary"));
		remedy = json_object_get(object, "remedy");
		if (last == NULL) {
			const char *level = json_string_value(json_object_get(object, "level"));

			assert_memory_equal(json_string_value(json_object_get(object, "server")), server_uri(server), strlen(server_uri(server)));
			assert_true(json_is_string(json_object_get(object, "topic")));
			assert_true(json_is_string(json_object_get(object, "text")));
			assert_true(json_is_string(remedy) || json_is_null(remedy));
			assert_true(strcmp(level, "ok") == 0 || strcmp(level, "note") == 0 || strcmp(level, "warning") == 0 || strcmp(level, "error") == 0);
			*errors += strcmp(level, "error") == 0;
		}
		json_decref(object);
	}
	assert_non_null(last);
	return last;
}

static json_int_t
number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

SENTENCE(json_has_an_object_for_each_finding_and_one_for_all)
{
	json_t *summary;
	size_t errors;

	assert_int_equal(TOOL(patient, "doctor", "--json"), FIT);
	summary = read_json(&errors);
	assert_int_equal(errors, 0);
	assert_true(json_is_true(json_object_get(summary, "fit")));
	assert_int_equal(number(summary, "exit"), FIT);
	assert_true(number(summary, "ok") >= 9);
	json_decref(summary);

	ask("CONFIG SET min-replicas-to-write 3");
	assert_int_equal(TOOL(patient, "doctor", "--json", "-q"), UNFIT);
	ask("CONFIG SET min-replicas-to-write 0");
	summary = read_json(&errors);
	assert_int_equal(errors, 1);
	assert_true(json_is_false(json_object_get(summary, "fit")));
	assert_int_equal(number(summary, "exit"), UNFIT);
	assert_int_equal(number(summary, "errors"), 1);
	assert_int_equal(number(summary, "warnings"), 0);
	json_decref(summary);
}

SENTENCE(its_help_names_its_exit_statuses_and_what_it_does_not_know_is_usage)
{
	assert_int_equal(TOOL(NULL, "doctor", "--help"), 0);
	check_said("Usage: leash doctor");
	check_said("Exit status: 0");
	assert_int_equal(TOOL(NULL, "doctor", "lock"), USAGE);
	assert_int_equal(TOOL(NULL, "doctor", "--fix"), USAGE);
	assert_int_equal(TOOL("redis://x/y/z", "doctor"), USAGE);
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(patient, "doctor", "--prefix", "not good"), USAGE);
}

SENTENCE(a_prefix_is_the_one_whose_keys_are_tried)
{
	char uri[300];

	ask("ACL SETUSER pat reset on >sesame +@all ~mine:* &mine:wake:*");
	snprintf(uri, sizeof uri, "unix://pat:sesame@%s?timeout=60000", server_socket(server));
	assert_int_equal(TOOL(uri, "doctor", "--prefix", "mine"), FIT);
	assert_int_equal(TOOL(uri, "doctor"), UNFIT);
	check_said("~leash:* &leash:wake:*");
}
