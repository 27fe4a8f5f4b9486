/* leash wait: until nobody has a lock, or several.
 *
 * Looks at them again and again, and takes no part in their queues, so that it delays nobody. Between two looks it
 * pauses: shortly at first, for short jobs, longer the longer it takes, and never past the end of the lease that it
 * last saw.
 *
 *   looking at each in turn --all of them were free--> 0
 *     |  one is held, or the server is away: pause, and from the first again
 *     `--the time is over--> 75, or 69 if the server was away at last */
#include "tools/clock.h"
#include "tools/hold.h"
#include "tools/look.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAUSE_LEAST_MS = 20, PAUSE_MOST_MS = 250 };

struct wait {
	struct cli cli;
	char **names;
	int count;
	int64_t wait_ms; /* LEASH_FOREVER: no end */
	int64_t end_ns;
	leash_client *client;
	leash_lock **locks;    /* by name; NULL: no handle yet */
	leash_lock_info *seen; /* the last look at each */
	int held;              /* the index of a lock that was held at the last look; -1: the server was away */
	int told;              /* the last that was told of: as `held`; -2: none */
	leash_error away;      /* why, then */
};

/* ---- looking ---- */

static leash_status
see(struct wait *w, int i, leash_error *err)
{
	leash_status st = LEASH_OK;

	w->seen[i].size = sizeof w->seen[i];
	if (w->locks[i] == NULL)
		st = leash_lock_new(&w->locks[i], w->client, w->names[i], CLI_LOOKING, err);
	return st == LEASH_OK ? leash_lock_inspect(w->locks[i], &w->seen[i], err) : st;
}

/* CLI_GO_ON: one is held, or the server is away. Else the status to exit with; mistakes have been told. */
static int
look(struct wait *w)
{
	leash_error err;
	leash_status st = LEASH_OK;
	int i;

	for (i = 0; st == LEASH_OK && i < w->count; i++) {
		st = see(w, i, &err);
		if (st == LEASH_OK && w->seen[i].held)
			break;
	}
	if (st == LEASH_OK && i == w->count)
		return EXIT_OK;
	w->held = st == LEASH_OK ? i : -1;
	if (st == LEASH_UNAVAILABLE)
		w->away = err;
	return st == LEASH_OK || st == LEASH_UNAVAILABLE ? CLI_GO_ON : cli_fail_with(&w->cli, &err);
}

static void
say_who(const struct wait *w, enum cli_level level)
{
	const leash_lock_info *seen = &w->seen[w->held];
	char shown[HOLD_NAME_SIZE], holder[HOLD_HOLDER_SIZE];

	cli_say(&w->cli, level, "%s '%s' is held by %s", look_noun(seen), cli_show(shown, sizeof shown, w->names[w->held]),
	        hold_holder(holder, w->client, seen));
}

/* Say what is awaited, once for each lock; once for all when the server does not answer. */
static void
tell_what_is_awaited(struct wait *w)
{
	if (w->held == w->told)
		return;
	w->told = w->held;
	if (w->held < 0)
		cli_say(&w->cli, CLI_INFO, "%s; retrying", w->away.text);
	else
		say_who(w, CLI_DETAIL);
}

/* ---- waiting ---- */

/* The time is over. */
static int
give_up(struct wait *w)
{
	if (w->held < 0)
		return cli_fail_with(&w->cli, &w->away);
	say_who(w, CLI_INFO);
	if (w->cli.json)
		cli_print(cli_json_info(&w->seen[w->held]));
	return EXIT_CONFLICT;
}

static int64_t
pause_ms(const struct wait *w, int64_t last_ms)
{
	int64_t ms = last_ms + last_ms / 2, lease_ms = w->held >= 0 ? w->seen[w->held].remaining_ms : -1;

	if (ms > PAUSE_MOST_MS)
		ms = PAUSE_MOST_MS;
	if (lease_ms >= 0 && ms > lease_ms)
		ms = lease_ms + 1;
	return ms > PAUSE_LEAST_MS ? ms : PAUSE_LEAST_MS;
}

static int
wait_for_all(struct wait *w)
{
	int64_t pause = 0, left_ms;
	int status;

	while ((status = look(w)) == CLI_GO_ON) {
		left_ms = w->wait_ms == LEASH_FOREVER ? INT64_MAX : (w->end_ns - clock_boot_ns()) / MS;
		if (left_ms <= 0)
			return give_up(w);
		tell_what_is_awaited(w);
		pause = pause_ms(w, pause);
		clock_sleep_ms(pause < left_ms ? pause : left_ms);
	}
	for (int i = 0; status == EXIT_OK && w->cli.json && i < w->count; i++)
		cli_print(cli_json_info(&w->seen[i]));
	return status;
}

static int
wait_and_clean_up(struct wait *w)
{
	int status = cli_open_patiently(&w->cli, NULL, &w->wait_ms, &w->client);

	if (status != CLI_GO_ON)
		return status;
	w->end_ns = w->wait_ms == LEASH_FOREVER ? 0 : clock_boot_ns() + w->wait_ms * MS;
	w->locks = calloc((size_t)w->count, sizeof(leash_lock *));
	w->seen = calloc((size_t)w->count, sizeof *w->seen);
	status = w->locks != NULL && w->seen != NULL ? wait_for_all(w) : cli_fail(&w->cli, EXIT_INTERNAL, "out of memory");
	leash_close(w->client);
	for (int i = 0; w->locks != NULL && i < w->count; i++)
		leash_lock_free(w->locks[i]);
	free(w->locks);
	free(w->seen);
	return cli_finish(&w->cli, status);
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct wait w = {.wait_ms = LEASH_FOREVER, .told = -2};
	int status = cli_read(&w, command, argc, argv);

	if (status == CLI_GO_ON)
		status = cli_names(&w.cli, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	w.names = argv + optind;
	w.count = argc - optind;
	return wait_and_clean_up(&w);
}

static const struct cli_option options[] = {
	HOLD_WAIT_OPTIONS(struct wait, "look once, and do not wait", ", also for a server that is away"),
	HOLD_LOG_OPTION,
	{.name = NULL},
};

const struct command command_wait = {
	.name = "wait",
	.summary = "wait until nobody has a lock",
	.usage = "NAME...",
	.about = "Wait until nobody has the lock NAME, or any of several. leash wait does not join their queues. When it "
	         "ends, somebody may have one again already. While the server is away, it retries until the time is "
	         "over.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: each lock as leash status --json has it: all when they are free, or the one that is "
	         "not when the time is over. -v says who has it.\n"
	         "Exit: 0 free; 75 somebody still has one; 64 usage; 69 no server.\n",
	.operands = NAMES,
	.run = run,
};
