/* The doctor's round: each server goes through the checks of one table, in their order. See doctor.h for the parts. */
#include "tools/doctor/doctor.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/options.h"
#include "tools/doctor/checks.h"

#include <stdio.h>
#include <string.h>

enum {
	TIMEOUT_DEFAULT_MS = 1000,
	TRIES_MOST = 1 << 20, /* to find a name that one of many servers has */
};

/* ---- one server ---- */

/* `look` asks the server, and is left out once the connection is gone; `tell` says what that means. What is refused
 * says as much as INFO does (OOM, NOREPLICAS), so both are looked at before anything is told. */
static const struct check {
	const char *topic;
	check_fn *look, *tell;
} checks[] = {
	{"info", health_look, NULL},
	{"permissions", acl_look, NULL},
	{"connection", NULL, connection_tell},
	{"version", NULL, health_tell_version},
	{"version", NULL, health_tell_mode},
	{"eviction", NULL, health_tell_eviction},
	{"memory", NULL, health_tell_memory},
	{"persistence", NULL, health_tell_persistence},
	{"replication", NULL, health_tell_replication},
	{"limits", NULL, health_tell_limits},
	{"permissions", smoke_look, acl_tell},
	{"clock", timing_look, timing_tell_clock},
	{"clock", NULL, timing_tell_replicas},
	{"uptime", NULL, timing_tell_age},
	{"speed", NULL, timing_tell_speed},
	{"connection", NULL, connection_tell_break},
};

static leash_status
go_through_checks(struct doctor *d)
{
	d->status = lsh_talk_open(&d->talk, d->uri, LSH_WANT_SERVER, d->name, d->timeout_ms * LSH_MS, &d->err);
	if (d->status == LEASH_NO_MEMORY)
		return d->status;
	if (d->status != LEASH_OK)
		return connection_tell_failure(d);
	d->hello = *lsh_informant_hello(d->talk);
	for (const struct check *check = checks; check < checks + sizeof checks / sizeof *checks; check++) {
		d->topic = check->topic;
		if (check->look != NULL && d->status == LEASH_OK)
			check->look(d);
		d->topic = check->topic;
		if (check->tell != NULL)
			check->tell(d);
	}
	return d->status;
}

/* Of a cluster's servers each has a part of the names. False: there is no randomness to make one of. */
static bool
make_scratch(struct doctor *d)
{
	static const char *const ends[] = {"", ":fence", ":queue"};
	int tries = 0;

	do {
		if (tries++ == TRIES_MOST || !lsh_uuid_make(d->uuid))
			return false;
		for (int i = 0; i < 3; i++)
			snprintf(d->keys[i], KEY_SIZE, "%s:{leash-doctor-%s}%s", d->prefix, d->uuid, ends[i]);
	} while (!target_has(d->target, d->keys[0], strlen(d->keys[0])));
	snprintf(d->presence, KEY_SIZE, "%s:client:%s", d->prefix, d->uuid);
	snprintf(d->channel, KEY_SIZE, "%s:wake:%s", d->prefix, d->uuid);
	snprintf(d->shard, sizeof d->shard, "%.*s:wake:%s", KEY_SIZE, d->keys[0], d->uuid);
	snprintf(d->other_shard, sizeof d->other_shard, "%s:other", d->shard);
	return true;
}

/* ---- all of them ---- */

struct round {
	struct doctor doctor; /* as each server gets it */
	unsigned visited;
	struct {
		char run_id[LSH_RUN_ID_SIZE], shown[160];
	} met[LSH_QUORUM_MAX]; /* of a quorum */
	unsigned met_count;
};

/* Servers of a quorum that are one, by two names, have one vote: a majority is harder to get than it seems. */
static void
tell_twin(struct doctor *d, struct round *round)
{
	const char *run_id = d->hello.run_id;

	if (d->target->deployment != LSH_QUORUM || run_id[0] == '\0' || round->met_count == LSH_QUORUM_MAX)
		return;
	d->topic = "connection";
	for (unsigned i = 0; i < round->met_count; i++)
		if (strcmp(round->met[i].run_id, run_id) == 0) {
			advise(d, "name each server of the quorum once in the URI, and as many as 3, 5 or 7");
			tell(d, ERROR, "it is the same server as %s, and so the two have one vote", round->met[i].shown);
			return;
		}
	snprintf(round->met[round->met_count].run_id, LSH_RUN_ID_SIZE, "%s", run_id);
	snprintf(round->met[round->met_count++].shown, sizeof round->met->shown, "%s", d->uri->shown);
}

static leash_status
visit(void *arg, const struct target *target, leash_error *err)
{
	struct round *round = arg;
	struct doctor d = round->doctor;
	leash_status status;

	round->visited++;
	d.target = target;
	d.uri = target->uri;
	d.conf_file = "redis.conf";
	health_take_user(&d, d.uri->login.user != NULL ? d.uri->login.user : "default");
	if (!make_scratch(&d))
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "the system has no randomness to give, which tokens are made of");
	status = go_through_checks(&d);
	tell_twin(&d, round);
	*err = d.err;
	lsh_informant_free(d.listener);
	lsh_informant_free(d.talk);
	lsh_free(d.info);
	return status;
}

/* They lead nowhere: what was told of each of them does not say so. */
static void
tell_no_master(struct doctor *d, const struct lsh_uri *uri, const leash_error *why)
{
	d->uri = uri;
	d->topic = "sentinel";
	advise(d, "fix what is said of its sentinels above: without one of them nobody knows where the master is");
	tell(d, ERROR, "%s", doctor_trouble(d, why));
}

static leash_status
examine(struct round *round, const struct lsh_uri *uri, int64_t lease_ms, leash_error *err)
{
	struct doctor *d = &round->doctor, of_sentinels = *d;
	leash_status status = LEASH_OK;

	if (uri->deployment == LSH_SENTINEL)
		status = sentinels_examine(&of_sentinels, uri, lease_ms);
	if (status != LEASH_OK)
		*err = of_sentinels.err;
	else
		status = targets_visit(uri, d->name, d->timeout_ms * LSH_MS, visit, round, err);
	if (status != LEASH_OK && status != LEASH_NO_MEMORY && uri->deployment == LSH_SENTINEL && round->visited == 0)
		tell_no_master(d, uri, err);
	return status;
}

leash_status
doctor_examine(const leash_options *options, finding_fn *told, void *arg, leash_error *err)
{
	struct round round = {.doctor = {.told = told, .arg = arg}};
	struct doctor *d = &round.doctor;
	struct lsh_uri uri = {0};
	leash_options o;
	leash_status status = lsh_options_read(&o, options, err);

	if (status == LEASH_OK)
		status = lsh_uri_parse(&uri, o.uri, err);
	if (status != LEASH_OK)
		return status;
	snprintf(d->prefix, sizeof d->prefix, "%s", o.prefix);
	snprintf(d->name, sizeof d->name, "leash:%s", o.client_name != NULL ? o.client_name : "doctor");
	d->timeout_ms = o.timeout_ms != 0 ? o.timeout_ms : uri.timeout_ms != 0 ? uri.timeout_ms : TIMEOUT_DEFAULT_MS;
	status = examine(&round, &uri, o.lease_ms, err);
	lsh_uri_clear(&uri);
	return status;
}
