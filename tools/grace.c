#include "tools/grace.h"

#include "tools/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { KILL_AFTER_MS = 5000, TTL_MIN_MS = 1000, TTL_MAX_MS = 86400000 };

/* ---- options ---- */

/* "TERM", "SIGTERM", "15". 0: it is none. */
static int
signal_number(const char *text)
{
	int n;

	if (cli_number(text, SIGRTMAX, &n))
		return n;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name != NULL && strcasecmp(name, text) == 0)
			return i;
	}
	return 0;
}

int
grace_take_on_lost(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	struct grace *grace = into;
	char shown[80];

	(void)option;
	grace->on_lost = strcmp(text, "keep") == 0 ? 0 : signal_number(text);
	if (grace->on_lost > 0 || strcmp(text, "keep") == 0)
		return CLI_GO_ON;
	return cli_usage(cli, "--on-lost: '%s' is not term, kill, keep or a signal",
	                 cli_show_word(shown, sizeof shown, text));
}

int
grace_take_kill_after(const struct cli *cli, const struct cli_option *option, char *text, void *into)
{
	struct grace *grace = into;

	grace->given = true;
	return cli_take_duration(cli, option, text, &grace->kill_after_ms);
}

/* ---- the moments ---- */

static int64_t
margin_of(int64_t ttl_ms)
{
	int64_t margin_ms = ttl_ms / 20;

	return margin_ms < 100 ? 100 : margin_ms > 1000 ? 1000 : margin_ms;
}

/* The part of a lease that the margin, differing clocks and one retry of a renewal take. */
static int64_t
taken_of(int64_t ttl_ms)
{
	return margin_of(ttl_ms) + ttl_ms / 100 + 2 + (ttl_ms < 6000 ? ttl_ms / 6 : 1000);
}

/* The longest grace: a renewal comes at a third of the lease, and TERM must not be due before it can have succeeded. */
static int64_t
longest_grace(int64_t ttl_ms)
{
	return ttl_ms - ttl_ms / 3 - taken_of(ttl_ms);
}

static int
refuse(const struct grace *g, const struct cli *cli, int64_t ttl_ms)
{
	char grace[CLI_TIME_SIZE], ttl[CLI_TIME_SIZE], third[CLI_TIME_SIZE], taken[CLI_TIME_SIZE], longest[CLI_TIME_SIZE];
	char enough[48] = "";
	int64_t enough_ms = ttl_ms;

	while (longest_grace(enough_ms) < g->kill_after_ms && enough_ms < TTL_MAX_MS)
		enough_ms = enough_ms / 1000 * 1000 + 1000;
	if (enough_ms <= TTL_MAX_MS && longest_grace(enough_ms) >= g->kill_after_ms)
		snprintf(enough, sizeof enough, ", or --ttl %llds at least", (long long)(enough_ms / 1000));
	return cli_usage(cli,
	                 "--kill-after %s does not fit into a lease of %s: it is renewed after %s, a retry and "
	                 "killing take %s, so %s are left; give --kill-after %lldms at most%s",
	                 cli_span(grace, g->kill_after_ms), cli_span(ttl, ttl_ms), cli_span(third, ttl_ms / 3),
	                 cli_span(taken, taken_of(ttl_ms)), cli_span(longest, longest_grace(ttl_ms)),
	                 (long long)longest_grace(ttl_ms), enough);
}

/* Does CMD get TERM before KILL? */
static bool
has_grace(const struct grace *g)
{
	return g->on_lost != 0 && g->on_lost != SIGKILL;
}

int
grace_set(struct grace *g, const struct cli *cli, int64_t ttl_ms)
{
	if (ttl_ms < TTL_MIN_MS || ttl_ms > TTL_MAX_MS)
		return cli_usage(cli,
		                 "--ttl: a lease is 1s to 1d long: in less, nothing can be ended in time when the server is "
		                 "away");
	g->margin_ms = margin_of(ttl_ms);
	if (g->given)
		return has_grace(g) && g->kill_after_ms > longest_grace(ttl_ms) ? refuse(g, cli, ttl_ms) : CLI_GO_ON;
	g->kill_after_ms = KILL_AFTER_MS < ttl_ms / 4 ? KILL_AFTER_MS : ttl_ms / 4;
	return CLI_GO_ON;
}

void
grace_shorten(struct grace *g, int64_t lease_ms)
{
	int64_t margin_ms = margin_of(lease_ms);

	g->margin_ms = margin_ms < lease_ms / 8 ? margin_ms : lease_ms / 8;
	g->kill_after_ms = g->kill_after_ms < lease_ms / 4 ? g->kill_after_ms : lease_ms / 4;
}

int64_t
grace_needs_ms(const struct grace *g)
{
	return g->margin_ms + (has_grace(g) ? g->kill_after_ms : 0);
}
