/* Servers and proxies leave out or reword what they please: a field of INFO that is missing, or odd, is one that is not known. */
#include "redis/hello.h"

#include "base/text.h"
#include "redis/info.h"
#include "redis/reply.h"

#include <string.h>

enum { UPTIME_MAX_S = 1 << 30 }; /* a server that says more is as good as 34 years old */

/* "7.0.15" is 0x07000f. */
static unsigned
read_version(const char *text, size_t size)
{
	unsigned part[3] = {0}, n = 0;

	for (size_t i = 0; i < size && n < 3; i++) {
		if (text[i] == '.') {
			n++;
		} else if (text[i] >= '0' && text[i] <= '9') {
			part[n] = part[n] * 10 + (unsigned)(text[i] - '0');
			if (part[n] > 255)
				part[n] = 255;
		} else {
			break;
		}
	}
	return part[0] << 16 | part[1] << 8 | part[2];
}

static bool
is_hexadecimal(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (strchr("0123456789abcdefABCDEF", text[i]) == NULL)
			return false;
	return true;
}

bool
lsh_hello_take_info(struct lsh_hello *hello, const struct lsh_message *m)
{
	const char *info = m->item[0].text, *value;
	uint64_t uptime_s;
	size_t n;

	if (m->type != LSH_STRING)
		return false;
	value = lsh_info_find(info, "run_id", &n);
	if (value != NULL && n < LSH_RUN_ID_SIZE && is_hexadecimal(value, n)) {
		memcpy(hello->run_id, value, n);
		hello->run_id[n] = '\0';
	}
	value = lsh_info_find(info, "redis_version", &n);
	if (value != NULL)
		hello->version = read_version(value, n);
	value = lsh_info_find(info, "uptime_in_seconds", &n);
	if (value != NULL && lsh_decimal_read(value, n, &uptime_s)) {
		if (uptime_s > UPTIME_MAX_S)
			uptime_s = UPTIME_MAX_S;
		/* the difference of two times in whole seconds: it may be almost one too many */
		hello->uptime_ms = uptime_s > 0 ? (int64_t)(uptime_s - 1) * 1000 : 0;
	} else if (value != NULL && n > 1 && value[0] == '-' && lsh_decimal_read(value + 1, n - 1, &uptime_s)) {
		hello->uptime_ms = 0; /* its clock went back to before its start: how old it is, it cannot say */
	}
	value = lsh_info_find(info, "redis_mode", &n);
	if (value == NULL)
		value = lsh_info_find(info, "server_mode", &n); /* Valkey's name for it */
	hello->cluster = value != NULL && n == strlen("cluster") && memcmp(value, "cluster", n) == 0;
	hello->sentinel = value != NULL && n == strlen("sentinel") && memcmp(value, "sentinel", n) == 0;
	return true;
}

bool
lsh_hello_take_replication(struct lsh_hello *hello, const struct lsh_message *m)
{
	const char *info = m->item[0].text, *role, *replicas, *since;
	uint64_t count, offset;
	bool is_master, was_replica;
	size_t n;

	if (m->type != LSH_STRING)
		return false;
	role = lsh_info_find(info, "role", &n);
	is_master = role != NULL && n == strlen("master") && memcmp(role, "master", n) == 0;
	hello->replica = role != NULL && !is_master;
	/* from where on its data are its own; -1 if they always were. Whom it took over from may come back, as a replica of it */
	since = lsh_info_find(info, "second_repl_offset", &n);
	was_replica = since != NULL && lsh_decimal_read(since, n, &offset);
	replicas = lsh_info_find(info, "connected_slaves", &n);
	hello->alone = is_master && !was_replica && replicas != NULL && lsh_decimal_read(replicas, n, &count) && count == 0;
	return true;
}

bool
lsh_hello_take_memory(struct lsh_hello *hello, const struct lsh_message *m)
{
	const char *info = m->item[0].text, *policy, *most;
	uint64_t bytes;
	size_t n = 0, digits;

	if (m->type != LSH_STRING)
		return false;
	policy = lsh_info_find(info, "maxmemory_policy", &n);
	most = lsh_info_find(info, "maxmemory", &digits);
	if (policy == NULL || most == NULL || n >= LSH_POLICY_SIZE || !lsh_decimal_read(most, digits, &bytes))
		return true;
	if (bytes == 0) { /* no limit, so that nothing is ever evicted */
		strcpy(hello->eviction, LSH_NO_EVICTION);
	} else {
		memcpy(hello->eviction, policy, n);
		hello->eviction[n] = '\0';
	}
	return true;
}

static bool
read_number(const struct lsh_item *item, uint64_t *n)
{
	return item->type == LSH_STRING && lsh_decimal_read(item->text, item->length, n);
}

bool
lsh_hello_take_time(struct lsh_hello *hello, const struct lsh_message *m)
{
	uint64_t s, us;

	if (m->type != LSH_ARRAY || m->count != 2 || !read_number(&m->item[0], &s) || !read_number(&m->item[1], &us) ||
	    s >= INT64_MAX / 256 / 1000000 || us >= 1000000)
		return false;
	hello->server_us = (int64_t)(s * 1000000 + us);
	return true;
}
