/* See fakes.h. */
#include "tests/redis/fakes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

enum { FAKES = 8, RULES = 16, COMMAND = 64 };

/* What bytes may be instead. */
static const char *const instead[] = {"silent", "close", "waits"};
static const size_t codes[] = {FAKE_SILENT, FAKE_CLOSE, 0};

struct rule {
	char command[COMMAND];
	char *bytes;
	size_t size; /* or a code */
	bool once, waits, is_text;
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

/* ---- rules ---- */

/* mutex held */
static void
remove_rule(struct named *n, int i)
{
	free(n->rule[i].bytes);
	memmove(&n->rule[i], &n->rule[i + 1], (size_t)(--n->rules - i) * sizeof n->rule[0]);
}

static void
add_rule(const char *name, const char *command, const char *bytes, size_t size, bool is_text, bool once)
{
	const size_t bare = size & ~FAKE_CLOSE;
	struct rule rule = {.bytes = malloc(bare + 1), .size = size, .is_text = is_text, .once = once};
	struct named *n = named(name);
	int i = 0;

	assert_in_range(size, 1, FAKE_MOST | FAKE_CLOSE);
	memcpy(rule.bytes, bytes, bare);
	rule.bytes[bare] = '\0';
	snprintf(rule.command, sizeof rule.command, "%s", command);
	for (size_t k = 0; k < COUNT(instead); k++)
		if (is_text && strcmp(bytes, instead[k]) == 0) {
			rule.size = codes[k];
			rule.waits = codes[k] == 0;
			rule.bytes[0] = '\0';
		}
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

/* What the rule that fits says, of which the size; FAKE_DEFAULT: none. True: it waits. */
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
		waits = rule->waits;
		*size = rule->size;
		if (rule->is_text && rule->bytes[0] != '\0')
			*size = scenes_wire(out, rule->bytes, second);
		else
			memcpy(out, rule->bytes, rule->size & FAKE_SILENT ? 0 : rule->size & ~FAKE_CLOSE);
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
	for (int i = 0; i < argc && used + 1 < sizeof command; i++) {
		snprintf(command + used, sizeof command - used, "%s%.*s", i > 0 ? " " : "", (int)argl[i], argv[i]);
		used = strlen(command);
	}
	if (argc > 1)
		snprintf(second, sizeof second, "%.*s", (int)argl[1], argv[1]);
	while (follow_rules(n, command, second, out, &size)) {
		if (atomic_load(&n->stopping))
			return FAKE_SILENT;
		await_ms(1);
	}
	return size;
}

void
on_bytes(const char *name, const char *command, const char *bytes, size_t size)
{
	add_rule(name, command, bytes, size, false, false);
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

DOES(on, add_rule(word[1], word[2], word[3], strlen(word[3]), true, false))
DOES(once, add_rule(word[1], word[2], word[3], strlen(word[3]), true, true))
DOES(off, off(word[1], word[2]))

/* ---- their lives ---- */

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
	atomic_store(&n->stopping, true);
	fake_stop(n->fake);
	n->fake = NULL;
	while (n->rules > 0)
		remove_rule(n, n->rules - 1);
}

void
fakes_stop(void)
{
	while (count > 0)
		stop(&fakes[--count]);
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

DOES(fake, fakes_start(word[1], strcmp(word[2], "tcp") == 0))
DOES(stop, stop(named(word[1])))
DOES(hang_up, fake_hang_up(fake_of(word[1])))
SEES(send, seen_number((int64_t)fake_send(fake_of(word[1]), word[2], strlen(word[2]))))
SEES(publish, seen_number((int64_t)fake_publish(fake_of(word[1]), word[2], word[3])))
SEES(heard, seen_number((int64_t)fake_count(fake_of(word[1]), *word[2] != '\0' ? word[2] : NULL)))
DOES(forget, fake_forget(fake_of(word[1])))
SEES(accepted, seen_number((int64_t)fake_accepted(fake_of(word[1]))))
SEES(inside, seen_number((int64_t)fake_open(fake_of(word[1]))))
SEES(port, seen_number(port_of(word[1])))

/* ---- the log ---- */

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
log_stop(void)
{
	lsh_courier_stop(courier);
	lsh_courier_free(courier);
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

VERB(logged)
{
	int64_t n = 0;

	for (const char *at = log_text(); (at = strstr(at, word[1])) != NULL; at++)
		n++;
	return seen_number(n);
}

DOES(forget_log, forgotten += strlen(log_text()))
