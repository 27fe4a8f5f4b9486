/* What a test does how often, or for how long, is for its user to change, by variables of the environment: LEASH_TEST_... */
#pragma once

#include <stdlib.h>

/* The number that the variable says, if it is one above 0. */
static inline long
knob(const char *variable, long otherwise)
{
	const char *text = getenv(variable);
	long n = text != NULL ? strtol(text, NULL, 10) : 0;

	return n > 0 ? n : otherwise;
}
