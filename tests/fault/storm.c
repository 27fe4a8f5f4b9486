#include "tests/fault/storm.h"

#include "tests/support/knob.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

int
dice(unsigned *seed, int below)
{
	return rand_r(seed) % below;
}

/* A server that was restarted does not count for a while, and the next one is not taken before it does. */
static void *
blow(void *arg)
{
	struct gust *gust = arg;
	struct storm *storm = gust->storm;

	while (!storm->over) {
		struct server *server = quorum_server(quorum, gust->from + dice(&gust->seed, gust->servers));

		if (dice(&gust->seed, 3) == 0) {
			server_pause(server);
			await_ms(dice(&gust->seed, 2 * STORM_LEASE_MS));
			server_resume(server);
			storm->frozen++;
		} else {
			server_kill(server);
			await_ms(dice(&gust->seed, 200));
			server_restart(server); /* empty */
			storm->killed++;
			await_ms(slow_ms(STORM_LEASE_MS) + GRAIN_MS);
		}
		await_ms(dice(&gust->seed, 100));
	}
	return NULL;
}

void
storm_begin(struct storm *storm)
{
	unsigned seed = (unsigned)knob("LEASH_TEST_SEED", 1);

	*storm = (struct storm){0};
	storm->gusts[0] = (struct gust){.storm = storm, .from = 0, .servers = 2, .seed = seed};
	storm->gusts[1] = (struct gust){.storm = storm, .from = 2, .servers = 3, .seed = seed + 1};
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&storm->gusts[i].thread, NULL, blow, &storm->gusts[i]), 0);
}

void
storm_end(struct storm *storm)
{
	storm->over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(storm->gusts[i].thread, NULL);
	printf("# %u killed and restarted, %u frozen\n", storm->killed, storm->frozen);
}
