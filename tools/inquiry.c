#include "tools/inquiry.h"

#include "tools/clock.h"
#include "tools/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

enum { EVERY_MS = 1000 };

/* ---- asking ---- */

static bool
note_waiter(void *arg, const leash_waiter_info *waiter)
{
	struct answer *answer = arg;

	answer->waiters[answer->waiting++] = *waiter;
	return answer->waiting < INQUIRY_WAITERS;
}

static leash_status
look(struct inquiry *q, struct answer *answer, leash_error *err)
{
	leash_lock *lock = NULL;
	leash_status st = subject_reach(&q->subject, err);

	answer->waiting = 0;
	if (st == LEASH_OK)
		st = leash_lock_new(&lock, q->subject.client, answer->name, CLI_LOOKING, err);
	if (st == LEASH_OK)
		st = look_at(&answer->look, lock, err);
	if (st == LEASH_OK && answer->look.info.waiting > 0)
		st = leash_lock_waiters(lock, note_waiter, answer, err);
	leash_lock_free(lock);
	answer->moment = moment_now(q->subject.client);
	return st;
}

/* mutex held at entry and return */
static void
ask(struct inquiry *q)
{
	struct answer *spare = q->shown == &q->answers[0] ? &q->answers[1] : &q->answers[0];

	strcpy(spare->name, q->name);
	spare->number = q->number;
	spare->failure.status = LEASH_OK;
	pthread_mutex_unlock(&q->mutex);
	look(q, spare, &spare->failure);
	pthread_mutex_lock(&q->mutex);
	q->shown = spare;
}

/* ---- breaking ---- */

static void
say_whom(char *out, size_t size, const struct look *look)
{
	char who[CLI_PARTY_SIZE];

	if (look->count == 1)
		snprintf(out, size, "%s", cli_party(who, &look->holds[0].who));
	else
		snprintf(out, size, "%zu who had it", look->count);
}

static void
take_away(struct inquiry *q, const struct look *agreed, char out[static INQUIRY_OUTCOME_SIZE])
{
	char shown[4 * LEASH_NAME_MAX + 1], who[CLI_PARTY_SIZE];
	struct look now;
	leash_error err;
	leash_lock *lock = NULL;
	leash_status st = subject_reach(&q->subject, &err);

	if (st == LEASH_OK)
		st = leash_lock_new(&lock, q->subject.client, agreed->info.name, CLI_LOOKING, &err);
	if (st == LEASH_OK)
		st = look_at(&now, lock, &err);
	leash_lock_free(lock);
	cli_show(shown, sizeof shown, agreed->info.name);
	if (st == LEASH_OK && now.info.held && !look_is_the_same(agreed, &now)) {
		snprintf(out, INQUIRY_OUTCOME_SIZE, "'%s' was left alone: meanwhile somebody else has got it", shown);
		return;
	}
	if (st == LEASH_OK)
		st = now.info.held ? look_break(&now, q->subject.client, &err) : LEASH_NOT_HELD;
	say_whom(who, sizeof who, agreed);
	if (st == LEASH_OK)
		snprintf(out, INQUIRY_OUTCOME_SIZE, "'%s' was taken from %s", shown, who);
	else if (st == LEASH_NOT_HELD)
		snprintf(out, INQUIRY_OUTCOME_SIZE, "nobody has '%s' any more", shown);
	else
		snprintf(out, INQUIRY_OUTCOME_SIZE, "'%s' was not broken: %s", shown, err.text);
}

/* mutex held at entry and return */
static void
break_it(struct inquiry *q)
{
	struct look agreed = q->agreed;
	char outcome[INQUIRY_OUTCOME_SIZE];

	q->to_break = false;
	pthread_mutex_unlock(&q->mutex);
	take_away(q, &agreed, outcome);
	pthread_mutex_lock(&q->mutex);
	strcpy(q->outcome, outcome);
}

/* ---- the thread ---- */

/* Mutex held. Wait until there is something to do. */
static void
wait_for_wish(struct inquiry *q, uint64_t done)
{
	int64_t due_ns = clock_steady_ns() + EVERY_MS * MS;
	struct timespec due = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000};

	while (!q->stop && !q->to_break && q->number == done)
		if (q->name[0] == '\0')
			pthread_cond_wait(&q->changed, &q->mutex);
		else if (pthread_cond_timedwait(&q->changed, &q->mutex, &due) != 0)
			return;
}

static void *
work(void *arg)
{
	struct inquiry *q = arg;
	uint64_t done = 0;

	pthread_mutex_lock(&q->mutex);
	while (!q->stop || q->to_break) { /* what was said yes to is done */
		if (q->to_break)
			break_it(q);
		done = q->number;
		if (q->name[0] != '\0' && !q->stop)
			ask(q);
		eventfd_write(q->bell, 1);
		wait_for_wish(q, done);
	}
	q->ended = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
	return NULL;
}

/* ---- from outside ---- */

struct inquiry *
inquiry_start(const struct subject *subject, int bell)
{
	struct inquiry *q = calloc(1, sizeof *q);

	if (q == NULL)
		return NULL;
	q->subject = *subject;
	q->subject.client = NULL;
	q->subject.probe = NULL;
	q->bell = bell;
	thread_init_monitor(&q->mutex, &q->changed);
	if (thread_start(&q->thread, work, q))
		return q;
	free(q);
	return NULL;
}

uint64_t
inquiry_ask(struct inquiry *q, const char *name)
{
	uint64_t number;

	pthread_mutex_lock(&q->mutex);
	strcpy(q->name, name);
	number = ++q->number;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
	return number;
}

void
inquiry_break(struct inquiry *q, const struct look *agreed)
{
	pthread_mutex_lock(&q->mutex);
	q->agreed = *agreed;
	q->to_break = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->mutex);
}

bool
inquiry_stop(struct inquiry *q)
{
	bool ended;

	pthread_mutex_lock(&q->mutex);
	q->stop = true;
	pthread_cond_broadcast(&q->changed);
	ended = thread_await(&q->mutex, &q->changed, &q->ended, THREAD_BLINK_MS);
	ended = ended && (q->shown == NULL || q->shown->failure.status == LEASH_OK);
	pthread_mutex_unlock(&q->mutex);
	if (!ended)
		return false;
	pthread_join(q->thread, NULL);
	subject_close(&q->subject);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->mutex);
	free(q);
	return true;
}
