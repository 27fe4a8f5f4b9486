/* The live screen of leash top. */
#ifndef LEASH_TOOLS_SCREEN_H
#define LEASH_TOOLS_SCREEN_H

#include "tools/sample.h"

#include <stdint.h>

/* Show it until the user quits, or `rounds` samples were taken (0: for ever); each keeps so many rows. Returns the
 * status to exit with; the terminal is as it was before. A signal that ends us is raised again when that is so. */
int screen_run(struct subject *subject, int64_t every_ms, uint64_t rounds, struct order order, size_t rows);

#endif
