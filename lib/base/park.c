#include "base/park.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { IDLE = 0, PERMIT = 1, ASLEEP = 2, POLLING = 3, STATE = 3 /* the descriptor is in the bits above */ };

void
lsh_park(struct lsh_parker *parker, int64_t deadline)
{
	uint32_t idle = IDLE;

	if (!atomic_compare_exchange_strong(&parker->word, &idle, ASLEEP)) {
		atomic_store(&parker->word, IDLE);
		return;
	}
	while (atomic_load(&parker->word) == ASLEEP) {
		struct timespec t, *limit = NULL;

		/* relative, because a futex knows no CLOCK_BOOTTIME; after a suspension the caller rechecks its deadline */
		if (deadline != LSH_NEVER) {
			int64_t left = deadline - lsh_now_ns();

			if (left <= 0)
				break;
			t.tv_sec = left / LSH_S;
			t.tv_nsec = left % LSH_S;
			limit = &t;
		}
		syscall(SYS_futex, &parker->word, FUTEX_WAIT_PRIVATE, ASLEEP, limit, NULL, 0);
	}
	atomic_store(&parker->word, IDLE); /* a permit that came just now is not lost: every caller rechecks its condition */
}

bool
lsh_park_poll_begin(struct lsh_parker *parker, int fd)
{
	uint32_t idle = IDLE;

	if (atomic_compare_exchange_strong(&parker->word, &idle, (uint32_t)fd << 2 | POLLING))
		return true;
	atomic_store(&parker->word, IDLE);
	return false;
}

void
lsh_park_poll_end(struct lsh_parker *parker)
{
	atomic_store(&parker->word, IDLE);
}

void
lsh_unpark(struct lsh_parker *parker)
{
	uint32_t was = atomic_exchange(&parker->word, PERMIT);

	if ((was & STATE) == ASLEEP) {
		syscall(SYS_futex, &parker->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	} else if ((was & STATE) == POLLING) {
		uint64_t one = 1;
		ssize_t n = write((int)(was >> 2), &one, sizeof one);

		(void)n; /* a full counter is as good as a wake-up */
	}
}
