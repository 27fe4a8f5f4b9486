#include "lock/introduce.h"

#include "base/thread.h"
#include "redis/command.h"
#include "redis/pipe.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One word that people can read, whatever it was. */
static void
make_word(char *out, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from != '\0' && n + 1 < size; from++)
		out[n++] = *from;
	out[n] = '\0';
	for (char *c = out; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~')
			*c = '_';
	if (n == 0)
		strcpy(out, "-");
}

static int64_t
wall_clock_ms(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_REALTIME, &t) == 0 && t.tv_sec >= 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / LSH_MS : 0;
}

void
lsh_introduction_init(struct lsh_introduction *in, const char *prefix, const char *uuid, const char *client_name)
{
	static const char ours[] = "leash:";
	char name[256] = "", host[LEASH_HOST_SIZE], program[LEASH_PROGRAM_SIZE];
	bool is_ours = strncmp(client_name, ours, strlen(ours)) == 0;

	if (gethostname(name, sizeof name - 1) != 0)
		name[0] = '\0';
	make_word(host, sizeof host, name);
	make_word(program, sizeof program, client_name + (is_ours ? strlen(ours) : 0));
	atomic_init(&in->epoch, 0);
	atomic_init(&in->ends, 0);
	pthread_mutex_init(&in->mutex, NULL);
	in->key_size = lsh_party_key(in->key, prefix, uuid);
	in->value_size = (size_t)snprintf(in->value, sizeof in->value, "%ld %lld %s %s", (long)getpid(), (long long)wall_clock_ms(), host, program);
}

void
lsh_introduction_destroy(struct lsh_introduction *in)
{
	pthread_mutex_destroy(&in->mutex);
}

int64_t
lsh_introduction_ttl_ms(int64_t lease_ms)
{
	int64_t wanted_ms = lease_ms + LSH_INTRODUCTION_MARGIN_MS;

	return wanted_ms < LSH_INTRODUCTION_WANTED_MS ? 2 * wanted_ms : LSH_INTRODUCTION_MOST_MS;
}

void
lsh_introduction_write(struct lsh_introduction *in, struct lsh_pipe *pipe, uint64_t epoch, int64_t lease_ms, int64_t now)
{
	int64_t ttl_ms = lsh_introduction_ttl_ms(lease_ms);
	char digits[LSH_DECIMAL_SIZE];
	struct lsh_arg args[] = {
		LSH_ARG("SET"), {in->key, in->key_size}, {in->value, in->value_size}, LSH_ARG("PX"), lsh_arg_decimal(digits, ttl_ms),
	};

	pthread_mutex_lock(&in->mutex);
	/* another thread may have written it meanwhile, and a thread may come with an older connection's number */
	if (!in->over && (atomic_load(&in->epoch) < epoch ||
	                  (atomic_load(&in->epoch) == epoch && atomic_load(&in->ends) < lsh_introduction_wanted(lease_ms, now))) &&
	    lsh_pipe_append_unheard(pipe, args, sizeof args / sizeof *args, now)) {
		in->written = true;
		atomic_store_explicit(&in->ends, lsh_after_ms(now, ttl_ms), memory_order_relaxed);
		atomic_store_explicit(&in->epoch, epoch, memory_order_release);
	}
	pthread_mutex_unlock(&in->mutex);
}

bool
lsh_introduction_say(struct lsh_introduction *in, struct lsh_pipe *pipe, int64_t lease_ms, int64_t timeout, struct lsh_thread *self,
                     struct lsh_reply *reply)
{
	struct lsh_ticket ticket = {.done = lsh_ticket_wake, .parker = &self->parker};
	int64_t ttl_ms = lsh_introduction_ttl_ms(lease_ms), now = lsh_now_ns();
	char digits[LSH_DECIMAL_SIZE];
	struct lsh_arg args[] = {
		LSH_ARG("SET"), {in->key, in->key_size}, {in->value, in->value_size}, LSH_ARG("PX"), lsh_arg_decimal(digits, ttl_ms),
	};
	bool appended;

	pthread_mutex_lock(&in->mutex);
	appended = !in->over && lsh_pipe_append(pipe, &ticket, args, sizeof args / sizeof *args, now, timeout) == LSH_APPENDED;
	in->written |= appended;
	pthread_mutex_unlock(&in->mutex);
	if (!appended || lsh_pipe_await(pipe, &ticket, LSH_NEVER) != LSH_ANSWERED)
		return false;
	*reply = ticket.reply;
	pthread_mutex_lock(&in->mutex);
	atomic_store_explicit(&in->ends, lsh_after_ms(now, ttl_ms), memory_order_relaxed);
	atomic_store_explicit(&in->epoch, ticket.epoch, memory_order_release);
	pthread_mutex_unlock(&in->mutex);
	return true;
}

void
lsh_introduction_lose(struct lsh_introduction *in)
{
	pthread_mutex_lock(&in->mutex);
	atomic_store(&in->epoch, 0);
	pthread_mutex_unlock(&in->mutex);
}

void
lsh_introduction_prolong(struct lsh_pipe *pipe, const char *prefix, const char *token, int64_t lease_ms, int64_t now)
{
	char key[LSH_PARTY_KEY_SIZE], digits[LSH_DECIMAL_SIZE];
	size_t key_size = lsh_party_key(key, prefix, token);
	struct lsh_arg args[] = {
		LSH_ARG("PEXPIRE"), {key, key_size}, lsh_arg_decimal(digits, lsh_introduction_ttl_ms(lease_ms)), LSH_ARG("GT"),
	};

	lsh_pipe_append_unheard(pipe, args, sizeof args / sizeof *args, now);
}

void
lsh_introduction_end(struct lsh_introduction *in, struct lsh_pipe *pipe, int64_t now)
{
	struct lsh_arg args[] = {LSH_ARG("DEL"), {in->key, in->key_size}};
	bool appended;

	pthread_mutex_lock(&in->mutex);
	in->over = true;
	appended = in->written && lsh_pipe_append_unheard(pipe, args, sizeof args / sizeof *args, now);
	pthread_mutex_unlock(&in->mutex);
	if (appended)
		lsh_pipe_flush(pipe);
}
