#include "tests/fault/real.h"

#include "tests/support/test.h"

struct server *server;
leash_client *client;
leash_lock *lock;
struct leashed_events events;

void
start_real(void)
{
	memset(&events, 0, sizeof events);
	server = server_start(NULL);
	client = leashed_open(server_uri(server),
	                      LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = leashed_note_event, .event_arg = &events));
	lock = leashed_lock(client, "refused", NULL);
}

void
stop_real(void)
{
	leash_lock_free(lock);
	leash_close(client);
	server_stop(server);
}

void
begin_pair(struct pair *pair, struct server *of, int64_t lease_ms)
{
	leash_error err;

	memset(&events, 0, sizeof events);
	pair->of = of;
	for (int i = 0; i < 2; i++)
		pair->client[i] = leashed_open(server_uri(of), i == 1 ? LEASH_OPTIONS(.timeout_ms = patience_ms()) :
		                               LEASH_OPTIONS(.timeout_ms = patience_ms(), .lease_ms = lease_ms,
		                                             .on_event = leashed_note_event, .event_arg = &events));
	pair->held = leashed_lock(pair->client[0], "pair", NULL);
	pair->wanted = leashed_lock(pair->client[1], "pair", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(pair->held, 30000, &err));
	begin_waiting(&pair->waiting, pair->wanted, LEASH_FOREVER);
	await_true(server_integer(of, "ZCOUNT leash:{pair}:queue (0 +inf") == 1);
}

void
end_pair(struct pair *pair)
{
	leash_error err;

	await_true(events.count[LEASH_EVENT_JEOPARDY] == events.count[LEASH_EVENT_RECOVERED]);
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	assert_false(pair->waiting.ended);
	assert_status(LEASH_OK, leash_lock_release(pair->held, &err));
	end_waiting(&pair->waiting, LEASH_OK);
	assert_int_equal(server_integer(pair->of, "EXISTS leash:{pair} leash:{pair}:queue"), 0);
	check_ttls(pair->of);
	leash_lock_free(pair->held);
	leash_lock_free(pair->wanted);
	for (int i = 0; i < 2; i++)
		leash_close(pair->client[i]);
}

void
check_that_all_is_well(void)
{
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_held(lock));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

void
ask_server(struct server *of, const char *command)
{
	redisReply *reply = server_command(of, command);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s: %s", command, reply->str);
	freeReplyObject(reply);
}

long long
info(struct server *of, const char *section, const char *field)
{
	const char *at = strstr(server_text(of, "INFO %s", section), field);

	return at != NULL ? atoll(at + strlen(field)) : 0;
}

long long
rejected(struct server *of)
{
	static const char field[] = "rejected_calls=";
	const char *at = strstr(server_text(of, "INFO commandstats"), "cmdstat_evalsha:");

	at = at != NULL ? strstr(at, field) : NULL;
	return at != NULL ? atoll(at + sizeof field - 1) : 0;
}

void
check_ttls(struct server *of)
{
	redisReply *keys = server_command(of, "KEYS leash:*");

	for (size_t i = 0; i < keys->elements; i++)
		if (server_integer(of, "PTTL %b", keys->element[i]->str, (size_t)keys->element[i]->len) == -1)
			fail_msg("%s is there for ever", keys->element[i]->str);
	freeReplyObject(keys);
}
