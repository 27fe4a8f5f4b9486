/* Speakers. See site.h. */
#include "tests/sim/site.h"

#include "tests/support/frame.h"
#include "tests/support/trouble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHANNELS = 64, ANSWER = 64 * 1024, LOOK = 1 };

struct sim_speaker {
	struct sim_speaker *next;     /* of the instance */
	struct sim_instance *instance;
	struct sim_wire *wire;        /* NULL: it has gone */
	struct bytes in;
	char *channels[CHANNELS];
	bool asking;                  /* the next command is for a slot that comes */
	bool wrote;                   /* a script was run here */
	uint64_t offset;              /* of the last that was written here */
	bool waiting;                 /* for replicas; nothing behind that is read */
	int64_t waits_until, wanted;
	bool with_disk;
};

static char out[ANSWER];
static size_t out_size;

/* ---- answers ---- */

static void
add(const char *bytes, size_t size)
{
	if (out_size + size > sizeof out)
		sim_breach("an answer has more than %zu bytes", sizeof out);
	memcpy(out + out_size, bytes, size);
	out_size += size;
}

static void
add_number(char type, int64_t n)
{
	char text[32];

	add(text, (size_t)snprintf(text, sizeof text, "%c%" PRId64 "\r\n", type, n));
}

static void
add_text(const char *bytes, size_t size)
{
	add_number('$', (int64_t)size);
	add(bytes, size);
	add("\r\n", 2);
}

static void
add_line(char type, const char *text)
{
	add(&type, 1);
	add(text, strlen(text));
	add("\r\n", 2);
}

static void
add_item(const struct lsh_item *item)
{
	if (item->type == LSH_INTEGER)
		add_number(':', item->integer);
	else if (item->type == LSH_STRING)
		add_text(item->text, item->length);
	else if (item->type == LSH_NIL)
		add_line('$', "-1");
	else
		add_line(item->type == LSH_ERROR ? '-' : '+', item->text);
}

static void
add_message(const struct lsh_message *m)
{
	static const struct lsh_item nil = {.type = LSH_NIL};

	if (m->type != LSH_ARRAY) {
		add_item(m->type == LSH_NIL ? &nil : &m->item[0]);
		return;
	}
	add_number('*', (int64_t)m->count);
	for (size_t i = 0; i < m->count; i++)
		add_item(&m->item[i]);
}

static void
say(struct sim_speaker *s)
{
	if (out_size > 0 && s->wire != NULL)
		sim_wire_say(s->wire, out, out_size);
	out_size = 0;
}

/* ---- messages ---- */

int64_t
sim_speakers_publish(void *publisher, const char *channel, size_t channel_size, const char *text, size_t size)
{
	const struct sim_instance *instance = publisher;
	const size_t before = out_size;
	int64_t heard = 0;

	for (struct sim_speaker *s = instance->speakers; s != NULL; s = s->next)
		for (size_t i = 0; i < CHANNELS; i++) {
			if (s->channels[i] == NULL || strlen(s->channels[i]) != channel_size ||
			    memcmp(s->channels[i], channel, channel_size) != 0)
				continue;
			add_number('*', 3);
			if (sim_site.deployment == SIM_CLUSTER)
				add_text("smessage", 8);
			else
				add_text("message", 7);
			add_text(channel, channel_size);
			add_text(text, size);
			sim_wire_say(s->wire, out + before, out_size - before);
			out_size = before;
			heard++;
		}
	return heard;
}

bool
sim_speakers_listen(const struct sim_instance *instance, const char *channel)
{
	for (const struct sim_speaker *s = instance->speakers; s != NULL; s = s->next)
		for (size_t i = 0; i < CHANNELS; i++)
			if (s->channels[i] != NULL && strcmp(s->channels[i], channel) == 0)
				return true;
	return false;
}

static void
confirm(const struct sim_speaker *s, const char *what, const char *channel, size_t size)
{
	int64_t count = 0;

	for (size_t i = 0; i < CHANNELS; i++)
		count += s->channels[i] != NULL;
	add_number('*', 3);
	add_text(what, strlen(what));
	add_text(channel, size);
	add_number(':', count);
}

static void
unsubscribe(struct sim_speaker *s, const char *channel, size_t size)
{
	for (size_t i = 0; i < CHANNELS; i++)
		if (s->channels[i] != NULL && strlen(s->channels[i]) == size && memcmp(s->channels[i], channel, size) == 0) {
			free(s->channels[i]);
			s->channels[i] = NULL;
		}
	confirm(s, "sunsubscribe", channel, size);
}

static void
subscribe(struct sim_speaker *s, const char *confirmation, const struct lsh_arg *channel)
{
	size_t i = 0;

	while (s->channels[i] != NULL)
		if (++i == CHANNELS)
			sim_breach("a connection subscribes to %d channels", CHANNELS);
	s->channels[i] = strndup(channel->bytes, channel->size);
	confirm(s, confirmation, channel->bytes, channel->size);
}

void
sim_speakers_leave_slot(struct sim_instance *instance, unsigned slot)
{
	for (struct sim_speaker *s = instance->speakers; s != NULL; s = s->next)
		for (size_t i = 0; i < CHANNELS; i++)
			if (s->channels[i] != NULL && lsh_slot_of(s->channels[i], strlen(s->channels[i])) == slot) {
				char *channel = s->channels[i];

				s->channels[i] = NULL;
				confirm(s, "sunsubscribe", channel, strlen(channel));
				free(channel);
				say(s);
			}
}

/* ---- waiting for replicas ---- */

static void read_commands(struct sim_speaker *s);

static void
look_again(void *what, uint64_t turn)
{
	struct sim_speaker *s = what;
	int64_t acknowledged = sim_instance_acknowledged(s->instance, s->offset);

	(void)turn;
	if (s->wire == NULL) {
		free(s);
		return;
	}
	if (acknowledged < s->wanted && sim_now < s->waits_until) {
		sim_at(sim_now + LOOK * SIM_MS, look_again, s, 0);
		return;
	}
	s->waiting = false;
	if (s->with_disk) {
		add_number('*', 2);
		add_number(':', 1);
	}
	add_number(':', acknowledged);
	read_commands(s);
	say(s);
}

static int64_t
number(const struct lsh_arg *arg)
{
	char text[32];

	snprintf(text, sizeof text, "%.*s", (int)arg->size, arg->bytes);
	return atoll(text);
}

static void
wait_for_replicas(struct sim_speaker *s, const struct lsh_arg *args, size_t count)
{
	int64_t ms = number(&args[count - 1]);

	if (!s->wrote)
		sim_breach("a client waits for replicas where it wrote nothing");
	s->with_disk = count == 4;
	s->wanted = number(&args[count - 2]);
	s->waits_until = ms > 0 ? sim_now + ms * SIM_MS : SIM_NEVER;
	s->waiting = true;
	sim_at(sim_now, look_again, s, 0);
}

static bool
is(const struct lsh_arg *arg, const char *word)
{
	return arg->size == strlen(word) && strncasecmp(arg->bytes, word, arg->size) == 0;
}

static void
tell_about(const struct sim_instance *n, const struct lsh_arg *section)
{
	const char *mode = n->server == NULL ? "sentinel" : sim_site.deployment == SIM_CLUSTER ? "cluster" : "standalone";
	char text[400];
	int size;

	if (strncmp(section->bytes, "server", section->size) == 0)
		size = snprintf(text, sizeof text, "# Server\r\nredis_version:7.2.0\r\nredis_mode:%s\r\nrun_id:%s\r\n"
		                "uptime_in_seconds:%" PRId64 "\r\n", mode, n->run_id, (sim_now - n->started) / SIM_S);
	else if (strncmp(section->bytes, "replication", section->size) == 0)
		size = snprintf(text, sizeof text,
		                "# Replication\r\nrole:%s\r\nconnected_slaves:%" PRId64 "\r\nsecond_repl_offset:%d\r\n",
		                n->master != NULL ? "slave" : "master", sim_instance_acknowledged(n, 0),
		                n->was_replica ? 1 : -1);
	else
		size = snprintf(text, sizeof text, "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n");
	add_text(text, (size_t)size);
}

static void
add_field(const char *name, const char *format, int64_t value)
{
	char text[32];

	add_text(name, strlen(name));
	add_text(text, (size_t)snprintf(text, sizeof text, format, value));
}

/* What a sentinel says of the master, and of the others. */
static void
answer_as_sentinel(const struct sim_instance *n, const struct lsh_arg *question)
{
	const struct sim_instance *master = sim_site.masters[0];
	char host[16];

	if (is(question, "GET-MASTER-ADDR-BY-NAME")) {
		add_number('*', 2);
		add_text(host, (size_t)snprintf(host, sizeof host, "10.0.0.%d", master->host.number + 1));
		add_text("6379", 4);
	} else if (is(question, "MASTER")) {
		add_number('*', 10);
		add_field("ip", "10.0.0.%" PRId64, master->host.number + 1);
		add_field("port", "%" PRId64, 6379);
		add_field("config-epoch", "%" PRId64, (int64_t)sim_site.epoch);
		add_field("flags", master->host.down ? "s_down,master" : "master", 0);
		add_field("role-reported-time", "%" PRId64, (sim_now - master->promoted) / SIM_MS);
	} else {
		add_number('*', SIM_SENTINELS - 1);
		for (size_t i = sim_site.count; i < sim_site.count + SIM_SENTINELS; i++) {
			if (&sim_site.instances[i] == n)
				continue;
			add_number('*', 4);
			add_field("ip", "10.0.0.%" PRId64, sim_site.instances[i].host.number + 1);
			add_field("port", "%" PRId64, 6379);
		}
	}
}

/* ---- in a cluster ---- */

static void
add_range(unsigned first, unsigned last)
{
	const struct sim_instance *master = sim_site.masters[sim_cluster_shard(first)];
	char id[41];

	add_number('*', 3);
	add_number(':', first);
	add_number(':', last);
	add_number('*', 3);
	add_text(id, (size_t)snprintf(id, sizeof id, "10.0.0.%d", master->host.number + 1));
	add_number(':', 6379);
	add_text(id, (size_t)snprintf(id, sizeof id, "%040d", master->host.number));
}

static void
tell_slots(void)
{
	int64_t ranges = 0;

	for (unsigned i = 0; i < LSH_SLOTS; i++)
		ranges += i == 0 || sim_cluster_shard(i) != sim_cluster_shard(i - 1);
	add_number('*', ranges);
	for (unsigned i = 0, first = 0; i < LSH_SLOTS; i++)
		if (i == LSH_SLOTS - 1 || sim_cluster_shard(i) != sim_cluster_shard(i + 1)) {
			add_range(first, i);
			first = i + 1;
		}
}

static void
answer_about_cluster(const struct lsh_arg *question)
{
	char text[100];

	if (is(question, "SLOTS"))
		tell_slots();
	else
		add_text(text, (size_t)snprintf(text, sizeof text, "cluster_state:ok\r\ncluster_current_epoch:%" PRIu64 "\r\n",
		                                sim_site.epoch));
}

/* Of a command with keys: may it be run here? Else it is answered. */
static bool
is_for_us(struct sim_speaker *s, const struct lsh_arg *args, size_t count)
{
	bool is_script = is(&args[0], "EVALSHA") || is(&args[0], "EVAL"), asking = s->asking;
	size_t keys = is_script ? (size_t)number(&args[2]) : count > 1 ? 1 : 0;
	char says[100];

	s->asking = false;
	s->instance->names_no_key = is_script && keys == 0;
	s->instance->was_asked_for = asking;
	if (sim_site.deployment != SIM_CLUSTER || keys == 0 || is(&args[0], "SCRIPT") ||
	    sim_cluster_may_run(s->instance, &args[is_script ? 3 : 1], keys, asking, says, sizeof says))
		return true;
	add_line('-', says);
	return false;
}

/* ---- commands ---- */

/* SCAN: one page has all, and an empty one may come before it. */
static void
tell_keys(const struct sim_instance *n, const struct lsh_arg *cursor)
{
	const struct sim_keyspace *keyspace = &n->server->context.keyspace;
	int64_t now_ms = sim_server_us(n->server, sim_world_us()) / 1000, count = 0;
	bool empty = is(cursor, "0") && sim_chance(0.5);

	for (size_t i = 0; i < keyspace->count; i++)
		count += keyspace->keys[i]->expires_ms > now_ms;
	add_number('*', 2);
	add_text(empty ? "7" : "0", 1);
	add_number('*', empty ? 0 : count);
	for (size_t i = 0; i < keyspace->count && !empty; i++)
		if (keyspace->keys[i]->expires_ms > now_ms)
			add_text(keyspace->keys[i]->name, strlen(keyspace->keys[i]->name));
}

/* What has nothing to do with keys. False: it is another one. */
static bool
obey_at_once(struct sim_speaker *s, const struct lsh_arg *args)
{
	if (is(&args[0], "CLIENT") || is(&args[0], "SELECT") || is(&args[0], "AUTH") || is(&args[0], "ASKING"))
		add("+OK\r\n", 5);
	else if (is(&args[0], "INFO"))
		tell_about(s->instance, &args[1]);
	else if (is(&args[0], "SUBSCRIBE"))
		subscribe(s, "subscribe", &args[1]);
	else if (is(&args[0], "SUNSUBSCRIBE"))
		unsubscribe(s, args[1].bytes, args[1].size);
	else if (is(&args[0], "SENTINEL"))
		answer_as_sentinel(s->instance, &args[1]);
	else if (is(&args[0], "CLUSTER"))
		answer_about_cluster(&args[1]);
	else if (s->instance->server == NULL)
		add("+PONG\r\n", 7);
	else if (is(&args[0], "SCAN"))
		tell_keys(s->instance, &args[1]);
	else
		return false;
	s->asking = is(&args[0], "ASKING");
	return true;
}

static void
obey(struct sim_speaker *s, const struct lsh_arg *args, size_t count)
{
	bool waits = is(&args[0], "WAIT") || is(&args[0], "WAITAOF");

	if (obey_at_once(s, args))
		return;
	if (s->instance->refuses_until > sim_now && !is(&args[0], "SSUBSCRIBE") && !is(&args[0], "TIME")) {
		add_line('-', s->instance->refusal);
		return;
	}
	if (waits) {
		wait_for_replicas(s, args, count);
		return;
	}
	if (!is_for_us(s, args, count))
		return;
	if (is(&args[0], "SSUBSCRIBE")) {
		subscribe(s, "ssubscribe", &args[1]);
	} else {
		const struct lsh_message *answer = sim_instance_run(s->instance, args, count);

		s->wrote |= (is(&args[0], "EVALSHA") || is(&args[0], "EVAL")) && answer->type != LSH_ERROR;
		add_message(answer);
	}
	s->offset = s->instance->offset;
}

/* ---- reading ---- */

/* Read one command, and execute it. Returns its size; 0: it is not all there. */
static size_t
read_command(struct sim_speaker *s, const char *from, size_t there)
{
	struct frame frame = {0};
	struct lsh_arg args[SIM_WORDS + 1];
	bool whole;
	size_t size = frame_feed(&frame, from, there, &whole), at = 0, count = 0;

	if (!whole)
		return 0;
	while ((args[count].bytes = frame_string(from, size, &at, &args[count].size)) != NULL)
		if (++count > SIM_WORDS)
			break;
	if (*from != '*' || count > SIM_WORDS)
		sim_breach("a client said something that is no command: %.20s", from);
	obey(s, args, count);
	return size;
}

static void
read_commands(struct sim_speaker *s)
{
	size_t n;

	while (!s->waiting && (n = read_command(s, s->in.at + s->in.head, bytes_length(&s->in))) > 0)
		s->in.head += n;
}

void
sim_speaker_hear(void *speaker, const char *bytes, size_t size)
{
	struct sim_speaker *s = speaker;

	bytes_append(&s->in, bytes, size);
	read_commands(s);
	say(s);
}

/* ---- life ---- */

void *
sim_speaker_new(struct sim_host *host, struct sim_wire *wire)
{
	struct sim_speaker *s = zeroed(sizeof *s);

	s->instance = (struct sim_instance *)host;
	s->wire = wire;
	s->next = s->instance->speakers;
	s->instance->speakers = s;
	return s;
}

bool
sim_speaker_is_idle(const void *speaker)
{
	const struct sim_speaker *s = speaker;

	return !s->waiting && bytes_length(&s->in) == 0;
}

void
sim_speaker_gone(void *speaker)
{
	struct sim_speaker *s = speaker, **at = &s->instance->speakers;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	for (size_t i = 0; i < CHANNELS; i++)
		free(s->channels[i]);
	free(s->in.at);
	s->in = (struct bytes){0};
	s->wire = NULL;
	if (!s->waiting)
		free(s); /* else look_again() does */
}
