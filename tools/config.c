/* The file has lines `key = value`; `#` begins a comment, and empty lines mean nothing. `uri` and `prefix` are what
 * --redis and --prefix are; each other key is a parameter of the URI, and is put behind it. */
#include "tools/config.h"

#include "tools/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As lib/redis/uri.c has them; tests/tools/config.txt compares. */
static const char *const keys[] = {
	"uri", "prefix", "timeout", "password_file", "password_env", "db", "cafile", "cert", "key", "server_name", "verify",
	"sentinel_user", "sentinel_password_file", "sentinel_password_env", "redirects", "scripts", "restart_guard",
};

enum { URI, PREFIX, KEYS = sizeof keys / sizeof *keys, SIZE_MAX_ = 65536 };

static struct {
	char path[4096];
	char *text;               /* of which the values are parts */
	const char *values[KEYS];
	int lines[KEYS];          /* 0: it does not have the key */
	char *uri;                /* with the parameters */
} file;

static int __attribute__((format(printf, 3, 4)))
fail(const struct cli *cli, int line, const char *format, ...)
{
	char text[512], shown[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	cli_show(shown, sizeof shown, file.path);
	if (line == 0)
		return cli_fail(cli, EXIT_CONFIG, "%s: %s", shown, text);
	return cli_fail(cli, EXIT_CONFIG, "%s:%d: %s", shown, line, text);
}

/* ---- which file ---- */

static bool
is_there(const char *format, const char *folder)
{
	if (folder == NULL || folder[0] == '\0' ||
	    snprintf(file.path, sizeof file.path, format, folder) >= (int)sizeof file.path)
		return false;
	return access(file.path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR); /* else reading it tells why */
}

static bool
find_file(void)
{
	const char *named = secure_getenv("LEASH_CONFIG"), *folder = secure_getenv("XDG_CONFIG_HOME");

	if (named != NULL)
		return named[0] != '\0' && snprintf(file.path, sizeof file.path, "%s", named) < (int)sizeof file.path;
	if (folder != NULL && folder[0] != '\0')
		return is_there("%s/leash/leash.conf", folder) || is_there("%s/leash.conf", "/etc");
	return is_there("%s/.config/leash/leash.conf", secure_getenv("HOME")) || is_there("%s/leash.conf", "/etc");
}

/* ---- reading ---- */

/* `*mode` becomes who may read it. */
static int
read_text(const struct cli *cli, mode_t *mode)
{
	int fd = open(file.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), error = errno;
	bool is_file = false;
	struct stat s;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &s) == 0 && (is_file = S_ISREG(s.st_mode) && s.st_size < SIZE_MAX_) &&
	    (file.text = malloc(SIZE_MAX_)) != NULL) {
		n = read(fd, file.text, SIZE_MAX_ - 1);
		error = errno;
	}
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !is_file)
		return fail(cli, 0, "it is not a regular file of less than 64 KiB; set LEASH_CONFIG to one, or to nothing");
	if (n < 0)
		return fail(cli, 0, "it cannot be read: %s; fix its permissions, or set LEASH_CONFIG to another file, or to "
		                    "nothing", strerror(error));
	file.text[n] = '\0';
	*mode = s.st_mode;
	return strlen(file.text) == (size_t)n ? CLI_GO_ON : fail(cli, 0, "it has a NUL byte in it");
}

static char *
trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text + strspn(text, " \t");
}

static int
take_line(const struct cli *cli, char *line, int number)
{
	char *key = trim(line), *equals = strchr(key, '='), shown[80];
	size_t i = 0;

	if (key[0] == '\0' || key[0] == '#')
		return CLI_GO_ON;
	if (equals == NULL)
		return fail(cli, number, "it is not of the form: key = value");
	*equals = '\0';
	trim(key);
	while (i < KEYS && strcmp(keys[i], key) != 0)
		i++;
	cli_show_word(shown, sizeof shown, key);
	if (i == KEYS)
		return fail(cli, number, "there is no key '%s'; leash(1) has the list, under FILES", shown);
	if (file.lines[i] != 0)
		return fail(cli, number, "'%s' is given twice, before in line %d", shown, file.lines[i]);
	file.values[i] = trim(equals + 1);
	file.lines[i] = number;
	return file.values[i][0] != '\0' ? CLI_GO_ON : fail(cli, number, "'%s' has no value; leave the line out", shown);
}

static int
take_lines(const struct cli *cli)
{
	char *line = file.text, *next;
	int status = CLI_GO_ON;

	for (int number = 1; line != NULL && status == CLI_GO_ON; number++, line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		status = take_line(cli, line, number);
	}
	return status;
}

static int
check(const struct cli *cli, mode_t mode)
{
	if (file.lines[URI] == 0) {
		for (size_t i = PREFIX + 1; i < KEYS; i++)
			if (file.lines[i] != 0)
				return fail(cli, file.lines[i], "'%s' belongs to a uri, and there is none in the file", keys[i]);
	} else if (cli_has_password(file.values[URI]) && (mode & S_IROTH) != 0) {
		return fail(cli, file.lines[URI], "all users can read the password in it: chmod o-r %s, or put the password "
		                                  "into a file of its own, password_file = PATH", file.path);
	}
	return CLI_GO_ON;
}

/* ---- the URI ---- */

/* What means something in a query as %HH. */
static void
put(FILE *to, const char *value)
{
	for (const char *c = value; *c != '\0'; c++)
		if (isalnum((unsigned char)*c) || strchr("-._~/:,@[]+", *c) != NULL)
			putc(*c, to);
		else
			fprintf(to, "%%%02X", (unsigned char)*c);
}

static bool
make_uri(void)
{
	const char *uri = file.values[URI];
	char *made = NULL;
	size_t size;
	FILE *to = open_memstream(&made, &size);

	if (to == NULL)
		return false;
	fputs(uri, to);
	for (size_t i = PREFIX + 1, first = strchr(uri, '?') == NULL; i < KEYS; i++)
		if (file.lines[i] != 0) {
			fprintf(to, "%c%s=", first ? '?' : '&', keys[i]);
			put(to, file.values[i]);
			first = 0;
		}
	if (fclose(to) == 0)
		file.uri = made;
	return file.uri != NULL;
}

/* ---- all of it ---- */

static int
read_file(const struct cli *cli)
{
	mode_t mode = 0;
	int status;

	errno = 0;
	status = read_text(cli, &mode);
	if (status == CLI_GO_ON)
		status = take_lines(cli);
	if (status == CLI_GO_ON)
		status = check(cli, mode);
	if (status == CLI_GO_ON && file.lines[URI] != 0 && !make_uri())
		return cli_fail(cli, EXIT_INTERNAL, "out of memory");
	return status;
}

static bool
take_variable(const char *name, const char **into)
{
	const char *value = secure_getenv(name);

	if (*into == NULL && value != NULL && value[0] != '\0')
		*into = value;
	return *into != NULL;
}

int
config_take(struct cli *cli)
{
	bool has_option = cli->uri != NULL, has_uri = take_variable("LEASH_URI", &cli->uri);
	bool has_prefix = take_variable("LEASH_PREFIX", &cli->prefix);
	int status;

	cli->uri_from = has_option ? "--redis" : has_uri ? "LEASH_URI" : NULL;
	if ((has_uri && has_prefix) || !find_file())
		return CLI_GO_ON;
	status = read_file(cli);
	if (status != CLI_GO_ON)
		return status;
	if (!has_prefix)
		cli->prefix = file.values[PREFIX];
	if (!has_uri && file.uri != NULL) {
		cli->uri = file.uri;
		cli->uri_from = file.path;
	}
	return CLI_GO_ON;
}

/* "uri: timeout: ...", "uri: password_file '/path': ...", or "uri: parameter 'verify': ...". */
static bool
is_about(const char *text, const char *key)
{
	static const char before[] = "uri: ", quote[] = "parameter '";
	const char *at = strstr(text, before);

	if (at == NULL)
		return false;
	at += strlen(before);
	if (strncmp(at, quote, strlen(quote)) == 0)
		at += strlen(quote);
	return strcspn(at, ": '") == strlen(key) && strncmp(at, key, strlen(key)) == 0;
}

int
config_blame(const struct cli *cli, const leash_error *err)
{
	int line = file.lines[URI];

	if (err->status != LEASH_INVALID || file.uri == NULL || cli->uri != file.uri)
		return CLI_GO_ON;
	for (size_t i = PREFIX + 1; i < KEYS; i++)
		if (file.lines[i] != 0 && is_about(err->text, keys[i]))
			line = file.lines[i];
	return fail(cli, line, "%s", err->text);
}
