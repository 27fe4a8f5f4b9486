/* See interface.h. */
#include "tests/contract/interface.h"

#include "tests/support/asleep.h"
#include "tests/support/descriptors.h"

#include <poll.h>
#include <unistd.h>

struct server *server;
_Thread_local leash_error err;

/* ---- what every refusal must be ---- */

void
spoil_error(void)
{
	memset(&err, 0x5a, sizeof err);
}

void
check_text(const char *names)
{
	size_t n = strnlen(err.text, sizeof err.text);

	if (n == 0 || n == sizeof err.text)
		fail_msg("a text of %zu bytes", n);
	for (size_t i = 0; i < n; i++)
		if (err.text[i] < ' ' || err.text[i] > '~')
			fail_msg("byte %zu is not printable: %s", i, err.text);
	if (strstr(err.text, names) == NULL)
		fail_msg("'%s' is not named: %s", names, err.text);
	if (err.text[n - 1] == '.' && (n < 3 || strcmp(err.text + n - 3, "...") != 0))
		fail_msg("it ends with a full stop: %s", err.text);
}

/* ---- things ---- */

#define MAKER(type, parameters, ...) \
	static void free_##type(void *made) { leash_##type##_free(made); } \
	leash_##type *type##_of parameters \
	{ \
		leash_##type *made = NULL; \
		assert_status(LEASH_OK, leash_##type##_new(&made, __VA_ARGS__, &err)); \
		afterwards(free_##type, made); \
		return made; \
	}

MAKER(condition, (leash_lock *lock, const char *name, const leash_condition_options *options), lock, name, options)
MAKER(semaphore, (leash_client *client, const char *name, int64_t limit), client, name, limit, NULL)
MAKER(latch, (leash_client *client, const char *name, int64_t count), client, name, count)
MAKER(barrier, (leash_client *client, const char *name, int64_t parties), client, name, parties)
MAKER(watch, (leash_client *client, const char *name), client, name)
MAKER(multi, (leash_lock *const *locks, size_t count), locks, count)

static void
free_owner(void *owner)
{
	leash_owner_free(owner);
}

leash_owner *
owner_of_its_own(void)
{
	leash_owner *owner = NULL;

	assert_status(LEASH_OK, leash_owner_new(&owner, &err));
	afterwards(free_owner, owner);
	return owner;
}

long
wherever_memory_runs_out(leash_status (*act)(void), void (*check)(leash_status status))
{
	long used = 0, n;

	for (n = 1; n == 1 || used >= n - 1; n++) {
		counted.calls = 0;
		counted.fail_at = n;
		leash_status status = act();
		used = counted.calls;
		counted.fail_at = 0;
		if (status != LEASH_OK)
			assert_status(LEASH_NO_MEMORY, status);
		check(status);
	}
	return n;
}

/* ---- clients, and threads that wait ---- */

void
take_and_give_back(leash_lock *lock)
{
	assert_status(LEASH_OK, leash_lock_acquire(lock, 5000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
}

void
use_own_client(void)
{
	leash_client *client = open_client();
	leash_lock *lock = leashed_lock(client, "own", NULL);

	take_and_give_back(lock);
	leash_lock_free(lock);
	leash_close(client);
}

leash_stats
stats_of(leash_client *client)
{
	leash_stats stats = {.size = sizeof stats};

	assert_status(LEASH_OK, leash_client_stats(client, &stats, &err));
	return stats;
}

int64_t
calls_of(const char *command)
{
	struct server *at;
	int64_t calls = 0;

	for (size_t i = 0; (at = deployment_master(place, i)) != NULL; i++)
		calls += server_calls(at, command);
	return calls;
}

static void
end_actor(void *actor)
{
	actor_end(actor);
}

void
begin_actor(struct actor *a, leash_lock *lock, int64_t wait_ms)
{
	actor_begin(a, lock, wait_ms);
	afterwards(end_actor, a);
}

void
begin_waiting(struct actor *a, leash_lock *lock, int64_t wait_ms)
{
	actor_begin(a, lock, wait_ms);
	actor_tell(a, actor_acquire);
}

void
end_waiting(struct actor *a)
{
	assert_heard(LEASH_OK, a);
	if (a->held)
		assert_done(LEASH_OK, a, actor_release);
	actor_end(a);
}

/* ---- */

void
interface_open(void)
{
	place_open();
	server = deployment_server(place);
	setenv("LEASH_URI", place_uri(), 1);
}

/* ---- memory ---- */

long at_first;

void
note_what_there_is(void)
{
	counted.fail_at = 0; /* for what a test left that failed */
	counted.fail_on = false;
	place_flush();
	at_first = counted.blocks;
}

void
nothing_is_left(void)
{
	assert_true(counted_left(at_first) == 0);
}

void
no_trace_is_left(void)
{
	place_assert_empty();
	nothing_is_left();
}

/* ---- descriptors ---- */

bool
is_readable(int fd, int wait_ms)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, wait_ms) > 0;
}

/* ---- threads that are always in a call ---- */

static void *
be_busy(void *arg)
{
	struct busy *b = arg;
	leash_status status = LEASH_OK;

	for (int i = 0; status != LEASH_CLOSED; i++) {
		leash_lock *lock = b->lock[i % 2];

		status = leash_lock_acquire(lock, i % 3 == 0 ? 0 : 20, NULL);
		b->turns++;
		if (status != LEASH_OK)
			continue;
		if (leash_lock_acquire(lock, 0, NULL) == LEASH_OK)
			leash_lock_release(lock, NULL);
		leash_lock_extend(lock, place_lease_ms(40000), NULL);
		leash_lock_token(lock, NULL, 0);
		leash_lock_inspect(lock, &(leash_lock_info){.size = sizeof(leash_lock_info)}, NULL);
		leash_lock_release(lock, NULL);
	}
	return NULL;
}

void
busy_begin(struct busy *busy, size_t count, leash_client *client)
{
	for (size_t i = 0; i < count; i++) {
		busy[i] = (struct busy){.lock = {leashed_lock(client, "busy", NULL),
		                                 leashed_lock(client, i % 2 ? "odd" : "even", NULL)}};
		assert_int_equal(pthread_create(&busy[i].thread, NULL, be_busy, &busy[i]), 0);
	}
}

void
busy_end(struct busy *busy, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		pthread_join(busy[i].thread, NULL);
		leash_lock_free(busy[i].lock[0]);
		leash_lock_free(busy[i].lock[1]);
	}
}

void *
in_a_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
	pthread_join(thread, &result);
	return result;
}

/* ---- what the process has ---- */

void
read_task(const char *task, const char *field, char out[64])
{
	char path[300], line[256];

	out[0] = '\0';
	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return; /* it has ended meanwhile */
	while (fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ":%63s", out);
	fclose(file);
}

long
process_number(const char *field)
{
	char text[64];

	snprintf(text, sizeof text, "%d", getpid());
	read_task(text, field, text);
	return atol(text);
}

static bool
all_sleep(void)
{
	const struct server *member;
	bool all = asleep_others();

	for (int i = 0; (member = deployment_member(place, i)) != NULL; i++)
		all &= server_pid(member) == 0 || asleep(server_pid(member));
	return all;
}

/* What goes on now and then is seen by what it changes. */
void
await_rest(void)
{
	long calls, blocks;

	do {
		calls = counted.calls;
		blocks = counted.blocks;
		await_true(all_sleep());
	} while (calls != counted.calls || blocks != counted.blocks);
}

int
count_fds(bool events)
{
	bool is_open[DESCRIPTORS];
	int n = 0;

	descriptors_list(is_open);
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		char path[40], kind[64] = "";

		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (is_open[fd] && readlink(path, kind, sizeof kind - 1) > 0) /* else it was closed meanwhile */
			n += (strstr(kind, "[eventfd]") != NULL) == events;
	}
	return n;
}

void
life_open(void)
{
	interface_open();
	counted_start();
}
