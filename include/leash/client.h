/* The client: one deployment, its connections, its watchdog, and the locks held through it. */
#ifndef LEASH_CLIENT_H
#define LEASH_CLIENT_H

#include <leash/api.h>
#include <leash/cancel.h>
#include <leash/event.h>
#include <leash/status.h>

LEASH_BEGIN_DECLS

/** A client: one deployment, and the locks that are held through it. leash_open() makes one. */
typedef struct leash_client leash_client;

/**
 * How to open a client. Zero means the default; build it with LEASH_OPTIONS().
 *
 * URIs are percent-encoded, with an IPv6 address in brackets:
 *
 *     redis://[user[:password]@]host[:port][/db]          one server
 *     unix://[user[:password]@]/path[?db=n]               the same, by its socket
 *     redis+sentinel://[...@]host[:port],.../master[/db]  the master that these sentinels look after
 *     redis+cluster://[...@]host[:port],...               a cluster, by some of its nodes
 *     redis+quorum://[...@]host[:port],...[/db]           3, 5 or 7 servers that know nothing of each other (Redlock)
 *
 * `rediss` in place of `redis` means TLS. Query parameters: `timeout=` (ms); `password_file=` (a path) or
 * `password_env=` (the name of a variable), which keep the password out of the URI; `cafile=`, `cert=`, `key=`,
 * `server_name=`, `verify=no`; `sentinel_user=`, `sentinel_password_file=`, `sentinel_password_env=`; `redirects=` (the
 * only hosts to which a server may redirect us); `scripts=preloaded` (see leash/scripts.h); `restart_guard=` (ms, for
 * locks that set none). docs/deployments.md says which deployment to choose and what each can promise. No error and no
 * log line contains a secret.
 *
 * A file that the URI names is read at the open and again for each connection, so it can be replaced while the program
 * runs. Give its full path, and make sure that the program can read it for as long as it runs. A password file has one
 * line, which ends in LF or nothing.
 *
 * A set-user-ID program (where secure_getenv(3) finds nothing) takes nothing from its environment: not LEASH_URI, not
 * the variable of `password_env=` (which is INVALID there), and not OpenSSL's SSL_CERT_FILE and SSL_CERT_DIR. Otherwise
 * the user who starts it could make it send a file that only the program can read to a server of that user.
 */
typedef struct leash_options {
	size_t size;             /**< set by LEASH_OPTIONS() */
	const char *uri;         /**< default $LEASH_URI, else "redis://127.0.0.1:6379" */
	int64_t lease_ms;        /**< for locks that set none; default 30000, 100 to 86400000; renewed every third of it */
	int64_t timeout_ms;      /**< to connect, and for one answer; default 1000, 10 to 60000 */
	const char *prefix;      /**< of all keys and channels; default "leash"; 1 to 64 of A-Z a-z 0-9 . _ - */
	const char *client_name; /**< in CLIENT LIST after "leash:"; default: the program's name; 1 to 64 printable, no
	                              spaces */
	leash_event_fn on_event; /**< events of the client, and of locks that have no callback of their own; may be NULL */
	void *event_arg;         /**< handed to `on_event`; must live until leash_close() returns */
	leash_log_fn on_log;     /**< leash itself prints nothing; may be NULL */
	void *log_arg;           /**< handed to `on_log`; must live until leash_close() returns */
	int64_t fence_ttl_ms;    /**< how long the server keeps a lock's last fence; default 3600000, 1000 to 86400000.
	                              Counted from when the lock was last held, and at least for the lease. Fences follow
	                              the server's clock; this key (one for each name that is or was in use, 130 bytes each)
	                              protects them if that clock goes back by less than this time. On a quorum all clients
	                              need the same value. See docs/deployments.md */
	int64_t open_wait_ms;    /**< for how long leash_open() retries while the server is away; default 0: no retry;
	                              LEASH_FOREVER: without limit */
	leash_cancel *open_cancel; /**< fire it to end these retries, after the attempt under way; or NULL */
	/* Add fields here, at the end, and nowhere else. */
} leash_options;

/** Use it as an argument; the struct may end with the call. To keep one, copy it:
 * `leash_options kept = *LEASH_OPTIONS(...);`. In C++, name the fields in order. See leash/api.h. */
#define LEASH_OPTIONS(...) LEASH_STRUCT_(leash_options, __VA_ARGS__)

/**
 * Open a client.
 *
 * Starts three threads, which block all signals: the watchdog, the keeper of the connections, and the courier of the
 * events. Then it waits for the server's first answer, at most `timeout_ms`. Later connection failures are repaired in
 * the background.
 *
 * `open_wait_ms` is for a program that may start before its server. After an attempt that ends with LEASH_UNAVAILABLE
 * there is another one, after 50 ms at first and up to 800 ms later. The last attempt begins when `open_wait_ms` is
 * over.
 *
 * @param out      receives the client; untouched unless the result is LEASH_OK.
 * @param options  NULL, or LEASH_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the client is connected
 * @retval LEASH_INVALID      an option or a part of the URI is not valid; the text names it
 * @retval LEASH_CANCELED     `open_cancel` was fired during the wait for the server
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or refused the connection; or its name does not exist
 *                            (sys_errno ENXIO)
 * @retval LEASH_DENIED       wrong user or password; or a command that opens a connection is not permitted; or the
 *                            server's certificate is not for this server (only its subjectAltName counts), or not
 *                            signed by a known authority; the text says which
 * @retval LEASH_PROTOCOL     the answer does not come from a Redis server
 * @retval LEASH_UNSUPPORTED  the system lacks something that leash needs; the server does not know a command that leash
 *                            needs (SUBSCRIBE, TIME); the URI asks for TLS, and this leash was built without it; or a
 *                            redis+cluster URI names a server that is not part of a cluster
 * @retval LEASH_NO_MEMORY    memory, threads or descriptors are used up: `sys_errno` and the text say which; nothing
 *                            remains allocated
 * @retval LEASH_IN_CALLBACK  called from a callback of another client
 *
 * Threads: any. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_open(leash_client **out, const leash_options *options, leash_error *err);

/**
 * Close a client: release what is held through it, wake every waiter (LEASH_CLOSED), and end its threads.
 *
 * This takes at most about twice `timeout_ms` if the server does not answer. A lock that could not be released then
 * becomes free when its lease ends. If the server answers, it may still take up to `timeout_ms`: a request of an
 * acquire that has ended (by a cancel, for example) may have been lost with its connection, and may still arrive. The
 * client waits to undo such a request, so that it does not acquire the lock for a caller that no longer exists. It
 * waits at most `timeout_ms` after the request was sent, and no longer than the caller would have waited.
 *
 * Do not use `client` after this call. Handles of this client stay valid, return LEASH_CLOSED, and must still be freed.
 * No callback runs once this has returned. NULL is allowed. In a forked child it closes the child's copies of the
 * connections of all clients of the parent, and sends nothing. Do not call it from a callback of this client: there it
 * does nothing.
 *
 * Threads: any, once for each client; other threads may be in calls on its locks. Since 0.1.
 */
LEASH_API void leash_close(leash_client *client);

/**
 * Where the client's locks live, as messages show it: "redis://cache:6379/2"; NULL for NULL. Memory only.
 *
 * This is the URI without user, password and parameters, with the port added if none was given, and with unprintable
 * bytes escaped. It is for people and logs. To open another client, keep the URI that this one was opened with. The
 * string is valid until leash_close(), also in a forked child.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API const char *leash_client_uri(const leash_client *client);

LEASH_END_DECLS

#endif
