#include "tools/value.h"

#include "tools/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool
cli_duration(const char *text, int64_t *ms)
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

int
cli_duration_option(const struct cli *cli, const char *option, const char *text, int64_t *ms)
{
	char shown[80];

	if (cli_duration(text, ms))
		return CLI_GO_ON;
	return cli_usage(cli, "%s: '%s' is not a duration: write 30s, 500ms, 5m, 2h or 1d", option,
	                 cli_show_word(shown, sizeof shown, text));
}

bool
cli_number(const char *text, int max, int *out)
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

int
cli_status_option(const struct cli *cli, const char *option, const char *text, int *status)
{
	char shown[80];

	if (cli_number(text, 255, status))
		return CLI_GO_ON;
	return cli_usage(cli, "%s: '%s' is not an exit status: write a number from 0 to 255", option,
	                 cli_show_word(shown, sizeof shown, text));
}
