/* Seats at a cancel, for threads that wait. The cancel itself is in core/op.h, which looks at it. */
#ifndef LSH_CLIENT_CANCEL_H
#define LSH_CLIENT_CANCEL_H

#include "core/op.h"

#include <leash/cancel.h>

/* A seat for the thread of `parker`, to be left before the call ends. NULL: no memory. */
struct lsh_seat *lsh_cancel_sit(leash_cancel *cancel, struct lsh_parker *parker);
void lsh_cancel_rise(struct lsh_seat *seat); /* NULL is allowed */

#endif
