/* Who we are: users, and passwords from the text of the URI, from a file or from the environment.
 *
 * A password goes from where it is straight into guarded memory, without a copy on the way, and no message shows a byte of
 * it: only the file or the variable where it was to be is named. Of a file the URI has the path alone: it is read for each
 * connection, because passwords are renewed while programs run.
 *
 * Threads: any; nothing is kept. */
#include "redis/uri_part.h"

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

enum {
	MAX_SECRET = 4096,   /* a user, a password */
	MAX_PATH_SHOWN = 96, /* of a path in a message */
};

/* Guarded memory for a password of `size` bytes. */
static leash_status
new_secret(char **out, size_t size, leash_error *err)
{
	if (!lsh_sodium_ready())
		return lsh_fail(err, LEASH_UNSUPPORTED, 0,
				"uri: password: the system has no randomness, which the memory that guards it needs");
	*out = sodium_malloc(size + 1);
	if (*out == NULL)
		return lsh_uri_no_memory(err);
	return LEASH_OK;
}

bool
lsh_uri_secret_copy(char **out, const char *secret)
{
	size_t size;

	*out = NULL;
	if (secret == NULL)
		return true;
	size = strlen(secret) + 1;
	*out = sodium_malloc(size);
	if (*out != NULL)
		memcpy(*out, secret, size);
	return *out != NULL;
}

static leash_status
too_long(const char *what, leash_error *err)
{
	return LSH_URI_REFUSE(err, "%s: longer than %d bytes", what, MAX_SECRET);
}

/* ---- from the text ---- */

leash_status
lsh_uri_user_new(char **out, struct lsh_part user, const char *what, leash_error *err)
{
	leash_status st = lsh_part_decode_new(out, user, what, err);

	if (st == LEASH_OK && strlen(*out) > MAX_SECRET)
		return too_long(what, err);
	return st;
}

static leash_status
take_password(struct lsh_uri *uri, struct lsh_part password, leash_error *err)
{
	leash_status st;
	size_t size;

	if (!lsh_part_decoded_size(password, &size))
		return lsh_part_bad_escape("password", err);
	if (size == 0)
		return LSH_URI_REFUSE(err, "password: empty, there is nothing between ':' and '@'");
	if (size > MAX_SECRET)
		return too_long("password", err);
	st = new_secret(&uri->password, size, err);
	if (st == LEASH_OK)
		lsh_part_decode(uri->password, password);
	return st;
}

leash_status
lsh_uri_take_login(struct lsh_uri *uri, struct lsh_part login, leash_error *err)
{
	struct lsh_part user = login, password;
	leash_status st = LEASH_OK;

	if (login.at == NULL)
		return LEASH_OK;
	if (login.n == 0)
		return LSH_URI_REFUSE(err, "user: nothing stands before the '@'; leave it out if there is no user");
	password = lsh_part_cut(&user, ':');
	if (user.n > 0) /* else it is that of the default user, as in redis://:password@host */
		st = lsh_uri_user_new(&uri->user, user, "user", err);
	if (st != LEASH_OK || password.at == NULL)
		return st;
	return take_password(uri, password, err);
}

/* ---- from a file ---- */

static leash_status
file_fails(const char *what, leash_error *err)
{
	char text[LSH_ERRNO_TEXT];
	int e = errno;

	return lsh_fail(err, lsh_errno_status(e, LEASH_INVALID), e, "%s: %s", what, lsh_errno_text(e, text));
}

/* Open a file that a password is to be read from. Only a regular one, of which no writer is awaited: whoever opens a client
 * has said how long that may take. */
static leash_status
open_regular(int *out, const char *path, const char *what, leash_error *err)
{
	int fd = lsh_descriptor_lift(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	struct stat s = {.st_mode = 0};
	leash_status st;

	if (fd < 0)
		return file_fails(what, err);
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
		*out = fd;
		return LEASH_OK;
	}
	st = s.st_mode == 0 ? file_fails(what, err) : lsh_fail(err, LEASH_INVALID, 0, "%s: not a regular file", what);
	close(fd);
	return st;
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

/* The `n` bytes of a file are one line, with or without its LF: which is cut off. */
static leash_status
take_line(char *secret, size_t n, const char *what, leash_error *err)
{
	if (n > MAX_SECRET)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: longer than %d bytes", what, MAX_SECRET);
	if (memchr(secret, '\0', n) != NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: has a NUL byte in it", what);
	if (n > 0 && secret[n - 1] == '\n')
		n--;
	if (n == 0)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: empty", what);
	if (memchr(secret, '\n', n) != NULL)
		return lsh_fail(err, LEASH_INVALID, 0, "%s: has more than one line; the password must be its only one", what);
	if (secret[n - 1] == '\r')
		return lsh_fail(err, LEASH_INVALID, 0, "%s: ends in CR LF, as on Windows; end its line in LF alone", what);
	secret[n] = '\0';
	return LEASH_OK;
}

/* Read a password from the file at `path`; `parameter` is what messages call it. */
static leash_status
read_secret(char **out, const char *path, const char *parameter, leash_error *err)
{
	char shown[MAX_PATH_SHOWN], what[MAX_PATH_SHOWN + 64];
	leash_status st;
	ssize_t n;
	int fd = -1;

	lsh_show(shown, sizeof(shown), path, strlen(path));
	snprintf(what, sizeof(what), "%s '%s'", parameter, shown);
	st = open_regular(&fd, path, what, err);
	if (st != LEASH_OK)
		return st;
	st = new_secret(out, MAX_SECRET + 1, err);
	if (st == LEASH_OK) {
		n = read_all(fd, *out, MAX_SECRET + 1);
		st = n < 0 ? file_fails(what, err) : take_line(*out, (size_t)n, what, err);
	}
	close(fd);
	if (st != LEASH_OK) {
		sodium_free(*out);
		*out = NULL;
	}
	return st;
}

/* It is read for the first time, to be refused now rather than later. */
leash_status
lsh_uri_take_secret_file(char **out, struct lsh_part value, const char *parameter, leash_error *err)
{
	char what[64], *secret = NULL;
	leash_status st;

	if (value.n == 0)
		return LSH_URI_REFUSE(err, "%s: empty; it is a path, as in ?%s=/etc/redis.password", parameter, parameter);
	st = lsh_part_decode_new(out, value, parameter, err);
	if (st != LEASH_OK)
		return st;
	snprintf(what, sizeof(what), "uri: %s", parameter);
	st = read_secret(&secret, *out, what, err);
	sodium_free(secret);
	return st;
}

leash_status
lsh_uri_read_password(char **out, const struct lsh_uri *uri, leash_error *err)
{
	*out = NULL;
	return uri->password_file != NULL ? read_secret(out, uri->password_file, "password file", err) : LEASH_OK;
}

bool
lsh_uri_has_password(const struct lsh_uri *uri)
{
	return uri->password != NULL || uri->password_file != NULL;
}

bool
lsh_is_repeated(const char *password, const char *bytes, size_t n)
{
	return password != NULL && password[0] != '\0' && memmem(bytes, n, password, strlen(password)) != NULL;
}

bool
lsh_uri_is_repeated(const struct lsh_uri *uri, const char *bytes, size_t n)
{
	char *read;
	bool unknown = lsh_uri_read_password(&read, uri, NULL) != LEASH_OK;
	bool repeated = unknown || lsh_is_repeated(read != NULL ? read : uri->password, bytes, n);

	sodium_free(read);
	return repeated;
}

/* ---- from the environment ---- */

/* What a shell takes for the name of a variable. Others exist, but a password that was put there by mistake is seldom
 * one. */
static bool
is_variable(const char *name)
{
	for (size_t i = 0; name[i] != '\0'; i++) {
		if (!lsh_part_is_letter(name[i]) && name[i] != '_' && (i == 0 || !lsh_part_is_digit(name[i])))
			return false;
	}
	return name[0] != '\0';
}

static leash_status
copy_variable(char **out, const char *name, const char *parameter, leash_error *err)
{
	char shown[MAX_PATH_SHOWN];
	const char *value;
	leash_status st;
	size_t n;

	if (!is_variable(name))
		return LSH_URI_REFUSE(err, "%s: the name of a variable of the environment is expected, as in ?%s=REDIS_PASSWORD",
				      parameter, parameter);
	lsh_show(shown, sizeof(shown), name, strlen(name));
	value = secure_getenv(name); /* else whoever starts a set-user-ID program could have any secret of it sent anywhere */
	if (value == NULL && getauxval(AT_SECURE) != 0)
		return LSH_URI_REFUSE(err, "%s: a set-user-ID program reads no password from the environment; use a file", parameter);
	if (value == NULL)
		return LSH_URI_REFUSE(err, "%s: the environment has no variable '%s'", parameter, shown);
	n = strlen(value);
	if (n == 0)
		return LSH_URI_REFUSE(err, "%s: the variable '%s' is empty", parameter, shown);
	if (n > MAX_SECRET)
		return LSH_URI_REFUSE(err, "%s: the variable '%s' is longer than %d bytes", parameter, shown, MAX_SECRET);
	st = new_secret(out, n, err);
	if (st == LEASH_OK)
		memcpy(*out, value, n + 1);
	return st;
}

leash_status
lsh_uri_secret_from_env(char **out, struct lsh_part value, const char *parameter, leash_error *err)
{
	char *name = NULL;
	leash_status st = lsh_part_decode_new(&name, value, parameter, err);

	if (st == LEASH_OK)
		st = copy_variable(out, name, parameter, err);
	lsh_uri_wipe(name);
	return st;
}
