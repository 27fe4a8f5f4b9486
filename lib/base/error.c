#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

leash_status
lsh_fail(leash_error *err, leash_status status, int sys_errno, const char *format, ...)
{
	int e = errno;
	char line[sizeof(err->text) + 1]; /* one byte more than fits, so that the cut is seen and marked */
	va_list args;
	int n;

	if (err == NULL)
		return status;

	/* first aside: an argument may be the text that is about to be overwritten */
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n < 0) {
		/* an argument that printf cannot take is no reason to say nothing */
		const char *text = leash_status_text(status);

		n = (int)strnlen(text, sizeof(line) - 1);
		memcpy(line, text, (size_t)n);
	}

	/* the words of a server end with a full stop at times */
	n = (size_t)n < sizeof(line) ? n : (int)sizeof(line) - 1;
	if (n >= 2 && line[n - 1] == '.' && line[n - 2] != '.')
		n--;
	err->status = status;
	err->sys_errno = sys_errno;
	lsh_show_text(err->text, sizeof(err->text), line, (size_t)n);
	errno = e;
	return status;
}

leash_status
lsh_fail_about(leash_error *err, leash_status status, const char *kind, const char *name)
{
	if (status == LEASH_OK || err == NULL)
		return status;
	if (name == NULL)
		return lsh_fail(err, status, err->sys_errno, "%s: %s", kind, err->text);
	return lsh_fail(err, status, err->sys_errno, "%s '%s': %s", kind, name, err->text);
}

bool
lsh_is_shortage(int e)
{
	return e == ENOMEM || e == ENOBUFS || e == EMFILE || e == ENFILE;
}

leash_status
lsh_errno_status(int e, leash_status otherwise)
{
	return lsh_is_shortage(e) ? LEASH_NO_MEMORY : otherwise;
}

const char *
lsh_errno_text(int e, char text[static LSH_ERRNO_TEXT])
{
	return lsh_is_shortage(e) ? lsh_shortage_text(e, text) : strerror_r(e, text, LSH_ERRNO_TEXT); /* the one of GNU */
}

const char *
lsh_shortage_text(int e, char text[static LSH_ERRNO_TEXT])
{
	struct rlimit limit = {0};

	switch (e) {
	case EMFILE:
		getrlimit(RLIMIT_NOFILE, &limit);
		snprintf(text, LSH_ERRNO_TEXT,
		         "out of descriptors: this process may have %llu open: raise RLIMIT_NOFILE (ulimit -n)",
		         (unsigned long long)limit.rlim_cur);
		return text;
	case ENFILE:
		return "out of descriptors: all that the system has are open (fs.file-max)";
	case EAGAIN:
		return "out of threads: raise RLIMIT_NPROC (ulimit -u), pids.max of the cgroup, or kernel.threads-max";
	case ENOBUFS:
		return "out of memory for sockets";
	default:
		return "out of memory";
	}
}

leash_status
lsh_fail_short(leash_error *err, int e, const char *what)
{
	char text[LSH_ERRNO_TEXT];

	return lsh_fail(err, LEASH_NO_MEMORY, e, "%.100s: %s", what, lsh_shortage_text(e, text));
}
