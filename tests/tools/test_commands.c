/* The commands as their users know them: each has a text, which is played. */
#include "tests/support/test.h"
#include "tests/tools/play.h"

static int
read_texts(int argc, char **argv)
{
	static const char *const names[] = {"hold", "wait", "break", "status", "list", "run", "cli", "acknowledged", "signals", "doctor", "top", "../doctor/server"};
	char path[4096];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof path, "%s/tests/tools/%s.txt", SOURCE_FOLDER, names[i]);
		play_add(path);
	}
	return GO_ON;
}

PRELUDE(read_texts);
GROUP(play_begin, play_end);
