/* What the arguments of options can be. See option.h. */
#include "tools/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "30", "30s", "500ms", "1.5m", "2h", "1d" in ms. False: it is none, or more than ten years. */
static bool
read_duration(const char *text, int64_t *ms)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
	size_t digits = strspn(text, "0123456789"), n = digits;
	double value;

	if (text[n] == '.')
		n += 1 + strspn(text + n + 1, "0123456789");
	if (digits == 0 || n > 20 || text[n - 1] == '.')
		return false;
	value = strtod(text, NULL); /* the C locale: nobody called setlocale */
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text + n, units[i].name) == 0) {
			value *= units[i].ms;
			if (value > 10 * 365.25 * 86400000)
				return false;
			*ms = (int64_t)(value + 0.5);
			if (*ms == 0 && value > 0)
				*ms = 1; /* a tenth of a millisecond is not "do not" */
			return true;
		}
	return false;
}

bool
cli_number(const char *text, int64_t max, int *out)
{
	char *end;
	long n;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	n = strtol(text, &end, 10);
	if (*end != '\0' || errno != 0 || n > max)
		return false;
	*out = (int)n;
	return true;
}

/* As read_duration() reads it. */
static char *
duration_text(char out[static CLI_TIME_SIZE], int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
	size_t i = 0;

	while (i + 1 < sizeof units / sizeof *units && (ms % units[i].ms != 0 || ms < units[i].ms))
		i++;
	snprintf(out, CLI_TIME_SIZE, "%" PRId64 "%s", ms / units[i].ms, units[i].name);
	return out;
}

/* ---- options ---- */

int
cli_take_flag(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	(void)cli;
	(void)option;
	(void)text;
	*(bool *)into = true;
	return CLI_GO_ON;
}

int
cli_take_no_time(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	(void)cli;
	(void)option;
	(void)text;
	*(int64_t *)into = 0;
	return CLI_GO_ON;
}

int
cli_take_text(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	(void)cli;
	(void)option;
	*(const char **)into = text;
	return CLI_GO_ON;
}

int
cli_take_number(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	char shown[80];

	if (cli_number(text, option->most, into) && *(int *)into >= option->least)
		return CLI_GO_ON;
	return cli_usage(cli, "--%s: '%s' is not a number from %" PRId64 " to %" PRId64, option->name,
	                 cli_show_word(shown, sizeof shown, text), option->least, option->most);
}

int
cli_take_duration(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	char shown[80], least[CLI_TIME_SIZE], most[CLI_TIME_SIZE];
	int64_t *ms = into;

	if (!read_duration(text, ms))
		return cli_usage(cli, "--%s: '%s' is not a duration: write 30s, 500ms, 5m, 2h or 1d", option->name,
		                 cli_show_word(shown, sizeof shown, text));
	if (option->most == 0 || (*ms >= option->least && *ms <= option->most))
		return CLI_GO_ON;
	return cli_usage(cli, "--%s: a time from %s to %s, not %s", option->name, duration_text(least, option->least),
	                 duration_text(most, option->most), text);
}

int
cli_take_log(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	char shown[80];

	if (log_read(into, text))
		return CLI_GO_ON;
	return cli_usage(cli, "--%s: '%s' is none of stderr, syslog, journald, and no socket as in syslog:/PATH or "
	                      "journald:/PATH", option->name, cli_show_word(shown, sizeof shown, text));
}
