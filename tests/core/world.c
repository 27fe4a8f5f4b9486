/* The scripted world: people, time, and the words of the server. See world.h; what lies below is in wire.c. */
#include "tests/core/scene.h"

#include "tests/core/wire.h"

#include "base/clock.h"
#include "base/mutation.h"
#include "base/process.h"
#include "base/token.h"
#include "core/core.h"
#include "lease/host.h"
#include "redis/uri.h"

#include <leash/lock.h>

#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* of what the linker puts in another's place */

#define BEGINNING (INT64_C(100000) * LSH_S)

enum { LEASE_MS = 30000, TIMEOUT_MS = 5000, OTHERS_MS = 20000, LATER = 8, TEXT = 1000 };

struct person people[] = {{.name = "ann"}, {.name = "bob"}, {.name = "carl"}};
struct person *const ann = &people[0], *const bob = &people[1], *const carl = &people[2];

static const char *world_uri = "redis://world";
char world_event[200];
static bool is_fair; /* as the present part says */
static const struct lsh_kind *kind = &lsh_mutex;
static uint32_t first_need; /* of each person, at first */

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

static void sent(size_t n, const struct wire_command *command);

static void
add_word(char text[static TEXT], const char *word)
{
	size_t size = strlen(text);

	assert_true(size + strlen(word) + 2 < TEXT);
	snprintf(text + size, TEXT - size, "%s%s", size > 0 ? ", " : "", word);
}

/* ---- time ---- */

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

IS(uint32_t, __wrap_lsh_random32, (void), return 0)
IS(int64_t, world_ms, (void), return (now - BEGINNING) / LSH_MS)

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
	for (size_t i = 0; i < COUNT(people); i++)
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
	for (size_t i = 0; i < COUNT(people); i++)
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

/* It passes, but this process stands still. */
VERB(sleep_through)
{
	settle();
	now += number_of(rest, 0) * LSH_MS;
	settle();
}

IS(bool, clock_failed, (void), return failing < 0)

DOES(pass, pass(number_of(rest, 0)))
DOES(let_watchdog_rest, watchdog_rests = true)              /* nothing that is due is done by it any more */
DOES(set_wall_clock, wall_ns = number_of(rest, 0) * LSH_MS) /* of this machine, so far from what it was */
DOES(fail_clock, failing = (int)number_of(rest, 0))         /* that reading from now on fails; 0: none does */
/* Before the next answer is read, or act begins, and nothing else runs. */
DOES(stand_still, still = number_of(rest, 0) * LSH_MS)

static void
go_on(void)
{
	now += still;
	still = 0;
}

/* ---- the server ---- */

IS(static int64_t, server_us, (void), return WIRE_SERVER_US + clock_us + now / LSH_US)

static const char *
word_of(const struct wire_command *c)
{
	static const char *const plain[][2] = {
		{"WAIT", "wait"}, {"WAITAOF", "waitaof"}, {"PING", "ping"}, {"SUBSCRIBE", "listen"}, {"UNSUBSCRIBE", "leave"},
	};
	static const char *const names[LSH_VERBS] = {"acquire", "renew", "release", "heartbeat", "raise", "trade"};

	if (c->verb == LSH_VERBS)
		for (size_t i = 0; i < COUNT(plain); i++)
			if (strcmp(c->name, plain[i][0]) == 0)
				return plain[i][1];
	if (c->verb == LSH_VERBS)
		return NULL;
	if (c->verb != LSH_ACQUIRE || c->places)
		return names[c->verb];
	return c->wanted > 0 ? "vote" : "try";
}

static void
sent(size_t n, const struct wire_command *c)
{
	char word[TEXT];
	size_t size;

	if (word_of(c) == NULL)
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
	if (c->verb == LSH_TRADE && what == GONE)
		reply((int64_t[]){-1}, 1, false);
	else if ((c->verb == LSH_ACQUIRE || c->verb == LSH_TRADE) && what <= TOO_LATE)
		answer_acquire(c, what);
	else if (c->verb == LSH_HEARTBEAT && (what <= QUEUED || what == GONE))
		answer_heartbeat(c, what);
	else if (c->verb == LSH_RENEW && (what == KEPT || what == GONE))
		reply(all, (unsigned)c->tokens, c->in_one_array);
	else if (c->verb == LSH_RAISE && what == KEPT)
		reply(&c->wanted, 1, false);
	else if (c->verb == LSH_RELEASE && what >= RELEASED)
		reply(all, 1, false);
	else if (c->verb == LSH_VERBS && (what == KEPT || what == GONE))
		reply((int64_t[]){what == KEPT}, 1, false);
	else
		fail_msg("%s is not answered so", word_of(c));
}

VERB(all)
{
	for (server = 0; server < wire_servers(); server++)
		answer(answer_of(rest));
	server = 0;
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

/* All that is asked for is done, and each request is a grant. */
static void
serve(void)
{
	while (turn_to_who_is_asked()) {
		enum lsh_verb verb = wire_first(server)->verb;
		bool is_fence = verb == LSH_ACQUIRE || verb == LSH_HEARTBEAT || verb == LSH_TRADE;

		answer(is_fence ? HELD : verb == LSH_RELEASE ? RELEASED : KEPT);
	}
}

DOES(serve, serve())

/* The oldest command, by so many numbers, be they what a server says or not. */
VERB(numbers)
{
	int64_t all[4];
	unsigned count = 0;
	char *end;

	for (; *rest != '\0'; rest = end + strspn(end, " "))
		all[count++] = strtoll(rest, &end, 10);
	oldest();
	reply(all, count, count > 1);
}

/* A vote, whose fence is so much larger than what was wanted. */
VERB(answer_ahead)
{
	int64_t fence = oldest()->wanted + number_of(rest, 0);

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

static const char *
token_of(const char *number)
{
	const char *token = wire_token((unsigned)number_of(number, 0));

	assert_non_null(token);
	return token;
}

void
message_of(const char *token, int64_t fence)
{
	const struct lsh_lease *lease = lsh_lease_find(&lock->resource, token, strlen(token));
	char text[TEXT], need[LSH_NEED_SIZE];
	uint32_t needs = lease != NULL ? lease->need : people[0].need;

	lsh_need_write(need, needs);
	snprintf(text, sizeof text, "g %s %lld leash:{orders}%s%s", token, (long long)fence, needs != 0 ? " " : "",
	         needs != 0 ? need : "");
	wire_publish(server, "leash:wake", text);
	settle();
}

/* On the channel of the lock, where everybody hears it. */
DOES(message, wire_publish(server, "redisson_lock__channel:{orders}", rest); settle())
DOES(wake, wire_publish(server, "leash:wake", rest); settle()) /* on that of the client, whatever it says */
DOES(message_granted, message_of(token_of(rest), next_fence()))
DOES(message_with_the_last_fence, message_of(token_of(rest), last_fence))

/* The connection for commands breaks, and there is no other one. */
static void
cut(void)
{
	settle();
	wire.is_cut = true;
	wire.is_stuck = false;
	wire_break();
	settle();
}

DOES(cut, cut())

VERB(cut_server)
{
	size_t n = (size_t)(*rest - 'a');

	settle();
	wire.is_down[n] = true;
	wire_break_one(n);
	settle();
}

/* As `cut`, of the connection for messages. */
VERB(cut_messages)
{
	wire.is_deaf = true;
	wire_break_messages();
	settle();
}

/* It breaks, and who connects again is denied that. */
VERB(shut_out)
{
	cut();
	wire_deny(rest);
	settle();
}

/* There they are all again. */
static void
reconnect(void)
{
	wire.is_cut = wire.is_deaf = false;
	memset(wire.is_down, 0, sizeof wire.is_down);
	settle();
}

DOES(reconnect, reconnect())

/* And the server is there again at once. */
VERB(restart)
{
	cut();
	wire.life++;
	reconnect();
}

/* The server's is so far ahead now; a jump is told: "clock +60 s". */
DOES(set_clock, clock_us = number_of(rest, 0) * 1000)
DOES(be_full, settle(); wire.refuses = 1)      /* no room for the next request; there is once that was refused */
DOES(be_stuck, settle(); wire.is_stuck = true) /* what is appended from now on does not leave, until it is cut */

/* So much later the server answers that. */
VERB(later)
{
	const char *what = strchr(rest, ' ');
	char ms[20];
	size_t i = 0;

	assert_non_null(what);
	snprintf(ms, sizeof ms, "%.*s", (int)(what - rest), rest);
	while (laters[i].at != 0)
		assert_true(++i < LATER);
	laters[i] = (struct later){now + number_of(ms, 0) * LSH_MS, answer_of(what + 1)};
}

/* ---- people ---- */

static void
done(struct lsh_op *op)
{
	struct person *p = lsh_container(op, struct person, op);

	assert_true(p->is_busy);
	p->is_busy = false;
}

IS(static void, stirred, (struct lsh_op *op), (void)op) /* what has changed is looked at in any case */

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
	if (op.want.need == 0)
		p->op.want.need = p->need;
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

VERB(holds)
{
	acquire(person, 10000);
	serve();
	expect_person(person, "OK");
	world_sent();
}

IS(void, release, (struct person *p), act(p, &lsh_releasing, (struct lsh_op){.lock = NULL}, 2 * TIMEOUT_MS))

/* It releases, and does not wait for the answer. */
DOES(drops, act(person, &lsh_releasing, (struct lsh_op){.nowait = true}, 2 * TIMEOUT_MS))

VERB(lets_go)
{
	release(person);
	serve();
	expect_person(person, "OK");
	world_sent();
}

void
extend(struct person *p, int64_t lease_ms)
{
	act(p, &lsh_extending, (struct lsh_op){.lease_ms = lease_ms}, 2 * TIMEOUT_MS);
}

/* The hold of another client. */
static const char others_token[] = "7e2d4c90-55b3-4f86-a1c4-92d07f6b3e21:1";

DOES(adopts, act(person, &lsh_adopting, (struct lsh_op){.token = others_token}, 2 * TIMEOUT_MS))
/* It, too, or the hold that has this token. */
DOES(breaks, act(person, &lsh_breaking, (struct lsh_op){.token = *rest != '\0' ? token_of(rest) : others_token},
                 2 * TIMEOUT_MS))
DOES(acquires, acquire(person, number_of(rest, LEASH_FOREVER)))
DOES(tries, acquire(person, 0))
DOES(releases, release(person))
DOES(upgrades, act(person, &lsh_upgrading, (struct lsh_op){.lock = NULL}, 2 * TIMEOUT_MS))
DOES(keeps, act(person, &lsh_lessening, (struct lsh_op){.want.need = lsh_need((uint32_t)number_of(rest, 0), 8)},
                2 * TIMEOUT_MS))
DOES(extends, extend(person, number_of(rest, 0)))
DOES(nests, acquire(person, 0); expect_person(person, "OK"))
DOES(reads, person->need = LSH_NEED_READ)
DOES(writes, person->need = LSH_NEED_WRITE)
DOES(acts_for, person->acts_for = person_of_name(rest))

static void
open_lock(bool fair)
{
	leash_error err;

	assert_int_equal(lsh_lock_open(&lock, engine, "orders", kind, fair, &err), LEASH_OK);
}

DOES(make_fair, lsh_lock_close(lock); open_lock(true)) /* nobody has anything of the lock */
DOES(free_handle, lsh_lock_close(lock); settle(); open_lock(is_fair)) /* the only one; and there is another at once */
DOES(abandon, lsh_engine_owner_ended(engine, &person_of_name(rest)->owner, "it is no more"); settle())
DOES(cancel, atomic_store(&person_of_name(rest)->cancel.fired, true); settle()) /* what they wait for */
DOES(uncancel, atomic_store(&person_of_name(rest)->cancel.fired, false))
DOES(close_client, lsh_engine_close(engine); settle()) /* returns when it is closed: time may pass */

IS(struct lsh_resource *, world_resource, (void), return &lock->resource)

static void
note_event(void *arg, const leash_event *event)
{
	const struct person *p = arg;
	char word[80];

	snprintf(word, sizeof word, "%s %s", p->name, leash_event_name(event->type));
	add_word(told_text, word);
	snprintf(world_event, sizeof world_event, "%s: %s", leash_event_name(event->type), event->text);
}

/* ---- what has come of it ---- */

static const char *
take(char text[static TEXT])
{
	settle();
	memcpy(shown, text, TEXT);
	text[0] = '\0';
	return shown;
}

IS(const char *, world_sent, (void), return take(sent_text))

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

IS(const char *, world_told, (void), return take(told_text))
IS(int64_t, world_limit_ms, (void), return (oldest()->not_after_us - server_us()) / 1000)

struct lsh_view
world_view(struct person *p)
{
	struct lsh_view view;

	lsh_lock_view(lock, &p->owner, p->need, &view);
	return view;
}

IS(int64_t, world_left_ms, (struct person *p), return lsh_remaining(lock, &p->owner, p->need) / LSH_MS)

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
	sent_text[0] = told_text[0] = world_event[0] = '\0';
	memset(laters, 0, sizeof laters);
	for (size_t i = 0; i < COUNT(people); i++) {
		const char *name = people[i].name;

		people[i] = (struct person){.name = name, .owner.id = lsh_owner_id(), .cancel.process = lsh_process_id()};
		people[i].need = first_need;
		people[i].terms = (struct lsh_terms){.references = 1, .lease_ms = LEASE_MS, .handoffs = 64, .handoff_ms = 10,
		                                     .on_event = note_event, .event_arg = &people[i]};
	}
	assert_int_equal(lsh_uri_parse(&uri, world_uri, &err), LEASH_OK);
	assert_int_equal(lsh_engine_open(&engine, &options, NULL, &err), LEASH_OK);
	open_lock(is_fair);
}

static const char a_quorum[] = "redis+quorum://a,b,c";

IS(static void, be_plain, (void), is_fair = false)
IS(static void, be_fair, (void), is_fair = true)

static void
be_quorum(void)
{
	world_uri = a_quorum;
	is_fair = false;
}

void
world_begin_quorum(void)
{
	world_uri = a_quorum;
	world_begin();
	world_uri = "redis://world";
}

void
world_begin_with(const struct lsh_kind *its_kind, bool its_is_fair, uint32_t its_need)
{
	kind = its_kind;
	is_fair = its_is_fair;
	first_need = its_need;
	world_begin();
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
	kind = &lsh_mutex;
	first_need = 0;
	lsh_uri_clear(&uri);
	for (size_t i = 0; i < COUNT(people); i++) {
		assert_false(people[i].is_busy);
		assert_int_equal(people[i].owner.holds, 0);
	}
}
