/* See secret.h. */
#include "redis/secret.h"

#include "base/descriptor.h"
#include "base/error.h"
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

/* Guarded memory for `size` bytes and a NUL. */
static leash_status
make_secret(char **out, size_t size, leash_error *err)
{
	*out = NULL;
	if (!lsh_sodium_ready())
		return lsh_fail(err, LEASH_UNSUPPORTED, 0, "guarded memory: the system has no randomness, which it needs");
	*out = sodium_malloc(size + 1);
	return *out != NULL ? LEASH_OK : lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "no guarded memory is left");
}

leash_status
lsh_secret_copy(char **out, const char *secret, leash_error *err)
{
	leash_status st = make_secret(out, strlen(secret), err);

	if (st == LEASH_OK)
		strcpy(*out, secret);
	return st;
}

/* ---- from a file ---- */

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

/* Read the file. Only a regular one: another could keep us waiting for its writer. Returns what is wrong with it, NULL
 * if nothing is; "" and errno if it cannot be read. */
static const char *
read_file(int fd, char *secret)
{
	struct stat s;
	size_t size = 0;
	ssize_t n;

	if (fstat(fd, &s) != 0)
		return "";
	if (!S_ISREG(s.st_mode))
		return "not a regular file";
	while (size <= LSH_SECRET_MAX && (n = read(fd, secret + size, LSH_SECRET_MAX + 1 - size)) != 0) {
		if (n < 0 && errno != EINTR)
			return "";
		size += n > 0 ? (size_t)n : 0;
	}
	return take_line(secret, size);
}

leash_status
lsh_secret_from_file(char **out, const char *path, const char *what, leash_error *err)
{
	char shown[MAX_SHOWN], text[LSH_ERRNO_TEXT];
	const char *wrong = "";
	int e = 0, fd = lsh_descriptor_take(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	leash_status st = LEASH_OK;

	*out = NULL;
	if (fd >= 0 && (st = make_secret(out, LSH_SECRET_MAX + 1, err)) == LEASH_OK)
		wrong = read_file(fd, *out);
	if (st == LEASH_OK && wrong != NULL) {
		e = wrong[0] == '\0' ? errno : 0;
		lsh_show(shown, sizeof(shown), path, strlen(path));
		st = lsh_fail(err, lsh_errno_status(e, LEASH_INVALID), e, "%s '%s': %s", what, shown,
		              e != 0 ? lsh_errno_text(e, text) : wrong);
		sodium_free(*out);
		*out = NULL;
	}
	lsh_descriptor_close(fd);
	return st;
}

/* ---- from the environment ---- */

leash_status
lsh_secret_from_env(char **out, const char *name, const char *what, leash_error *err)
{
	/* secure_getenv(): else whoever starts a set-user-ID program could have any of its secrets sent anywhere */
	const char *value = secure_getenv(name), *wrong = NULL;
	char shown[MAX_SHOWN];

	*out = NULL;
	if (value == NULL)
		wrong = getauxval(AT_SECURE) == 0 ? "is not in the environment" :
		                                    "is not read by a set-user-ID program; use a file";
	else if (value[0] == '\0')
		wrong = "is empty";
	else if (strlen(value) > LSH_SECRET_MAX)
		wrong = "is longer than 4096 bytes";
	if (wrong == NULL)
		return lsh_secret_copy(out, value, err);
	lsh_show(shown, sizeof(shown), name, strlen(name));
	return lsh_fail(err, LEASH_INVALID, 0, "%s: the variable '%s' %s", what, shown, wrong);
}

bool
lsh_secret_is_in(const char *secret, const char *bytes, size_t n)
{
	return secret != NULL && secret[0] != '\0' && memmem(bytes, n, secret, strlen(secret)) != NULL;
}
