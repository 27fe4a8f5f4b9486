#include "redis/talk.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/park.h"

#include <errno.h>
#include <poll.h>

/* Sleep until it says something. If that is not `wanted`, say why. */
static leash_status
await(struct lsh_informant *i, enum lsh_progress wanted, leash_error *err)
{
	const leash_error *why = lsh_informant_trouble(i);
	enum lsh_progress progress;

	while ((progress = lsh_informant_step(i)) == LSH_WAIT) {
		int64_t until = LSH_NEVER;
		struct pollfd polled[2];
		nfds_t n = lsh_informant_poll(i, polled + 1, &until);

		lsh_kick_poll(-1, polled, 1 + n, until);
	}
	if (progress == wanted)
		return LEASH_OK;
	if (err != NULL)
		*err = *why;
	return why->status;
}

leash_status
lsh_talk_open(struct lsh_informant **out, const struct lsh_uri *uri, enum lsh_want want, const char *name,
              int64_t timeout, leash_error *err)
{
	const struct lsh_informant_options options = {
		.name = name, .timeout = timeout, .want = want, .unasked = true,
		.bytes = LSH_TALK_MOST, .elements = LSH_TALK_ELEMENTS,
	};
	leash_status status;

	*out = lsh_informant_new(uri, &options);
	if (*out == NULL)
		return lsh_fail(err, LEASH_NO_MEMORY, ENOMEM, "%.120s: out of memory for a connection", uri->shown);
	lsh_informant_connect(*out);
	status = await(*out, LSH_GO_ON, err);
	if (status != LEASH_OK) {
		lsh_informant_free(*out);
		*out = NULL;
	}
	return status;
}

leash_status
lsh_talk_hear(struct lsh_informant *i, const struct redisReply **answer, leash_error *err)
{
	leash_status status;

	lsh_informant_ask(i);
	status = await(i, LSH_DONE, err);
	if (status == LEASH_OK)
		*answer = lsh_informant_reply(i);
	return status;
}
