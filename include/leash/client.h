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
 * URIs, percent-encoded, an IPv6 address in brackets:
 *
 *     redis://[user[:password]@]host[:port][/db]          one server
 *     unix://[user[:password]@]/path[?db=n]               the same, by its socket
 *     redis+sentinel://[...@]host[:port],.../master[/db]  the master that these sentinels look after
 *     redis+cluster://[...@]host[:port],...               a cluster, by some of its nodes
 *     redis+quorum://[...@]host[:port],...[/db]           3, 5 or 7 servers that know nothing of each other (Redlock)
 *
 * `rediss` in place of `redis` is TLS. Query parameters: `timeout=` (ms); `password_file=` (a path) or `password_env=`
 * (the name of a variable) to keep the password out of the URI; `cafile=`, `cert=`, `key=`, `server_name=`,
 * `verify=no`; `sentinel_user=`, `sentinel_password_file=`, `sentinel_password_env=`; `redirects=` (the only hosts to
 * which we may be sent); `scripts=preloaded` (see leash/scripts.h); `restart_guard=` (ms, of locks that name none).
 * docs/deployments.md says which to choose and what each can promise. Secrets appear in no error and no log line.
 *
 * A file that the URI names is read now and again for each connection, so that it can be renewed while the
 * program runs: give its whole path, and let the program be able to read it for as long as it lives. A password
 * file has one line, which ends in LF or nothing.
 *
 * A set-user-ID program (one for which secure_getenv(3) finds nothing) takes nothing from its environment: neither
 * LEASH_URI, nor the variable of `password_env=`, which is INVALID there, nor OpenSSL's SSL_CERT_FILE and SSL_CERT_DIR.
 * Whoever starts it could otherwise have it send a file that only it can read to a server of theirs.
 */
typedef struct leash_options {
	size_t size;             /**< set by LEASH_OPTIONS() */
	const char *uri;         /**< default $LEASH_URI, else "redis://127.0.0.1:6379" */
	int64_t lease_ms;        /**< of locks that name none; default 30000, 100 to 86400000; renewed every third of it */
	int64_t timeout_ms;      /**< to connect, and for one answer; default 1000, 10 to 60000 */
	const char *prefix;      /**< of all keys and channels; default "leash"; 1 to 64 of A-Z a-z 0-9 . _ - */
	const char *client_name; /**< in CLIENT LIST behind "leash:"; default the program's; 1 to 64 printable, no spaces */
	leash_event_fn on_event; /**< events of the client, and of locks that have no callback of their own; may be NULL */
	void *event_arg;         /**< handed to `on_event`; must live until leash_close() returns */
	leash_log_fn on_log;     /**< leash itself prints nothing; may be NULL */
	void *log_arg;           /**< handed to `on_log`; must live until leash_close() returns */
	int64_t fence_ttl_ms;    /**< how long the server keeps a lock's last fence; default 3600000, 1000 to 86400000.
	                              Counted from when it was last held, and at least for the lease. Fences follow the
	                              server's clock: the key, one for each name that is in use or was, is for a clock that
	                              goes back, by less than that. On a quorum all clients need the same. 130 bytes each,
	                              see docs/deployments.md */
	int64_t open_wait_ms;    /**< for how long leash_open() tries again while the server is away; default 0: not
	                              at all, LEASH_FOREVER: without end */
	leash_cancel *open_cancel; /**< ends that when it is fired, once the attempt under way has ended; or NULL */
	/* Add fields here, at the end, and nowhere else. */
} leash_options;

/** For the call that it is an argument of; to keep it, copy it: `leash_options kept = *LEASH_OPTIONS(...);`.
 * C++ wants the fields in order. See leash/api.h. */
#define LEASH_OPTIONS(...) LEASH_STRUCT_(leash_options, __VA_ARGS__)

/**
 * Open a client.
 *
 * Starts three threads (watchdog, keeper of the connections, courier of the events) that block all signals, and awaits
 * the first hello of the server, for at most `timeout_ms`. Later faults of the connection are fixed in the background.
 *
 * With `open_wait_ms` an attempt that ends with LEASH_UNAVAILABLE is followed by another one, after 50 ms at first and
 * 800 ms in the end, for a program that is started before its server. The last one begins when that time is over.
 *
 * @param out      receives the client; untouched unless the result is LEASH_OK.
 * @param options  NULL, or LEASH_OPTIONS(...); copied.
 * @param err      filled in unless the result is LEASH_OK; may be NULL.
 *
 * @retval LEASH_OK           the client is connected
 * @retval LEASH_INVALID      an option or a part of the URI is not valid; the text names it
 * @retval LEASH_CANCELED     `open_cancel` was fired while it waited for its server
 * @retval LEASH_UNAVAILABLE  the server did not answer in time, or refused the connection; its name does not
 *                            exist (sys_errno ENXIO)
 * @retval LEASH_DENIED       wrong user or password, or a command of the hello is not permitted; or the server's
 *                            certificate is not for it (only its subjectAltName counts), or not by an authority that is
 *                            known; the text names it
 * @retval LEASH_PROTOCOL     what answers there is not a Redis server
 * @retval LEASH_UNSUPPORTED  a system without what leash needs; a server that does not know a command that leash needs
 *                            (SUBSCRIBE, TIME); TLS, and this leash was built without it; or a redis+cluster URI, and
 *                            the server is not part of one
 * @retval LEASH_NO_MEMORY    memory, threads or descriptors are used up: `sys_errno` and the text say which;
 *                            nothing is left behind
 * @retval LEASH_IN_CALLBACK  called from a callback of another client
 *
 * Threads: any. Since 0.1.
 */
LEASH_API LEASH_MUST_CHECK leash_status
leash_open(leash_client **out, const leash_options *options, leash_error *err);

/**
 * Close a client: release what is held through it, wake every waiter (LEASH_CLOSED), end its threads.
 *
 * Takes at most about twice `timeout_ms`, if the server does not answer; a lock that could not be released then lapses
 * with its lease. Also with a server that answers it takes up to `timeout_ms` if an acquire ended (canceled, say) whose
 * request went down with a lost connection: as long as that request can still arrive and be executed, which is for
 * `timeout_ms` after it was sent, and no longer than its caller would have waited, the client stays to undo it. Nothing
 * then takes the lock for nobody. Drops the caller's reference, so that `client` itself must not be used any more:
 * handles of this client stay valid, answer LEASH_CLOSED, and must still be freed. No callback is running or will run
 * once it has returned. NULL is allowed. In a forked child it closes the child's copies of the connections, those of
 * all clients of its parent, and talks to nobody. It must not be called from a callback of this client, where it does
 * nothing.
 *
 * Threads: any, once for each client; other threads may be in calls on its locks. Since 0.1.
 */
LEASH_API void leash_close(leash_client *client);

/**
 * Where the client's locks live, as messages say it: "redis://cache:6379/2"; NULL for NULL. Memory only.
 *
 * That is the URI without user, password and parameters, with the port where none was given, and with bytes that are
 * not printable escaped. It is for people and logs: to open another client keep the URI that this one was opened with.
 * It lives until leash_close(), also in a forked child.
 *
 * Threads: any; allowed in callbacks. Since 0.1.
 */
LEASH_API const char *leash_client_uri(const leash_client *client);

LEASH_END_DECLS

#endif
