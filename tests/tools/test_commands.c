/* The commands as their users know them: each has a text, which is played. */
#include "tests/support/test.h"
#include "tests/tools/play.h"

PLAY("config", "hold", "keep", "wait", "break", "status", "list", "kinds", "cli", "acknowledged", "scripts", "top",
     "screen", "circles");
