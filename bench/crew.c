/* See crew.h. */
#include "bench/crew.h"

#include "bench/program.h"
#include "tests/support/child.h"

#include <pthread.h>

enum { THREADS = 16 };

struct hand {
	struct crew_member member;
	void (*work)(struct crew_member *me);
	pthread_t thread;
};

void
must(leash_status status, const leash_error *err)
{
	if (status != LEASH_OK)
		die("leash: %s", err->text);
}

static void *
work(void *arg)
{
	struct hand *me = arg;

	me->work(&me->member);
	return NULL;
}

static int
run(void *arg)
{
	const struct crew_order *order = arg;
	struct hand hands[THREADS];
	leash_client *client;
	leash_error err;

	must(leash_open(&client, LEASH_OPTIONS(.uri = order->uri, .lease_ms = order->lease_ms), &err), &err);
	for (unsigned i = 0; i < order->threads; i++) {
		hands[i] = (struct hand){ { client, order->process, i, order->shared }, order->work, 0 };
		if (pthread_create(&hands[i].thread, NULL, work, &hands[i]) != 0)
			die("cannot start %u threads", order->threads);
	}
	for (unsigned i = 0; i < order->threads; i++)
		pthread_join(hands[i].thread, NULL);
	leash_close(client);
	return 0;
}

pid_t
crew_send(struct crew_order order)
{
	if (order.threads > THREADS)
		die("more than %d threads", THREADS);
	return child_run(run, &order); /* the child's stack is a copy of this one */
}

void
crew_send_all(pid_t *pids, unsigned count, struct crew_order order)
{
	for (order.process = 0; order.process < count; order.process++)
		pids[order.process] = crew_send(order);
}

void
crew_wait(const pid_t *pids, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		child_wait(pids[i]);
}

void
crew_kill(const pid_t *pids, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		child_kill(pids[i]);
}
