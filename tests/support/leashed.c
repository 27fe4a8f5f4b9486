#include "tests/support/leashed.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <string.h>

void
leashed_check(leash_status expected, leash_status actual, const leash_error *err, const char *call, const char *file,
              int line)
{
	if (actual != expected)
		trouble_at(file, line, "%s: %s instead of %s: %s", call, leash_status_name(actual), leash_status_name(expected),
		           actual == LEASH_OK ? "" : err->text);
}

void
leashed_check_nothing_held(leash_lock *lock, const char *file, int line)
{
	char token[LEASH_TOKEN_MAX] = "x";

	if (leash_lock_held(lock) || leash_lock_remaining_ms(lock) != 0 || leash_lock_depth(lock) != 0 ||
	    leash_lock_fence(lock) != 0 || leash_lock_token(lock, token, sizeof token) != 0 || token[0] != '\0')
		trouble_at(file, line, "held for %lld ms, %u deep, by token '%s'", (long long)leash_lock_remaining_ms(lock),
		           leash_lock_depth(lock), token);
}

leash_client *
leashed_open(const char *uri, const leash_options *options)
{
	leash_options o = options != NULL ? *options : *LEASH_OPTIONS();
	int64_t limit = await_limit_ns(AWAIT_S);
	leash_client *client = NULL;
	leash_status status;
	leash_error err;

	o.uri = uri;
	if (o.timeout_ms == 0 && strstr(uri, "timeout=") == NULL)
		o.timeout_ms = 5000; /* a machine that stands still for a moment is no reason to fail */
	do /* and may need longer to connect than any timeout */
		status = leash_open(&client, &o, &err);
	while (status == LEASH_UNAVAILABLE && !await_is_past(limit));
	assert_status(LEASH_OK, status);
	return client;
}

leash_lock *
leashed_lock(leash_client *client, const char *name, const leash_lock_options *options)
{
	leash_lock *lock = NULL;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_new(&lock, client, name, options, &err));
	return lock;
}

leash_cancel *
leashed_cancel(void)
{
	leash_cancel *cancel;
	leash_error err;

	assert_status(LEASH_OK, leash_cancel_new(&cancel, &err));
	return cancel;
}

bool
count_lock(void *count, const leash_lock_info *info)
{
	(void)info;
	++*(int *)count;
	return true;
}

bool
count_waiter(void *count, const leash_waiter_info *info)
{
	(void)info;
	++*(int *)count;
	return true;
}

int64_t
leashed_introductions(struct server *server)
{
	int64_t n = server_integer(server, "EVAL %s 0",
	                           "local keys = redis.call('KEYS', '*:client:*') "
	                           "for _, key in ipairs(keys) do if redis.call('TTL', key) == -1 then return -1 end end "
	                           "return #keys");

	if (n < 0)
		trouble("a client has said for ever who it is");
	return n;
}

void
leashed_note_event(void *arg, const leash_event *event)
{
	struct leashed_events *events = arg;
	int n = events->total;

	if (n < 64)
		events->order[n] = (int)event->type;
	events->count[event->type]++;
	events->total++;
	if (event->type == LEASH_EVENT_LOST) /* where that is no test's wish it is as well to know why */
		fprintf(stderr, "# '%s' was lost: %s\n", event->lock, event->text);
}
