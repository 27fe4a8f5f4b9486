/* Steps whose script is broken on purpose, in the library of the mutations (lib/base/mutation.h).
 *
 * A mutated script is the embedded one with a part of its text exchanged, made when it is wanted first. Its SHA-1 is one that no
 * server knows, since it is none: so it is refused with NOSCRIPT each time and then sent whole. */
#include "base/mutation.h"
#include "lua/scripts.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum lsh_mutation mutation;
	const char *from, *to;
} parts[] = {
	{LSH_RENEWALS_SHORTEN, "if not gt or call('PEXPIRE', KEYS[1], lease, gt) == 0 then",
	 "call('PEXPIRE', KEYS[1], lease)\nif false then"},
	{LSH_DEAD_ARE_SERVED, "heard ~= 0 or", "true or"},
};

enum { SCRIPTS = 10 }; /* and each has one that is mutated, at most */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct {
	const struct lsh_script *of;
	struct lsh_script script;
	char text[16384];
} made[SCRIPTS];

/* mutex held. `script` with the `size` bytes at `at` exchanged for `to`. */
static const struct lsh_script *
make(const struct lsh_script *script, const char *at, size_t size, const char *to)
{
	size_t i = 0, n;

	while (i < SCRIPTS && made[i].of != NULL && made[i].of != script)
		i++;
	assert(i < SCRIPTS);
	if (made[i].of == script)
		return &made[i].script;
	n = (size_t)snprintf(made[i].text, sizeof made[i].text, "%.*s%s%s", (int)(at - script->text), script->text, to, at + size);
	assert(n < sizeof made[i].text);
	made[i].script = (struct lsh_script){.name = script->name, .text = made[i].text, .size = n};
	memset(made[i].script.sha1, '0', 40);
	made[i].of = script;
	return &made[i].script;
}

const struct lsh_script *
lsh_mutated(const struct lsh_script *script)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const char *at = LSH_MUTATES(parts[i].mutation) ? strstr(script->text, parts[i].from) : NULL;

		if (at != NULL) {
			pthread_mutex_lock(&mutex);
			script = make(script, at, strlen(parts[i].from), parts[i].to);
			pthread_mutex_unlock(&mutex);
			break;
		}
	}
	return script;
}
