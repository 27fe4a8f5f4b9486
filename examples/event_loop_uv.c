/* Locks in libuv's loop: with loop_uv.h the loop reports what has ended, beside its timers, sockets and the rest.
 *
 *   event_loop_uv [URI]
 *
 * Here a thousand acquires are under way at once. A timer ends the work of those that have their lock. event_loop.c
 * shows a loop without libuv. */
#include <leash.h>

#include "crowd.h"
#include "loop_uv.h"

static uv_poll_t *watch;
static uv_timer_t timer;

static void
work(uv_timer_t *handle)
{
	(void)handle;
	crowd_work();
}

/* With nothing left to wait for, the loop ends. */
static void
leave(void)
{
	leash_uv_detach(watch);
	uv_close((uv_handle_t *)&timer, NULL);
}

int
main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	leash_client *client = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);

	if (status == LEASH_OK)
		status = leash_uv_attach(&watch, client, loop, &err);
	if (status == LEASH_OK) {
		uv_timer_init(loop, &timer);
		uv_timer_start(&timer, work, 1, 1);
		crowd_begin(client, leave);
		uv_run(loop, UV_RUN_DEFAULT);
	} else {
		fprintf(stderr, "event_loop_uv: %s\n", err.text);
	}
	leash_close(client);
	uv_loop_close(loop);
	return status == LEASH_OK ? crowd_tell() : 1;
}
