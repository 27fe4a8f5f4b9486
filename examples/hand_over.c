/* A lock that moves with the work from thread to thread: an owner that is not a thread.
 *
 *   hand_over [URI]
 *
 * One thread accepts a request and acquires its lock; another one finishes the request and releases the lock. If the
 * owner were the thread, which is the default, the second thread could not release, and the end of the first one would
 * release the lock. */
#include <leash.h>

#include <pthread.h>
#include <stdio.h>

struct request {
	leash_lock *account; /* a handle that acts for the request */
	leash_error err;
	leash_status status;
};

static void *
accept_request(void *arg)
{
	struct request *request = arg;

	request->status = leash_lock_acquire(request->account, 5000, &request->err);
	return NULL; /* this thread is done, the request is not */
}

static void *
finish_request(void *arg)
{
	struct request *request = arg;

	printf("the second thread %s the lock\n", leash_lock_held(request->account) ? "has" : "does not have");
	request->status = leash_lock_release(request->account, &request->err);
	return NULL;
}

static leash_status
serve(leash_client *client, leash_owner *owner, leash_error *err)
{
	struct request request = {0};
	void *(*const steps[])(void *) = {accept_request, finish_request};
	leash_status status = leash_lock_new(&request.account, client, "account", LEASH_LOCK_OPTIONS(.owner = owner), err);

	for (int i = 0; i < 2 && status == LEASH_OK; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, steps[i], &request) != 0)
			break;
		pthread_join(thread, NULL);
		status = request.status;
		*err = request.err;
	}
	leash_lock_free(request.account);
	return status;
}

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_owner *owner = NULL; /* one for each request */
	leash_error err;
	leash_status status = leash_owner_new(&owner, &err);

	if (status == LEASH_OK)
		status = leash_open(&client, LEASH_OPTIONS(.uri = argc > 1 ? argv[1] : NULL), &err);
	if (status == LEASH_OK)
		status = serve(client, owner, &err);
	if (status == LEASH_OK)
		puts("served");
	else
		fprintf(stderr, "%s\n", err.text);
	leash_close(client);
	leash_owner_free(owner);
	return status == LEASH_OK ? 0 : 1;
}
