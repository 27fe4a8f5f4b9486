/* Whoever watches who leads: what it waits for, as a lock would be, is that the state is another one than it knows
 * (lua/watch.lua). It is granted nothing that a server knows of. The leader is whoever has the lock that is called so;
 * all who watch listen on one channel, in a cluster with such channels on one of its slot. */
#include "kind/kind.h"

#include "lua/scripts.h"

#include <string.h>

#define MARK ":wake:watch" /* behind the key of the lock that is its own key, and that channel */
#define WAKE ":wake:"

static void
make(struct lsh_script_call *command, enum lsh_verb verb, const struct lsh_request *r, size_t n)
{
	struct lsh_arg lock = {r->key.bytes, r->key.size - (sizeof MARK - 1)};

	(void)n, (void)verb; /* there is nothing to release, and what is renewed by chance is not there */
	lsh_script_begin(command, &lsh_script_watch, 2);
	lsh_script_push(command, lock);
	lsh_script_push_joined(command, lock, ":fence");
	lsh_script_push(command, LSH_ARG("0"));
	lsh_script_push_number(command, r->fence);
}

/* "<prefix>:{<name>}:wake:watch", or "<prefix>:wake:{<name>}" */
static size_t
write_channel(char *out, const char *key, size_t size, bool sharded)
{
	const char *brace = memchr(key, '{', size);
	char *at;

	if (sharded || brace == NULL) {
		memcpy(out, key, size);
		return size;
	}
	at = mempcpy(out, key, (size_t)(brace - key) - 1);
	at = mempcpy(at, WAKE, sizeof WAKE - 1);
	at = mempcpy(at, brace, size - (size_t)(brace - key) - (sizeof MARK - 1));
	return (size_t)(at - out);
}

bool
lsh_watch_read_channel(const char *channel, size_t size, struct lsh_arg *key, char scratch[static LSH_CHANNEL_SCRATCH])
{
	const char *wake = memmem(channel, size, WAKE "{", sizeof WAKE), *brace = memchr(channel, '{', size);
	char *at;

	if (size > sizeof MARK && memcmp(channel + size - (sizeof MARK - 1), MARK, sizeof MARK - 1) == 0) {
		*key = (struct lsh_arg){channel, size};
		return true;
	}
	if (wake == NULL || brace != wake + sizeof WAKE - 1 || size + sizeof MARK > LSH_CHANNEL_SCRATCH)
		return false;
	at = mempcpy(scratch, channel, (size_t)(wake - channel) + 1);
	at = mempcpy(at, brace, size - (size_t)(brace - channel));
	at = mempcpy(at, MARK, sizeof MARK - 1);
	*key = (struct lsh_arg){scratch, (size_t)(at - scratch)};
	return true;
}

const struct lsh_kind lsh_watch = {
	.name = "leader", .taken = "nothing has changed", .was_taken = "nothing changed", .flags = LSH_PASSED,
	.suffix = {"", ":fence"}, .mark = MARK,
	.batch = 1, .inspect = &lsh_script_watch, .make = make, .read = lsh_kind_read, .channel = write_channel,
};
