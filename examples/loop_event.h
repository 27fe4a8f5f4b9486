/* leash in a libevent loop: one header, to be copied.
 *
 *     struct event *watch;
 *     leash_event_attach(&watch, client, base, &err); from now on the loop reports what ends, on its thread
 *     event_base_dispatch(base); leash_event_detach(watch); first: leash_close() closes the watched descriptor
 *     leash_close(client); reports what is still under way: LEASH_CLOSED event_base_free(base);
 *
 * The loop runs as long as something is attached.
 *
 * Use all of this only on the thread of the loop. A leash_done_fn may detach. It must not run the loop, because nothing
 * is reported before it returns.
 *
 * In a forked child call event_reinit() first, then detach, then leash_close(). Until event_reinit() the child shares
 * the epoll with its parent, and the parent would lose its watch.
 *
 * docs/event-loops.md has more. */
#ifndef LEASH_LOOP_EVENT_H
#define LEASH_LOOP_EVENT_H

#include <leash.h>

#include <event2/event.h>
#include <stdio.h>

/* Without memory (LEASH_NO_MEMORY) nothing is reported. Then the descriptor stays readable, so libevent calls this
 * again. */
static inline void
leash_event_ready_(evutil_socket_t fd, short events, void *client)
{
	(void)fd, (void)events;
	leash_client_dispatch((leash_client *)client, NULL);
}

/* NULL does nothing. */
static inline void
leash_event_detach(struct event *watch)
{
	if (watch != NULL)
		event_free(watch);
}

/* As leash_client_fd(); LEASH_NO_MEMORY also if libevent cannot watch it. `*out` is untouched unless the result is
 * LEASH_OK. A client is attached to one loop, once. */
static inline leash_status
leash_event_attach(struct event **out, leash_client *client, struct event_base *base, leash_error *err)
{
	int fd;
	leash_status status = leash_client_fd(client, &fd, err);
	struct event *watch;

	if (status != LEASH_OK)
		return status;
	watch = event_new(base, fd, EV_READ | EV_PERSIST, leash_event_ready_, client);
	if (watch != NULL && event_add(watch, NULL) == 0) {
		*out = watch;
		return LEASH_OK;
	}
	leash_event_detach(watch);
	if (err != NULL) {
		err->status = LEASH_NO_MEMORY;
		err->sys_errno = 0;
		snprintf(err->text, sizeof err->text, "libevent cannot watch the client");
	}
	return LEASH_NO_MEMORY;
}

#endif
