/* Descriptors, threads and memory that run out, in leash, in OpenSSL and in the resolver: that is told as NO_MEMORY, with
 * the errno of what ran out, and as no fault of the URI, of a file, of the server or of its certificate. */
#include "tests/support/certs.h"
#include "tests/support/child.h"
#include "tests/support/kept.h"
#include "tests/support/leashed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct server *server, *tls_server;
static leash_error err; /* what the last call said */

static leash_status
try(const char *uri)
{
	leash_client *client = NULL;
	leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = uri, .timeout_ms = 20000), &err);

	if (status == LEASH_OK)
		leash_close(client);
	return status;
}

static void
assert_short(leash_status status, int sys_errno, const char *part)
{
	if (status != LEASH_NO_MEMORY || err.sys_errno != sys_errno || strstr(err.text, part) == NULL)
		fail_msg("%s, errno %d: %s", leash_status_name(status), err.sys_errno, err.text);
}

static void
set_limit(rlim_t n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static char by_name[64], tls_by_name[256], tls_by_system[64];

static void
start(void)
{
	server = server_start_tcp(NULL);
	tls_server = server_start_tls(CERTS_SERVER, false, NULL);
	snprintf(by_name, sizeof by_name, "redis://localhost:%d", server_port(server));
	snprintf(tls_by_name, sizeof tls_by_name, "rediss://localhost:%d?%s", server_port(tls_server), certs_query());
	snprintf(tls_by_system, sizeof tls_by_system, "rediss://127.0.0.1:%d", server_port(tls_server));
	setenv("SSL_CERT_FILE", certs_file(CERTS_AUTHORITY), 1);
}

static void
stop(void)
{
	server_stop(server);
	server_stop(tls_server);
}

GROUP(start, stop);

#if !UNDER_ASAN && !UNDER_TSAN /* which have functions of their own */

/* ---- what the library takes from the system comes through these ---- */

static _Atomic long calls, fail_from; /* each allocation from that one on fails; 0: none */
static _Atomic int threads, fail_thread; /* the thread that cannot be started; 0: none */
static _Atomic bool no_pages;

#define REPLACES   __attribute__((visibility("default")))

static bool
is_gone(void)
{
	long from = fail_from;

	if (from == 0 || ++calls < from)
		return false;
	errno = ENOMEM;
	return true;
}

#define ALLOCATES(name, parameters, ...) \
	extern void *__libc_##name parameters; \
	REPLACES void *name parameters { return is_gone() ? NULL : __libc_##name(__VA_ARGS__); }

ALLOCATES(malloc, (size_t size), size)
ALLOCATES(calloc, (size_t count, size_t size), count, size)
ALLOCATES(realloc, (void *old, size_t size), old, size)

REPLACES int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (fail_thread != 0 && ++threads == fail_thread)
		return EAGAIN;
	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	return create(thread, attributes, run, arg);
}

REPLACES void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *(*map)(void *, size_t, int, int, int, off_t);

	if (no_pages) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	*(void **)&map = dlsym(RTLD_NEXT, "mmap");
	return map(at, size, protection, flags, fd, offset);
}
/* ---- memory and threads ---- */

static int
open_without_a_page(void *arg)
{
	leash_cancel *cancel;

	(void)arg;
	no_pages = true;
	assert_short(try(server_uri(server)), ENOMEM, "out of memory");
	assert_short(leash_cancel_new(&cancel, &err), ENOMEM, "out of memory");
	no_pages = false;
	assert_status(LEASH_OK, try(server_uri(server)));
	return 0;
}

/* The first one: of a process that has opened no client yet. */
SENTENCE(without_a_page_to_tell_a_child_by_there_is_no_memory_and_later_there_is)
{
	child_wait(child_run(open_without_a_page, NULL));
}

static int
open_with_little_memory(void *arg)
{
	long failed = 0;

	(void)arg;
	assert_status(LEASH_OK, try(server_uri_tls(tls_server))); /* OpenSSL never gets over a lack of memory when it is used first */
	for (long n = 1;; n += 1 + n / 16) {
		calls = 0;
		fail_from = n;
		leash_status status = try(server_uri_tls(tls_server));
		fail_from = 0;
		if (status == LEASH_OK)
			break;
		assert_short(status, ENOMEM, "");
		failed++;
	}
	printf("# %ld times\n", failed);
	return failed > 50 ? 0 : 1;
}

SENTENCE(wherever_memory_runs_out_amid_tls_an_open_says_so_and_doubts_no_certificate)
{
	child_wait(child_run(open_with_little_memory, NULL));
}

SENTENCE(without_one_of_its_threads_an_open_says_so)
{
	int failed = 0;

	for (int n = 1;; n++) {
		threads = 0;
		fail_thread = n;
		leash_status status = try(tls_by_name);
		fail_thread = 0;
		if (status == LEASH_OK)
			break;
		assert_short(status, EAGAIN, "out of threads");
		failed++;
	}
	assert_true(failed >= 4); /* for callbacks, renewals, connections, and a name */
}

#endif

/* ---- descriptors ---- */

static int
open_with_few_descriptors(void *uri)
{
	char part[64];
	rlim_t n = 1;
	leash_status status;

	for (;; n++) {
		set_limit(n);
		status = try(uri);
		if (status == LEASH_OK)
			break;
		snprintf(part, sizeof part, "this process may have %d open", (int)n);
		assert_short(status, EMFILE, part);
	}
	printf("# %s: %d descriptors are enough\n", (const char *)uri, (int)n);
	return 0;
}

SENTENCE(with_too_few_descriptors_an_open_says_so_wherever_it_needs_one)
{
	const char *const uris[] = {server_uri(server), by_name, tls_by_name, tls_by_system};

	for (size_t i = 0; i < COUNT(uris); i++)
		child_wait(child_run(open_with_few_descriptors, (void *)(uintptr_t)uris[i]));
}

SENTENCE(a_client_without_descriptors_for_a_new_connection_says_so_and_goes_on_once_there_are)
{
	leash_client *client = kept(leashed_open(server_uri_tls(tls_server), LEASH_OPTIONS(.timeout_ms = 20000)));
	leash_lock *lock = kept(leashed_lock(client, "starved", NULL));
	struct rlimit limit;
	leash_status status;

	assert_int_equal(server_integer(tls_server, "DBSIZE"), 0); /* so that the test has its connection */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	set_limit(8); /* as many as are polled at once, and more; all of them are open */
	freeReplyObject(server_command(tls_server, "CLIENT KILL TYPE normal"));
	freeReplyObject(server_command(tls_server, "CLIENT KILL TYPE pubsub"));
	do {
		status = leash_lock_acquire(lock, 500, &err);
		assert_true(status == LEASH_NO_MEMORY || status == LEASH_UNAVAILABLE); /* it was lost amid the first ask */
	} while (status == LEASH_UNAVAILABLE);
	assert_short(status, EMFILE, "this process may have 8 open");
	set_limit(limit.rlim_cur);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}
