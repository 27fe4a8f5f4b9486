/* ACL: what a user is permitted. Each command that leash sends is tried by itself, on keys that nobody has.
 *
 * A server checks permissions after it has counted the arguments, and before it reads them. So commands that write are
 * given arguments that it must refuse (SET with no time to live, HSET with a field that has no value, ZADD with a
 * score that is none), or find nothing to change: no trial leaves a key, whatever is permitted. Which commands leash
 * sends depends on the deployment, see docs/deployments.md: the others are not tried, and count as permitted. A
 * refusal that does not begin with NOPERM means that the command was permitted, unless it is unknown or was renamed.
 *
 * What is refused by NOPERM (the command, its keys, its channel) is worded differently by each version; but only of
 * keys and channels do all of them say "access". */
#include "tools/doctor/checks.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum verdict { UNTRIED, PERMITTED, NO_COMMAND, NO_KEY, NO_CHANNEL, UNKNOWN };

/* What it is for, by how much it matters; see consequences[]. */
enum use {
	TO_LOCK, TO_COUNT, TO_WAKE, TO_MOVE, TO_NAME, TO_LOOK, TO_LIST, TO_JUDGE, TO_TRUST, TO_REPLICATE, TO_PUNCTUATE,
	TO_LABEL, TO_KNOW, USES,
};

/* Where it is sent, and how. */
enum {
	SINGLE = 1 << LSH_SINGLE,
	SENTINEL = 1 << LSH_SENTINEL,
	CLUSTER = 1 << LSH_CLUSTER,
	QUORUM = 1 << LSH_QUORUM,
	QUEUE = SINGLE | SENTINEL | CLUSTER, /* there is one */
	ALL = QUEUE | QUORUM,
	LISTENS = 1 << 8,    /* on a connection that subscribes */
	SINCE_7_0 = 1 << 9,  /* not to an older server */
	SINCE_7_2 = 1 << 10,
};

enum {
	WORDS = 8,
	LIST_SIZE = 640,
	VERSION_7_0 = 0x070000,
	VERSION_7_2 = 0x070200,
};

struct probe {
	const char *name;
	enum use use;
	unsigned where;
	const char *arguments; /* of which some are replaced, see resolve() */
};

static const struct probe probes[] = {
	{"EVALSHA", TO_LOCK, ALL, "$sum 1 $lock"},
	{"EVAL", TO_LOCK, ALL, "return(1) 1 $lock"},
	{"TIME", TO_LOCK, ALL, ""},
	{"EXISTS", TO_LOCK, QUEUE, "$lock $queue"},
	{"SET", TO_LOCK, ALL, "$fence 0 PX 0 GET"},
	{"GET", TO_LOCK, ALL, "$fence"},
	{"HSET", TO_LOCK, ALL, "$lock a 1 b"},
	{"HGET", TO_LOCK, ALL, "$lock a"},
	{"HDEL", TO_LOCK, ALL, "$lock a"},
	{"HEXISTS", TO_LOCK, ALL, "$lock a"},
	{"PEXPIRE", TO_LOCK, ALL, "$lock 1000"},
	{"PTTL", TO_LOCK, ALL, "$lock"},
	{"DEL", TO_LOCK, QUEUE, "$queue"},
	{"ZADD", TO_LOCK, QUEUE, "$queue none a"},
	{"ZREM", TO_LOCK, QUEUE, "$queue a"},
	{"ZSCORE", TO_LOCK, QUEUE, "$queue a"},
	{"ZCOUNT", TO_LOCK, QUEUE, "$queue (0 +inf"},
	{"ZRANGEBYSCORE", TO_LOCK, QUEUE, "$queue (0 +inf LIMIT 0 1"},
	{"ZREVRANGE", TO_LOCK, QUEUE, "$queue 0 0 WITHSCORES"},
	{"PUBLISH", TO_LOCK, QUEUE, "$channel ?"},
	{"SUBSCRIBE", TO_LOCK, QUEUE | LISTENS, "$channel"},
	{"CLUSTER SLOTS", TO_LOCK, CLUSTER, ""},
	{"SPUBLISH", TO_WAKE, CLUSTER | SINCE_7_0, "$shard ?"},
	{"SSUBSCRIBE", TO_WAKE, CLUSTER | LISTENS | SINCE_7_0, "$shard"},
	{"SUNSUBSCRIBE", TO_WAKE, CLUSTER | LISTENS | SINCE_7_0, "$other_shard"},
	{"SET", TO_NAME, ALL, "$presence 0 PX 0"},
	{"GETRANGE", TO_NAME, ALL, "$presence 0 1"},
	{"DEL", TO_NAME, ALL, "$presence"},
	{"ZCOUNT", TO_LOOK, QUORUM, "$queue (0 +inf"},
	{"HLEN", TO_LOOK, ALL, "$lock"},
	{"HGETALL", TO_LOOK, ALL, "$lock"},
	{"SCAN", TO_LIST, ALL, "0 COUNT 1"},
	{"INFO", TO_COUNT, QUORUM, "server"},
	{"INFO", TO_JUDGE, QUEUE, "server"},
	{"CLUSTER INFO", TO_TRUST, CLUSTER, ""},
	{"WAIT", TO_REPLICATE, QUEUE, "0 1"},
	{"WAITAOF", TO_REPLICATE, QUEUE | SINCE_7_2, "0 0 1"},
	{"PING", TO_PUNCTUATE, QUEUE, ""},
	{"CLIENT SETNAME", TO_LABEL, ALL, "$name"},
	{"ASKING", TO_MOVE, CLUSTER, ""},           /* what follows has no key */
	{"CONFIG GET", TO_KNOW, ALL, "maxmemory"}, /* which nobody who uses locks needs: it is never advised */
};

enum { PROBES = sizeof probes / sizeof *probes };

_Static_assert(sizeof probes / sizeof *probes <= PROBES_MAX, "room for a verdict on each");

static const struct {
	enum level level;
	const char *text;
} consequences[USES] = {
	[TO_LOCK] = {ERROR, "locks do not work"},
	[TO_COUNT] = {ERROR, "nobody sees how long the server has been up, and a quorum does not count it"},
	[TO_WAKE] = {WARNING, "waiters are woken late"},
	[TO_MOVE] = {WARNING, "locks are out of reach while their slot moves"},
	[TO_NAME] = {WARNING, "holders are not shown by name"},
	[TO_LOOK] = {WARNING, "leash status and leash list do not work"},
	[TO_LIST] = {WARNING, "leash list does not work"},
	[TO_JUDGE] = {WARNING, "neither clients nor this examination see whether the server evicts locks, or was "
	                       "restarted, and locks with restart_guard_ms are refused"},
	[TO_TRUST] = {WARNING, "a node that is out of date is believed"},
	[TO_REPLICATE] = {NOTE, "locks with min_replicas or fsynced do not work"},
	[TO_PUNCTUATE] = {NOTE, "the next holder may start a moment later"},
	[TO_LABEL] = {NOTE, "CLIENT LIST shows no names"},
	[TO_KNOW] = {NOTE, "leash doctor can check less"},
};

/* ---- trying ---- */

static const char *
resolve(const struct doctor *d, const char *word)
{
	const struct {
		const char *word, *meaning;
	} all[] = {
		{"$lock", d->keys[0]},
		{"$fence", d->keys[1]},
		{"$queue", d->keys[2]},
		{"$presence", d->presence},
		{"$channel", d->channel},
		{"$shard", d->shard},
		{"$other_shard", d->other_shard},
		{"$name", d->name},
		{"$sum", "0000000000000000000000000000000000000000"}, /* of a script that nobody has */
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(word, all[i].word) == 0)
			return all[i].meaning;
	return word;
}

static void
try(struct doctor *d, const struct probe *p)
{
	char text[80], *rest, *word;
	const char *words[WORDS + 1] = {0};
	size_t n = 0;

	snprintf(text, sizeof text, "%s %s", p->name, p->arguments);
	for (word = strtok_r(text, " ", &rest); word != NULL && n < WORDS; word = strtok_r(NULL, " ", &rest))
		words[n++] = resolve(d, word);
	doctor_send(d, words);
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
	if (strncasecmp(text, "ERR unknown command", 19) == 0 || strncasecmp(text, "ERR unknown subcommand", 22) == 0)
		return UNKNOWN;
	return PERMITTED;
}

/* Would leash send it to this server? With preloaded scripts nobody needs EVAL, and without replicas nobody needs
 * WAIT. */
static bool
is_wanted(const struct doctor *d, const struct probe *p)
{
	unsigned version = d->hello.version; /* 0: not known */

	if ((p->where & 1U << d->target->deployment) == 0)
		return false;
	if (((p->where & SINCE_7_0) != 0 && version < VERSION_7_0) ||
	    ((p->where & SINCE_7_2) != 0 && version < VERSION_7_2))
		return false;
	if (p->use == TO_REPLICATE)
		return d->target->deployment != LSH_SINGLE || health_has_replicas(d);
	return !d->uri->preloaded || strcmp(p->name, "EVAL") != 0;
}

bool
acl_is_sharded(const struct doctor *d)
{
	return d->target->deployment == LSH_CLUSTER && d->hello.version >= VERSION_7_0;
}

/* Try one on the second connection. False: that is gone. */
static bool
try_listening(struct doctor *d, int i, leash_error *err)
{
	struct lsh_arg words[] = {lsh_arg_text(probes[i].name), lsh_arg_text(resolve(d, probes[i].arguments))};
	const struct redisReply *answer;
	struct lsh_item item;

	lsh_informant_send(d->listener, words, 2);
	if (lsh_talk_hear(d->listener, &answer, err) != LEASH_OK)
		return false;
	item = lsh_answer_item(answer);
	doctor_note_hindrance(d, &item);
	d->verdicts[i] = (unsigned char)judge(&item);
	return true;
}

/* Open the second connection, and see whether it hears anything. Without it nobody can wait for a lock. */
static void
look_by_listening(struct doctor *d)
{
	leash_error err = {0};
	char shown[sizeof err.text];
	bool hears =
		lsh_talk_open(&d->listener, d->uri, LSH_WANT_SERVER, d->name, d->timeout_ms * LSH_MS, &err) == LEASH_OK;

	for (int i = 0; i < PROBES && hears; i++)
		if ((probes[i].where & LISTENS) != 0 && is_wanted(d, &probes[i]))
			hears = try_listening(d, i, &err);
	if (hears)
		return;
	d->topic = "connection";
	advise(d, "each client needs two connections: CONFIG SET maxclients to a higher value; CLIENT LIST shows who has "
	       "them");
	tell(d, ERROR, "a second connection could not be made: %s",
	     doctor_words(d, shown, sizeof shown, err.text, strlen(err.text)));
	lsh_informant_free(d->listener);
	d->listener = NULL;
}

void
acl_look(struct doctor *d)
{
	bool sent[PROBES];

	for (int i = 0; i < PROBES; i++) {
		bool wanted = is_wanted(d, &probes[i]);

		d->verdicts[i] = wanted ? UNTRIED : PERMITTED;
		sent[i] = wanted && (probes[i].where & LISTENS) == 0;
		if (sent[i])
			try(d, &probes[i]);
	}
	for (int i = 0; i < PROBES; i++) {
		struct lsh_item item;

		if (!sent[i])
			continue;
		item = doctor_receive_item(d);
		if (d->status == LEASH_OK)
			d->verdicts[i] = (unsigned char)judge(&item);
	}
	if (d->status == LEASH_OK && d->target->deployment != LSH_QUORUM)
		look_by_listening(d);
}

/* For locks, and to leave nothing of one behind. */
bool
acl_suffices(const struct doctor *d)
{
	for (int i = 0; i < PROBES; i++)
		if ((probes[i].use <= TO_WAKE || strcmp(probes[i].name, "DEL") == 0) && d->verdicts[i] != PERMITTED)
			return false;
	return true;
}

/* ---- telling ---- */

static void __attribute__((format(printf, 2, 3)))
add(char to[static LIST_SIZE], const char *format, ...)
{
	size_t n = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + n, LIST_SIZE - n, format, args);
	va_end(args);
}

/* Is one with that name before it in the table, and missing for the same reason? */
static bool
was_named(const struct doctor *d, int i)
{
	for (int j = 0; j < i; j++)
		if (strcmp(probes[i].name, probes[j].name) == 0 && is_wanted(d, &probes[j]) && d->verdicts[i] == d->verdicts[j])
			return true;
	return false;
}

static void
list(char to[static LIST_SIZE], const struct doctor *d, enum verdict verdict, const char *before, const char *after)
{
	const char *between = before;

	for (int i = 0; i < PROBES; i++)
		if (d->verdicts[i] == verdict && !was_named(d, i)) {
			add(to, "%s%s", between, probes[i].name);
			between = ", ";
		}
	if (between != before)
		add(to, "%s", after);
}

/* What does not work without them. */
static enum level
list_consequences(char to[static LIST_SIZE], const struct doctor *d)
{
	enum level level = FINE;

	for (int use = 0; use < USES; use++) {
		bool missing = false;

		for (int i = 0; i < PROBES; i++)
			missing |= (int)probes[i].use == use && d->verdicts[i] > PERMITTED;
		if (!missing || (use == TO_LIST && strstr(to, consequences[TO_LIST].text) != NULL))
			continue;
		level = consequences[use].level > level ? consequences[use].level : level;
		add(to, "%s%s", to[0] != '\0' ? "; " : "", consequences[use].text);
	}
	return level;
}

/* Each of the patterns behind a word. */
static void
list_channels(char to[static LIST_SIZE], const struct doctor *d, const char *before)
{
	if (d->target->deployment != LSH_QUORUM)
		add(to, "%s%s:wake:*", before, d->prefix);
	if (acl_is_sharded(d))
		add(to, "%s%s:{*}:wake:*", before, d->prefix);
}

/* " +client|setname" of CLIENT SETNAME */
static void
add_rule(char to[static LIST_SIZE], const char *name)
{
	char rule[32] = "";

	for (size_t i = 0; name[i] != '\0' && i < sizeof rule - 1; i++)
		rule[i] = name[i] == ' ' ? '|' : (char)(name[i] | 0x20);
	add(to, " +%s", rule);
}

/* " +hset +zadd ~leash:* &leash:wake:*" for what is missing, or for all. */
static void
list_rules(char to[static LIST_SIZE], const struct doctor *d, bool all)
{
	bool keys = all, channels = all;

	for (int i = 0; i < PROBES; i++) {
		keys |= d->verdicts[i] == NO_KEY;
		channels |= d->verdicts[i] == NO_CHANNEL;
		if (probes[i].use != TO_KNOW && is_wanted(d, &probes[i]) && !was_named(d, i) &&
		    (all || d->verdicts[i] == NO_COMMAND))
			add_rule(to, probes[i].name);
	}
	if (keys)
		add(to, " ~%s:*", d->prefix);
	if (channels)
		list_channels(to, d, " &");
}

void
acl_advise(struct doctor *d, bool all)
{
	char rules[LIST_SIZE] = "", renamed[LIST_SIZE] = "";

	list_rules(rules, d, all);
	list(renamed, d, UNKNOWN, "take rename-command for ", " out of its configuration, or use a server that has it");
	if (rules[0] != '\0')
		advise(d, "ACL SETUSER %s%s, then ACL SAVE (with an aclfile) or CONFIG REWRITE, so that it stays%s%s",
		       doctor_user(d), rules, renamed[0] != '\0' ? "; " : "", renamed);
	else if (renamed[0] != '\0')
		advise(d, "%s", renamed);
}

static void
tell_sufficient(struct doctor *d)
{
	const char *outcome = d->smoke != LOCK_WORKS ? "but no lock was tried, for what is wrong above"
	                      : d->target->deployment == LSH_QUORUM
	                          ? "a lock was acquired, renewed, released and acquired by another"
	                          : "a lock was acquired, renewed, waited for, handed over and released";
	char channels[LIST_SIZE] = "";
	int count = 0;

	for (int i = 0; i < PROBES; i++)
		count += is_wanted(d, &probes[i]) && d->verdicts[i] == PERMITTED && !was_named(d, i);
	list_channels(channels, d, " and channels ");
	tell(d, FINE, "user %s may run all %d commands, on keys %s:*%s; %s", doctor_user(d), count, d->prefix,
	     channels, outcome);
}

static void
tell_missing(struct doctor *d, enum level level, const char *consequence)
{
	char missing[LIST_SIZE] = "", keys[LIST_SIZE] = "", channels[LIST_SIZE] = "";

	add(keys, " on keys %s:*; ", d->prefix);
	list_channels(channels, d, " on channels ");
	add(channels, "; ");
	list(missing, d, NO_COMMAND, "may not run ", "; ");
	list(missing, d, NO_KEY, "may not run ", keys);
	list(missing, d, NO_CHANNEL, "may not run ", channels);
	list(missing, d, UNKNOWN, "finds no ", ", which the server does not know; ");
	acl_advise(d, false);
	tell(d, level, "user %s %sso %s", doctor_user(d), missing, consequence);
}

void
acl_tell(struct doctor *d)
{
	char consequence[LIST_SIZE] = "";
	enum level level = list_consequences(consequence, d);

	if (d->status != LEASH_OK || d->smoke == LOCK_FAILS)
		return;
	if (level == FINE)
		tell_sufficient(d);
	else
		tell_missing(d, level, consequence);
}
