/* See seers.h. */
#include "tests/redis/seers.h"

#include "tests/support/await.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a sentinel that says what it was told to ---- */

struct seer seers[SEERS + 1];

static size_t
put(char *out, size_t size, size_t at, const char *word)
{
	return at + fake_say(out + at, size - at, "$%zu\r\n%s\r\n", strlen(word), word);
}

static size_t
put_number(char *out, size_t size, size_t at, unsigned number)
{
	char word[24];

	snprintf(word, sizeof word, "%u", number);
	return put(out, size, at, word);
}

static size_t
say_address(struct seer *s, char *out, size_t size)
{
	size_t n = fake_say(out, size, "*2\r\n");

	return put_number(out, size, put(out, size, n, s->host), (unsigned)s->port);
}

/* As long as a real one: most of it is of no use to anybody here. */
size_t
seer_say_master(struct seer *s, char *out, size_t size)
{
	size_t n = fake_say(out, size, "*40\r\n");

	n = put(out, size, put(out, size, n, "name"), "main");
	n = put(out, size, put(out, size, n, "ip"), s->host);
	n = put_number(out, size, put(out, size, n, "port"), (unsigned)s->port);
	n = put(out, size, put(out, size, n, "flags"), "master");
	n = put_number(out, size, put(out, size, n, "role-reported-time"), s->role_ms);
	n = put_number(out, size, put(out, size, n, "config-epoch"), s->epoch);
	for (int i = 6; i < 20; i++)
		n = put(out, size, put(out, size, n, "link-pending-commands"), "0");
	return n;
}

static size_t
say_others(struct seer *s, char *out, size_t size)
{
	size_t n = fake_say(out, size, "*%d\r\n", s->other != 0);

	if (s->other == 0)
		return n;
	n += fake_say(out + n, size - n, "*6\r\n");
	n = put(out, size, put(out, size, n, "name"), "0011");
	n = put(out, size, put(out, size, n, "ip"), "127.0.0.1");
	return put_number(out, size, put(out, size, n, "port"), (unsigned)s->other);
}

static size_t
say_sentinel(struct seer *s, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	bool known = argc == 3 && fake_is(argc, argv, argl, 2, "main") && s->mood != STRANGE;

	if (s->babble != NULL)
		return fake_say(out, size, "%s", s->babble);
	if (fake_is(argc, argv, argl, 1, "GET-MASTER-ADDR-BY-NAME"))
		return known ? say_address(s, out, size) : fake_say(out, size, "*-1\r\n");
	if (s->mood == TERSE)
		return fake_say(out, size, "-NOPERM this user has no permissions to run the 'sentinel|%.*s' command\r\n",
		                (int)argl[1], argv[1]);
	if (!known)
		return fake_say(out, size, "-ERR No such master with that name\r\n");
	return fake_is(argc, argv, argl, 1, "MASTER") ? seer_say_master(s, out, size) : say_others(s, out, size);
}

static size_t
say_info(struct seer *s, char *out, size_t size)
{
	char info[128];
	size_t n = fake_say(info, sizeof info, "# Server\r\nredis_version:7.0.15\r\nredis_mode:%s\r\n",
	                    s->mood == ORDINARY ? "standalone" : "sentinel");

	return fake_say(out, size, "$%zu\r\n%s\r\n", n, info);
}

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct seer *s = ctx;
	size_t n;

	if (s->mood == MUTE)
		return FAKE_SILENT;
	if (s->mood == CLOSING)
		return FAKE_CLOSE;
	if (fake_is(argc, argv, argl, 0, "INFO"))
		return say_info(s, out, size);
	if (s->mood == DENYING && fake_is(argc, argv, argl, 0, "AUTH"))
		return fake_say(out, size, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
	/* a sentinel does not know these */
	if (fake_is(argc, argv, argl, 0, "TIME") || fake_is(argc, argv, argl, 0, "SELECT"))
		return fake_say(out, size, "-ERR unknown command '%.*s'\r\n", (int)argl[0], argv[0]);
	if (!fake_is(argc, argv, argl, 0, "SENTINEL"))
		return FAKE_DEFAULT;
	if (s->closes > 0) {
		s->closes--;
		return FAKE_CLOSE;
	}
	pthread_mutex_lock(&s->gate);
	n = say_sentinel(s, argc, argv, argl, out, size);
	pthread_mutex_unlock(&s->gate);
	return s->cut != 0 && s->cut < n ? s->cut | FAKE_CLOSE : n;
}

int
port_of(const struct fake *fake)
{
	return atoi(strrchr(fake_uri(fake), ':') + 1);
}

static void
start_seer(struct seer *s)
{
	s->fake = fake_start_tcp(answer, s);
}

void
stop_seer(struct seer *s)
{
	fake_stop(s->fake);
	s->fake = NULL;
}

void
seer_names(struct seer *s, int port, unsigned epoch)
{
	s->port = port;
	s->epoch = epoch;
}

static void note_line(void *ctx, leash_log_level level, const char *line);

void
start_seers(void)
{
	courier = lsh_courier_new(note_line, NULL);
	assert_non_null(courier);
	for (int i = 0; i <= SEERS; i++) {
		struct seer *s = &seers[i];

		s->mood = HONEST;
		seer_names(s, 1000, 7);
		s->role_ms = 0;
		s->other = 0;
		s->host = "127.0.0.1";
		s->babble = NULL;
		s->cut = 0;
		s->closes = 0;
		pthread_mutex_init(&s->gate, NULL);
		start_seer(s);
	}
}

void
stop_seers(void)
{
	for (int i = 0; i <= SEERS; i++)
		stop_seer(&seers[i]);
	lsh_courier_stop(courier);
	lsh_courier_free(courier);
}

size_t
seer_asked(struct seer *s)
{
	return fake_count(s->fake, "SENTINEL GET-MASTER-ADDR-BY-NAME");
}

/* ---- what they are asked by, and what is said of it ---- */

struct lsh_uri uri;
leash_error err;
struct lsh_courier *courier;
static const char mark[] = "all that was said before is in the log";
static atomic_int marks;
static char told[4096]; /* all lines of the log */
static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;

static void
note_line(void *ctx, leash_log_level level, const char *line)
{
	(void)ctx, (void)level;
	if (strcmp(line, mark) == 0) {
		marks++;
		return;
	}
	pthread_mutex_lock(&told_mutex);
	if (strlen(told) + strlen(line) + 2 < sizeof told)
		strcat(strcat(told, line), "\n");
	pthread_mutex_unlock(&told_mutex);
}

bool
was_told(const char *part)
{
	int before = marks;
	bool was;

	lsh_courier_log(courier, LEASH_LOG_INFO, mark);
	await_true(marks > before);
	pthread_mutex_lock(&told_mutex);
	was = strstr(told, part) != NULL;
	pthread_mutex_unlock(&told_mutex);
	return was;
}

void
forget_told(void)
{
	pthread_mutex_lock(&told_mutex);
	told[0] = '\0';
	pthread_mutex_unlock(&told_mutex);
}

void
write_uri(int count, const char *query)
{
	char text[512];
	int n = snprintf(text, sizeof text, "redis+sentinel://");

	for (int i = 0; i < count; i++)
		n += snprintf(text + n, sizeof text - (size_t)n, "%s127.0.0.1:%d", i > 0 ? "," : "", port_of(seers[i].fake));
	snprintf(text + n, sizeof text - (size_t)n, "/main%s", query);
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s", err.text);
}
