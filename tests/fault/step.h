/* Which step of a lock's life a command is that leash sent to a fake; for the answers of fakes. */
#ifndef LEASH_TEST_STEP_H
#define LEASH_TEST_STEP_H

#include <stddef.h>
#include <stdint.h>

/* NONE: it runs none of our scripts. RELEASE is a cancel, too; WORD is what a waiting client says. */
enum step { ASK, RELEASE, RENEW, WORD, STEPS, NONE = STEPS };

enum step step_of(int argc, const char **argv, const size_t *argl);

/* The time by a server's clock, in us: what a fence is made of. */
int64_t step_time_us(void);

#endif
