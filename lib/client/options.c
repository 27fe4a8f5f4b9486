#include "client/options.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "core/cancel.h"
#include "base/thread.h"

#include <leash/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEASE_MIN_MS = 100,
	LEASE_MAX_MS = 86400000,
	LEASE_DEFAULT_MS = 30000,
	FENCE_TTL_MIN_MS = 1000,
	FENCE_TTL_MAX_MS = 86400000,
	FENCE_TTL_DEFAULT_MS = 3600000,
	TIMEOUT_MIN_MS = 10,
	TIMEOUT_MAX_MS = 60000,
	TIMEOUT_DEFAULT_MS = 1000,
	HANDOFFS_MAX = 255, /* a fence has room for so many */
	HANDOFF_MAX_MS = 60000,
	REPLICAS_MAX = 16,
	SHORT_TEXT_MAX = 64, /* a prefix, a client's name */
};

static const char IN_PREFIX[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/* Copy a struct of a caller who may be older (its fields end sooner: the rest is zero) or newer (what we do not know is
 * zero, or it is refused). */
static leash_status
copy_struct(void *out, size_t size, const void *from, const char *macro, leash_error *err)
{
	const unsigned char *bytes = from;
	size_t from_size;

	memset(out, 0, size);
	if (from == NULL)
		return LEASH_OK;
	memcpy(&from_size, from, sizeof from_size); /* its first field */
	if (from_size < sizeof from_size)
		return lsh_fail(err, LEASH_INVALID, 0, "an options struct has no size: make it with %s()", macro);
	for (size_t i = size; i < from_size; i++)
		if (bytes[i] != 0)
			return lsh_fail(err, LEASH_UNSUPPORTED, 0,
			                "%s() sets a field that this version of leash (%s) does not know", macro, leash_version());
	memcpy(out, from, size < from_size ? size : from_size);
	return LEASH_OK;
}

leash_status
lsh_check_range(int64_t value, int64_t least, int64_t most, const char *what, leash_error *err)
{
	if (value >= least && value <= most)
		return LEASH_OK;
	return lsh_fail(err, LEASH_INVALID, 0, "%s is %lld, but must be from %lld to %lld", what, (long long)value,
	                (long long)least, (long long)most);
}

/* On a quorum a server that was restarted without its data could give a lock away that a majority holds. So it must be
 * known for how long one may be held, and no lease may be longer than that. */
leash_status
lsh_check_lease(int64_t ms, const struct lsh_terms *guard, leash_error *err)
{
	leash_status status = lsh_check_range(ms, LEASE_MIN_MS, LEASE_MAX_MS, "lease_ms", err);

	if (status != LEASH_OK || guard == NULL || ms <= guard->restart_guard_ms)
		return status;
	return lsh_fail(err, LEASH_INVALID, 0,
	                "lease_ms is %lld, longer than restart_guard_ms, %lld: on a quorum the guard is at least the "
	                "longest lease in use", (long long)ms, (long long)guard->restart_guard_ms);
}

static leash_status
check_quorum(const struct lsh_terms *terms, bool fair, leash_error *err)
{
	if (fair)
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
		                "`fair` is not possible on a quorum: its servers have no common queue");
	if (terms->safety.min_replicas > 0 || terms->safety.fsynced)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "%s is not for a quorum, where a majority of the servers has each lock anyway",
		                terms->safety.min_replicas > 0 ? "min_replicas" : "fsynced");
	if (terms->restart_guard_ms == 0)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "a quorum needs restart_guard_ms, the longest lease in use: a server does not "
		                "count for that long after a restart; give it in LEASH_LOCK_OPTIONS(), or as restart_guard= in "
		                "the URI");
	return lsh_check_lease(terms->lease_ms, terms, err);
}

static leash_status
check_owner(const leash_owner *owner, leash_error *err)
{
	if (!lsh_process_is(owner->process))
		return lsh_fail(err, LEASH_FORKED, 0, "the owner belongs to the parent process: make one in the child");
	if (atomic_load(&owner->gone))
		return lsh_fail(err, LEASH_INVALID, 0, "the owner was freed");
	return LEASH_OK;
}

/* `allowed`: NULL means all that is printable, but spaces. */
static leash_status
check_text(const char *text, const char *allowed, const char *what, const char *rule, leash_error *err)
{
	size_t n = strlen(text);
	bool good = n >= 1 && n <= SHORT_TEXT_MAX;

	for (size_t i = 0; i < n && good; i++)
		good = allowed != NULL ? strchr(allowed, text[i]) != NULL : text[i] > ' ' && text[i] < 0x7f;
	if (good)
		return LEASH_OK;
	return lsh_fail(err, LEASH_INVALID, 0, "%s must be 1 to %d of %s", what, SHORT_TEXT_MAX, rule);
}

static int64_t
or_default(int64_t value, int64_t otherwise)
{
	return value != 0 ? value : otherwise;
}

int64_t
lsh_timeout(const leash_options *options, const struct lsh_uri *uri)
{
	return or_default(options->timeout_ms, or_default(uri->timeout_ms, TIMEOUT_DEFAULT_MS)) * LSH_MS;
}

static leash_status
read_options(leash_options *out, const leash_options *options, leash_error *err)
{
	leash_status status = copy_struct(out, sizeof *out, options, "LEASH_OPTIONS", err);

	if (status != LEASH_OK)
		return status;
	if (out->uri == NULL)
		out->uri = secure_getenv("LEASH_URI"); /* not the caller's, in a set-user-ID program */
	if (out->uri == NULL)
		out->uri = "redis://127.0.0.1:6379";
	out->lease_ms = or_default(out->lease_ms, LEASE_DEFAULT_MS);
	out->fence_ttl_ms = or_default(out->fence_ttl_ms, FENCE_TTL_DEFAULT_MS);
	if (out->prefix == NULL)
		out->prefix = "leash";
	if (out->open_wait_ms < 0 && out->open_wait_ms != LEASH_FOREVER)
		return lsh_fail(err, LEASH_INVALID, 0, "open_wait_ms is %lld, but must be 0 or more, or LEASH_FOREVER",
		                (long long)out->open_wait_ms);
	status = lsh_check_lease(out->lease_ms, NULL, err);
	if (status == LEASH_OK && out->timeout_ms != 0)
		status = lsh_check_range(out->timeout_ms, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS, "timeout_ms", err);
	if (status == LEASH_OK)
		status = lsh_check_range(out->fence_ttl_ms, FENCE_TTL_MIN_MS, FENCE_TTL_MAX_MS, "fence_ttl_ms", err);
	if (status == LEASH_OK)
		status = check_text(out->prefix, IN_PREFIX, "prefix", "A-Z a-z 0-9 . _ -", err);
	if (status == LEASH_OK && out->client_name != NULL)
		status = check_text(out->client_name, NULL, "client_name", "printable characters without spaces", err);
	return status;
}

leash_status
lsh_options_read(leash_options *out, const leash_options *options, leash_error *err)
{
	return lsh_fail_about(err, read_options(out, options, err), "client", NULL);
}

/* Of numbers that may be left out: 0 is the default. */
static leash_status
check_numbers(const leash_lock_options *o, leash_error *err)
{
	const struct {
		const char *what;
		int64_t value, least, most;
	} numbers[] = {
		{"lease_ms", o->lease_ms, LEASE_MIN_MS, LEASE_MAX_MS},
		{"max_hold_ms", o->max_hold_ms, LEASE_MIN_MS, INT64_MAX},
		{"alive_ms", o->alive_ms, LEASE_MIN_MS, INT64_MAX},
		{"restart_guard_ms", o->restart_guard_ms, 1, LEASE_MAX_MS},
		{"handoffs", o->handoffs, 1, HANDOFFS_MAX},
		{"handoff_ms", o->handoff_ms, 1, HANDOFF_MAX_MS},
		{"min_replicas", o->min_replicas, 1, REPLICAS_MAX},
		{"replicas_ms", o->replicas_ms, 1, LEASE_MAX_MS},
	};
	leash_status status = LEASH_OK;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == LEASH_OK; i++)
		if (numbers[i].value != 0)
			status = lsh_check_range(numbers[i].value, numbers[i].least, numbers[i].most, numbers[i].what, err);
	return status;
}

/* Two of which one would do nothing: whoever set both has something else in mind. */
static leash_status
check_pairs(const leash_lock_options *o, leash_error *err)
{
	const char *turn = o->handoffs != 0 ? "handoffs" : o->handoff_ms != 0 ? "handoff_ms" : NULL;
	const struct {
		bool both;
		const char *idle, *beside, *why;
	} pairs[] = {
		{turn != NULL && o->no_handoff, turn, "no_handoff", "which asks Redis each time"},
		{turn != NULL && o->fair, turn, "fair", "which asks Redis each time"},
		{o->alive_ms != 0 && o->no_renew, "alive_ms", "no_renew", "with which the lease ends anyway"},
		{o->max_hold_ms != 0 && o->alive_ms > o->max_hold_ms, "alive_ms", "max_hold_ms",
		 "which is shorter, and ends the hold first"},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i].both)
			return lsh_fail(err, LEASH_INVALID, 0, "%s has no effect beside %s, %s: leave one of them out",
			                pairs[i].idle, pairs[i].beside, pairs[i].why);
	if (o->replicas_ms != 0 && o->min_replicas == 0 && !o->fsynced)
		return lsh_fail(err, LEASH_INVALID, 0,
		                "replicas_ms has no effect without min_replicas or fsynced: set one of them, or leave it out");
	return LEASH_OK;
}

leash_status
lsh_lock_options_read(leash_lock_options *out, struct lsh_terms *terms, const leash_lock_options *options,
                      const struct lsh_terms *defaults, bool on_quorum, leash_error *err)
{
	leash_status status = copy_struct(out, sizeof *out, options, "LEASH_LOCK_OPTIONS", err);

	if (status == LEASH_OK)
		status = check_numbers(out, err);
	if (status == LEASH_OK)
		status = check_pairs(out, err);
	if (status == LEASH_OK && out->group != NULL)
		status = check_text(out->group, NULL, "group", "printable characters without spaces", err);
	if (status == LEASH_OK && out->mode > LEASH_REDISSON)
		status = lsh_fail(err, LEASH_INVALID, 0, "mode is %d, but must be LEASH_MUTEX, LEASH_READ, LEASH_WRITE or "
		                  "LEASH_REDISSON", (int)out->mode);
	if (status != LEASH_OK)
		return status;
	*terms = *defaults;
	terms->lease_ms = (int32_t)or_default(out->lease_ms, defaults->lease_ms);
	terms->max_hold_ms = out->max_hold_ms;
	terms->alive_ms = out->alive_ms;
	terms->no_renew = out->no_renew;
	terms->release_nowait = out->release_nowait;
	terms->restart_guard_ms = (int32_t)or_default(out->restart_guard_ms, defaults->restart_guard_ms);
	terms->safety.fsynced = out->fsynced;
	terms->safety.min_replicas = (unsigned char)out->min_replicas;
	terms->safety.replicas_ms = (int32_t)out->replicas_ms;
	terms->handoff_ms = (uint16_t)or_default(out->handoff_ms, defaults->handoff_ms);
	terms->handoffs = out->no_handoff ? 0 : (unsigned char)or_default(out->handoffs, defaults->handoffs);
	if (out->on_event != NULL) {
		terms->on_event = out->on_event;
		terms->event_arg = out->event_arg;
	}
	terms->on_lost = out->on_lost;
	if (out->on_lost != NULL && !lsh_process_is(out->on_lost->process))
		return lsh_fail(err, LEASH_FORKED, 0, "`on_lost` belongs to the parent process: make one in the child");
	if (on_quorum)
		status = check_quorum(terms, out->fair, err);
	return status == LEASH_OK && out->owner != NULL ? check_owner(out->owner, err) : status;
}

leash_status
lsh_condition_options_read(leash_condition_options *out, const leash_condition_options *options,
                           const struct lsh_terms *terms, leash_error *err)
{
	leash_status status = copy_struct(out, sizeof *out, options, "LEASH_CONDITION_OPTIONS", err);

	if (status != LEASH_OK)
		return status;
	out->recheck_ms = or_default(out->recheck_ms, terms->lease_ms);
	out->reacquire_ms = or_default(out->reacquire_ms, LEASH_FOREVER);
	status = lsh_check_range(out->recheck_ms, LEASE_MIN_MS, LEASE_MAX_MS, "recheck_ms", err);
	if (status == LEASH_OK && out->reacquire_ms != LEASH_FOREVER)
		status = lsh_check_range(out->reacquire_ms, 1, INT64_MAX, "reacquire_ms", err);
	return status;
}

leash_status
lsh_acquire_read(leash_acquire *out, const leash_acquire *how, leash_error *err)
{
	leash_status status = copy_struct(out, sizeof *out, how, "LEASH_ACQUIRE", err);

	if (status != LEASH_OK || out->wait_ms >= 0 || out->wait_ms == LEASH_FOREVER)
		return status;
	return lsh_fail(err, LEASH_INVALID, 0, "wait_ms is %lld, but must be 0 or more, or LEASH_FOREVER",
	                (long long)out->wait_ms);
}
