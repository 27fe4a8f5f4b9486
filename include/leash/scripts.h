/* The scripts that leash runs in the server, for administrators who load them themselves. */
#ifndef LEASH_SCRIPTS_H
#define LEASH_SCRIPTS_H

#include <leash/api.h>
#include <leash/client.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/** A script. Its strings are constant. */
typedef struct leash_script {
	size_t size;      /**< set it to sizeof(leash_script); new fields are only added at the end */
	const char *name; /**< "acquire", "release", ... */
	const char *sha1; /**< its name for EVALSHA: 40 digits */
	const char *text; /**< Lua, as it is sent to the server */
} leash_script;

/**
 * Get script number `i`, from 0.
 *
 * @return false after the last script, or if `script` is NULL or its size is not set; then it is untouched.
 *
 * Threads: any; also in callbacks. Since 0.1.
 */
LEASH_API bool leash_script_at(size_t i, leash_script *script);

/**
 * Load all scripts into the servers that `options` name (SCRIPT LOAD), for clients whose URI says `scripts=preloaded`
 * and whose users may not send scripts. Do this for every server, also replicas, and again after each restart: a server
 * does not keep scripts across a restart, and does not send them to its replicas.
 *
 * All these servers are tried; the first failure is reported.
 *
 * @param options  as for leash_open(); only the URI, the timeout and the client's name are used. For a cluster or a
 *                 quorum, these are the servers that the URI itself names.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           all servers have loaded them
 * @retval LEASH_UNAVAILABLE  a server did not answer in time, or cannot load them now
 * @retval LEASH_DENIED       wrong user or password, or script|load is not permitted
 * @retval LEASH_UNSUPPORTED  a redis+sentinel URI: name the servers themselves, with redis://
 * @retval LEASH_PROTOCOL     the answer does not come from a Redis server, or the server computes another name for a
 *                            script than we do
 * @retval LEASH_INVALID, LEASH_NO_MEMORY, LEASH_IN_CALLBACK as leash_open()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_scripts_load(const leash_options *options, leash_error *err);

LEASH_END_DECLS

#endif
