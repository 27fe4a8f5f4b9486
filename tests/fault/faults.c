/* What happens to contenders, and to all servers of an arena. */
#include "tests/fault/faults.h"

#include "tests/support/await.h"
#include "tests/support/trouble.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const server_args[] = {"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--enable-debug-command", "yes",
                                   "--user", CREW_USER, "on", ">" CREW_PASSWORD, "~*", "&*", "+@all", NULL};

bool
arena_has(const struct arena *arena, const struct fault *fault)
{
	return !arena->sealed || !fault->reads;
}

static void
order_all(struct server *server, const char *orders)
{
	char copy[256], *rest = copy;

	if (orders == NULL)
		return;
	if ((size_t)snprintf(copy, sizeof copy, "%s", orders) >= sizeof copy)
		trouble("too long: %s", orders);
	for (char *one; (one = strsep(&rest, ";")) != NULL;)
		order(server, one);
}

void
fault_begin(struct run *run, struct blow *blow)
{
	order_all(run->server, blow->fault->orders);
	if (blow->fault->begin != NULL)
		blow->fault->begin(run, blow);
}

void
fault_end(struct run *run, struct blow *blow)
{
	order_all(run->server, blow->fault->orders_at_end);
	if (blow->fault->end != NULL)
		blow->fault->end(run, blow);
}

void
calm_proxy(struct proxy *proxy)
{
	proxy_delay(proxy, PROXY_BOTH, 0);
	proxy_drip(proxy, PROXY_BOTH, 0);
	proxy_refuse(proxy, false);
	proxy_drop_messages(proxy, 0);
	proxy_weather(proxy, NULL);
	proxy_disarm(proxy);
	proxy_release(proxy);
}

uint64_t
roll(struct blow *blow, uint64_t below)
{
	return dice_roll(&blow->dice, below);
}

/* ---- contenders ---- */

void
kill_contender(struct run *run, struct blow *blow)
{
	crew_kill(run->crew, blow->target);
}

void
replace_contender(struct run *run, struct blow *blow)
{
	crew_replace(run->crew, blow->target);
}

void
freeze_contender(struct run *run, struct blow *blow)
{
	crew_freeze(run->crew, blow->target);
}

void
thaw_contender(struct run *run, struct blow *blow)
{
	crew_thaw(run->crew, blow->target);
}

/* ---- servers ---- */

void
flush_scripts(struct run *run, struct blow *blow)
{
	(void)blow;
	for (unsigned i = 0; i < run->server_count; i++)
		tell(run, i, "SCRIPT FLUSH");
}

void
kill_normal(struct run *run, struct blow *blow)
{
	(void)blow;
	for (unsigned i = 0; i < run->server_count; i++)
		tell(run, i, "CLIENT KILL TYPE normal USER " CREW_USER);
}

void
kill_pubsub(struct run *run, struct blow *blow)
{
	(void)blow;
	for (unsigned i = 0; i < run->server_count; i++)
		tell(run, i, "CLIENT KILL TYPE pubsub USER " CREW_USER);
}

void
stop_one(struct run *run, unsigned i)
{
	if (server_pid(run->servers[i]) == 0 || run->still[i])
		return;
	server_pause(run->servers[i]);
	run->still[i] = true;
}

void
continue_one(struct run *run, unsigned i)
{
	if (!run->still[i])
		return;
	server_resume(run->servers[i]);
	run->still[i] = false;
}

bool
returns_early(struct run *run, uint64_t *dice, unsigned all)
{
	bool early = dice_roll(dice, 3) == 0;

	while (!early && crew_calm_ns(run->crew) < run->arena->lease_ms * INT64_C(1000000) / 2)
		await_ms(10);
	if (early && run->min_replicas < all) {
		history_note(run->history, "breach returns-early");
		return true;
	}
	return false;
}

unsigned
note_failovers(struct run *run)
{
	struct failover failover;
	unsigned breaches = 0;

	while (watch_failover(run->watch, &failover)) {
		if (failover.port == run->ordered.port && failover.since_ns >= run->ordered.since_ns) {
			run->ordered.port = 0;
			continue;
		}
		if (run->min_replicas == 0) {
			history_note_at(run->history, failover.since_ns, "breach failover");
			breaches++;
		}
		history_note_at(run->history, failover.since_ns, "fault failover without an order, from port %d",
		                failover.port);
		if (run->print)
			printf("# %8.2f s: failover without an order\n", (double)(failover.since_ns - run->begun) / 1e9);
	}
	return breaches;
}

/* A file, or a folder of files. */
void
remove_data(const char *folder, const char *name)
{
	char path[4096], inner[8192];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
		unlink(inner);
	}
	if (dir != NULL)
		closedir(dir);
	if (remove(path) != 0 && errno != ENOENT)
		trouble("%s: %s", path, strerror(errno));
}

void
forget(const struct server *server)
{
	const char *folder = server_folder(server);

	remove_data(folder, "appendonlydir");
	remove_data(folder, "appendonly.aof");   /* before Redis 7 */
	remove_data(folder, "dump.rdb");
}
