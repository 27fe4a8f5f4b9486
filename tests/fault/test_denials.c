/* What is denied: passwords, permissions, keys and channels, from the start or taken away in the middle. Each denial names what is
 * missing, leaves no key for ever, tells no secret, and is not met with a stream of further attempts. */
#include "tests/fault/real.h"
#include "tests/fault/refused.h"
#include "tests/support/test.h"

#include <pthread.h>

static _Thread_local leash_error err; /* what the last call said */

FIXTURE(start_real, stop_real);

/* What is missing, how the user is made without it, and what comes of it: "open" is refused, something is "denied", or
 * "" perhaps. */
struct missing {
	const char *what, *rules, *must;
};

/* It is, and names what is missing; or not, and then it is done, or not in time. No key is there for ever. */
static bool
is_denied(leash_status status, const struct missing *missing)
{
	check_ttls(server);
	if (status == LEASH_DENIED)
		check_text(err.text, missing->what);
	else
		assert_true(status == LEASH_OK || status == LEASH_TIMEOUT || status == LEASH_UNAVAILABLE);
	return status == LEASH_DENIED;
}

/* A life of `mine` alone, and one behind `theirs`. Is anything denied? */
static bool
live(leash_lock *mine, leash_lock *theirs, const struct missing *missing)
{
	bool denied = is_denied(leash_lock_acquire(mine, 0, &err), missing);

	if (leash_lock_held(mine)) {
		denied |= is_denied(leash_lock_extend(mine, slow_ms(2100), &err), missing);
		denied |= is_denied(leash_lock_release(mine, &err), missing);
	}
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 30000, &err));
	denied |= is_denied(leash_lock_acquire(mine, missing->must[0] != '\0' && !denied ? 30000 : 50, &err), missing);
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	/* nobody is kept out for longer than the leases take */
	assert_status(LEASH_OK, leash_lock_acquire(theirs, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	check_ttls(server);
	return denied;
}

/* Each command of a script in turn: redis/test_rights. */
SENTENCE(each_permission_that_is_missing_is_named_and_leaves_no_key_for_ever)
{
	static const struct missing missing[] = {
		{"evalsha", NULL, "denied"}, {"eval", NULL, "denied"}, {"subscribe", NULL, "open"}, {"time", NULL, "open"},
		{"hset", NULL, "denied"}, {"pexpire", NULL, "denied"}, {"zadd", NULL, "denied"}, {"publish", NULL, ""},
		{"info", NULL, ""},
		/* keys and channels are not commands */
		{"key", "~other:* &* +@all", "denied"}, {"channel", "~* resetchannels +@all", "open"},
	};
	static struct closing closing[COUNT(missing)];

	for (size_t i = 0; i < COUNT(missing); i++) {
		const struct missing *m = &missing[i];
		leash_client *limited = NULL;
		char uri[512];
		bool opens;

		ask_server(server, "SCRIPT FLUSH");
		freeReplyObject(server_command(server, "ACL SETUSER u%d reset on >hunter2", (int)i));
		snprintf(uri, sizeof uri, m->rules != NULL ? "ACL SETUSER u%d %s" : "ACL SETUSER u%d ~* &* +@all -%s", (int)i,
		         m->rules != NULL ? m->rules : m->what);
		ask_server(server, uri);
		snprintf(uri, sizeof uri, "unix://u%d:hunter2@%s", (int)i, server_socket(server));
		opens = !is_denied(leash_open(&limited, LEASH_OPTIONS(.uri = uri, .lease_ms = slow_ms(2000),
		                                                      .timeout_ms = patience_ms()), &err), m);
		assert_int_equal(opens, strcmp(m->must, "open") != 0);
		if (opens) {
			leash_lock *mine = leashed_lock(limited, "refused", NULL);

			if (!live(mine, lock, m) && m->must[0] != '\0')
				fail_msg("without %s nothing was denied", m->what);
			leash_lock_free(mine);
			begin_closing(&closing[i], limited);
		}
	}
	for (size_t i = 0; i < COUNT(closing); i++)
		if (closing[i].client != NULL)
			end_closing(&closing[i]);
	check_ttls(server);
}

/* ---- a password that changes ---- */

static void
write_password(const char *path, const char *bytes)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(bytes, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Both connections are broken; while the file is not as it should be yet, who tries is told, and who waits goes on
 * waiting. */
SENTENCE(a_password_file_that_was_renewed_is_read_at_the_next_connect)
{
	static const struct {
		const char *bytes, *says;
	} unfit[] = {{"", "empty"}, {"hunter4\r\n", "ends in CR LF"}, {"hunter4\nhunter2\n", "more than one line"},
	             {NULL, "No such file"}};
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	static struct waiting w;
	char file[200], uri[512];
	leash_client *by_file;
	leash_lock *held, *wanted;

	snprintf(file, sizeof file, "%s/password", server_folder(server));
	snprintf(uri, sizeof uri, "unix://%s?password_file=%s", server_socket(server), file);
	write_password(file, "hunter2\n");
	ask_server(server, "CONFIG SET requirepass hunter2");
	by_file = leashed_open(uri, LEASH_OPTIONS(.lease_ms = slow_ms(30000), .timeout_ms = patience_ms(), .on_log = hear_line,
	                                          .log_arg = &ear, .on_event = leashed_note_event, .event_arg = &events));
	held = leashed_lock(by_file, "held", NULL);
	wanted = leashed_lock(by_file, "wanted", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	ask_server(server, "CONFIG SET requirepass hunter4");
	write_password(file, unfit[0].bytes);
	server_integer(server, "CLIENT KILL TYPE pubsub");
	server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
	begin_waiting(&w, wanted, LEASH_FOREVER);
	for (size_t i = 0; i < COUNT(unfit); i++) {
		if (unfit[i].bytes != NULL)
			write_password(file, unfit[i].bytes);
		else
			remove(file);
		await_true(leash_lock_acquire(wanted, 100, &err) == LEASH_UNAVAILABLE && strstr(err.text, unfit[i].says) != NULL);
		check_text(err.text, file);
		check_text(err.text, server_uri(server));
	}
	write_password(file, "hunter4\n");
	end_waiting(&w, LEASH_OK);
	await_renewals(held, 1);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	assert_int_equal(events.count[LEASH_EVENT_LOST], 0);
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(by_file);
	assert_true(ear.size > 0);
	assert_null(strstr(ear.text, "hunter"));
	freeReplyObject(server_command(server, "CONFIG SET requirepass %s", ""));
}

/* ---- a user that is limited ---- */

#define ALL "~* &* +@all"

/* Let a user in with these rights, and open a client as that user. */
static leash_client *
open_limited(const char *rights, const leash_options *options)
{
	leash_options patient = *options;
	char command[128], uri[512];

	snprintf(command, sizeof command, "ACL SETUSER u reset on >hunter2 %s", rights);
	ask_server(server, command);
	snprintf(uri, sizeof uri, "unix://u:hunter2@%s", server_socket(server));
	patient.timeout_ms = patience_ms();
	return leashed_open(uri, &patient);
}

/* Their places were taken when all was well: nobody asks again for them. And one waits for a thread of its own process, which goes on
 * trying to renew: that its user is let in again a moment later keeps its lock, but nobody in the queue. */
SENTENCE(all_who_wait_are_told_when_a_connection_is_refused)
{
	static const struct {
		const char *name;
		int64_t wait_ms;
	} wanted[] = {{"refused", LEASH_FOREVER}, {"refused", 600000}, {"strict", LEASH_FOREVER}, {"strict", 600000},
	              {"held", LEASH_FOREVER}};
	static struct waiting waiting[COUNT(wanted)];
	const leash_lock_options *fair = LEASH_LOCK_OPTIONS(.fair = true);
	leash_client *limited = open_limited(ALL, LEASH_OPTIONS(.lease_ms = slow_ms(30000)));
	leash_lock *strict = leashed_lock(client, "strict", fair), *held = leashed_lock(limited, "held", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(strict, 0, &err));
	assert_status(LEASH_OK, leash_lock_acquire(held, 0, &err));
	for (size_t i = 0; i < COUNT(wanted); i++) {
		bool is_fair = strcmp(wanted[i].name, "strict") == 0;

		begin_waiting(&waiting[i], leashed_lock(limited, wanted[i].name, is_fair ? fair : NULL), wanted[i].wait_ms);
	}
	await_true(server_integer(server, "ZCOUNT leash:{refused}:queue (0 +inf") == 1);
	await_true(server_integer(server, "ZCOUNT leash:{strict}:queue (0 +inf") == 2);
	ask_server(server, "ACL SETUSER u resetpass >changed");
	await_true(server_integer(server, "CLIENT KILL USER u") > 0);
	for (size_t i = 0; i < COUNT(wanted); i++) {
		await_true(waiting[i].ended);
		end_waiting(&waiting[i], LEASH_DENIED);
		check_text(waiting[i].err.text, "AUTH");
		check_text(waiting[i].err.text, server_uri(server));
		assert_null(strstr(waiting[i].err.text, "hunter"));
		leash_lock_free(waiting[i].wanted);
	}
	assert_true(leash_lock_held(held));
	ask_server(server, "ACL SETUSER u reset on >hunter2 " ALL);
	await_renewals(held, 1);
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	/* their places are given up, too */
	await_true(server_integer(server, "EXISTS leash:{refused}:queue leash:{strict}:queue") == 0);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	assert_status(LEASH_OK, leash_lock_release(strict, &err));
	leash_lock_free(held);
	leash_lock_free(strict);
	leash_close(limited);
}

/* What a user may do, and how that ends while a client of that user is connected. */
static void
be_shut_out(const char *rule, bool cuts)
{
	leash_client *limited;
	leash_lock *held, *wanted;
	int64_t ends;

	limited = open_limited(ALL, LEASH_OPTIONS(.lease_ms = slow_ms(3000), .on_event = leashed_note_event, .event_arg = &events));
	held = leashed_lock(limited, "held", NULL);
	wanted = leashed_lock(limited, "wanted", NULL);
	memset(&events, 0, sizeof events);
	assert_status(LEASH_OK, leash_lock_acquire(held, 30000, &err));
	ask_server(server, rule);
	if (!cuts) { /* the old connection is as good as ever */
		await_renewals(held, 1);
		assert_int_equal(events.total, 0);
		await_true(server_integer(server, "CLIENT KILL USER u") > 0);
	}
	ends = await_now_ns(); /* what remains is read later than this, so the sum is not past the end */
	ends += leash_lock_remaining_ms(held) * 1000000;
	assert_refused(LEASH_DENIED, server_uri(server), "AUTH", leash_lock_acquire(wanted, 30000, &err));
	assert_null(strstr(err.text, "hunter"));
	await_true(events.count[LEASH_EVENT_LOST] == 1);
	assert_int_equal(events.order[0], LEASH_EVENT_JEOPARDY);
	assert_int_equal(events.total, 2);
	if (!cuts) /* else there may have been a renewal after the look at what remains */
		assert_true(events.at_ns[LEASH_EVENT_LOST] >= ends);
	assert_status(LEASH_LOST, leash_lock_release(held, &err));
	ask_server(server, "ACL SETUSER u reset on >hunter2 " ALL);
	await_true(leash_lock_acquire(held, 30000, &err) == LEASH_OK); /* it is tried again */
	assert_status(LEASH_OK, leash_lock_release(held, &err));
	leash_lock_free(held);
	leash_lock_free(wanted);
	leash_close(limited);
}

SENTENCE(a_user_that_is_shut_out_keeps_its_connection_and_loses_the_lock_after_it)
{
	be_shut_out("ACL SETUSER u off", false);
	be_shut_out("ACL SETUSER u resetpass >changed", false);
	be_shut_out("ACL DELUSER u", true);
}
