/* The scripted world: people, time, and the words of the server. See world.h; what lies below is in stream.c. */
#include "tests/core/world.h"

#include "tests/core/wire.h"

#include "base/clock.h"
#include "base/mutation.h"
#include "base/process.h"
#include "base/token.h"
#include "core/core.h"
#include "lease/host.h"
#include "redis/uri.h"

#include <leash/lock.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BEGINNING (INT64_C(100000) * LSH_S)

enum { LEASE_MS = 30000, TIMEOUT_MS = 5000, OTHERS_MS = 20000, LATER = 8, TEXT = 1000 };

static struct person people[] = {{.name = "ann"}, {.name = "bob"}, {.name = "carl"}};
struct person *const ann = &people[0], *const bob = &people[1], *const carl = &people[2];

const char *world_uri = "redis://world";
static bool is_fair; /* as the present part says */

static int64_t now, last_fence, clock_us, wall_ns; /* how far the server's clock, and ours on the wall, were set */
static int64_t still; /* it stands still for so long before what comes next */
static int failing; /* the reading of the clock that fails */
static bool watchdog_rests;
static size_t server; /* whose turn it is to say something */
static struct lsh_uri uri;
static struct lsh_engine *engine;
static struct lsh_lock *lock;
static char sent_text[TEXT], told_text[TEXT], shown[TEXT];
static struct later {
	int64_t at; /* 0: not used */
	enum answer what;
} laters[LATER];

static bool settle(void);
static void sent(size_t n, const struct wire_command *command);

static void
add_word(char text[static TEXT], const char *word)
{
	size_t size = strlen(text);

	assert_true(size + strlen(word) + 2 < TEXT);
	snprintf(text + size, TEXT - size, "%s%s", size > 0 ? ", " : "", word);
}

/* ---- time ---- */

int __wrap_clock_gettime(clockid_t id, struct timespec *t);
uint32_t __wrap_lsh_random32(void);
void __wrap_lsh_park(struct lsh_parker *parker, int64_t deadline);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

int
__wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int64_t at = id == CLOCK_REALTIME ? now + wall_ns + WIRE_SERVER_US * LSH_US : now;

	if (failing > 0 && --failing == 0) {
		failing = -1;
		return -1;
	}
	t->tv_sec = at / LSH_S;
	t->tv_nsec = at % LSH_S;
	return 0;
}

uint32_t
__wrap_lsh_random32(void)
{
	return 0;
}

int64_t
world_ms(void)
{
	return (now - BEGINNING) / LSH_MS;
}

static struct lsh_watchdog *
watchdog(void)
{
	return engine != NULL && !watchdog_rests ? lsh_engine_backend(engine)->watchdog : NULL;
}

/* When the operation wants a tick. */
static int64_t
tick_at(struct person *p)
{
	struct lsh_outlook outlook;

	if (!p->is_busy || !lsh_op_look(&p->op, &outlook))
		return LSH_NEVER;
	if (outlook.source.host != NULL)
		lsh_source_read(&outlook.source, &p->parker, NULL, NULL, 0);
	return lsh_op_is_canceled(&p->op) ? 0 : outlook.tick_at;
}

static int64_t
next_event(void)
{
	int64_t at = wire_overdue();

	if (watchdog() != NULL && lsh_watchdog_next(watchdog()) < at)
		at = lsh_watchdog_next(watchdog());
	for (size_t i = 0; i < sizeof people / sizeof *people; i++)
		if (tick_at(&people[i]) < at)
			at = tick_at(&people[i]);
	for (size_t i = 0; i < LATER; i++)
		if (laters[i].at != 0 && laters[i].at < at)
			at = laters[i].at;
	return at;
}

/* All that is due now. */
static void
happen(void)
{
	struct lsh_due due[LSH_WATCHDOG_BATCH];
	size_t count = watchdog() != NULL ? lsh_watchdog_take_due(watchdog(), now, due, LSH_WATCHDOG_BATCH) : 0;

	if (count > 0)
		lsh_lease_fire(NULL, due, count);
	for (size_t i = 0; i < LATER; i++)
		if (laters[i].at != 0 && laters[i].at <= now) {
			laters[i].at = 0;
			answer(laters[i].what);
		}
	wire_break_overdue(now);
	for (size_t i = 0; i < sizeof people / sizeof *people; i++)
		if (tick_at(&people[i]) <= now)
			lsh_op_tick(&people[i].op);
}

/* Whatever happens at this moment. False: nothing did. */
static bool
settle(void)
{
	int rounds = 0;

	while (wire_settle(sent) || next_event() <= now) {
		happen();
		assert_true(++rounds < 1000);
	}
	return rounds > 0;
}

/* On to the next event, or `until`. */
static void
step(int64_t until)
{
	settle();
	int64_t at = next_event();
	now = at < until ? at : until;
	assert_true(now != LSH_NEVER); /* nothing would ever happen */
	settle();
}

/* Whoever would sleep looks again, when something has happened. */
void
__wrap_lsh_park(struct lsh_parker *parker, int64_t deadline)
{
	(void)parker;
	if (!settle())
		step(deadline);
}

int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	(void)cond;
	pthread_mutex_unlock(mutex);
	__wrap_lsh_park(NULL, LSH_NEVER);
	pthread_mutex_lock(mutex);
	return 0;
}

void
pass(int64_t ms)
{
	int64_t until = now + ms * LSH_MS;
	int steps = 0;

	while (now < until) {
		step(until);
		assert_true(++steps < 10000);
	}
}

void
sleep_through(int64_t ms)
{
	settle();
	now += ms * LSH_MS;
	settle();
}

void
let_watchdog_rest(void)
{
	watchdog_rests = true;
}

void
set_wall_clock(int64_t ms)
{
	wall_ns = ms * LSH_MS;
}

void
fail_clock(int n)
{
	failing = n;
}

bool
clock_failed(void)
{
	return failing < 0;
}

void
stand_still(int64_t ms)
{
	still = ms * LSH_MS;
}

static void
go_on(void)
{
	now += still;
	still = 0;
}

/* ---- the server ---- */

static int64_t
server_us(void)
{
	return WIRE_SERVER_US + clock_us + now / LSH_US;
}

static const char *
word_of(const struct wire_command *c)
{
	if (c->script == NULL)
		return strcmp(c->name, "WAIT") == 0 ? "wait" : "ping";
	if (c->script != &lsh_script_acquire || c->places)
		return c->script->name;
	return c->wanted > 0 ? "vote" : "try";
}

static void
sent(size_t n, const struct wire_command *c)
{
	char word[TEXT];
	size_t size;

	if (c->script == NULL && strcmp(c->name, "PING") != 0 && strcmp(c->name, "WAIT") != 0)
		return; /* presence */
	snprintf(word, sizeof word, "%s", word_of(c));
	for (size_t i = 0; i < c->tokens; i++) {
		size = strlen(word);
		snprintf(word + size, sizeof word - size, " %u", c->token[i]);
	}
	size = strlen(word);
	if (wire_servers() > 1)
		snprintf(word + size, sizeof word - size, " at %c", (char)('a' + n));
	if (strcmp(c->name, "EVAL") == 0)
		strcat(word, " with source");
	add_word(sent_text, word);
}

static int64_t
next_fence(void)
{
	last_fence = server_us() > last_fence ? server_us() : last_fence + 1;
	return last_fence;
}

void
set_clock(int64_t ms)
{
	clock_us = ms * 1000;
}

static void
reply(const int64_t *numbers, unsigned count, bool as_array)
{
	struct lsh_message message = {.type = as_array ? LSH_ARRAY : LSH_INTEGER, .count = count};

	for (unsigned i = 0; i < count; i++)
		message.item[i] = (struct lsh_item){.type = LSH_INTEGER, .integer = numbers[i]};
	go_on();
	wire_answer(server, &message);
	settle();
}

static void
answer_acquire(const struct wire_command *c, enum answer what)
{
	int64_t no[] = {what == TOO_LATE ? -1 : 0, what == TOO_LATE ? 0 : OTHERS_MS, server_us()};

	if (what != HELD) {
		reply(no, 3, true);
		return;
	}
	int64_t fence = c->wanted > 0 ? c->wanted : next_fence();
	reply(&fence, 1, false);
}

static void
answer_heartbeat(const struct wire_command *c, enum answer what)
{
	int64_t all[WIRE_TOKENS + 2] = {server_us(), what == HELD ? LEASE_MS : OTHERS_MS};

	for (size_t i = 0; i < c->tokens; i++)
		all[2 + i] = what == HELD ? next_fence() : what == QUEUED ? 0 : -1;
	reply(all, (unsigned)c->tokens + 2, true);
}

static const struct wire_command *
oldest(void)
{
	settle();
	const struct wire_command *c = wire_first(server);
	if (c == NULL)
		fail_msg("there is nothing to be answered");
	return c;
}

void
on(char name)
{
	server = (size_t)(name - 'a');
	assert_true(server < wire_servers());
}

void
answer(enum answer what)
{
	const struct wire_command *c = oldest();
	int64_t all[WIRE_TOKENS];

	for (size_t i = 0; i < c->tokens; i++)
		all[i] = what == GONE ? 0 : what == LEFT ? 2 : 1;
	if (c->script == &lsh_script_acquire && what <= TOO_LATE)
		answer_acquire(c, what);
	else if (c->script == &lsh_script_heartbeat && (what <= QUEUED || what == GONE))
		answer_heartbeat(c, what);
	else if (c->script == &lsh_script_renew && (what == KEPT || what == GONE))
		reply(all, (unsigned)c->tokens, c->in_one_array);
	else if (c->script == &lsh_script_raise && what == KEPT)
		reply(&c->wanted, 1, false);
	else if (c->script == &lsh_script_release && what >= RELEASED)
		reply(all, 1, false);
	else if (c->script == NULL && (what == KEPT || what == GONE))
		reply((int64_t[]){what == KEPT}, 1, false);
	else
		fail_msg("%s is not answered so", word_of(c));
}

void
answer_all(enum answer what)
{
	for (server = 0; server < wire_servers(); server++)
		answer(what);
	server = 0;
}

static enum answer
yes(const struct wire_command *c)
{
	if (c->script == &lsh_script_acquire || c->script == &lsh_script_heartbeat)
		return HELD;
	return c->script == &lsh_script_release ? RELEASED : KEPT;
}

static bool
turn_to_who_is_asked(void)
{
	settle();
	for (server = 0; server < wire_servers(); server++)
		if (wire_first(server) != NULL)
			return true;
	server = 0;
	return false;
}

void
serve(void)
{
	while (turn_to_who_is_asked())
		answer(yes(wire_first(server)));
}

void
answer_ahead(int64_t by)
{
	int64_t fence = oldest()->wanted + by;

	reply(&fence, 1, false);
}

void
answer_fence(int64_t fence)
{
	oldest();
	reply((int64_t[]){server_us(), LEASE_MS, fence}, 3, true);
}

void
refuse(const char *error)
{
	say(&(struct lsh_message){LSH_ERROR, 1, {{LSH_ERROR, 0, error, strlen(error)}}});
}

void
say(const struct lsh_message *what)
{
	oldest();
	wire_answer(server, what);
	settle();
}

void
message_of(const char *token, int64_t fence)
{
	char text[TEXT];

	assert_non_null(token);
	snprintf(text, sizeof text, "g %s %lld leash:{orders}", token, (long long)fence);
	wire_publish(server, text);
	settle();
}

void
message_granted(unsigned token)
{
	message_of(wire_token(token), next_fence());
}

void
message_with_the_last_fence(unsigned token)
{
	message_of(wire_token(token), last_fence);
}

void
cut(void)
{
	settle();
	wire_is_cut = true;
	wire_is_stuck = false;
	wire_break();
	settle();
}

void
cut_server(char name)
{
	settle();
	wire_is_down[name - 'a'] = true;
	wire_break_one((size_t)(name - 'a'));
	settle();
}

void
cut_messages(void)
{
	wire_is_deaf = true;
	wire_break_messages();
	settle();
}

void
shut_out(const char *why)
{
	cut();
	wire_deny(why);
	settle();
}

void
reconnect(void)
{
	wire_is_cut = wire_is_deaf = false;
	memset(wire_is_down, 0, sizeof wire_is_down);
	settle();
}

void
restart(void)
{
	cut();
	wire_life++;
	reconnect();
}

void
be_full(void)
{
	settle();
	wire_refuses = 1;
}

void
be_stuck(void)
{
	settle();
	wire_is_stuck = true;
}

void
later(int64_t ms, enum answer what)
{
	size_t i = 0;

	while (laters[i].at != 0)
		assert_true(++i < LATER);
	laters[i] = (struct later){now + ms * LSH_MS, what};
}

/* ---- people ---- */

static struct person *
person_of(struct lsh_op *op)
{
	return lsh_container(op, struct person, op);
}

static void
done(struct lsh_op *op)
{
	assert_true(person_of(op)->is_busy);
	person_of(op)->is_busy = false;
}

static void
stirred(struct lsh_op *op)
{
	(void)op; /* what has changed is looked at in any case */
}

/* `op` is what the verb is told. */
static void
act(struct person *p, const struct lsh_op_verb *verb, struct lsh_op op, int64_t lasts_ms)
{
	static const struct lsh_front front = {.done = done, .stirred = stirred};

	assert_false(p->is_busy);
	p->op = op;
	go_on();
	p->op.front = &front;
	p->op.lock = lock;
	p->op.owner = p->acts_for != NULL ? &p->acts_for->owner : &p->owner;
	p->op.reader = &p->parker;
	p->op.terms = &p->terms;
	p->op.began = now;
	p->op.deadline = lasts_ms == LEASH_FOREVER ? LSH_NEVER : now + lasts_ms * LSH_MS;
	lsh_list_init(&p->op.link);
	p->is_busy = true;
	if (lsh_op_begin(&p->op, verb, NULL))
		p->is_busy = false;
	settle();
}

void
acquire(struct person *p, int64_t wait_ms)
{
	struct lsh_op op = {.wait_ms = wait_ms, .cancel = &p->cancel};

	act(p, &lsh_acquiring, op, wait_ms != 0 ? wait_ms : TIMEOUT_MS);
}

void
let_hold(struct person *p)
{
	acquire(p, 10000);
	serve();
	expect_end(p, LEASH_OK);
	world_sent();
}

void
release(struct person *p)
{
	act(p, &lsh_releasing, (struct lsh_op){.lock = NULL}, 2 * TIMEOUT_MS);
}

void
extend(struct person *p, int64_t lease_ms)
{
	act(p, &lsh_extending, (struct lsh_op){.lease_ms = lease_ms}, 2 * TIMEOUT_MS);
}

static const char others_token[] = "7e2d4c90-55b3-4f86-a1c4-92d07f6b3e21:1";

void
adopt(struct person *p)
{
	act(p, &lsh_adopting, (struct lsh_op){.token = others_token}, 2 * TIMEOUT_MS);
}

void
break_lock(struct person *p)
{
	act(p, &lsh_breaking, (struct lsh_op){.token = others_token}, 2 * TIMEOUT_MS);
}

void
break_token(struct person *p, unsigned token)
{
	act(p, &lsh_breaking, (struct lsh_op){.token = wire_token(token)}, 2 * TIMEOUT_MS);
}

static void
open_lock(bool fair)
{
	leash_error err;

	assert_int_equal(lsh_lock_open(&lock, engine, "orders", &lsh_mutex, fair, &err), LEASH_OK);
}

void
make_fair(void)
{
	lsh_lock_close(lock);
	open_lock(true);
}

void
free_handle(void)
{
	lsh_lock_close(lock);
	settle();
	open_lock(is_fair);
}

void
cancel(struct person *p)
{
	atomic_store(&p->cancel.fired, true);
	settle();
}

void
abandon(struct person *p)
{
	lsh_engine_owner_ended(engine, &p->owner, "it is no more");
	settle();
}

struct lsh_resource *
world_resource(void)
{
	return &lock->resource;
}

void
close_client(void)
{
	lsh_engine_close(engine);
	settle();
}

static void
note_event(void *arg, const leash_event *event)
{
	const struct person *p = arg;
	char word[80];

	snprintf(word, sizeof word, "%s %s", p->name, leash_event_name(event->type));
	add_word(told_text, word);
}

/* ---- what is expected ---- */

static const char *
take(char text[static TEXT])
{
	settle();
	memcpy(shown, text, TEXT);
	text[0] = '\0';
	return shown;
}

const char *
world_sent(void)
{
	return take(sent_text);
}

const char *
world_asked(void)
{
	static char text[TEXT];

	text[0] = '\0';
	world_sent();
	for (char *word = strtok(shown, ","); word != NULL; word = strtok(NULL, ",")) {
		char *at = strstr(word, " at ");

		word += strspn(word, " ");
		if (at != NULL && at[strlen(" at ")] != 'a')
			continue; /* what the others hear is not looked at */
		if (at != NULL)
			*at = '\0';
		bool is_vote = strncmp(word, "vote", 4) == 0;
		add_word(text, is_vote ? "acquire" : word);
		strcat(text, is_vote ? word + 4 : "");
	}
	return text;
}

const char *
world_told(void)
{
	return take(told_text);
}

unsigned
world_warnings(void)
{
	settle();
	return wire_warnings;
}

int64_t
world_limit_ms(void)
{
	return (oldest()->not_after_us - server_us()) / 1000;
}

uint64_t
world_fence(struct person *p)
{
	struct lsh_view view;

	lsh_lock_view(lock, &p->owner, &view);
	return view.fence;
}

unsigned
world_depth(struct person *p)
{
	struct lsh_view view;

	lsh_lock_view(lock, &p->owner, &view);
	return view.depth;
}

void
expect_text(const char *expected, const char *found, const char *what, const char *file, int line)
{
	if (strcmp(expected, found) == 0)
		return;
	print_error("at %lld ms %s is \"%s\", and not \"%s\"\n", (long long)world_ms(), what, found, expected);
	_fail(file, line);
}

void
expect_part(const char *part, const char *text, const char *file, int line)
{
	if (strstr(text, part) == NULL)
		expect_text(part, text, "what was said", file, line);
}

void
expect_state(struct person *p, bool waits, leash_status status, const char *file, int line)
{
	const char *found = p->is_busy ? "waiting" : leash_status_name(p->op.status);

	expect_text(waits ? "waiting" : leash_status_name(status), found, p->name, file, line);
}

void
expect_remaining(struct person *p, int64_t ms, const char *file, int line)
{
	char expected[40], found[40];

	snprintf(expected, sizeof expected, "%lld ms", (long long)ms);
	snprintf(found, sizeof found, "%lld ms", (long long)(lsh_remaining(lock, &p->owner) / LSH_MS));
	expect_text(expected, found, "what is left", file, line);
}

/* ---- around each test ---- */

static void
clock_jumped(void *ctx, int64_t by_us)
{
	char word[40];

	(void)ctx;
	snprintf(word, sizeof word, "clock %+lld s", (long long)(by_us / 1000000));
	add_word(told_text, word);
}

void
world_begin(void)
{
	struct lsh_backend_options options = {
		.uri = &uri, .prefix = "leash", .client_name = "world", .timeout = TIMEOUT_MS * LSH_MS, .lease_ms = LEASE_MS,
		.fence_ttl_ms = 3600000, .clock_jumped = clock_jumped,
	};
	leash_error err;

	lsh_mutation_read();
	wire_reset();
	now = BEGINNING;
	last_fence = clock_us = wall_ns = 0;
	failing = 0;
	watchdog_rests = false;
	server = 0;
	sent_text[0] = told_text[0] = '\0';
	memset(laters, 0, sizeof laters);
	for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
		const char *name = people[i].name;

		people[i] = (struct person){.name = name, .owner.id = lsh_owner_id(), .cancel.process = lsh_process_id()};
		people[i].terms = (struct lsh_terms){.references = 1, .lease_ms = LEASE_MS, .handoffs = 64, .handoff_ms = 10,
		                                     .on_event = note_event, .event_arg = &people[i]};
	}
	assert_int_equal(lsh_uri_parse(&uri, world_uri, &err), LEASH_OK);
	assert_int_equal(lsh_engine_open(&engine, &options, NULL, &err), LEASH_OK);
	open_lock(is_fair);
}

static void
be_plain(void)
{
	world_uri = "redis://world";
	is_fair = false;
}

static void
be_fair(void)
{
	is_fair = true;
}

static void
be_quorum(void)
{
	world_uri = "redis+quorum://a,b,c";
	is_fair = false;
}

const struct part world_parts[] = {
	{.name = "plain", .around = {be_plain, NULL}, .is = WORLD_PLAIN},
	{.name = "fair", .around = {be_fair, NULL}, .is = WORLD_FAIR},
	{.name = "quorum", .around = {be_quorum, NULL}, .is = WORLD_QUORUM},
};

void
world_end(void)
{
	cut();
	lsh_engine_close(engine);
	lsh_lock_close(lock);
	settle();
	lsh_engine_free(engine);
	engine = NULL;
	lsh_uri_clear(&uri);
	for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
		assert_false(people[i].is_busy);
		assert_int_equal(people[i].owner.holds, 0);
	}
}
