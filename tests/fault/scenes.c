#include "tests/fault/scenes.h"
#include "tests/support/leashed.h"
#include "tests/support/test.h"

static void *
wait_and_hold(void *arg)
{
	struct party *p = arg;
	struct testimony *testimony;
	leash_error err;

	assert_status(LEASH_OK, leash_lock_acquire(p->lock, LEASH_FOREVER, &err));
	testimony = p->witness != NULL ? witness_enter(p->witness, 0, p->lock) : NULL;
	p->acquired = true;
	while (!p->leave && witness_look(testimony, p->lock))
		await_ms(1);
	while (!p->leave)
		await_ms(1);
	leash_lock_release(p->lock, &err);
	return NULL;
}

void
party_open(struct party *p, const char *uri, const leash_lock_options *options, struct witness *witness)
{
	*p = (struct party){.witness = witness};
	p->client = leashed_open(uri, LEASH_OPTIONS(.timeout_ms = 4000));
	p->lock = leashed_lock(p->client, "scene", options);
}

void
party_start(struct party *p)
{
	assert_int_equal(pthread_create(&p->thread, NULL, wait_and_hold, p), 0);
}

void
party_end(struct party *p)
{
	p->leave = true;
	pthread_join(p->thread, NULL);
}

void
party_close(struct party *p)
{
	if (p->client == NULL)
		return;
	leash_lock_free(p->lock);
	leash_close(p->client);
	p->client = NULL;
}

int64_t
places(struct server *server)
{
	return server_integer(server, "ZCOUNT leash:{scene}:queue (0 +inf");
}
