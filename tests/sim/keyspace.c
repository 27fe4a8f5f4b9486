#include "tests/sim/keyspace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *
grown(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (new == NULL)
		abort();
	return new;
}

size_t
sim_number_print(char out[static SIM_NUMBER_SIZE], double number)
{
	char digits[SIM_NUMBER_SIZE], *at = digits + sizeof digits;

	if (!(fabs(number) < 1e15) || number != floor(number) || (number == 0 && signbit(number)))
		return (size_t)snprintf(out, SIM_NUMBER_SIZE, "%.17g", number);
	*--at = '\0';
	uint64_t rest = (uint64_t)fabs(number);
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		*--at = '-';
	size_t size = (size_t)(digits + sizeof digits - at);
	memcpy(out, at, size);
	return size - 1;
}

/* ---- members ---- */

const char *
sim_member_value(const struct sim_member *member)
{
	return member->bytes + member->size + 1;
}

static struct sim_member *
member_new(const char *name, size_t size, const char *value, size_t value_size)
{
	struct sim_member *m = grown(NULL, sizeof *m + size + value_size + 2);

	*m = (struct sim_member){.size = size, .value_size = value_size};
	memcpy(m->bytes, name, size);
	m->bytes[size] = '\0';
	memcpy(m->bytes + size + 1, value, value_size);
	m->bytes[size + 1 + value_size] = '\0';
	return m;
}

size_t
sim_member_find(const struct sim_key *key, const char *name, size_t size)
{
	size_t i = 0;

	while (i < key->count && (key->members[i]->size != size || memcmp(key->members[i]->bytes, name, size) != 0))
		i++;
	return i;
}

static void
insert(struct sim_key *key, size_t index, struct sim_member *member)
{
	if (key->count == key->capacity) {
		key->capacity = key->capacity > 0 ? 2 * key->capacity : 2;
		key->members = grown(key->members, key->capacity * sizeof(struct sim_member *));
	}
	memmove(&key->members[index + 1], &key->members[index], (key->count - index) * sizeof *key->members);
	key->members[index] = member;
	key->count++;
}

static void
take_out(struct sim_key *key, size_t index)
{
	key->count--;
	memmove(&key->members[index], &key->members[index + 1], (key->count - index) * sizeof *key->members);
}

void
sim_member_remove(struct sim_key *key, size_t index)
{
	free(key->members[index]);
	take_out(key, index);
}

void
sim_member_set(struct sim_key *key, const char *name, size_t size, const char *value, size_t value_size)
{
	size_t i = sim_member_find(key, name, size);
	struct sim_member *m = member_new(name, size, value, value_size);

	if (i == key->count) {
		insert(key, i, m);
		return;
	}
	free(key->members[i]);
	key->members[i] = m;
}

static bool
comes_before(const struct sim_member *a, const struct sim_member *b)
{
	int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);

	if (a->score != b->score)
		return a->score < b->score;
	return order < 0 || (order == 0 && a->size < b->size);
}

void
sim_member_score(struct sim_key *key, const char *name, size_t size, double score)
{
	size_t i = sim_member_find(key, name, size);
	struct sim_member *m = i < key->count ? key->members[i] : member_new(name, size, "", 0);

	if (i < key->count)
		take_out(key, i);
	m->score = score;
	for (i = key->count; i > 0 && comes_before(m, key->members[i - 1]); i--)
		continue;
	insert(key, i, m);
}

/* ---- keys ---- */

static struct sim_key *
key_new(const char *name, size_t size, enum sim_type type)
{
	struct sim_key *k = grown(NULL, sizeof *k + size + 1);

	*k = (struct sim_key){.references = 1, .type = type, .expires_ms = SIM_NO_TTL, .size = size};
	memcpy(k->name, name, size);
	k->name[size] = '\0';
	return k;
}

static void
key_drop(struct sim_key *key)
{
	if (--key->references > 0)
		return;
	for (size_t i = 0; i < key->count; i++)
		free(key->members[i]);
	free(key->members);
	free(key);
}

static struct sim_key *
key_copy(const struct sim_key *from)
{
	struct sim_key *k = key_new(from->name, from->size, from->type);

	k->expires_ms = from->expires_ms;
	for (size_t i = 0; i < from->count; i++) {
		const struct sim_member *m = from->members[i];
		struct sim_member *copy = member_new(m->bytes, m->size, sim_member_value(m), m->value_size);

		copy->score = m->score;
		insert(k, i, copy);
	}
	return k;
}

static bool
is_over(const struct sim_key *key, int64_t now_ms)
{
	return now_ms > key->expires_ms;
}

static struct sim_key **
place_of(const struct sim_keyspace *keyspace, const char *name, size_t size)
{
	for (struct sim_key **k = keyspace->keys; k < keyspace->keys + keyspace->count; k++)
		if ((*k)->size == size && memcmp((*k)->name, name, size) == 0)
			return k;
	return NULL;
}

struct sim_key **
sim_key_find(const struct sim_keyspace *keyspace, const char *name, size_t size, int64_t now_ms)
{
	struct sim_key **place = place_of(keyspace, name, size);

	return place != NULL && !is_over(*place, now_ms) ? place : NULL;
}

/* Of the key of that name, which goes; or a new one. */
static struct sim_key **
empty_place(struct sim_keyspace *keyspace, const char *name, size_t size)
{
	struct sim_key **place = place_of(keyspace, name, size);

	if (place != NULL) {
		key_drop(*place);
		return place;
	}
	if (keyspace->count == keyspace->capacity) {
		keyspace->capacity = keyspace->capacity > 0 ? 2 * keyspace->capacity : 16;
		keyspace->keys = grown(keyspace->keys, keyspace->capacity * sizeof(struct sim_key *));
	}
	return &keyspace->keys[keyspace->count++];
}

struct sim_key **
sim_key_make(struct sim_keyspace *keyspace, const char *name, size_t size, enum sim_type type)
{
	struct sim_key **place = empty_place(keyspace, name, size);

	*place = key_new(name, size, type);
	return place;
}

void
sim_key_delete(struct sim_keyspace *keyspace, struct sim_key **place)
{
	key_drop(*place);
	*place = keyspace->keys[--keyspace->count];
}

void
sim_key_move(struct sim_keyspace *to, struct sim_keyspace *from, struct sim_key **place)
{
	(*place)->references++;
	*empty_place(to, (*place)->name, (*place)->size) = *place;
	sim_key_delete(from, place);
}

struct sim_key *
sim_key_change(struct sim_key **place)
{
	struct sim_key *key = *place;

	if (key->references > 1) {
		*place = key_copy(key);
		key_drop(key);
	}
	return *place;
}

/* ---- all of them ---- */

void
sim_keyspace_clear(struct sim_keyspace *keyspace)
{
	while (keyspace->count > 0)
		sim_key_delete(keyspace, keyspace->keys);
	free(keyspace->keys);
	*keyspace = (struct sim_keyspace){0};
}

void
sim_keyspace_copy(struct sim_keyspace *to, const struct sim_keyspace *from)
{
	while (to->count > 0)
		sim_key_delete(to, to->keys);
	if (to->capacity < from->count) {
		to->capacity = from->capacity;
		to->keys = grown(to->keys, to->capacity * sizeof(struct sim_key *));
	}
	for (; to->count < from->count; to->count++) {
		to->keys[to->count] = from->keys[to->count];
		to->keys[to->count]->references++;
	}
}

void
sim_keyspace_expire(struct sim_keyspace *keyspace, int64_t now_ms)
{
	for (size_t i = keyspace->count; i-- > 0;)
		if (is_over(keyspace->keys[i], now_ms))
			sim_key_delete(keyspace, &keyspace->keys[i]);
}

size_t
sim_keyspace_size(const struct sim_keyspace *keyspace, int64_t now_ms)
{
	size_t n = 0;

	for (size_t i = 0; i < keyspace->count; i++)
		n += !is_over(keyspace->keys[i], now_ms);
	return n;
}

static int
by_name(const void *a, const void *b)
{
	const struct sim_key *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void
print_key(const struct sim_key *key, int64_t now_ms, FILE *out)
{
	static const char *const types[] = {"string", "hash", "zset", "list"};
	int64_t ttl = key->expires_ms == SIM_NO_TTL ? -1 : key->expires_ms - now_ms;

	fprintf(out, "%s %s %" PRId64, key->name, types[key->type], ttl);
	for (size_t i = 0; i < key->count; i++) {
		const struct sim_member *m = key->members[i];
		char number[SIM_NUMBER_SIZE];

		if (key->type == SIM_HASH || key->type == SIM_ZSET)
			fprintf(out, " %s", m->bytes);
		if (key->type != SIM_ZSET)
			fprintf(out, " %s", sim_member_value(m));
		else if (sim_number_print(number, m->score) > 0)
			fprintf(out, " %s", number);
	}
	fputc('\n', out);
}

void
sim_keyspace_print(const struct sim_keyspace *keyspace, int64_t now_ms, FILE *out)
{
	struct sim_keyspace sorted = {0};

	sim_keyspace_copy(&sorted, keyspace);
	if (sorted.count > 0)
		qsort(sorted.keys, sorted.count, sizeof(struct sim_key *), by_name);
	for (size_t i = 0; i < sorted.count; i++)
		if (!is_over(sorted.keys[i], now_ms))
			print_key(sorted.keys[i], now_ms, out);
	sim_keyspace_clear(&sorted);
}
