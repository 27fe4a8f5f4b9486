#include "admin/inquiry.h"

#include "admin/lock_line.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

static struct lsh_inquiry *
inquiry_of(const struct lsh_call *call)
{
	return call->owner;
}

static void
unref(struct lsh_inquiry *q)
{
	if (atomic_fetch_sub(&q->references, 1) != 1)
		return;
	lsh_host_keep(&q->host, NULL);
	lsh_monitor_destroy(&q->monitor);
	lsh_free(q->subject);
	lsh_free(q);
}

/* ---- the call ---- */

static struct lsh_server *
home(struct lsh_call *call)
{
	struct lsh_inquiry *q = inquiry_of(call);
	struct lsh_server *server = q->by_slot ? lsh_router_of_slot(q->backend->router, q->slot) : NULL;

	if (server != NULL) {
		lsh_host_keep(&q->host, lsh_host_of(server));
		lsh_server_leave(server);
	}
	return &q->host->server;
}

static bool
build(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	struct lsh_inquiry *q = inquiry_of(call);

	(void)now, (void)patience;
	q->epoch = call->ticket.epoch;
	if (q->who)
		lsh_party_ask(command, q->backend->options.prefix, q->subject);
	else
		lsh_inspect_make(command, (struct lsh_arg){q->subject, q->subject_size});
	return true;
}

static bool
is_answer(const struct lsh_call *call, const struct lsh_message *message)
{
	return inquiry_of(call)->who || message->type == LSH_STRING;
}

static void
done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_inquiry *q = inquiry_of(call);
	int64_t now = lsh_now_ns();

	if (r->what == LSH_CALL_ANSWERED) {
		q->state = LSH_REPLIED;
		q->type = r->message->type;
		snprintf(q->text, sizeof q->text, "%.*s", (int)(q->type == LSH_STRING ? r->message->item[0].length : 0),
		         q->type == LSH_STRING ? r->message->item[0].text : "");
	} else {
		q->away = r->what == LSH_CALL_UNSENT || r->what == LSH_CALL_UNKNOWN || r->garbled;
		q->nonsense = r->what == LSH_CALL_NONSENSE;
		q->garbled |= r->garbled;
		lsh_call_explain(call, r, &q->why);
		if (q->away || r->again)
			q->again_at = q->away ? now : lsh_after_ms(now, 50 + lsh_random32() % 200);
		else
			q->state = LSH_GAVE_UP;
	}
	lsh_unpark(q->parker);
}

static void
release(struct lsh_call *call, void *owner)
{
	(void)call;
	unref(owner);
}

static void
show_key(const struct lsh_call *call, unsigned n, char *out, size_t size)
{
	static const char *const suffix[] = {"", ":fence", ":queue"};

	snprintf(out, size, "%s%s", inquiry_of(call)->subject, n <= 3 ? suffix[n - 1] : "");
}

static const struct lsh_call_ops ops = {
	.home = home, .build = build, .is_answer = is_answer, .done = done, .release = release, .show_key = show_key,
};

/* ---- whoever asks ---- */

struct lsh_inquiry *
lsh_inquiry_new(struct lsh_backend *b, struct lsh_host *host, bool who, const char *subject, size_t size, struct lsh_parker *parker)
{
	struct lsh_inquiry *q = lsh_new(struct lsh_inquiry);
	char key[LSH_PARTY_KEY_SIZE];
	struct lsh_server *server;

	if (q == NULL || (q->subject = lsh_alloc(size + 1)) == NULL) {
		lsh_free(q);
		return NULL;
	}
	memcpy(q->subject, subject, size);
	q->subject_size = size;
	lsh_monitor_init(&q->monitor);
	lsh_call_init(&q->call, &ops, &q->monitor, q);
	atomic_init(&q->references, 1);
	q->backend = b;
	q->who = who;
	q->parker = parker;
	q->by_slot = host == NULL;
	if (host != NULL) {
		lsh_host_keep(&q->host, host);
		return q;
	}
	q->slot = who ? lsh_router_slot_of(b->router, key, lsh_party_key(key, b->options.prefix, subject)) : lsh_router_slot_of(b->router, subject, size);
	server = lsh_router_of_slot(b->router, q->slot);
	if (server == NULL)
		server = lsh_router_any(b->router);
	if (server == NULL) {
		unref(q);
		return NULL;
	}
	q->host = lsh_host_of(server); /* with its use */
	return q;
}

void
lsh_inquiry_drop(struct lsh_inquiry *q)
{
	if (q != NULL)
		unref(q);
}

/* There is no connection: see whether there is another one since. */
static void
note_away(struct lsh_inquiry *q)
{
	q->away = true;
	q->why = (leash_error){LEASH_OK, 0, ""};
	q->why.status = lsh_node_trouble(q->host->server.node, q->why.text, sizeof q->why.text, &q->why.sys_errno);
	q->again_at = lsh_now_ns();
}

enum lsh_inquiry_state
lsh_inquiry_look(struct lsh_inquiry *q)
{
	enum lsh_inquiry_state state;

	lsh_monitor_enter(&q->monitor);
	if (q->state == LSH_ASKING && !q->call.out && lsh_now_ns() >= q->again_at) {
		if (lsh_host_is_up(q->host) || q->by_slot) {
			atomic_fetch_add(&q->references, 1);
			if (lsh_call_start(&q->call, NULL)) {
				q->away = false;
			} else {
				atomic_fetch_sub(&q->references, 1);
				note_away(q);
			}
		} else {
			note_away(q);
		}
	}
	state = q->state;
	lsh_monitor_leave(&q->monitor);
	return state;
}

void
lsh_inquiries_await(struct lsh_inquiry *const *qs, size_t count, struct lsh_parker *parker, int64_t deadline)
{
	int64_t look = lsh_after_ms(lsh_now_ns(), 5); /* whether a connection is there nobody says */

	for (size_t i = 0; i < count; i++) {
		lsh_monitor_enter(&qs[i]->monitor);
		if (qs[i]->state == LSH_ASKING && !qs[i]->call.out && (qs[i]->away ? look : qs[i]->again_at) < deadline)
			deadline = qs[i]->away ? look : qs[i]->again_at;
		lsh_monitor_leave(&qs[i]->monitor);
	}
	lsh_park(parker, deadline);
}
