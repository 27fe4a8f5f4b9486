/* The connection: how a server is reached, or why it is not, and what to do about that. */
#include "tools/doctor/checks.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- remedies ---- */

/* What an error says, by its text. False: it is none of these. */
static bool
advise_by_text(struct doctor *d)
{
	static const struct {
		const char *says, *remedy;
	} all[] = {
		{"wants a password", "name user and password in $LEASH_URI (redis://USER:PASSWORD@HOST), or where the password "
		                     "is: ?password_file=PATH or ?password_env=NAME"},
		{": AUTH was refused", "fix user and password in the URI, or what ?password_file= or ?password_env= name; on "
		                       "the server ACL LIST shows the users, and ACL LOG who was refused"},
		{"max number of clients", "CONFIG SET maxclients to a higher value, and maxclients in redis.conf; CLIENT LIST "
		                          "shows who has the connections"},
		{": BUSY ", "end the script that it runs: SCRIPT KILL, or FUNCTION KILL"},
		{": LOADING ", "wait until it has read its data: INFO persistence says how far it is"},
		{": MASTERDOWN ", "it is a replica without its master: name the master in the URI"},
		{"does it want TLS?", "if its port is for TLS (tls-port in redis.conf) write rediss:// in place of redis://, "
		                      "or name its other port"},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strstr(d->err.text, all[i].says) != NULL) {
			advise(d, "%s", all[i].remedy);
			return true;
		}
	return false;
}

static void
advise_on_outage(struct doctor *d, const char *host)
{
	char ping[256];

	if (d->uri->scheme == LSH_SCHEME_UNIX)
		snprintf(ping, sizeof ping, "redis-cli -s %s ping", host);
	else
		snprintf(ping, sizeof ping, "redis-cli -h %s -p %u ping", host, d->uri->port);
	if (d->err.sys_errno == EACCES || d->err.sys_errno == EPERM)
		advise(d, "let this user (uid) use the socket: unixsocketperm in redis.conf, and the permissions of its "
		       "folder");
	else if (d->err.sys_errno == ETIMEDOUT)
		advise(d, "see whether it runs and is not blocked, and what lies between (firewall, network): %s; for a slow "
		       "one, ?timeout=5000 in the URI", ping);
	else if (d->target->deployment == LSH_SENTINEL)
		advise(d, "start the server, or wait until the sentinels name another master: %s", ping);
	else if (d->target->cluster != NULL)
		advise(d, "start the server, or one that takes its place: CLUSTER FAILOVER FORCE at a replica of it");
	else
		advise(d, "start the server, or fix the address in the URI: %s", ping);
}

static void
advise_on_error(struct doctor *d)
{
	char host[200];

	lsh_show(host, sizeof host, d->uri->host, strlen(d->uri->host));
	if (advise_by_text(d))
		return;
	if (d->status == LEASH_UNAVAILABLE)
		advise_on_outage(d, host);
	else if (d->status == LEASH_DENIED && d->uri->tls.on && strstr(doctor_trouble(d, &d->err), "certificate") != NULL)
		advise(d, "openssl s_client -connect %s:%u -showcerts shows the server's; cafile, server_name, cert and key in "
		       "the URI say what we accept and show", host, d->uri->port);
	else if (d->status == LEASH_DENIED)
		advise(d, "the server takes no such clients: in its redis.conf, set a password for them (requirepass, or user "
		       "...), or protected-mode no");
	else if (d->status == LEASH_PROTOCOL && d->uri->tls.on)
		advise(d, "name the port at which it speaks TLS (tls-port in redis.conf), or, where plain text will do, write "
		       "redis:// in place of rediss://");
	else if (d->status == LEASH_PROTOCOL)
		advise(d, "something else listens there: fix host and port in the URI; where TLS is wanted write rediss:// in "
		       "place of redis://");
	else if (d->status == LEASH_INVALID)
		advise(d, "name a database that exists (0 always does), or raise `databases` in redis.conf; a cluster has no "
		       "other than 0");
}

/* ---- what is told ---- */

/* A command of the hello that is not permitted is no refused login: the server was reached. */
static bool
is_reached(const struct doctor *d, const char *what)
{
	return (strncmp(what, "TIME was refused: ", 18) == 0 || strncmp(what, "SELECT was refused: ", 20) == 0) &&
	       (d->status == LEASH_DENIED || d->status == LEASH_UNSUPPORTED);
}

leash_status
connection_tell_failure(struct doctor *d)
{
	const char *what = doctor_trouble(d, &d->err);

	d->topic = "connection";
	if (is_reached(d, what)) {
		tell(d, FINE, "connected");
		if (strstr(what, "NOPERM") != NULL)
			acl_advise(d, true);
		else
			advise(d, "take rename-command for it out of the server's redis.conf; if that is a Sentinel, name the "
			       "server that keeps the data");
		d->topic = "permissions";
		tell(d, ERROR, "%s, without which nothing else can be tried", what);
		return LEASH_OK;
	}
	advise_on_error(d);
	tell(d, ERROR, "%s", what);
	return d->status;
}

/* What the server said before is told all the same. */
void
connection_tell_break(struct doctor *d)
{
	if (d->status == LEASH_OK || d->status == LEASH_NO_MEMORY)
		return;
	advise_on_error(d);
	tell(d, ERROR, "while it was looked at: %s", doctor_trouble(d, &d->err));
}

void
connection_tell(struct doctor *d)
{
	const char *host = d->uri->host;
	bool by_socket = d->uri->scheme == LSH_SCHEME_UNIX;
	bool loopback = strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
	bool local = by_socket || loopback;
	const char *plain = local ? "over TCP, on this machine" : "over TCP, without TLS";
	const char *tls = d->uri->tls.unverified ? "by TLS, whoever it is (verify=no)" : "by TLS";
	const char *way = by_socket ? "over a unix socket" : d->uri->tls.on ? tls : plain;
	char who[USER_SIZE + 16] = "";

	if (d->user[0] != '\0')
		snprintf(who, sizeof who, ", as user %s", d->user);
	if (local || lsh_has_password(&d->uri->login)) {
		tell(d, FINE, "connected %s%s", way, who);
		return;
	}
	advise(d, "ACL SETUSER NAME on >PASSWORD with the permissions that leash needs, and ACL SETUSER default off; let "
	       "only trusted networks reach it");
	tell(d, NOTE, "connected %s%s, without a password: whoever reaches it can take and break locks", way, who);
}
