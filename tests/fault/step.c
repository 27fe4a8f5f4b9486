#include "tests/fault/step.h"

#include "tests/support/fake.h"

#include <string.h>
#include <time.h>

enum step
step_of(int argc, const char **argv, const size_t *argl)
{
	if (!fake_is(argc, argv, argl, 0, "EVALSHA") && !fake_is(argc, argv, argl, 0, "EVAL"))
		return NONE;
	if (fake_is(argc, argv, argl, 2, "1") || fake_is(argc, argv, argl, 2, "0")) /* one, or many */
		return RENEW;
	if (argc == 8)
		return RELEASE;
	return memchr(argv[6], ':', argl[6]) != NULL ? ASK : WORD; /* a token, or the uuid alone */
}

int64_t
step_time_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
