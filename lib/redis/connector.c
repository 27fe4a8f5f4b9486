/* Connecting. An attempt has one deadline. What is left of it is shared evenly among the addresses not tried yet, so
 * that one that swallows everything leaves time for the others; connecting, TLS and the hello must end within that
 * share.
 *
 * A name is asked for anew for every attempt, because it may have moved. The address that worked last comes first
 * among the answers, or last if its connection was soon given up: it may be a replica's. If there is no answer for a
 * while, or a failure, that address is tried without one; not at once, for a server that is no longer meant may still
 * be there. A request that outlives its attempt serves the next one: so a resolver that hangs keeps one thread busy
 * and not one per attempt, and one that is always slow is of use. */
#include "redis/connector.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "redis/resolve.h"
#include "redis/tls.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#define HEAD_START (50 * LSH_MS) /* of the resolver before the address that worked last */
#define PATIENCE   (30 * LSH_S)  /* with a request, over several attempts */
#define PLAIN_STEP (10 * LSH_MS)
#define BRIEF      (10 * LSH_S)  /* of a connection: less than this from hello to the next attempt */

enum state { IDLE, STARTED, RESOLVING, NEXT_ADDRESS, CONNECTING, SHAKING, GREETING };

struct lsh_connector {
	const struct lsh_uri *uri;
	struct lsh_handshake handshake;
	struct lsh_stream stream;
	enum state state;
	int64_t deadline;  /* of the attempt */
	int64_t until;     /* of what is under way in it */

	struct lsh_tls_context *context; /* as the files were when the attempt began */
	struct lsh_stream plain;   /* to ask a server in plain text that does not answer to TLS */
	int64_t plain_at;        /* when to ask, or ask again */

	leash_error why; /* what went wrong last */

	/* What to say if the attempt fails: of all addresses, of the one that got furthest. */
	leash_error err;
	enum state reached;

	/* Where to. `address` [next - 1] is under way. */
	bool is_name;
	bool tried_old; /* `worked` was tried in this attempt without an answer */
	bool was_brief; /* the last connection */
	struct lsh_request *request;
	int64_t asked_at;
	struct lsh_address worked; /* last; of size 0: none */
	int64_t worked_at;
	unsigned count, next;
	struct lsh_address address[LSH_ADDRESSES];
};

/* ---- what goes wrong ---- */

static void
drop_request(struct lsh_connector *d)
{
	lsh_request_drop(d->request);
	d->request = NULL;
}

static void
disconnect(struct lsh_connector *d)
{
	lsh_stream_discard(&d->stream);
	lsh_stream_discard(&d->plain);
	lsh_handshake_end(&d->handshake);
}

/* Note what went wrong, unless an address that got further has something to say already. */
static void
note(struct lsh_connector *d)
{
	if (d->state < d->reached)
		return;
	d->reached = d->state;
	lsh_fail(&d->err, d->why.status, d->why.sys_errno, "%.120s: %s", d->uri->shown, d->why.text);
}

/* The address under way is not it. What is wrong with the URI would be wrong with the next one, too. */
static enum lsh_progress
give_up(struct lsh_connector *d)
{
	note(d);
	disconnect(d);
	d->state = NEXT_ADDRESS;
	return d->err.status == LEASH_UNAVAILABLE || d->err.status == LEASH_PROTOCOL ? LSH_GO_ON : LSH_FAILED;
}

/* ---- connecting ---- */

static enum lsh_progress
not_connected(struct lsh_connector *d, int e)
{
	char address[LSH_ADDRESS_TEXT] = "", text[LSH_ERRNO_TEXT];
	const char *why = e == ETIMEDOUT ? "no answer in time" : lsh_errno_text(e, text);

	if (e == EAGAIN && d->uri->scheme == LSH_SCHEME_UNIX)
		why = "too many connections wait there to be accepted"; /* the backlog is full */
	if (d->is_name)
		lsh_address_show(&d->address[d->next - 1], address);
	lsh_fail(&d->why, lsh_errno_status(e, LEASH_UNAVAILABLE), e, "connecting%s%s: %s",
	         address[0] != '\0' ? " to " : "", address, why);
	return give_up(d);
}

static enum lsh_progress
try_next_address(struct lsh_connector *d)
{
	int64_t now = lsh_now_ns();

	if (d->next == d->count) {
		d->state = RESOLVING;
		d->until = d->deadline;
		return d->request != NULL ? LSH_GO_ON : LSH_FAILED;
	}
	/* the answer of the resolver, if it is still to come, needs a share as well */
	d->until = now + (d->deadline - now) / (d->count - d->next + (d->request != NULL));
	d->state = CONNECTING;
	d->stream.fd = lsh_stream_open(&d->address[d->next++]);
	return d->stream.fd >= 0 ? LSH_GO_ON : not_connected(d, errno);
}

static enum lsh_progress
begin_handshake(struct lsh_connector *d)
{
	d->state = GREETING;
	if (lsh_handshake_begin(&d->handshake, d->uri, d->stream, d->until, &d->why) == LEASH_OK)
		return LSH_GO_ON;
	return give_up(d);
}

static enum lsh_progress
begin_shaking(struct lsh_connector *d)
{
	int64_t now = lsh_now_ns();

	d->state = SHAKING;
	d->plain_at = now + (d->until - now) / 2;
	d->stream.tls = lsh_tls_new(d->stream.fd, d->context, &d->uri->tls, d->uri->host);
	if (d->stream.tls != NULL)
		return LSH_GO_ON;
	lsh_fail(&d->why, LEASH_NO_MEMORY, ENOMEM, "out of memory for TLS");
	return give_up(d);
}

static enum lsh_progress
go_on_connecting(struct lsh_connector *d)
{
	int e = lsh_stream_connected(d->stream.fd);

	if (e == EINPROGRESS)
		return lsh_now_ns() < d->until ? LSH_WAIT : not_connected(d, ETIMEDOUT);
	if (e != 0)
		return not_connected(d, e);
	return d->uri->tls.on ? begin_shaking(d) : begin_handshake(d);
}

/* Redis takes the beginning of TLS for half a line, and waits for the rest of it for ever. A line of plain text it
 * answers ("+PONG", "-NOAUTH ..."), so such lines are sent on a connection of their own; nothing secret is in them. The
 * handshake goes on meanwhile: the server may just be slow. */
static bool
speaks_plainly(struct lsh_connector *d, int64_t now)
{
	char first;

	if (lsh_tls_has_heard(d->stream.tls)) {
		lsh_stream_discard(&d->plain);
		d->plain_at = LSH_NEVER;
	}
	if (now < d->plain_at)
		return false;
	d->plain_at = now + PLAIN_STEP;
	if (d->plain.fd < 0)
		d->plain.fd = lsh_stream_open(&d->address[d->next - 1]);
	if (d->plain.fd < 0)
		return false;
	if (lsh_stream_recv(&d->plain, &first, 1, MSG_DONTWAIT) == 1)
		return first == '+' || first == '-';
	lsh_stream_send(&d->plain, "PING\r\n", 6);
	return false;
}

static enum lsh_progress
go_on_shaking(struct lsh_connector *d)
{
	int64_t now = lsh_now_ns();
	const enum lsh_progress shaken = lsh_tls_step(d->stream.tls, &d->why);

	if (shaken == LSH_DONE) {
		lsh_stream_discard(&d->plain);
		return begin_handshake(d);
	}
	if (shaken == LSH_WAIT && speaks_plainly(d, now))
		lsh_fail(&d->why, LEASH_PROTOCOL, 0, LSH_TLS_UNKNOWN);
	else if (shaken == LSH_WAIT && now < d->until)
		return LSH_WAIT;
	else if (shaken == LSH_WAIT)
		lsh_fail(&d->why, LEASH_UNAVAILABLE, ETIMEDOUT, "no %s the TLS handshake in time",
		         lsh_tls_has_heard(d->stream.tls) ? "end of" : "answer to");
	return give_up(d);
}

static enum lsh_progress
go_on_handshake(struct lsh_connector *d)
{
	const enum lsh_progress progress = lsh_handshake_step(&d->handshake, &d->why);

	return progress == LSH_FAILED ? give_up(d) : progress;
}

/* ---- names ---- */

static enum lsh_progress
try_old(struct lsh_connector *d)
{
	if (d->worked.size == 0 || d->tried_old)
		return LSH_FAILED;
	d->tried_old = true;
	d->address[0] = d->worked;
	d->count = 1;
	d->next = 0;
	d->state = NEXT_ADDRESS;
	return LSH_GO_ON;
}

static enum lsh_progress
begin_resolving(struct lsh_connector *d)
{
	int64_t now = lsh_now_ns();
	char text[LSH_ERRNO_TEXT];
	int e;

	d->state = RESOLVING;
	d->until = d->deadline;
	d->tried_old = false;
	d->was_brief = now - d->worked_at < BRIEF;
	if (now - d->asked_at > PATIENCE)
		drop_request(d);
	if (d->request == NULL) {
		d->request = lsh_request_new(d->uri->host, d->uri->port, &e);
		d->asked_at = now;
	}
	if (d->request == NULL) {
		lsh_fail(&d->why, LEASH_NO_MEMORY, e, "its name cannot be resolved: %s", lsh_shortage_text(e, text));
		note(d);
		return try_old(d);
	}
	now = lsh_now_ns(); /* to start a thread may have taken its time */
	if (d->worked.size != 0 && d->deadline - now > HEAD_START)
		d->until = now + HEAD_START;
	return LSH_GO_ON;
}

static enum lsh_progress
begin(struct lsh_connector *d)
{
	struct lsh_tls_context *before = d->context;

	/* Are the files that TLS needs of use? First of all, so that it is told at once, be the server there or not. */
	d->context = d->uri->tls.on ? lsh_tls_context_take(&d->uri->tls, &d->why) : NULL;
	lsh_tls_context_drop(before); /* now, so that it is the same one unless they have changed */
	if (d->uri->tls.on && d->context == NULL) {
		note(d);
		return LSH_FAILED;
	}
	if (d->is_name)
		return begin_resolving(d);
	d->state = NEXT_ADDRESS;
	d->next = 0;
	return LSH_GO_ON;
}

/* Put the addresses of the answer in line, but not again the one that just failed. */
static void
line_up(struct lsh_connector *d, const struct lsh_answer *answer)
{
	bool known = false;

	d->count = d->next = 0;
	for (unsigned i = 0; i < answer->count; i++) {
		if (!lsh_address_is(&answer->address[i], &d->worked))
			d->address[d->count++] = answer->address[i];
		else
			known = !d->tried_old;
	}
	if (!known)
		return;
	d->address[d->count++] = d->worked;
	if (!d->was_brief) { /* first */
		memmove(&d->address[1], &d->address[0], (d->count - 1) * sizeof d->address[0]);
		d->address[0] = d->worked;
	}
}

static void
note_unresolved(struct lsh_connector *d, const struct lsh_answer *answer)
{
	bool by_errno = answer->error == EAI_SYSTEM || lsh_is_shortage(answer->sys_errno);
	bool is_none = !by_errno && (answer->error == EAI_NONAME || answer->error == EAI_NODATA);
	char text[LSH_ERRNO_TEXT];

	lsh_fail(&d->why, lsh_errno_status(answer->sys_errno, LEASH_UNAVAILABLE), is_none ? ENXIO : answer->sys_errno,
	         "its name cannot be resolved: %s",
	         by_errno ? lsh_errno_text(answer->sys_errno, text) : gai_strerror(answer->error));
	note(d);
}

static enum lsh_progress
go_on_resolving(struct lsh_connector *d)
{
	const struct lsh_answer *answer = atomic_load(&d->request->answered) ? &d->request->answer : NULL;
	int64_t now = lsh_now_ns();
	enum lsh_progress progress;

	if (answer != NULL && answer->error == 0) {
		line_up(d, answer);
		d->state = NEXT_ADDRESS;
		progress = LSH_GO_ON;
	} else if (answer != NULL) {
		note_unresolved(d, answer);
		progress = try_old(d);
	} else if (now >= d->deadline) {
		lsh_fail(&d->why, LEASH_UNAVAILABLE, ETIMEDOUT, "its name was not resolved in time");
		note(d);
		return LSH_FAILED;
	} else {
		return now >= d->until ? try_old(d) : LSH_WAIT;
	}
	drop_request(d);
	return progress;
}

/* ---- the connector ---- */

static void
point_to(struct lsh_connector *d, const struct lsh_uri *uri)
{
	d->uri = uri;
	d->count = lsh_address_of(&d->address[0], uri->host, uri->port);
	d->is_name = d->count == 0;
}

struct lsh_connector *
lsh_connector_new(const struct lsh_uri *uri, enum lsh_want want, const char *name, const char *channel)
{
	struct lsh_connector *d = lsh_new(struct lsh_connector);

	if (d == NULL)
		return NULL;
	d->stream = d->plain = LSH_NO_STREAM;
	point_to(d, uri);
	d->handshake.want = want;
	d->handshake.name = name;
	d->handshake.channel = channel;
	return d;
}

void
lsh_connector_stop(struct lsh_connector *d)
{
	disconnect(d);
	d->state = IDLE;
}

void
lsh_connector_move(struct lsh_connector *d, const struct lsh_uri *uri)
{
	lsh_connector_stop(d);
	drop_request(d);
	d->worked.size = 0;
	point_to(d, uri);
}

void
lsh_connector_free(struct lsh_connector *d)
{
	if (d == NULL)
		return;
	lsh_connector_stop(d);
	lsh_request_drop(d->request);
	lsh_tls_context_drop(d->context);
	lsh_free(d);
}

void
lsh_connector_start(struct lsh_connector *d, int64_t deadline)
{
	lsh_connector_stop(d);
	d->state = STARTED;
	d->deadline = deadline;
	d->until = 0; /* so that whoever polls first does not sleep */
	d->reached = IDLE;
	d->err.status = LEASH_OK;
}

nfds_t
lsh_connector_poll(const struct lsh_connector *d, struct pollfd *polled, int64_t *until)
{
	const int64_t due = d->state == SHAKING && d->plain_at < d->until ? d->plain_at : d->until;

	if (d->state == IDLE)
		return 0;
	*until = due < *until ? due : *until;
	polled->fd = d->state == RESOLVING ? d->request->fd : d->stream.fd;
	polled->events = d->state == CONNECTING ? POLLOUT :
	                 d->state == SHAKING ? lsh_tls_events(d->stream.tls) :
	                 d->state == GREETING ? lsh_handshake_events(&d->handshake) : POLLIN;
	return 1;
}

static enum lsh_progress (*const go_on[])(struct lsh_connector *d) = {
	[STARTED] = begin, [RESOLVING] = go_on_resolving, [NEXT_ADDRESS] = try_next_address,
	[CONNECTING] = go_on_connecting, [SHAKING] = go_on_shaking, [GREETING] = go_on_handshake,
};

enum lsh_progress
lsh_connector_step(struct lsh_connector *d, struct lsh_hello *hello, leash_error *err)
{
	enum lsh_progress progress;

	assert(d->state != IDLE);
	do
		progress = go_on[d->state](d);
	while (progress == LSH_GO_ON);
	if (progress == LSH_DONE) {
		*hello = d->handshake.hello;
		d->stream = LSH_NO_STREAM;
		d->worked = d->address[d->next - 1];
		d->worked_at = lsh_now_ns();
	}
	if (progress == LSH_FAILED && err != NULL)
		*err = d->err;
	if (progress != LSH_WAIT)
		lsh_connector_stop(d);
	return progress;
}
