/* What a server's refusal means: judged by the first word, because Redis and Valkey word the rest differently. */
#ifndef LSH_REDIS_FAULT_H
#define LSH_REDIS_FAULT_H

#include <leash/status.h>

#include <stdbool.h>

enum lsh_fault {
	LSH_FAULT_NONE,
	LSH_FAULT_NOSCRIPT,  /* not executed: send the script's text */
	LSH_FAULT_NOT_NOW,   /* not executed: loading, or busy with a script; ask again a little later */
	LSH_FAULT_NOT_HERE,  /* not executed: not a master (any more); leave this server and connect anew */
	LSH_FAULT_REFUSED,   /* not executed: the server takes no writes (full, or cannot save them) */
	LSH_FAULT_DENIED,    /* user, password or permission; in a script perhaps executed in part */
	LSH_FAULT_MISMATCH,  /* a key of another type */
	LSH_FAULT_CLUSTER,   /* not executed: another node of a cluster has the key (MOVED), or it alone knows (ASK) */
	LSH_FAULT_UNKNOWN,   /* anything else */
};

/* Of the text of an error reply. */
enum lsh_fault lsh_fault_of(const char *text);

/* What to tell a person of it, in one line: what it is, which key, and what to do; else the server's own words, without
 * what only a debugger wants. `command` that was refused, and `key`, a NUL-terminated one, that it was about: NULL
 * where they are not known. */
enum { LSH_FAULT_TEXT = 136 };
void lsh_fault_say(char out[static LSH_FAULT_TEXT], const char *text, const char *command, const char *key);

/* The status that a caller is given for it, where it cannot be mended. */
leash_status lsh_fault_status(enum lsh_fault fault);

/* Why a connection was refused: does that stay so until somebody changes the server or the URI? */
static inline bool
lsh_status_stays(leash_status status)
{
	return status == LEASH_DENIED || status == LEASH_UNSUPPORTED;
}

#endif
