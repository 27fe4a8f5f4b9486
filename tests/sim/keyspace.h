/* The keys of a simulated server: strings, hashes, sorted sets, and lists, which are only ever somebody else's.
 *
 * A copy of a keyspace shares its keys with the original until one of them changes: so it costs a pointer for each
 * key. The caller says what time it is, in ms of the server's clock; a key whose time is over is found no more. Small:
 * keys and members are looked for one after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sim_type { SIM_STRING, SIM_HASH, SIM_ZSET, SIM_LIST };

#define SIM_NO_TTL INT64_MAX

/* Of a string: the one member, with its value. A hash and a list keep the order in which their members came, a sorted
 * set that of the scores, and of the names where these are the same. */
struct sim_member {
	double score;
	size_t size, value_size;
	char bytes[]; /* the name and a NUL, the value and a NUL */
};

struct sim_key {
	unsigned references; /* of keyspaces */
	enum sim_type type;
	int64_t expires_ms;
	struct sim_member **members;
	size_t count, capacity, size;
	char name[];
};

/* All zero: it has no keys. */
struct sim_keyspace {
	struct sim_key **keys;
	size_t count, capacity;
};

void sim_keyspace_clear(struct sim_keyspace *keyspace); /* and frees what it has */
void sim_keyspace_copy(struct sim_keyspace *to, const struct sim_keyspace *from);
void sim_keyspace_expire(struct sim_keyspace *keyspace, int64_t now_ms); /* delete each key whose time is over */
size_t sim_keyspace_size(const struct sim_keyspace *keyspace, int64_t now_ms);

/* A line for each key, in the order of their bytes: "name type pttl content". */
void sim_keyspace_print(const struct sim_keyspace *keyspace, int64_t now_ms, FILE *out);

/* A place is good until the next call that makes or deletes a key. NULL: there is no such key, or its time is over. */
struct sim_key **sim_key_find(const struct sim_keyspace *keyspace, const char *name, size_t size, int64_t now_ms);
struct sim_key **sim_key_make(struct sim_keyspace *keyspace, const char *name, size_t size, enum sim_type type);
void sim_key_delete(struct sim_keyspace *keyspace, struct sim_key **place);
void sim_key_move(struct sim_keyspace *to, struct sim_keyspace *from, struct sim_key **place);

/* Before each change of a key: from then on it is this keyspace's alone. */
struct sim_key *sim_key_change(struct sim_key **place);

/* The index of the member; or that of the end, `key->count`. */
size_t sim_member_find(const struct sim_key *key, const char *name, size_t size);
const char *sim_member_value(const struct sim_member *member);

/* Of a key that sim_key_change() gave. The member is replaced, in its place, or added at the end. */
void sim_member_set(struct sim_key *key, const char *name, size_t size, const char *value, size_t value_size);
/* Of a sorted set: put where its score belongs. */
void sim_member_score(struct sim_key *key, const char *name, size_t size, double score);
void sim_member_remove(struct sim_key *key, size_t index);

/* As Redis prints it ("%.17g"); returns the length. */
enum { SIM_NUMBER_SIZE = 32 };
size_t sim_number_print(char out[static SIM_NUMBER_SIZE], double number);
