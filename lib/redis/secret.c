/* See secret.h. */
#include "redis/secret.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SHOWN = 96 }; /* of a path or a variable in a message */

leash_status
lsh_secret_new(char **out, size_t size, leash_error *err)
{
	*out = NULL;
	if (!lsh_sodium_ready())
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "guarded memory: the system has no randomness, which it "
				"needs");
	*out = sodium_malloc(size + 1);
	return *out != NULL ? LEASH_OK : lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "guarded memory: there is no more");
}

leash_status
lsh_secret_copy(char **out, const char *secret, leash_error *err)
{
	leash_status st = lsh_secret_new(out, strlen(secret), err);

	if (st == LEASH_OK)
		strcpy(*out, secret);
	return st;
}

/* ---- from a file ---- */

static leash_status
file_fails(const char *what, leash_error *err)
{
	char text[LSH_ERRNO_TEXT];
	int e = errno;

	return lsh_fail(err, lsh_errno_status(e, LEASH_INVALID), e, "%s: %s", what, lsh_errno_text(e, text));
}

/* Read up to `size` bytes, to the end of the file; -1 and errno if that fails. */
static ssize_t
read_all(int fd, char *out, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, out + length, size - length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	return (ssize_t)length;
}

/* Of the `n` bytes of a file make the text of its only line. Returns why that cannot be, or NULL. */
static const char *
take_line(char *secret, size_t n)
{
	if (n > LSH_SECRET_MAX)
		return "longer than 4096 bytes";
	if (memchr(secret, '\0', n) != NULL)
		return "has a NUL byte in it";
	if (n > 0 && secret[n - 1] == '\n')
		n--;
	if (n == 0)
		return "empty";
	if (memchr(secret, '\n', n) != NULL)
		return "has more than one line; the password must be its only one";
	if (secret[n - 1] == '\r')
		return "ends in CR LF, as on Windows; end its line in LF alone";
	secret[n] = '\0';
	return NULL;
}

/* Only from a regular file: another could keep us waiting for its writer, and whoever opens a client has a deadline. */
static leash_status
read_file(int fd, char *secret, const char *what, leash_error *err)
{
	struct stat s;
	const char *wrong;
	ssize_t n;

	if (fstat(fd, &s) != 0)
		return file_fails(what, err);
	if (!S_ISREG(s.st_mode))
		return lsh_fail(err, LEASH_INVALID, 0, "%s: not a regular file", what);
	n = read_all(fd, secret, LSH_SECRET_MAX + 1);
	if (n < 0)
		return file_fails(what, err);
	wrong = take_line(secret, (size_t)n);
	return wrong == NULL ? LEASH_OK : lsh_fail(err, LEASH_INVALID, 0, "%s: %s", what, wrong);
}

leash_status
lsh_secret_from_file(char **out, const char *path, const char *what, leash_error *err)
{
	char shown[MAX_SHOWN], file[MAX_SHOWN + 64];
	leash_status st;
	int fd;

	*out = NULL;
	lsh_show(shown, sizeof(shown), path, strlen(path));
	snprintf(file, sizeof(file), "%s '%s'", what, shown);
	fd = lsh_descriptor_lift(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (fd < 0)
		return file_fails(file, err);
	st = lsh_secret_new(out, LSH_SECRET_MAX + 1, err);
	if (st == LEASH_OK)
		st = read_file(fd, *out, file, err);
	close(fd);
	if (st != LEASH_OK) {
		sodium_free(*out);
		*out = NULL;
	}
	return st;
}

/* ---- from the environment ---- */

leash_status
lsh_secret_from_env(char **out, const char *name, const char *what, leash_error *err)
{
	/* secure_getenv(): else whoever starts a set-user-ID program could have any of its secrets sent anywhere */
	const char *value = secure_getenv(name);
	char shown[MAX_SHOWN];

	*out = NULL;
	if (value == NULL && getauxval(AT_SECURE) != 0)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: a set-user-ID program reads no password from the "
				"environment; use a file", what);
	lsh_show(shown, sizeof(shown), name, strlen(name));
	if (value == NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the environment has no variable '%s'", what, shown);
	if (value[0] == '\0')
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the variable '%s' is empty", what, shown);
	if (strlen(value) > LSH_SECRET_MAX)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: the variable '%s' is longer than %d bytes", what, shown,
				LSH_SECRET_MAX);
	return lsh_secret_copy(out, value, err);
}

/* ---- what becomes of it ---- */

bool
lsh_secret_is_in(const char *secret, const char *bytes, size_t n)
{
	return secret != NULL && secret[0] != '\0' && memmem(bytes, n, secret, strlen(secret)) != NULL;
}

void
lsh_secret_wipe(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	lsh_free(text);
}
