#include "tools/json.h"

#include "tools/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool unwritten;

void
cli_print(json_t *object)
{
	char *line = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (line != NULL)
		puts(line);
	else
		unwritten = true;
	free(line);
	json_decref(object);
}

json_t *
cli_json_text(const char *text)
{
	json_t *string = json_string(text);
	char shown[4 * LEASH_NAME_MAX + 1];

	return string != NULL ? string : json_string(cli_show(shown, sizeof shown, text));
}

/* RFC 4648, with padding. `out` has room for 4 bytes of each 3 that are begun, and a NUL. */
static void
encode_base64(char *out, const char *name, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t bits = (uint32_t)(unsigned char)name[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)name[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)name[i + 2];
		*out++ = digits[bits >> 18];
		*out++ = digits[bits >> 12 & 63];
		*out++ = left > 1 ? digits[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? digits[bits & 63] : '=';
	}
	*out = '\0';
}

void
cli_json_set_name(json_t *object, const char *key, const char *name)
{
	char base64_key[32], base64[(LEASH_NAME_MAX + 2) / 3 * 4 + 1];
	json_t *string = name != NULL ? json_string(name) : NULL; /* none: it is not UTF-8 */

	json_object_set_new(object, key, string != NULL ? string : json_null());
	if (string != NULL || name == NULL)
		return;
	snprintf(base64_key, sizeof base64_key, "%s_base64", key);
	encode_base64(base64, name, strnlen(name, LEASH_NAME_MAX));
	json_object_set_new(object, base64_key, json_string(base64));
}

bool
cli_json_add(json_t *object, json_t *rest)
{
	bool done = json_object_update(object, rest) == 0;

	json_decref(rest);
	return done;
}

json_t *
cli_json_named(const char *name, json_t *rest)
{
	json_t *object = json_object();

	cli_json_set_name(object, "name", name);
	if (cli_json_add(object, rest))
		return object;
	json_decref(object);
	return NULL;
}

/* A string: many readers of JSON cannot take 64 bits. */
static json_t *
fence_text(uint64_t fence)
{
	char digits[24];

	snprintf(digits, sizeof digits, "%llu", (unsigned long long)fence);
	return json_string(digits);
}

json_t *
cli_json_hold_fence(uint64_t fence)
{
	return fence != 0 ? fence_text(fence) : json_null();
}

json_t *
cli_json_party(const leash_party *p)
{
	if (p->token[0] == '\0')
		return json_null();
	return json_pack("{ss so sI so sI}", "token", p->token, "host", cli_json_text(p->host), "pid", (json_int_t)p->pid,
	                 "program", cli_json_text(p->program), "since_ms", (json_int_t)p->since_ms);
}

const char *
cli_kind(leash_kind kind)
{
	static const char *const kinds[] = {NULL, "mutex", "read-write", "semaphore", "condition", "latch", "barrier"};

	return kind <= LEASH_KIND_BARRIER ? kinds[kind] : "unknown";
}

void
cli_json_set_need(json_t *object, leash_kind kind, int64_t count, int64_t limit)
{
	if (kind == LEASH_KIND_LATCH || kind == LEASH_KIND_BARRIER) {
		if (limit > 0)
			json_object_set_new(object, "for", json_integer((json_int_t)limit));
	} else if (limit > 0) {
		json_object_set_new(object, "slots", json_integer((json_int_t)limit));
		json_object_set_new(object, "take", json_integer((json_int_t)count));
	} else if (count != 0 || kind == LEASH_KIND_READ_WRITE) {
		json_object_set_new(object, "mode", json_string(count > 0 ? "read" : count < 0 ? "signal" : "write"));
	}
}

json_t *
cli_json_hold(const leash_hold_info *hold, leash_kind kind)
{
	json_t *object = cli_json_party(&hold->who);

	json_object_set_new(object, "remaining_ms", json_integer((json_int_t)hold->remaining_ms));
	cli_json_set_need(object, kind, hold->count, hold->limit);
	return object;
}

json_t *
cli_json_info(const leash_lock_info *info)
{
	json_t *rest = json_pack("{sb so so sI sI ss? sI so sI so}", "held", info->held,
	                         "holder", cli_json_party(&info->holder), "fence", fence_text(info->fence),
	                         "held_since_ms", (json_int_t)info->held_since_ms,
	                         "remaining_ms", (json_int_t)info->remaining_ms, "kind", cli_kind(info->kind),
	                         "out", (json_int_t)info->out,
	                         "limit", info->limit < 0 ? json_null() : json_integer((json_int_t)info->limit),
	                         "depth", (json_int_t)info->depth,
	                         "waiting", info->no_queue ? json_null() : json_integer((json_int_t)info->waiting));

	return cli_json_named(info->name, rest);
}

bool
cli_has_unprinted(void)
{
	return unwritten;
}
