/* See replicas.h. */
#include "tests/fault/replicas.h"
#include "tests/support/test.h"

leash_error err;
struct server *master, *replica[REPLICAS];
struct proxy *link_to[REPLICAS];
leash_client *client;
struct leashed_events events;
char jeopardy_text[160];

static void
note_event(void *arg, const leash_event *event)
{
	if (event->type == LEASH_EVENT_JEOPARDY)
		snprintf(jeopardy_text, sizeof jeopardy_text, "%s", event->text);
	leashed_note_event(arg, event);
}

leash_client *
open_client(void)
{
	return leashed_open(server_uri_tcp(master), LEASH_OPTIONS(.timeout_ms = patience_ms(), .on_event = note_event, .event_arg = &events));
}

/* One more replica. Returns when it acknowledges what the master writes: that may begin a second after it has all that was written before. */
static void
start_replica(int i)
{
	char target[40];
	const char *port;

	snprintf(target, sizeof target, "127.0.0.1:%d", server_port(master));
	link_to[i] = proxy_start_tcp(target);
	port = strrchr(proxy_uri(link_to[i]), ':') + 1;
	replica[i] = server_start((const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
	for (int written = 0; written < 2; written += server_integer(master, "WAIT %d 1000", i + 1) > i)
		server_text(master, "SET begun 1");
}

void
start_with_one(void)
{
	memset(&events, 0, sizeof events);
	master = server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
	start_replica(0);
	client = open_client();
}

void
start_with_two(void)
{
	start_with_one();
	start_replica(1);
}

void
stop(void)
{
	leash_close(client);
	client = NULL;
	for (int i = 0; i < REPLICAS; i++) {
		server_stop(replica[i]);
		proxy_stop(link_to[i]);
		replica[i] = NULL;
		link_to[i] = NULL;
	}
	server_stop(master);
}

void
hold_link(int i)
{
	proxy_hold(link_to[i], PROXY_BOTH);
}

void
let_go(int i)
{
	proxy_release(link_to[i]);
}

bool
is_free(const char *key)
{
	return server_integer(master, "EXISTS %s", key) == 0;
}
