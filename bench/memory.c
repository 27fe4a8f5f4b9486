/* What leash keeps in memory, for a client and for a lock that is held.
 *
 * Each client has acquired a lock, been renewed, and released the lock. What counts is what is resident: the pages of
 * buffers and of the stacks of threads that have been touched. Each line is measured in a process of its own, because
 * what one frees is used again by the next. */
#include "bench/program.h"
#include "tests/support/child.h"
#include "tests/support/resident.h"

#include <leash.h>

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { CLIENTS = 300, LOCKS = 100000 };

static void
expect(leash_status status, const leash_error *err)
{
	if (status != LEASH_OK)
		die("%s", err->text);
}

static leash_client *
open_client(struct server *server, uint32_t lease_ms)
{
	leash_client *client;
	leash_error err;

	expect(leash_open(&client, LEASH_OPTIONS(.uri = server_uri(server), .lease_ms = lease_ms), &err), &err);
	return client;
}

static leash_lock *
acquire(leash_client *client, unsigned number)
{
	leash_lock *lock;
	leash_error err;
	char name[32];

	snprintf(name, sizeof name, "memory-%u", number);
	expect(leash_lock_new(&lock, client, name, NULL, &err), &err);
	expect(leash_lock_acquire(lock, 10000, &err), &err);
	return lock;
}

static void
await_renewals(leash_client *client, uint64_t count)
{
	leash_stats stats = { .size = sizeof stats };
	leash_error err;

	do {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		expect(leash_client_stats(client, &stats, &err), &err);
	} while (stats.renewed < count);
}

/* Open `count` clients and let each use a lock. */
static void
use_clients(struct server *server, leash_client **client, unsigned count)
{
	leash_lock *lock[CLIENTS];
	leash_error err;

	for (unsigned i = 0; i < count; i++) {
		client[i] = open_client(server, 3000);
		lock[i] = acquire(client[i], i);
	}
	for (unsigned i = 0; i < count; i++) {
		await_renewals(client[i], 1);
		expect(leash_lock_release(lock[i], &err), &err);
		leash_lock_free(lock[i]);
	}
}

struct line {
	const char *name;
	unsigned count;
	double bar; /* bytes */
	double (*measure)(struct server *server); /* bytes */
	struct server *server;
	double bytes;
};

static double
measure_clients(struct server *server)
{
	leash_client *client[1 + CLIENTS];
	double before;

	use_clients(server, client, 1); /* what is made once for a process */
	before = resident_bytes();
	use_clients(server, client + 1, CLIENTS);
	return (resident_bytes() - before) / CLIENTS;
}

static double
measure_locks(struct server *server)
{
	leash_client *client = open_client(server, 60000);
	double before;

	acquire(client, 0);
	before = resident_bytes();
	for (unsigned i = 1; i <= LOCKS; i++)
		acquire(client, i);
	return (resident_bytes() - before) / LOCKS;
}

static struct line lines[] = {
	{ .name = "clients", .count = CLIENTS, .bar = 250000, .measure = measure_clients },
	{ .name = "locks", .count = LOCKS, .bar = 600, .measure = measure_locks },
};

enum { LINES = sizeof lines / sizeof *lines };

static int
run(void *arg)
{
	struct line *line = arg;

	line->bytes = line->measure(line->server);
	return 0;
}

/* Whether it missed its bar. */
static unsigned
print_line(const struct line *line, struct server *server)
{
	struct line *shared = child_share(sizeof *shared);
	bool met;

	*shared = *line;
	shared->server = server;
	child_wait(child_run(run, shared));
	met = shared->bytes <= line->bar;
	printf("  %-8s %7u %9.0f  <= %6.0f  %s\n", line->name, line->count, shared->bytes, line->bar,
	       met ? "met" : "MISSED");
	fflush(stdout);
	child_unshare(shared, sizeof *shared);
	return !met;
}

/* ---- the command line ---- */

static const char help[] =
	"Usage: memory [OPTION]...\n"
	"Measure how many bytes a client, and a lock that is held, keep resident.\n"
	"Starts a redis-server of its own on a unix socket, and ends it.\n"
	"\n"
	"  --only=LINE   clients or locks\n"
	"  --check       exit with 1 if a bar is missed\n"
	"  --help        this text\n"
	"\n"
	"Exits with 0 when it could measure, 77 without a redis-server, 2 if anything else went wrong.\n";

int
main(int argc, char **argv)
{
	struct settings s = { .rounds = 1 };
	struct server *server;
	struct rlimit files;
	unsigned missed = 0, wanted = 0;

	program_read(&s, argc, argv, help, "ms", true);
	for (size_t i = 0; i < LINES; i++)
		wanted += program_wants(&s, lines[i].name);
	if (wanted == 0)
		die("--only: there is no line '%s'; see --help", s.only);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	server = server_start(NULL);
	printf("leash %s\n\nBytes that stay resident, for each\n", leash_version());
	for (size_t i = 0; i < LINES; i++)
		if (program_wants(&s, lines[i].name))
			missed += print_line(&lines[i], server);
	server_stop(server);
	return program_end(&s, missed);
}
