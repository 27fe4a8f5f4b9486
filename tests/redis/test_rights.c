/* The steps of a user who may not give every command: whatever is refused in their middle leaves no key without a TTL
 * and no hold untold. */
#include "tests/redis/steps.h"

/* Those that come after something was written, or take it back: where two that are missing make a difference. */
static const char *const late_commands[] = {"set", "hset", "hdel", "pexpire", "del", "zrem", "publish"};

enum act { ASKS, TRIES, RELEASES, SAYS_A_WORD, RENEWS, ACTS };

/* What A, lacking some right, does; and what others with all rights have left before. Each goes another way through a
 * script. D does not listen. */
static const struct situations {
	const char *act, *before[20];
} situations[ACTS] = {
	[ASKS] = {"ask A1", {
		"", "line B1", "line A1", "line B1 A1", "line B1 A1; bury A", "line B1 A2", "line B1 C1",
		"line B1 A1 C1; release B1", "line A1; DEL FENCE", "line B1 A1; DEL LOCK", "line B1 A1 C1; DEL LOCK",
		"line B1 C1; DEL LOCK", "line B1 C1; DEL LOCK; bury C",
	}},
	[TRIES] = {"try A1", {"line B1", "line B1 C1; DEL LOCK", "line B1 C1; DEL LOCK; bury C"}},
	[RELEASES] = {"release A1", {
		"line A1", "line A1 B1", "line A1 B1 C1", "line A1 B1 C1; bury B", "line A1 D1", "line A1 D1 C1", "line B1 A1",
		"line B1 A1 C1", "line B1 A1 C1; DEL LOCK", "line B1 C1; DEL LOCK",
	}},
	[SAYS_A_WORD] = {"word A1", {
		"line B1 A1", "line B1 A1; bury A", "line B1 C1", "line B1 A1 C1; release B1", "line A1; DEL FENCE",
		"line B1 A1; DEL LOCK", "line B1 A1 C1; DEL LOCK", "line B1 C1 A1; DEL LOCK", "line B1 C1; DEL LOCK; bury C",
	}},
	[RENEWS] = {"renew A1 12000000 2", {"line A1", "line B1"}},
};

static const char *const names[] = {"A1", "A2", "B1", "C1", "D1"};
enum { TOKENS = COUNT(names) };

/* Who holds and who waits. */
struct scene {
	char holder[48], fence[24];
	bool waits[TOKENS], holds[TOKENS];
	bool lives[TOKENS]; /* has a place, and its client lives and listens */
};

static struct scene
take_scene(void)
{
	struct scene scene = {.holder = ""};
	const char *line = waiting(), *fence = server_text(server, "GET leash:{orders}:fence");

	snprintf(scene.fence, sizeof scene.fence, "%s", fence != NULL ? fence : "");
	snprintf(scene.holder, sizeof scene.holder, "%s", holder());
	for (size_t i = 0; i < TOKENS; i++) {
		const char *token = token_of(names[i]);

		scene.waits[i] = strstr(line, token) != NULL;
		scene.holds[i] = strcmp(scene.holder, token) == 0;
		scene.lives[i] = scene.waits[i] && names[i][0] != 'D' && alive_until(names[i]) > server_us();
	}
	return scene;
}

/* Who was told that the lock is theirs: the token of the one new message; "" if there was none. */
static const char *
who_was_told(void)
{
	static char token[48];
	int told = 0;

	token[0] = '\0';
	for (struct pubsub *l = listeners; l != NULL; l = l->next) {
		int before = l->messages;

		if (messages(l) > before && sscanf(l->last, "g %47s", token) == 1)
			told += l->messages - before;
	}
	assert_true(told <= 1);
	return token;
}

/* A string in the place of a lock or a queue is one that is just going. */
static bool
is_going(const char *key)
{
	return strcmp(server_text(server, "TYPE %s", key), "string") == 0;
}

/* What an ask or a word of A1 says of it: its fence, 0: queued, -1: neither. */
static int64_t
fence_in(enum act act)
{
	int64_t item[3];

	if (answer.type == REDIS_REPLY_ERROR || act == RELEASES || act == RENEWS)
		return -1;
	if (answer.type == REDIS_REPLY_INTEGER) {
		assert_true(atoll(answer.text) > DAY); /* a time, so no number by mistake */
		return atoll(answer.text);
	}
	assert_int_equal(sscanf(answer.text, "%" SCNd64 " %" SCNd64 " %" SCNd64, &item[0], &item[1], &item[2]), 3);
	if (act == SAYS_A_WORD)
		return item[2];
	assert_int_equal(item[0], 0);
	return act == ASKS ? 0 : -1;
}

/* What is said is true. */
static void
check_said(enum act act, bool lacks_hdel, const struct scene *was, const struct scene *is)
{
	int64_t fence = fence_in(act);

	if (fence > 0) {
		assert_true(is->holds[0]);
		assert_int_equal(fence, strtoll(is->fence, NULL, 10));
		if (was->holds[0] && was->fence[0] != '\0')
			assert_string_equal(is->fence, was->fence);
	} else if (fence == 0) {
		assert_true(is->waits[0] && is->lives[0]);
	}
	if (fence >= 0) /* where nobody could be given the lock, nobody is told to come again at once */
		assert_string_not_equal(is->holder, "");
	if (act != RELEASES)
		return;
	if (answer.type == REDIS_REPLY_INTEGER)
		assert_false(is->waits[0] || is->holds[0]);
	if (was->holds[0] && !lacks_hdel)
		assert_string_equal(answer.text, "1");
	if (was->waits[0] && !is->waits[0])
		assert_string_equal(answer.text, "2");
}

/* A does what she does in a situation, but may not give two commands (or one, twice named). */
static void
act_without(enum act act, const char *before, const char *first, const char *second)
{
	bool lacks_publish = strcmp(first, "publish") == 0 || strcmp(second, "publish") == 0, one = strcmp(first, second) == 0;

	play("mess; by all; FLUSHALL; %s", before);
	for (struct pubsub *l = listeners; l != NULL; l = l->next)
		messages(l);
	struct scene was = take_scene();
	play("by ~* -%s -%s; mess but TTLs; %s = ?; mess; by all", first, second, situations[act].act);
	await_true(!is_going("leash:{orders}") && !is_going("leash:{orders}:queue"));
	struct scene is = take_scene();
	const char *told = who_was_told();
	check_said(act, strcmp(first, "hdel") == 0 || strcmp(second, "hdel") == 0, &was, &is);
	if (*told != '\0')
		assert_string_equal(is.holder, told);
	if (one && (lacks_publish || (act == RENEWS && strcmp(first, "hset") == 0)))
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);

	/* What is true is said, or will be by the next word, before the claim is over. */
	if (*is.holder != '\0' && strcmp(is.holder, was.holder) != 0 && fence_in(act) <= 0 && *told == '\0') {
		assert_true(lacks_publish || is.holds[TOKENS - 1]);
		play("PTTL LOCK = ~60000");
	}

	/* Nobody's place is lost. And all of it goes by cancels. */
	for (size_t i = 0; i < TOKENS; i++)
		assert_true(!was.lives[i] || is.waits[i] || is.holds[i] || (act == RELEASES && i == 0));
	play("release A1; release A2; release B1; release C1; release D1; EXISTS LOCK QUEUE = 0");
}

static void
act_everywhere_without(const char *first, const char *second)
{
	for (enum act act = ASKS; act < ACTS; act++)
		for (const char *const *before = situations[act].before; *before != NULL; before++)
			act_without(act, *before, first, second);
}

SENTENCE(a_right_that_is_missing_leaves_no_key_without_a_ttl_and_no_hold_untold)
{
	play("listen A; listen B; listen C");
	for (size_t i = 0; i < COMMANDS; i++)
		act_everywhere_without(commands[i], commands[i]);
}

SENTENCE(two_rights_that_are_missing_leave_no_key_without_a_ttl_and_no_hold_untold)
{
	play("listen A; listen B; listen C");
	for (size_t first = 0; first < COUNT(late_commands); first++)
		for (size_t second = 0; second < first; second++)
			act_everywhere_without(late_commands[first], late_commands[second]);
}

SENTENCE(who_may_not_set_a_ttl_is_told_so_and_gets_nothing)
{
	play("by ~* -pexpire; ask A1 = !ERR");
	assert_non_null(strstr(answer.text, "ser")); /* "The user executing ..." (6.2), "ACL failure ... User ..." (later) */
	play("EXISTS LOCK = 0");
}
