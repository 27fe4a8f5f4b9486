/* See life.h. */
#include "tests/contract/life.h"

#include "tests/support/asleep.h"
#include "tests/support/descriptors.h"

#include <unistd.h>

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

/* ---- */

void
life_open(void)
{
	refusal_open();
	counted_start();
}
