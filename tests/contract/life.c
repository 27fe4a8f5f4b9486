/* See life.h. */
#include "tests/contract/life.h"

#include "tests/support/asleep.h"

#include <dirent.h>
#include <errno.h>
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

void *
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
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char kind[64] = "";

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
			continue;
		if (readlinkat(dirfd(folder), entry->d_name, kind, sizeof kind - 1) < 0 && errno == ENOENT)
			continue; /* it was closed meanwhile */
		assert_true(kind[0] != '\0');
		n += (strstr(kind, "[eventfd]") != NULL) == events;
	}
	closedir(folder);
	return n;
}

/* ---- */

void
life_open(void)
{
	refusal_open();
	counted_start();
}
