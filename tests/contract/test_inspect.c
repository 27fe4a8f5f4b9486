/* Looking at a lock: what the server knows of it, and what is made of it where others wrote into the server; and who waits:
 * leash_lock_waiters() tells of each place in the queue, first comes first, whatever the server says. */
#include "tests/contract/interface.h"

#include <unistd.h>

/* Of each test. */
static leash_client *client;
static leash_lock *lock; /* "law", of a client that has nothing to do with those who hold it */
static leash_lock_info info;

static void
set_up(void)
{
	place_resume();
	place_flush();
	client = kept(place_client(LEASH_OPTIONS(.timeout_ms = 20000)));
	lock = kept(leashed_lock(client, "law", NULL));
	memset(&info, 0x5a, sizeof info);
	info.size = sizeof info;
}

FIXTURE(set_up, NULL);
PLACE(interface_open);

static void
inspect(void)
{
	info.size = sizeof info;
	assert_status(LEASH_OK, leash_lock_inspect(lock, &info, &err));
	assert_int_equal(info.size, sizeof info);
	assert_string_equal(info.name, "law");
	assert_true(info.held == (info.depth > 0) && info.held == (info.remaining_ms != 0));
	assert_int_equal(info.held, info.holder.token[0] != '\0');
}

static void
see_that_nobody_is_known(void)
{
	inspect();
	assert_string_equal(info.holder.host, "");
	assert_string_equal(info.holder.program, "");
	assert_int_equal(info.holder.pid, 0);
	assert_int_equal(info.holder.since_ms, 0);
}

static int64_t
server_ms(void)
{
	return strtoll(place_text("law", "TIME"), NULL, 10) * 1000;
}

/* ---- what there is ---- */

static bool
note_hold(void *one, const leash_hold_info *hold)
{
	*(leash_hold_info *)one = *hold;
	return true;
}

SENTENCE(a_lock_that_is_held_tells_all_that_its_holder_knows)
{
	leash_hold_info hold = {.count = -1};
	leash_lock *theirs = kept(leashed_lock(kept(place_client(LEASH_OPTIONS(.lease_ms = 3000))), "law", NULL));
	char token[LEASH_TOKEN_MAX];
	int64_t before = server_ms();

	for (int i = 0; i < 3; i++)
		assert_status(LEASH_OK, leash_lock_acquire(theirs, 0, &err));
	inspect();
	assert_true(info.held);
	leash_lock_token(theirs, token, sizeof token);
	assert_string_equal(info.holder.token, token);
	assert_true(info.fence == leash_lock_fence(theirs));
	assert_in_range(info.held_since_ms, before, server_ms() + 1000);
	assert_in_range(info.remaining_ms, 1, 3000);
	assert_int_equal(info.waiting, 0);
	assert_status(LEASH_OK, leash_lock_holders(lock, &info, note_hold, &hold, &err));
	assert_string_equal(hold.who.token, token);
	assert_true(info.kind == LEASH_KIND_MUTEX && info.out == 1 && info.limit == -1 && hold.count == 0 && hold.limit == 0);
	await_true((inspect(), info.depth == 3)); /* with its next renewal */
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	await_true((inspect(), info.depth == 2));
	assert_true(leash_lock_held(theirs));
}

/* ---- who that is ---- */

static void
hold_by_hand(void)
{
	place_flush();
	place_say("leash:{law}", "HSET leash:{law} " TOKEN " 4");
	place_say("leash:{law}", "PEXPIRE leash:{law} 60000");
	place_say("leash:{law}", "SET leash:{law}:fence 5");
}

static void
say_who(const char *text)
{
	place_say("leash:client:" UUID, "DEL leash:client:" UUID);
	place_say("leash:client:" UUID, "SET leash:client:" UUID " %s", text);
}

/* Which texts those are is said by unit/test_lock_line. */
SENTENCE(what_clients_do_not_write_is_not_told_and_harms_nobody)
{
	hold_by_hand();
	see_that_nobody_is_known(); /* nothing is there */
	say_who("1 2 host program more");
	see_that_nobody_is_known();
	place_say("leash:client:" UUID, "EVAL %s 1 leash:client:" UUID, /* more than leash would read */
	          "return redis.call('SET', KEYS[1], '1 2 host ' .. string.rep('p', 3000000))");
	see_that_nobody_is_known();
	place_say("leash:client:" UUID, "DEL leash:client:" UUID);
	place_say("leash:client:" UUID, "RPUSH leash:client:" UUID " 1 2 host program");
	see_that_nobody_is_known();
	say_who("1 2 host program");
	place_say_all("ACL SETUSER %s -getrange", place_user());
	see_that_nobody_is_known();
	place_say_all("ACL SETUSER %s +getrange", place_user());
	inspect();
	assert_int_equal(info.holder.pid, 1);
}

/* ---- what is there, whoever wrote it ---- */

#define HOLD(depth) "say('HSET', lock, '" TOKEN "', '" depth "') say('PEXPIRE', lock, 60000) "
#define FIELD(field) "say('HSET', lock, '" field "', 1) "
#define FENCE(last) "say('SET', fence, '" last "') "

/* Commands in Lua, and what is told then: "free", or that it is held, how deep and until when; the fence, in its grants;
 * who waits. */
static const struct {
	const char *made_by, *told;
} cases[] = {
	{"", "free, fence 0, 0 wait"},
	{FENCE("7"), "free, fence 7, 0 wait"},
	/* its lease is over */
	{"say('ZADD', queue, -1, '" UUID "', 5, '" TOKEN " 3000', 6, '" UUID ":43 3000')", "free, fence 0, 2 wait"},
	{FIELD(TOKEN), "held 1 for ever, fence 0, 0 wait"},
	{HOLD("7"), "held 7, fence 0, 0 wait"},
	/* a depth or a fence that is none does not hide who has the lock */
	{HOLD("65535") FENCE("1790000000000000"), "held 65535, fence 1790000000000000, 0 wait"},
	{HOLD("1") FENCE("9007199254740990"), "held 1, fence 0, 0 wait"},
	{HOLD("2") FENCE("1"), "held 2, fence 1, 0 wait"},
	{HOLD("x") FENCE("x"), "held 1, fence 0, 0 wait"},
	{HOLD("0") FENCE("0"), "held 1, fence 0, 0 wait"},
	{HOLD("-3") FENCE("-3"), "held 1, fence 0, 0 wait"},
	{HOLD("nan") FENCE("nan"), "held 1, fence 0, 0 wait"},
	{HOLD("inf") FENCE("inf"), "held 1, fence 0, 0 wait"},
	{HOLD("65536") FENCE("9007199254740994"), "held 1, fence 0, 0 wait"},
	{HOLD("1e300") FENCE("1e300"), "held 1, fence 0, 0 wait"},
	{HOLD("99999999999999999999999999") FENCE("99999999999999999999999999"), "held 1, fence 0, 0 wait"},
	/* what is no lock; which token is none is said by unit/test_lock_line */
	{"say('SET', lock, 1)", "MISMATCH"},
	{"say('RPUSH', lock, '" TOKEN "')", "MISMATCH"},
	{"say('SADD', fence, 1)", "MISMATCH"},
	{"say('SET', queue, 1)", "MISMATCH"},
	{FIELD("user"), "MISMATCH"},
	{FIELD(TOKEN) FIELD(UUID ":43"), "MISMATCH"},
	{FIELD(TOKEN) FIELD("user"), "MISMATCH"},
	{FIELD(TOKEN "x"), "MISMATCH"},
	{"for i = 1, 100000 do say('HSET', lock, i, i) end", "MISMATCH"}, /* a foreign hash may be of any size */
};

static const char say[] = "local lock, fence, queue = 'leash:{law}', 'leash:{law}:fence', 'leash:{law}:queue' "
                          "local say = redis.call ";

static const char *
told_of(const leash_lock_info *i)
{
	static char text[128];
	const char *until = i->remaining_ms == -1                             ? " for ever"
	                    : i->remaining_ms < 1 || i->remaining_ms > 60000 ? " for what?"
	                                                                      : "";
	char held[40] = "free";

	if (i->held)
		snprintf(held, sizeof held, "held %u%s", i->depth, until);
	snprintf(text, sizeof text, "%s, fence %llu%s, %u wait", held, (unsigned long long)(i->fence / 256),
	         i->fence % 256 ? "?" : "", i->waiting);
	return text;
}

static bool
visit(void *arg, const leash_lock_info *visited)
{
	*(leash_lock_info *)arg = *visited;
	return true;
}

/* Whoever scans is told of the same locks, and the same of them. */
static void
check_case(const char *made_by, const char *told)
{
	static const char all[] = "local all = '' local keys = redis.call('KEYS', '*') table.sort(keys) "
	                          "for _, key in ipairs(keys) do all = all .. redis.sha1hex(redis.call('DUMP', key)) end return all";
	leash_lock_info scanned = {.size = 0};
	const char *held = strncmp(told, "held", 4) == 0 ? told : "none";
	char before[1024], script[1024];

	place_flush();
	snprintf(script, sizeof script, "%s%s", say, made_by);
	place_say("leash:{law}", "EVAL %s 0", script);
	snprintf(before, sizeof before, "%s", place_text("law", "EVAL %s 0", all));
	spoil_error();
	memset(&info, 0x5a, sizeof info);
	info.size = sizeof info;
	leash_status status = leash_lock_inspect(lock, &info, &err);
	const char *found = status == LEASH_OK ? told_of(&info) : leash_status_name(status);
	if (strcmp(found, told) != 0)
		fail_msg("%s: told is %s, not %s", made_by, found, told);
	if (status == LEASH_OK)
		assert_string_equal(info.holder.token, info.held ? TOKEN : "");
	else
		check_text("lock 'law'");
	assert_true(status == LEASH_OK || info.name[0] == 0x5a); /* untouched */
	assert_status(LEASH_OK, leash_client_scan(client, NULL, visit, &scanned, &err));
	found = scanned.held ? told_of(&scanned) : "none";
	if (strcmp(found, held) != 0)
		fail_msg("%s: scanned is %s, not %s", made_by, found, held);
	assert_string_equal(place_text("law", "EVAL %s 0", all), before);
}

SENTENCE(what_is_there_is_told_as_it_is_and_left_alone)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		if (!place_is(PLACE_NO_QUEUE) || strstr(cases[i].made_by, "ZADD") == NULL)
			check_case(cases[i].made_by, cases[i].told);
}

/* ---- a server that does not, or not so ---- */

#define OF_A_LOCK "HLEN", "HGETALL", "PTTL", "GET", "ZCOUNT", "TIME", "EVALSHA"

static const struct {
	const char *call, *names, *commands[9]; /* that it needs */
} needs[] = {
	{"leash_lock_inspect", "lock 'law'", {OF_A_LOCK}},
	{"leash_client_scan", "", {OF_A_LOCK, "SCAN"}},
	{"leash_lock_adopt", "lock 'law'", {"HEXISTS"}},
	{"leash_lock_break", "lock 'law'", {"HLEN", "HDEL"}},
	/* what a quorum has not */
	{"leash_lock_waiters", "lock 'law'", {"ZRANGEBYSCORE"}},
	{"leash_semaphore_inspect", "semaphore 'permits'", {"TIME", "GET", "HLEN", "ZCOUNT", "ZREVRANGE", "EVALSHA"}},
	{"leash_semaphore_waiters", "semaphore 'permits'", {"ZRANGEBYSCORE"}},
	{"leash_semaphore_limit", "semaphore 'permits'", {"ZCOUNT", "GET", "SET", "EVALSHA"}},
	{"leash_semaphore_break", "semaphore 'permits'", {"HLEN", "ZCOUNT", "GET", "TIME", "ZREVRANGE", "EVALSHA", "ZREM"}},
	{"leash_latch_count_down", "latch 'latch'", {"TIME", "GET", "ZADD", "ZSCORE", "PEXPIRE", "ZREVRANGE", "EVALSHA"}},
};

static struct callee callee; /* the first is held by hand */

static void
see_that_all_is_as_it_was(__attribute__((unused)) void *arg)
{
	inspect();
	assert_true(info.held);
	assert_int_equal(leash_permit_held(callee.permit), callee.permit != NULL);
	callee_close(&callee);
}

static void
open_all(int64_t timeout_ms)
{
	client = kept(place_client(LEASH_OPTIONS(.timeout_ms = timeout_ms)));
	lock = kept(leashed_lock(client, "law", NULL));
	hold_by_hand();
	callee_open(&callee, client, lock);
	afterwards(see_that_all_is_as_it_was, NULL);
}

#define each_that_there_is(i) for (size_t i = 0; i < (place_is(PLACE_NO_QUEUE) ? 4 : COUNT(needs)); i++)

SENTENCE(a_permission_that_is_missing_is_named_and_all_stays_as_it_is)
{
	open_all(0);
	each_that_there_is(i)
		for (const char *const *command = needs[i].commands; *command != NULL; command++) {
			place_say_all("ACL SETUSER %s -%s", place_user(), *command);
			assert_refused(LEASH_DENIED, *command, calls_make(&callee, needs[i].call));
			check_text(needs[i].names);
			place_say_all("ACL SETUSER %s +%s", place_user(), *command);
		}
}

SENTENCE(a_server_that_stands_still_is_unavailable_and_all_stays_as_it_is)
{
	open_all(300);
	place_pause();
	each_that_there_is(i) {
		int64_t begun = await_now_ns();

		assert_refused(LEASH_UNAVAILABLE, needs[i].names, calls_make(&callee, needs[i].call));
		assert_true(await_now_ns() - begun >= 290 * MS); /* timeout_ms */
	}
	assert_status(LEASH_UNAVAILABLE, leash_lock_inspect(lock, &info, &err));
	assert_int_equal(info.name[0], 0x5a); /* untouched */
	place_resume();
	await_true(leash_lock_inspect(lock, &info, &err) == LEASH_OK);
}

SENTENCE(an_answer_that_is_lost_is_asked_for_again_and_so_is_a_script_that_the_server_has_forgotten,
         .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	leash_client *far = kept(leashed_open(proxy_uri(proxy), NULL));
	leash_lock *theirs = kept(leashed_lock(far, "law", NULL));

	hold_by_hand();
	say_who("1 2 host program");
	inspect();
	for (int i = 0; i < 3; i++) {
		info.depth = 0;
		if (i == 0)
			proxy_cut_request(proxy, "evalsha");
		else
			proxy_cut_reply(proxy, i == 1 ? "evalsha" : "getrange", 3);
		assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
		assert_true(proxy_hit(proxy));
		assert_int_equal(info.depth, 4);
		assert_string_equal(info.holder.host, "host");
	}
	place_say_all("SCRIPT FLUSH");
	assert_status(LEASH_OK, leash_lock_inspect(theirs, &info, &err));
	assert_int_equal(info.depth, 4);
}

/* ---- who waits ---- */

/* What is told to who asks. */
struct seen {
	size_t count, most, unknown;
	leash_waiter_info waiter[8]; /* the first */
	int64_t since_ms;            /* of the last */
	uint64_t position;
};
static struct seen seen;

static bool
see(void *arg, const leash_waiter_info *waiter)
{
	(void)arg;
	assert_int_equal(waiter->size, sizeof *waiter);
	assert_int_equal(waiter->position, seen.position + 1);
	assert_true(waiter->waiting_since_ms >= seen.since_ms);
	if (seen.count < 8)
		seen.waiter[seen.count] = *waiter;
	seen.position = waiter->position;
	seen.since_ms = waiter->waiting_since_ms;
	seen.unknown += waiter->who.pid == 0;
	return ++seen.count != seen.most;
}

/* `most` are enough; 0: all. */
static leash_status
ask(size_t most)
{
	seen = (struct seen){.most = most};
	return leash_lock_waiters(lock, see, NULL, &err);
}

/* So many places, of 7 clients that nobody knows. */
static void
make_places(long long places)
{
	place_integer("law", "EVAL %s 1 leash:{law}:queue %lld",
	               "for i = 1, tonumber(ARGV[1]) do "
	               "local place = string.format('0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1%d:%d 3000', i % 7, i) "
	               "redis.call('ZADD', KEYS[1], 1760000000000000 + i * 1000, place) end "
	               "for i = 0, 6 do local client = '0c6f1d52-8a1e-4b7e-9d0a-3f1c5e7a9b1' .. i "
	               "redis.call('ZADD', KEYS[1], -1760000010000000, client) end return 1",
	               places);
}

/* Who stands still for a moment is passed over: nobody may hold it for longer than that, or the others wait on. */
static void
take_a_turn(struct actor *a)
{
	actor_acquire(a);
	if (a->held)
		a->status = actor_give(a);
}

SENTENCE(who_waits_is_told_in_order_with_all_that_is_known, .but = PLACE_NO_QUEUE)
{
	static const char *const names[] = {"waiter-0", "waiter-1", "waiter-2", "waiter-3"};
	struct actor w[COUNT(names)];

	assert_status(LEASH_OK, ask(0));
	assert_int_equal(seen.count, 0);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	for (size_t i = 0; i < COUNT(names); i++) {
		leash_client *theirs = kept(place_client(LEASH_OPTIONS(.client_name = names[i])));

		actor_begin(&w[i], kept(leashed_lock(theirs, "law", NULL)), LEASH_FOREVER);
		actor_tell(&w[i], take_a_turn);
		place_await_waiting("law", (int64_t)i + 1);
	}
	assert_status(LEASH_OK, ask(0));
	assert_int_equal(seen.count, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++) {
		const leash_party *who = &seen.waiter[i].who;

		assert_string_equal(who->program, names[i]);
		assert_int_equal(who->pid, getpid());
		assert_string_not_equal(who->host, "");
		assert_in_range(seen.waiter[i].waiting_since_ms, who->since_ms - 1000, who->since_ms + 100000);
	}
	assert_status(LEASH_OK, ask(2));
	assert_int_equal(seen.count, 2);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_heard(LEASH_OK, &w[i]);
		actor_end(&w[i]);
	}
}

/* From now on the server has a replica, to which nothing is sent but what it has, and which says nothing. */
static redisContext *
join_as_replica(struct server *of)
{
	redisContext *replica = server_connect(of);
	int done = 0;

	redisAppendCommand(replica, "SYNC");
	while (!done)
		assert_int_equal(redisBufferWrite(replica, &done), REDIS_OK);
	await_true(strstr(server_text(of, "INFO replication"), "connected_slaves:0") == NULL);
	return replica;
}

/* A master that was replaced while it stood still passes on what its successor has published meanwhile, also for
 * clients that were counted as not hearing, and passed over. Here somebody has the lock, and who waits hears that it
 * got it. */
SENTENCE(what_a_replaced_master_passes_on_gives_nobody_the_lock, .but = PLACE_NO_QUEUE)
{
	bool is_sharded = deployment_cluster(place) != NULL;
	redisContext *replica = join_as_replica(deployment_master(place, 0));
	leash_client *theirs = kept(place_client(NULL));
	struct actor w;
	char channel[128], message[200];

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begin_waiting(&w, kept(leashed_lock(theirs, "law", NULL)), LEASH_FOREVER);
	place_await_waiting("law", 1);
	assert_status(LEASH_OK, ask(0));
	snprintf(channel, sizeof channel, "%s:wake:%.36s", is_sharded ? "leash:{law}" : "leash", seen.waiter[0].who.token);
	snprintf(message, sizeof message, "g %s %llu leash:{law}", seen.waiter[0].who.token,
	         (unsigned long long)leash_lock_fence(lock) / 256 + 1);
	uint64_t sent = stats_of(theirs).commands;
	await_true(place_integer("law", is_sharded ? "SPUBLISH %s %s" : "PUBLISH %s %s", channel, message) > 0);
	await_true(stats_of(theirs).commands > sent); /* it asks */
	assert_int_equal(stats_of(theirs).acquired, 0);
	assert_int_equal(place_integer("law", "HLEN leash:{law}"), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	end_waiting(&w);
	redisFree(replica);
}

SENTENCE(a_long_queue_is_told_whole, .but = PLACE_NO_QUEUE)
{
	static const long long lengths[] = {1, 63, 64, 65, 199, 200, 201, 400, 12345};

	for (size_t i = 0; i < COUNT(lengths); i++) {
		place_say("leash:{law}", "DEL leash:{law}:queue");
		make_places(lengths[i]);
		assert_status(LEASH_OK, ask(0));
		assert_int_equal(seen.count, lengths[i]);
		assert_int_equal(seen.unknown, lengths[i]);
	}
	/* one question for each client, in a queue of 12345 places */
	place_say_all("CONFIG RESETSTAT");
	assert_status(LEASH_OK, ask(0));
	assert_int_equal(calls_of("getrange"), 7); /* in a cluster another server may know who a client is */
}

/* The first 64, that is a batch, go while they are told of. */
static bool
let_them_go(void *arg, const leash_waiter_info *waiter)
{
	if (waiter->position == 1)
		place_say("leash:{law}", "ZREMRANGEBYSCORE leash:{law}:queue (0 1760000000064000");
	return see(arg, waiter);
}

SENTENCE(nobody_is_passed_over_who_moves_up_meanwhile, .but = PLACE_NO_QUEUE)
{
	seen = (struct seen){0};
	make_places(1000);
	assert_status(LEASH_OK, leash_lock_waiters(lock, let_them_go, NULL, &err));
	assert_int_equal(seen.count, 1000);
}

SENTENCE(a_queue_that_is_none_is_a_mismatch, .but = PLACE_NO_QUEUE)
{
	static const char *const queues[] = {
		"SET %s x", "HSET %s a b", "ZADD %s 5 x", "ZADD %s 5 " UUID ":1",
		"ZADD %s 1.5 " UUID ":1_3000",
		"ZADD %s 1e300 " UUID ":1_3000", "ZADD %s inf " UUID ":1_3000",
	};

	for (size_t i = 0; i < COUNT(queues); i++) {
		place_say("leash:{law}", "DEL leash:{law}:queue");
		place_say("leash:{law}", queues[i], "leash:{law}:queue");
		assert_refused(LEASH_MISMATCH, "lock 'law'", ask(0));
		assert_int_equal(seen.count, 0);
	}
}

static bool
close_it(void *theirs, const leash_waiter_info *waiter)
{
	(void)waiter;
	leash_close(theirs);
	return true;
}

SENTENCE(a_client_that_is_closed_meanwhile_ends_it, .but = PLACE_NO_QUEUE)
{
	leash_client *theirs = open_client();
	leash_lock *wanted = kept(leashed_lock(theirs, "law", NULL));

	make_places(1000);
	assert_status(LEASH_CLOSED, leash_lock_waiters(wanted, close_it, theirs, &err));
}
