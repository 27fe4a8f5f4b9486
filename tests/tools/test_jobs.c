/* More commands as their users know them, beside those of test_commands. */
#include "tests/support/test.h"
#include "tests/tools/play.h"

PLAY("run", "permits", "shared", "several", "leader", "service", "log", "gates", "signals", "terminal", "end", "bench", "passwords",
     "doctor", "../fault/servers");
