/* See uris.h. */
#include "tests/unit/uris.h"

#include "tests/support/sweep.h"

#include <leash/memory.h>

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

enum { HEAD = 16 };

size_t blocks, until_failure;
bool secret_freed;

static void *
watched_alloc(size_t size)
{
	char *p;

	if (until_failure != 0 && --until_failure == 0)
		return NULL;
	p = malloc(HEAD + size);
	if (p == NULL)
		return NULL;
	memcpy(p, &size, sizeof(size));
	blocks++;
	return p + HEAD;
}

static void *
no_realloc(void *old, size_t size)
{
	(void)old;
	(void)size;
	abort();
}

static void
watched_free(void *old)
{
	char *p = (char *)old - HEAD;
	size_t size;

	memcpy(&size, p, sizeof(size));
	if (memmem(old, size, SECRET, strlen(SECRET)) != NULL)
		secret_freed = true;
	blocks--;
	free(p);
}

/* ---- texts, and files ---- */

char *folder;

const char *
in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

void
write_file(const char *name, const char *bytes, size_t n)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

struct lsh_uri
understood(const char *text)
{
	struct lsh_uri uri;
	leash_error err, before;

	memset(&err, 0xee, sizeof(err));
	before = err;
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s: %s", text, err.text);
	assert_memory_equal(&err, &before, sizeof(err));
	return uri;
}

void
check_password(const struct lsh_uri *uri, const char *wanted)
{
	char *read;
	leash_error err;

	if (lsh_uri_read_password(&read, uri, &err) != LEASH_OK)
		fail_msg("%s: %s", uri->shown, err.text);
	assert_text(read != NULL ? read : uri->password, wanted);
	sodium_free(read);
}

void
refused_as(leash_status status, const char *text, const char *words)
{
	static const struct lsh_uri nothing;
	struct lsh_uri uri;
	leash_error err;

	memset(&uri, 0xee, sizeof(uri));
	memset(&err, 0, sizeof(err));
	if (lsh_uri_parse(&uri, text, &err) == LEASH_OK)
		fail_msg("%s: understood", text);
	if (err.status != status)
		fail_msg("%s: %s: %s", text, leash_status_name(err.status), err.text);
	assert_int_equal(blocks, 0);
	assert_memory_equal(&uri, &nothing, sizeof(uri));
	assert_false(secret_freed);

	assert_null(memmem(&err, sizeof(err), SECRET, strlen(SECRET)));
	assert_memory_equal(err.text, "uri: ", 5);
	assert_true(strlen(err.text) > 20);
	assert_int_not_equal(err.text[strlen(err.text) - 1], '.'); /* neither a full stop nor cut off */
	while (*words != '\0') {
		size_t n = strcspn(words, "|");

		if (memmem(err.text, strlen(err.text), words, n) == NULL)
			fail_msg("%s: '%.*s' is not in: %s", text, (int)n, words, err.text);
		words += n + 1;
	}

	/* without a place for the text it is refused all the same */
	assert_int_equal(lsh_uri_parse(&uri, text, NULL), status);
}

void
refused(const char *text, const char *words)
{
	refused_as(LEASH_INVALID, text, words);
}

/* ---- */

int
uri_start(void **state)
{
	(void)state;
	blocks = until_failure = 0;
	secret_freed = false;
	return 0;
}

int
uri_end(void **state)
{
	(void)state;
	unsetenv("LEASH_TEST_PASSWORD");
	return blocks == 0 && !secret_freed ? 0 : 1;
}

int
uris_run(const char *name, const struct CMUnitTest *tests, size_t count)
{
	static const leash_memory memory = {watched_alloc, no_realloc, watched_free};
	int failed;

	if (leash_set_memory(&memory) != LEASH_OK)
		return 1;
	folder = sweep_folder();
	failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
	sweep_remove(folder);
	return failed;
}
