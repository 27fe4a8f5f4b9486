/* What a user is permitted: each command that leash gives is tried by itself, on keys that nobody has.
 *
 * A server looks at permissions before it looks at what the arguments say, and after it has counted them. So those that write are given
 * arguments that it must refuse (SET with no time to live, HSET with a field that has no value, ZADD with a score that is none), or
 * find nothing to change: no trial leaves a key, whatever is permitted. Which commands there are depends on the deployment, see
 * docs/deployments.md: what leash would not say there is not tried, and counts as permitted. A refusal that begins with anything but NOPERM comes from
 * someone who let the command pass; that it is unknown, or was renamed, is told apart.
 *
 * What it refuses by NOPERM (the command, its keys, its channel) is worded differently by each version; but whom the text says "access"
 * to is a key or a channel, in all of them. */
#include "client/examine.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum verdict { NOT_TRIED, PERMITTED, NO_COMMAND, NO_KEY, NO_CHANNEL, UNKNOWN };

/* What it is for, by how much it matters; see consequences[]. */
enum use { TO_LOCK, TO_COUNT, TO_WAKE, TO_MOVE, TO_NAME, TO_LOOK, TO_LIST, TO_JUDGE, TO_TRUST, TO_REPLICATE, TO_PUNCTUATE, TO_LABEL, TO_KNOW, USES };

/* Where it is said, and how. */
enum {
	SINGLE = 1 << LSH_SINGLE,
	SENTINEL = 1 << LSH_SENTINEL,
	CLUSTER = 1 << LSH_CLUSTER,
	QUORUM = 1 << LSH_QUORUM,
	QUEUE = SINGLE | SENTINEL | CLUSTER, /* there is one */
	ALL = QUEUE | QUORUM,
	BY_EAR = 1 << 8,     /* on a connection that subscribes */
	SINCE_7_0 = 1 << 9,  /* not to an older server */
	SINCE_7_2 = 1 << 10,
};

enum {
	WORDS = 8,
	LIST_SIZE = 640,
	VERSION_7_0 = 0x070000,
	VERSION_7_2 = 0x070200,
};

/* Words that begin with $ stand for the scratch keys, the channels, and the sum of a script that nobody has. */
struct probe {
	const char *name;
	const char *rule; /* that permits it */
	enum use use;
	unsigned where;
	const char *words[WORDS];
};

static const struct probe probes[] = {
	{"EVALSHA", "+evalsha", TO_LOCK, ALL, {"EVALSHA", "$sum", "1", "$lock"}},
	{"EVAL", "+eval", TO_LOCK, ALL, {"EVAL", "return 1", "1", "$lock"}},
	{"TIME", "+time", TO_LOCK, ALL, {"TIME"}},
	{"EXISTS", "+exists", TO_LOCK, ALL, {"EXISTS", "$lock", "$queue"}},
	{"SET", "+set", TO_LOCK, ALL, {"SET", "$fence", "0", "PX", "0", "GET"}},
	{"GET", "+get", TO_LOCK, ALL, {"GET", "$fence"}},
	{"HSET", "+hset", TO_LOCK, ALL, {"HSET", "$lock", "a", "1", "b"}},
	{"HGET", "+hget", TO_LOCK, ALL, {"HGET", "$lock", "a"}},
	{"HDEL", "+hdel", TO_LOCK, ALL, {"HDEL", "$lock", "a"}},
	{"HEXISTS", "+hexists", TO_LOCK, ALL, {"HEXISTS", "$lock", "a"}},
	{"PEXPIRE", "+pexpire", TO_LOCK, ALL, {"PEXPIRE", "$lock", "1000"}},
	{"PTTL", "+pttl", TO_LOCK, ALL, {"PTTL", "$lock"}},
	{"DEL", "+del", TO_LOCK, QUEUE, {"DEL", "$queue"}},
	{"ZADD", "+zadd", TO_LOCK, QUEUE, {"ZADD", "$queue", "none", "a"}},
	{"ZREM", "+zrem", TO_LOCK, ALL, {"ZREM", "$queue", "a"}},
	{"ZSCORE", "+zscore", TO_LOCK, QUEUE, {"ZSCORE", "$queue", "a"}},
	{"ZCOUNT", "+zcount", TO_LOCK, QUEUE, {"ZCOUNT", "$queue", "(0", "+inf"}},
	{"ZRANGEBYSCORE", "+zrangebyscore", TO_LOCK, QUEUE, {"ZRANGEBYSCORE", "$queue", "(0", "+inf", "LIMIT", "0", "1"}},
	{"ZREVRANGE", "+zrevrange", TO_LOCK, QUEUE, {"ZREVRANGE", "$queue", "0", "0", "WITHSCORES"}},
	{"PUBLISH", "+publish", TO_LOCK, QUEUE, {"PUBLISH", "$channel", "?"}},
	{"SUBSCRIBE", "+subscribe", TO_LOCK, QUEUE | BY_EAR, {"SUBSCRIBE", "$channel"}},
	{"CLUSTER SLOTS", "+cluster|slots", TO_LOCK, CLUSTER, {"CLUSTER", "SLOTS"}},
	{"SPUBLISH", "+spublish", TO_WAKE, CLUSTER | SINCE_7_0, {"SPUBLISH", "$shard", "?"}},
	{"SSUBSCRIBE", "+ssubscribe", TO_WAKE, CLUSTER | BY_EAR | SINCE_7_0, {"SSUBSCRIBE", "$shard"}},
	{"SUNSUBSCRIBE", "+sunsubscribe", TO_WAKE, CLUSTER | BY_EAR | SINCE_7_0, {"SUNSUBSCRIBE", "$other"}},
	{"SET", "+set", TO_NAME, ALL, {"SET", "$party", "0", "PX", "0"}},
	{"GETRANGE", "+getrange", TO_NAME, ALL, {"GETRANGE", "$party", "0", "1"}},
	{"DEL", "+del", TO_NAME, ALL, {"DEL", "$party"}},
	{"ZCOUNT", "+zcount", TO_LOOK, QUORUM, {"ZCOUNT", "$queue", "(0", "+inf"}},
	{"HLEN", "+hlen", TO_LOOK, ALL, {"HLEN", "$lock"}},
	{"HGETALL", "+hgetall", TO_LOOK, ALL, {"HGETALL", "$lock"}},
	{"SCAN", "+scan", TO_LIST, ALL, {"SCAN", "0", "COUNT", "1"}},
	{"INFO", "+info", TO_COUNT, QUORUM, {"INFO", "server"}},
	{"INFO", "+info", TO_JUDGE, QUEUE, {"INFO", "server"}},
	{"CLUSTER INFO", "+cluster|info", TO_TRUST, CLUSTER, {"CLUSTER", "INFO"}},
	{"WAIT", "+wait", TO_REPLICATE, QUEUE, {"WAIT", "0", "1"}},
	{"WAITAOF", "+waitaof", TO_REPLICATE, QUEUE | SINCE_7_2, {"WAITAOF", "0", "0", "1"}},
	{"PING", "+ping", TO_PUNCTUATE, QUEUE, {"PING"}},
	{"CLIENT SETNAME", "+client|setname", TO_LABEL, ALL, {"CLIENT", "SETNAME", "$name"}},
	{"ASKING", "+asking", TO_MOVE, CLUSTER, {"ASKING"}}, /* what follows is about no key */
	{"CONFIG GET", NULL, TO_KNOW, ALL, {"CONFIG", "GET", "maxmemory"}}, /* nothing that a user of locks ought to have */
};

enum { PROBES = sizeof probes / sizeof *probes };

_Static_assert(sizeof probes / sizeof *probes <= LSH_PROBES, "room for a verdict on each");

static const struct {
	leash_finding_level level;
	const char *text;
} consequences[USES] = {
	[TO_LOCK] = {LEASH_FINDING_ERROR, NULL},
	[TO_COUNT] = {LEASH_FINDING_ERROR, "nobody sees how long the server has been up, and a quorum does not count it"},
	[TO_WAKE] = {LEASH_FINDING_WARNING, "who waits is woken late"},
	[TO_MOVE] = {LEASH_FINDING_WARNING, "locks are out of reach while their slot moves"},
	[TO_NAME] = {LEASH_FINDING_WARNING, "holders are not shown by name"},
	[TO_LOOK] = {LEASH_FINDING_WARNING, "leash status and leash list do not work"},
	[TO_LIST] = {LEASH_FINDING_WARNING, "leash list does not work"},
	[TO_JUDGE] = {LEASH_FINDING_WARNING, "neither clients nor this examination see whether the server evicts locks, or was restarted, and locks with "
	                                   "restart_guard_ms are refused"},
	[TO_TRUST] = {LEASH_FINDING_WARNING, "a node that is out of date is believed"},
	[TO_REPLICATE] = {LEASH_FINDING_NOTE, "locks with min_replicas or fsynced do not work"},
	[TO_PUNCTUATE] = {LEASH_FINDING_NOTE, "who is handed a lock may start a moment later"},
	[TO_LABEL] = {LEASH_FINDING_NOTE, "CLIENT LIST shows no names"},
	[TO_KNOW] = {LEASH_FINDING_NOTE, "this examination knows less"},
};

/* ---- trying ---- */

static const char *
resolve(const struct lsh_examination *x, const char *word)
{
	static const char sum[] = "0000000000000000000000000000000000000000";

	if (word == NULL || word[0] != '$')
		return word;
	switch (word[1]) {
	case 'l':
		return x->keys[0];
	case 'f':
		return x->keys[1];
	case 'q':
		return x->keys[2];
	case 'p':
		return x->party;
	case 'c':
		return x->channel;
	case 's':
		return word[2] == 'h' ? x->shard : sum;
	case 'o':
		return x->other;
	case 'n':
		return x->name;
	default:
		return sum;
	}
}

static enum verdict
judge(const struct lsh_item *answer)
{
	const char *text = answer->text, *access;

	if (answer->type != LSH_ERROR)
		return PERMITTED;
	if (lsh_starts_with_word(text, "NOPERM") || lsh_starts_with_word(text, "NOAUTH")) {
		access = strcasestr(text, "permissions to access");
		if (access == NULL)
			return NO_COMMAND;
		return strstr(access, "channel") != NULL ? NO_CHANNEL : NO_KEY;
	}
	return strncasecmp(text, "ERR unknown command", 19) == 0 || strncasecmp(text, "ERR unknown subcommand", 22) == 0 ? UNKNOWN : PERMITTED;
}

/* Would leash say it to this server? Whoever loads the scripts beforehand need not let anybody send them, and who has no replicas need
 * not let anybody wait for them. */
static bool
is_wanted(const struct lsh_examination *x, int i)
{
	const struct probe *p = &probes[i];

	unsigned version = x->hello.version; /* 0: not known */

	if ((p->where & 1U << x->stop->deployment) == 0)
		return false;
	if (((p->where & SINCE_7_0) != 0 && version < VERSION_7_0) || ((p->where & SINCE_7_2) != 0 && version < VERSION_7_2))
		return false;
	if (p->use == TO_REPLICATE)
		return x->stop->deployment != LSH_SINGLE || lsh_vitals_has_replicas(x);
	return !x->uri->preloaded || strcmp(p->name, "EVAL") != 0;
}

static bool
is_by_ear(int i)
{
	return (probes[i].where & BY_EAR) != 0;
}

bool
lsh_rights_sharded(const struct lsh_examination *x)
{
	return x->stop->deployment == LSH_CLUSTER && x->hello.version >= VERSION_7_0;
}

/* Say one on the ear, and hear what becomes of it. False: the ear is gone. */
static bool
listen(struct lsh_examination *x, int i, leash_error *err)
{
	struct lsh_arg words[] = {lsh_arg_text(probes[i].words[0]), lsh_arg_text(resolve(x, probes[i].words[1]))};
	const struct redisReply *answer;
	struct lsh_item item;

	if (lsh_talk_say(x->ear, words, 2, err) != LEASH_OK || lsh_talk_hear(x->ear, &answer, err) != LEASH_OK)
		return false;
	item = lsh_answer_item(answer);
	lsh_note_hindrance(x, &item);
	x->verdicts[i] = (unsigned char)judge(&item);
	return true;
}

/* Open the ear, and see whether it hears. Without it there is no lock to be waited for. */
static void
try_by_ear(struct lsh_examination *x)
{
	leash_error err = {0};
	char shown[sizeof err.text];
	bool hears;

	if (x->status != LEASH_OK || x->stop->deployment == LSH_QUORUM)
		return;
	hears = lsh_talk_open(&x->ear, x->uri, x->name, x->timeout_ms * LSH_MS, NULL, &err) == LEASH_OK;
	for (int i = 0; i < PROBES && hears; i++)
		if (is_by_ear(i) && is_wanted(x, i))
			hears = listen(x, i, &err);
	if (hears)
		return;
	lsh_remedy(x, "each client needs two connections: CONFIG SET maxclients to more than it is; CLIENT LIST shows who has them");
	lsh_find(x, LEASH_FINDING_ERROR, "connection",
	         "a second connection could not be made: %s", lsh_words(x, shown, sizeof shown, err.text, strlen(err.text)));
	lsh_talk_close(x->ear);
	x->ear = NULL;
}

void
lsh_rights_try(struct lsh_examination *x)
{
	for (int i = 0; i < PROBES; i++) {
		const char *w[WORDS];

		x->verdicts[i] = is_wanted(x, i) ? NOT_TRIED : PERMITTED;
		for (int j = 0; j < WORDS; j++)
			w[j] = resolve(x, probes[i].words[j]);
		if (is_wanted(x, i) && !is_by_ear(i))
			lsh_say(x, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], NULL);
	}
	for (int i = 0; i < PROBES; i++) {
		struct lsh_item item;

		if (is_by_ear(i) || !is_wanted(x, i))
			continue;
		item = lsh_hear_item(x);
		if (x->status == LEASH_OK)
			x->verdicts[i] = (unsigned char)judge(&item);
	}
	try_by_ear(x);
}

static bool
is_missing(const struct lsh_examination *x, int i)
{
	return x->verdicts[i] > PERMITTED;
}

/* For locks, and to leave nothing of one behind. */
bool
lsh_rights_suffice(const struct lsh_examination *x)
{
	for (int i = 0; i < PROBES; i++)
		if ((probes[i].use <= TO_WAKE || strcmp(probes[i].name, "DEL") == 0) && x->verdicts[i] != PERMITTED)
			return false;
	return true;
}

/* ---- telling ---- */

struct line {
	char text[LIST_SIZE];
	size_t n;
};

static void __attribute__((format(printf, 2, 3)))
add(struct line *line, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line->text + line->n, sizeof line->text - line->n, format, args);
	va_end(args);
	if (n > 0)
		line->n = line->n + (size_t)n < sizeof line->text ? line->n + (size_t)n : sizeof line->text - 1;
}

/* Is one with that name before it in the table, and missing for the same reason? */
static bool
was_named(const struct lsh_examination *x, int i)
{
	for (int j = 0; j < i; j++)
		if (strcmp(probes[i].name, probes[j].name) == 0 && is_wanted(x, j) && x->verdicts[i] == x->verdicts[j])
			return true;
	return false;
}

static void
list(struct line *line, const struct lsh_examination *x, enum verdict verdict, const char *before, const char *after)
{
	const char *between = before;

	for (int i = 0; i < PROBES; i++)
		if (x->verdicts[i] == verdict && !was_named(x, i)) {
			add(line, "%s%s", between, probes[i].name);
			between = ", ";
		}
	if (between != before)
		add(line, "%s", after);
}

/* What cannot be done without them. */
static leash_finding_level
list_consequences(struct line *line, const struct lsh_examination *x)
{
	leash_finding_level level = LEASH_FINDING_FINE;

	for (int use = 0; use < USES; use++) {
		bool missing = false;

		for (int i = 0; i < PROBES; i++)
			missing |= (int)probes[i].use == use && is_missing(x, i);
		if (!missing || (use == TO_LIST && strstr(line->text, consequences[TO_LIST].text) != NULL))
			continue;
		level = consequences[use].level > level ? consequences[use].level : level;
		add(line, "%s%s", line->n > 0 ? "; " : "", consequences[use].text != NULL ? consequences[use].text : "locks do not work");
	}
	return level;
}

/* Each of the patterns behind a word. */
static void
list_channels(struct line *line, const struct lsh_examination *x, const char *before)
{
	if (x->stop->deployment != LSH_QUORUM)
		add(line, "%s%s:wake:*", before, x->prefix);
	if (lsh_rights_sharded(x))
		add(line, "%s%s:{*}:wake:*", before, x->prefix);
}

/* "+hset +zadd ~leash:* &leash:wake:*" for what is missing, or for all. */
static void
list_rules(struct line *line, const struct lsh_examination *x, bool all)
{
	bool keys = all, channels = all;

	for (int i = 0; i < PROBES; i++) {
		keys |= x->verdicts[i] == NO_KEY;
		channels |= x->verdicts[i] == NO_CHANNEL;
		if (probes[i].rule != NULL && is_wanted(x, i) && !was_named(x, i) && (all || x->verdicts[i] == NO_COMMAND))
			add(line, " %s", probes[i].rule);
	}
	if (keys)
		add(line, " ~%s:*", x->prefix);
	if (channels)
		list_channels(line, x, " &");
}

static const char *
user(const struct lsh_examination *x)
{
	return x->user[0] != '\0' ? x->user : "NAME";
}

static void
remedy(struct lsh_examination *x, bool all)
{
	struct line rules = {0}, renamed = {0};

	list_rules(&rules, x, all);
	list(&renamed, x, UNKNOWN, "take rename-command for ", " out of its configuration, or use a server that has it");
	if (rules.n > 0)
		lsh_remedy(x, "ACL SETUSER %s%s, then ACL SAVE (with an aclfile) or CONFIG REWRITE, so that it stays%s%s", user(x), rules.text,
		           renamed.n > 0 ? "; " : "", renamed.text);
	else if (renamed.n > 0)
		lsh_remedy(x, "%s", renamed.text);
}

void
lsh_rights_remedy_all(struct lsh_examination *x)
{
	remedy(x, true);
}

static void
tell_sufficient(struct lsh_examination *x, bool tried)
{
	const char *worked = x->stop->deployment == LSH_QUORUM ? "a lock was acquired, renewed, released and acquired by another"
	                                                       : "a lock was acquired, renewed, waited for, handed over and released";
	struct line channels = {0};
	int count = 0;

	for (int i = 0; i < PROBES; i++)
		count += is_wanted(x, i) && x->verdicts[i] == PERMITTED && !was_named(x, i);
	list_channels(&channels, x, " and channels ");
	lsh_find(x, LEASH_FINDING_FINE, "permissions", "user %s may run all %d commands, on keys %s:*%s; %s", user(x), count, x->prefix, channels.text,
	         tried ? worked : "but no lock was tried, for what is wrong above");
}

void
lsh_rights_tell(struct lsh_examination *x, bool tried)
{
	struct line missing = {0}, consequence = {0};
	leash_finding_level level = list_consequences(&consequence, x);
	struct line channels = {0};
	char keys[100];

	if (level == LEASH_FINDING_FINE) {
		tell_sufficient(x, tried);
		return;
	}
	snprintf(keys, sizeof keys, " on keys %s:*; ", x->prefix);
	list_channels(&channels, x, " on channels ");
	add(&channels, "; ");
	list(&missing, x, NO_COMMAND, "may not run ", "; ");
	list(&missing, x, NO_KEY, "may not run ", keys);
	list(&missing, x, NO_CHANNEL, "may not run ", channels.text);
	list(&missing, x, UNKNOWN, "finds no ", ", which the server does not know; ");
	remedy(x, false);
	lsh_find(x, level, "permissions", "user %s %sso %s", user(x), missing.text, consequence.text);
}
