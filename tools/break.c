/* leash break: take a lock of whatever kind from all who have it, after asking those who do it whether they mean it.
 *
 *   look --nobody has it--> 0
 *     `--held--> ask on the terminal (not with --force) --anything but yes--> left alone: 75
 *                  `--yes--> look again --another has it by now--> left alone: 75
 *                              `--none but the same--> taken away: 0
 *
 * What was answered was about those holders. Whoever got the lock while the question stood there is not the one that
 * hangs. */
#include "tools/hold.h"
#include "tools/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct breaking {
	struct cli cli;
	const char *name;
	char shown[HOLD_NAME_SIZE]; /* the name, in messages */
	bool force;
	int terminal; /* to ask on */
	leash_client *client;
	leash_lock *lock;
	struct look look;              /* who has it, or had it */
	char holder[HOLD_HOLDER_SIZE]; /* the first of them, in words */
	bool dead;                     /* all of them were processes of this machine, and have ended */
};

static const char consequences[] =
	"It will not be asked. If it is alive, it learns of the loss at its next renewal,\n"
	"at most a third of its lease from now. Until then it continues, even if somebody\n"
	"else has the lock: only fences protect what both of them write to.\n"
	"Take it away? [y/N] ";

static const char consequences_for_all[] =
	"They will not be asked. A holder that is alive learns of the loss at its next\n"
	"renewal, at most a third of its lease from now. Until then it continues, even if\n"
	"somebody else has come in.\n"
	"Take it away from all of them? [y/N] ";

static const char consequences_of_death[] =
	"It does not run on this machine any more, as far as can be seen from here: a\n"
	"container of the same host name has processes of its own. Its lease ends by\n"
	"itself; if you take the lock away, it is free at once.\n"
	"Take it away? [y/N] ";

static const char consequences_for_latch[] =
	"The arrivals are forgotten, and waiters continue to wait until enough\n"
	"parties have arrived again.\n"
	"Forget it? [y/N] ";

/* ---- asking people ---- */

/* The first bytes of a line; false: there is none. */
static bool
read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	ssize_t got;
	char c;

	while ((got = read(fd, &c, 1)) == 1 && c != '\n')
		if (n + 1 < size)
			line[n++] = c;
	line[n] = '\0';
	return got == 1;
}

/* Each in a line; one alone in full. */
static void
show_holders(const struct breaking *b)
{
	char who[CLI_PARTY_SIZE], need[LOOK_NEED_SIZE], left[CLI_TIME_SIZE];
	const char *noun = look_noun(&b->look.info);

	dprintf(b->terminal, "%c%s '%s' %s\n", noun[0] - 'a' + 'A', noun + 1, b->shown,
	        look_is_gate(&b->look.info) ? "has been reached by" : "is held by");
	if (b->look.count == 1)
		dprintf(b->terminal, "  %s.\n", b->holder);
	for (size_t i = 0; i < b->look.count && b->look.count > 1; i++) {
		const leash_hold_info *hold = &b->look.holds[i];

		dprintf(b->terminal, "  %s%s, %s left of its lease\n", cli_party(who, &hold->who),
		        look_need(need, &b->look.info, hold->count, hold->limit), cli_span(left, hold->remaining_ms));
	}
}

static const char *
consequences_of(const struct breaking *b)
{
	if (look_is_gate(&b->look.info))
		return consequences_for_latch;
	return b->look.count > 1 ? consequences_for_all : b->dead ? consequences_of_death : consequences;
}

static bool
is_wanted(const struct breaking *b)
{
	char answer[8];

	show_holders(b);
	dprintf(b->terminal, "%s", consequences_of(b));
	if (!read_line(b->terminal, answer, sizeof answer)) {
		dprintf(b->terminal, "\n");
		return false;
	}
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* ---- how it ends ---- */

/* Print it for programs, too. */
static int
end(const struct breaking *b, int status, bool broken)
{
	json_t *object;

	if (b->cli.json && (object = look_json(&b->look)) != NULL) {
		json_object_set_new(object, "broken", json_boolean(broken));
		cli_print(object);
	}
	return status;
}

static int
nobody_has_it(const struct breaking *b)
{
	cli_say(&b->cli, CLI_INFO, "nobody has lock '%s'", b->shown);
	return end(b, EXIT_OK, false);
}

static int
left_alone(const struct breaking *b, const char *why)
{
	cli_say(&b->cli, CLI_INFO, "%s: %s '%s' was left alone", why, look_noun(&b->look.info), b->shown);
	return end(b, EXIT_CONFLICT, false);
}

/* ---- doing it ---- */

/* CLI_GO_ON, or what to exit with; then it has been told. */
static int
look(struct breaking *b)
{
	leash_error err;

	if (look_at(&b->look, b->lock, &err) != LEASH_OK)
		return cli_fail_with(&b->cli, &err);
	if (b->look.info.held)
		hold_holder(b->holder, b->client, &b->look.info);
	b->dead = b->look.info.held;
	for (size_t i = 0; i < b->look.count; i++)
		b->dead = b->dead && hold_is_of_the_dead(&b->look.holds[i].who);
	return CLI_GO_ON;
}

static void
tell(const struct breaking *b)
{
	const char *noun = look_noun(&b->look.info);

	if (look_is_gate(&b->look.info))
		cli_say(&b->cli, CLI_INFO, "latch '%s' has forgotten the %zu who had arrived%s", b->shown, b->look.count,
		        b->look.count == LEASH_HOLDS_MAX ? "; if there are more, run the command again" : "");
	else if (b->look.count > 1)
		cli_say(&b->cli, CLI_INFO, "%s '%s' was taken from %zu who had it; %s%s", noun, b->shown, b->look.count,
		        b->dead ? "they do not run on this machine any more"
		                : "a live holder learns of the loss within a third of its lease",
		        b->look.count == LEASH_HOLDS_MAX ? "; if there are more, run the command again" : "");
	else
		cli_say(&b->cli, CLI_INFO, "%s '%s' was taken from %s; %s", noun, b->shown, b->holder,
		        b->dead ? "it does not run on this machine any more"
		                : "if alive, it learns of the loss within a third of its lease");
}

static int
take_away(struct breaking *b)
{
	leash_error err;
	leash_status st;

	leash_lock_free(b->lock); /* which need not be of its kind */
	b->lock = NULL;
	st = look_break(&b->look, b->client, &err);
	if (st == LEASH_NOT_HELD)
		return nobody_has_it(b);
	if (st != LEASH_OK)
		return cli_fail_with(&b->cli, &err);
	tell(b);
	return end(b, EXIT_OK, true);
}

static int
break_lock(struct breaking *b)
{
	struct look before;
	int status = look(b);

	if (status != CLI_GO_ON)
		return status;
	if (!b->look.info.held)
		return nobody_has_it(b);
	if (b->force)
		return take_away(b);
	before = b->look;
	if (!is_wanted(b))
		return left_alone(b, "the answer was not yes");
	status = look(b);
	if (status != CLI_GO_ON)
		return status;
	if (!b->look.info.held)
		return nobody_has_it(b);
	if (!look_is_the_same(&before, &b->look))
		return left_alone(b, "meanwhile somebody else has got it");
	return take_away(b);
}

static int
open_and_break(struct breaking *b)
{
	leash_error err;
	int status = cli_open(&b->cli, &b->client);

	if (status != CLI_GO_ON)
		return status;
	if (leash_lock_new(&b->lock, b->client, b->name, CLI_LOOKING, &err) == LEASH_OK)
		status = break_lock(b);
	else
		status = cli_fail_with(&b->cli, &err);
	leash_close(b->client);
	leash_lock_free(b->lock);
	return cli_finish(&b->cli, status);
}

static int
run(const struct command *command, int argc, char **argv)
{
	struct breaking b = {.terminal = -1};
	int status = cli_read(&b, command, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	b.name = cli_only_name(&b.cli, argc, argv);
	if (b.name == NULL)
		return EXIT_USAGE;
	cli_show(b.shown, sizeof b.shown, b.name);
	if (!b.force)
		b.terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (!b.force && b.terminal < 0)
		return cli_usage(&b.cli,
		                 "there is no terminal to ask on, and nothing was done; --force does it without asking");
	status = open_and_break(&b);
	if (b.terminal >= 0)
		close(b.terminal);
	return status;
}

static const struct cli_option options[] = {
	{.letter = 'f', .name = "force", .take = cli_take_flag, .at = offsetof(struct breaking, force),
	 .help = "do not ask"},
	{.name = NULL},
};

const struct command command_break = {
	.name = "break",
	.summary = "take a lock from whoever has it",
	.usage = "NAME",
	.about = "Take the lock NAME from its holder, after a question on the terminal. The next waiter in its queue gets "
	         "it. Use this for a holder that no longer works. A holder that is alive learns of it within a third of "
	         "its lease, and goes on until then. A semaphore, or a lock that is held by readers, is taken from all "
	         "holders, up to 100. A latch forgets who has arrived.\n",
	.groups = CLI_OPTIONS(options),
	.notes = "With --json: the lock as leash status --json has it, and \"broken\".\n"
	         "Exit: 0 taken away, or nobody had it; 75 left alone: the answer was not yes, or somebody else has "
	         "got it meanwhile; 64 usage, and no terminal; 69 no server.\n",
	.operands = A_NAME,
	.run = run,
};
