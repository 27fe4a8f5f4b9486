/* leash run as its users know it: a text that is played. */
#include "tests/support/test.h"
#include "tests/tools/play.h"

PLAY("run");
