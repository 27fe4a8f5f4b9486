/* The judge of permits: no more are out than there are, who came first gets them first, and those of a hold come and go
 * together. See judge.h and judge_parts.h. */
#include "tests/sim/judge_parts.h"

#include "base/token.h"
#include "tests/sim/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A member is "<token> <count>/<limit>", and has a number behind that if it is another one of the same hold. A place is
 * the first of them, with its claim. */
static size_t
who_size(const char *member)
{
	size_t token = strcspn(member, " ");

	return token + 1 + strcspn(member + token + 1, " ");
}

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
judge_permits_out(const struct sim_instance *n)
{
	const struct sim_key *key = judge_key_at(n, SIM_PERMITS, "");
	size_t out = 0;

	for (size_t i = 0; key != NULL && i < key->count; i++)
		out += is_out(n, key->members[i]);
	return out;
}

/* The permits of a hold end together, and before their key. */
static void
look_at_member(const struct sim_instance *n, const struct sim_key *key, const struct sim_member *m)
{
	int64_t most_ms = larger_of(sim_terms.longest_ms, 3000);
	size_t size = who_size(m->bytes), same = 0;

	for (size_t i = 0; i < key->count; i++)
		same += strncmp(key->members[i]->bytes, m->bytes, size) == 0 && key->members[i]->score == m->score;
	if (same != count_of(m))
		sim_breach("permits: at server %d %zu of %s end together", n->host.number, same, m->bytes);
	if (m->score > (double)(judge_us_at(n) + most_ms * 1000))
		sim_breach("permits: at server %d %s is out for too long", n->host.number, m->bytes);
	if (m->score > (double)(key->expires_ms + 1) * 1000)
		sim_breach("permits: at server %d %s outlasts its key", n->host.number, m->bytes);
}

/* ---- who is let in ---- */

static struct sim_keyspace before; /* what the server had that executes a command */

void
sim_judge_serves(const struct sim_instance *n)
{
	if (sim_terms.permits > 0)
		sim_keyspace_copy(&before, &n->server->context.keyspace);
}

/* Who came in last of a client, from the queue. */
static struct {
	char token[LSH_TOKEN_SIZE];
	int64_t at; /* 0: it has been seen to */
} let_in[SIM_PROCESSES];

static void
note_let_in(const struct sim_member *m)
{
	const struct sim_client *c = judge_owner_of(m->bytes);

	if (c == NULL)
		return;
	snprintf(let_in[c->process.number].token, LSH_TOKEN_SIZE, "%.*s", (int)strcspn(m->bytes, " "), m->bytes);
	let_in[c->process.number].at = sim_now;
}

/* Who was not told by the message asks a second later. Another one later it is somebody's, or has been given back;
 * unless messages get lost and nobody notices. */
static void
look_for_ghosts(const struct sim_instance *n, const struct sim_key *key)
{
	for (int i = 0; i < sim_client_count; i++) {
		const char *token = let_in[i].token;

		if (let_in[i].at == 0 || sim_now - let_in[i].at < 2 * SIM_S)
			continue;
		bool is_known = judge_owner_of(token) == NULL;
		for (int k = 0; k < SIM_THREADS; k++)
			is_known |= strcmp(sim_clients[i].people[k].token, token) == 0;
		if (!is_known && is_out(n, find_who(key, token, strlen(token))) && judge_is_settled(2 * SIM_S) &&
		    !sim_has_struck[SIM_HOLE])
			sim_breach("permits: server %d has let %s in, and nobody knows", n->host.number, token);
		let_in[i].at = 0;
	}
}

/* A step that lets in names four keys. */
static bool
names_four_keys(const struct lsh_arg *args)
{
	return strncasecmp(args[0].bytes, "EVAL", 4) == 0 && args[2].size == 1 && args[2].bytes[0] == '4';
}

/* Who comes in asked for that, and passes nobody in the queue. */
static void
look_at_order(const struct sim_instance *n, const struct lsh_arg *args, const struct sim_key *queue,
              const struct sim_member *m)
{
	size_t size = who_size(m->bytes);
	const struct sim_member *was = find_who(judge_key_in(&before, n, SIM_PERMITS, ""), m->bytes, size);
	const struct sim_member *place = find_who(judge_key_in(&before, n, SIM_PERMITS, ":queue"), m->bytes, size);

	if (!is_out(n, m) || is_out(n, was))
		return;
	if (place == NULL && !names_four_keys(args))
		sim_breach("permits: at server %d %s is back", n->host.number, m->bytes);
	if (place != NULL)
		note_let_in(m);
	for (size_t i = 0; queue != NULL && i < queue->count; i++)
		if (queue->members[i]->score > 0 && (place == NULL || queue->members[i]->score < place->score))
			sim_breach("permits: server %d lets %s in before %s", n->host.number, m->bytes, queue->members[i]->bytes);
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

/* Who is in already, came too late, or shall ask again, is told that and no more. */
static bool
lets_in(const struct lsh_arg *args, const struct lsh_message *answer)
{
	if (!names_four_keys(args) || answer->type == LSH_ERROR)
		return false;
	return answer->type == LSH_INTEGER ? answer->item[0].integer <= 2 :
	                                     answer->item[0].integer >= 0 && answer->item[1].integer != 0;
}

/* The first who waits, and for whom there are enough, is not left in the queue. */
static void
look_at_first(const struct sim_instance *n, const struct sim_key *queue)
{
	size_t i = 0;

	while (i < queue->count && queue->members[i]->score < 0) /* a client, and when it said a word */
		i++;
	if (i < queue->count && lives(n, queue, queue->members[i]) &&
	    judge_permits_out(n) + count_of(queue->members[i]) <= (size_t)sim_terms.permits)
		sim_breach("permits: server %d does not let %s in", n->host.number, queue->members[i]->bytes);
}

void
sim_judge_let_in(const struct sim_instance *n, const struct lsh_arg *args, const struct lsh_message *answer)
{
	static const char *const suffixes[] = {"", ":fence", ":queue", ":limit"};
	const struct sim_key *key, *queue = judge_key_at(n, SIM_PERMITS, ":queue");

	if (sim_terms.permits == 0)
		return;
	for (size_t k = 0; k < 4; k++)
		if ((key = judge_key_at(n, SIM_PERMITS, suffixes[k])) != NULL && key->expires_ms == SIM_NO_TTL)
			sim_breach("permits: server %d has a key '%s' without a TTL", n->host.number, suffixes[k]);
	key = judge_key_at(n, SIM_PERMITS, "");
	if (judge_permits_out(n) > (size_t)sim_terms.permits)
		sim_breach("permits: %zu of %d are out at server %d", judge_permits_out(n), sim_terms.permits, n->host.number);
	for (size_t k = 0; key != NULL && k < key->count; k++) {
		look_at_member(n, key, key->members[k]);
		look_at_order(n, args, queue, key->members[k]);
	}
	look_for_ghosts(n, key);
	if (queue != NULL && lets_in(args, answer))
		look_at_first(n, queue);
}

/* ---- who has them, and who waits ---- */

int64_t
judge_permits_kept(const struct sim_person *p)
{
	int64_t kept = 0;

	for (size_t i = 0; i < SIM_SHARDS && sim_site.masters[i] != NULL; i++) {
		const struct sim_instance *n = sim_site.masters[i];
		const struct sim_member *m = find_who(judge_key_at(n, SIM_PERMITS, ""), p->token, strlen(p->token));

		kept = larger_of(kept, m != NULL ? ((int64_t)m->score - judge_us_at(n)) * SIM_US : 0);
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
		if (judge_permits_kept(p) < left && !p->client->leaves && !judge_is_doubted(SIM_PERMITS))
			sim_breach("permits: client %d counts on %s for %" PRId64 " ms, for which no server keeps it",
			           p->client->process.number, p->token, left / SIM_MS);
	}
	return out;
}

/* How many those want who came first. Nobody else gets any before them, while nothing goes wrong. */
static int64_t
count_wanted(void)
{
	int64_t first = SIM_NEVER, wanted = 0;

	each_person(p)
		if (judge_waits_for(p, SIM_PERMITS) && p->waits_since < first)
			first = p->waits_since;
	each_person(p) {
		if (!judge_waits_for(p, SIM_PERMITS))
			p->passed_since = 0;
		else if (p->passed_since != 0 && sim_now - p->passed_since > judge_grace())
			sim_breach("permits: who came later has them, but client %d waits", p->client->process.number);
		else if (p->waits_since <= first + judge_grace())
			wanted = larger_of(wanted, p->count);
	}
	return wanted;
}

/* What ended without a word is over at the server a little later, and who waits asks each second. */
void
judge_permits_look(void)
{
	static int64_t free_since; /* there are enough for who came first */
	int64_t out = count_permits(), wanted = count_wanted();
	int64_t most = sim_climate == SIM_CALM ? (sim_terms.longest_ms / 50 + 1500) * SIM_MS : judge_most_free();

	if (out > sim_terms.permits && !judge_is_doubted(SIM_PERMITS))
		sim_breach("permits: %" PRId64 " of %d are out", out, sim_terms.permits);
	if (wanted == 0 || out + wanted > sim_terms.permits)
		free_since = sim_now;
	else if (sim_now - free_since > most && judge_is_settled(most))
		sim_breach("permits: there are %" PRId64 " for who came first, but it waits", sim_terms.permits - out);
}

/* Whom does that pass, who has waited for longer? */
void
judge_permits_granted(const struct sim_person *p)
{
	each_person(other)
		if (sim_climate == SIM_CALM && judge_waits_for(other, SIM_PERMITS) && other->passed_since == 0 &&
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
