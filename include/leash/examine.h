/* Examine: is this server fit to keep locks? */
#ifndef LEASH_EXAMINE_H
#define LEASH_EXAMINE_H

#include <leash/api.h>
#include <leash/client.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/** How much a finding matters. */
typedef enum leash_finding_level {
	LEASH_FINDING_FINE = 1,    /**< as it should be */
	LEASH_FINDING_NOTE = 2,    /**< good to know */
	LEASH_FINDING_WARNING = 3, /**< locks work, but something that people expect of them does not hold */
	LEASH_FINDING_ERROR = 4,   /**< locks do not work, or are not safe */
} leash_finding_level;

/** One thing that was looked at. It and its strings belong to leash and are valid during the callback only. */
typedef struct leash_finding {
	size_t size;        /**< of this struct, as leash was built; fields are only ever added at the end */
	const char *server; /**< which one, without secrets */
	const char *topic;  /**< one word: "connection", "version", "eviction", "memory", "persistence", "replication", "clock", "permissions", "speed", ... */
	const char *text;   /**< what was found, in one line of printable characters */
	const char *remedy; /**< how to mend it, likewise; NULL where there is nothing to mend */
	leash_finding_level level;
	int32_t reserved_;
} leash_finding;

/** Receives a finding, on the thread that asked. May call leash. It must return: no longjmp, no exception, no pthread_exit. */
typedef void (*leash_finding_fn)(void *arg, const leash_finding *finding);

/**
 * Look at the server that `options` name as one looks who is to keep locks in it: version, eviction, memory, persistence, replication,
 * clock, latency, and whether everything is permitted that leash needs. What is wrong with it is told, with how to mend it.
 *
 * Writes nothing but keys of a name that nobody uses, for a moment; they expire by themselves within a minute should the server
 * not let them be deleted. Uses connections of its own.
 *
 * @param options  as for leash_open(); `on_event` and `on_log` are not used.
 * @param tell     called for each thing that was looked at.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           it was looked at; the findings say what there is to say
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or refused the connection; this was told as a finding, too
 * @retval LEASH_DENIED       wrong user or password; told as a finding, too
 * @retval LEASH_PROTOCOL     what answers there is not a Redis server; told as a finding, too
 * @retval LEASH_INVALID, LEASH_UNSUPPORTED, LEASH_NO_MEMORY, LEASH_IN_CALLBACK as leash_open()
 *
 * Threads: any; not from a leash callback. Not a cancellation point. Since 0.1.
 */
LEASH_API leash_status leash_examine(const leash_options *options, leash_finding_fn tell, void *arg, leash_error *err);

LEASH_END_DECLS

#endif
