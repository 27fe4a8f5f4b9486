#include "bench/pending.h"

#include "bench/program.h"
#include "tests/support/await.h"
#include "tests/support/resident.h"

#include <leash.h>

#include <poll.h>
#include <stdlib.h>

enum { AT_ONCE = 1000 }; /* begun between two dispatches */

struct one {
	leash_owner *owner;
	leash_lock *lock;
	size_t *left; /* so many have not had their turn */
};

static void
expect(leash_status status, const leash_error *err)
{
	if (status != LEASH_OK)
		die("leash: %s", err->text);
}

static void
released(void *arg, leash_status status, const leash_error *err)
{
	struct one *one = arg;

	expect(status, err);
	--*one->left;
}

static void
acquired(void *arg, leash_status status, const leash_error *err)
{
	struct one *one = arg;
	leash_error why;

	expect(status, err);
	expect(leash_lock_release_start(one->lock, released, one, NULL, &why), &why);
}

static void
begin(struct one *one, leash_client *client, const char *name)
{
	leash_error err;

	expect(leash_owner_new(&one->owner, &err), &err);
	expect(leash_lock_new(&one->lock, client, name, LEASH_LOCK_OPTIONS(.owner = one->owner), &err), &err);
	expect(leash_lock_acquire_start(one->lock, LEASH_ACQUIRE(.wait_ms = LEASH_FOREVER), acquired, one, NULL, &err),
	       &err);
}

static double
us_since(int64_t began, size_t count)
{
	return (double)(await_now_ns() - began) / 1e3 / (double)count;
}

struct pending
pending_measure(struct server *server, const char *name, size_t count)
{
	struct one *all = calloc(count, sizeof *all);
	leash_client *client, *other;
	leash_lock *held;
	leash_error err;
	size_t left = count;
	struct pollfd polled = { .events = POLLIN };
	struct pending result;
	int64_t began;

	if (all == NULL)
		die("out of memory");
	for (size_t i = 0; i < count; i++)
		all[i].left = &left;
	expect(leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server)), &err), &err);
	expect(leash_open(&other, LEASH_OPTIONS(.uri = server_uri(server)), &err), &err);
	expect(leash_client_fd(client, &polled.fd, &err), &err);
	expect(leash_lock_new(&held, other, name, NULL, &err), &err);
	expect(leash_lock_acquire(held, 0, &err), &err);

	result.bytes = resident_bytes();
	began = await_now_ns();
	for (size_t i = 0; i < count; i++) {
		begin(&all[i], client, name);
		if (i % AT_ONCE == 0)
			leash_client_dispatch(client, NULL);
	}
	result.begin_us = us_since(began, count);
	result.bytes = (resident_bytes() - result.bytes) / (double)count;
	began = await_now_ns();
	expect(leash_lock_release(held, &err), &err);
	while (left > 0) {
		poll(&polled, 1, 1000);
		leash_client_dispatch(client, NULL);
	}
	result.serve_us = us_since(began, count);

	for (size_t i = 0; i < count; i++) {
		leash_lock_free(all[i].lock);
		leash_owner_free(all[i].owner);
	}
	leash_close(client);
	leash_lock_free(held);
	leash_close(other);
	free(all);
	return result;
}
