#include "base/courier.h"

#include "base/memory.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/text.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 64, LINE_SIZE = 512 };

struct line {
	leash_log_level level;
	char text[LINE_SIZE];
};

struct lsh_courier {
	leash_log_fn on_log;
	void *log_arg;
	pthread_t thread;

	pthread_mutex_t mutex; /* guards the rest; a leaf: nothing else is locked while it is held */
	pthread_cond_t something;
	struct lsh_list letters;
	bool stopping, stopped;
	size_t first, count, dropped; /* log lines */
	struct line *line; /* LINES of them, which are not touched before they are needed; NULL without on_log */
};

static _Thread_local const struct lsh_courier *delivering;
static _Thread_local uint64_t delivering_process;

/* c->mutex held; released during the callback */
static void
deliver_line(struct lsh_courier *c)
{
	char text[LINE_SIZE];
	leash_log_level level;

	if (c->dropped > 0) {
		snprintf(text, sizeof text, "%zu log lines were dropped", c->dropped);
		level = LEASH_LOG_WARNING;
		c->dropped = 0;
	} else {
		memcpy(text, c->line[c->first].text, sizeof text);
		level = c->line[c->first].level;
		c->first = (c->first + 1) % LINES;
		c->count--;
	}
	pthread_mutex_unlock(&c->mutex);
	c->on_log(c->log_arg, level, text);
	pthread_mutex_lock(&c->mutex);
}

static void *
run(void *arg)
{
	struct lsh_courier *c = arg;

	lsh_thread_begin("leash-courier");
	delivering = c;
	delivering_process = lsh_process_id();
	pthread_mutex_lock(&c->mutex);
	for (;;) {
		if (!lsh_list_empty(&c->letters)) {
			struct lsh_letter *letter = lsh_container(lsh_list_first(&c->letters), struct lsh_letter, link);

			lsh_list_remove(&letter->link);
			pthread_mutex_unlock(&c->mutex);
			letter->deliver(letter);
			pthread_mutex_lock(&c->mutex);
		} else if (c->count > 0 || c->dropped > 0) {
			deliver_line(c);
		} else if (c->stopping) {
			break;
		} else {
			pthread_cond_wait(&c->something, &c->mutex);
		}
	}
	c->stopped = true;
	pthread_mutex_unlock(&c->mutex);
	return NULL;
}

bool
lsh_courier_post(struct lsh_courier *c, struct lsh_letter *letter)
{
	lsh_locked(&c->mutex);
	if (!lsh_list_empty(&letter->link) || c->stopped)
		return false;
	lsh_list_append(&c->letters, &letter->link);
	pthread_cond_signal(&c->something);
	return true;
}

bool
lsh_courier_withdraw(struct lsh_courier *c, struct lsh_letter *letter)
{
	lsh_locked(&c->mutex);
	bool there = !lsh_list_empty(&letter->link);

	lsh_list_remove(&letter->link);
	return there;
}

void
lsh_courier_log(struct lsh_courier *c, leash_log_level level, const char *format, ...)
{
	char line[LINE_SIZE + 1]; /* one byte more than fits, so that the cut is seen and marked */
	va_list args;

	if (c == NULL || c->on_log == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	lsh_locked(&c->mutex);
	if (c->count == LINES) {
		c->dropped++;
	} else if (!c->stopped) {
		size_t at = (c->first + c->count++) % LINES;

		c->line[at].level = level;
		lsh_show_text(c->line[at].text, LINE_SIZE, line, strlen(line)); /* a server's words may be part of it */
		pthread_cond_signal(&c->something);
	}
}

bool
lsh_courier_in_callback(const struct lsh_courier *c)
{
	/* a child that was forked in a callback is in none */
	return delivering != NULL && lsh_process_is(delivering_process) && (c == NULL || delivering == c);
}

struct lsh_courier *
lsh_courier_new(leash_log_fn on_log, void *log_arg)
{
	struct lsh_courier *c = lsh_new(struct lsh_courier);

	if (c == NULL)
		return NULL;
	c->on_log = on_log;
	c->log_arg = log_arg;
	lsh_list_init(&c->letters);
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->something, NULL);
	if (on_log != NULL)
		c->line = lsh_realloc(NULL, LINES * sizeof *c->line);
	if ((on_log != NULL && c->line == NULL) || lsh_thread_start(&c->thread, run, c) != 0) {
		lsh_courier_free(c);
		return NULL;
	}
	return c;
}

void
lsh_courier_stop(struct lsh_courier *c)
{
	bool stopped;

	pthread_mutex_lock(&c->mutex);
	stopped = c->stopping;
	c->stopping = true;
	pthread_cond_signal(&c->something);
	pthread_mutex_unlock(&c->mutex);
	if (!stopped)
		pthread_join(c->thread, NULL);
}

void
lsh_courier_free(struct lsh_courier *c)
{
	if (c == NULL)
		return;
	pthread_cond_destroy(&c->something);
	pthread_mutex_destroy(&c->mutex);
	lsh_free(c->line);
	lsh_free(c);
}
