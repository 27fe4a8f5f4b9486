/* What a simulated server has besides its commands: copies of its keys, time, restarts. That its commands and
 * scripts do what a real server's do is shown by the other programs of this folder (mirror.h). */
#include "lua/scripts.h"
#include "tests/redis/scenes.h"
#include "tests/sim/server.h"
#include "tests/support/test.h"

#define LOCK "leash:{orders}"
#define KEYS LOCK " " LOCK ":fence " LOCK ":queue "
#define ANN1 "aaaaaaaa-0000-4000-8000-00000000000a:1"
#define BOB1 "bbbbbbbb-0000-4000-8000-00000000000b:1"
#define CFG  "'3000 3600000 10000 1 PUBLISH leash:wake:'"

static struct sim_lua *lua;
static struct sim_server *server, *other; /* which is of 6.2 */
static struct sim_keyspace copy;
static int64_t now_us;
static char noted[1000];

static void
begin(void)
{
	lua = sim_lua_new();
	server = sim_server_new(lua, NULL, NULL);
	other = sim_server_new(lua, NULL, NULL);
	other->version = 0;
	now_us = INT64_C(1760000000000000);
}

static void
end(void)
{
	sim_server_free(server);
	sim_server_free(other);
	sim_keyspace_clear(&copy);
	sim_lua_free(lua);
}

FIXTURE(begin, end);

/* What it answers: the first word of an error, or all elements. The name of a script is its text, or its sum. */
static const char *
ask(struct sim_server *asked, char **word)
{
	struct lsh_arg args[WORDS];
	char text[1000] = "";
	size_t n = 0;

	for (; *word[n] != '\0'; n++) {
		args[n] = lsh_arg_text(word[n]);
		for (const struct lsh_script *const *s = lsh_scripts; n > 0 && *s != NULL; s++)
			if (strcmp(word[n], (*s)->name) == 0)
				args[n] = lsh_arg_text(strcmp(word[0], "EVALSHA") == 0 ? (*s)->sha1 : (*s)->text);
	}
	const struct lsh_message *m = sim_server_run(asked, args, n, now_us);
	if (m->type == LSH_ERROR)
		return seen("%.*s", (int)strcspn(m->item[0].text, " "), m->item[0].text);
	for (unsigned i = 0; i < m->count; i++) {
		const struct lsh_item *item = &m->item[i];
		const char *shown = item->type == LSH_INTEGER ? seen_number(item->integer) : item->text;

		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", shown);
	}
	return seen("%s", text);
}

static void
print(const struct sim_keyspace *keys, char out[static 1000])
{
	FILE *file = fmemopen(out, 1000, "w");

	sim_keyspace_print(keys, now_us / 1000, file);
	fclose(file);
}

static const char *
is_noted(const struct sim_keyspace *keys)
{
	char found[1000];

	print(keys, found);
	return seen_whether(strcmp(found, noted) == 0);
}

SEES(say, ask(server, word + 1))
SEES(say_other, ask(other, word + 1))
DOES(later, now_us += 1000 * number_of(word[1], 0)) /* ms */
DOES(set_clock, sim_server_set_clock(server, now_us, 1000 * number_of(word[1], 0), number_of(word[2], 0))) /* ms, ppm */
DOES(copy, sim_keyspace_copy(&copy, &server->context.keyspace); print(&copy, noted))
SEES(copy_is_noted, is_noted(&copy))
SEES(keys_are_noted, is_noted(&server->context.keyspace))
DOES(restart, sim_server_restart(server, &server->context.keyspace))
DOES(restart_with_copy, sim_server_restart(server, &copy))
DOES(restart_empty, sim_server_restart(server, NULL))

#define ACQUIRE(token) "say EVAL acquire 3 " KEYS token " 30000 9000000000000000 " CFG ";"

SCENE(a_copy_is_left_as_it_is_by_what_becomes_of_the_original,
      ACQUIRE(ANN1) ACQUIRE(BOB1) "copy; keys_are_noted = yes; say HSET " LOCK " " ANN1 " 2; copy_is_noted = yes;"
      "keys_are_noted = no; say ZADD " LOCK ":queue 1 more; say PEXPIRE " LOCK ":fence 1; say FLUSHALL;"
      "copy_is_noted = yes; restart_with_copy; keys_are_noted = yes; say HEXISTS " LOCK " " ANN1 " = 1; say DBSIZE = 3")

SCENE(a_clock_that_jumps_takes_the_ttls_with_it,
      "say SET a 1 PX 1000; set_clock -60000; say PTTL a = 61000; set_clock 2000; say PTTL a = -2")
SCENE(a_clock_that_drifts_gains_from_when_it_was_set,
      "set_clock 5000 1000; later 3600000; say TIME = '1760003608 600000'")

SCENE(a_server_that_was_restarted_knows_no_script_and_has_the_keys_that_it_is_given,
      "say EVALSHA inspect 3 " KEYS "= NOSCRIPT; say SCRIPT LOAD inspect;"
      "say EVALSHA inspect 4 " KEYS LOCK ":limit 1 !~ NOSCRIPT;"
      "say SET a 1; restart; say EVALSHA inspect 3 " KEYS "= NOSCRIPT; say EXISTS a = 1;"
      "restart_empty; say EXISTS a = 0")
SCENE(servers_share_an_interpreter_and_nothing_else,
      ACQUIRE(ANN1) "say_other EVAL 'return redis.REDIS_VERSION_NUM or \"none\"' 0 = none; say_other DBSIZE = 0;"
      "say_other EVALSHA acquire 0 = NOSCRIPT;"
      "say EVAL 'return redis.REDIS_VERSION_NUM or \"none\"' 0 = 459264; say DBSIZE = 2")
