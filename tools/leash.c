/* leash: flock(1) for a fleet. Finds the command, and that does the rest. */
#include "tools/cli.h"
#include "tools/guess.h"
#include "tools/help.h"

#include <leash.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&command_run,   &command_acquire, &command_renew,  &command_release, &command_status, &command_list,
	&command_wait,  &command_break,   &command_limit,  &command_elect,   &command_leader, &command_watch,
	&command_arrive, &command_await,  &command_top,    &command_exporter, &command_doctor, &command_scripts,
	&command_bench,
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void
print_help(FILE *to)
{
	fputs("Usage: leash COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Locks in Redis that hold across processes and machines: flock(1) for a fleet.\n\n",
	      to);
	for (int i = 0; i < COMMANDS; i++)
		fprintf(to, "  leash %-9s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nEach has --help, --json, -q, -v. Server: -r URI, $LEASH_URI or /etc/leash.conf.\n", to);
}

static const struct command *
find_command(const char *name)
{
	for (int i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

/* If leash is started without one of the standard streams, the next socket would get its number, and what is printed
 * would go to the server. /dev/null takes its place, opened so that reading or writing fails as on a closed stream, and
 * is closed again in CMD. */
static bool
guard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags | O_CLOEXEC) != fd)
			return false;
	}
	return true;
}

static int
finish(void)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return EXIT_OK;
	fprintf(stderr, "leash: standard output: %s\n", strerror(errno));
	return EXIT_INTERNAL;
}

static int
refuse(const char *name)
{
	char shown[80], meant[120];
	struct guess guess;

	guess_begin(&guess, name, strlen(name));
	for (int i = 0; i < COMMANDS; i++)
		guess_offer(&guess, commands[i]->name);
	fprintf(stderr, "leash: there is no command '%s'%s; see leash --help\n", cli_show_word(shown, sizeof shown, name),
	        guess_text(meant, sizeof meant, &guess, ""));
	return EXIT_USAGE;
}

/* leash help [COMMAND]; and leash help --table, of which completions and the man page are made. */
static int
help_on(const char *name)
{
	const struct command *command = name != NULL ? find_command(name) : NULL;

	if (name == NULL)
		print_help(stdout);
	else if (strcmp(name, "--table") == 0)
		for (int i = 0; i < COMMANDS; i++)
			help_print_table(commands[i], &cli_group);
	else if (command != NULL)
		help_print(command, &cli_group);
	else
		return refuse(name);
	return finish();
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	if (!guard_streams())
		return EXIT_INTERNAL;
	setlocale(LC_CTYPE, ""); /* only which letters there are */
	if (name == NULL) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	command = find_command(name);
	if (command != NULL)
		return command->run(command, argc - 1, argv + 1);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		printf("leash %s\n", leash_version());
		return finish();
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return help_on(name[0] != '-' ? argv[2] : NULL);
	return refuse(name);
}
