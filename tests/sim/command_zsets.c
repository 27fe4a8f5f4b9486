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
read_score(const struct sim_arg *arg, double *out, struct sim_reply *reply)
{
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
	sim_reply_error(reply, "ERR value is not a valid float");
	return false;
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
read_range(const struct sim_arg *args, struct bound range[static 2], struct sim_reply *reply)
{
	if (read_bound(&args[2], &range[0]) && read_bound(&args[3], &range[1]))
		return true;
	sim_reply_error(reply, "ERR min or max is not a float");
	return false;
}

static bool
is_in(const struct bound range[static 2], double score)
{
	return (range[0].excluded ? score > range[0].score : score >= range[0].score) &&
	       (range[1].excluded ? score < range[1].score : score <= range[1].score);
}

static bool
read_indices(const struct sim_arg *args, int64_t *from, int64_t *to, struct sim_reply *reply)
{
	if (sim_arg_integer(&args[0], from) && sim_arg_integer(&args[1], to))
		return true;
	sim_reply_error(reply, "ERR value is not an integer or out of range");
	return false;
}

static void
reply_score(struct sim_reply *reply, double score)
{
	char text[SIM_NUMBER_SIZE];

	sim_reply_copy(reply, LSH_STRING, text, sim_number_print(text, score));
}

static void
reply_member(struct sim_reply *reply, const struct sim_member *member, bool with_score)
{
	sim_reply_add(reply, (struct lsh_item){LSH_STRING, 0, member->bytes, member->size});
	if (with_score)
		reply_score(reply, member->score);
}

/* ---- commands ---- */

void
sim_zadd(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	size_t first = sim_arg_is(&args[2], "NX") ? 3 : 2;
	double scores[SIM_WORDS];
	struct sim_key *k;
	size_t before;

	if (count == first || (count - first) % 2 != 0) {
		sim_reply_error(reply, "ERR syntax error");
		return;
	}
	for (size_t i = first; i < count; i += 2)
		if (!read_score(&args[i], &scores[i], reply))
			return;
	k = sim_key_for(context, args, SIM_ZSET, reply);
	if (k == NULL)
		return;
	before = k->count;
	for (size_t i = first; i < count; i += 2) {
		struct sim_arg name = args[i + 1];
		char digits[SIM_NUMBER_SIZE];

		if (name.bytes == NULL)
			name = (struct sim_arg){digits, sim_number_print(digits, name.number), 0};
		if (first == 2 || sim_member_find(k, name.bytes, name.size) == k->count)
			sim_member_score(k, name.bytes, name.size, scores[i]);
	}
	sim_reply_integer(reply, (int64_t)(k->count - before));
}

void
sim_zincrby(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	double by, score;
	struct sim_key *k;
	size_t at;

	(void)count;
	if (!read_score(&args[2], &by, reply))
		return;
	k = sim_key_for(context, args, SIM_ZSET, reply);
	if (k == NULL)
		return;
	at = sim_member_find(k, args[3].bytes, args[3].size);
	score = by + (at < k->count ? k->members[at]->score : 0);
	sim_member_score(k, args[3].bytes, args[3].size, score);
	reply_score(reply, score);
}

void
sim_zrem(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	sim_members_delete(context, args, count, SIM_ZSET, reply);
}

void
sim_zscore(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct sim_slot *s;
	size_t at;

	(void)count;
	if (!sim_key_of(context, args, SIM_ZSET, &s, reply))
		return;
	at = s != NULL ? sim_member_find(s->key, args[2].bytes, args[2].size) : 0;
	if (s != NULL && at < s->key->count)
		reply_score(reply, s->key->members[at]->score);
	else
		sim_reply_nil(reply);
}

void
sim_zcount(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct bound range[2];
	struct sim_slot *s;
	int64_t n = 0;

	(void)count;
	if (!read_range(args, range, reply) || !sim_key_of(context, args, SIM_ZSET, &s, reply))
		return;
	for (size_t i = 0; s != NULL && i < s->key->count; i++)
		n += is_in(range, s->key->members[i]->score);
	sim_reply_integer(reply, n);
}

void
sim_zrangebyscore(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	struct bound range[2];
	bool with_scores = false;
	int64_t skipped = 0, most = -1;
	struct sim_slot *s;

	for (size_t i = 4; i < count; i++) {
		if (sim_arg_is(&args[i], "WITHSCORES")) {
			with_scores = true;
		} else if (sim_arg_is(&args[i], "LIMIT") && i + 2 < count) {
			if (!read_indices(&args[i + 1], &skipped, &most, reply))
				return;
			i += 2;
		} else {
			sim_reply_error(reply, "ERR syntax error");
			return;
		}
	}
	if (!read_range(args, range, reply) || !sim_key_of(context, args, SIM_ZSET, &s, reply))
		return;
	sim_reply_array(reply);
	for (size_t i = 0; skipped >= 0 && s != NULL && i < s->key->count && most != 0; i++) {
		const struct sim_member *m = s->key->members[i];

		if (!is_in(range, m->score) || skipped-- > 0)
			continue;
		skipped = 0;
		reply_member(reply, m, with_scores);
		most--;
	}
}

void
sim_zrevrange(struct sim_context *context, const struct sim_arg *args, size_t count, struct sim_reply *reply)
{
	bool with_scores = count == 5 && sim_arg_is(&args[4], "WITHSCORES");
	struct sim_slot *s;
	int64_t from, to, size;

	if (count > 4 && !with_scores) {
		sim_reply_error(reply, "ERR syntax error");
		return;
	}
	if (!read_indices(&args[2], &from, &to, reply))
		return;
	if (!sim_key_of(context, args, SIM_ZSET, &s, reply))
		return;
	size = s != NULL ? (int64_t)s->key->count : 0;
	from = from < 0 ? from + size : from;
	to = to < 0 ? to + size : to;
	sim_reply_array(reply);
	for (int64_t i = from < 0 ? 0 : from; i <= to && i < size; i++)
		reply_member(reply, s->key->members[size - 1 - i], with_scores);
}
