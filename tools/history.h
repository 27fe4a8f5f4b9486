/* Who was seen to have which lock since a program began to look: what differs from one sample to the next. Who came and
 * went between two samples was not seen. It keeps a number of changes of all locks, and forgets the oldest. */
#ifndef LEASH_TOOLS_HISTORY_H
#define LEASH_TOOLS_HISTORY_H

#include "tools/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct change {
	char name[LEASH_NAME_MAX + 8];
	int64_t at_ms;     /* by our clock: since when it was held; that it was free, when that was seen */
	leash_party holder; /* of several that whose lease ends last; no token: nobody */
};

struct history {
	struct change *changes;
	size_t count; /* so far, of which those at the end are kept */
	int64_t since_ms;
};

/* False: no memory. */
bool history_init(struct history *history);
void history_destroy(struct history *history);

/* What is different now? `before`: NULL: there was no sample. */
void history_note(struct history *history, const struct sample *before, const struct sample *now);

/* The change of that lock before this one, or the last one of all; NULL: there is none that is kept. */
const struct change *history_before(const struct history *history, const char *name, const struct change *change);

#endif
