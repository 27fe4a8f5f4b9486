#include "admin/leader.h"

#include "admin/lock_line.h"
#include "admin/query.h"
#include "base/error.h"
#include "base/text.h"
#include "lease/resource.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A line of digits, or "-1"; the rest of the text follows. */
static bool
take_number(const char **text, int64_t *n)
{
	const char *end = strchr(*text, '\n');
	uint64_t value;

	if (end == NULL)
		return false;
	*n = -1;
	if (strncmp(*text, "-1\n", 3) != 0) {
		if (!lsh_decimal_read(*text, (size_t)(end - *text), &value) || value > LSH_FENCE_MAX)
			return false;
		*n = (int64_t)value;
	}
	*text = end + 1;
	return true;
}

/* What watch.lua answers, a line for each of its items; the last one may have lines itself. */
static bool
read_lines(const char *text, leash_leader *leader, int64_t *state)
{
	int64_t now, fence, ttl;
	size_t size;

	if (!take_number(&text, &now) || !take_number(&text, state) || !take_number(&text, &fence) ||
	    !take_number(&text, &ttl) || *state < 1 || fence < 0)
		return false;
	size = strcspn(text, "\n");
	if (size > 0 && !lsh_token_is_one(text, size, NULL))
		return false;
	*leader = (leash_leader){.size = sizeof *leader, .leads = size > 0};
	if (leader->leads) {
		leader->fence = (uint64_t)fence * 256;
		leader->remaining_ms = ttl;
	}
	memcpy(leader->token, text, size);
	text += size + (text[size] != '\0');
	size = strlen(text);
	if (size > 0 && text[size - 1] == '\n')
		size--;
	memcpy(leader->value, text, size < LEASH_VALUE_MAX ? size : LEASH_VALUE_MAX);
	return true;
}

struct lsh_query *
lsh_leader_query(struct lsh_lock *watch)
{
	const struct lsh_resource *r = lsh_lock_resource(watch);

	return lsh_query_new(r->backend, LSH_WHO_LEADS, r->kind, lsh_resource_key(r), lsh_resource_unmarked(r));
}

leash_status
lsh_leader_read(const struct lsh_query *q, struct lsh_lock *watch, leash_leader *leader, int64_t *state,
                leash_error *err)
{
	if (read_lines(q->asks[0].text, leader, state))
		return LEASH_OK;
	return lsh_fail(err, LEASH_MISMATCH, 0, "%s '%s': its key holds something that is not a lock",
	                lsh_lock_resource(watch)->kind->name, lsh_lock_shown(watch));
}

leash_status
lsh_leader(struct lsh_lock *watch, leash_leader *leader, int64_t *state, leash_error *err)
{
	struct lsh_query *q = lsh_leader_query(watch);
	leash_status status = lsh_query_run(q, watch, err);

	if (status == LEASH_OK)
		status = lsh_leader_read(q, watch, leader, state, err);
	lsh_query_drop(q);
	return status;
}
