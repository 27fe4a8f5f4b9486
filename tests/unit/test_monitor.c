/* The monitor: what is said later runs once, in order, when its mutex is free. */
#include "base/monitor.h"

#include "tests/support/test.h"

#include <pthread.h>
#include <sched.h>

enum { MANY = 8, THREADS = 4, ROUNDS = 20000 };

static struct lsh_monitor monitor;

struct word {
	struct lsh_later later;
	unsigned ran, at;  /* how often, and as which one of all */
	bool was_free;     /* the mutex was */
	struct word *next; /* that it says later, once */
};

static struct word words[MANY];
static unsigned spoken;

static void
speak(struct lsh_later *self)
{
	struct word *word = (struct word *)self;

	memset(self, 0xee, sizeof *self); /* what runs is not touched afterwards: it may be freed */
	word->ran++;
	word->at = spoken++;
	word->was_free = atomic_load(&monitor.state) == LSH_MONITOR_FREE;
	if (word->next != NULL) {
		lsh_monitor_enter(&monitor);
		lsh_monitor_later(&monitor, &word->next->later);
		lsh_monitor_leave(&monitor);
	}
}

static void
start(void)
{
	lsh_monitor_init(&monitor);
	spoken = 0;
	for (unsigned i = 0; i < MANY; i++)
		words[i] = (struct word){.later.run = speak};
}

FIXTURE(start, NULL);

SENTENCE(what_is_said_later_runs_once_in_order_when_the_mutex_is_free)
{
	for (unsigned count = 0; count <= MANY; count++) {
		start();
		lsh_monitor_enter(&monitor);
		for (unsigned i = 0; i < count; i++)
			lsh_monitor_later(&monitor, &words[i].later);
		assert_int_equal(spoken, 0); /* not yet */
		lsh_monitor_leave(&monitor);
		assert_int_equal(spoken, count);
		for (unsigned i = 0; i < count; i++)
			assert_true(words[i].ran == 1 && words[i].at == i && words[i].was_free);
		/* and is forgotten then */
		lsh_monitor_enter(&monitor);
		lsh_monitor_leave(&monitor);
		assert_int_equal(spoken, count);
	}
}

SENTENCE(what_runs_may_enter_and_say_more_which_runs_before_the_rest)
{
	words[0].next = &words[2];
	words[2].next = &words[3];
	lsh_monitor_enter(&monitor);
	lsh_monitor_later(&monitor, &words[0].later);
	lsh_monitor_later(&monitor, &words[1].later);
	lsh_monitor_leave(&monitor);
	assert_int_equal(spoken, 4);
	assert_true(words[0].at == 0 && words[2].at == 1 && words[3].at == 2 && words[1].at == 3);
}

struct speaker {
	struct lsh_later later;
	pthread_t thread, ran_on;
	unsigned ran, wrong;
	bool is_in;
};

static struct speaker speakers[THREADS];
static unsigned long entered; /* the monitor's mutex guards it */

static void
run_on(struct lsh_later *self)
{
	struct speaker *s = (struct speaker *)self;

	s->ran++;
	s->ran_on = pthread_self();
}

static void *
say_often(void *arg)
{
	struct speaker *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		lsh_monitor_enter(&monitor);
		s->is_in = true;
		entered++;
		lsh_monitor_later(&monitor, &s->later);
		lsh_monitor_leave(&monitor);
		s->wrong += s->ran != i + 1 || !pthread_equal(s->ran_on, pthread_self());
	}
	return NULL;
}

/* Who finds it taken sleeps until it is left. */
SENTENCE(each_thread_does_what_it_said_itself_before_it_goes_on)
{
	lsh_monitor_enter(&monitor);
	for (unsigned i = 0; i < THREADS; i++) {
		speakers[i] = (struct speaker){.later.run = run_on};
		assert_int_equal(pthread_create(&speakers[i].thread, NULL, say_often, &speakers[i]), 0);
	}
	while (atomic_load(&monitor.state) != LSH_MONITOR_AWAITED)
		sched_yield();
	for (unsigned i = 0; i < THREADS; i++)
		assert_false(speakers[i].is_in);
	lsh_monitor_leave(&monitor);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(speakers[i].thread, NULL);
		assert_int_equal(speakers[i].wrong, 0);
	}
	assert_int_equal(entered, THREADS * ROUNDS);
}
