/* What must not come out: passwords in cores, logs and texts, tokens in logs and texts.
 *
 * To have a process whose memory has never seen a password but through leash, the program runs itself again; see main(). */
#include "tests/fault/parrot.h"
#include "tests/fault/refused.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static leash_error err; /* what the last call said */

/* ---- a process with a password ---- */

enum { LINE = 512 };

static void
say(const char *head, const char *text)
{
	char line[2 * LINE];
	int n = snprintf(line, sizeof line, "%s %s\n", head, text);

	if (write(1, line, (size_t)n) != n)
		_exit(1);
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

/* Say that it is there, and do as told by lines, each of which is answered by one: "open <uri>", "extend", "close". What leash tells comes
 * in between. */
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
			status = leash_open(&client, LEASH_OPTIONS(.uri = order + 5, .timeout_ms = patience_ms(), .lease_ms = 60000, .on_log = say_line, .on_event = say_event),
			                    &err);
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
struct subject {
	pid_t pid;
	int to, from;
	char told[65536]; /* all that it said */
	size_t size, heard;
};

/* Until it has done what it was told; the name of the status that it came to. */
static const char *
subject_heard(struct subject *s)
{
	const char *done;

	while ((done = strstr(s->told + s->heard, "done ")) == NULL || strchr(done, '\n') == NULL) {
		ssize_t more = read(s->from, s->told + s->size, sizeof s->told - 1 - s->size);

		assert_true(more > 0);
		s->size += (size_t)more;
	}
	*strchr(done, '\n') = '\0';
	s->heard = (size_t)(done - s->told) + strlen(done) + 1; /* what comes behind is heard next */
	return done + 5;
}

/* When this returns it is itself, and not what was forked any more: that knows all that this process knows. */
static void
subject_start(struct subject *s)
{
	int in[2], out[2];

	memset(s, 0, sizeof *s);
	assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	fflush(NULL);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/proc/self/exe", "test_secrets", "password", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s->to = in[1];
	s->from = out[0];
	subject_heard(s);
}

/* Give an order; what it came to. */
static const char *
subject_does(struct subject *s, const char *order, const char *argument)
{
	char line[LINE];
	int n = snprintf(line, sizeof line, "%s%s\n", order, argument);

	assert_int_equal(write(s->to, line, (size_t)n), n);
	return subject_heard(s);
}

static void
subject_end(struct subject *s)
{
	close(s->to);
	child_wait(s->pid);
	close(s->from);
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

/* How often it stands in what a core would hold, and in what was taken out of it (MADV_DONTDUMP). */
static void
look_through(pid_t pid, const char *secret, unsigned *dumped, unsigned *kept)
{
	char path[64], line[512];
	unsigned long from = 0, to = 0, a, b;
	size_t seen = 0;
	FILE *maps;
	int mem;

	*dumped = *kept = 0;
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "/proc/%d/smaps", (int)pid);
	maps = fopen(path, "re");
	assert_true(mem >= 0 && maps != NULL);
	while (fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' ')) {
			from = a;
			to = b;
		} else if (strncmp(line, "VmFlags:", 8) == 0) {
			unsigned n = count_in(mem, from, to, secret);

			seen += to - from;
			*(strstr(line, " dd") != NULL ? kept : dumped) += n;
		}
	}
	assert_true(seen > 100000);
	fclose(maps);
	close(mem);
}

/* How often it stands where no core has it. */
static unsigned
kept(const struct subject *s, const char *secret)
{
	unsigned in_core, aside;

	look_through(s->pid, secret, &in_core, &aside);
	if (in_core != 0)
		fail_msg("the password stands %u times in what a core would hold, and %u times in what it would not", in_core, aside);
	return aside;
}

/* Of a client that is open. A password that is in a file is there only during an attempt to connect. */
static void
check_open(const struct subject *s, const char *secret, bool by_file)
{
	if (by_file)
		await_true(kept(s, secret) == 0);
	else
		assert_int_equal(kept(s, secret), 1);
}

/* A core by gcore, where there is one; in that folder. */
static bool
check_core(const struct subject *s, const char *folder, const char *secret)
{
	char command[512], path[256];
	struct stat about;
	char *core;
	int fd;

	if (system("command -v gcore >/dev/null 2>&1") != 0)
		return false;
	snprintf(command, sizeof command, "DEBUGINFOD_URLS= gcore -o %s/core %d >/dev/null 2>&1 </dev/null", folder, (int)s->pid);
	snprintf(path, sizeof path, "%s/core.%d", folder, (int)s->pid);
	if (system(command) != 0 || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return false;
	assert_int_equal(fstat(fd, &about), 0);
	core = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(core != MAP_FAILED);
	assert_non_null(memmem(core, (size_t)about.st_size, "redis", 5));
	assert_null(memmem(core, (size_t)about.st_size, secret, strlen(secret)));
	munmap(core, (size_t)about.st_size);
	close(fd);
	unlink(path);
	return true;
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

SENTENCE(a_password_is_in_no_core_no_log_line_and_no_text)
{
	char secret[25], uri[LINE];
	static struct subject s;
	bool cored = false;

	if (UNDER_TSAN || UNDER_ASAN)
		return; /* their memory is too large to look through */
	for (int by_file = 0; by_file < 2; by_file++) {
		struct server *guarded;

		make_secret(secret);
		guarded = start_guarded(secret, by_file, uri);
		subject_start(&s);
		assert_string_equal(subject_does(&s, "open ", uri), "OK");
		check_open(&s, secret, by_file);
		server_integer(guarded, "CLIENT KILL TYPE normal SKIPME yes");
		server_integer(guarded, "CLIENT KILL TYPE pubsub SKIPME yes");
		await_true(strcmp(subject_does(&s, "extend", ""), "OK") == 0);
		check_open(&s, secret, by_file);
		/* and when it is refused */
		freeReplyObject(server_command(guarded, "CONFIG SET requirepass another"));
		server_integer(guarded, "CLIENT KILL TYPE normal SKIPME yes");
		await_true(strcmp(subject_does(&s, "extend", ""), "DENIED") == 0);
		check_open(&s, secret, by_file);
		cored = check_core(&s, server_folder(guarded), secret);
		freeReplyObject(server_command(guarded, "CONFIG SET requirepass %s", secret));
		await_true(strcmp(subject_does(&s, "extend", ""), "OK") == 0);
		assert_string_equal(subject_does(&s, "close", ""), "OK");
		assert_null(memmem(s.told, s.size, secret, strlen(secret)));
		assert_non_null(memmem(s.told, s.size, "connected", 9));
		subject_end(&s);
		server_stop(guarded);
	}
	print_message("# looked through by /proc/PID/mem%s\n", cored ? " and by gcore" : "");
}

SENTENCE(after_close_and_after_a_refused_open_a_password_is_nowhere_in_memory)
{
	static const char *const refused[] = {"unix://:%s@/nowhere/redis.sock", "unix://:%s@/nowhere?db=x", "redis://:%s@[::1", "redis://:%s@127.0.0.1:1/x",
	                                      "rediss://:%s@localhost?cert=x", "redis+quorum://u:%s@a,b", "redis+sentinel://u:%s@a/m?sentinel_user=w",
	                                      "redis://u:%s@h/0?unknown=1"};
	char secret[25], another[25], uri[LINE];
	static struct subject s;

	if (UNDER_TSAN || UNDER_ASAN)
		return; /* their memory is too large to look through */
	for (int by_file = 0; by_file < 2; by_file++) {
		struct server *guarded;

		make_secret(secret);
		make_secret(another);
		guarded = start_guarded(secret, by_file, uri);
		subject_start(&s);
		assert_int_equal(kept(&s, secret), 0);
		for (int i = 0; i < 3; i++) {
			assert_string_equal(subject_does(&s, "open ", uri), "OK");
			check_open(&s, secret, by_file);
			assert_string_equal(subject_does(&s, "close", ""), "OK");
			assert_int_equal(kept(&s, secret), 0);
		}
		snprintf(uri, sizeof uri, "unix://:%s@%s", another, server_socket(guarded));
		assert_string_equal(subject_does(&s, "open ", uri), "DENIED");
		assert_int_equal(kept(&s, another), 0);
		for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
			snprintf(uri, sizeof uri, refused[i], another);
			assert_string_not_equal(subject_does(&s, "open ", uri), "OK");
			assert_int_equal(kept(&s, another), 0);
		}
		assert_null(memmem(s.told, s.size, secret, strlen(secret)));
		assert_null(memmem(s.told, s.size, another, strlen(another)));
		subject_end(&s);
		server_stop(guarded);
	}
}

/* ---- a server that repeats what it hears ---- */

/* The uuids of all clients, as the fake has heard them. */
static size_t
gather_uuids(struct fake *fake, char uuid[][37], size_t most)
{
	size_t count = 0;
	char *command;

	for (size_t n = 0; (command = fake_command(fake, n)) != NULL; n++) {
		for (const char *at = command; count < most && strlen(at) >= 36; at++) {
			size_t i = 0;

			while (i < 36 && (i == 8 || i == 13 || i == 18 || i == 23 ? at[i] == '-' : isxdigit((unsigned char)at[i]) != 0))
				i++;
			if (i < 36 || (count > 0 && memcmp(uuid[count - 1], at, 36) == 0))
				continue;
			memcpy(uuid[count], at, 36);
			uuid[count++][36] = '\0';
		}
		free(command);
	}
	return count;
}

/* Not more than eight digits in a row of any of them. */
static void
check_no_token(const char *text, char uuid[][37], size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int from = 0; from + 10 <= 36; from++)
			if (memmem(text, strlen(text), uuid[i] + from, 10) != NULL)
				fail_msg("'%.10s' of the token's %s is told: %s", uuid[i] + from, uuid[i], text);
}

SENTENCE(no_text_and_no_log_line_tells_more_than_eight_digits_of_a_token)
{
	static const char *const commands[] = {"EVALSHA", "EVAL", "SCRIPT", "SUBSCRIBE", "CLIENT", "TIME", "INFO", NULL};
	static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	static char uuid[512][37];
	struct fake *fake = parrot_start();
	size_t count;

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		leash_client *client = NULL;
		leash_lock *lock;
		leash_status status;

		parrot_repeats = commands[i];
		status = leash_open(&client, LEASH_OPTIONS(.uri = fake_uri(fake), .timeout_ms = 300, .on_log = hear_line, .log_arg = &ear, .on_event = hear_event,
		                                           .event_arg = &ear), &err);
		if (status != LEASH_OK) {
			hear(&ear, err.text);
			continue;
		}
		lock = leashed_lock(client, "token", NULL);
		for (int j = 0; j < 3; j++) {
			if (leash_lock_acquire(lock, j * 20, &err) != LEASH_OK)
				hear(&ear, err.text);
			if (leash_lock_release(lock, &err) != LEASH_OK)
				hear(&ear, err.text);
			fake_hang_up(fake);
		}
		fake_send_subscribers(fake, "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$8\r\nnonsense\r\n", 43);
		await_ms(20);
		leash_lock_free(lock);
		leash_close(client);
	}
	count = gather_uuids(fake, uuid, 512);
	print_message("# %zu bytes of texts and log lines about %zu tokens and channels\n", ear.size, count);
	assert_true(ear.size > 200 && count > 3);
	assert_string_equal(ear.unprintable, "");
	check_no_token(ear.text, uuid, count);
	fake_stop(fake);
}

static int
live_otherwise(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "password") == 0 ? live_with_a_password() : GO_ON;
}

PRELUDE(live_otherwise);
