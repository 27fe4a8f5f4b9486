#include "tools/hold.h"

#include "tools/moment.h"
#include "tools/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLICAS_MAX = 16 }; /* what the library takes */

const struct cli_option hold_need_options[] = {
	{.letter = 's', .name = "shared", .take = cli_take_flag, .at = offsetof(struct hold_need, shared),
	 .help = "hold it as a reader, together with other readers"},
	{.letter = 'x', .name = "exclusive", .take = cli_take_flag, .at = offsetof(struct hold_need, exclusive),
	 .help = "hold it as a writer: alone, where others read or have permits"},
	{.name = "slots", .value = "N", .take = cli_take_number, .at = offsetof(struct hold_need, slots), .least = 1,
	 .most = LEASH_SEMAPHORE_LIMIT_MAX, .help = "hold one of N permits, not a lock"},
	{.name = "take", .value = "K", .take = cli_take_number, .at = offsetof(struct hold_need, take), .least = 1,
	 .most = LEASH_PERMITS_MAX, .help = "hold K of the permits of --slots (default 1)"},
	{.name = NULL},
};

const struct cli_option hold_replicas_options[] = {
	{.name = "min-replicas", .value = "N", .take = cli_take_number, .at = offsetof(struct hold_replicas, min),
	 .least = 1, .most = REPLICAS_MAX, .help = "count the lock only when N replicas have acknowledged it"},
	{.name = "fsynced", .take = cli_take_flag, .at = offsetof(struct hold_replicas, fsynced),
	 .help = "count it only when it is written to disk, too"},
	{.name = "replicas-timeout", .value = "DUR", .take = cli_take_duration,
	 .at = offsetof(struct hold_replicas, timeout_ms), .least = 1, .most = 86400000,
	 .help = "wait for the replicas at most this long"},
	{.name = NULL},
};

/* Of the two that make a read-write lock, one at most, and no permits. */
static int
check_mode(const struct cli *cli, const struct hold_need *need)
{
	if (need->shared && need->exclusive)
		return cli_usage(cli, "--shared and --exclusive contradict each other: leave one of them out");
	if (need->shared && need->slots > 0)
		return cli_usage(cli, "--shared has no number: with --slots %d leave it out; without a limit leave --slots out",
		                 need->slots);
	if (need->exclusive && need->slots > 0)
		return cli_usage(cli, "--exclusive means alone, whatever number others say: leave --slots %d out",
		                 need->slots);
	return CLI_GO_ON;
}

int
hold_check(const struct cli *cli, struct hold_need *need, const struct hold_replicas *replicas)
{
	if (replicas->timeout_ms > 0 && replicas->min == 0 && !replicas->fsynced)
		return cli_usage(cli, "--replicas-timeout needs --min-replicas or --fsynced");
	if (check_mode(cli, need) != CLI_GO_ON)
		return EXIT_USAGE;
	if (need->take > 0 && need->slots == 0)
		return cli_usage(cli, "--take %d of how many permits? --slots is missing", need->take);
	if (need->take > need->slots)
		return cli_usage(cli, "--take %d of --slots %d: there are never that many", need->take,
		                 need->slots);
	if (need->slots > 0 && need->take == 0)
		need->take = 1;
	return CLI_GO_ON;
}

char *
hold_holder(char *out, leash_client *client, const leash_lock_info *info)
{
	char who[CLI_PARTY_SIZE], time[CLI_TIME_SIZE], left[CLI_TIME_SIZE];
	char token[LEASH_TOKEN_MAX + 16] = "", since[CLI_TIME_SIZE + 16] = "", waiting[64] = "";
	struct moment now = moment_now(client);

	if (info->holder.pid == 0)
		snprintf(token, sizeof token, " (token %s)", info->holder.token);
	if (info->held_since_ms > 0)
		snprintf(since, sizeof since, ", since %s", cli_time(time, moment_here(&now, info->held_since_ms)));
	if (info->out > 1)
		cli_append(waiting, sizeof waiting, ", %" PRId64 " out", info->out);
	if (!info->no_queue)
		cli_append(waiting, sizeof waiting, ", %" PRIu32 " waiting", info->waiting);
	if (info->remaining_ms >= 0)
		snprintf(out, HOLD_HOLDER_SIZE, "%s%s%s, %s left of its lease%s", cli_party(who, &info->holder), token, since,
		         cli_span(left, info->remaining_ms), waiting);
	else
		snprintf(out, HOLD_HOLDER_SIZE, "%s%s%s, without expiry: not made by leash%s",
		         cli_party(who, &info->holder), token, since, waiting);
	return out;
}

static bool
is_of_this_machine(const leash_party *holder)
{
	char host[LEASH_HOST_SIZE] = "";

	return holder->pid > 0 && holder->pid <= INT32_MAX && gethostname(host, sizeof host - 1) == 0 &&
	       strcmp(host, holder->host) == 0;
}

bool
hold_is_ours(const leash_party *holder)
{
	return holder->pid == getpid() && is_of_this_machine(holder);
}

bool
hold_is_of_the_dead(const leash_party *holder)
{
	const char *caller = strrchr(holder->program, '[');
	int64_t caller_pid = 0;
	char *end;

	if (!is_of_this_machine(holder))
		return false;
	if (caller != NULL)
		caller_pid = strtoll(caller + 1, &end, 10);
	if (caller_pid > 0 && caller_pid <= INT32_MAX && strcmp(end, "]") == 0 && process_runs((pid_t)caller_pid))
		return false;
	return !process_runs((pid_t)holder->pid);
}
