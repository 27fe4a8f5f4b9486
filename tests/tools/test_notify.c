/* The watchdog of a service manager gets its signs of life only while the main thread comes back in time. */
#include "tools/notify.h"

#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PULSE_MS = 50 };

static int manager;
static struct notify *notify;

static void
begin(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(sa_family_t); /* the kernel chooses an abstract name */
	char text[sizeof address.sun_path + 1];

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (bind(manager, (const struct sockaddr *)&address, size) != 0)
		trouble("no socket");
	size = sizeof address;
	getsockname(manager, (struct sockaddr *)&address, &size);
	snprintf(text, sizeof text, "@%.*s", (int)(size - offsetof(struct sockaddr_un, sun_path) - 1),
	         address.sun_path + 1);
	setenv("NOTIFY_SOCKET", text, true);
	snprintf(text, sizeof text, "%d", 2 * PULSE_MS * 1000);
	setenv("WATCHDOG_USEC", text, true);
	notify = notify_begin();
	assert_non_null(notify);
}

static void
end(void)
{
	notify_end(notify);
	close(manager);
}

FIXTURE(begin, end);

/* How many signs of life are there to be read? */
static int
pulses(void)
{
	char text[2000];
	int count = 0;
	ssize_t n;

	while ((n = recv(manager, text, sizeof text - 1, 0)) >= 0) {
		text[n] = '\0';
		count += strcmp(text, "WATCHDOG=1\n") == 0;
	}
	return count;
}

SENTENCE(there_are_signs_of_life_until_the_main_thread_does_not_come_back)
{
	await_true(pulses() > 0);
	notify_beat(notify);
	await_ms(10 * PULSE_MS); /* it was to come back after one */
	pulses();
	await_ms(10 * PULSE_MS);
	assert_int_equal(pulses(), 0);
	notify_rest(notify);
	await_true(pulses() > 0);
}

SENTENCE(who_comes_back_in_time_is_alive)
{
	for (int i = 0; i < 10; i++) {
		pulses();
		await_true(notify_beat(notify) != INT64_MAX && pulses() > 0);
	}
}
