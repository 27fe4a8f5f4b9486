/* Certificates for servers and clients that speak TLS: two authorities, and who got something from them.
 *
 * Each is made when it is first asked for, in a folder of this process that goes with it. What is returned lasts for the life of the
 * process. All functions may be called from any thread. */
#pragma once

#include <stdbool.h>

enum certs_of {
	CERTS_AUTHORITY,
	CERTS_OTHER_AUTHORITY,
	CERTS_SERVER,        /* for 127.0.0.1, 127.0.0.2 to 4, ::1 and localhost; by the authority, as are all but those that say so */
	CERTS_ELSEWHERE,     /* a server's, for other.example and www.other.example */
	CERTS_EXPIRED,       /* as CERTS_SERVER, but it expired on 2020-02-01 */
	CERTS_EARLY,         /* likewise, valid from 2090-01-01 */
	CERTS_FOREIGN,       /* likewise, by the other authority */
	CERTS_OWN,           /* likewise, by itself */
	CERTS_NAMELESS,      /* a server's, without subjectAltName; its CN is "localhost" */
	CERTS_CLIENT,
	CERTS_FOREIGN_CLIENT, /* by the other authority */
	CERTS_COUNT
};

/* The paths, PEM. */
const char *certs_file(enum certs_of whose);
const char *certs_key(enum certs_of whose);
const char *certs_locked_key(void);   /* a key under a passphrase */

/* Arguments of a redis-server that has this one's certificate, ended by NULL. It believes in CERTS_AUTHORITY. `asks`: whoever connects
 * has to show a certificate. It still has to be told its --tls-port. */
const char *const *certs_server_args(enum certs_of whose, bool asks);
const char *certs_query(void); /* what a URI has to say to believe in CERTS_AUTHORITY: "cafile=/..." */
