#include "tests/core/wire.h"
#include "tests/support/test.h"

#include "base/clock.h"
#include "base/courier.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/token.h"
#include "redis/node_inside.h"

/* What stands for a part of the library is told more than it looks at; much of it is a line. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* of what the linker puts in another's place */

struct lsh_pipeline {
	void (*tell)(void *keeper);
	void *keeper;
	struct lsh_list commands;
	uint64_t epoch, connects, handed;
	int64_t heard; /* when the last answer came */
	bool up, is_silent;
};

struct lsh_pubsub {
	const struct lsh_pubsub_ops *ops;
	void *ctx;
	bool up;
	char asked[80]; /* a channel; "": none */
	bool joins;
};

struct wire wire;

static struct lsh_node *nodes[WIRE_SERVERS];
static size_t node_count;
static uint64_t epochs;
static char tokens[WIRE_TOKENS][LSH_TOKEN_SIZE];
static unsigned token_count;
static struct lsh_list letters;

/* ---- commands ---- */

static bool
is(const struct lsh_arg *arg, const char *text)
{
	return arg->size == strlen(text) && memcmp(arg->bytes, text, arg->size) == 0;
}

static bool
is_token(const struct lsh_arg *arg)
{
	return arg->size > LSH_UUID_SIZE + 1 && arg->size < LSH_WHO_SIZE && arg->bytes[LSH_UUID_SIZE] == ':' &&
	       arg->bytes[8] == '-';
}

/* Of a token, behind which there may be what it needs. */
static unsigned
number_of(const struct lsh_arg *arg)
{
	const char *space = memchr(arg->bytes, ' ', arg->size);
	struct lsh_arg token = {arg->bytes, space != NULL ? (size_t)(space - arg->bytes) : arg->size};

	for (unsigned i = 0; i < token_count; i++)
		if (is(&token, tokens[i]))
			return i + 1;
	assert_true(token_count < WIRE_TOKENS && token.size < sizeof tokens[0]);
	memcpy(tokens[token_count], token.bytes, token.size);
	tokens[token_count][token.size] = '\0';
	return ++token_count;
}

static enum lsh_verb
verb_of(const struct lsh_arg *arg, const struct lsh_arg *step)
{
	static const char *const steps[LSH_VERBS] = {"acquire", "renew", "release", "heartbeat"};
	static const struct lsh_kind *const kinds[] = {&lsh_mutex, &lsh_semaphore, &lsh_readwrite};

	for (size_t kind = 0; kind < COUNT(kinds); kind++)
		for (enum lsh_verb verb = 0; verb < LSH_VERBS; verb++) {
			const struct lsh_script *script = kinds[kind]->script[verb];

			if (script != NULL && (is(arg, script->sha1) || is(arg, script->text)))
				return verb;
		}
	for (enum lsh_verb verb = 0; verb < LSH_VERBS; verb++)
		if (is(arg, lsh_script_redisson.sha1) && steps[verb] != NULL && is(step, steps[verb]))
			return verb;
	fail_msg("a script that leash does not have was sent");
	return LSH_VERBS;
}

static void
read_command(struct wire_command *c, const struct lsh_arg *args, size_t count)
{
	size_t at; /* of what comes behind the keys */

	snprintf(c->name, sizeof c->name, "%.*s", (int)args[0].size, args[0].bytes);
	c->verb = LSH_VERBS;
	if (!is(&args[0], "EVALSHA") && !is(&args[0], "EVAL"))
		return;
	at = 3 + (size_t)(args[2].bytes[0] - '0');
	c->verb = verb_of(&args[1], &args[at]);
	if (is(&args[1], lsh_script_redisson.sha1))
		at++; /* of the step, which nothing but that has */
	c->in_one_array = is(&args[2], "0");
	for (size_t i = 3; i < count; i++)
		if (is_token(&args[i]))
			c->token[c->tokens++] = number_of(&args[i]);
	at += c->verb == LSH_TRADE; /* the old token comes first */
	if (c->verb == LSH_ACQUIRE || c->verb == LSH_TRADE) { /* token, lease, not_after, cfg */
		c->not_after_us = atoll(args[at + 2].bytes);
		c->places = count > at + 3 && args[at + 3].bytes[0] != '0'; /* its cfg begins with the claim */
		c->wanted = count > at + 4 ? atoll(args[at + 4].bytes) : 0;
	} else if (c->verb == LSH_RAISE) { /* fence */
		c->wanted = atoll(args[at].bytes);
	}
}

static enum lsh_appended
append(struct lsh_pipeline *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count)
{
	struct wire_command *c;

	if (!p->up || (ticket != NULL && ticket->epoch != 0 && ticket->epoch != p->epoch))
		return LSH_PIPELINE_DOWN;
	if (wire.refuses > 0) {
		wire.refuses--;
		return LSH_PIPELINE_FULL;
	}
	c = calloc(1, sizeof *c); /* none of leash's memory, which a test may count */
	assert_non_null(c);
	c->ticket = ticket;
	read_command(c, args, count);
	lsh_list_append(&p->commands, &c->link);
	return LSH_APPENDED;
}

enum lsh_appended
lsh_pipeline_append(struct lsh_pipeline *p, struct lsh_ticket *ticket, const struct lsh_arg *args, size_t count,
                    int64_t now, int64_t patience)
{
	enum lsh_appended appended = append(p, ticket, args, count);

	assert_false(ticket->asking); /* nothing is redirected in this world */
	if (appended != LSH_APPENDED)
		return appended;
	ticket->epoch = p->epoch;
	ticket->overdue = lsh_after(now, patience);
	return LSH_APPENDED;
}

bool
lsh_pipeline_append_unheard(struct lsh_pipeline *p, const struct lsh_arg *args, size_t count, int64_t now)
{
	return append(p, NULL, args, count) == LSH_APPENDED;
}

static struct wire_command *
first_sent(struct lsh_pipeline *p)
{
	struct lsh_list *first = lsh_list_first(&p->commands);
	struct wire_command *c = first != NULL ? lsh_container(first, struct wire_command, link) : NULL;

	return c != NULL && c->sent ? c : NULL;
}

static void
end(struct wire_command *c, enum lsh_outcome outcome, const struct lsh_message *message)
{
	struct lsh_ticket *ticket = c->ticket;

	lsh_list_remove(&c->link);
	free(c);
	if (ticket != NULL)
		ticket->done(ticket, outcome, message);
}

IS(size_t, wire_servers, (void), return node_count)
IS(struct wire_command *, wire_first, (size_t n), return first_sent(nodes[n]->pipeline))

void
wire_answer(size_t n, const struct lsh_message *message)
{
	nodes[n]->pipeline->heard = lsh_now_ns();
	end(wire_first(n), LSH_ANSWERED, message);
}

void
wire_publish(size_t n, const char *channel, const char *text)
{
	const struct lsh_pubsub *l = nodes[n]->pubsub;

	l->ops->message(l->ctx, &(struct lsh_item){LSH_STRING, 0, channel, strlen(channel)}, text, strlen(text));
}

IS(const char *, wire_token, (unsigned number), return number <= token_count ? tokens[number - 1] : NULL)

/* ---- the pipeline ---- */

struct lsh_pipeline *
lsh_pipeline_new(void (*tell)(void *keeper), void *keeper)
{
	struct lsh_pipeline *p = lsh_new(struct lsh_pipeline);

	assert_non_null(p);
	*p = (struct lsh_pipeline){.tell = tell, .keeper = keeper};
	lsh_list_init(&p->commands);
	return p;
}

IS(void, lsh_pipeline_free, (struct lsh_pipeline *p), lsh_free(p))
IS(bool, lsh_pipeline_is_up, (struct lsh_pipeline *p), return p->up)
IS(uint64_t, lsh_pipeline_epoch, (struct lsh_pipeline *p), return p->epoch)
IS(uint64_t, lsh_pipeline_commands, (struct lsh_pipeline *p), return p->handed)
IS(uint64_t, lsh_pipeline_connects, (struct lsh_pipeline *p), return p->connects)
IS(int64_t, lsh_pipeline_heard, (const struct lsh_pipeline *p), return p->heard)

void
lsh_pipeline_break(struct lsh_pipeline *p, uint64_t epoch)
{
	struct lsh_list *first;

	if (!p->up || (epoch != 0 && epoch != p->epoch))
		return;
	p->up = p->is_silent = false;
	while ((first = lsh_list_first(&p->commands)) != NULL) {
		struct wire_command *c = lsh_container(first, struct wire_command, link);

		end(c, c->sent ? LSH_UNKNOWN : LSH_UNSENT, NULL);
	}
	p->tell(p->keeper);
}

IS(void, lsh_pipeline_break_if_silent, (struct lsh_pipeline *p, int64_t since),
   p->is_silent = p->up && first_sent(p) != NULL && p->heard < since)

/* Everybody reads and sends when the world settles. */
IS(void, lsh_pipeline_flush, (struct lsh_pipeline *p), )
IS(void, lsh_pipeline_wait, (struct lsh_pipeline *p, struct lsh_parker *parker, uint64_t epoch, uint64_t number,
                             bool (*over)(void *arg), void *arg, int64_t deadline), )
IS(void, lsh_pipeline_leave, (struct lsh_pipeline *p, uint64_t epoch, uint64_t number), )

/* ---- the listener ---- */

struct lsh_pubsub *
lsh_pubsub_new(const struct lsh_pubsub_ops *ops, void *ctx, void (*kick)(void *keeper), void *keeper)
{
	struct lsh_pubsub *l = lsh_new(struct lsh_pubsub);

	assert_non_null(l);
	*l = (struct lsh_pubsub){.ops = ops, .ctx = ctx};
	return l;
}

IS(void, lsh_pubsub_free, (struct lsh_pubsub *l), lsh_free(l))
IS(bool, lsh_pubsub_is_up, (struct lsh_pubsub *l), return l->up)
IS(void, lsh_pubsub_break, (struct lsh_pubsub *l), l->up = false; l->asked[0] = '\0')
IS(void, lsh_pubsub_leave_to_keeper, (struct lsh_pubsub *l), )
IS(void, lsh_pubsub_wait, (struct lsh_pubsub *l, struct lsh_parker *parker, int64_t deadline,
                           bool (*over)(void *arg), void *arg), )

bool
lsh_pubsub_ask(struct lsh_pubsub *l, bool sharded, bool joins, const char *channel, size_t size)
{
	assert_true(!sharded && l->asked[0] == '\0' && size < sizeof l->asked);
	if (!l->up)
		return false;
	snprintf(l->asked, sizeof l->asked, "%.*s", (int)size, channel);
	l->joins = joins;
	return true;
}

/* A channel that was asked for is answered at once. */
static bool
answer_ask(size_t n, struct lsh_pubsub *l, void (*sent)(size_t n, const struct wire_command *command))
{
	struct wire_command c = {.verb = LSH_VERBS};
	char channel[sizeof l->asked];

	if (l->asked[0] == '\0')
		return false;
	memcpy(channel, l->asked, sizeof channel);
	l->asked[0] = '\0';
	snprintf(c.name, sizeof c.name, "%s", l->joins ? "SUBSCRIBE" : "UNSUBSCRIBE");
	sent(n, &c);
	(l->joins ? l->ops->subscribed : l->ops->unsubscribed)(l->ctx, channel, strlen(channel));
	return true;
}

/* ---- the courier ---- */

bool
lsh_courier_post(struct lsh_courier *courier, struct lsh_letter *letter)
{
	if (!lsh_list_empty(&letter->link))
		return false;
	lsh_list_append(&letters, &letter->link);
	return true;
}

bool
lsh_courier_withdraw(struct lsh_courier *courier, struct lsh_letter *letter)
{
	bool there = !lsh_list_empty(&letter->link);

	lsh_list_remove(&letter->link);
	return there;
}

IS(void, lsh_courier_log, (struct lsh_courier *courier, leash_log_level level, const char *format, ...),
   wire.warnings += level == LEASH_LOG_WARNING)

/* ---- threads ---- */

int
__wrap_lsh_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	*thread = pthread_self();
	if (run == lsh_node_keep) {
		assert_true(node_count < WIRE_SERVERS);
		nodes[node_count++] = arg;
	}
	return 0; /* of the watchdog, what it has is taken from it (world.c) */
}

static int
refuse(const char *what)
{
	fail_msg("%s", what);
	return -1;
}

IS(int, __wrap_pthread_join, (pthread_t thread, void **result), return 0)
IS(int, __wrap_pthread_create, (pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
   return refuse("a thread was started"))
IS(int, __wrap_socket, (int domain, int type, int protocol), return refuse("a socket was opened"))

/* ---- what keepers do ---- */

IS(void *, lsh_node_keep, (void *node), return node)

/* As it is after the hello of a server that stands alone and has been up for long. */
static void
connect(struct lsh_node *n)
{
	char run_id[sizeof n->run_id];

	n->commands.up = true;
	n->same = true;
	n->commands.tried = n->messages.tried = true;
	n->commands.trouble = (leash_error){0};
	n->version = 0x070200;
	snprintf(run_id, sizeof run_id, "%u of %s", wire.life, n->uri->shown);
	if (strcmp(run_id, n->run_id) != 0)
		n->up_since = n->run_id[0] != '\0' ? lsh_now_ns() : 0;
	memcpy(n->run_id, run_id, sizeof n->run_id);
	atomic_store(&n->leaving, false);
	lsh_node_set_clock(n, WIRE_SERVER_US, lsh_now_ns());
	n->pipeline->epoch = ++epochs;
	n->pipeline->connects++;
	n->pipeline->up = true;
	n->ops->connected(n->ctx);
}

static bool
keep(struct lsh_node *n, bool is_down)
{
	bool did = false;

	if (n->pipeline->is_silent)
		lsh_pipeline_break(n->pipeline, 0);
	if (atomic_load(&n->stopping))
		return false;
	if (n->commands.up && !n->pipeline->up) {
		n->commands.up = n->same = false;
		n->commands.trouble = (leash_error){LEASH_UNAVAILABLE, 0, ""};
	}
	if (!n->commands.up && !wire.is_cut && !is_down) {
		connect(n);
		did = true;
	}
	if (n->listens && !n->pubsub->up && !wire.is_deaf) {
		n->pubsub->up = true;
		n->ops->subscribed(n->ctx);
		did = true;
	}
	if (atomic_exchange(&n->kicked, false)) {
		n->ops->work(n->ctx);
		did = true;
	}
	return did;
}

/* Who a client is, and that it goes, is answered and forgotten at once; but not what replicas have. */
static bool
pass_over(struct lsh_pipeline *p)
{
	static const struct lsh_message ok = {LSH_STATUS, 1, {{LSH_STATUS, 0, "OK", 2}}};
	struct wire_command *c = first_sent(p);

	if (c == NULL || ((c->verb != LSH_VERBS || strncmp(c->name, "WAIT", 4) == 0) && c->ticket != NULL))
		return false;
	end(c, LSH_ANSWERED, &ok);
	return true;
}

static bool
send_all(size_t n, void (*sent)(size_t n, const struct wire_command *command))
{
	struct lsh_pipeline *p = nodes[n]->pipeline;
	bool did = false;

	if (wire.is_stuck)
		return false;
	lsh_list_each(struct wire_command, link, c, &p->commands) {
		if (c->sent)
			continue;
		c->sent = did = true;
		p->handed++;
		sent(n, c);
	}
	while (pass_over(p))
		did = true;
	return did;
}

static bool
deliver(void)
{
	struct lsh_list *first = lsh_list_first(&letters);

	if (first == NULL)
		return false;
	struct lsh_letter *letter = lsh_container(first, struct lsh_letter, link);
	lsh_list_remove(first);
	letter->deliver(letter);
	return true;
}

bool
wire_settle(void (*sent)(size_t n, const struct wire_command *command))
{
	bool any = false, did;

	do {
		did = deliver();
		for (size_t i = 0; i < node_count; i++) {
			did |= keep(nodes[i], wire.is_down[i]);
			did |= answer_ask(i, nodes[i]->pubsub, sent);
			did |= send_all(i, sent);
		}
		any |= did;
	} while (did);
	return any;
}

IS(void, wire_break_one, (size_t n), lsh_pipeline_break(nodes[n]->pipeline, 0))

void
wire_break(void)
{
	for (size_t i = 0; i < node_count; i++)
		wire_break_one(i);
}

void
wire_break_messages(void)
{
	for (size_t i = 0; i < node_count; i++)
		lsh_pubsub_break(nodes[i]->pubsub);
}

void
wire_deny(const char *why)
{
	for (size_t i = 0; i < node_count; i++) {
		lsh_fail(&nodes[i]->commands.trouble, LEASH_DENIED, 0, "%s", why);
		nodes[i]->ops->denied(nodes[i]->ctx, &nodes[i]->commands.trouble);
	}
}

static int64_t
overdue_of(struct lsh_pipeline *p)
{
	int64_t soonest = LSH_NEVER;

	lsh_list_each(struct wire_command, link, c, &p->commands)
		if (c->ticket != NULL && c->ticket->overdue < soonest)
			soonest = c->ticket->overdue;
	return soonest;
}

int64_t
wire_overdue(void)
{
	int64_t soonest = LSH_NEVER;

	for (size_t i = 0; i < node_count; i++)
		if (overdue_of(nodes[i]->pipeline) < soonest)
			soonest = overdue_of(nodes[i]->pipeline);
	return soonest;
}

void
wire_break_overdue(int64_t now)
{
	for (size_t i = 0; i < node_count; i++)
		if (overdue_of(nodes[i]->pipeline) <= now)
			lsh_pipeline_break(nodes[i]->pipeline, 0);
}

void
wire_reset(void)
{
	node_count = 0;
	wire = (struct wire){.is_cut = false};
	token_count = 0;
	lsh_list_init(&letters);
}
