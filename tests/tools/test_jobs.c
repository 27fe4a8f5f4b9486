/* leash run and leash bench as their users know them: texts that are played. The machine's doctor waits for nobody here. */
#include "tests/support/test.h"
#include "tests/tools/play.h"

PLAY("run", "signals", "terminal", "bench", "doctor", "../doctor/server");
