#include "tools/run_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* {"lock","locks","acquired","reason","status","held_ms","waited_ms","fence"}, "locks" of several only. */
static json_t *
make(const struct run_report *r)
{
	const struct holding *first = r->set->held;
	json_t *object = json_object(), *locks = r->set->count > 1 ? json_array() : NULL;

	cli_json_set_name(object, "lock", first->name);
	for (size_t i = 0; locks != NULL && i < r->set->count; i++)
		json_array_append_new(locks, cli_json_text(r->set->held[i].name));
	if (locks != NULL)
		json_object_set_new(object, "locks", locks);
	json_object_set_new(object, "acquired", json_boolean(r->acquired));
	json_object_set_new(object, "reason", json_string(r->reason));
	json_object_set_new(object, "status", json_integer(r->status));
	json_object_set_new(object, "held_ms", json_integer((json_int_t)r->held_ms));
	json_object_set_new(object, "waited_ms", json_integer((json_int_t)r->waited_ms));
	json_object_set_new(object, "fence", r->acquired ? cli_json_hold_fence(first->fence) : json_null());
	return object;
}

/* In one write(): several runs may share the file. */
static void
append(const struct cli *cli, const char *file, const char *line, size_t size)
{
	int fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
	bool fine = fd >= 0 && write(fd, line, size) == (ssize_t)size;
	int error = errno;
	char shown[200];

	if (fd >= 0)
		fine = close(fd) == 0 && fine;
	if (!fine)
		cli_say(cli, CLI_WARNING, "--report: '%s' could not be written: %s", cli_show(shown, sizeof shown, file),
		        strerror(error));
}

void
run_report_write(const struct run_report *r, const struct cli *cli, const char *file)
{
	json_t *object = cli->json || file != NULL ? make(r) : NULL;
	char *dumped = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL, *line = NULL;
	int size = dumped != NULL ? asprintf(&line, "%s\n", dumped) : -1;

	if (size > 0 && cli->json)
		cli_write_line(line, (size_t)size, false);
	if (size > 0 && file != NULL)
		append(cli, file, line, (size_t)size);
	free(size > 0 ? line : NULL);
	free(dumped);
	json_decref(object);
}
