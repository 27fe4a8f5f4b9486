/* The server half as the build embeds it: build-aux/embed-lua.sh makes scripts.c from the .lua files of this folder. */
#ifndef LSH_LUA_SCRIPTS_H
#define LSH_LUA_SCRIPTS_H

#include <stddef.h>

struct lsh_script {
	const char *name; /* of the file, without .lua */
	const char *text; /* what the server gets: includes resolved, comments, blank lines and indentation gone */
	size_t size;      /* bytes of `text`, without its NUL */
	char sha1[41];    /* of `text`, in lower-case hexadecimal: what EVALSHA wants */
};

extern const struct lsh_script lsh_script_acquire;
extern const struct lsh_script lsh_script_gate_arrive;
extern const struct lsh_script lsh_script_heartbeat;
extern const struct lsh_script lsh_script_inspect;
extern const struct lsh_script lsh_script_proclaim;
extern const struct lsh_script lsh_script_raise;
extern const struct lsh_script lsh_script_redisson;
extern const struct lsh_script lsh_script_release;
extern const struct lsh_script lsh_script_renew;
extern const struct lsh_script lsh_script_share_acquire;
extern const struct lsh_script lsh_script_share_heartbeat;
extern const struct lsh_script lsh_script_share_limit;
extern const struct lsh_script lsh_script_share_trade;
extern const struct lsh_script lsh_script_share_release;
extern const struct lsh_script lsh_script_share_renew;
extern const struct lsh_script lsh_script_share_signal;
extern const struct lsh_script lsh_script_watch;

/* All of them, and NULL behind the last. */
extern const struct lsh_script *const lsh_scripts[];

#endif
