/* The sentinels of a deployment, for whoever relies on a failover: is each that the URI names there, do they agree who
 * the master is, can they agree on another, and would they in time? All are asked first and told of afterwards,
 * because what one says is right or wrong by what the others say.
 *
 * None of that keeps locks from working as long as the master lives, so nothing of it is an error by itself. What a
 * sentinel does not permit to be asked is not judged. */
#include "tools/doctor/checks.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "redis/informant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum question { ADDRESS, MASTER, OTHERS, QUESTIONS };

static const char *const questions[QUESTIONS] = {"GET-MASTER-ADDR-BY-NAME", "MASTER", "SENTINELS"};

/* What one of them said. */
struct sentinel {
	struct lsh_uri uri;
	leash_status status;            /* not OK: it could not be asked, */
	leash_error err;                /* for this */
	char refusal[QUESTIONS][120];   /* of a question; "": it was answered */
	struct lsh_whereabouts master;  /* port 0: it knows none of that name */
	bool told;                      /* the rest, by MASTER, */
	bool down;                      /* that it takes the master for down */
	unsigned long long epoch, quorum, others, down_after_ms;
	unsigned long long lost;        /* and by OTHERS: those of them that it cannot reach */
};

struct sentinels {
	struct doctor *d;
	const struct lsh_uri *uri;      /* of the deployment */
	int64_t lease_ms;
	size_t count, answered;
	struct sentinel at[LSH_HOSTS_MAX];
};

/* ---- asking ---- */

static const struct redisReply *
field(const struct redisReply *answer, const char *name)
{
	for (size_t i = 0; i + 1 < lsh_answer_count(answer); i += 2) {
		struct lsh_item item = lsh_answer_item(lsh_answer_at(answer, i));

		if (item.type == LSH_STRING && item.length == strlen(name) && memcmp(item.text, name, item.length) == 0)
			return lsh_answer_at(answer, i + 1);
	}
	return NULL;
}

static uint64_t
number(const struct redisReply *answer, const char *name)
{
	struct lsh_item item = lsh_answer_item(field(answer, name));
	uint64_t n;

	if (item.type != LSH_STRING || !lsh_decimal_read(item.text, item.length, &n))
		return 0;
	return n < UINT32_MAX ? n : UINT32_MAX; /* whatever it says, there is room to add to it */
}

static bool
is_flagged(const struct redisReply *answer, const char *flag)
{
	struct lsh_item item = lsh_answer_item(field(answer, "flags"));

	return item.type == LSH_STRING && strstr(item.text, flag) != NULL;
}

static void
take_address(struct sentinel *s, const struct redisReply *answer)
{
	struct lsh_item host = lsh_answer_item(lsh_answer_at(answer, 0)), port = lsh_answer_item(lsh_answer_at(answer, 1));
	uint64_t n;

	if (lsh_answer_item(answer).type == LSH_NIL)
		return;
	if (host.type != LSH_STRING || port.type != LSH_STRING || !lsh_decimal_read(port.text, port.length, &n) || n == 0 ||
	    n > UINT16_MAX) {
		s->status = lsh_fail(&s->err, LEASH_PROTOCOL, 0, "where it says that the master is, none can be");
		return;
	}
	lsh_show_text(s->master.host, sizeof s->master.host, host.text, host.length);
	s->master.port = (uint16_t)n;
}

static void
take_master(struct sentinel *s, const struct redisReply *answer)
{
	s->told = field(answer, "quorum") != NULL;
	s->down = is_flagged(answer, "_down");
	s->epoch = number(answer, "config-epoch");
	s->quorum = number(answer, "quorum");
	s->others = number(answer, "num-other-sentinels");
	s->down_after_ms = number(answer, "down-after-milliseconds");
}

static void
take_others(struct sentinel *s, const struct redisReply *answer)
{
	for (size_t i = 0; i < lsh_answer_count(answer); i++)
		s->lost += is_flagged(lsh_answer_at(answer, i), "_down");
}

static void
ask(struct sentinels *all, struct sentinel *s)
{
	static void (*const take[QUESTIONS])(struct sentinel *, const struct redisReply *) = {take_address, take_master,
	                                                                                      take_others};
	struct doctor *d = all->d;

	d->uri = &s->uri;
	d->status = lsh_talk_open(&d->talk, d->uri, LSH_WANT_SENTINEL, d->name, d->timeout_ms * LSH_MS, &d->err);
	for (int i = 0; i < QUESTIONS; i++)
		DOCTOR_SEND(d, "SENTINEL", questions[i], all->uri->master);
	for (int i = 0; i < QUESTIONS; i++) {
		const struct redisReply *answer = doctor_receive(d);
		struct lsh_item item = lsh_answer_item(answer);

		if (d->status != LEASH_OK)
			break;
		if (item.type == LSH_ERROR)
			doctor_words(d, s->refusal[i], sizeof s->refusal[i], item.text, item.length);
		else
			take[i](s, answer);
	}
	if (d->status != LEASH_OK) {
		s->status = d->status;
		s->err = d->err;
	}
	lsh_informant_free(d->talk);
	d->talk = NULL;
}

/* ---- judging ---- */

static bool
agree(const struct sentinel *a, const struct sentinel *b)
{
	return a->master.port == b->master.port && strcmp(a->master.host, b->master.host) == 0;
}

static unsigned
voices_for(const struct sentinels *all, const struct sentinel *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < all->count; i++)
		n += all->at[i].status == LEASH_OK && agree(&all->at[i], s);
	return n;
}

/* Whom a client would believe, as sentinel.c has it; NULL: there is none who names a master. */
static const struct sentinel *
most_believed(const struct sentinels *all)
{
	const struct sentinel *best = NULL;

	for (size_t i = 0; i < all->count; i++) {
		const struct sentinel *s = &all->at[i];

		if (s->status != LEASH_OK || s->master.port == 0)
			continue;
		if (best == NULL || s->epoch > best->epoch ||
		    (s->epoch == best->epoch && voices_for(all, s) > voices_for(all, best)))
			best = s;
	}
	return best;
}

/* ---- telling ---- */

static void
tell_trouble(struct doctor *d, const struct sentinel *s)
{
	if (s->status == LEASH_DENIED)
		advise(d, "fix sentinel_user and sentinel_password_file (or _env) in the URI: to sentinels user and password "
		       "are their own");
	else if (s->status == LEASH_INVALID || s->status == LEASH_PROTOCOL)
		advise(d, "name the port of the sentinel there; where TLS is wanted write rediss+sentinel://");
	else
		advise(d, "start it again, or fix its address in the URI; while fewer than a majority of the sentinels run "
		       "there is no failover");
	tell(d, WARNING, "it cannot be asked: %s", doctor_trouble(d, &s->err));
}

/* A permission, or a command, that is lacking. */
static void
tell_refusals(struct doctor *d, const struct sentinel *s)
{
	static const char *const rules[QUESTIONS] = {"get-master-addr-by-name", "master", "sentinels"};
	static const char *const lacks[QUESTIONS] = {"it finds no master for us", "its quorum and its times are not known",
	                                             "it is not known which of the others it reaches"};

	for (int i = 0; i < QUESTIONS; i++) {
		if (s->refusal[i][0] == '\0' || (i > ADDRESS && s->master.port == 0))
			continue; /* of a master that it does not know it says nothing else */
		if (lsh_starts_with_word(s->refusal[i], "NOPERM"))
			advise(d, "ACL SETUSER %s +sentinel|%s, on the sentinel",
			       s->uri.login.user != NULL ? s->uri.login.user : "default", rules[i]);
		tell(d, i == ADDRESS ? WARNING : NOTE, "SENTINEL %s was refused, so %s: %s", questions[i], lacks[i],
		     s->refusal[i]);
	}
}

static void
tell_master(const struct sentinels *all, const struct sentinel *s, const struct sentinel *believed)
{
	const char *name = all->uri->master;
	struct doctor *d = all->d;

	if (s->refusal[ADDRESS][0] != '\0')
		return;
	if (s->master.port == 0) {
		advise(d, "SENTINEL MONITOR %.60s HOST PORT QUORUM at it, or fix the name in the URI: SENTINEL MASTERS lists "
		       "those that it watches", name);
		tell(d, WARNING, "it knows no master called '%.60s'", name);
	} else if (!agree(s, believed)) {
		advise(d, "wait for the end of a failover and look again; if it stays so, SENTINEL REMOVE %.60s at it, and "
		       "SENTINEL MONITOR again", name);
		tell(d, WARNING, "it says that the master is %.120s:%u, but %u of %zu sentinels say %.120s:%u",
		     s->master.host, s->master.port, voices_for(all, believed), all->answered, believed->master.host,
		     believed->master.port);
	} else if (s->down) {
		advise(d, "see whether the master runs, and can be reached from the sentinel's machine");
		tell(d, WARNING, "it sees the master, %.120s:%u, as down", s->master.host, s->master.port);
	} else {
		tell(d, FINE, "the master is %.120s:%u, as %u of %zu say", s->master.host, s->master.port, voices_for(all, s),
		     all->answered);
	}
}

/* The quorum says who is down, a majority of all lets somebody do something about it. */
static void
tell_voters(const struct sentinels *all, const struct sentinel *s)
{
	unsigned long long voters = s->others + 1, reached = voters > s->lost ? voters - s->lost : 1;
	unsigned long long majority = voters / 2 + 1, needed = majority > s->quorum ? majority : s->quorum;
	const char *name = all->uri->master;
	struct doctor *d = all->d;

	if (s->quorum > voters) {
		advise(d, "SENTINEL SET %.60s quorum %llu, at each", name, majority);
		tell(d, WARNING, "its quorum is %llu, but there are %llu sentinels: no failover will ever happen", s->quorum,
		     voters);
	} else if (reached < needed) {
		advise(d, "start the others, or fix what is between them; those that are gone for good it forgets by SENTINEL "
		       "RESET %.60s", name);
		tell(d, WARNING, "of %llu sentinels it reaches %llu, itself included, and a failover needs %llu: none will "
		     "happen", voters, reached, needed);
	} else if (voters < 3) {
		advise(d, "run three sentinels, on machines of their own");
		tell(d, WARNING, "there %s %llu sentinel%s in all: when one is gone, no failover will happen",
		     voters == 1 ? "is" : "are", voters, voters == 1 ? "" : "s");
	} else {
		tell(d, FINE, "of %llu sentinels it reaches %llu; %llu of them see a master as down, and %llu replace it",
		     voters, reached, s->quorum, majority);
	}
}

static void
tell_times(const struct sentinels *all, const struct sentinel *s)
{
	if (s->down_after_ms < (unsigned long long)all->lease_ms)
		return;
	advise(all->d, "SENTINEL SET %.60s down-after-milliseconds 5000, at each; or have longer leases", all->uri->master);
	tell(all->d, WARNING, "it sees a master as down after %llu ms, and a lease is %lld ms: when the master dies, all "
	     "locks are lost before there is another", s->down_after_ms, (long long)all->lease_ms);
}

static void
tell_all(const struct sentinels *all)
{
	const struct sentinel *believed = most_believed(all);

	for (size_t i = 0; i < all->count; i++) {
		const struct sentinel *s = &all->at[i];

		all->d->uri = &s->uri;
		if (s->status != LEASH_OK) {
			tell_trouble(all->d, s);
			continue;
		}
		tell_master(all, s, believed);
		tell_refusals(all->d, s);
		if (s->told) {
			tell_voters(all, s);
			tell_times(all, s);
		}
	}
}

leash_status
sentinels_examine(struct doctor *d, const struct lsh_uri *uri, int64_t lease_ms)
{
	struct sentinels all = {.d = d, .uri = uri, .lease_ms = lease_ms};
	leash_status status = LEASH_OK;

	d->topic = "sentinel";
	while (all.count < uri->host_count && status == LEASH_OK) {
		struct sentinel *s = &all.at[all.count];

		if (lsh_uri_of_sentinel(&s->uri, uri, all.count++))
			ask(&all, s);
		else
			s->status = lsh_fail_short(&d->err, ENOMEM, "a connection");
		all.answered += s->status == LEASH_OK;
		status = s->status == LEASH_NO_MEMORY ? LEASH_NO_MEMORY : LEASH_OK;
	}
	if (status == LEASH_OK)
		tell_all(&all);
	for (size_t i = 0; i < all.count; i++)
		lsh_uri_clear(&all.at[i].uri);
	return status;
}
