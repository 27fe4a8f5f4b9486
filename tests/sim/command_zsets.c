/* What the commands of a simulated server do with sorted sets. See command_keys.h. */
#include "tests/sim/command_keys.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* The usual: up to 15 digits and perhaps a sign. */
static bool
read_digits(const struct sim_arg *arg, double *out)
{
	bool negative = arg->size > 0 && arg->bytes[0] == '-';
	int64_t n = 0;

	if (arg->size - negative > 15 || arg->size == (size_t)negative)
		return false;
	for (size_t i = negative; i < arg->size; i++) {
		if (arg->bytes[i] < '0' || arg->bytes[i] > '9')
			return false;
		n = n * 10 + (arg->bytes[i] - '0');
	}
	*out = negative ? -(double)n : (double)n;
	return true;
}

/* All of `size` bytes is a number. */
static bool
read_double(const char *bytes, size_t size, double *out)
{
	char text[64], *end;

	if (size >= sizeof text)
		return false;
	memcpy(text, bytes, size);
	text[size] = '\0';
	errno = 0;
	*out = strtod(text, &end);
	return end == text + size && !isnan(*out);
}

static bool
read_score(const struct sim_call *c, size_t index, double *out)
{
	const struct sim_arg *arg = &c->args[index];

	if (arg->bytes == NULL) {
		*out = arg->number;
		if (!isnan(*out))
			return true;
	} else if (read_digits(arg, out)) {
		return true;
	} else if (arg->size > 0 && !isspace((unsigned char)arg->bytes[0]) && read_double(arg->bytes, arg->size, out) &&
	           (errno != ERANGE || (fabs(*out) != HUGE_VAL && *out != 0))) {
		return true;
	}
	return sim_reply_error(c->reply, "ERR value is not a valid float");
}

struct bound {
	double score;
	bool excluded;
};

static bool
read_bound(const struct sim_arg *arg, struct bound *out)
{
	out->excluded = arg->size > 0 && arg->bytes[0] == '(';
	return read_double(arg->bytes + out->excluded, arg->size - out->excluded, &out->score);
}

static bool
read_range(const struct sim_call *c, struct bound range[static 2])
{
	return (read_bound(&c->args[2], &range[0]) && read_bound(&c->args[3], &range[1])) ||
	       sim_reply_error(c->reply, "ERR min or max is not a float");
}

static bool
is_in(const struct bound range[static 2], double score)
{
	return (range[0].excluded ? score > range[0].score : score >= range[0].score) &&
	       (range[1].excluded ? score < range[1].score : score <= range[1].score);
}

static void
reply_score(const struct sim_call *c, double score)
{
	char text[SIM_NUMBER_SIZE];

	sim_reply_copy(c->reply, LSH_STRING, text, sim_number_print(text, score));
}

static void
reply_member(const struct sim_call *c, const struct sim_member *member, bool with_score)
{
	sim_reply_text(c->reply, member->bytes, member->size);
	if (with_score)
		reply_score(c, member->score);
}

/* ---- commands ---- */

COMMAND(zadd)
{
	size_t first = sim_arg_is(&c->args[2], "NX") ? 3 : 2;
	double scores[SIM_WORDS];

	if (c->count == first || (c->count - first) % 2 != 0) {
		sim_reply_error(c->reply, "ERR syntax error");
		return;
	}
	for (size_t i = first; i < c->count; i += 2)
		if (!read_score(c, i, &scores[i]))
			return;
	struct sim_key *k = sim_key_for(c, SIM_ZSET);
	if (k == NULL)
		return;
	size_t before = k->count;
	for (size_t i = first; i < c->count; i += 2) {
		struct sim_arg name = c->args[i + 1];
		char digits[SIM_NUMBER_SIZE];

		if (name.bytes == NULL)
			name = (struct sim_arg){digits, sim_number_print(digits, name.number), 0};
		if (first == 2 || sim_member_find(k, name.bytes, name.size) == k->count)
			sim_member_score(k, name.bytes, name.size, scores[i]);
	}
	sim_reply_integer(c->reply, (int64_t)(k->count - before));
}

COMMAND(zincrby)
{
	const struct sim_arg *name = &c->args[3];
	double score;
	struct sim_key *k;

	if (!read_score(c, 2, &score) || (k = sim_key_for(c, SIM_ZSET)) == NULL)
		return;
	size_t at = sim_member_find(k, name->bytes, name->size);
	score += at < k->count ? k->members[at]->score : 0;
	sim_member_score(k, name->bytes, name->size, score);
	reply_score(c, score);
}

COMMAND(zrem)
{
	sim_members_delete(c, SIM_ZSET);
}

COMMAND(zscore)
{
	const struct sim_member *m;

	if (!sim_member_of(c, SIM_ZSET, &m))
		return;
	if (m != NULL)
		reply_score(c, m->score);
	else
		sim_reply_nil(c->reply);
}

COMMAND(zcount)
{
	struct bound range[2];
	const struct sim_key *k;
	int64_t n = 0;

	if (!read_range(c, range) || !sim_key_of(c, SIM_ZSET, &k))
		return;
	for (size_t i = 0; k != NULL && i < k->count; i++)
		n += is_in(range, k->members[i]->score);
	sim_reply_integer(c->reply, n);
}

COMMAND(zrangebyscore)
{
	struct bound range[2];
	bool with_scores = false;
	int64_t skipped = 0, most = -1;
	const struct sim_key *k;

	for (size_t i = 4; i < c->count; i++) {
		if (sim_arg_is(&c->args[i], "WITHSCORES")) {
			with_scores = true;
		} else if (sim_arg_is(&c->args[i], "LIMIT") && i + 2 < c->count) {
			if (!sim_read_integer(c, i + 1, &skipped) || !sim_read_integer(c, i + 2, &most))
				return;
			i += 2;
		} else {
			sim_reply_error(c->reply, "ERR syntax error");
			return;
		}
	}
	if (!read_range(c, range) || !sim_key_of(c, SIM_ZSET, &k))
		return;
	sim_reply_array(c->reply);
	for (size_t i = 0; skipped >= 0 && k != NULL && i < k->count && most != 0; i++) {
		if (!is_in(range, k->members[i]->score) || skipped-- > 0)
			continue;
		skipped = 0;
		reply_member(c, k->members[i], with_scores);
		most--;
	}
}

COMMAND(zrevrange)
{
	bool with_scores = c->count == 5 && sim_arg_is(&c->args[4], "WITHSCORES");
	const struct sim_key *k;
	int64_t from, to;

	if (c->count > 4 && !with_scores) {
		sim_reply_error(c->reply, "ERR syntax error");
		return;
	}
	if (!sim_read_integer(c, 2, &from) || !sim_read_integer(c, 3, &to) || !sim_key_of(c, SIM_ZSET, &k))
		return;
	int64_t size = k != NULL ? (int64_t)k->count : 0;
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	sim_reply_array(c->reply);
	for (int64_t i = from < 0 ? 0 : from; i <= to && i < size; i++)
		reply_member(c, k->members[size - 1 - i], with_scores);
}
