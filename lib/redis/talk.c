#include "redis/talk.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <poll.h>

struct lsh_talk {
	struct lsh_informant *informant;
};

/* Sleep until it says something. */
static enum lsh_informed
await(struct lsh_talk *t)
{
	enum lsh_informed informed;

	while ((informed = lsh_informant_step(t->informant)) == LSH_INFORMED_WAIT) {
		int64_t until = LSH_NEVER;
		struct pollfd polled;
		nfds_t n = lsh_informant_poll(t->informant, &polled, &until);

		lsh_poll_until(&polled, n, until);
	}
	return informed;
}

static leash_status
trouble(const struct lsh_talk *t, leash_error *err)
{
	const leash_error *why = lsh_informant_trouble(t->informant);

	if (err != NULL)
		*err = *why;
	return why->status;
}

static leash_status
open_talk(struct lsh_talk **out, enum lsh_want want, const struct lsh_uri *uri, const char *name, int64_t timeout,
          struct lsh_hello *hello, leash_error *err)
{
	const struct lsh_informant_options options = {
		.name = name, .timeout = timeout, .want = want, .unasked = true,
		.bytes = LSH_TALK_MOST, .elements = LSH_TALK_ELEMENTS,
	};
	struct lsh_talk *t = lsh_new(struct lsh_talk);
	leash_status status;

	*out = NULL;
	if (t == NULL || (t->informant = lsh_informant_new(uri, &options)) == NULL) {
		lsh_free(t);
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for a connection", uri->shown);
	}
	lsh_informant_dial(t->informant);
	if (await(t) != LSH_INFORMED_HELLO) {
		status = trouble(t, err);
		lsh_talk_close(t);
		return status;
	}
	if (hello != NULL)
		*hello = *lsh_informant_hello(t->informant);
	*out = t;
	return LEASH_OK;
}

leash_status
lsh_talk_open(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout,
              struct lsh_hello *hello, leash_error *err)
{
	return open_talk(out, LSH_WANT_SERVER, uri, name, timeout, hello, err);
}

leash_status
lsh_talk_open_sentinel(struct lsh_talk **out, const struct lsh_uri *uri, const char *name, int64_t timeout,
                       leash_error *err)
{
	return open_talk(out, LSH_WANT_SENTINEL, uri, name, timeout, NULL, err);
}

void
lsh_talk_close(struct lsh_talk *t)
{
	if (t == NULL)
		return;
	lsh_informant_free(t->informant);
	lsh_free(t);
}

leash_status
lsh_talk_say(struct lsh_talk *t, const struct lsh_arg *args, size_t count, leash_error *err)
{
	return lsh_informant_send(t->informant, args, count) ? LEASH_OK : trouble(t, err);
}

leash_status
lsh_talk_hear(struct lsh_talk *t, const struct redisReply **answer, leash_error *err)
{
	lsh_informant_ask(t->informant);
	if (await(t) != LSH_INFORMED_REPLY)
		return trouble(t, err);
	*answer = lsh_informant_reply(t->informant);
	return LEASH_OK;
}

struct redisReply *
lsh_talk_take(struct lsh_talk *t)
{
	return lsh_informant_take(t->informant);
}
