/* leash list needs no more memory for many locks than for few. What else it does is in list.txt. */
#include "tests/support/child.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"

#include <fcntl.h>
#include <unistd.h>

enum { FEW = 1000, MANY = 100000 };

GROUP(start_server, stop_server);

static void
make_locks(int from, int to)
{
	server_text(server, "EVAL %s 0 %d %d",
	            "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do\n"
	            "	local key = string.format('leash:{job-%06d}', i)\n"
	            "	redis.call('HSET', key, string.format('01234567-89ab-cdef-0123-%012d:%d', i % 100, i), 1)\n"
	            "	redis.call('PEXPIRE', key, 3600000)\n"
	            "end",
	            from, to);
}

static int
become_leash(void *out)
{
	setenv("LEASH_URI", uri, 1);
	dup2(*(int *)out, STDOUT_FILENO);
	return execl(tool_path(), "leash", "list", "-q", (char *)NULL);
}

/* Read until so many lines have come, or all of them. Returns how many came. */
static size_t
read_lines(int from, size_t lines)
{
	char text[4096];
	size_t count = 0;
	ssize_t n = 1;

	while (count < lines && (n = read(from, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++)
			count += text[i] == '\n';
	return count;
}

/* The most memory that it has ever had, in KiB. It must be running. */
static long
peak_of(pid_t pid)
{
	char path[64], line[256];
	long peak = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "VmHWM: %ld kB", &peak) == 1)
			break;
	fclose(file);
	assert_true(peak > 0);
	return peak;
}

/* Of a run that has printed nearly all, and cannot print the rest because nobody takes it. */
static long
peak_of_listing(int locks)
{
	int ends[2];
	size_t lines;
	long peak;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = child_run(become_leash, &ends[1]);
	close(ends[1]);
	lines = read_lines(ends[0], (size_t)locks * 9 / 10);
	peak = peak_of(pid);
	assert_true(lines + read_lines(ends[0], SIZE_MAX) >= (size_t)locks); /* SCAN may give some twice */
	child_wait(pid);
	close(ends[0]);
	return peak;
}

SENTENCE(a_hundred_thousand_locks_need_no_more_memory_than_a_thousand)
{
	long few, many;

	setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 0); /* AddressSanitizer keeps what was freed, up to that */
	make_locks(1, FEW);
	few = peak_of_listing(FEW);
	make_locks(FEW + 1, MANY);
	many = peak_of_listing(MANY);
	print_message("# peak with %d locks: %ld KiB, with %d: %ld KiB\n", FEW, few, MANY, many);
	if (many > few + few / 4)
		fail_msg("%ld KiB with %d locks, %ld KiB with %d", few, FEW, many, MANY);
}
