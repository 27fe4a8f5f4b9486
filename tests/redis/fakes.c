/* See fakes.h. */
#include "tests/redis/fakes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

enum { FAKES = 8, RULES = 16, COMMAND = 64 };

struct rule {
	char command[COMMAND];
	char *bytes;
	size_t size; /* 0: it is a text of a scene */
	bool once;
};

static struct named {
	char name[16];
	struct fake *fake; /* NULL: it is gone */
	atomic_bool stopping;
	struct rule rule[RULES];
	int rules;
	pthread_mutex_t mutex; /* guards them */
} fakes[FAKES];
static int count;

static struct named *
named(const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(fakes[i].name, name) == 0)
			return &fakes[i];
	fail_msg("there is no %s", name);
	return fakes;
}

/* mutex held */
static void
remove_rule(struct named *n, int i)
{
	free(n->rule[i].bytes);
	memmove(&n->rule[i], &n->rule[i + 1], (size_t)(--n->rules - i) * sizeof n->rule[0]);
}

void
on_bytes(const char *name, const char *command, const char *bytes, size_t size, bool once)
{
	const size_t bare = size > 0 ? size & ~FAKE_CLOSE : strlen(bytes);
	struct rule rule = {.bytes = malloc(bare + 1), .size = size, .once = once};
	struct named *n = named(name);
	int i = 0;

	memcpy(rule.bytes, bytes, bare);
	rule.bytes[bare] = '\0';
	snprintf(rule.command, sizeof rule.command, "%s", command);
	pthread_mutex_lock(&n->mutex);
	while (i < n->rules && (once || strcmp(n->rule[i].command, command) != 0))
		i++;
	assert_true(i < RULES);
	if (i < n->rules)
		free(n->rule[i].bytes);
	else
		n->rules++;
	n->rule[i] = rule;
	pthread_mutex_unlock(&n->mutex);
}

/* What the rule that fits says, of which the size. True: it waits. */
static bool
follow_rules(struct named *n, const char *command, const char *second, char *out, size_t *size)
{
	bool waits = false;

	*size = FAKE_DEFAULT;
	pthread_mutex_lock(&n->mutex);
	for (int i = n->rules; i-- > 0;) {
		struct rule *rule = &n->rule[i];

		if (strncasecmp(command, rule->command, strlen(rule->command)) != 0)
			continue;
		if (rule->size > 0) {
			memcpy(out, rule->bytes, rule->size & ~FAKE_CLOSE);
			*size = rule->size;
		} else {
			waits = strcmp(rule->bytes, "waits") == 0;
			*size = strcmp(rule->bytes, "silent") == 0  ? FAKE_SILENT
			        : strcmp(rule->bytes, "close") == 0 ? FAKE_CLOSE
			                                            : scenes_wire(out, rule->bytes, second);
		}
		if (rule->once)
			remove_rule(n, i);
		break;
	}
	pthread_mutex_unlock(&n->mutex);
	return waits;
}

static size_t
answer(void *ctx, int argc, const char **argv, const size_t *argl, char *out, size_t room)
{
	struct named *n = ctx;
	char command[COMMAND] = "", second[8192] = "";
	size_t size, used = 0;

	(void)room;
	for (int i = 0; i < argc && used + 1 < sizeof command; i++, used = strlen(command))
		snprintf(command + used, sizeof command - used, "%s%.*s", i > 0 ? " " : "", (int)argl[i], argv[i]);
	if (argc > 1)
		snprintf(second, sizeof second, "%.*s", (int)argl[1], argv[1]);
	while (follow_rules(n, command, second, out, &size)) {
		if (n->stopping)
			return FAKE_SILENT;
		await_ms(1);
	}
	return size;
}

void
off(const char *name, const char *command)
{
	struct named *n = named(name);

	pthread_mutex_lock(&n->mutex);
	for (int i = n->rules; i-- > 0;)
		if (strcmp(n->rule[i].command, command) == 0)
			remove_rule(n, i);
	pthread_mutex_unlock(&n->mutex);
}

DOES(on, on_bytes(word[1], word[2], word[3], 0, false))
DOES(once, on_bytes(word[1], word[2], word[3], 0, true))
DOES(off, off(word[1], word[2]))

struct fake *
fakes_start(const char *name, bool tcp)
{
	struct named *n = &fakes[count++];

	assert_true(count <= FAKES);
	*n = (struct named){.mutex = PTHREAD_MUTEX_INITIALIZER};
	snprintf(n->name, sizeof n->name, "%s", name);
	n->fake = tcp ? fake_start_tcp(answer, n) : fake_start(answer, n);
	return n->fake;
}

static void
stop(struct named *n)
{
	n->stopping = true;
	fake_stop(n->fake);
	n->fake = NULL;
	while (n->rules > 0)
		remove_rule(n, n->rules - 1);
}

struct fake *
fake_of(const char *name)
{
	return named(name)->fake;
}

int
port_of(const char *name)
{
	return atoi(strrchr(fake_uri(fake_of(name)), ':') + 1);
}

void
read_uri(struct lsh_uri *to, const char *scheme, int most, const char *name, const char *rest)
{
	char text[512], fake[] = {name[0], '0', '\0'};
	leash_error why;

	strcpy(text, scheme);
	for (; fake[1] < '0' + most; fake[1]++)
		sprintf(text + strlen(text), "%s127.0.0.1:%d", fake[1] > '0' ? "," : "", port_of(fake));
	if (lsh_uri_parse(to, strcat(text, rest), &why) != LEASH_OK)
		fail_msg("%s", why.text);
}

DOES(fake, fakes_start(word[1], strcmp(word[2], "tcp") == 0))
DOES(stop, stop(named(word[1])))
DOES(hang_up, fake_hang_up(fake_of(word[1])))
SEES(send, seen_number(fake_send(fake_of(word[1]), word[2], strlen(word[2]))))
SEES(publish, seen_number(fake_publish(fake_of(word[1]), word[2], word[3])))
SEES(heard, seen_number(fake_count(fake_of(word[1]), *word[2] != '\0' ? word[2] : NULL)))
DOES(forget, fake_forget(fake_of(word[1])))
SEES(accepted, seen_number(fake_accepted(fake_of(word[1]))))
SEES(inside, seen_number(fake_open(fake_of(word[1]))))
SEES(port, seen_number(port_of(word[1])))

struct lsh_courier *courier;
static char lines[32768];
static atomic_size_t said, forgotten; /* so many bytes of them */
static atomic_int marks;
static const char mark[] = "all that was said before is in the log";

static void
note_line(void *ctx, leash_log_level level, const char *line)
{
	(void)ctx, (void)level;
	if (strcmp(line, mark) == 0)
		marks++;
	else if (strlen(line) + 2 < sizeof lines - said)
		said += (size_t)sprintf(lines + said, "%s\n", line);
}

void
log_start(void)
{
	said = forgotten = 0;
	courier = lsh_courier_new(note_line, NULL);
	assert_non_null(courier);
}

void
fakes_stop(void)
{
	while (count > 0)
		stop(&fakes[--count]);
	if (courier != NULL)
		lsh_courier_stop(courier);
	lsh_courier_free(courier);
	courier = NULL;
}

static const char *
log_text(void)
{
	const int before = marks;

	lsh_courier_log(courier, LEASH_LOG_INFO, mark);
	await_true(marks > before);
	return seen("%.*s", (int)(said - forgotten), lines + forgotten);
}

SEES(log, log_text())
SEES(logged, seen_number(times_in(log_text(), word[1])))
DOES(forget_log, forgotten += strlen(log_text()))
