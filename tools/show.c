#include "tools/show.h"

#include "tools/letter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *
cli_show(char *out, size_t size, const char *text)
{
	static const char cut[] = "...";
	size_t n = 0, fits = 0; /* `fits`: so far, with room for the dots */

	for (const char *c = text; *c != '\0';) {
		size_t letter = *c != '\\' ? letter_size(c) : 0, more = letter > 0 ? letter : 4;

		if (n + more >= size) {
			n = fits;
			n += (size_t)snprintf(out + n, size - n, "%s", size - n > sizeof cut - 1 ? cut : "");
			break;
		}
		if (letter > 0)
			memcpy(out + n, c, letter);
		else
			snprintf(out + n, size - n, "\\x%02x", (unsigned char)*c);
		c += letter > 0 ? letter : 1;
		n += more;
		if (n + sizeof cut <= size)
			fits = n;
	}
	out[n] = '\0';
	return out;
}

void
cli_append(char *out, size_t size, const char *format, ...)
{
	size_t n = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + n, size - n, format, args);
	va_end(args);
}

bool
cli_has_password(const char *uri)
{
	const char *from = strstr(uri, "://"), *query, *at, *colon;

	if (strncasecmp(uri, "unix:///", 8) == 0)
		return false; /* a path may have any of these */
	from = from != NULL ? from + 3 : uri;
	query = from + strcspn(from, "?");
	at = memrchr(from, '@', (size_t)(query - from));
	if (at == NULL && query[strcspn(query, "=@")] == '@')
		at = strrchr(query, '@'); /* a '?' in the password */
	colon = at != NULL ? memchr(from, ':', (size_t)(at - from)) : NULL;
	return colon != NULL && colon + 1 < at;
}

char *
cli_show_word(char *out, size_t size, const char *word)
{
	char option[80];

	if (word[0] == '-' && strchr(word, '=') != NULL) {
		snprintf(option, sizeof option, "%.*s", (int)strcspn(word, "="), word);
		word = option;
	}
	return cli_show(out, size, cli_has_password(word) ? "***" : word);
}

char *
cli_time(char *out, int64_t ms)
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	if (ms == 0 || localtime_r(&s, &tm) == NULL || strftime(out, CLI_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		out[0] = '\0';
	return out;
}

char *
cli_span(char *out, int64_t ms)
{
	long long s = ms / 1000;

	if (ms < 1000)
		snprintf(out, CLI_TIME_SIZE, "%lld ms", (long long)ms);
	else if (s < 60)
		snprintf(out, CLI_TIME_SIZE, "%lld.%lld s", s, (long long)ms % 1000 / 100);
	else if (s < 3600)
		snprintf(out, CLI_TIME_SIZE, "%lld min %lld s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, CLI_TIME_SIZE, "%lld h %lld min", s / 3600, s % 3600 / 60);
	else
		snprintf(out, CLI_TIME_SIZE, "%lld d %lld h", s / 86400, s % 86400 / 3600);
	return out;
}

char *
cli_party(char *out, const leash_party *p)
{
	static const char under_run[] = CLI_UNDER_RUN;
	char program[4 * LEASH_PROGRAM_SIZE], host[4 * LEASH_HOST_SIZE], *end;
	bool is_run;

	cli_show(program, sizeof program, p->program);
	end = program + strlen(program) - (sizeof under_run - 1);
	is_run = end > program && strcmp(end, under_run) == 0;
	if (is_run)
		*end = '\0';
	if (p->pid == 0)
		snprintf(out, CLI_PARTY_SIZE, "a client that left no name");
	else
		snprintf(out, CLI_PARTY_SIZE, "%s%s, pid %lld on %s", program, is_run ? " run by leash" : "", (long long)p->pid,
		         cli_show(host, sizeof host, p->host));
	return out;
}

bool
cli_has_colour(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || no[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}
