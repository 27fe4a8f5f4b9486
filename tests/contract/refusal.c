/* See refusal.h. */
#include "tests/contract/refusal.h"

#include "tests/support/await.h"

#include <stdlib.h>

struct server *server;
_Thread_local leash_error err;

/* ---- what every refusal must be ---- */

void
spoil_error(void)
{
	memset(&err, 0x5a, sizeof err);
}

void
check_text(const char *names)
{
	size_t n = strnlen(err.text, sizeof err.text);

	if (n == 0 || n == sizeof err.text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (err.text[i] < ' ' || err.text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, err.text);
	if (strstr(err.text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, err.text);
	if (err.text[n - 1] == '.' && (n < 3 || strcmp(err.text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", err.text);
}

/* ---- clients, and threads that wait ---- */

leash_client *
open_client(void)
{
	return place_client(NULL);
}

static void *
wait_and_release(void *arg)
{
	struct waiting *w = arg;

	w->status = leash_lock_acquire(w->lock, w->wait_ms, &w->err);
	w->acquired = 1;
	if (w->status == LEASH_OK) {
		await_true(w->may_release);
		w->status = leash_lock_release(w->lock, &w->err);
	}
	return NULL;
}

void
begin_waiting(struct waiting *w)
{
	assert_int_equal(pthread_create(&w->thread, NULL, wait_and_release, w), 0);
}

void
begin_turn(struct waiting *w, leash_lock *lock)
{
	*w = (struct waiting){.lock = lock, .wait_ms = LEASH_FOREVER, .may_release = 1};
	begin_waiting(w);
}

void
end_waiting(struct waiting *w)
{
	await_true(w->acquired);
	w->may_release = 1;
	pthread_join(w->thread, NULL);
	assert_status(LEASH_OK, (err = w->err, w->status));
}

/* ---- */

void
refusal_open(void)
{
	place_open();
	server = deployment_server(place);
	setenv("LEASH_URI", place_uri(), 1);
}
