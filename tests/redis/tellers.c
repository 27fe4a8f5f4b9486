/* See tellers.h. */
#include "tests/redis/tellers.h"

#include "tests/support/await.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct teller tellers[TELLERS];
struct lsh_cluster *cluster;
struct lsh_uri uri;
leash_error err;
atomic_int changes;

static struct lsh_courier *courier;
static const char mark[] = "all that was said before is in the log";
static atomic_int marks;
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char logged[16384]; /* since the cluster was made */

/* ---- nodes that say what they were told ---- */

static size_t
tell(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t size)
{
	struct teller *t = ctx;
	size_t n;

	if (!fake_is(argc, argv, argl, 0, "CLUSTER"))
		return FAKE_DEFAULT;
	if (fake_is(argc, argv, argl, 1, "INFO")) { /* which comes first */
		t->questions++;
		while (t->manner == WAITS)
			usleep(1000);
	}
	if (t->manner == HANGS)
		return FAKE_SILENT;
	pthread_mutex_lock(&t->mutex);
	n = fake_say(out, size, "%s", fake_is(argc, argv, argl, 1, "SLOTS") ? t->slots : t->info);
	pthread_mutex_unlock(&t->mutex);
	return n;
}

static void
start_teller(struct teller *t)
{
	*t = (struct teller){.mutex = PTHREAD_MUTEX_INITIALIZER};
	snprintf(t->info, sizeof t->info, "-NOPERM User default has no permissions to run the 'cluster|info' command\r\n");
	t->fake = fake_start_tcp(tell, t);
	t->port = atoi(strrchr(fake_uri(t->fake), ':') + 1);
}

static char *
put_range(char *text, int from, int to, const char *host, int port, char id)
{
	char name[64];

	if (host == NULL)
		snprintf(name, sizeof name, "$-1\r\n");
	else
		snprintf(name, sizeof name, "$%zu\r\n%s\r\n", strlen(host), host);
	return text + sprintf(text, "*3\r\n:%d\r\n:%d\r\n*4\r\n%s:%d\r\n$40\r\n%c%039d\r\n*0\r\n", from, to, name, port,
	                      id, 0);
}

void
says_slots(struct teller *t, const char *text)
{
	pthread_mutex_lock(&t->mutex);
	snprintf(t->slots, sizeof t->slots, "%s", text);
	pthread_mutex_unlock(&t->mutex);
}

void
says_map(struct teller *t, const char *ranges)
{
	char text[1024], *end = text + 4, host[64], id, port;
	int from, to, size = 0, count = 0;

	for (; sscanf(ranges, "%d-%d %c%c %63[^,]%n", &from, &to, &id, &port, host, &size) == 5; count++) {
		const char *name = strcmp(host, "''") == 0 ? "" : strcmp(host, "nil") == 0 ? NULL : host;

		end = put_range(end, from, to, name, A + port - 'A', id);
		ranges += size + (ranges[size] == ',');
	}
	assert_int_equal(*ranges, '\0');
	sprintf(host, "*%d\r\n", count);
	memcpy(text, host, 4);
	says_slots(t, text);
}

void
says(struct teller *t, int first, int second)
{
	char text[64];

	snprintf(text, sizeof text, "0-99 a%c 127.0.0.1, 100-16383 b%c 127.0.0.1", 'A' + first - A, 'A' + second - A);
	says_map(t, text);
}

void
says_info(struct teller *t, const char *state, int epoch)
{
	char text[128];
	int n = snprintf(text, sizeof text, "cluster_enabled:1\r\ncluster_state:%s\r\ncluster_current_epoch:%d\r\n",
	                 state, epoch);

	pthread_mutex_lock(&t->mutex);
	snprintf(t->info, sizeof t->info, "$%d\r\n%s\r\n", n, text);
	pthread_mutex_unlock(&t->mutex);
}

void
says_all(struct teller *t, int first, int second, const char *state, int epoch)
{
	says(t, first, second);
	says_info(t, state, epoch);
}

/* ---- a cluster, as the library sees it ---- */

static void
changed(void *ctx)
{
	(void)ctx;
	changes++;
}

static void
log_line(void *ctx, leash_log_level level, const char *line)
{
	size_t n;

	(void)ctx, (void)level;
	if (strcmp(line, mark) == 0) {
		marks++;
		return;
	}
	pthread_mutex_lock(&log_mutex);
	n = strlen(logged);
	snprintf(logged + n, sizeof logged - n, "%s\n", line);
	pthread_mutex_unlock(&log_mutex);
}

int
times_logged(const char *text)
{
	int n = 0, before = marks;

	lsh_courier_log(courier, LEASH_LOG_INFO, mark);
	await_true(marks > before);
	pthread_mutex_lock(&log_mutex);
	for (const char *found = logged; (found = strstr(found, text)) != NULL; found++)
		n++;
	pthread_mutex_unlock(&log_mutex);
	return n;
}

bool
was_logged(const char *text)
{
	return times_logged(text) > 0;
}

static void
forget_log(void)
{
	was_logged(mark); /* what is under way comes first */
	pthread_mutex_lock(&log_mutex);
	logged[0] = '\0';
	pthread_mutex_unlock(&log_mutex);
}

void
make_cluster(const char *text, int64_t timeout, int64_t period)
{
	struct lsh_cluster_options options = {
		.uri = &uri, .name = "leash:test", .courier = courier, .timeout = timeout, .period = period, .changed = changed,
	};

	forget_log();
	changes = 0;
	err = (leash_error){0};
	if (lsh_uri_parse(&uri, text, &err) != LEASH_OK)
		fail_msg("%s", err.text);
	cluster = lsh_cluster_new(&options);
	assert_non_null(cluster);
}

leash_status
open_uri(const char *text, int64_t timeout)
{
	make_cluster(text, timeout, 0);
	return lsh_cluster_open(cluster, &err);
}

leash_status
open_with(const char *query, int64_t timeout, int count)
{
	char text[256] = "redis+cluster://";

	for (int i = 0; i < count; i++)
		sprintf(text + strlen(text), "%s127.0.0.1:%d", i > 0 ? "," : "", tellers[i].port);
	strcat(text, query);
	return open_uri(text, timeout);
}

void
the_open_fails(const char *query, int count, leash_status status, const char *part)
{
	assert_int_equal(open_with(query, TIMEOUT, count), status);
	if (strstr(err.text, part) == NULL || strstr(err.text, "redis+cluster://") == NULL)
		fail_msg("%s", err.text);
}

void
must_open_with(const char *query, int count)
{
	if (open_with(query, TIMEOUT, count) != LEASH_OK)
		fail_msg("%s", err.text);
}

void
must_open(int count)
{
	must_open_with("", count);
}

void
open_first(void)
{
	says(&tellers[0], A, B);
	must_open(1);
}

void
close_cluster(void)
{
	lsh_cluster_stop(cluster);
	lsh_cluster_free(cluster);
	cluster = NULL;
	lsh_uri_clear(&uri);
}

int
at(unsigned slot)
{
	int index = lsh_cluster_at(cluster, slot);

	return index == LSH_NO_SERVER ? -1 : lsh_cluster_server(cluster, index)->port;
}

void
the_map_is(const char *text)
{
	unsigned slot;
	int size = 0;
	char who;
	const char *rest = text;

	for (; sscanf(rest, " %u=%c%n", &slot, &who, &size) == 2; rest += size)
		if (at(slot) != (who == '-' ? -1 : A + who - 'A'))
			fail_msg("slot %u is at %d, not as in %s", slot, at(slot), text);
	assert_int_equal(*rest, '\0');
}

int
servers(void)
{
	int n = 0;

	for (int i = 0; i < LSH_SERVERS; i++)
		n += lsh_cluster_server(cluster, i) != NULL;
	return n;
}

void
have_asked(struct teller *t)
{
	int before = t->questions;

	lsh_cluster_refresh(cluster);
	await_true(t->questions > before);
}

void
look(struct teller *t, int times)
{
	int until = t->questions + times;

	while (t->questions < until)
		have_asked(t);
	have_asked(t); /* which begins when the last answer was judged */
}

/* ---- fixtures ---- */

void
start_tellers(void)
{
	courier = lsh_courier_new(log_line, NULL);
	assert_non_null(courier);
	for (int i = 0; i < TELLERS; i++)
		start_teller(&tellers[i]);
}

void
stop_tellers(void)
{
	if (cluster != NULL)
		close_cluster();
	for (int i = 0; i < TELLERS; i++) {
		tellers[i].manner = SAYS;
		fake_stop(tellers[i].fake);
	}
	lsh_courier_stop(courier);
	lsh_courier_free(courier);
}
