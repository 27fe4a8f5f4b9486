/* Scripts as commands: their arguments, sent by SHA-1 or whole, and which command a failed script was calling. */
#include "redis/script.h"

#include "tests/support/test.h"

static const char text[] =
	"local call = redis.call\n"
	"local t = call('TIME')\n"
	"local last = redis.call('SET', KEYS[2], t[1], 'PX', '1', 'GET')\n"
	"if last then\n"
	"call('HSET', KEYS[1], ARGV[1], '1') call('DEL', KEYS[2])\n"
	"call(ARGV[1], KEYS[1])\n"
	"end\n"
	"return call('ZRANGEBYSCORE', KEYS[3], '(0', '+inf')";
static const struct lsh_script ours = {"ours", text, sizeof(text) - 1, "0123456789abcdef0123456789abcdef01234567"};
static const struct lsh_script *const embedded[] = {
	&lsh_script_acquire, &lsh_script_heartbeat, &lsh_script_inspect,
	&lsh_script_raise,   &lsh_script_release,   &lsh_script_renew,
};

/* What servers say of a command that the user may not give, on a line of a script. */
static const char *const denials[] = {
	/* Redis 7.0 */
	"ERR The user executing the script can't run this command or subcommand script: %s, on @user_script:%d.",
	("ERR The user executing the script can't access at least one of the keys mentioned in the command arguments script: %s, "
	 "on @user_script:%d."),
	/* Redis 8 */
	"ERR ACL failure in script: User default has no permissions to run the 'secret' command script: %s, on @user_script:%d.",
	"ERR ACL failure in script: No permissions to access a key script: %s, on @user_script:%d.",
	/* Redis 6.2, once for a raised error, once for a returned one */
	"ERR Error running script (call to f_%s): @user_script:%d: The user executing the script can't run this command or subcommand",
	"ERR Error running script (call to f_%s): @user_script: %d: The user executing the script can't run this command or subcommand",
};

static void
check_arg(struct lsh_arg arg, const char *wanted)
{
	assert_int_equal(arg.size, strlen(wanted));
	assert_memory_equal(arg.bytes, wanted, arg.size);
}

SENTENCE(a_call_is_evalsha_with_the_sha1_or_sent_whole_eval_with_the_text_and_the_rest_as_it_was)
{
	struct lsh_script_call call;

	for (int whole = 0; whole < 3; whole++) { /* not asked for; before the arguments, or after them */
		lsh_script_begin(&call, &ours, 2);
		assert_ptr_equal(call.script, &ours);
		assert_int_equal(call.count, 3);
		check_arg(call.args[0], "EVALSHA"); /* begun again it is by SHA-1 again */
		check_arg(call.args[1], ours.sha1);
		if (whole == 1)
			lsh_script_send_whole(&call);
		lsh_script_push(&call, LSH_ARG("leash:{a}"));
		lsh_script_push(&call, (struct lsh_arg){"\0\r\n", 3});
		lsh_script_push(&call, LSH_ARG(""));
		for (int i = 0; whole > 0 && i < 2; i++) /* again: no harm */
			lsh_script_send_whole(&call);
		assert_int_equal(call.count, 6);
		check_arg(call.args[0], whole > 0 ? "EVAL" : "EVALSHA");
		check_arg(call.args[1], whole > 0 ? text : ours.sha1);
		check_arg(call.args[2], "2");
		check_arg(call.args[3], "leash:{a}");
		assert_int_equal(call.args[4].size, 3);
		assert_memory_equal(call.args[4].bytes, "\0\r\n", 3);
		check_arg(call.args[5], "");
	}
}

SENTENCE(there_is_room_for_all_arguments)
{
	struct {
		struct lsh_script_call call;
		char canary[8];
	} room = {.canary = "canary"};
	char digits[LSH_SCRIPT_ARGS][LSH_DECIMAL_SIZE];

	lsh_script_begin(&room.call, &ours, 3);
	for (int i = 3; i < LSH_SCRIPT_ARGS; i++)
		lsh_script_push(&room.call, lsh_arg_decimal(digits[i], i));
	assert_int_equal(room.call.count, LSH_SCRIPT_ARGS);
	check_arg(room.call.args[0], "EVALSHA");
	for (int i = 3; i < LSH_SCRIPT_ARGS; i++)
		check_arg(room.call.args[i], digits[i]);
	assert_string_equal(room.canary, "canary");
}

/* The name that is blamed for `error`; NULL: none. */
static const char *
blamed(const struct lsh_script *script, const char *error)
{
	static char name[24];

	memset(name, 0x5a, sizeof name);
	if (!lsh_script_blame(script, error, name, sizeof name))
		return NULL;
	assert_non_null(memchr(name, '\0', sizeof name));
	return name;
}

static void
check_line(const struct lsh_script *script, int line, const char *wanted)
{
	for (size_t i = 0; i < COUNT(denials); i++) {
		char error[256];

		snprintf(error, sizeof error, denials[i], script->sha1, line);
		const char *name = blamed(script, error);
		if ((name == NULL) != (wanted == NULL) || (name != NULL && strcmp(name, wanted) != 0))
			fail_msg("%s, line %d: %s instead of %s: %s", script->name, line, name ? name : "nothing", wanted ? wanted : "nothing", error);
	}
}

SENTENCE(the_command_is_found_on_the_line_that_the_server_names)
{
	/* no call but the word; not that of the next line; its name is in no text; without an end of line */
	static const char *const blames[] = {NULL, NULL, "TIME", "SET", NULL, "HSET", NULL, NULL, "ZRANGEBYSCORE", NULL, NULL};

	for (size_t line = 0; line < COUNT(blames); line++)
		check_line(&ours, (int)line, blames[line]);
	check_line(&ours, 2147483647, NULL);
	check_line(&ours, -2147483647, NULL);
}

SENTENCE(every_call_of_the_embedded_scripts_is_found)
{
	size_t calls = 0;

	for (size_t i = 0; i < COUNT(embedded); i++) {
		char copy[8192], *rest = copy, *line;

		assert_true(embedded[i]->size < sizeof copy);
		assert_int_equal(strlen(embedded[i]->text), embedded[i]->size);
		memcpy(copy, embedded[i]->text, embedded[i]->size + 1);
		for (int n = 1; (line = strsep(&rest, "\n")) != NULL; n++) {
			char name[24];
			const char *call = strstr(line, "call('");

			if (call != NULL)
				assert_int_equal(sscanf(call, "call('%23[A-Z]'", name), 1);
			check_line(embedded[i], n, call != NULL ? name : NULL);
			calls += call != NULL;
		}
	}
	assert_true(calls > 20);
}

SENTENCE(the_command_that_our_scripts_append_is_taken_where_no_line_is_named)
{
	/* Redis 7.0 and 8 */
	assert_string_equal(blamed(&ours, "ERR The user executing the script can't run this command or subcommand (PEXPIRE)"), "PEXPIRE");
	assert_string_equal(blamed(&ours, "ERR ACL failure in script: User default has no permissions to run the 'zrem' command (ZREM)"), "ZREM");
	assert_string_equal(blamed(&ours, "ERR (one) (TWO"), "TWO"); /* the last */
}

SENTENCE(an_error_that_names_neither_blames_nobody)
{
	static const char *const errors[] = {
		"", "ERR", "ERR (", "ERR ()", "ERR something (pexpire)", "ERR on @user_script:", "ERR on @user_script:x",
		"ERR on @user_script:99999999999999999999999999.",
		"NOPERM this user has no permissions to run the 'evalsha' command",    /* Redis 7.0 */
		"NOPERM User default has no permissions to run the 'evalsha' command", /* Redis 8 */
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"NOPERM No permissions to access a key", "NOAUTH Authentication required.",
	};

	for (size_t i = 0; i < COUNT(errors); i++)
		if (blamed(&ours, errors[i]) != NULL)
			fail_msg("%s is blamed for: %s", blamed(&ours, errors[i]), errors[i]);
}

SENTENCE(a_name_is_cut_to_the_room_that_there_is)
{
	static const char appended[] = "ERR no (PEXPIRE)", on_line[] = "ERR no script: x, on @user_script:8.";
	char name[16];

	memset(name, 0x5a, sizeof name);
	assert_true(lsh_script_blame(&ours, appended, name, 8));
	assert_string_equal(name, "PEXPIRE");
	assert_true(lsh_script_blame(&ours, appended, name, 7));
	assert_string_equal(name, "PEXPIR");
	assert_true(lsh_script_blame(&ours, on_line, name, 4));
	assert_string_equal(name, "ZRA");
	assert_int_equal(name[8], 0x5a);
	assert_false(lsh_script_blame(&ours, on_line, name, 1));
	assert_string_equal(name, "");
}
