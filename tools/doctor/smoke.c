/* Smoke: one lock through its life, by the scripts that all clients use, with two tokens and a message. Only where
 * everything is permitted and nothing hinders the server, so that nothing is left at the end.
 *
 * The scripts keep a fence for an hour. Here each gets a minute, in the same write as the step that made it: if the
 * server does not let it be deleted, it expires by itself. */
#include "tools/doctor/checks.h"

#include "base/clock.h"
#include "base/text.h"
#include "lua/scripts.h"
#include "redis/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEASE_MS "10000"
#define FENCE_MS "60000"

enum { NUMBERS = 3 };

/* What the script has to answer. */
enum expected {
	ONE,
	FENCE,        /* a number */
	SAME_FENCE,
	LARGER_FENCE,
	BUSY,         /* the first of three numbers is 0: somebody else has it */
	QUEUED,       /* the last of three numbers is 0 */
};

struct step {
	const char *name;
	const struct lsh_script *script; /* NULL: the message of the grant has to come */
	int who;                         /* which of the two tokens */
	enum expected expected;
};

static const struct step queue_steps[] = {
	{"acquiring a lock", &lsh_script_acquire, 0, FENCE},
	{"asking for it again", &lsh_script_acquire, 0, SAME_FENCE},
	{"renewing it", &lsh_script_renew, 0, ONE},
	{"waiting for it", &lsh_script_acquire, 1, BUSY},
	{"the word of one who waits", &lsh_script_heartbeat, 1, QUEUED},
	{"releasing it", &lsh_script_release, 0, ONE},
	{"the message that it was handed over", NULL, 1, ONE},
	{"renewing it where it was handed over to", &lsh_script_renew, 1, ONE},
	{"releasing it there", &lsh_script_release, 1, ONE},
	{0},
};

/* A server of a quorum has neither queue nor messages. */
static const struct step quorum_steps[] = {
	{"acquiring a lock", &lsh_script_acquire, 0, FENCE},
	{"asking for it again", &lsh_script_acquire, 0, SAME_FENCE},
	{"renewing it", &lsh_script_renew, 0, ONE},
	{"asking while another has it", &lsh_script_acquire, 1, BUSY},
	{"releasing it", &lsh_script_release, 0, ONE},
	{"acquiring it after that", &lsh_script_acquire, 1, LARGER_FENCE},
	{"releasing it after that", &lsh_script_release, 1, ONE},
	{0},
};

struct smoke {
	struct doctor *d;
	char token[2][LSH_TOKEN_SIZE];
	char cfg[KEY_SIZE + 32];
	const char *wanted; /* the fence, at a server of a quorum; else NULL */
	int64_t fence;

	/* what the last script answered */
	enum lsh_type type;
	size_t count;            /* of an array, */
	int64_t number[NUMBERS]; /* whose numbers; or the one */
	enum lsh_fault fault;    /* of an error, */
	char words[300];         /* which said this; or what was wrong with the message */
};

/* ---- a step ---- */

static void
keep(struct smoke *s, const struct redisReply *answer)
{
	struct lsh_item item = lsh_answer_item(answer);

	doctor_note_hindrance(s->d, &item);
	s->type = item.type;
	s->count = lsh_answer_count(answer);
	s->number[0] = item.integer;
	for (size_t i = 0; i < s->count && i < NUMBERS; i++)
		s->number[i] = lsh_answer_item(lsh_answer_at(answer, i)).integer;
	s->fault = item.type == LSH_ERROR ? lsh_fault_of(item.text) : LSH_FAULT_NONE;
	if (item.type == LSH_ERROR)
		doctor_words(s->d, s->words, sizeof s->words, item.text, item.length);
}

/* A request that is late, because server or network stand still, must find nobody who would not know of it: R2 in
 * lib/lua. */
static void
write_not_after(const struct doctor *d, char out[static LSH_DECIMAL_SIZE])
{
	int64_t now_us = d->hello.server_us + (lsh_now_ns() - d->hello.received_ns) / LSH_US;

	lsh_arg_decimal(out, now_us + d->timeout_ms * 1000);
}

static void
run(struct smoke *s, const struct step *step, bool with_source)
{
	struct doctor *d = s->d;
	const char *command = with_source ? "EVAL" : "EVALSHA";
	const char *what = with_source ? step->script->text : step->script->sha1;
	const char *lock = d->keys[0], *fence = d->keys[1], *queue = d->keys[2], *token = s->token[step->who];
	char not_after[LSH_DECIMAL_SIZE];

	write_not_after(d, not_after);
	if (step->script == &lsh_script_acquire)
		DOCTOR_SEND(d, command, what, "3", lock, fence, queue, token, LEASE_MS, not_after, s->cfg, s->wanted);
	else if (step->script == &lsh_script_renew)
		DOCTOR_SEND(d, command, what, "1", lock, token, LEASE_MS, "1", FENCE_MS);
	else if (step->script == &lsh_script_heartbeat)
		DOCTOR_SEND(d, command, what, "3", lock, fence, queue, d->uuid, LEASE_MS, token, s->cfg);
	else
		DOCTOR_SEND(d, command, what, "3", lock, fence, queue, token, s->cfg);
	keep(s, doctor_receive(d));
}

static bool
is_expected(const struct smoke *s, enum expected expected)
{
	switch (expected) {
	case ONE:
		return s->type == LSH_INTEGER && s->number[0] == 1;
	case FENCE:
		return s->type == LSH_INTEGER && s->number[0] > 0;
	case SAME_FENCE:
		return s->type == LSH_INTEGER && s->number[0] == s->fence;
	case LARGER_FENCE:
		return s->type == LSH_INTEGER && s->number[0] > s->fence;
	case BUSY:
		return s->type == LSH_ARRAY && s->count == 3 && s->number[0] == 0;
	case QUEUED:
		return s->type == LSH_ARRAY && s->count == 3 && s->number[2] == 0;
	}
	return false;
}

/* ---- what goes wrong ---- */

static void
tell_failure(struct smoke *s, const struct step *step)
{
	static const char intro[] = "a lock was tried and did not work";
	struct doctor *d = s->d;
	bool denied = s->fault == LSH_FAULT_DENIED;

	d->smoke = LOCK_FAILS;
	d->topic = denied ? "permissions" : "trial";
	if (denied)
		acl_advise(d, true);
	else if (d->uri->preloaded && s->fault == LSH_FAULT_NOSCRIPT)
		advise(d, "leash scripts --load, as one who is permitted SCRIPT LOAD, for this server; or take "
		       "scripts=preloaded out of the URI");
	else
		advise(d, "see what stands between (a proxy, renamed commands, a server that only resembles Redis); MONITOR on "
		       "the server shows what arrives there");
	if (step->script == NULL)
		tell(d, ERROR, "%s: %s %s", intro, step->name, s->words);
	else if (s->type == LSH_ERROR)
		tell(d, ERROR, "%s: %s was refused: %s", intro, step->name, s->words);
	else if (s->type == LSH_INTEGER)
		tell(d, ERROR, "%s: %s was answered with %" PRId64, intro, step->name, s->number[0]);
	else
		tell(d, ERROR, "%s: %s was answered in another way than the script does", intro, step->name);
}

/* The message of the grant, on the second connection. True: it has come, and is what the script sends. */
static bool
hear_grant(struct smoke *s, const struct step *step)
{
	const struct redisReply *message;
	struct lsh_item text;
	char begin[LSH_TOKEN_SIZE + 4];
	leash_error err = {0};
	size_t n = (size_t)snprintf(begin, sizeof begin, "g %s ", s->token[step->who]);

	s->fault = LSH_FAULT_NONE;
	if (lsh_talk_hear(s->d->listener, &message, &err) != LEASH_OK) {
		snprintf(s->words, sizeof s->words, "did not come: %s", err.text);
		return false;
	}
	text = lsh_answer_item(lsh_answer_at(message, 2));
	snprintf(s->words, sizeof s->words, "is another one than the script sends");
	return text.type == LSH_STRING && text.length >= n && memcmp(text.text, begin, n) == 0;
}

/* True: the step did what it should, or the connection is gone. */
static bool
take(struct smoke *s, const struct step *step)
{
	if (step->script == NULL)
		return hear_grant(s, step);
	run(s, step, false);
	if (s->fault == LSH_FAULT_NOSCRIPT && !s->d->uri->preloaded)
		run(s, step, true);
	if (s->d->status != LEASH_OK)
		return true;
	if (!is_expected(s, step->expected))
		return false;
	if (step->expected == FENCE)
		s->fence = s->number[0];
	return true;
}

/* Whatever became of the steps. If the connection is gone, by another one. */
static void
clean_up(struct doctor *d)
{
	struct lsh_arg del[] = {LSH_ARG("DEL"), lsh_arg_text(d->keys[0]), lsh_arg_text(d->keys[1]),
	                        lsh_arg_text(d->keys[2])};
	const struct redisReply *answer;
	struct lsh_informant *talk = NULL;
	leash_error err;

	DOCTOR_SEND(d, "DEL", d->keys[0], d->keys[1], d->keys[2]);
	if (doctor_receive(d) != NULL)
		return;
	if (lsh_talk_open(&talk, d->uri, LSH_WANT_SERVER, d->name, d->timeout_ms * LSH_MS, &err) == LEASH_OK) {
		lsh_informant_send(talk, del, 4);
		lsh_talk_hear(talk, &answer, &err);
	}
	lsh_informant_free(talk);
}

void
smoke_look(struct doctor *d)
{
	bool votes = d->target->deployment == LSH_QUORUM;
	const struct step *step = votes ? quorum_steps : queue_steps;
	struct smoke s = {.d = d, .wanted = votes ? "1" : NULL};

	if ((d->listener == NULL && !votes) || d->hindrances != 0 || !acl_suffices(d))
		return;
	lsh_token_write(s.token[0], d->uuid, 1);
	lsh_token_write(s.token[1], d->uuid, 2);
	if (acl_is_sharded(d))
		snprintf(s.cfg, sizeof s.cfg, "3000 " FENCE_MS " 10000 1 SPUBLISH -");
	else
		snprintf(s.cfg, sizeof s.cfg, "%d " FENCE_MS " 10000 1 PUBLISH %s:wake:", votes ? 0 : 3000, d->prefix);
	while (step->name != NULL && d->status == LEASH_OK && take(&s, step))
		step++;
	clean_up(d);
	if (d->status != LEASH_OK)
		return;
	d->smoke = LOCK_WORKS;
	if (step->name != NULL)
		tell_failure(&s, step);
}
