/* What must not come out: passwords in cores, logs and texts, tokens in logs and texts.
 *
 * To have a process whose memory has never seen a password but through leash, the program runs itself again; see main(). */
#include "tests/fault/refused.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static leash_error err; /* what the last call said */

/* ---- a process with a password ---- */

enum { LINE = 512 };

static void
say(const char *head, const char *text)
{
	dprintf(1, "%s %s\n", head, text);
}

static void
say_line(void *arg, leash_log_level level, const char *line)
{
	(void)arg, (void)level;
	say("log", line);
}

static void
say_event(void *arg, const leash_event *event)
{
	(void)arg;
	say("log", event->text);
}

/* One line of standard input; it is the only copy that this process has. */
static bool
hear_order(char line[LINE])
{
	size_t n = 0;

	while (n < LINE - 1 && read(0, line + n, 1) == 1)
		if (line[n++] == '\n') {
			line[n - 1] = '\0';
			return true;
		}
	return false;
}

/* Say that it is there, and do as told by lines, each of which is answered by one: "open <uri>", "extend", "close".
 * What leash tells comes in between. */
static int
live_with_a_password(void)
{
	static char order[LINE];
	leash_client *client = NULL;
	leash_lock *lock = NULL;

	say("done", "");
	while (hear_order(order)) {
		leash_status status = LEASH_OK;

		memset(&err, 0, sizeof err);
		if (strncmp(order, "open ", 5) == 0) {
			status = leash_open(&client, LEASH_OPTIONS(.uri = order + 5, .timeout_ms = patience_ms(), .lease_ms = 60000,
			                                           .on_log = say_line, .on_event = say_event), &err);
			if (status == LEASH_OK)
				lock = leashed_lock(client, "secret", NULL);
			if (status == LEASH_OK)
				status = leash_lock_acquire(lock, 10000, &err);
		} else if (strcmp(order, "extend") == 0) {
			status = leash_lock_extend(lock, 60000, &err);
		} else {
			leash_lock_release(lock, NULL);
			leash_lock_free(lock);
			leash_close(client);
		}
		explicit_bzero(order, sizeof order);
		say("log", err.text);
		say("done", leash_status_name(status));
	}
	return 0;
}

/* The other side of it. */
static struct subject {
	pid_t pid;
	FILE *line;
	char last[2 * LINE];
} subject;

/* Until it has done what it was told; the name of the status that it came to. No line tells a secret. */
static const char *
subject_heard(const char *secret)
{
	do {
		assert_non_null(fgets(subject.last, sizeof subject.last, subject.line));
		assert_null(strstr(subject.last, secret));
	} while (strncmp(subject.last, "done ", 5) != 0);
	subject.last[strcspn(subject.last, "\n")] = '\0';
	return subject.last + 5;
}

/* When this returns it is itself, and not what was forked any more: that knows all that this process knows. */
static void
subject_start(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	fflush(NULL);
	subject.pid = fork();
	assert_true(subject.pid >= 0);
	if (subject.pid == 0) {
		dup2(ends[0], 0);
		dup2(ends[0], 1);
		execl("/proc/self/exe", "test_secrets", "password", (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	subject.line = fdopen(ends[1], "r");
	assert_non_null(subject.line);
	subject_heard("no secret yet");
}

/* Give an order; what it came to. */
static const char *
subject_does(const char *order, const char *argument, const char *secret)
{
	assert_true(dprintf(fileno(subject.line), "%s%s\n", order, argument) > 0);
	return subject_heard(secret);
}

static void
subject_end(void)
{
	fclose(subject.line);
	child_wait(subject.pid);
}

/* How often `secret` stands in what this range of a process's memory holds. */
static unsigned
count_in(int mem, unsigned long from, unsigned long to, const char *secret)
{
	size_t length = strlen(secret);
	char *copy = malloc(to - from);
	ssize_t n = copy != NULL ? pread(mem, copy, to - from, (off_t)from) : -1;
	unsigned found = 0;

	for (const char *at = copy; n > 0 && (at = memmem(at, (size_t)(copy + n - at), secret, length)) != NULL; at++)
		found++;
	free(copy);
	return found;
}

/* How often it stands where no core has it (MADV_DONTDUMP); nowhere else. */
static unsigned
kept(const char *secret)
{
	unsigned long from = 0, to = 0, a, b, seen = 0;
	char path[64], line[512];
	unsigned found = 0;
	FILE *maps;
	int mem;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)subject.pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%d/smaps", (int)subject.pid);
	maps = fopen(path, "re");
	assert_true(mem >= 0 && maps != NULL);
	while (fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' ')) {
			from = a;
			to = b;
		} else if (strncmp(line, "VmFlags:", 8) == 0) {
			unsigned n = count_in(mem, from, to, secret);

			seen += to - from;
			found += n;
			if (n > 0 && strstr(line, " dd") == NULL)
				fail_msg("the password stands %u times in what a core would hold", n);
		}
	}
	assert_true(seen > 100000);
	fclose(maps);
	close(mem);
	return found;
}

/* Of a client that is open. A password that is in a file is there only during an attempt to connect. */
static void
check_open(const char *secret, bool by_file)
{
	if (by_file)
		await_true(kept(secret) == 0);
	else
		assert_int_equal(kept(secret), 1);
}

static void
make_secret(char secret[25])
{
	assert_int_equal(getrandom(secret, 24, 0), 24);
	for (int i = 0; i < 24; i++)
		secret[i] = (char)('a' + (unsigned char)secret[i] % 26);
	secret[24] = '\0';
}

/* A server with a password, and the URI that names it: in itself, or by a file. */
static struct server *
start_guarded(const char *secret, bool by_file, char uri[LINE])
{
	struct server *guarded = server_start((const char *const[]){"--requirepass", secret, NULL});
	FILE *file;

	if (!by_file) {
		snprintf(uri, LINE, "unix://:%s@%s", secret, server_socket(guarded));
		return guarded;
	}
	snprintf(uri, LINE, "%s/password", server_folder(guarded));
	file = fopen(uri, "we");
	assert_non_null(file);
	fprintf(file, "%s\n", secret);
	fclose(file);
	snprintf(uri, LINE, "unix://%s?password_file=%s/password", server_socket(guarded), server_folder(guarded));
	return guarded;
}

static void
require(struct server *guarded, const char *password)
{
	freeReplyObject(server_command(guarded, "CONFIG SET requirepass %s", password));
	server_integer(guarded, "CLIENT KILL TYPE normal SKIPME yes");
	server_integer(guarded, "CLIENT KILL TYPE pubsub SKIPME yes");
}

/* In the URI, and in a file: when it is accepted, and when it is not any more. */
SENTENCE(a_password_is_in_no_core_no_log_line_and_no_text_and_nowhere_after_close)
{
	char secret[25], uri[LINE];

	if (UNDER_TSAN || UNDER_ASAN)
		return; /* their memory is too large to look through */
	for (int by_file = 0; by_file < 2; by_file++) {
		struct server *guarded;

		make_secret(secret);
		guarded = start_guarded(secret, by_file, uri);
		subject_start();
		assert_int_equal(kept(secret), 0);
		for (int i = 0; i < 2; i++) {
			assert_string_equal(subject_does("open ", uri, secret), "OK");
			check_open(secret, by_file);
			require(guarded, secret);
			await_true(strcmp(subject_does("extend", "", secret), "OK") == 0);
			check_open(secret, by_file);
			require(guarded, "another");
			await_true(strcmp(subject_does("extend", "", secret), "DENIED") == 0);
			check_open(secret, by_file);
			require(guarded, secret);
			await_true(strcmp(subject_does("extend", "", secret), "OK") == 0);
			assert_string_equal(subject_does("close", "", secret), "OK");
			assert_int_equal(kept(secret), 0);
		}
		subject_end();
		server_stop(guarded);
	}
}

SENTENCE(after_a_refused_open_a_password_is_nowhere_in_memory)
{
	static const char *const refused[] = {
		"unix://:%s@%s", "unix://:%s@/nowhere/redis.sock", "unix://:%s@/nowhere?db=x", "redis://:%s@[::1",
		"redis://:%s@127.0.0.1:1/x", "rediss://:%s@localhost?cert=x", "redis+quorum://u:%s@a,b",
		"redis+sentinel://u:%s@a/m?sentinel_user=w", "redis://u:%s@h/0?unknown=1",
	};
	char secret[25], uri[LINE];
	struct server *guarded;

	if (UNDER_TSAN || UNDER_ASAN)
		return;
	make_secret(secret);
	guarded = start_guarded("another", false, uri);
	subject_start();
	for (size_t i = 0; i < COUNT(refused); i++) {
		snprintf(uri, sizeof uri, refused[i], secret, server_socket(guarded));
		assert_string_equal(subject_does("open ", uri, secret), i == 0 ? "DENIED" : i == 1 ? "UNAVAILABLE" : "INVALID");
		assert_int_equal(kept(secret), 0);
	}
	subject_end();
	server_stop(guarded);
}

/* ---- tokens ---- */

/* Not more than eight of a uuid's digits in a row. */
static void
check_no_token(const char *text)
{
	static const char digits[] = "0123456789abcdef-";

	for (const char *at = text; *at != '\0'; at += strcspn(at, digits)) {
		size_t n = strspn(at, digits);

		if (n > 9)
			fail_msg("'%.*s' is told: %s", (int)n, at, text);
		at += n;
	}
}

/* Of a life in which much goes wrong. What a server repeats: unit/test_fault. */
SENTENCE(no_text_and_no_log_line_tells_more_than_eight_digits_of_a_token)
{
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct server *of = server_start(NULL);
	leash_client *client = leashed_open(server_uri(of), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_log = hear_line,
	                                    .log_arg = &ear, .on_event = hear_event, .event_arg = &ear));
	leash_lock *lock = leashed_lock(client, "token", NULL);
	char token[LEASH_TOKEN_MAX];

	for (int i = 0; i < 3; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
		leash_lock_token(lock, token, sizeof token);
		assert_status(LEASH_INVALID, leash_lock_adopt(lock, token, &err));
		hear(&ear, err.text);
		server_text(of, i == 0 ? "DEL leash:{token}" : i == 1 ? "PERSIST leash:{token}" : "SET leash:{token} theirs");
		if (leash_lock_extend(lock, 60000, &err) != LEASH_OK)
			hear(&ear, err.text);
		server_integer(of, "CLIENT KILL TYPE normal SKIPME yes");
		if (leash_lock_release(lock, &err) != LEASH_OK)
			hear(&ear, err.text);
	}
	assert_int_not_equal(leash_lock_acquire(lock, 100, &err), LEASH_OK);
	hear(&ear, err.text);
	leash_lock_free(lock);
	leash_close(client);
	assert_true(ear.size > 200);
	assert_string_equal(ear.unprintable, "");
	check_no_token(ear.text);
	server_stop(of);
}

static int
live_otherwise(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "password") == 0 ? live_with_a_password() : GO_ON;
}

PRELUDE(live_otherwise);
