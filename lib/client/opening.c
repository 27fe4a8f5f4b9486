/* Opening a client without waiting for it: a thread of its own does, and ends with that. */
#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/thread.h"
#include "client/options.h"

#include <leash/loop.h>

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct leash_opening {
	pthread_t thread;
	int fd;               /* an eventfd: it is over */
	uint64_t process;
	leash_options options;
	leash_client *client;
	leash_status status;
	leash_error why;
};

static void *
run(void *arg)
{
	static const uint64_t one = 1;
	leash_opening *o = arg;

	lsh_thread_begin("leash-open");
	o->status = leash_open(&o->client, &o->options, &o->why);
	while (write(o->fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
	return NULL;
}

static void
discard(leash_opening *o)
{
	lsh_descriptor_close(o->fd);
	lsh_free(o);
}

leash_status
leash_open_start(leash_opening **opening, int *fd, const leash_options *options, leash_error *err)
{
	lsh_guarded();
	leash_options checked;
	leash_status status;
	leash_opening *o;

	if (opening == NULL || fd == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_open_start: %s is NULL", opening == NULL ? "`opening`" : "`fd`");
	status = lsh_options_read(&checked, options, err);
	if (status != LEASH_OK)
		return status;
	o = lsh_new(leash_opening);
	if (o == NULL)
		return lsh_fail_short(err, ENOMEM, "cannot open a client");
	checked.size = sizeof checked;
	o->options = checked;
	o->process = lsh_process_id();
	o->fd = lsh_descriptor_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (o->fd < 0 || lsh_thread_start(&o->thread, run, o) != 0) {
		status = lsh_fail_short(err, errno, "cannot open a client");
		discard(o);
		return status;
	}
	*fd = o->fd;
	*opening = o;
	return LEASH_OK;
}

leash_status
leash_open_end(leash_opening *o, leash_client **client, leash_error *err)
{
	lsh_guarded();
	leash_status status;

	if (o == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "leash_open_end: the opening is NULL");
	if (!lsh_process_is(o->process)) {
		discard(o);
		return lsh_fail(err, LEASH_FORKED, 0, "leash_open_end: the parent process opens that client");
	}
	pthread_join(o->thread, NULL);
	status = o->status;
	if (status != LEASH_OK && err != NULL)
		*err = o->why;
	if (status == LEASH_OK && client != NULL)
		*client = o->client;
	else
		leash_close(o->client);
	discard(o);
	return status;
}
