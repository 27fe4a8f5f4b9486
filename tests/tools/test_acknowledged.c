/* --min-replicas, --fsynced and --replicas-timeout of leash run, acquire and renew: a master with one replica, so that one is enough and two
 * are too many. */
#include "tests/support/quorum.h"
#include "tests/support/server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <leash.h>

#include <signal.h>

enum { USAGE = 64, NO_SERVER = 69 };

static struct server *master, *replica;

static void
start(void)
{
	char port[12];

	master = server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
	snprintf(port, sizeof port, "%d", server_port(master));
	replica = server_start((const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
	/* what it acknowledges may begin a second after it has all that was written before */
	for (int written = 0; written < 2; written += server_integer(master, "WAIT 1 1000") > 0)
		server_text(master, "SET begun 1");
}

static void
stop(void)
{
	server_stop(replica);
	server_stop(master);
}

GROUP(start, stop);

#define LEASH(...) TOOL(server_uri_tcp(master), __VA_ARGS__)

static void
check_complaint(const char *says)
{
	if (strstr(tool_complained(), says) == NULL)
		fail_msg("it does not say '%s': %s", says, tool_complained());
}

static bool
is_free(const char *name)
{
	return server_integer(master, "EXISTS leash:{%s}", name) == 0;
}

/* It is said at once how many did not, and given back. */
static void
check_too_few(const char *name)
{
	check_complaint("1 of 2 replicas acknowledged it in time");
	assert_string_equal(tool_said(), "");
	assert_true(is_free(name));
}

SENTENCE(a_command_runs_once_enough_replicas_have_its_lock)
{
	struct tool *tool = TOOL_START(server_uri_tcp(master), "run", "--min-replicas", "1", "--replicas-timeout", "20s", "job", "-c",
	                               "echo begun; exec sleep 600");

	tool_await_out(tool, "begun");
	assert_int_equal(server_integer(replica, "HLEN leash:{job}"), 1);
	tool_signal(tool, SIGTERM);
	assert_int_equal(tool_wait(tool), 128 + SIGTERM);
	tool_free(tool);
	assert_true(is_free("job"));
	assert_int_equal(LEASH("run", "--min-replicas=2", "--replicas-timeout=4s", "job", "--", "echo", "ran"), NO_SERVER);
	check_too_few("job");
}

SENTENCE(a_token_is_printed_once_enough_replicas_have_its_lock)
{
	char token[LEASH_TOKEN_MAX];

	assert_int_equal(LEASH("acquire", "--min-replicas=2", "--replicas-timeout=4s", "token"), NO_SERVER);
	check_too_few("token");
	assert_int_equal(LEASH("acquire", "--min-replicas=1", "--replicas-timeout=20s", "token"), 0);
	snprintf(token, sizeof token, "%.*s", (int)strcspn(tool_said(), "\n"), tool_said());
	assert_int_equal(server_integer(replica, "HEXISTS leash:{token} %s", token), 1);
	assert_int_equal(LEASH("renew", "--ttl=60s", "--min-replicas=1", "--replicas-timeout=20s", "token", token), 0);
	assert_true(server_integer(replica, "PTTL leash:{token}") > 30000);
	assert_int_equal(LEASH("renew", "--min-replicas=2", "--replicas-timeout=4s", "token", token), NO_SERVER);
	check_complaint("1 of 2 replicas acknowledged it in time");
	assert_int_equal(server_integer(master, "HEXISTS leash:{token} %s", token), 1);
	assert_int_equal(LEASH("release", "token", token), 0);
	assert_true(is_free("token"));
}

SENTENCE(what_is_to_be_fsynced_is_refused_where_nothing_is_written_to_disk)
{
	assert_int_equal(LEASH("run", "--fsynced", "disk", "--", "echo", "ran"), NO_SERVER);
	check_complaint(strstr(tool_complained(), "appendonly") != NULL ? "appendonly is off" : "the server has no WAITAOF");
	assert_string_equal(tool_said(), "");
	await_true(is_free("disk"));
	assert_int_equal(LEASH("acquire", "--fsynced", "disk"), NO_SERVER);
	await_true(is_free("disk"));
}

SENTENCE(what_makes_no_sense_is_usage)
{
	static const char *const words[][4] = {
		/* an option, its argument, one more, what is said */
		{"--min-replicas", "0", NULL, "--min-replicas: '0' is not how many replicas"},
		{"--min-replicas", "17", NULL, "--min-replicas: '17' is not how many replicas"},
		{"--min-replicas", "most", NULL, "--min-replicas: 'most' is not how many replicas"},
		{"--replicas-timeout", "0", "--fsynced", "--replicas-timeout: replicas have from 1ms to 1d"},
		{"--replicas-timeout", "soon", "--fsynced", "--replicas-timeout: 'soon' is not a duration"},
		{"--replicas-timeout", "1s", "-q", "without --min-replicas or --fsynced"},
	};
	static const char *const commands[] = {"run", "acquire", "renew"};

	for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			const char *more = words[i][2] != NULL ? words[i][2] : "-q";

			assert_int_equal(LEASH(commands[c], words[i][0], words[i][1], more, "job", "true"), USAGE);
			check_complaint(words[i][3]);
		}
}

SENTENCE(a_quorum_has_no_replicas)
{
	struct quorum *quorum = quorum_start(&(struct quorum_options){.count = 3});
	const char *uri = quorum_uri_guarded(quorum, 100);

	assert_int_equal(TOOL(uri, "run", "--min-replicas=1", "job", "echo", "ran"), USAGE);
	check_complaint("min_replicas is not for a quorum");
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(uri, "acquire", "--fsynced", "job"), USAGE);
	check_complaint("fsynced is not for a quorum");
	quorum_stop(quorum);
}
