/* Sending messages to a log. See log.h.
 *
 * Both logs have a datagram socket, and each message is one datagram. A socket is made for each message: messages are
 * few, and a log that was restarted has another socket behind the same path. syslog(3) and libsystemd may block for as
 * long as the log stands still. */
#include "tools/log.h"

#include "tools/cli.h"

#include <endian.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 100 };

bool
log_read(struct log *log, const char *text)
{
	static const struct {
		const char *name, *path;
	} kinds[] = {
		[LOG_TO_STDERR] = {"stderr", NULL},
		[LOG_TO_SYSLOG] = {"syslog", "/dev/log"},
		[LOG_TO_JOURNALD] = {"journald", "/run/systemd/journal/socket"},
	};
	size_t size = strcspn(text, ":");

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (strlen(kinds[i].name) != size || strncmp(text, kinds[i].name, size) != 0)
			continue;
		*log = (struct log){(enum log_kind)i, text[size] == ':' ? text + size + 1 : kinds[i].path};
		return text[size] == '\0' ||
		       (log->kind != LOG_TO_STDERR && log->path[0] == '/' &&
		        strlen(log->path) < sizeof ((struct sockaddr_un *)NULL)->sun_path);
	}
	return false;
}

static bool
send_to(const char *path, const char *bytes, size_t size)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct pollfd log = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), .events = POLLOUT};
	bool sent;

	if (log.fd < 0)
		return false;
	strcpy(to.sun_path, path); /* log_read() knows its length */
	/* of a connected socket poll() knows whether the log has room */
	sent = connect(log.fd, (const struct sockaddr *)&to, sizeof to) == 0 && poll(&log, 1, PATIENCE_MS) > 0 &&
	       send(log.fd, bytes, size, MSG_NOSIGNAL) >= 0;
	close(log.fd);
	return sent;
}

static int
priority(enum cli_level level)
{
	static const int priorities[] = {
		[CLI_DETAIL] = LOG_DEBUG, [CLI_INFO] = LOG_INFO, [CLI_WARNING] = LOG_WARNING, [CLI_ERROR] = LOG_ERR};

	return priorities[level];
}

/* As RFC 3164 has it, which all take on their local socket: the local time, in English. */
static void
write_syslog(FILE *out, const struct cli_news *news, const char *text)
{
	time_t s = (time_t)(news->time_ms / 1000);
	struct tm tm = {.tm_mday = 1};
	char time[20];

	localtime_r(&s, &tm);
	strftime(time, sizeof time, "%b %e %T", &tm); /* of the locale main() sets nothing but LC_CTYPE */
	fprintf(out, "<%d>%s leash[%d]: %s", LOG_USER | priority(news->level), time, (int)getpid(), text);
}

/* "KEY=value"; a value of several lines has its length before it in place of the sign. */
static void
write_field(FILE *out, const char *key, const char *value)
{
	uint64_t size = htole64(strlen(value));

	fprintf(out, "%s", key);
	if (strchr(value, '\n') != NULL) {
		putc('\n', out);
		fwrite(&size, sizeof size, 1, out);
	} else {
		putc('=', out);
	}
	fprintf(out, "%s\n", value);
}

static void
write_journal(FILE *out, const struct cli *cli, const struct cli_news *news, const char *text)
{
	fprintf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=leash\nLEASH_COMMAND=%s\n", priority(news->level), cli->command->name);
	write_field(out, "MESSAGE", text);
	if (news->lock != NULL)
		write_field(out, "LEASH_LOCK", news->lock);
	if (news->event == NULL)
		return;
	fprintf(out, "LEASH_EVENT=%s\nLEASH_REMAINING_MS=%" PRId64 "\n", news->event, news->remaining_ms);
	if (news->fence != 0)
		fprintf(out, "LEASH_FENCE=%" PRIu64 "\n", news->fence);
}

bool
log_send(const struct cli *cli, const struct cli_news *news, const char *text, const char *json)
{
	char *bytes = NULL;
	size_t size;
	FILE *out;
	bool sent;

	if (cli->log.kind == LOG_TO_STDERR || (out = open_memstream(&bytes, &size)) == NULL)
		return false;
	if (cli->log.kind == LOG_TO_SYSLOG)
		write_syslog(out, news, json != NULL ? json : text);
	else
		write_journal(out, cli, news, text);
	sent = fclose(out) == 0 && send_to(cli->log.path, bytes, size);
	free(bytes);
	return sent;
}
