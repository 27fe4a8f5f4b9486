/* The scribe: takes one history, line by line, into the account. */
#ifndef LEASH_TEST_SCRIBE_H
#define LEASH_TEST_SCRIBE_H

#include "tests/judge/account.h"

/* All lines of a file whose reader is at its beginning. */
void scribe_read(struct account *account, uint32_t file);

#endif
