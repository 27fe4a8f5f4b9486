/* A trial: one lock through its life, by the scripts that all clients use, with two tokens and a message. Only where everything is
 * permitted and nothing hinders the server, so that it ends with nothing left.
 *
 *   one asks, asks again, renews -> two asks, is queued, says its word -> one releases -> two is told, renews, releases
 *
 * A server of a quorum has neither queue nor messages:
 *
 *   one asks, asks again, renews -> two asks in vain -> one releases -> two asks, and has a larger fence; releases
 *
 * The scripts keep a fence for an hour. Here it is given a minute at once, in the same write as the step that made it: should the server
 * not let it be deleted, it goes by itself. */
#include "client/examine.h"

#include "base/clock.h"
#include "base/text.h"
#include "lua/scripts.h"
#include "redis/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS = 3 };

#define LEASE_MS "10000"
#define FENCE_MS "60000"

/* What a script answered. */
struct said {
	enum lsh_type type;
	size_t count;             /* of an array */
	int64_t number[NUMBERS];  /* of it, or the one */
	char words[200];          /* of an error */
	enum lsh_fault fault;
};

struct trial {
	struct lsh_examination *x;
	char token[2][LSH_TOKEN_SIZE];
	char cfg[LSH_SCRATCH_KEY + 32];
	char not_after[LSH_DECIMAL_SIZE];
	int64_t fence;
	const char *step;       /* the one that is being taken */
	struct said said;
	char trouble[320];      /* "": none so far */
	bool denied;
	bool unloaded;          /* the scripts are to be preloaded, and are not */
};

/* ---- a step ---- */

static void
keep(struct trial *t, const struct redisReply *answer)
{
	struct lsh_item item = lsh_answer_item(answer);

	lsh_note_hindrance(t->x, &item);
	t->said = (struct said){.type = item.type, .count = lsh_answer_count(answer), .number = {item.integer}};
	for (size_t i = 0; i < t->said.count && i < NUMBERS; i++)
		t->said.number[i] = lsh_answer_item(lsh_answer_at(answer, i)).integer;
	if (item.type != LSH_ERROR)
		return;
	t->said.fault = lsh_fault_of(item.text);
	lsh_words(t->x, t->said.words, sizeof t->said.words, item.text, item.length);
}

static void
give(struct trial *t, const struct lsh_script *script, bool whole, const char *const argv[4])
{
	struct lsh_examination *x = t->x;
	const char *command = whole ? "EVAL" : "EVALSHA", *what = whole ? script->text : script->sha1;

	if (script == &lsh_script_renew)
		lsh_say(x, command, what, "1", x->keys[0], argv[0], argv[1], argv[2], FENCE_MS, NULL);
	else if (script == &lsh_script_vote)
		lsh_say(x, command, what, "2", x->keys[0], x->keys[1], argv[0], argv[1], argv[2], argv[3], FENCE_MS, NULL);
	else
		lsh_say(x, command, what, "3", x->keys[0], x->keys[1], x->keys[2], argv[0], argv[1], argv[2], argv[3], NULL);
	keep(t, lsh_hear(x));
}

/* Take a step: false if an earlier one failed, or the server is gone; the answer is in t->said. */
static bool
take(struct trial *t, const char *step, const struct lsh_script *script, const char *a, const char *b, const char *c, const char *d)
{
	const char *argv[4] = {a, b, c, d};

	if (t->trouble[0] != '\0' || t->x->status != LEASH_OK)
		return false;
	t->step = step;
	give(t, script, false, argv);
	if (t->said.type == LSH_ERROR && t->said.fault == LSH_FAULT_NOSCRIPT && !t->x->uri->preloaded)
		give(t, script, true, argv);
	return t->x->status == LEASH_OK;
}

/* Is that what it should have said? Else it is the trouble. */
static void
check(struct trial *t, bool right)
{
	const struct said *s = &t->said;

	if (right)
		return;
	t->unloaded = t->x->uri->preloaded && s->type == LSH_ERROR && s->fault == LSH_FAULT_NOSCRIPT;
	if (s->type == LSH_ERROR)
		snprintf(t->trouble, sizeof t->trouble, "%s was refused: %s", t->step, s->words);
	else if (s->type == LSH_INTEGER)
		snprintf(t->trouble, sizeof t->trouble, "%s was answered with %" PRId64, t->step, s->number[0]);
	else
		snprintf(t->trouble, sizeof t->trouble, "%s was answered in another way than the script does", t->step);
	t->denied = s->type == LSH_ERROR && s->fault == LSH_FAULT_DENIED;
}

static bool
said_number(const struct trial *t, int64_t n)
{
	return t->said.type == LSH_INTEGER && t->said.number[0] == n;
}

/* An ask that is late, because the server or the line stands still, must find nobody who would not know of it: see R2 in lib/lua. */
static const char *
not_after(struct trial *t)
{
	const struct lsh_examination *x = t->x;
	int64_t now_us = x->hello.server_us + (lsh_now_ns() - x->hello.received_ns) / LSH_US;

	lsh_arg_decimal(t->not_after, now_us + x->timeout_ms * 1000);
	return t->not_after;
}

/* ---- the life of a lock ---- */

static void
acquire(struct trial *t)
{
	if (!take(t, "acquiring a lock", &lsh_script_acquire, t->token[0], LEASE_MS, not_after(t), t->cfg))
		return;
	check(t, t->said.type == LSH_INTEGER && t->said.number[0] > 0);
	t->fence = t->said.number[0];
	if (take(t, "asking for it again", &lsh_script_acquire, t->token[0], LEASE_MS, not_after(t), t->cfg))
		check(t, said_number(t, t->fence));
	if (take(t, "renewing it", &lsh_script_renew, t->token[0], LEASE_MS, "2", NULL))
		check(t, said_number(t, 1));
}

static void
queue(struct trial *t)
{
	if (take(t, "waiting for it", &lsh_script_acquire, t->token[1], LEASE_MS, not_after(t), t->cfg))
		check(t, t->said.type == LSH_ARRAY && t->said.count == 3 && t->said.number[0] == 0);
	if (take(t, "the word of one who waits", &lsh_script_word, t->x->uuid, LEASE_MS, t->token[1], t->cfg))
		check(t, t->said.type == LSH_ARRAY && t->said.count == 3 && t->said.number[2] == 0);
}

/* The message of the grant, on the ear. */
static void
hear_grant(struct trial *t)
{
	const struct redisReply *message;
	struct lsh_item text;
	char begin[LSH_TOKEN_SIZE + 4];
	leash_error err = {0};
	size_t n = (size_t)snprintf(begin, sizeof begin, "g %s ", t->token[1]);

	if (t->trouble[0] != '\0' || t->x->status != LEASH_OK)
		return;
	if (lsh_talk_hear(t->x->ear, &message, &err) != LEASH_OK) {
		snprintf(t->trouble, sizeof t->trouble, "the message that it was handed over did not come: %s", err.text);
		return;
	}
	text = lsh_answer_item(lsh_answer_at(message, 2));
	if (text.type != LSH_STRING || text.length < n || memcmp(text.text, begin, n) != 0)
		snprintf(t->trouble, sizeof t->trouble, "the message that it was handed over is another one than the script sends");
}

static void
hand_over(struct trial *t)
{
	if (take(t, "releasing it", &lsh_script_release, t->token[0], t->cfg, NULL, NULL))
		check(t, said_number(t, 1));
	hear_grant(t);
	if (take(t, "renewing it where it was handed over to", &lsh_script_renew, t->token[1], LEASE_MS, "1", NULL))
		check(t, said_number(t, 1));
	if (take(t, "releasing it there", &lsh_script_release, t->token[1], t->cfg, NULL, NULL))
		check(t, said_number(t, 1));
}

/* ---- the same at a server of a quorum ---- */

static bool
vote(struct trial *t, const char *step, int who)
{
	return take(t, step, &lsh_script_vote, t->token[who], LEASE_MS, not_after(t), "1");
}

static void
release_vote(struct trial *t, const char *step, int who)
{
	if (take(t, step, &lsh_script_release, t->token[who], t->cfg, NULL, NULL))
		check(t, said_number(t, 1));
}

static void
try_votes(struct trial *t)
{
	if (!vote(t, "acquiring a lock", 0))
		return;
	check(t, t->said.type == LSH_INTEGER && t->said.number[0] > 0);
	t->fence = t->said.number[0];
	if (vote(t, "asking for it again", 0))
		check(t, said_number(t, t->fence));
	if (take(t, "renewing it", &lsh_script_renew, t->token[0], LEASE_MS, "2", NULL))
		check(t, said_number(t, 1));
	if (vote(t, "asking while another has it", 1))
		check(t, t->said.type == LSH_ARRAY && t->said.count == 3 && t->said.number[0] == 0);
	release_vote(t, "releasing it", 0);
	if (vote(t, "acquiring it after that", 1))
		check(t, t->said.type == LSH_INTEGER && t->said.number[0] > t->fence);
	release_vote(t, "releasing it after that", 1);
}

/* ---- the trial ---- */

static void
prepare(struct trial *t)
{
	lsh_token_write(t->token[0], t->x->uuid, 1);
	lsh_token_write(t->token[1], t->x->uuid, 2);
	if (lsh_rights_sharded(t->x))
		snprintf(t->cfg, sizeof t->cfg, "3000 " FENCE_MS " 10000 1 SPUBLISH -");
	else
		snprintf(t->cfg, sizeof t->cfg, "3000 " FENCE_MS " 10000 1 PUBLISH %s:wake:", t->x->prefix);
}

/* Whatever became of the trial. If that ended with the connection, by another one. */
static void
clean_up(struct lsh_examination *x)
{
	struct lsh_arg del[] = {LSH_ARG("DEL"), lsh_arg_text(x->keys[0]), lsh_arg_text(x->keys[1]), lsh_arg_text(x->keys[2])};
	const struct redisReply *answer;
	struct lsh_talk *talk = NULL;
	leash_error err;

	lsh_say(x, "DEL", x->keys[0], x->keys[1], x->keys[2], NULL);
	if (lsh_hear(x) != NULL)
		return;
	if (lsh_talk_open(&talk, x->uri, x->name, x->timeout_ms * LSH_MS, NULL, &err) == LEASH_OK && lsh_talk_say(talk, del, 4, &err) == LEASH_OK)
		lsh_talk_hear(talk, &answer, &err);
	lsh_talk_close(talk);
}

static void
tell(struct trial *t)
{
	if (t->denied)
		lsh_rights_remedy_all(t->x);
	else if (t->unloaded)
		lsh_remedy(t->x, "leash scripts --load, as one who is permitted SCRIPT LOAD, for this server; or take scripts=preloaded out of the URI");
	else
		lsh_remedy(t->x, "see what stands between (a proxy, renamed commands, a server that only resembles Redis); MONITOR on the server shows "
		           "what arrives there");
	lsh_find(t->x, LEASH_FINDING_ERROR, t->denied ? "permissions" : "trial", "a lock was tried and did not work: %s", t->trouble);
}

enum lsh_tried
lsh_trial(struct lsh_examination *x)
{
	struct trial t = {.x = x};
	unsigned before = x->hindrances;
	bool votes = x->stop->deployment == LSH_QUORUM;

	if (x->status != LEASH_OK || (x->ear == NULL && !votes) || before != 0 || !lsh_rights_suffice(x))
		return LSH_NOT_TRIED;
	prepare(&t);
	if (votes) {
		try_votes(&t);
	} else {
		acquire(&t);
		queue(&t);
		hand_over(&t);
	}
	clean_up(x);
	if (x->status != LEASH_OK)
		return LSH_NOT_TRIED;
	if (t.trouble[0] == '\0')
		return LSH_LOCK_WORKS;
	tell(&t);
	return LSH_LOCK_FAILS;
}
