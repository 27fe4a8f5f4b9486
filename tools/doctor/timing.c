/* Timing: the clocks of a server and its replicas, its age, and its speed. */
#include "tools/doctor/checks.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRIPS = 100,
	REPLICAS_MOST = 16,
	SKEW_MS = 1000,   /* of the clocks: more is worth a warning */
	FRESH_MS = 60000, /* a server that is so young may have been restarted under locks */
};

static const int64_t trips_limit = 3 * LSH_S;

/* ---- round trips ---- */

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of what TIME answers; -1: that is no such answer. */
static int64_t
read_time(const struct redisReply *answer)
{
	struct lsh_item s = lsh_answer_item(lsh_answer_at(answer, 0)), us = lsh_answer_item(lsh_answer_at(answer, 1));
	uint64_t seconds, rest;

	if (s.type != LSH_STRING || us.type != LSH_STRING || !lsh_decimal_read(s.text, s.length, &seconds) ||
	    !lsh_decimal_read(us.text, us.length, &rest) || seconds > INT64_C(1) << 40 || rest >= 1000000)
		return -1;
	return (int64_t)(seconds * 1000000 + rest);
}

/* TIME, because whoever locks may ask for it. */
void
timing_look(struct doctor *d)
{
	int64_t us[TRIPS], began = lsh_now_ns();
	int count = 0;

	d->trips.within_us = INT64_MAX;
	if ((d->hindrances & (HINDERED_LOADING | HINDERED_BUSY)) != 0)
		return;
	while (count < TRIPS && lsh_now_ns() - began < trips_limit) {
		int64_t sent = lsh_now_ns(), before = lsh_wall_us(), theirs;
		const struct redisReply *answer;

		DOCTOR_SEND(d, "TIME");
		answer = doctor_receive(d);
		if (answer == NULL)
			break;
		us[count] = (lsh_now_ns() - sent) / LSH_US;
		theirs = read_time(answer);
		if (theirs >= 0 && us[count] < d->trips.within_us) {
			d->trips.within_us = us[count];
			d->trips.ahead_us = theirs - before - us[count] / 2;
		}
		count++;
	}
	qsort(us, (size_t)count, sizeof *us, compare);
	if (count > 0) {
		d->trips.median_us = us[count / 2];
		d->trips.worst_us = us[count - 1];
	}
	d->trips.count = count;
}

void
timing_tell_speed(struct doctor *d)
{
	double median = (double)d->trips.median_us / 1000, worst = (double)d->trips.worst_us / 1000;
	const char *judgement = "";
	enum level level = FINE;

	if (d->trips.count == 0)
		return;
	if (worst > (double)d->timeout_ms) {
		level = ERROR;
		judgement = ", which is longer than leash waits for an answer";
	} else if (worst > (double)d->timeout_ms / 10) {
		level = WARNING;
		judgement = ", which is more than a tenth of the time that leash waits for an answer";
	}
	if (level != FINE)
		advise(d, "give it more time (?timeout=%lld in the URI), or find what holds it up: SLOWLOG GET, LATENCY "
		       "DOCTOR, and redis-cli --intrinsic-latency on its machine", (long long)(worst * 10) + 1);
	tell(d, level, "%d round trips: median %.2f ms, longest %.2f ms%s", d->trips.count, median, worst, judgement);
}

/* ---- clocks ---- */

void
timing_tell_clock(struct doctor *d)
{
	int64_t ms = d->trips.ahead_us / 1000;
	const char *where = ms < 0 ? "behind" : "ahead of";
	long long off = ms < 0 ? -ms : ms;

	if (d->trips.count == 0 || d->trips.within_us == INT64_MAX)
		return;
	if (off <= SKEW_MS) {
		tell(d, FINE, "the server's clock is %lld ms %s ours", off, where);
		return;
	}
	advise(d, "set both clocks by NTP: chronyc tracking, or timedatectl timesync-status, on either machine");
	tell(d, WARNING, "the server's clock is %lld.%03lld s %s ours: leases do not depend on that, but fences and the "
	     "times that are shown go by the server's", off / 1000, off % 1000, where);
}

/* A replica gets a lease as the moment at which it ends: one whose clock is ahead may have dropped it when it becomes
 * the master. */
static void
tell_replica(struct doctor *d, const struct lsh_uri *replica)
{
	struct lsh_informant *talk;
	const struct lsh_hello *hello;
	leash_error why = {0};
	char words[sizeof why.text];
	long long ahead_ms;

	if (lsh_talk_open(&talk, replica, LSH_WANT_SERVER, d->name, d->timeout_ms * LSH_MS, &why) != LEASH_OK) {
		tell(d, NOTE, "the clock of a replica could not be compared: %s",
		     doctor_words(d, words, sizeof words, why.text, strlen(why.text)));
		return;
	}
	hello = lsh_informant_hello(talk);
	ahead_ms = (hello->server_us - d->hello.server_us - (hello->received_ns - d->hello.received_ns) / LSH_US) / 1000;
	lsh_informant_free(talk);
	if (ahead_ms <= SKEW_MS) {
		tell(d, FINE, "replica %s does not have its clock ahead of the master's", replica->shown);
		return;
	}
	advise(d, "set the clocks of all servers by NTP: chronyc tracking, or timedatectl timesync-status");
	tell(d, WARNING, "the clock of replica %s is %lld.%03lld s ahead of the master's: if it takes over, leases end "
	     "there so much sooner, also those that it has acknowledged (min_replicas)", replica->shown, ahead_ms / 1000,
	     ahead_ms % 1000);
}

void
timing_tell_replicas(struct doctor *d)
{
	struct replica replica;
	struct lsh_uri uri;

	for (unsigned i = 0; i < REPLICAS_MOST && d->trips.count > 0; i++)
		if (health_replica(d, i, &replica) && replica.port > 0 && lsh_uri_allows(d->uri, replica.host) &&
		    lsh_uri_of_server(&uri, d->uri, replica.host, replica.port)) {
			tell_replica(d, &uri);
			lsh_uri_clear(&uri);
		}
}

/* ---- its age ---- */

void
timing_tell_age(struct doctor *d)
{
	int64_t ms = d->hello.uptime_ms;
	bool guarded = d->uri->restart_guard_ms > 0;

	if (d->trips.count == 0)
		return;
	if (ms < 0 && guarded && d->target->deployment != LSH_QUORUM) {
		advise(d, "ACL SETUSER %s +info, or do without restart_guard", doctor_user(d));
		tell(d, ERROR, "INFO is not permitted, so its uptime is unknown, and every lock with restart_guard is refused");
	}
	if (ms >= FRESH_MS && guarded)
		tell(d, NOTE, "restart_guard goes by the age that the server says, which goes by its wall clock: do not set "
		     "that forward after a restart, or clients that did not know the server before take it for older than it "
		     "is");
	if (ms >= 0 && ms < FRESH_MS)
		tell(d, NOTE, "the server was started less than %lld s ago: of the locks that were held before it knows what "
		     "it had saved", (long long)(ms / 1000 + 2));
}
