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

const struct lsh_script *
lsh_mutated(const struct lsh_script *script)
{
	const char *at = NULL;
	size_t i = 0, k = 0, n;

	while (i < sizeof parts / sizeof *parts && (!LSH_MUTATES(parts[i].mutation) || (at = strstr(script->text, parts[i].from)) == NULL))
		i++;
	if (at == NULL)
		return script;
	pthread_mutex_lock(&mutex);
	while (k < SCRIPTS && made[k].of != NULL && made[k].of != script)
		k++;
	assert(k < SCRIPTS);
	if (made[k].of == NULL) {
		n = (size_t)snprintf(made[k].text, sizeof made[k].text, "%.*s%s%s", (int)(at - script->text), script->text, parts[i].to,
		                     at + strlen(parts[i].from));
		assert(n < sizeof made[k].text);
		made[k].script = (struct lsh_script){.name = script->name, .text = made[k].text, .size = n};
		memset(made[k].script.sha1, '0', 40);
		made[k].of = script;
	}
	pthread_mutex_unlock(&mutex);
	return &made[k].script;
}
