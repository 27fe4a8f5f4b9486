/* Servers of scenes, each with a name, that say what the scene says: of a command the newest rule that fits, and else
 * what a Redis that is empty would say (fake.h). Words for scenes:
 *
 *     fake NAME [tcp]          it runs
 *     on NAME COMMAND BYTES    a command that begins so is answered that; or with silent, close, waits (for off);
 *                              {WORD} in BYTES is a bulk string, and @ the command's second word as one
 *     once NAME COMMAND BYTES  the next one
 *     off NAME COMMAND         as if that had not been said
 *     stop NAME                it is gone
 *     hang_up NAME             its connections are reset
 *     send NAME BYTES          unasked, to those who have not subscribed
 *     publish NAME CHANNEL TEXT
 *     heard NAME [WORDS]       how many commands that begin so, since forget NAME
 *     accepted NAME            connections, since its start
 *     inside NAME              how many connections there are
 *     port NAME
 *
 * And of what is told over the courier of log_start():
 *
 *     log                      all of it, since forget_log
 *     logged TEXT              how many times */
#pragma once

#include "base/courier.h"
#include "tests/redis/scenes.h"
#include "tests/support/fake.h"

struct fake *fakes_start(const char *name, bool tcp);
void fakes_stop(void); /* all that run */
struct fake *fake_of(const char *name);
int port_of(const char *name);

void on_bytes(const char *name, const char *command, const char *bytes, size_t size); /* and close: | FAKE_CLOSE */
void off(const char *name, const char *command);

extern struct lsh_courier *courier; /* to the log */
void log_start(void);
void log_stop(void);
