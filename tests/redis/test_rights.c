/* The steps of a user who may not give every command: whatever is refused in their middle leaves no key without a TTL
 * and no hold untold. */
#include "tests/redis/steps.h"

/* Those that come after something was written, or take it back: where two that are missing make a difference. */
static const char *const late_commands[] = {"set", "hset", "hdel", "pexpire", "del", "zadd", "zrem", "publish"};

enum act { ASKS, TRIES, RELEASES, SAYS_A_WORD, RENEWS, ACTS };
enum { TOKENS = 5 };

/* The same situations for a mutex, and for those who share: tokens, each with its need; how they ask one after the
 * other, and release; and what A does. In a text they are $a, $o (another one of A's), $b, $c and $d, $l and $r. */
static const struct family {
	const char *names[TOKENS], *line, *release, *acts[ACTS];
} families[] = {
#define SHARED \
	"crowd", "part", {"share $a = ?", "probe $a = ?", "part $a = ?", "beat $a = ?", "prolong $a 12000000 = ?"}
	{{"A1", "A2", "B1", "C1", "D1"}, "line", "release",
	 {"ask $a = ?", "try $a = ?", "release $a = ?", "word $a = ?", "renew $a 12000000 2 = ?"}},
	{{"A1_1/2", "A2_w", "B1_1/2", "C1_1/2", "D1_1/1"}, SHARED},
	{{"A1_w", "A2_1/0", "B1_1/0", "C1_2/3", "D1_2/2"}, SHARED},
	{{"A1_2/4", "A2_1/4", "B1_2/4", "C1_w", "D1_3/4"}, SHARED},
};
static const struct family *family;

/* What others with all rights have left, to which A, lacking some right, does something. Each goes another way through
 * a script. D does not listen. */
static const char *const situations[ACTS][18] = {
	[ASKS] = {
		"", "$l $b", "$l $a", "$l $b $a", "$l $b $a; bury A", "$l $b $o", "$l $b $c", "$l $b $a $c; $r $b",
		"$l $a; DEL FENCE", "$l $b $a; DEL FENCE", "$l $b $a; DEL LOCK", "$l $b $a $c; DEL LOCK", "$l $b $c; DEL LOCK",
		"$l $b $c; DEL LOCK; bury C",
	},
	[TRIES] = {"$l $b", "$l $b $c; DEL LOCK", "$l $b $c; DEL LOCK; bury C"},
	[RELEASES] = {
		"$l $a", "$l $a $b", "$l $a $b $c", "$l $a $b $c; bury B", "$l $a $d", "$l $a $d $c", "$l $b $a", "$l $b $a $c",
		"$l $b $a $c; DEL LOCK", "$l $b $c; DEL LOCK",
	},
	[SAYS_A_WORD] = {
		"$l $b $a", "$l $b $a; bury A", "$l $b $c", "$l $b $a $c; $r $b", "$l $a; DEL FENCE", "$l $b $a; DEL LOCK",
		"$l $b $a $c; DEL LOCK", "$l $b $c $a; DEL LOCK", "$l $b $c; DEL LOCK; bury C", "$l $o $b $c; DEL LOCK FENCE",
	},
	[RENEWS] = {"$l $a", "$l $b", "$l $b $a"},
};

struct scene {
	char fence[24];
	bool waits[TOKENS], holds[TOKENS], free;
	bool lives[TOKENS]; /* has a place, and its client lives and listens */
};

/* A name as it is among those who hold or wait. */
static const char *
who(size_t i)
{
	const char *name = family->names[i], *token = token_of((char[]){name[0], name[1], '\0'});

	return name[2] != '\0' ? seen("%s %s", token, name + 3) : token;
}

static struct scene
take_scene(void)
{
	struct scene scene = {.free = !exists("leash:{orders}")};
	const char *line = waiting(), *fence = server_text(server, "GET leash:{orders}:fence");
	const char *in = holders();

	snprintf(scene.fence, sizeof scene.fence, "%s", fence != NULL ? fence : "");
	for (size_t i = 0; i < TOKENS; i++) {
		scene.waits[i] = strstr(line, who(i)) != NULL;
		scene.holds[i] = strstr(in, who(i)) != NULL;
		scene.lives[i] = scene.waits[i] && family->names[i][0] != 'D' && alive_until(family->names[i]) > server_us();
	}
	return scene;
}

/* Who was told that the lock is theirs, each by one new message to its client, and with the last fence. */
static void
hear_who_was_told(bool told[static TOKENS], const struct scene *is)
{
	for (struct pubsub *l = listeners; l != NULL; l = l->next) {
		int before = l->messages, now = messages(l);

		assert_true(now <= before + 1);
		for (size_t i = 0; now > before && i < TOKENS; i++) {
			const char *grant = seen("g %.*s ", (int)strcspn(who(i), " "), who(i));

			told[i] = strncmp(l->last, grant, strlen(grant)) == 0;
			assert_true(!told[i] || strstr(l->last, is->fence) != NULL);
			if (told[i])
				break;
		}
	}
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
		assert_false(is->free);
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
	const bool lacks_publish = strcmp(first, "publish") == 0 || strcmp(second, "publish") == 0;
	bool told[TOKENS] = {false};
	const char *gone = family == families ? "hdel" : "zrem";

	play("mess; by all; FLUSHALL");
	play("%s", before);
	for (struct pubsub *l = listeners; l != NULL; l = l->next)
		messages(l);
	struct scene was = take_scene();
	play("by ~* -%s -%s; mess but TTLs", first, second);
	play("%s", family->acts[act]);
	play("mess; by all");
	/* a string in the place of a lock or a queue is one that is just going */
	await_true(strcmp(server_text(server, "TYPE leash:{orders}"), "string") != 0 &&
	           strcmp(server_text(server, "TYPE leash:{orders}:queue"), "string") != 0);
	struct scene is = take_scene();
	hear_who_was_told(told, &is);
	check_said(act, strcmp(first, gone) == 0 || strcmp(second, gone) == 0, &was, &is);
	if (strcmp(first, second) == 0 && (lacks_publish || (act == RENEWS && strcmp(first, "hset") == 0)))
		assert_int_not_equal(answer.type, REDIS_REPLY_ERROR);

	/* What is said is true; and what is true is said, or will be by the next word, before the claim is over. */
	for (size_t i = 0; i < TOKENS; i++) {
		assert_true(!told[i] || is.holds[i]);
		if (is.holds[i] && !was.holds[i] && !told[i] && (i > 0 || fence_in(act) <= 0)) {
			assert_true(lacks_publish || i == TOKENS - 1);
			play("PTTL LOCK = 1..600000");
		}
	}

	/* Nobody's place is lost. And all of it goes by cancels. */
	for (size_t i = 0; i < TOKENS; i++)
		assert_true(!was.lives[i] || is.waits[i] || is.holds[i] || (act == RELEASES && i == 0));
	play("each t $a $o $b $c $d; $r $t; next; EXISTS LOCK QUEUE = 0");
}

/* `all`: of these commands, each two or each one. */
static void
act_in_all_families(const char *const *all, size_t count, bool two)
{
	play("listen A; listen B; listen C");
	for (family = families; family < families + COUNT(families); family++) {
		for (size_t i = 0; i < TOKENS; i++)
			let("aobcd"[i], family->names[i]);
		let('l', family->line);
		let('r', family->release);
		for (enum act act = 0; act < ACTS; act++)
			for (const char *const *before = situations[act]; *before != NULL; before++)
				for (size_t first = 0; first < count; first++)
					for (size_t second = two ? 0 : first; second < first + !two; second++)
						act_without(act, *before, all[first], all[second]);
	}
}

SENTENCE(a_right_that_is_missing_leaves_no_key_without_a_ttl_and_no_hold_untold)
{
	act_in_all_families(commands, COMMANDS, false);
}

SENTENCE(two_rights_that_are_missing_leave_no_key_without_a_ttl_and_no_hold_untold)
{
	act_in_all_families(late_commands, COUNT(late_commands), true);
}

SCENE(who_may_not_set_a_ttl_is_told_so_and_gets_nothing, /* "The user executing" or "ACL failure ... User" */
      "by ~* -pexpire; ask A1 = !ERR; ask A1 ~ ser; EXISTS LOCK = 0")
