/* What others do with the servers: they say what is not so, delete what is not theirs; and a service in Java has the
 * locks that are shared with Redisson.
 *
 *   its thread   WITHOUT --the lock is free--> HOLDS --it unlocks, and tells all; or its lease ends--> WITHOUT */
#include "tests/sim/judge_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define THREAD "6a617661-0000-4000-8000-000000000000:1" /* of the Java service */

/* That it has the lock. It is not to believe that where a server may have been replaced, nor with its own old fence. */
static void
tell_waiter(struct sim_instance *n, int l, const char *token, const char *channel)
{
	int64_t fence = sim_server_us(n->server, sim_world_us());
	char text[160];

	for (int i = 0; i < sim_client_count && sim_site.deployment == SIM_SINGLE; i++)
		if (sim_judge_is_of(token, &sim_clients[i]))
			fence = (int64_t)(sim_clients[i].fences[l] / 256) - sim_terms.readwrite[l];
	if (fence <= 0)
		return;
	snprintf(text, sizeof text, "g %s %" PRId64 " %s", token, fence, sim_judge_key(l));
	sim_trace("somebody says %s at server %d", text, n->host.number);
	sim_speakers_publish(n, channel, strlen(channel), text, strlen(text));
}

/* ---- Redisson ---- */

static int64_t
run(struct sim_instance *n, const char *verb, const char *key, const char *third, const char *fourth)
{
	const char *words[] = {verb, key, third, fourth};
	struct lsh_arg args[4];
	size_t count = 0;

	for (; count < 4 && words[count] != NULL; count++)
		args[count] = (struct lsh_arg){words[count], strlen(words[count])};
	return sim_instance_run(n, args, count)->item[0].integer;
}

/* Who answers for a lock now; or NULL. */
static struct sim_instance *
master_of(int l)
{
	const struct lsh_arg key = {sim_judge_key(l), strlen(sim_judge_key(l))};
	bool is_cluster = sim_site.deployment == SIM_CLUSTER;
	struct sim_instance *n = sim_site.masters[is_cluster ? sim_cluster_shard(lsh_slot_of(key.bytes, key.size)) : 0];
	char says[80];

	if (n == NULL || n->host.down || (is_cluster && !sim_cluster_may_run(n, &key, 1, false, says, sizeof says)))
		return NULL;
	return n;
}

static void
say_unlocked(struct sim_instance *n, int l)
{
	char channel[60];
	int size = snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}", sim_judge_key(l));

	sim_speakers_publish(n, channel, (size_t)size, "0", 1);
}

/* unlock(), if it still has it. */
static void
unlock(void *what, uint64_t l)
{
	struct sim_instance *n = master_of((int)l);

	(void)what;
	if (n == NULL || run(n, "HDEL", sim_judge_key((int)l), THREAD, NULL) == 0)
		return;
	sim_trace("a Java thread unlocks %s", sim_names[l]);
	say_unlocked(n, (int)l);
}

/* tryLock(); but for a service that dies it unlocks before its lease ends. */
static void
try_lock(struct sim_instance *n, int l, bool dies)
{
	int64_t lease_ms = sim_terms.lease_ms / 4;
	char text[24];

	if (run(n, "EXISTS", sim_judge_key(l), NULL, NULL) != 0)
		return;
	sim_trace("a Java thread locks %s", sim_names[l]);
	snprintf(text, sizeof text, "%" PRId64, lease_ms);
	run(n, "HSET", sim_judge_key(l), THREAD, "1");
	run(n, "PEXPIRE", sim_judge_key(l), text, NULL);
	if (!dies)
		sim_at(sim_now + sim_between(0, lease_ms * SIM_MS), unlock, NULL, (uint64_t)l);
}

static void
use_in_java(int l, uint64_t turn)
{
	struct sim_instance *n = master_of(l);

	if (n == NULL)
		return;
	if (turn % 4 == 0) {
		say_unlocked(n, l); /* it may be no more true when it is heard */
	} else if (turn % 32 == 1) {
		sim_trace("a Java thread unlocks %s by force", sim_names[l]);
		sim_judge_broken(l);
		run(n, "DEL", sim_judge_key(l), NULL, NULL);
		say_unlocked(n, l);
	} else {
		try_lock(n, l, turn % 4 == 3);
	}
}

bool
sim_java_has(int l)
{
	const struct sim_instance *n = master_of(l);
	const struct sim_key *key = n != NULL ? judge_key_at(n, l, "") : NULL;

	return key != NULL && sim_member_find(key, THREAD, sizeof THREAD - 1) < key->count;
}

/* ---- all ---- */

/* On a quorum nobody waits: there the lock is deleted, once no server is still to be asked for it. A read-write lock is
 * deleted at times, so that those who share a lease lose it. */
void
sim_meddle(uint64_t turn)
{
	int l = (int)(turn % (uint64_t)sim_terms.locks);
	bool deletes = sim_site.deployment == SIM_QUORUM ? sim_climate == SIM_CALM && sim_judge_is_everywhere(l) :
	               sim_site.deployment == SIM_SINGLE && sim_terms.readwrite[l] && turn % 4 == 0;

	if (sim_terms.redisson[l]) {
		use_in_java(l, turn / (uint64_t)sim_terms.locks);
		return;
	}
	for (size_t i = 0; i < sim_site.count; i++) {
		sim_judge_each_place(&sim_site.instances[i], l, tell_waiter);
		if (deletes)
			run(&sim_site.instances[i], "DEL", sim_judge_key(l), NULL, NULL);
	}
	if (deletes)
		sim_judge_broken(l);
}
