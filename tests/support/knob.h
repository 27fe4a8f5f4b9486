/* What a test does how often, or for how long, is for its user to change, by variables of the environment: LEASH_TEST_... */
#ifndef LEASH_TEST_KNOB_H
#define LEASH_TEST_KNOB_H

/* The number that the variable says, if it is one above 0. */
long knob(const char *variable, long otherwise);

#endif
