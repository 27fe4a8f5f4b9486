/* The steps of a user who may not give every command: whatever is refused in their middle leaves no key without a TTL and no hold untold. */
#include "tests/redis/steps.h"
#include "tests/support/test.h"

/* Those that come after something was written, or take it back: where two that are missing make a difference. */
static const char *const late_commands[] = { "set", "hset", "hdel", "pexpire", "del", "zrem", "publish" };
enum { LATE_COMMANDS = sizeof late_commands / sizeof *late_commands };

static void
hold_by_ann(void)
{
	ask(ANN1);
}

static void
hold_by_bob(void)
{
	ask(BOB1);
}

static void
bob_holds_ann_waits(void)
{
	ask(BOB1);
	ask(ANN1);
}

static void
bob_holds_ann_waits_for_another(void)
{
	ask(BOB1);
	ask(ANN2);
}

static void
bob_holds_cid_waits(void)
{
	ask(BOB1);
	ask(CID1);
}

static void
bob_holds_ann_and_cid_wait(void)
{
	ask(BOB1);
	ask(ANN1);
	ask(CID1);
}

static void
bob_holds_ann_who_died_waits(void)
{
	bob_holds_ann_waits();
	bury(ANN);
}

static void
ann_holds_bob_waits(void)
{
	ask(ANN1);
	ask(BOB1);
}

static void
ann_holds_bob_and_cid_wait(void)
{
	ask(ANN1);
	ask(BOB1);
	ask(CID1);
}

static void
ann_holds_dan_waits_who_does_not_listen(void)
{
	ask(ANN1);
	ask(DAN1);
}

static void
ann_holds_dan_and_cid_wait(void)
{
	ask(ANN1);
	ask(DAN1);
	ask(CID1);
}

static void
ann_holds_bob_who_died_and_cid_wait(void)
{
	ann_holds_bob_and_cid_wait();
	bury(BOB);
}

static void
ann_was_granted_it_cid_waits(void)
{
	bob_holds_ann_and_cid_wait();
	release(BOB1);
}

static void
ann_holds_without_a_fence(void)
{
	ask(ANN1);
	expire(FENCE);
}

static void
free_ann_waits(void)
{
	bob_holds_ann_waits();
	expire(LOCK);
}

static void
free_cid_waits(void)
{
	bob_holds_cid_waits();
	expire(LOCK);
}

static void
free_ann_and_cid_wait(void)
{
	bob_holds_ann_and_cid_wait();
	expire(LOCK);
}

static void
free_cid_and_ann_wait(void)
{
	bob_holds_cid_waits();
	ask(ANN1);
	expire(LOCK);
}

static void
free_cid_waits_who_died(void)
{
	free_cid_waits();
	bury(CID);
}

static void
nothing(void)
{
}

static struct answer ann_asks(void) { return ask(ANN1); }
static struct answer ann_tries(void) { return try(ANN1); }
static struct answer ann_releases(void) { return release(ANN1); }
static struct answer ann_says_a_word(void) { return word(ANN, ANN1); }
static struct answer ann_renews(void) { return renew(ANN1, "12000000", "2"); }

/* What ANN, lacking some right, does to what others with all rights have left. Each goes another way through a script. */
static const struct {
	void (*before)(void);
	struct answer (*act)(void);
} situations[] = {
	{ nothing, ann_asks },
	{ hold_by_bob, ann_asks },
	{ hold_by_bob, ann_tries },
	{ hold_by_ann, ann_asks },
	{ bob_holds_ann_waits, ann_asks },
	{ bob_holds_ann_who_died_waits, ann_asks },
	{ bob_holds_ann_waits_for_another, ann_asks },
	{ bob_holds_cid_waits, ann_asks },
	{ ann_was_granted_it_cid_waits, ann_asks },
	{ ann_holds_without_a_fence, ann_asks },
	{ free_ann_waits, ann_asks },
	{ free_ann_and_cid_wait, ann_asks },
	{ free_cid_waits, ann_asks },
	{ free_cid_waits, ann_tries },
	{ free_cid_waits_who_died, ann_asks },
	{ free_cid_waits_who_died, ann_tries },
	{ hold_by_ann, ann_releases },
	{ ann_holds_bob_waits, ann_releases },
	{ ann_holds_bob_and_cid_wait, ann_releases },
	{ ann_holds_bob_who_died_and_cid_wait, ann_releases },
	{ ann_holds_dan_waits_who_does_not_listen, ann_releases },
	{ ann_holds_dan_and_cid_wait, ann_releases },
	{ bob_holds_ann_waits, ann_releases },
	{ bob_holds_ann_and_cid_wait, ann_releases },
	{ free_ann_and_cid_wait, ann_releases },
	{ free_cid_waits, ann_releases },
	{ bob_holds_ann_waits, ann_says_a_word },
	{ bob_holds_ann_who_died_waits, ann_says_a_word },
	{ bob_holds_cid_waits, ann_says_a_word },
	{ ann_was_granted_it_cid_waits, ann_says_a_word },
	{ ann_holds_without_a_fence, ann_says_a_word },
	{ free_ann_waits, ann_says_a_word },
	{ free_ann_and_cid_wait, ann_says_a_word },
	{ free_cid_and_ann_wait, ann_says_a_word },
	{ free_cid_waits_who_died, ann_says_a_word },
	{ hold_by_ann, ann_renews },
	{ hold_by_bob, ann_renews },
};
enum { SITUATIONS = sizeof situations / sizeof *situations };

static const char *const all_tokens[] = { ANN1, ANN2, BOB1, CID1, DAN1 };
enum { TOKENS = sizeof all_tokens / sizeof *all_tokens };

/* Who holds and who waits. */
struct scene {
	char holder[48];
	char fence[24];
	bool waits[TOKENS];
	bool lives[TOKENS]; /* has a place, and its client lives and listens */
};

static struct scene
take_scene(void)
{
	struct scene scene = { .holder = "" };
	const char *waiting = places(), *fence = server_text(server, "GET " FENCE);

	snprintf(scene.fence, sizeof scene.fence, "%s", fence ? fence : "");
	snprintf(scene.holder, sizeof scene.holder, "%s", holder());
	for (size_t i = 0; i < TOKENS; i++) {
		const char *token = all_tokens[i];
		char client[37];

		snprintf(client, sizeof client, "%s", token);
		scene.waits[i] = strstr(waiting, token) != NULL;
		scene.lives[i] = scene.waits[i] && strcmp(token, DAN1) != 0 && alive_until(client) > server_us();
	}
	return scene;
}

static bool
waits_or_holds(const struct scene *scene, size_t i)
{
	return scene->waits[i] || strcmp(scene->holder, all_tokens[i]) == 0;
}

static void
forget_messages(void)
{
	for (struct pubsub *l = listeners; l; l = l->next)
		messages(l);
}

/* Who was told that the lock is theirs: the token of the one new message; "" if there was none. */
static const char *
who_was_told(void)
{
	static char token[48];
	int told = 0;

	token[0] = '\0';
	for (struct pubsub *l = listeners; l; l = l->next) {
		int before = l->messages;

		if (messages(l) > before && sscanf(l->last, "g %47s", token) == 1)
			told += l->messages - before;
	}
	if (told > 1)
		fail_msg("%d were told", told);
	return token;
}

/* A string in the place of a lock or a queue is one that is just going. */
static bool
is_going(const char *key)
{
	return strcmp(server_text(server, "TYPE %s", key), "string") == 0;
}

/* What an ask or a word of ANN1's says of it: its fence, 0: queued, -1: neither. */
static int64_t
fence_in(struct answer answer, struct answer (*act)(void))
{
	if (answer.type == REDIS_REPLY_ERROR)
		return -1;
	if (act == ann_says_a_word)
		return state_of(answer);
	if (act != ann_asks && act != ann_tries)
		return -1;
	if (answer.type == REDIS_REPLY_INTEGER)
		assert_true(answer.integer > DAY); /* a time, so no number by mistake */
	else
		assert_not_held(answer);
	return answer.type == REDIS_REPLY_INTEGER ? answer.integer : act == ann_asks ? 0 : -1;
}

/* ANN does what she does in a situation, but may not give two commands (or one, twice named). */
static void
act_without(size_t situation, const char *first, const char *second, redisContext *limited)
{
	struct answer answer;
	struct scene was, is;
	int64_t fence;
	bool releases = situations[situation].act == ann_releases;
	bool lacks_hdel = strcmp(first, "hdel") == 0 || strcmp(second, "hdel") == 0;
	bool lacks_publish = strcmp(first, "publish") == 0 || strcmp(second, "publish") == 0;
	const char *told;

	order = NOTHING;
	server_text(server, "FLUSHALL");
	situations[situation].before();
	forget_messages();
	was = take_scene();
	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all -%s -%s", first, second);
	connection = limited;
	order = TTLS;
	answer = situations[situation].act();
	order = NOTHING;
	connection = unlimited;
	await_true(!is_going(LOCK) && !is_going(QUEUE));
	is = take_scene();
	told = who_was_told();

	/* What is said is true. */
	fence = fence_in(answer, situations[situation].act);
	if (fence > 0) {
		assert_string_equal(is.holder, ANN1);
		assert_int_equal(fence, strtoll(is.fence, NULL, 10));
		if (strcmp(was.holder, ANN1) == 0 && *was.fence)
			assert_string_equal(is.fence, was.fence);
	} else if (fence == 0) {
		assert_true(is.waits[0]);
		assert_true(is.lives[0]);
	}
	if (*told)
		assert_string_equal(is.holder, told);
	if (releases && answer.type == REDIS_REPLY_INTEGER)
		assert_false(waits_or_holds(&is, 0));
	if (releases && strcmp(was.holder, ANN1) == 0 && !lacks_hdel)
		assert_number(answer, 1);
	if (releases && was.waits[0] && !is.waits[0])
		assert_number(answer, 2);
	if (strcmp(first, "publish") == 0 && strcmp(second, "publish") == 0)
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);
	if (situations[situation].act == ann_renews && strcmp(first, "hset") == 0 && strcmp(second, "hset") == 0)
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);

	/* Where nobody could be given the lock, nobody is told to come again at once. */
	if (fence >= 0)
		assert_string_not_equal(is.holder, "");

	/* What is true is said, or will be by the next word, before the claim is over. */
	if (*is.holder && strcmp(is.holder, was.holder) != 0 && fence <= 0 && !*told) {
		assert_true(lacks_publish || strcmp(is.holder, DAN1) == 0);
		assert_ttl(LOCK, CLAIM);
	}

	/* Nobody's place is lost. */
	for (size_t i = 0; i < TOKENS; i++)
		if (was.lives[i] && !(releases && i == 0))
			assert_true(waits_or_holds(&is, i));

	/* And all of it goes by cancels. */
	for (size_t i = 0; i < TOKENS; i++)
		release(all_tokens[i]);
	assert_false(exists(LOCK));
	assert_false(exists(QUEUE));
}

static void
act_with_rights_missing(bool two)
{
	redisContext *limited = server_connect(server);

	listen_for(ANN);
	listen_for(BOB);
	listen_for(CID);
	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all");
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
	for (size_t i = 0; i < SITUATIONS; i++) {
		for (size_t first = 0; !two && first < COMMANDS; first++)
			act_without(i, commands[first], commands[first], limited);
		for (size_t first = 0; two && first < LATE_COMMANDS; first++)
			for (size_t second = 0; second < first; second++)
				act_without(i, late_commands[first], late_commands[second], limited);
	}
	redisFree(limited);
	server_integer(server, "ACL DELUSER ann");
}

FIXTURE(clean, close_listeners);
GROUP(start, stop);

SENTENCE(a_right_that_is_missing_leaves_no_key_without_a_ttl_and_no_hold_untold)
{
	act_with_rights_missing(false);
}

SENTENCE(two_rights_that_are_missing_leave_no_key_without_a_ttl_and_no_hold_untold)
{
	act_with_rights_missing(true);
}

SENTENCE(who_may_not_set_a_ttl_is_told_so_and_gets_nothing)
{
	redisContext *limited = server_connect(server);
	struct answer answer;

	server_text(server, "ACL SETUSER ann reset on nopass ~* &* +@all -pexpire");
	freeReplyObject(redisCommand(limited, "AUTH ann any"));
	connection = limited;
	answer = ask(ANN1);
	connection = unlimited;
	assert_error(answer, "ERR");
	assert_non_null(strstr(answer.text, "ser")); /* "The user executing ..." (6.2), "ACL failure ... User ..." (later) */
	assert_false(exists(LOCK));
	redisFree(limited);
	server_integer(server, "ACL DELUSER ann");
}
