#include "lease/presence.h"

#include "lease/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DAY_MS = 86400000 };

#define AGAIN  LSH_S          /* after it was not taken */
#define PERIOD (3600 * LSH_S)

/* One word that people can read, whatever it was. */
static void
make_word(char *out, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from != '\0' && n + 1 < size; from++)
		out[n++] = *from > ' ' && *from <= '~' ? *from : '_';
	out[n] = '\0';
	if (n == 0)
		strcpy(out, "-");
}

size_t
lsh_party_key(char out[static LSH_PARTY_KEY_SIZE], const char *prefix, const char *token)
{
	return (size_t)snprintf(out, LSH_PARTY_KEY_SIZE, "%s:client:%.36s", prefix, token);
}

static struct lsh_host *
host_of(const struct lsh_call *call)
{
	return call->owner;
}

/* SET <key> "<pid> <since> <host> <program>" PX <ms> */
static bool
build(struct lsh_call *call, struct lsh_script_call *command, int64_t now, int64_t *patience)
{
	static const char ours[] = "leash:";
	const struct lsh_backend *b = host_of(call)->backend;
	const char *name = b->options.client_name;
	char key[LSH_PARTY_KEY_SIZE], host_name[256] = "", host[LEASH_HOST_SIZE], program[LEASH_PROGRAM_SIZE];
	char value[2 * LSH_DECIMAL_DIGITS + LEASH_HOST_SIZE + LEASH_PROGRAM_SIZE + 4];

	(void)now, (void)patience;
	if (host_of(call)->presence.over)
		return false;
	if (gethostname(host_name, sizeof host_name - 1) != 0)
		host_name[0] = '\0';
	make_word(host, sizeof host, host_name);
	make_word(program, sizeof program, strncmp(name, ours, strlen(ours)) == 0 ? name + strlen(ours) : name);
	snprintf(value, sizeof value, "%ld %lld %s %s", (long)getpid(), (long long)b->opened_ms, host, program);
	lsh_script_push(command, LSH_ARG("SET"));
	lsh_script_push_joined(command, (struct lsh_arg){key, lsh_party_key(key, b->options.prefix, b->uuid)}, "");
	lsh_script_push_joined(command, lsh_arg_text(value), "");
	lsh_script_push(command, LSH_ARG("PX"));
	lsh_script_push_number(command, DAY_MS);
	return true;
}

static void
done(struct lsh_call *call, const struct lsh_result *r)
{
	struct lsh_presence *p = &host_of(call)->presence;

	if (r->what != LSH_CALL_ANSWERED)
		atomic_store(&p->next_at, lsh_after(lsh_now_ns(), AGAIN));
}

static void
release(void *owner)
{
	lsh_server_leave(&((struct lsh_host *)owner)->server);
}

static const struct lsh_call_ops ops = {.build = build, .done = done, .release = release};

/* It is told by this very host. */
static void
tell(struct lsh_host *host, int64_t now)
{
	struct lsh_presence *p = &host->presence;

	lsh_within(&p->monitor);
	if (p->over || p->call.out || atomic_load(&p->next_at) > now)
		return;
	atomic_store(&p->next_at, lsh_after(now, PERIOD));
	lsh_server_use(&host->server);
	lsh_call_init(&p->call, &ops, &p->monitor, host);
	p->call.at = &host->server;
	p->call.is_aside = p->call.stays = true;
	if (lsh_call_start(&p->call, NULL)) {
		p->written = true;
		return;
	}
	atomic_store(&p->next_at, 0);
	lsh_server_leave(&host->server);
}

void
lsh_presence_tell(struct lsh_host *host, int64_t now)
{
	struct lsh_backend *b = host->backend;
	struct lsh_server *server;

	if (!lsh_router_is_cluster(b->router)) {
		if (now >= atomic_load_explicit(&host->presence.next_at, memory_order_relaxed))
			tell(host, now);
		return;
	}
	if (now < atomic_load_explicit(&b->presence_at, memory_order_relaxed) ||
	    (server = lsh_router_of_slot(b->router, b->presence_slot)) == NULL)
		return;
	atomic_store(&b->presence_at, lsh_after(now, AGAIN)); /* which is looked up no more often than that */
	if (now >= atomic_load(&lsh_host_of(server)->presence.next_at))
		tell(lsh_host_of(server), now);
	lsh_server_leave(server);
}

void
lsh_presence_renew(struct lsh_host *host)
{
	if (host->presence.written)
		atomic_store(&host->presence.next_at, 0);
}

void
lsh_presence_end(struct lsh_host *host)
{
	const struct lsh_backend *b = host->backend;
	struct lsh_pipeline *pipeline = lsh_node_pipeline(host->server.node);
	struct lsh_presence *p = &host->presence;
	char key[LSH_PARTY_KEY_SIZE];
	size_t size = lsh_party_key(key, b->options.prefix, b->uuid);
	struct lsh_arg args[] = {LSH_ARG("DEL"), {key, size}};
	bool known;

	lsh_monitor_enter(&p->monitor);
	p->over = true;
	/* in a cluster it may have the slot by now that another server had when that was told */
	known = p->written || (lsh_router_is_cluster(b->router) && atomic_load(&b->presence_at) != 0 &&
	                       lsh_router_has_slot(&host->server, b->presence_slot));
	known = known && lsh_pipeline_append_unheard(pipeline, args, 2, lsh_now_ns());
	lsh_monitor_leave(&p->monitor);
	if (known)
		lsh_pipeline_flush(pipeline);
}
