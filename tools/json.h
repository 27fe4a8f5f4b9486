/* What --json prints. */
#ifndef LEASH_TOOLS_JSON_H
#define LEASH_TOOLS_JSON_H

#include <leash.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* One object, one line, to stdout. Takes the reference; NULL counts as out of memory. */
void cli_print(json_t *object);
bool cli_has_unprinted(void); /* for want of memory */

json_t *cli_json_text(const char *text);  /* UTF-8 as it is, other bytes as cli_show() has them */
json_t *cli_json_hold_fence(uint64_t fence); /* of what is held: null if it is 0, for permits have none */
json_t *cli_json_party(const leash_party *party); /* null: there is none */
json_t *cli_json_info(const leash_lock_info *info);
json_t *cli_json_hold(const leash_hold_info *hold, leash_kind kind); /* of a lock of that kind */

/* What somebody has of a lock of that kind, or waits for: "slots" and "take", or "mode", or at a gate "for";
 * of a mutex nothing. */
void cli_json_set_need(json_t *object, leash_kind kind, int64_t count, int64_t limit);

/* "mutex", "read-write", "semaphore"; NULL: of what nobody has. */
const char *cli_kind(leash_kind kind);

/* The name of a lock, or NULL: a string if it is UTF-8, else null, and base64 under "<key>_base64", so that no two
 * names look the same. */
void cli_json_set_name(json_t *object, const char *key, const char *name);

/* Put all of `rest`, whose reference it takes, into the object. (json_object_update_new() is since jansson 2.13.1.) */
bool cli_json_add(json_t *object, json_t *rest);

/* An object with the "name", and then all of `rest`, whose reference it takes. */
json_t *cli_json_named(const char *name, json_t *rest);

#endif
