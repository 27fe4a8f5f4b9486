/* What must not come out: passwords in cores, logs and texts, tokens in logs and texts.
 *
 * This process never has a password but through leash: here are their complements, of which a child makes them. */
#include "tests/fault/refused.h"
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/sanitizer.h"
#include "tests/support/one_server.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

static leash_error err; /* what the last call said */
static struct ear ear = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
start(void)
{
	start_server();
	ear.size = 0;
}

FIXTURE(start, stop_server);

static const char *
path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", server_folder(server), name);
	return path;
}

/* ---- a password that is looked for ---- */

enum { LENGTH = 24, URI = 512 };

static char before[URI], behind[URI]; /* the password in the URI */
static unsigned char complement[LENGTH]; /* of it */

/* In a child: write the password down, and the URI, and let the user in. */
static int
let_in(void *arg)
{
	redisContext *c = server_connect(server);
	char secret[LENGTH + 1] = "", text[2 * URI + LENGTH];

	(void)arg;
	for (int i = 0; i < LENGTH; i++)
		secret[i] = (char)(complement[i] ^ 0xff);
	free(sweep_file(server_folder(server), "password", secret));
	snprintf(text, sizeof text, "%s%s%s", before, behind[0] != '\0' ? secret : "", behind);
	free(sweep_file(server_folder(server), "uri", text));
	freeReplyObject(redisCommand(c, "ACL SETUSER guarded reset on >%s ~* &* +@all", secret));
	redisFree(c);
	return 0;
}

/* Of small letters: of an 'a' the complement is ~'a', and of each further one it is one less. */
static void
make_secret(void)
{
	assert_int_equal(getrandom(complement, LENGTH, 0), LENGTH);
	for (int i = 0; i < LENGTH; i++)
		complement[i] = (unsigned char)(~'a' - complement[i] % 26);
	child_wait(child_run(let_in, NULL));
}

static leash_status
open_by_secret(leash_client **client)
{
	static char told[2 * URI];
	int fd = open(path_of("uri"), O_RDONLY | O_CLOEXEC);

	assert_true(read(fd, told, sizeof told - 1) > 0);
	close(fd);
	leash_status status = leash_open(client, LEASH_OPTIONS(.uri = told, .timeout_ms = patience_ms(), .lease_ms = 60000,
	                                          .on_log = hear_line, .log_arg = &ear, .on_event = hear_event,
	                                          .event_arg = &ear), &err);
	explicit_bzero(told, sizeof told);
	return status;
}

/* How often it stands in what this range of our memory holds. */
static unsigned
count_in(int mem, unsigned long from, unsigned long to)
{
	unsigned char *copy = malloc(to - from);
	ssize_t n = copy != NULL ? pread(mem, copy, to - from, (off_t)from) : -1;
	unsigned found = 0;

	for (ssize_t i = 0, j; i + LENGTH <= n; i++) {
		for (j = 0; j < LENGTH && (copy[i + j] ^ 0xff) == complement[j];)
			j++;
		found += j == LENGTH;
	}
	if (copy != NULL)
		explicit_bzero(copy, to - from);
	free(copy);
	return found;
}

/* How often it stands where no core has it (MADV_DONTDUMP); nowhere else, and so in no line that was logged, nor in a
 * text that was told. */
static unsigned
kept(void)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long from = 0, to = 0, a, b, seen = 0;
	unsigned found = 0;
	char line[512];

	assert_true(mem >= 0 && maps != NULL);
	while (fgets(line, sizeof line, maps) != NULL) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2 && strchr(line, '-') < strchr(line, ' ')) {
			from = a;
			to = b;
		} else if (strncmp(line, "VmFlags:", 8) == 0) {
			unsigned n = count_in(mem, from, to);

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

/* A client is open. A password that is in a file is there only during an attempt to connect. */
static void
check_open(bool by_file)
{
	if (by_file)
		await_true(kept() == 0);
	else
		assert_int_equal(kept(), 1);
}

static bool
extends(leash_lock *lock, leash_status expected)
{
	leash_status status = leash_lock_extend(lock, 60000, &err);

	hear(&ear, err.text);
	return status == expected;
}

/* When it is accepted, over a connection that was cut, when it is not accepted any more, and when it is again. */
static void
live_with_a_password(bool by_file)
{
	leash_client *client = NULL;

	assert_status(LEASH_OK, open_by_secret(&client));
	leash_lock *lock = leashed_lock(client, "secret", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 10000, &err));
	check_open(by_file);
	server_integer(server, "CLIENT KILL USER guarded");
	await_true(extends(lock, LEASH_OK));
	check_open(by_file);
	server_text(server, "ACL SETUSER guarded resetpass >another");
	server_integer(server, "CLIENT KILL USER guarded");
	await_true(extends(lock, LEASH_DENIED));
	check_open(by_file);
	child_wait(child_run(let_in, NULL));
	await_true(extends(lock, LEASH_OK));
	leash_lock_release(lock, NULL);
	leash_lock_free(lock);
	leash_close(client);
	assert_int_equal(kept(), 0);
}

/* In the URI, and in a file. */
SENTENCE(a_password_is_in_no_core_no_log_line_and_no_text_and_nowhere_after_close)
{
	if (UNDER_TSAN || UNDER_ASAN)
		return; /* their memory is too large to look through */
	for (int by_file = 1; by_file >= 0; by_file--) {
		snprintf(before, sizeof before, "unix://guarded@%s?password_file=%s", server_socket(server), path_of("password"));
		if (!by_file) {
			strcpy(before, "unix://guarded:");
			snprintf(behind, sizeof behind, "@%s", server_socket(server));
		}
		make_secret();
		assert_int_equal(kept(), 0);
		for (int i = 0; i < 2; i++)
			live_with_a_password(by_file);
	}
}

SENTENCE(after_a_refused_open_a_password_is_nowhere_in_memory)
{
	static const struct {
		const char *before, *behind;
		leash_status status;
	} refused[] = {
		{"unix://nobody:", "@", LEASH_DENIED}, {"unix://:", "@/nowhere/redis.sock", LEASH_UNAVAILABLE},
		{"unix://:", "@/nowhere?db=x", LEASH_INVALID}, {"redis://:", "@[::1", LEASH_INVALID},
		{"redis://:", "@127.0.0.1:1/x", LEASH_INVALID}, {"rediss://:", "@localhost?cert=x", LEASH_INVALID},
		{"redis+quorum://u:", "@a,b", LEASH_INVALID}, {"redis+sentinel://u:", "@a/m?sentinel_user=w", LEASH_INVALID},
		{"redis://u:", "@h/0?unknown=1", LEASH_INVALID},
	};
	leash_client *none = NULL;

	if (UNDER_TSAN || UNDER_ASAN)
		return;
	for (size_t i = 0; i < COUNT(refused); i++) {
		snprintf(before, sizeof before, "%s", refused[i].before);
		snprintf(behind, sizeof behind, "%s%s", refused[i].behind, i == 0 ? server_socket(server) : "");
		make_secret();
		assert_status(refused[i].status, open_by_secret(&none));
		assert_int_equal(kept(), 0);
	}
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
	leash_client *client = leashed_open(uri, LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_log = hear_line,
	                                    .log_arg = &ear, .on_event = hear_event, .event_arg = &ear));
	leash_lock *lock = leashed_lock(client, "token", NULL);
	char token[LEASH_TOKEN_MAX];

	for (int i = 0; i < 3; i++) {
		assert_status(LEASH_OK, leash_lock_acquire(lock, 20000, &err));
		leash_lock_token(lock, token, sizeof token);
		assert_status(LEASH_INVALID, leash_lock_adopt(lock, token, &err));
		hear(&ear, err.text);
		server_text(server, i == 0 ? "DEL leash:{token}" : i == 1 ? "PERSIST leash:{token}" : "SET leash:{token} theirs");
		if (leash_lock_extend(lock, 60000, &err) != LEASH_OK)
			hear(&ear, err.text);
		server_integer(server, "CLIENT KILL TYPE normal SKIPME yes");
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
}
