/* Locks in libevent's loop: with loop_event.h the loop reports what has ended, beside its timers, sockets and the rest.
 *
 *   event_loop_event [URI]
 *
 * Here a thousand acquires are under way at once. A timer ends the work of those that have their lock. event_loop.c
 * shows a loop without libevent. */
#include <leash.h>

#include "crowd.h"
#include "loop_event.h"

static struct event *watch, *timer;

static void
work(evutil_socket_t fd, short events, void *arg)
{
	(void)fd, (void)events, (void)arg;
	crowd_work();
}

/* With nothing left to wait for, the loop ends. */
static void
leave(void)
{
	leash_event_detach(watch);
	event_del(timer);
}

static leash_status
run(leash_client *client, struct event_base *base, leash_error *err)
{
	leash_status status = leash_event_attach(&watch, client, base, err);

	if (status != LEASH_OK)
		return status;
	event_add(timer, &(struct timeval){.tv_usec = 1000});
	crowd_begin(client, leave);
	event_base_dispatch(base);
	return LEASH_OK;
}

int
main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	leash_client *client = NULL;
	leash_error err;
	leash_status status;

	if (base == NULL || (timer = event_new(base, -1, EV_PERSIST, work, NULL)) == NULL) {
		fprintf(stderr, "event_loop_event: libevent cannot make a loop\n");
		return 1;
	}
	status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	if (status == LEASH_OK)
		status = run(client, base, &err);
	if (status != LEASH_OK)
		fprintf(stderr, "event_loop_event: %s\n", err.text);
	leash_close(client);
	event_free(timer);
	event_base_free(base);
	return status == LEASH_OK ? crowd_tell() : 1;
}
