/* leash break: take a lock from whoever has it, after asking those who do it whether they mean it.
 *
 *   look --nobody has it--> 0
 *     `--held--> ask on the terminal (not with --force) --anything but yes--> left alone: 75
 *                  `--yes--> look again --another has it by now--> left alone: 75
 *                              `--still the same--> taken away: 0
 *
 * What was answered was about one holder. Whoever got the lock while the question stood there is not the one that
 * hangs. */
#include "tools/hold.h"

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
	leash_lock_info info;          /* who has it, or had it */
	char holder[HOLD_HOLDER_SIZE]; /* in words */
	bool dead;                     /* the holder was a process of this machine, and has ended */
};

static const char consequences[] =
	"It will not be asked. If it is alive, its next renewal tells it, at most a third\n"
	"of its lease from now; until then it goes on as if it had the lock, also when\n"
	"somebody else has it: only fences protect what both of them write to.\n"
	"Take it away? [y/N] ";

static const char consequences_of_death[] =
	"It does not run on this machine any more, as far as can be seen from here: a\n"
	"container of the same host name has processes of its own. Its lease ends by\n"
	"itself; taken away, the lock is free at once.\n"
	"Take it away? [y/N] ";

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

static bool
is_wanted(const struct breaking *b)
{
	char answer[8];

	dprintf(b->terminal, "Lock '%s' is held by\n  %s.\n%s", b->shown, b->holder,
	        b->dead ? consequences_of_death : consequences);
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

	if (b->cli.json && (object = cli_json_info(&b->info)) != NULL) {
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
	cli_say(&b->cli, CLI_INFO, "%s: lock '%s' was left alone", why, b->shown);
	return end(b, EXIT_CONFLICT, false);
}

/* ---- doing it ---- */

/* CLI_GO_ON, or what to exit with; then it has been told. */
static int
look(struct breaking *b)
{
	leash_error err;

	b->info.size = sizeof b->info;
	if (leash_lock_inspect(b->lock, &b->info, &err) != LEASH_OK)
		return cli_fail_with(&b->cli, &err);
	if (b->info.held)
		hold_holder(b->holder, b->client, &b->info);
	b->dead = b->info.held && hold_is_of_the_dead(&b->info);
	return CLI_GO_ON;
}

static int
take_away(struct breaking *b)
{
	leash_error err;
	leash_status st = leash_lock_break(b->lock, &err);

	if (st == LEASH_NOT_HELD)
		return nobody_has_it(b);
	if (st != LEASH_OK)
		return cli_fail_with(&b->cli, &err);
	cli_say(&b->cli, CLI_INFO, "lock '%s' was taken from %s; %s", b->shown, b->holder,
	        b->dead ? "it does not run on this machine any more"
	                : "alive, it learns of that within a third of its lease");
	return end(b, EXIT_OK, true);
}

static int
break_lock(struct breaking *b)
{
	leash_lock_info before;
	int status = look(b);

	if (status != CLI_GO_ON)
		return status;
	if (!b->info.held)
		return nobody_has_it(b);
	if (b->force)
		return take_away(b);
	before = b->info;
	if (!is_wanted(b))
		return left_alone(b, "the answer was not yes");
	status = look(b);
	if (status != CLI_GO_ON)
		return status;
	if (!b->info.held)
		return nobody_has_it(b);
	if (strcmp(before.holder.token, b->info.holder.token) != 0 || before.fence != b->info.fence)
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
	static const struct option options[] = {{"force", no_argument, NULL, 'f'}, CLI_LONG, CLI_LONG_END};
	struct breaking b = {.terminal = -1};
	int c, status = CLI_GO_ON;

	cli_begin(&b.cli, command);
	while (status == CLI_GO_ON && (c = getopt_long(argc, argv, ":f" CLI_SHORT, options, NULL)) != -1)
		if (c == 'f')
			b.force = true;
		else
			status = cli_option(&b.cli, c, argv);
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

const struct command command_break = {
	"break",
	"take a lock from whoever has it",
	"Usage: leash break [OPTION...] NAME\n"
	"Take the lock NAME from whoever has it, after a question on the terminal. The\n"
	"next in its queue gets it. For holders that are of no use any more: one that is\n"
	"alive learns of it within a third of its lease, and goes on until then.\n"
	"\n"
	"  -f, --force        do not ask\n"
	"      --escaped      NAME is as leash list shows it: \\x20 is a space\n"
	"      --json         the lock as leash status --json has it, and \"broken\"\n"
	"  -q, --quiet        -v, --verbose\n"
	"  -r, --redis URI    the server, else $LEASH_URI     --prefix TEXT  of its keys\n"
	"\n"
	"Exit: 0 taken away, or nobody had it; 75 left alone: the answer was not yes, or\n"
	"somebody else has got it meanwhile; 64 usage, and no terminal; 69 no server.\n",
	run,
};
