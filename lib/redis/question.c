#include "redis/question.h"

#include "base/error.h"
#include "base/thread.h"
#include "redis/talk.h"

#include <errno.h>
#include <sys/socket.h>

/* From now on _drop breaks this connection; -1: no more. False: it has come already. */
static bool
expose(struct lsh_question *q, int fd)
{
	bool wanted;

	pthread_mutex_lock(&q->mutex);
	wanted = !q->dropped;
	q->fd = wanted ? fd : -1;
	pthread_mutex_unlock(&q->mutex);
	return wanted;
}

static leash_status
say(struct lsh_question *q, struct lsh_talk *talk, const char *subcommand)
{
	struct lsh_arg args[] = {LSH_ARG("CLUSTER"), lsh_arg_text(subcommand)};

	return lsh_talk_say(talk, args, 2, &q->err);
}

static leash_status
hear(struct lsh_question *q, struct lsh_talk *talk, struct redisReply **out)
{
	const struct redisReply *answer;
	leash_status status = lsh_talk_hear(talk, &answer, &q->err);

	if (status == LEASH_OK)
		*out = lsh_talk_take(talk);
	return status;
}

static leash_status
converse(struct lsh_question *q, struct lsh_talk *talk)
{
	leash_status status;

	lsh_talk_allow_maps(talk);
	status = say(q, talk, "SLOTS");
	if (status == LEASH_OK)
		status = say(q, talk, "INFO");
	if (status == LEASH_OK)
		status = hear(q, talk, &q->slots);
	return status == LEASH_OK ? hear(q, talk, &q->info) : status;
}

static void *
ask(void *arg)
{
	struct lsh_question *q = arg;
	struct lsh_talk *talk;
	struct lsh_hello hello = {.wire = LSH_NO_WIRE};

	lsh_thread_begin("leash-question");
	q->status = lsh_talk_open(&q->talk, &q->uri, q->name, q->patience, &hello, &q->err);
	talk = q->talk;
	if (q->status == LEASH_OK) {
		q->status = expose(q, hello.wire.fd) ? converse(q, talk) : LEASH_CLOSED;
		expose(q, -1);
	}
	q->talk = NULL;
	lsh_talk_close(talk);
	atomic_store(&q->answered, true);
	lsh_unpark(q->parker);
	return NULL;
}

bool
lsh_question_ask(struct lsh_question *q, const struct lsh_uri *cluster, const char *host, uint16_t port, leash_error *err)
{
	int e;

	if (!lsh_uri_of_server(&q->uri, cluster, host, port)) {
		lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "out of memory for a question");
		return false;
	}
	q->err = (leash_error){0};
	q->dropped = false;
	q->fd = -1;
	q->talk = NULL;
	atomic_store(&q->answered, false);
	pthread_mutex_init(&q->mutex, NULL);
	e = lsh_thread_start(&q->thread, ask, q);
	if (e != 0) {
		lsh_fail_short(err, e, "cannot make a thread for a question");
		pthread_mutex_destroy(&q->mutex);
		lsh_uri_clear(&q->uri);
		return false;
	}
	q->asked = true;
	return true;
}

void
lsh_question_drop(struct lsh_question *q)
{
	if (!q->asked)
		return;
	pthread_mutex_lock(&q->mutex);
	q->dropped = true;
	if (q->fd >= 0)
		shutdown(q->fd, SHUT_RDWR);
	pthread_mutex_unlock(&q->mutex);
}

void
lsh_question_take(struct lsh_question *q)
{
	pthread_join(q->thread, NULL);
	pthread_mutex_destroy(&q->mutex);
	q->asked = false;
}

void
lsh_question_forget(struct lsh_question *q)
{
	lsh_answer_free(q->slots);
	lsh_answer_free(q->info);
	q->slots = q->info = NULL;
	lsh_uri_clear(&q->uri);
}

void
lsh_question_forsake(struct lsh_question *q)
{
	/* without the mutex: a thread that is not in the child may have had it */
	if (q->asked && q->talk != NULL)
		lsh_talk_forsake(q->talk);
}
