/* leash run on a terminal, under a shell with job control: Ctrl-C, Ctrl-Z, fg, bg, and reading from it. */
#include "tests/support/one_server.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"
#include "tests/support/tool.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* An interactive bash on a terminal of its own. */
static struct {
	int fd;
	pid_t pid;
	char said[65536];
	size_t size, seen; /* `seen`: what was awaited already */
} shell;

static void
start(void)
{
	if (access("/bin/bash", X_OK) != 0) {
		fprintf(stderr, "skipped: there is no bash\n");
		exit(77);
	}
	start_server();
}

static void
hear(void)
{
	struct pollfd in = {.fd = shell.fd, .events = POLLIN};

	while (shell.size < sizeof shell.said - 1 && poll(&in, 1, 0) == 1) {
		ssize_t n = read(shell.fd, shell.said + shell.size, sizeof shell.said - 1 - shell.size);

		if (n <= 0)
			break;
		shell.size += (size_t)n;
		shell.said[shell.size] = '\0';
	}
}

static bool
has_said(const char *text)
{
	const char *at;

	hear();
	at = strstr(shell.said + shell.seen, text);
	if (at != NULL)
		shell.seen = (size_t)(at - shell.said) + strlen(text);
	return at != NULL;
}

/* Wait until the terminal shows `text`, behind what was awaited before. */
static void
expect(const char *text)
{
	int64_t limit = await_limit_ns(20);

	while (!has_said(text)) {
		if (await_is_past(limit))
			trouble("the terminal does not show '%s', but:\n%s", text, shell.said + shell.seen);
		await_ms(1);
	}
}

static void
type(const char *text)
{
	if (write(shell.fd, text, strlen(text)) != (ssize_t)strlen(text))
		trouble("the terminal takes nothing");
}

static void
begin(void)
{
	memset(&shell, 0, sizeof shell);
	shell.pid = forkpty(&shell.fd, NULL, NULL, NULL);
	if (shell.pid < 0)
		trouble("forkpty: %s", strerror(errno));
	if (shell.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("LEASH_URI", server_uri(server), 1);
		setenv("leash", tool_path(), 1);
		setenv("PS1", "ready> ", 1);
		setenv("TERM", "dumb", 1);
		unsetenv("LEASH_HELD");
		execl("/bin/bash", "bash", "--norc", "--noprofile", "--noediting", "-i", NULL);
		_exit(127);
	}
	sweep_process(shell.pid);
	expect("ready> ");
}

static void
end(void)
{
	close(shell.fd); /* all that is on it gets a SIGHUP */
	kill(shell.pid, SIGKILL);
	waitpid(shell.pid, NULL, 0);
	freeReplyObject(server_command(server, "FLUSHALL"));
}

FIXTURE(begin, end);
GROUP(start, stop_server);

SENTENCE(a_command_reads_from_the_terminal)
{
	type("$leash run job -- sh -c 'echo a\"sk\"; read line; echo \"got $line\"'; echo \"ended $?.\"\n");
	expect("\r\nask");
	type("words\n");
	expect("got words");
	expect("ended 0.");
}

SENTENCE(Ctrl_C_reaches_the_command)
{
	type("$leash run job -- sh -c 'trap \"echo tol\"d\"; exit 9\" INT; echo beg\"un\"; while :; do sleep 0.05; done'; echo \"ended $?.\"\n");
	expect("\r\nbegun");
	type("\003");
	expect("\r\n");
	expect("told");
	expect("ended 9.");
	expect("ready> ");
	/* one that dies of it: the shell sees it, too */
	/* exec: a shell that gets a SIGINT before it has forked waits for a child that got none, with leash or without */
	type("$leash run job -- sh -c 'echo beg\"un\"; exec sleep 600'\n");
	expect("\r\nbegun");
	type("\003");
	expect("ready> ");
	type("echo \"ended $?.\"\n");
	expect("ended 130.");
	assert_int_equal(server_integer(server, "EXISTS leash:{job}"), 0);
}

SENTENCE(Ctrl_C_while_waiting_ends_the_wait)
{
	freeReplyObject(server_command(server, "HSET leash:{job} x:1 1"));
	freeReplyObject(server_command(server, "PEXPIRE leash:{job} 60000"));
	type("$leash run job -- true\n");
	await_true(server_integer(server, "EXISTS leash:{job}:queue") == 1);
	type("\003");
	expect("ready> ");
	type("echo \"ended $?.\"\n");
	expect("ended 130.");
	assert_int_equal(server_integer(server, "EXISTS leash:{job}:queue"), 0);
}

SENTENCE(Ctrl_Z_stops_the_job_and_fg_continues_it)
{
	type("$leash run job -- sh -c 'echo beg\"un\"; read line; echo \"got $line\"'; echo \"stopped $?.\"\n");
	expect("\r\nbegun");
	type("\032");
	expect("Stopped");
	expect("stopped 148.");
	type("fg; echo \"ended $?.\"\n");
	expect("$leash run"); /* bash says what it continues */
	type("words\n");
	expect("got words");
	expect("ended 0.");
}

SENTENCE(a_job_in_the_background_that_reads_is_stopped_and_fg_continues_it)
{
	type("$leash run job -- sh -c 'read line; echo \"got $line\"' &\n");
	expect("ready> ");
	do {
		type("\n"); /* the shell tells of it at a prompt, and CMD takes its time to ask for the terminal */
		expect("ready> ");
	} while (strstr(shell.said, "Stopped") == NULL);
	type("fg; echo \"ended $?.\"\n");
	expect("$leash run");
	type("words\n");
	expect("got words");
	expect("ended 0.");
}

SENTENCE(one_that_was_stopped_past_its_lease_is_killed_instead_of_continued)
{
	type("$leash run --ttl 1s job -- sh -c 'echo beg\"un\"; read line; echo \"go\"t' ; echo \"stopped $?.\"\n");
	expect("\r\nbegun");
	type("\032");
	expect("stopped 148.");
	await_true(server_integer(server, "EXISTS leash:{job}") == 0);
	type("fg; echo \"ended $?.\"\n");
	expect("ended 79.");
	assert_null(strstr(shell.said, "\r\ngot"));
}

SENTENCE(the_rest_of_a_pipeline_keeps_the_terminal)
{
	/* the command does not ask for it; the other one does */
	type("$leash run job -- sh -c 'echo li\"ne\"; sleep 0.3' | "
	     "sh -c 'read line; read answer </dev/tty; echo \"$line and $answer.\"'\n");
	await_true(server_integer(server, "EXISTS leash:{job}") == 1);
	type("key\n");
	expect("line and key.");
	/* and if the command asks, it gets it */
	type("$leash run job -- sh -c 'read answer </dev/tty; echo \"answer $answer.\"' </dev/null | cat\n");
	await_true(server_integer(server, "EXISTS leash:{job}") == 1);
	type("key\n");
	expect("answer key.");
}

SENTENCE(a_loop_of_the_shell_ends_with_Ctrl_C)
{
	type("bash -c 'for i in 1 2 3; do $leash run job -- sh -c \"echo tu\"rn\"; exec sleep 600\"; done; echo all \"do\"ne'; "
	     "echo \"ended $?.\"\n");
	expect("\r\nturn");
	type("\003");
	expect("ready> ");
	assert_null(strstr(shell.said, "all done\r\n"));
}
