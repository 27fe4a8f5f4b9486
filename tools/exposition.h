/* The locks of a sample in the exposition format of Prometheus (0.0.4), with the names and units that OpenMetrics asks
 * for. For leash top --prometheus and leash exporter. */
#ifndef LEASH_TOOLS_EXPOSITION_H
#define LEASH_TOOLS_EXPOSITION_H

#include "tools/sample.h"

#include <stdint.h>
#include <stdio.h>

struct exposition {
	const struct subject *subject;
	const struct sample *sample; /* NULL: the server does not answer */
	uint64_t samples, failed;    /* so far, and how many of them failed; 0, 0: it is the only one */
};

/* Errors are for ferror(). */
void exposition_write(FILE *to, const struct exposition *what);

#endif
