/* What the scripts of lib/lua cost the server: how many Redis commands, and how much CPU.
 *
 * They are sent as leash sends them, over one connection by hiredis, in these ways:
 *
 * - pair: an acquire and a release of a lock that nobody else wants.
 * - turn: CONTENDERS clients want one lock. Its holder releases, which gives it to the next in the queue, and asks
 *   again, which takes a place at the end: these two scripts are a turn. The clients listen over one connection, which
 *   is read after each turn.
 * - turn-piped: the same, PIPED turns in one write.
 * - heartbeat: of one that waits.
 * - renew: HOLDS locks, a script for each, all of them in one write.
 * - renew-many: the same locks in one script. A ratio is that to renew, as there was no such script before.
 * - share: a permit that nobody else wants, as pair; its ratio is that to pair. share-beside: another one is out.
 *   share-turn: as turn, for one permit; its ratio is that to turn.
 *
 * A command is what the server counts as one (INFO commandstats): each script, and each command that it gives. CPU is
 * that of the server's main thread (INFO cpu), with all that it takes to be woken, to read and to write: where the next
 * script is sent only when the one before was answered, that is about half of it. "of it, user" is what is spent in
 * Redis, and "in scripts" what Redis itself measures from begin to end of each (commandstats, in whole us each).
 *
 * --against=FOLDER measures another version's scripts, another lib/lua, in the same rounds, in turns who is first.
 * Ratios are those of neighbors; figures are medians of the rounds. */
#include "bench/program.h"

#include <leash.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTENDERS = 8, PIPED = 50, HOLDS = 100, MAX_ARGS = 512, TEXT_SIZE = 128, SCRIPT_SIZE = 32768 };

#define LEASE "30000"
#define CFG "3000 3600000 10000 1 PUBLISH leash:wake:"

/* ---- the scripts of a version ---- */

enum script { ACQUIRE, RELEASE, HEARTBEAT, RENEW, SHARE_ACQUIRE, SHARE_RELEASE, SCRIPTS };

/* And what it was called before. Those that share are only ours. */
static const char *const names[SCRIPTS][2] = { { "acquire" }, { "release" }, { "heartbeat", "word" }, { "renew" },
                                               { "share_acquire" }, { "share_release" } };

struct version {
	const char *name;
	char sha1[SCRIPTS][41];
};

/* Append a file to `text`, and in place of each line "--@include FILE" that file of the same folder. False: it is not
 * there. */
static bool
read_lua(const char *folder, const char *name, char *text)
{
	static const char include[] = "--@include ";
	char path[4096], line[1024];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	while (fgets(line, sizeof line, file) != NULL) {
		const char *at = line + strspn(line, "\t ");

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(at, include, strlen(include)) == 0)
			read_lua(folder, at + strlen(include), text);
		else if (strlen(text) + strlen(line) + 2 < SCRIPT_SIZE)
			strcat(strcat(text, line), "\n");
		else
			die("%s is too long", path);
	}
	fclose(file);
	return true;
}

/* From `folder`; NULL: from the library. */
static void
load(struct version *v, struct server *server, const char *folder)
{
	leash_script script = { .size = sizeof script };

	for (int i = 0; i < (folder != NULL ? SHARE_ACQUIRE : SCRIPTS); i++) {
		char file[32], text[SCRIPT_SIZE] = "";

		snprintf(file, sizeof file, "%s.lua", names[i][0]);
		if (folder != NULL && !read_lua(folder, file, text) && names[i][1] != NULL) {
			snprintf(file, sizeof file, "%s.lua", names[i][1]);
			read_lua(folder, file, text);
		}
		for (size_t at = 0; folder == NULL && leash_script_at(at, &script); at++)
			if (strcmp(script.name, names[i][0]) == 0)
				snprintf(text, sizeof text, "%s", script.text);
		if (text[0] == '\0')
			die("there is no %s/%s", folder, file);
		snprintf(v->sha1[i], sizeof v->sha1[i], "%s", server_text(server, "SCRIPT LOAD %s", text));
	}
}

/* ---- saying them ---- */

static redisContext *connection, *ear;
static const struct version *said; /* the version that is being measured */

struct speech {
	const char *argv[MAX_ARGS];
	int count;
};

static void
push(struct speech *w, const char *word)
{
	w->argv[w->count++] = word;
}

/* A script and its keys, those of the lock `name`. */
static struct speech
begin(enum script script, const char *name)
{
	static char keys[4][TEXT_SIZE];
	static const char *const ends[4] = { "", ":fence", ":queue", ":limit" };
	const bool shares = script >= SHARE_ACQUIRE;
	struct speech w = { .count = 0 };

	push(&w, "EVALSHA");
	push(&w, said->sha1[script]);
	push(&w, shares ? "4" : "3");
	for (int i = 0; i < (shares ? 4 : 3); i++) {
		snprintf(keys[i], sizeof keys[i], "leash:{%s}%s", name, ends[i]);
		push(&w, keys[i]);
	}
	return w;
}

static void
say(const struct speech *w)
{
	if (redisAppendCommandArgv(connection, w->count, (const char **)(uintptr_t)w->argv, NULL) != REDIS_OK)
		die("hiredis: %s", connection->errstr);
}

/* The answer, or the item `at` of it. */
static long long
hear(size_t at)
{
	redisReply *reply, *item;
	long long n;

	if (redisGetReply(connection, (void **)&reply) != REDIS_OK)
		die("hiredis: %s", connection->errstr);
	item = reply->type == REDIS_REPLY_ARRAY && at < reply->elements ? reply->element[at] : reply;
	if (item->type != REDIS_REPLY_INTEGER)
		die("the server says %s", item->str != NULL ? item->str : "what it should not");
	n = item->integer;
	freeReplyObject(reply);
	return n;
}

static void
check(bool right, const char *what)
{
	if (!right)
		die("%s was not answered as it should be", what);
}

static const char *
client_of(int i)
{
	static char client[CONTENDERS][48];

	snprintf(client[i], sizeof client[i], "%08d-0000-4000-8000-000000000000", i);
	return client[i];
}

static const char *need = ""; /* behind a token that shares */

/* A new token of client `i`. */
static const char *
token_of(char token[static TEXT_SIZE], int i)
{
	static uint64_t number;

	snprintf(token, TEXT_SIZE, "%.36s:%" PRIu64 "%s", client_of(i), ++number, need);
	return token;
}

/* ACQUIRE and RELEASE, or those of a way that shares. */
static enum script asks = ACQUIRE, releases = RELEASE;

static void
say_ask(const char *name, const char *token)
{
	struct speech w = begin(asks, name);

	push(&w, token);
	push(&w, LEASE);
	push(&w, "9000000000000000");
	push(&w, CFG);
	say(&w);
}

static void
say_release(const char *name, const char *token)
{
	struct speech w = begin(releases, name);

	push(&w, token);
	push(&w, CFG);
	say(&w);
}

/* ---- the ways ---- */

static void
pair(void)
{
	char token[TEXT_SIZE];

	say_ask("pair", token_of(token, 0));
	check(hear(0) > 1, "an ask for a free lock");
	say_release("pair", token);
	check(hear(0) == 1, "a release");
}

static char contender[CONTENDERS][TEXT_SIZE]; /* a ring of their tokens */
static int holder;

static void
queue_up(void)
{
	for (int i = 0; i < CONTENDERS; i++) {
		say_ask("turn", token_of(contender[i], i));
		check((hear(0) > 1) == (i == 0), "an ask");
	}
	holder = 0;
}

static void
leave(void)
{
	freeReplyObject(redisCommand(connection, "DEL leash:{turn} leash:{turn}:queue"));
}

static void
share_with(const char *permit)
{
	asks = SHARE_ACQUIRE;
	releases = SHARE_RELEASE;
	need = permit;
}

static void
share(void)
{
	share_with(" 1/8");
}

static void
share_beside(void)
{
	char token[TEXT_SIZE];

	share();
	say_ask("pair", token_of(token, 1));
	check(hear(0) > 1, "an ask for one of eight");
}

static void
share_turn(void)
{
	share_with(" 1/1");
	queue_up();
}

static void
share_no_more(void)
{
	asks = ACQUIRE;
	releases = RELEASE;
	need = "";
	freeReplyObject(redisCommand(connection, "DEL leash:{pair} leash:{turn} leash:{turn}:queue"));
}

static void
hear_release(void)
{
	redisReply *message;

	check(hear(0) == 1, "a release");
	if (redisGetReply(ear, (void **)&message) != REDIS_OK)
		die("hiredis: %s", ear->errstr);
	freeReplyObject(message);
}

static void
turn(void)
{
	say_release("turn", contender[holder]);
	hear_release();
	say_ask("turn", token_of(contender[holder], holder));
	check(hear(0) == 0, "an ask of one who has to wait");
	holder = (holder + 1) % CONTENDERS;
}

static void
turn_piped(void)
{
	for (int i = 0; i < PIPED; i++, holder = (holder + 1) % CONTENDERS) {
		say_release("turn", contender[holder]);
		say_ask("turn", token_of(contender[holder], holder));
	}
	for (int i = 0; i < PIPED; i++) {
		hear_release();
		check(hear(0) == 0, "an ask of one who has to wait");
	}
}

static void
heartbeat(void)
{
	struct speech w = begin(HEARTBEAT, "turn");

	push(&w, client_of(1));
	push(&w, LEASE);
	push(&w, contender[1]);
	push(&w, CFG);
	say(&w);
	check(hear(2) == 0, "a heartbeat");
}

static char held[HOLDS][TEXT_SIZE], held_by[HOLDS][TEXT_SIZE], lease_ms[TEXT_SIZE], fence_ms[TEXT_SIZE];

static void
hold_many(void)
{
	for (int i = 0; i < HOLDS; i++) {
		snprintf(held[i], sizeof held[i], "leash:{renew-%d}", i);
		freeReplyObject(redisCommand(connection, "HSET %s %s 1", held[i], token_of(held_by[i], 0)));
		freeReplyObject(redisCommand(connection, "PEXPIRE %s " LEASE, held[i]));
		freeReplyObject(redisCommand(connection, "SET %s:fence 1760000000000000 PX 3600000", held[i]));
	}
}

/* Each time lease and fence are a little longer, as if time had passed since the renewal before. */
static void
let_pass(void)
{
	static int times;

	times++;
	snprintf(lease_ms, sizeof lease_ms, "%d", 30000 + times);
	snprintf(fence_ms, sizeof fence_ms, "%d", 3600000 + times);
}

static void
renew(void)
{
	let_pass();
	for (int i = 0; i < HOLDS; i++)
		say(&(struct speech){ { "EVALSHA", said->sha1[RENEW], "1", held[i], held_by[i], lease_ms, "1", fence_ms }, 8 });
	for (int i = 0; i < HOLDS; i++)
		check(hear(0) == 1, "a renewal");
}

/* As leash would: fences are kept now and then, and not by each renewal. */
static void
renew_many(void)
{
	struct speech w = { { "EVALSHA", said->sha1[RENEW], "0", "0" }, 4 };

	let_pass();
	for (int i = 0; i < HOLDS; i++) {
		push(&w, held[i]);
		push(&w, held_by[i]);
		push(&w, lease_ms);
		push(&w, "1");
	}
	say(&w);
	check(hear(HOLDS - 1) == 1, "many renewals");
}

static void
nothing(void)
{
}

enum what { COMMANDS, CPU, USER, INSIDE, RATIO, WHATS };

static struct way {
	const char *name;
	void (*before)(void), (*act)(void), (*after)(void);
	int times;          /* in 100 ms, about */
	int size;           /* of what an act is */
	double bar[WHATS];  /* 0: there is none */
	struct way *than;   /* what its CPU is compared with; NULL: theirs */
	double figures[WHATS][2][MAX_ROUNDS];
} ways[] = {
	{ .name = "pair", .before = nothing, .act = pair, .after = nothing, .times = 1000, .size = 1,
	  .bar = { [COMMANDS] = 9 } },
	{ .name = "turn", .before = queue_up, .act = turn, .after = leave, .times = 1000, .size = 1,
	  .bar = { [COMMANDS] = 15.01 } },
	{ .name = "turn-piped", .before = queue_up, .act = turn_piped, .after = leave, .times = 60, .size = PIPED,
	  .bar = { [COMMANDS] = 15.01 } },
	{ .name = "heartbeat", .before = queue_up, .act = heartbeat, .after = leave, .times = 2000, .size = 1,
	  .bar = { [COMMANDS] = 9 } },
	{ .name = "renew", .before = hold_many, .act = renew, .after = nothing, .times = 100, .size = HOLDS,
	  .bar = { [COMMANDS] = 4 } },
	{ .name = "renew-many", .before = hold_many, .act = renew_many, .after = nothing, .times = 400, .size = HOLDS,
	  .bar = { [COMMANDS] = 2.01, [INSIDE] = 10, [RATIO] = 0.375 }, .than = &ways[4] },
	{ .name = "share", .before = share, .act = pair, .after = share_no_more, .times = 1000, .size = 1,
	  .bar = { [COMMANDS] = 9, [RATIO] = 1.3 }, .than = &ways[0] },
	{ .name = "share-beside", .before = share_beside, .act = pair, .after = share_no_more, .times = 1000, .size = 1,
	  .bar = { [COMMANDS] = 13 }, .than = &ways[0] },
	{ .name = "share-turn", .before = share_turn, .act = turn, .after = share_no_more, .times = 1000, .size = 1,
	  .bar = { [COMMANDS] = 23.01 }, .than = &ways[1] },
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct {
	const char *text;
	int decimals;
} whats[WHATS] = {
	[COMMANDS] = { "commands", 2 },
	[CPU] = { "CPU, us", 2 },
	[USER] = { "of it, user, us", 2 },
	[INSIDE] = { "in scripts, us", 2 },
	[RATIO] = { "CPU, to theirs", 3 },
};

/* ---- measuring ---- */

/* What INFO says behind `name`; 0: it does not. */
static double
info(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

/* All that were counted since CONFIG RESETSTAT, but for that and INFO. */
static double
count_commands(const char *stats)
{
	double sum = 0;

	for (const char *at = stats; (at = strstr(at, "cmdstat_")) != NULL; at++)
		if (strncmp(at, "cmdstat_info", 12) != 0 && strncmp(at, "cmdstat_config", 14) != 0)
			sum += info(at, "calls=");
	return sum;
}

static void
measure(struct way *way, struct server *server, const struct version *v, int which, int round, int64_t run_ns)
{
	static const char user[] = "used_cpu_user_main_thread:", system[] = "used_cpu_sys_main_thread:";
	int times = (int)(way->times * run_ns / 100000000) + 1;
	double n = (double)times * way->size, user_us, system_us;
	const char *text;

	said = v;
	way->before();
	for (int i = 0; i < times / 20; i++)
		way->act(); /* so that it is warm */
	server_text(server, "CONFIG RESETSTAT");
	text = server_text(server, "INFO cpu");
	user_us = info(text, user);
	system_us = info(text, system);
	for (int i = 0; i < times; i++)
		way->act();
	text = server_text(server, "INFO cpu");
	user_us = 1e6 * (info(text, user) - user_us);
	system_us = 1e6 * (info(text, system) - system_us);
	text = server_text(server, "INFO commandstats");
	way->after();
	way->figures[COMMANDS][which][round] = count_commands(text) / n;
	way->figures[CPU][which][round] = (user_us + system_us) / n;
	way->figures[USER][which][round] = user_us / n;
	way->figures[INSIDE][which][round] = info(strstr(text, "cmdstat_evalsha:"), "usec=") / n;
}

static void
run_way(struct way *way, struct server *server, const struct version *v, int versions, int round, int64_t run_ns)
{
	int several = way->than == NULL ? versions : 1;
	double base;

	for (int i = 0; i < several; i++)
		measure(way, server, &v[(i + round) % several], (i + round) % several, round, run_ns);
	base = (way->than != NULL ? way->than : way)->figures[CPU][versions - 1][round];
	if (base <= 0)
		die("the server does not say how much CPU its main thread used (INFO cpu)");
	way->figures[RATIO][0][round] = way->figures[CPU][0][round] / base;
}

/* By its name, or because another way is compared with it. */
static bool
is_wanted(const struct settings *s, const struct way *way)
{
	for (const struct way *other = ways; other < ways + WAYS; other++)
		if (other->than == way && program_wants(s, other->name))
			return true;
	return program_wants(s, way->name);
}

/* Counts what was missed. */
static void
print_way(struct way *way, int rounds, int versions, unsigned *missed)
{
	for (enum what what = 0; what < WHATS; what++) {
		double ours = median(way->figures[what][0], (size_t)rounds), bar = way->bar[what];

		if (what == RATIO && versions == 1 && way->than == NULL)
			continue;
		printf("  %-12s %-20s %9.*f", way->name, whats[what].text, whats[what].decimals, ours);
		if (versions == 2 && what != RATIO && way->than == NULL)
			printf("  theirs %9.*f", whats[what].decimals, median(way->figures[what][1], (size_t)rounds));
		if (bar != 0)
			printf("  <= %-6g %s", bar, ours <= bar ? "ok" : "MISSED");
		putchar('\n');
		*missed += bar != 0 && ours > bar;
	}
	putchar('\n');
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: scripts [OPTION]...\n"
	"Measure what the scripts cost the server: commands, and CPU.\n"
	"Starts a redis-server of its own, and ends it. Takes half a minute.\n"
	"\n"
	"  --against=FOLDER  measure the scripts in that folder, too: another version's lib/lua\n"
	"  --ms=N            of each way in a round, about; default 200\n"
	"  --rounds=N        of all of them; default 15\n"
	"  --only=WAY        pair, turn, turn-piped, heartbeat, renew (and renew-many), or those that share\n"
	"  --check           exit with 1 if a bar is missed\n"
	"  --help            this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything went wrong.\n";

/* The value of --against, which is taken out of the command line; NULL: it is not there. */
static const char *
take_against(int *argc, char **argv)
{
	static const char option[] = "--against=";
	const char *folder = NULL;
	int n = 1;

	for (int i = 1; i < *argc; i++)
		if (strncmp(argv[i], option, strlen(option)) == 0)
			folder = argv[i] + strlen(option);
		else
			argv[n++] = argv[i];
	argv[n] = NULL;
	*argc = n;
	return folder;
}

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 15, .run_ns = 200000000 };
	struct version v[2] = { { .name = "ours" }, { .name = "theirs" } };
	const char *against = take_against(&argc, argv);
	int versions = against != NULL ? 2 : 1;
	struct server *server;
	unsigned missed = 0, wanted = 0;

	program_read(&s, argc, argv, help, "ms", true);
	for (struct way *way = ways; way < ways + WAYS; way++)
		wanted += is_wanted(&s, way);
	if (wanted == 0)
		die("--only: there is no way '%s'; see --help", s.only);
	server = server_start(NULL);
	program_begin(&s, server, "ms");
	load(&v[0], server, NULL);
	if (against != NULL)
		load(&v[1], server, against);
	connection = server_connect(server);
	ear = server_connect(server);
	for (int i = 0; i < CONTENDERS; i++)
		freeReplyObject(redisCommand(ear, "SUBSCRIBE leash:wake:%s", client_of(i)));
	for (int round = 0; round < s.rounds; round++)
		for (struct way *way = ways; way < ways + WAYS; way++)
			if (is_wanted(&s, way))
				run_way(way, server, v, versions, round, s.run_ns);
	for (struct way *way = ways; way < ways + WAYS; way++)
		if (is_wanted(&s, way))
			print_way(way, s.rounds, versions, &missed);
	redisFree(ear);
	redisFree(connection);
	server_stop(server);
	return program_end(&s, missed);
}
