/* The people of a scene: clients of ours, and what they hold. */
#include "tests/tools/play_parts.h"

#include "tests/support/kept.h"

#include <inttypes.h>

static struct person *
person_called(const char *name)
{
	struct person *p = ENTRY(play.people, name);

	if (p->client == NULL)
		p->client = kept(leashed_open(play.where, LEASH_OPTIONS(.client_name = p->name)));
	return p;
}

static struct hold *
hold_called(struct person *p, const char *name, int64_t lease_ms)
{
	struct hold *h = ENTRY(p->holds, name);

	if (h->lock == NULL)
		h->lock = kept(leashed_lock(p->client, name, LEASH_LOCK_OPTIONS(
			.lease_ms = (uint32_t)lease_ms, .on_event = leashed_note_event, .event_arg = &h->events)));
	return h;
}

static leash_status
take_lock(const struct person *p, struct hold *h, leash_error *err)
{
	leash_status status = leash_lock_acquire(h->lock, 60000, err);

	play_set_of(p->name, "fence", "%" PRIu64, leash_lock_fence(h->lock));
	return status;
}

/* She is sure of it, and the server says so, too. */
static void
check_held(struct hold *h)
{
	char token[LEASH_TOKEN_MAX] = "";

	leash_lock_token(h->lock, token, sizeof token);
	if (!leash_lock_held(h->lock) || h->events.count[LEASH_EVENT_LOST] > 0 ||
	    strcmp(server_text(server, "HKEYS leash:{%s}", h->name), token) != 0)
		play_wrong("she does not");
}

bool
play_person(char *line)
{
	leash_status status = LEASH_OK;
	leash_error err = {0};

	play_split(line);
	if (play.word_count < 3)
		return false;
	leash_status expected = play.word_count > 4 && strcmp(play.words[4], "LOST") == 0 ? LEASH_LOST : LEASH_OK;
	struct person *p = person_called(play.words[0]);
	if (strcmp(play.words[1], "takes") == 0)
		status = take_lock(p, hold_called(p, play.words[2], play.word_count > 3 ? atoi(play.words[3]) : 0), &err);
	else if (strcmp(play.words[1], "releases") == 0)
		status = leash_lock_release(hold_called(p, play.words[2], 0)->lock, &err);
	else if (strcmp(play.words[1], "lost") == 0)
		await_true(hold_called(p, play.words[2], 0)->events.count[LEASH_EVENT_LOST] > 0);
	else if (strcmp(play.words[1], "holds") == 0)
		check_held(hold_called(p, play.words[2], 0));
	else
		return false;
	if (status != expected)
		play_wrong("%s: %s", leash_status_name(status), err.text);
	return true;
}
