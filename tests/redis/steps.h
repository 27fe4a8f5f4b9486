/* The steps of the server half: the scripts as the build embeds them, on a real server and over plain connections; no
 * other part of the library takes part. What they are told, what they answer, and what is in the server afterwards.
 *
 * Time does not pass in these tests: a lease that ran out is a lock key that was deleted, a client that died is one
 * whose places and whose last word are old. After every step `step` looks at all keys; what it demands is what must
 * hold after any step of any client. */
#ifndef LEASH_TEST_STEPS_H
#define LEASH_TEST_STEPS_H

#include "lua/scripts.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <hiredis/hiredis.h>

#include <inttypes.h>

#define LOCK  "leash:{orders}"
#define FENCE "leash:{orders}:fence"
#define QUEUE "leash:{orders}:queue"

/* Clients, and tokens of theirs. */
#define ANN "aaaaaaaa-0000-4000-8000-00000000000a"
#define BOB "bbbbbbbb-0000-4000-8000-00000000000b"
#define CID "cccccccc-0000-4000-8000-00000000000c"
#define DAN "dddddddd-0000-4000-8000-00000000000d"
#define ANN1 ANN ":1"
#define ANN2 ANN ":2"
#define BOB1 BOB ":1"
#define BOB2 BOB ":2"
#define CID1 CID ":1"
#define CID2 CID ":2"
#define DAN1 DAN ":1"

enum { LEASE = 600000, CLAIM = 60000, ALIVE = 200000, DAY = 86400000, HOUR = 3600000, MAX_ITEMS = 12, MAX_ARGS = 20 };

#define EXACT   "60000 3600000 200000 1 PUBLISH leash:wake:"
#define INEXACT "60000 3600000 200000 0 PUBLISH leash:wake:"
#define TRY     "0 3600000 200000 1 PUBLISH leash:wake:"

/* How long a fence is kept. */
#define FENCE_MS "3600000"

#define NEVER_LATE "9000000000000000"

/* A fence that is further ahead of the server's clock is none. */
#define YEAR_US (INT64_C(31536000) * 1000000)

/* Every command that a step gives. */
enum { COMMANDS = 18 };
extern const char *const commands[COMMANDS];

extern struct server *server;
extern redisContext *unlimited;  /* a connection that may do anything */
extern redisContext *connection; /* the one that the steps are run on */
extern struct pubsub *listeners;

/* How much of what `look` demands is to be had: not all while somebody else's keys are about, or rights are missing. */
enum order { ALL, TTLS, NOTHING };

extern enum order order;

/* ---- what a step answers ---- */

struct answer {
	int type; /* REDIS_REPLY_INTEGER, _ARRAY or _ERROR */
	int64_t integer;
	size_t count;
	int64_t item[MAX_ITEMS];
	char text[256]; /* of an error */
};

bool is_fence(struct answer answer);
/* The fence of an ask that was granted. */
int64_t fence_of(struct answer answer);
void assert_not_held(struct answer answer);
void assert_number(struct answer answer, int64_t number);
/* An error in a script begins with its word, and in Redis 6.2 with the place in the script, its word coming later. */
void assert_error(struct answer answer, const char *first_word);
/* `now`, the second item, and the token's state of a word of one token. */
int64_t state_of(struct answer answer);

/* ---- what is in the server ---- */

const char *holder(void);
/* In their order, with a space between. */
const char *places(void);
bool exists(const char *key);
int64_t ttl_of(const char *key);
int64_t last_fence(void);
void assert_last_fence(int64_t fence);
/* How far it is ahead of the server's clock, and a second more. */
int64_t fence_ahead_ms(void);
int64_t server_us(void);
/* The moment, in us, until which a client counts as alive: by its last word, or by the newest of its places. */
int64_t alive_until(const char *client);
void assert_between(int64_t n, int64_t low, int64_t high);
/* A TTL in ms that was set a moment ago: time passes, but a minute does not. */
void assert_ttl(const char *key, int64_t ms);
/* What holds after any step of any client. */
void look(void);

/* ---- the steps ---- */

struct answer run(const struct lsh_script *script, int keys, const char *const *args);

#define step(script, keys, ...) run(&lsh_script_##script, keys, (const char *const[]){ __VA_ARGS__, NULL })

struct answer ask_with(const char *token, const char *lease_ms, const char *not_after_us, const char *cfg);
struct answer ask(const char *token);
struct answer try(const char *token);
/* The first has the lock, and the others wait for it in this order. */
#define line_up(...) line_up_tokens((const char *const[]){ __VA_ARGS__, NULL })
void line_up_tokens(const char *const tokens[]);
struct answer release(const char *token);
struct answer word(const char *client, const char *token);
struct answer renew(const char *token, const char *lease_ms, const char *depth);

/* ---- time and death ---- */

void expire(const char *key);
/* So much time has passed since the places of the queue were taken. */
void age_places(int64_t ms);
/* The client has not been heard of for longer than `alive`, and the others that live have said a word a moment ago. */
void bury(const char *client);

/* ---- who listens ---- */

struct pubsub {
	redisContext *connection;
	int messages;   /* so far */
	char last[128];
	struct pubsub *next;
};

redisReply *heard(struct pubsub *pubsub); /* the next that comes */
struct pubsub *listen_on(const char *command, const char *channel);
struct pubsub *listen_for(const char *client);
/* How many messages have come since it began; what was published before this call is among them. */
int messages(struct pubsub *pubsub);
/* The one message that has come is a grant of `token`, with the fence that is the last one issued. */
void assert_told(struct pubsub *pubsub, const char *token);

/* ---- a fresh server for each test ---- */

void start(void);
void stop(void);
void clean(void);
void close_listeners(void);

#endif
