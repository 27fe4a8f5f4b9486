/* The judge of what is shared, permits and read-write locks: no more are out than there are, who writes is alone, who
 * came first comes in first, and the permits of a hold come and go together. See judge.h and judge_parts.h. */
#include "tests/sim/judge_parts.h"

#include "core/core.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool
judge_is_shared(int name)
{
	return name == SIM_PERMITS ? sim_terms.permits > 0 : sim_terms.readwrite[name];
}

/* A member is "<token> <count>/<limit>", and has a number behind that if it is another one of the same hold; or
 * "<token> w". A place is the first of them, with its claim. */
static size_t
who_size(const char *member)
{
	size_t token = strcspn(member, " ");

	return token + 1 + strcspn(member + token + 1, " ");
}

/* 0: it is to be alone. */
static size_t
count_of(const struct sim_member *who)
{
	return strtoul(strchr(who->bytes, ' ') + 1, NULL, 10);
}

/* Is that one of them? NULL: there is none. Of a queue: its place. */
static const struct sim_member *
find_who(const struct sim_key *key, const char *who, size_t size)
{
	for (size_t i = 0; key != NULL && i < key->count; i++)
		if (strncmp(key->members[i]->bytes, who, size) == 0)
			return key->members[i];
	return NULL;
}

static bool
is_out(const struct sim_instance *n, const struct sim_member *m)
{
	return m != NULL && m->score > (double)judge_us_at(n);
}

size_t
judge_share_out(const struct sim_instance *n, int name)
{
	const struct sim_key *key = judge_key_at(n, name, "");
	size_t out = 0;

	for (size_t i = 0; key != NULL && i < key->count; i++)
		out += is_out(n, key->members[i]);
	return out;
}

/* May so many more come in; 0: may somebody who is to be alone? */
static bool
has_room(const struct sim_instance *n, int name, size_t count)
{
	const struct sim_key *key = judge_key_at(n, name, "");
	size_t out = judge_share_out(n, name);

	for (size_t i = 0; key != NULL && i < key->count; i++)
		if (is_out(n, key->members[i]) && count_of(key->members[i]) == 0)
			return false;
	return count == 0 ? out == 0 : name != SIM_PERMITS || out + count <= (size_t)sim_terms.permits;
}

/* The permits of a hold end together, and before their key. */
static void
look_at_member(const struct sim_instance *n, int name, const struct sim_key *key, const struct sim_member *m)
{
	int64_t most_ms = larger_of(sim_terms.longest_ms + sim_terms.longest_ms / 98 + 4, 3000); /* traded, by so much */
	size_t size = who_size(m->bytes), same = 0;

	for (size_t i = 0; i < key->count; i++)
		same += strncmp(key->members[i]->bytes, m->bytes, size) == 0 && key->members[i]->score == m->score;
	if (same != count_of(m) + (count_of(m) == 0))
		sim_breach("lock %d: at server %d %zu of %s end together", name, n->host.number, same, m->bytes);
	if (count_of(m) == 0 && is_out(n, m) && judge_share_out(n, name) > 1)
		sim_breach("lock %d: at server %d %s is not alone", name, n->host.number, m->bytes);
	if (m->score > (double)(judge_us_at(n) + most_ms * 1000))
		sim_breach("lock %d: at server %d %s is out for too long", name, n->host.number, m->bytes);
	if (m->score > (double)(key->expires_ms + 1) * 1000)
		sim_breach("lock %d: at server %d %s outlasts its key", name, n->host.number, m->bytes);
}

/* ---- who is let in ---- */

static struct sim_keyspace before; /* what the server had that executes a command */

void
sim_judge_serves(const struct sim_instance *n)
{
	bool is_shared = false;

	for (int name = 0; name < SIM_NAMES; name++)
		is_shared |= judge_is_shared(name);
	if (is_shared)
		sim_keyspace_copy(&before, &n->server->context.keyspace);
}

/* Who came in last of a client; permits: from the queue. */
static struct {
	char token[LSH_TOKEN_SIZE];
	int64_t at; /* 0: it has been seen to */
} let_in[SIM_NAMES][SIM_PROCESSES];

static void
note_let_in(int name, const struct sim_member *m)
{
	const struct sim_client *c = judge_owner_of(m->bytes);

	if (c == NULL)
		return;
	snprintf(let_in[name][c->process.number].token, LSH_TOKEN_SIZE, "%.*s", (int)strcspn(m->bytes, " "), m->bytes);
	let_in[name][c->process.number].at = sim_now;
}

static bool
is_known(int name, const struct sim_client *c, const char *token)
{
	const struct lsh_lock *lock = name != SIM_PERMITS ? judge_lock_in(c, name) : NULL;

	if (judge_owner_of(token) == NULL)
		return true;
	if (name != SIM_PERMITS)
		return lock == NULL || lsh_lease_find(&lock->resource, token, strlen(token)) != NULL;
	for (int k = 0; k < SIM_THREADS; k++)
		if (strcmp(c->people[k].tokens[name], token) == 0)
			return true;
	return false;
}

/* Who was not told by the message asks a second later. Another one later it is somebody's, or has been given back;
 * unless messages get lost and nobody notices. */
static void
look_for_ghosts(const struct sim_instance *n, int name, const struct sim_key *key)
{
	for (int i = 0; i < sim_client_count; i++) {
		const char *token = let_in[name][i].token;

		if (let_in[name][i].at == 0 || sim_now - let_in[name][i].at < 2 * SIM_S)
			continue;
		if (!is_known(name, &sim_clients[i], token) && is_out(n, find_who(key, token, strlen(token))) &&
		    judge_is_settled(2 * SIM_S) && !sim_has_struck[SIM_HOLE])
			sim_breach("lock %d: server %d has let %s in, and nobody knows", name, n->host.number, token);
		let_in[name][i].at = 0;
	}
}

/* A step that lets in names four keys, and this one first. */
static bool
may_let_in(const struct lsh_arg *args, int name)
{
	return strncasecmp(args[0].bytes, "EVAL", 4) == 0 && args[2].size == 1 && args[2].bytes[0] == '4' &&
	       strncmp(args[3].bytes, sim_judge_key(name), args[3].size) == 0;
}

/* Does it come in for who was in before? */
static bool
is_traded(const struct sim_instance *n, int name, const struct lsh_arg *args, const struct sim_member *m)
{
	return may_let_in(args, name) && args[8].size == m->size && memcmp(args[8].bytes, m->bytes, m->size) == 0 &&
	       is_out(n, find_who(judge_key_in(&before, n, name, ""), args[7].bytes, args[7].size));
}

/* Who comes in asked for that, and passes nobody in the queue. */
static void
look_at_order(const struct sim_instance *n, int name, const struct lsh_arg *args, const struct sim_key *queue,
              const struct sim_member *m)
{
	size_t size = who_size(m->bytes);
	const struct sim_member *was = find_who(judge_key_in(&before, n, name, ""), m->bytes, size);
	const struct sim_member *place = find_who(judge_key_in(&before, n, name, ":queue"), m->bytes, size);

	if (!is_out(n, m) || is_out(n, was) || is_traded(n, name, args, m))
		return;
	if (place == NULL && !may_let_in(args, name))
		sim_breach("lock %d: at server %d %s is back", name, n->host.number, m->bytes);
	if (place != NULL || name != SIM_PERMITS)
		note_let_in(name, m);
	for (size_t i = 0; queue != NULL && i < queue->count; i++)
		if (queue->members[i]->score > 0 && (place == NULL || queue->members[i]->score < place->score))
			sim_breach("lock %d: server %d lets %s in before %s", name, n->host.number, m->bytes,
			           queue->members[i]->bytes);
}

/* Has its client come, or said a word, in the last 10 s? */
static bool
lives(const struct sim_instance *n, const struct sim_key *queue, const struct sim_member *place)
{
	double since = (double)(judge_us_at(n) - 10 * 1000000);

	for (size_t i = 0; i < queue->count; i++)
		if (-queue->members[i]->score >= since && memcmp(queue->members[i]->bytes, place->bytes, LSH_UUID_SIZE) == 0)
			return true;
	return place->score >= since;
}

/* Who is in already, came too late, or shall ask again, is told that and no more; and who only looks names nobody. */
static bool
lets_in(const struct lsh_arg *args, int name, const struct lsh_message *answer)
{
	if (!may_let_in(args, name) || answer->type == LSH_ERROR ||
	    (answer->type == LSH_ARRAY && args[7].size < LSH_UUID_SIZE))
		return false;
	return answer->type == LSH_INTEGER ? answer->item[0].integer >= 0 && answer->item[0].integer <= 2 :
	                                     answer->item[0].integer >= 0 && answer->item[1].integer != 0;
}

/* The first who waits, and for whom there is room, is not left in the queue. */
static void
look_at_first(const struct sim_instance *n, int name, const struct sim_key *queue)
{
	size_t i = 0;

	while (i < queue->count && queue->members[i]->score < 0) /* a client, and when it said a word */
		i++;
	if (i < queue->count && lives(n, queue, queue->members[i]) &&
	    has_room(n, name, count_of(queue->members[i])))
		sim_breach("lock %d: server %d does not let %s in", name, n->host.number, queue->members[i]->bytes);
}

static void
look_at_share(const struct sim_instance *n, int name, const struct lsh_arg *args, const struct lsh_message *answer)
{
	static const char *const suffixes[] = {"", ":fence", ":queue", ":limit"};
	const struct sim_key *key, *queue = judge_key_at(n, name, ":queue");

	for (size_t k = 0; k < 4; k++)
		if ((key = judge_key_at(n, name, suffixes[k])) != NULL && key->expires_ms == SIM_NO_TTL)
			sim_breach("lock %d: server %d has a key '%s' without a TTL", name, n->host.number, suffixes[k]);
	key = judge_key_at(n, name, "");
	if (name == SIM_PERMITS && judge_share_out(n, name) > (size_t)sim_terms.permits)
		sim_breach("permits: %zu of %d are out at server %d", judge_share_out(n, name), sim_terms.permits,
		           n->host.number);
	for (size_t k = 0; key != NULL && k < key->count; k++) {
		look_at_member(n, name, key, key->members[k]);
		look_at_order(n, name, args, queue, key->members[k]);
	}
	look_for_ghosts(n, name, key);
	if (queue != NULL && lets_in(args, name, answer))
		look_at_first(n, name, queue);
}

void
sim_judge_let_in(const struct sim_instance *n, const struct lsh_arg *args, const struct lsh_message *answer)
{
	for (int name = 0; name < SIM_NAMES; name++)
		if (judge_is_shared(name))
			look_at_share(n, name, args, answer);
}

/* ---- who has them, and who waits ---- */

int64_t
judge_share_kept(const struct sim_instance *n, int name, const char *token)
{
	const struct sim_member *m = find_who(judge_key_at(n, name, ""), token, strlen(token));

	return m != NULL ? ((int64_t)m->score - judge_us_at(n)) * SIM_US : 0;
}

int64_t
judge_permits_kept(const struct sim_person *p)
{
	int64_t kept = 0;

	for (size_t i = 0; i < SIM_SHARDS && sim_site.masters[i] != NULL; i++) {
		const struct sim_instance *n = sim_site.masters[i];

		kept = larger_of(kept, judge_share_kept(n, SIM_PERMITS, p->tokens[SIM_PERMITS]));
		kept = larger_of(kept, judge_lost_until[n->host.number] - sim_now);
	}
	return kept;
}

/* How many are out; nobody counts on them for longer than a server does. */
static int64_t
count_permits(void)
{
	int64_t out = 0;

	each_person(p) {
		int64_t left = leash_permit_remaining_ms(p->permit) * SIM_MS;

		if (!leash_permit_held(p->permit))
			continue;
		out += p->count;
		p->permit_until = sim_now + left;
		if (judge_permits_kept(p) < left && !p->client->leaves && !judge_is_doubted(SIM_PERMITS))
			sim_breach("permits: client %d counts on %s for %" PRId64 " ms, for which no server keeps it",
			           p->client->process.number, p->tokens[SIM_PERMITS], left / SIM_MS);
	}
	return out;
}

void
judge_look_for_passed(int name)
{
	each_person(p) {
		if (p->lock == name && !judge_waits_for(p, name))
			p->passed_since = 0;
		else if (p->lock == name && p->passed_since != 0 && sim_now - p->passed_since > judge_grace())
			sim_breach("lock %d: who came later has it, but client %d waits", name, p->client->process.number);
	}
}

/* How many those want who came first. Nobody else gets any before them, while nothing goes wrong. */
static int64_t
count_wanted(void)
{
	int64_t first = SIM_NEVER, wanted = 0;

	each_person(p)
		if (judge_waits_for(p, SIM_PERMITS) && p->waits_since < first)
			first = p->waits_since;
	each_person(p)
		if (judge_waits_for(p, SIM_PERMITS) && p->waits_since <= first + judge_grace())
			wanted = larger_of(wanted, p->count);
	return wanted;
}

/* What ended without a word is over at the server a little later, and who waits asks each second. */
void
judge_permits_look(void)
{
	static int64_t free_since; /* there are enough for who came first */
	int64_t out = count_permits(), wanted = count_wanted();
	int64_t most = sim_climate == SIM_CALM ? (sim_terms.longest_ms / 50 + 1500) * SIM_MS : judge_most_free(SIM_PERMITS);

	judge_look_for_passed(SIM_PERMITS);
	if (out > sim_terms.permits && !judge_is_doubted(SIM_PERMITS))
		sim_breach("permits: %" PRId64 " of %d are out", out, sim_terms.permits);
	if (wanted == 0 || out + wanted > sim_terms.permits)
		free_since = sim_now;
	else if (sim_now - free_since > most && judge_is_settled(most))
		sim_breach("permits: there are %" PRId64 " for who came first, but it waits", sim_terms.permits - out);
}

/* Whom does that pass, who has waited for longer? Each has a place of its own. */
void
judge_share_granted(const struct sim_person *p)
{
	each_person(other)
		if (sim_climate == SIM_CALM && (p->lock == SIM_PERMITS || sim_terms.fair[p->lock]) &&
		    judge_waits_for(other, p->lock) && other->passed_since == 0 &&
		    other->waits_since + judge_grace() < p->waits_since)
			other->passed_since = sim_now;
}

const struct sim_person *
judge_permits_told(const leash_event *event)
{
	each_person(p) {
		if (p->permit == NULL || p->permit != event->permit)
			continue;
		if (p->lost)
			sim_breach("permits: %s was told of some that were lost", leash_event_name(event->type));
		p->lost = event->type == LEASH_EVENT_LOST;
		return p;
	}
	return NULL;
}
