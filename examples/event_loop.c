/* Locks in an event loop: one thread serves a hundred requests, and each needs one of ten accounts for itself.
 *
 *   event_loop [URI]
 *
 * No thread waits for a lock. Whenever epoll finds the client's descriptor readable, leash_client_dispatch() reports
 * what has ended; libuv and libevent work the same way. Each request has an owner of its own, because the thread that
 * runs the loop acquires for all of them. */
#include <leash.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { ACCOUNTS = 10, REQUESTS = 100 };

struct request {
	struct request *next; /* the next one that is at work */
	int account;
	leash_owner *owner;
	leash_lock *lock;
};

static int in_use[ACCOUNTS]; /* by how many requests at this moment */
static struct request *at_work;
static int served, together, failed;

static void
fail(const char *text)
{
	fprintf(stderr, "event_loop: %s\n", text);
	failed++;
}

static void
released(void *arg, leash_status status, const leash_error *err)
{
	struct request *request = arg;

	if (status != LEASH_OK)
		fail(err->text);
	served++;
	leash_lock_free(request->lock);
	leash_owner_free(request->owner);
	request->lock = NULL;
	request->owner = NULL;
}

static void
acquired(void *arg, leash_status status, const leash_error *err)
{
	struct request *request = arg;

	if (status != LEASH_OK) {
		released(request, status, err);
		return;
	}
	together += in_use[request->account]++ > 0;
	request->next = at_work; /* a server would send its query now, and continue when the answer arrives */
	at_work = request;
}

/* All requests that are at work have finished it. */
static void
finish_work(void)
{
	struct request *request;
	leash_status status;
	leash_error why;

	while ((request = at_work) != NULL) {
		at_work = request->next;
		in_use[request->account]--;
		status = leash_lock_release_start(request->lock, released, request, NULL, &why);
		if (status != LEASH_OK)
			released(request, status, &why);
	}
}

static leash_status
begin(struct request *request, leash_client *client, int number, leash_error *err)
{
	char name[40];
	leash_status status = leash_owner_new(&request->owner, err);

	request->account = number % ACCOUNTS;
	snprintf(name, sizeof name, "account:%d", request->account);
	if (status == LEASH_OK)
		status = leash_lock_new(&request->lock, client, name, LEASH_LOCK_OPTIONS(.owner = request->owner), err);
	if (status == LEASH_OK)
		status = leash_lock_acquire_start(request->lock, LEASH_ACQUIRE(.wait_ms = 30000), acquired, request, NULL, err);
	return status;
}

/* The loop. A server would watch its sockets with the same epoll. */
static leash_status
run(leash_client *client, int fd, leash_error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	leash_status status = LEASH_OK;

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
		perror("event_loop: epoll");
		exit(1);
	}
	while (status == LEASH_OK && served < REQUESTS) {
		int n = epoll_wait(epoll, &event, 1, -1);

		if (n < 0 && errno != EINTR) {
			perror("event_loop: epoll_wait");
			exit(1);
		}
		if (n > 0 && event.data.fd == fd)
			status = leash_client_dispatch(client, err);
		finish_work();
	}
	close(epoll);
	return status;
}

int
main(int argc, char **argv)
{
	static struct request requests[REQUESTS];
	leash_client *client = NULL;
	leash_error err;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	int fd;

	if (status == LEASH_OK)
		status = leash_client_fd(client, &fd, &err);
	for (int i = 0; i < REQUESTS && status == LEASH_OK; i++)
		status = begin(&requests[i], client, i, &err);
	if (status == LEASH_OK)
		status = run(client, fd, &err);
	if (status != LEASH_OK)
		fail(err.text);
	leash_close(client); /* reports what is still under way */
	for (int i = 0; i < REQUESTS; i++) {
		leash_lock_free(requests[i].lock);
		leash_owner_free(requests[i].owner);
	}
	printf("%d requests by one thread, %d overlaps, %d failed\n", served, together, failed);
	return failed == 0 ? 0 : 1;
}
