#include "redis/call.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mutation.h"
#include "base/text.h"

#include <string.h>

#define NONSENSE   "the answer is not what a Redis server sends to a script"
#define NOT_LOADED \
	"its scripts are not loaded (any more), and scripts=preloaded never sends them: run leash scripts --load"

/* So many redirections are followed at once: servers that do not agree are given a moment. */
enum { AT_ONCE = 2 };

/* ---- sending; entered ---- */

static struct lsh_server *
home_of(struct lsh_call *call)
{
	return call->ops->home != NULL ? call->ops->home(call) : call->at;
}

/* Send it to call->server, or let it wait for room there. LSH_PIPELINE_DOWN: there is no connection, or nothing to
 * send. */
static enum lsh_appended
send(struct lsh_call *call)
{
	struct lsh_pipeline *pipeline = lsh_node_pipeline(call->server->node);
	int64_t patience = lsh_router_options(call->server->router)->timeout;
	struct lsh_script_call command;
	enum lsh_appended appended;

	call->ticket.epoch = lsh_pipeline_epoch(pipeline); /* first: what the command says belongs to this connection */
	call->sent = lsh_now_ns();
	command.script = NULL;
	command.count = command.used = 0;
	if (!call->ops->build(call, &command, call->sent, &patience))
		return LSH_PIPELINE_DOWN;
	call->script = command.script;
	if (call->with_source && command.script != NULL)
		lsh_script_send_whole(&command);
	appended = lsh_pipeline_append(pipeline, &call->ticket, command.args, command.count, call->sent, patience);
	if (appended == LSH_PIPELINE_FULL) {
		pthread_mutex_lock(&call->server->mutex);
		lsh_list_append(&call->server->backlog, &call->link);
		pthread_mutex_unlock(&call->server->mutex);
	}
	return appended;
}

/* The same, of any thread. The keeper looks at once whether there is room: it may have been told of that before the
 * call waited for it, and is not told again. */
static bool
send_or_wait(struct lsh_call *call)
{
	enum lsh_appended appended = send(call);

	if (appended == LSH_PIPELINE_FULL)
		lsh_node_kick(call->server->node);
	return appended != LSH_PIPELINE_DOWN;
}

bool
lsh_call_start(struct lsh_call *call, struct lsh_parker *reader)
{
	struct lsh_server *home = home_of(call);

	call->ticket.reader = reader;
	call->home = home->serial;
	call->ticket.asking = call->asks_first;
	call->one_key = false;
	lsh_server_keep(&call->server, home);
	call->out = send_or_wait(call);
	if (!call->out)
		lsh_server_keep(&call->server, NULL);
	return call->out;
}

void
lsh_call_unattend(struct lsh_call *call)
{
	if (call->out && call->ticket.reader != NULL)
		lsh_pipeline_leave(lsh_node_pipeline(call->server->node), call->ticket.epoch, call->ticket.number);
}

/* ---- what became of it ---- */

/* What a refusal is, and what follows from it for the server and the map. No monitor entered. */
static void
judge_refusal(struct lsh_call *call, struct lsh_result *r)
{
	bool is_down = lsh_starts_with_word(r->words, "CLUSTERDOWN");

	r->what = LSH_CALL_REFUSED;
	r->fault = lsh_fault_of(r->words);
	if (r->fault == LSH_FAULT_NOT_HERE && !call->is_aside)
		lsh_node_leave(r->server->node, r->epoch, r->words);
	if (r->fault == LSH_FAULT_NOT_HERE || is_down)
		lsh_router_doubt(r->server->router);
	if (r->fault != LSH_FAULT_CLUSTER)
		call->hops = 0;
	r->again = r->fault == LSH_FAULT_NOT_NOW || r->fault == LSH_FAULT_NOT_HERE;
}

/* The key is at another server: r->asks, in use, or where the map says now. */
static void
follow(struct lsh_call *call, struct lsh_result *r, leash_error *why)
{
	if (lsh_router_is_cluster(r->server->router) && call->hops >= LSH_REDIRECTIONS)
		lsh_fail(why, LEASH_UNAVAILABLE, 0,
		         "%.80s: redirected %d times in a row, the last time by: %.100s",
		         r->server->uri->shown, LSH_REDIRECTIONS, r->words);
	else if (lsh_router_follow(r->server, r->words, &r->asks, why) == LEASH_OK)
		r->again = true;
	if (r->again)
		call->hops++;
	else
		r->why = why;
}

static bool
may_send_source(const struct lsh_call *call)
{
	return !call->with_source && call->script != NULL && !lsh_router_options(call->server->router)->uri->preloaded &&
	       !(LSH_MUTATES(LSH_SCRIPTS_ARE_THERE) && call->stays);
}

/* Is it to be sent again at once, in another form or elsewhere? Entered. */
static bool
goes_on(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_server *home = home_of(call);

	if (r->what != LSH_CALL_REFUSED)
		return false;
	if (r->fault == LSH_FAULT_NOSCRIPT && may_send_source(call)) {
		call->with_source = true;
	} else if (r->fault == LSH_FAULT_CLUSTER && r->again && !call->stays && call->hops <= AT_ONCE) {
		call->ticket.asking = r->asks != NULL;
		lsh_server_keep(&call->server, r->asks != NULL ? r->asks : home);
		call->home = home->serial;
	} else if (call->has_one_key && !call->one_key && lsh_starts_with_word(r->words, "TRYAGAIN")) {
		call->one_key = true;
	} else {
		return false;
	}
	call->ticket.reader = NULL; /* who reads for it expects the answer over the connection before */
	return true;
}

/* Entered, and left by this. */
static void
finish(struct lsh_call *call, struct lsh_result *r)
{
	struct lsh_monitor *monitor = call->monitor;
	void (*release)(void *) = call->ops->release;
	void *owner = call->owner;

	if (r->what == LSH_CALL_ANSWERED || call->stays) {
		call->hops = 0;
		call->with_source = false;
	}
	r->home = call->home;
	r->one_key = call->one_key;
	lsh_server_leave(call->server);
	call->server = NULL;
	call->out = false;
	call->ops->done(call, r);
	lsh_monitor_leave(monitor);
	if (release != NULL)
		release(owner);
}

static void
ended(struct lsh_ticket *ticket, enum lsh_outcome outcome, const struct lsh_message *message)
{
	static const enum lsh_verdict_of_call what[] = {
		[LSH_ANSWERED] = LSH_CALL_ANSWERED, [LSH_UNSENT] = LSH_CALL_UNSENT, [LSH_UNKNOWN] = LSH_CALL_UNKNOWN,
		[LSH_GARBLED] = LSH_CALL_NONSENSE,
	};
	struct lsh_call *call = lsh_container(ticket, struct lsh_call, ticket);
	struct lsh_server *server = call->server;
	struct lsh_result r = {
		.what = what[outcome], .message = message, .garbled = outcome == LSH_GARBLED, .server = server,
		.epoch = ticket->epoch, .sent = call->sent,
	};
	leash_error why;

	if (message != NULL)
		lsh_router_answered(server->router, lsh_pipeline_heard(lsh_node_pipeline(server->node)) - call->sent);
	if (message != NULL && message->type == LSH_ERROR) {
		r.words = message->item[0].text;
		judge_refusal(call, &r);
		if (r.fault == LSH_FAULT_CLUSTER)
			follow(call, &r, &why);
	} else if (message != NULL && call->ops->is_answer != NULL && !call->ops->is_answer(call, message)) {
		r.what = LSH_CALL_NONSENSE;
	}
	if (r.what == LSH_CALL_NONSENSE)
		lsh_node_leave(server->node, r.epoch, NONSENSE);
	lsh_server_use(server); /* for `r`, whatever becomes of the call's */
	lsh_monitor_enter(call->monitor);
	if (!goes_on(call, &r)) {
		finish(call, &r);
	} else if (send_or_wait(call)) {
		lsh_monitor_leave(call->monitor);
	} else {
		r.what = LSH_CALL_UNSENT;
		finish(call, &r);
	}
	lsh_server_leave(server);
	lsh_server_leave(r.asks);
}

/* Send the call that has waited longest. False: there is none, or no room for it. */
static bool
resume(struct lsh_server *server)
{
	struct lsh_list *first;
	struct lsh_call *call;
	enum lsh_appended appended;

	pthread_mutex_lock(&server->mutex);
	first = lsh_list_first(&server->backlog);
	if (first != NULL)
		lsh_list_remove(first);
	pthread_mutex_unlock(&server->mutex);
	if (first == NULL)
		return false;
	call = lsh_container(first, struct lsh_call, link);
	lsh_monitor_enter(call->monitor);
	call->ticket.reader = NULL;
	appended = send(call);
	if (appended == LSH_PIPELINE_DOWN) {
		struct lsh_result r = {
			.what = LSH_CALL_UNSENT, .server = server, .sent = call->sent, .epoch = call->ticket.epoch,
		};

		lsh_server_use(server);
		finish(call, &r);
		lsh_server_leave(server);
		return true;
	}
	lsh_monitor_leave(call->monitor);
	return appended == LSH_APPENDED;
}

void
lsh_call_resume(struct lsh_server *server)
{
	while (resume(server))
		;
}

/* ---- in words ---- */

static void
say(char out[static LSH_FAULT_TEXT], const struct lsh_call *call, const char *words)
{
	unsigned key = call->script != NULL && call->ops->show_key != NULL ? lsh_script_blame_key(call->script, words) : 0;
	char command[24], shown[2048];
	bool known = call->script != NULL && lsh_script_blame(call->script, words, command, sizeof command);

	if (lsh_starts_with_word(words, "NOSCRIPT") && call->script != NULL && !call->with_source)
		words = NOT_LOADED;
	if (key > 0)
		call->ops->show_key(call, key, shown, sizeof shown);
	lsh_fault_say(out, words, known ? command : NULL, key > 0 ? shown : NULL);
}

void
lsh_call_explain(const struct lsh_call *call, const struct lsh_result *r, leash_error *why)
{
	struct lsh_node *node = r->server->node;
	const char *shown = r->server->uri->shown;
	char says[LSH_FAULT_TEXT];

	if (r->what == LSH_CALL_REFUSED && r->why != NULL) {
		*why = *r->why;
	} else if (r->what == LSH_CALL_REFUSED) {
		say(says, call, r->words);
		lsh_fail(why, r->again ? LEASH_UNAVAILABLE : lsh_fault_status(r->fault), 0, "%.60s: %s", shown, says);
	} else if (r->what == LSH_CALL_NONSENSE) {
		lsh_fail(why, LEASH_PROTOCOL, 0, "%.100s: %s", shown,
		         r->garbled ? "it does not answer as a Redis server does" : NONSENSE);
	} else {
		lsh_node_trouble(node, why);
	}
}

void
lsh_call_init(struct lsh_call *call, const struct lsh_call_ops *ops, struct lsh_monitor *monitor, void *owner)
{
	*call = (struct lsh_call){.ops = ops, .monitor = monitor, .owner = owner, .ticket.done = ended};
	lsh_list_init(&call->link);
}
