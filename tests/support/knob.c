/* See knob.h. */
#include "tests/support/knob.h"

#include <stdlib.h>

long
knob(const char *variable, long otherwise)
{
	const char *text = getenv(variable);
	long n = text != NULL ? strtol(text, NULL, 10) : 0;

	return n > 0 ? n : otherwise;
}
