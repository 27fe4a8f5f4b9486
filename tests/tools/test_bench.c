/* leash bench: that all its parts have figures, that these fit together, and that nothing is left of it but fences. */
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <jansson.h>
#include <signal.h>

enum { USAGE = 64, NO_SERVER = 69, PARTS = 6 };

static const char *const parts[PARTS] = {"round-trip", "one-thread", "own-locks", "one-lock", "two-clients", "four-clients"};

static json_t *
read_json(const char *text)
{
	json_error_t error;
	json_t *object = json_loads(text, 0, &error);

	if (object == NULL)
		fail_msg("that is no JSON: %s: %s", error.text, text);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
	return object;
}

static double
number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_number(value))
		fail_msg("there is no number '%s'", key);
	return json_number_value(value);
}

/* What is in the server and of the bench: only fences, which go by themselves. And nobody is there any more. */
static void
check_nothing_is_left(void)
{
	redisReply *keys = server_command(server, "KEYS *");

	assert_int_equal(keys->type, REDIS_REPLY_ARRAY);
	for (size_t i = 0; i < keys->elements; i++) {
		const char *key = keys->element[i]->str;
		int64_t ttl;

		if (strstr(key, "{leash-bench-") == NULL || strstr(key, ":fence") == NULL)
			fail_msg("%s is left", key);
		ttl = server_integer(server, "TTL %s", key);
		if (ttl < 1 || ttl > 86400)
			fail_msg("%s lasts for %lld s", key, (long long)ttl);
	}
	freeReplyObject(keys);
	await_true(strstr(server_text(server, "CLIENT LIST"), "name=leash:") == NULL); /* the kernel tells the server in its own time */
	server_text(server, "FLUSHALL");
}

/* ---- what it tells ---- */

static void
check_times(const json_t *times)
{
	double count = number(times, "count"), p50 = number(times, "p50_us"), p99 = number(times, "p99_us"), max = number(times, "max_us");

	assert_true(count > 0 && number(times, "per_second") > 0);
	assert_true(p50 > 0 && p50 <= p99 && p99 <= max);
}

static void
check_part(const json_t *part, const char *id)
{
	double seconds = number(part, "seconds"), count = number(part, "count"), rate = number(part, "per_second");

	assert_string_equal(json_string_value(json_object_get(part, "part")), id);
	check_times(part);
	assert_true(seconds > 0);
	assert_true(count / seconds > 0.99 * rate && count / seconds < 1.01 * rate);
	assert_true(number(part, "cpus") > 0);
	assert_int_equal((int)number(part, "lost"), 0);
	/* closed loop: each thread does one after the other */
	assert_true(count * number(part, "p50_us") / 2e6 < 1.1 * seconds * number(part, "threads"));
}

GROUP(start_server, stop_server);

SENTENCE(each_part_has_figures_that_fit_together)
{
	json_t *object, *list;

	assert_int_equal(TOOL(server_uri(server), "bench", "-t", "1s", "-p", "4", "--json"), 0);
	assert_string_equal(tool_complained(), "");
	object = read_json(tool_said());
	assert_true(json_is_false(json_object_get(object, "interrupted")));
	list = json_object_get(object, "parts");
	assert_int_equal(json_array_size(list), PARTS);
	for (size_t i = 0; i < PARTS; i++)
		check_part(json_array_get(list, i), parts[i]);
	assert_int_equal((int)number(json_array_get(list, 2), "threads"), 4);
	assert_int_equal((int)number(json_array_get(list, 2), "locks"), 4);
	/* an acquire and a release are a command each; what is passed on within the process is none */
	assert_true(number(json_array_get(list, 0), "commands") >= number(json_array_get(list, 0), "count"));
	assert_true(number(json_array_get(list, 1), "commands") >= 2 * number(json_array_get(list, 1), "count"));
	assert_int_equal((int)number(json_array_get(list, 1), "handed_on"), 0);
	assert_true(number(json_array_get(list, 3), "handed_on") > 0);
	assert_true(number(json_array_get(list, 3), "commands") < 2 * number(json_array_get(list, 3), "count"));
	check_times(json_object_get(json_array_get(list, 4), "handoff"));
	check_times(json_object_get(json_array_get(list, 5), "handoff"));
	assert_true(json_array_size(json_object_get(object, "notes")) > 0);
	json_decref(object);
	check_nothing_is_left();
}

SENTENCE(a_line_of_the_table_has_a_count_and_times_with_units)
{
	static const char *const labels[] = {"\nround trip, 1 thread ", "\n1 thread, 1 lock ",     "\n3 threads, a lock each ", "\n3 threads, one lock ",
	                                     "\n2 clients, one lock ",  "\n4 clients, one lock ", "\n  hand-off "};

	assert_int_equal(TOOL(server_uri(server), "bench", "-t", "600ms", "-p", "3", "--prefix", "other"), 0);
	assert_string_equal(tool_complained(), "");
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		const char *line = strstr(tool_said(), labels[i]);
		char unit[3][4];
		double rate = 0, time[3];
		unsigned long count = 0;

		if (line == NULL || sscanf(line + strlen(labels[i]), "%lu %lf %lf %3s %lf %3s %lf %3s", &count, &rate, &time[0], unit[0], &time[1], unit[1],
		                           &time[2], unit[2]) != 8)
			fail_msg("no line '%s':\n%s", labels[i] + 1, tool_said());
		assert_true(count > 0 && rate > 0);
		for (int n = 0; n < 3; n++)
			assert_true(time[n] > 0 && strstr("ns us ms s", unit[n]) != NULL);
	}
	assert_non_null(strstr(tool_said(), "cannot be told apart"));
	for (const char *line = tool_said(), *next; (next = strchr(line, '\n')) != NULL && strncmp(line, "\n", 1) != 0; line = next + 1)
		assert_true(next - line <= 80);
	check_nothing_is_left();
}

SENTENCE(quietly_it_tells_figures_and_nothing_else)
{
	assert_int_equal(TOOL(server_uri(server), "bench", "-q", "-t", "300ms", "-p", "1"), 0);
	assert_string_equal(tool_complained(), "");
	assert_non_null(strstr(tool_said(), "round trip"));
	assert_null(strstr(tool_said(), "told apart"));
	assert_null(strstr(tool_said(), "\n\n"));
	check_nothing_is_left();
}

/* ---- when it does not come to its end ---- */

SENTENCE(one_that_is_interrupted_tells_what_it_has_and_leaves_nothing)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct tool *tool = TOOL_START(server_uri(server), "bench", "-t", "3s");

		tool_await_out(tool, "\nround trip");
		tool_signal(tool, signals[i]);
		assert_int_equal(tool_wait(tool), 128 + signals[i]);
		assert_non_null(strstr(tool_out(tool), "\nround trip"));
		assert_null(strstr(tool_out(tool), "4 clients"));
		assert_non_null(strstr(tool_err(tool), "interrupted"));
		tool_free(tool);
		check_nothing_is_left();
	}
}

SENTENCE(one_that_is_interrupted_with_json_is_still_json)
{
	struct tool *tool = TOOL_START(server_uri(server), "bench", "-t", "3s", "--json");
	json_t *object;

	await_true(server_integer(server, "DBSIZE") > 0); /* at its second part at least */
	tool_signal(tool, SIGINT);
	assert_int_equal(tool_wait(tool), 128 + SIGINT);
	object = read_json(tool_out(tool));
	assert_true(json_is_true(json_object_get(object, "interrupted")));
	assert_true(json_array_size(json_object_get(object, "parts")) >= 1);
	check_part(json_array_get(json_object_get(object, "parts"), 0), "round-trip");
	json_decref(object);
	tool_free(tool);
	check_nothing_is_left();
}

SENTENCE(without_a_server_it_says_so_and_nothing_else)
{
	char nowhere[200];

	snprintf(nowhere, sizeof nowhere, "unix://%s/nobody", server_folder(server));
	assert_int_equal(TOOL(nowhere, "bench"), NO_SERVER);
	assert_string_equal(tool_said(), "");
	assert_non_null(strstr(tool_complained(), "/nobody"));
	assert_int_equal(TOOL(nowhere, "bench", "--json"), NO_SERVER);
	json_decref(read_json(tool_said()));
	json_decref(read_json(tool_complained()));
}

SENTENCE(a_server_that_goes_away_ends_it_with_what_there_is)
{
	struct server *mortal = server_start(NULL);
	struct tool *tool = TOOL_START(server_uri(mortal), "bench", "-t", "3s");

	tool_await_out(tool, "\nround trip");
	server_kill(mortal);
	assert_int_equal(tool_wait(tool), NO_SERVER);
	assert_non_null(strstr(tool_out(tool), "\nround trip"));
	assert_non_null(strstr(tool_err(tool), server_socket(mortal)));
	tool_free(tool);
	server_stop(mortal);
}

SENTENCE(a_lock_that_is_lost_meanwhile_is_told)
{
	struct tool *tool = TOOL_START(server_uri(server), "bench", "-t", "2s", "-p", "2");

	tool_await_out(tool, "\nround trip");
	while (strstr(tool_out(tool), "\n4 clients") == NULL)
		server_text(server, "FLUSHALL");
	assert_int_equal(tool_wait(tool), 0);
	assert_non_null(strstr(tool_out(tool), "locks were lost"));
	tool_free(tool);
	check_nothing_is_left();
}

SENTENCE(numbers_out_of_range_are_usage)
{
	static const char *const words[][2] = {{"-p", "0"},  {"-p", "257"}, {"-p", "-1"},  {"-p", "x"}, {"-p", ""},   {"-p", "8x"}, {"-p", "99999999999999999999"},
	                                       {"-t", "0"}, {"-t", "99ms"}, {"-t", "61m"}, {"-t", "x"}, {"-q", "word"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (TOOL(server_uri(server), "bench", words[i][0], words[i][1]) != USAGE)
			fail_msg("%s %s: %s", words[i][0], words[i][1], tool_complained());
		assert_string_equal(tool_said(), "");
	}
}
