/* leash in a libuv loop: one header, to be copied.
 *
 *     uv_poll_t *watch;
 *     leash_uv_attach(&watch, client, loop, &err); from now on the loop reports what ends, on its thread uv_run(loop,
 *     UV_RUN_DEFAULT); leash_uv_detach(watch); first: leash_close() closes the watched descriptor leash_close(client);
 *     reports what is still under way: LEASH_CLOSED uv_run(loop, UV_RUN_DEFAULT); libuv frees the watch
 *
 * The loop runs as long as something is attached, unless you uv_unref((uv_handle_t *)watch).
 *
 * Use all of this only on the thread of the loop. A leash_done_fn may detach. It must not run the loop, because nothing
 * is reported before it returns.
 *
 * In a forked child call uv_loop_fork() first, then detach, then leash_close(). Until uv_loop_fork() the child shares
 * the epoll with its parent, and the parent would lose its watch.
 *
 * docs/event-loops.md has more. */
#ifndef LEASH_LOOP_UV_H
#define LEASH_LOOP_UV_H

#include <leash.h>

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

/* Without memory (LEASH_NO_MEMORY) nothing is reported. Then the descriptor stays readable, so libuv calls this again.
 * If `status` is not 0, libuv has stopped watching: the descriptor was closed, and perhaps the client. */
static inline void
leash_uv_ready_(uv_poll_t *watch, int status, int events)
{
	(void)events;
	if (status == 0)
		leash_client_dispatch((leash_client *)watch->data, NULL);
}

static inline void
leash_uv_free_(uv_handle_t *watch)
{
	free(watch);
}

/* NULL does nothing. */
static inline void
leash_uv_detach(uv_poll_t *watch)
{
	if (watch != NULL)
		uv_close((uv_handle_t *)watch, leash_uv_free_);
}

/* As leash_client_fd(); LEASH_NO_MEMORY also if libuv cannot watch it, and the text says why. `*out` is untouched
 * unless the result is LEASH_OK. A client is attached to one loop, once. */
static inline leash_status
leash_uv_attach(uv_poll_t **out, leash_client *client, uv_loop_t *loop, leash_error *err)
{
	uv_poll_t *watch = (uv_poll_t *)malloc(sizeof *watch);
	int fd, failed = UV_ENOMEM;
	leash_status status = leash_client_fd(client, &fd, err);

	if (status == LEASH_OK && watch != NULL && (failed = uv_poll_init(loop, watch, fd)) == 0) {
		watch->data = client;
		uv_poll_start(watch, UV_READABLE, leash_uv_ready_);
		*out = watch;
		return LEASH_OK;
	}
	free(watch);
	if (status == LEASH_OK && err != NULL) {
		err->status = LEASH_NO_MEMORY;
		err->sys_errno = -failed;
		snprintf(err->text, sizeof err->text, "libuv cannot watch the client: %s", uv_strerror(failed));
	}
	return status == LEASH_OK ? LEASH_NO_MEMORY : status;
}

#endif
