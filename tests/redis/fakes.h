/* Servers of scenes, each with a name, that say what the scene says: of a command the newest rule that fits, and else
 * what a Redis that is empty would say (fake.h). Words for scenes:
 *
 *     fake NAME [tcp]          it runs; stop NAME: it is gone; hang_up NAME: its connections are reset; port NAME
 *     on NAME COMMAND BYTES    a command that begins so is answered that; or with silent, close, waits (for off);
 *                              {WORD} in BYTES is a bulk string, and @ the command's second word as one
 *     once NAME COMMAND BYTES  the next one; off NAME COMMAND: as if that had not been said
 *     send NAME BYTES          unasked, to those who have not subscribed; publish NAME CHANNEL TEXT
 *     heard NAME [WORDS]       how many commands that begin so, since forget NAME
 *     accepted NAME            connections, since its start; inside NAME: how many there are
 *     log                      all that the courier of log_start() brought, since forget_log; logged TEXT: how often */
#pragma once

#include "base/courier.h"
#include "redis/uri.h"
#include "tests/redis/scenes.h"
#include "tests/support/fake.h"

struct fake *fakes_start(const char *name, bool tcp);
void fakes_stop(void); /* all that run, and the log */
struct fake *fake_of(const char *name);
int port_of(const char *name);
/* Read one that names so many of them, which have the names n0, n1, ... where `name` is "n0". */
void read_uri(struct lsh_uri *uri, const char *scheme, int count, const char *name, const char *rest);

/* of 0 bytes it is a text of a scene; and close: | FAKE_CLOSE */
void on_bytes(const char *name, const char *command, const char *bytes, size_t size, bool once);
void off(const char *name, const char *command);

extern struct lsh_courier *courier; /* to the log */
void log_start(void);
