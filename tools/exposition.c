#include "tools/exposition.h"

#include <inttypes.h>
#include <string.h>

/* How many bytes the character has that begins there; 0: that is not UTF-8. */
static int
character_length(const unsigned char *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* what is longer than need be is none */
	int length = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
	uint32_t code = length > 1 ? *c & 0x7fU >> length : *c;

	for (int n = 1; n < length; n++) {
		if ((c[n] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[n] & 0x3f);
	}
	return code < least[length] || code > 0x10ffff || code >> 11 == 0x1b ? 0 : length; /* 0x1b: half of a pair */
}

/* As the value of a label, with the escapes that the format wants: UTF-8 as it is; a backslash, what is not UTF-8 and
 * control characters as leash list shows them, so that no two names look the same, and --escaped reads them. */
static void
write_name(FILE *to, const char *name)
{
	int n;

	for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c += n > 0 ? n : 1) {
		n = character_length(c);
		if (n == 0 || *c < ' ' || *c == 0x7f || *c == '\\')
			fprintf(to, "\\\\x%02x", *c);
		else if (*c == '"')
			fputs("\\\"", to);
		else
			fwrite(c, (size_t)n, 1, to);
	}
}

static void
write_head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP leash_%s %s.\n# TYPE leash_%s %s\n", name, help, name, type);
}

static void
write_count(FILE *to, const char *name, const char *type, const char *help, uint64_t value)
{
	write_head(to, name, type, help);
	fprintf(to, "leash_%s %" PRIu64 "\n", name, value);
}

static void
write_seconds(FILE *to, const char *name, const char *help, int64_t ns)
{
	write_head(to, name, "gauge", help);
	fprintf(to, "leash_%s %lld.%09lld\n", name, (long long)ns / 1000000000, (long long)ns % 1000000000);
}

/* ---- each lock ---- */

enum value { LEASE, SINCE, WAITERS, DEPTH, FENCE, OUT, VALUES };

static const struct {
	const char *name, *help;
} values[VALUES] = {
	[LEASE] = {"lock_lease_remaining_seconds",
	           "What is left of the lease if nobody renews it; +Inf: it has no end, so leash did not make it"},
	[SINCE] = {"lock_held_since_timestamp_seconds", "When the holder got it, by the server's clock"},
	[WAITERS] = {"lock_waiters", "Places in the queue of the lock; not known of a quorum"},
	[DEPTH] = {"lock_depth", "How deep the hold is nested, as of its last renewal"},
	[FENCE] = {"lock_fence", "Fence of the hold"},
	[OUT] = {"lock_out", "Permits that are out, who reads, or who has arrived; 1 of what one has alone"},
};

enum { VALUE_SIZE = 32 };

static bool
put_number(char text[static VALUE_SIZE], uint64_t number)
{
	snprintf(text, VALUE_SIZE, "%" PRIu64, number);
	return true;
}

static bool
put_ms(char text[static VALUE_SIZE], int64_t ms)
{
	snprintf(text, VALUE_SIZE, "%lld.%03lld", (long long)ms / 1000, (long long)ms % 1000);
	return true;
}

/* False: it is not known. */
static bool
put_value(char text[static VALUE_SIZE], enum value value, const leash_lock_info *info)
{
	switch (value) {
	case LEASE:
		return info->remaining_ms < 0 ? strcpy(text, "+Inf") != NULL : put_ms(text, info->remaining_ms);
	case SINCE:
		return info->held_since_ms > 0 && put_ms(text, info->held_since_ms);
	case WAITERS:
		return !info->no_queue && put_number(text, info->waiting);
	case DEPTH:
		return put_number(text, info->depth);
	case FENCE:
		return info->fence > 0 && info->kind != LEASH_KIND_SEMAPHORE && put_number(text, info->fence);
	default:
		return put_number(text, (uint64_t)info->out);
	}
}

static void
write_each(FILE *to, const struct ranking *ranking, enum value value)
{
	const char *name = values[value].name;
	char text[VALUE_SIZE];

	write_head(to, name, "gauge", values[value].help);
	for (size_t i = 0; i < ranking->count; i++) {
		if (!put_value(text, value, &ranking->at[i]->info))
			continue;
		fprintf(to, "leash_%s{lock=\"", name);
		write_name(to, ranking->at[i]->info.name);
		fprintf(to, "\"} %s\n", text);
	}
}

static void
write_held(FILE *to, const struct ranking *ranking)
{
	write_head(to, "lock_held", "gauge", "1: somebody has the lock; there is no sample of one that is free");
	for (size_t i = 0; i < ranking->count; i++) {
		fputs("leash_lock_held{lock=\"", to);
		write_name(to, ranking->at[i]->info.name);
		fprintf(to, "\",kind=\"%s\"} 1\n", cli_kind(ranking->at[i]->info.kind));
	}
}

/* ---- all ---- */

static void
write_sums(FILE *to, const struct sample *s)
{
	write_count(to, "locks", "gauge", "Locks that are held", s->locks);
	write_count(to, "locks_endless", "gauge", "Locks whose key has no expiry, so leash did not make it", s->endless);
	write_count(to, "locks_left_out", "gauge",
	            "Locks that are held and have no samples here, beyond the limit (--rows)",
	            s->fitting - s->ranking.count);
	write_seconds(to, "sample_scan_seconds", "How long it took to look at all locks", s->scan_ns);
	write_seconds(to, "sample_round_trip_seconds", "How long the server took for one answer", s->trip_ns);
	if (s->no_queues && !s->queues)
		return;
	write_count(to, "locks_contended", "gauge", "Locks that are held and waited for", s->contended);
	write_count(to, "locks_waiters", "gauge", "Places in the queues of all locks that are held", s->waiting);
	write_count(to, "wait_circles", "gauge", "Circles of processes and locks that wait for each other, which may be "
	            "deadlocks", s->circles->count);
	write_count(to, "wait_circles_partial", "gauge", "1: not all who wait were looked at", s->circles->partial);
}

void
exposition_write(FILE *to, const struct exposition *what)
{
	write_count(to, "up", "gauge", "1: the server has answered, and what is here is true", what->sample != NULL);
	write_head(to, "exporter_info", "gauge", "What has been asked, by which version");
	fprintf(to, "leash_exporter_info{version=\"%s\",server=\"", leash_version());
	write_name(to, what->subject->server);
	fputs("\"} 1\n", to);
	if (what->samples > 0) {
		write_count(to, "exporter_samples_total", "counter", "Looks at all locks", what->samples);
		write_count(to, "exporter_samples_failed_total", "counter", "Of those, looks that failed", what->failed);
	}
	if (what->sample == NULL)
		return;
	write_sums(to, what->sample);
	write_held(to, &what->sample->ranking);
	for (enum value value = 0; value < VALUES; value++)
		write_each(to, &what->sample->ranking, value);
}
