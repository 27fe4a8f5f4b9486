/* leash scripts: what runs in the server, printed and loaded. */
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <jansson.h>

enum { OK = 0, USAGE = 64, NO_SERVER = 69 };

/* How many of the sums that were printed the server knows. */
static int
known(int *printed)
{
	char said[4096], *line, *rest = said;
	int n = 0;

	*printed = 0;
	snprintf(said, sizeof said, "%s", tool_said());
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		assert_true(strlen(line) > 42);
		line[40] = '\0';
		++*printed;
		n += strcmp(server_text(server, "SCRIPT EXISTS %s", line), "1") == 0;
	}
	return n;
}

FIXTURE(start_server, stop_server);

SENTENCE(it_prints_the_sums_and_loads_nothing_unless_told_to)
{
	int printed;

	assert_int_equal(TOOL(NULL, "scripts"), OK);
	assert_int_equal(known(&printed), 0);
	assert_true(printed >= 5);
	assert_non_null(strstr(tool_said(), "  acquire\n"));
	assert_int_equal(TOOL(server_uri(server), "scripts", "--load"), OK);
	assert_int_equal(known(&printed), printed);
	assert_true(printed >= 5);
}

SENTENCE(its_json_has_texts_that_have_these_sums)
{
	json_t *script = NULL;
	char said[65536], *line, *rest = said;
	int n = 0;

	assert_int_equal(TOOL(NULL, "scripts", "--json"), OK);
	assert_true(strlen(tool_said()) < sizeof said);
	strcpy(said, tool_said());
	while ((line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		script = json_loads(line, 0, NULL);
		assert_non_null(script);
		assert_string_equal(server_text(server, "SCRIPT LOAD %s", json_string_value(json_object_get(script, "text"))),
		                    json_string_value(json_object_get(script, "sha1")));
		json_decref(script);
		n++;
	}
	assert_true(n >= 5);
}

SENTENCE(a_server_that_does_not_let_us_is_69_and_named)
{
	char theirs[512];

	server_text(server, "ACL SETUSER worker on >secret ~* &* +@all -script");
	tool_setenv("LEASH_PASSWORD", "secret");
	snprintf(theirs, sizeof theirs, "unix://worker@%s?password_env=LEASH_PASSWORD", server_socket(server));
	assert_int_equal(TOOL(theirs, "scripts", "--load"), NO_SERVER);
	tool_setenv("LEASH_PASSWORD", NULL);
	assert_non_null(strstr(tool_complained(), "SCRIPT LOAD"));
	assert_non_null(strstr(tool_complained(), server_socket(server)));
	assert_string_equal(tool_said(), "");
	assert_int_equal(TOOL(server_uri(server), "scripts", "more"), USAGE);
	assert_int_equal(TOOL("redis+sentinel://127.0.0.1:1/main", "scripts", "--load"), NO_SERVER);
	assert_non_null(strstr(tool_complained(), "redis://"));
}
