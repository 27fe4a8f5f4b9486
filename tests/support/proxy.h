/* A proxy that does to connections what networks do: delays, holds, cuts, resets, drips, and loses messages.
 *
 * It stands between its clients and a target, a path or "127.0.0.1:<port>", which need not be there yet. One thread moves
 * the bytes. All knobs may be turned at any time, from any thread; when a knob function returns, it is so.
 *
 * Over a unix socket (proxy_start) a reset looks like an end to the client; over TCP (proxy_start_tcp) it is a RST. */
#ifndef LEASH_TEST_PROXY_H
#define LEASH_TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proxy;

enum proxy_way { PROXY_TO_SERVER = 1, PROXY_TO_CLIENT = 2, PROXY_BOTH = 3 };

struct proxy *proxy_start(const char *target);
struct proxy *proxy_start_tcp(const char *target);
void proxy_stop(struct proxy *proxy);   /* resets what is open; NULL is allowed */

const char *proxy_uri(const struct proxy *proxy);      /* "unix:///..." or "redis://127.0.0.1:<port>" */
const char *proxy_target(const struct proxy *proxy);   /* what another proxy takes to stand before this one */

/* Every byte arrives so long after it was sent; many may be under way at once. For bytes that come from now on. */
void proxy_delay(struct proxy *proxy, enum proxy_way way, int64_t us);

/* One byte at a time, each so long after the one before; 0: no longer. */
void proxy_drip(struct proxy *proxy, enum proxy_way way, int64_t us_per_byte);

/* Nothing arrives, not even an end, until proxy_release: as if the other host had vanished. What is sent is kept. */
void proxy_hold(struct proxy *proxy, enum proxy_way way);
void proxy_release(struct proxy *proxy);
void proxy_let_go(struct proxy *proxy, enum proxy_way way);   /* undoes proxy_hold, and nothing else */

/* Reset every connection there is; new ones are taken. What was under way in them is lost. */
void proxy_reset_all(struct proxy *proxy);

/* Take connections and close them at once. */
void proxy_refuse(struct proxy *proxy, bool refuse);

/* Lose so many of a hundred pub/sub messages (replies that are arrays starting with message, smessage or pmessage). */
void proxy_drop_messages(struct proxy *proxy, unsigned percent);

/* No message arrives that comes from now on, nor what follows on its connection, until this is undone or proxy_release. */
void proxy_hold_messages(struct proxy *proxy, bool hold);

/* All of it by chance: to each request, reply and message something may happen. What is late makes all wait that follows on
 * its connection. What a client had sent before it lost or left its connection is delivered, however late, and executed. */
struct proxy_weather {
	unsigned lost;             /* so many of 10,000 requests, and of replies, do not arrive: the client's connection ends there */
	unsigned late;             /* so many of a hundred requests, and of replies, are late ... */
	unsigned messages_late;    /* and of messages ... */
	int64_t late_us;           /* by up to so much */
	unsigned messages_dropped; /* of a hundred */
	unsigned messages_doubled; /* of a hundred */
	uint64_t seed;             /* not 0 */
};

void proxy_weather(struct proxy *proxy, const struct proxy_weather *weather);   /* NULL: a fine day, as at the start */

/* A fault is armed for one request, the next whole one on any connection that contains a text, letter case aside (NULL: any).
 * There is one fault at a time: arming replaces one that was not hit yet. */

/* The request never reaches the server: both sides are reset instead. */
void proxy_cut_request(struct proxy *proxy, const char *text);

/* The server executes the request; `bytes` bytes of its answer reach the client, then both sides are reset. */
void proxy_cut_reply(struct proxy *proxy, const char *text, size_t bytes);

/* The server executes the request; its answer and all after it on that connection are held until proxy_release. */
void proxy_hold_reply(struct proxy *proxy, const char *text);

/* The client's connection ends there, but the request is kept, and delivered and executed after proxy_release. */
void proxy_strand_request(struct proxy *proxy, const char *text);

/* The fault that is armed next lets `n` such requests pass first. */
void proxy_skip(struct proxy *proxy, unsigned n);

void proxy_disarm(struct proxy *proxy);

/* Wait until the armed fault has happened: the request is not delivered (yet), resp. the server has answered it and the
 * answer is cut or held. */
void proxy_wait_hit(struct proxy *proxy);
bool proxy_hit(struct proxy *proxy);   /* has the fault that was armed last happened? */

/* Since the start. */
size_t proxy_accepted(struct proxy *proxy);                      /* connections, refused ones too */
uint64_t proxy_bytes(struct proxy *proxy, enum proxy_way way);   /* sent that way, whether they arrived or not */
uint64_t proxy_requests(struct proxy *proxy);
uint64_t proxy_dropped(struct proxy *proxy);                     /* messages */
uint64_t proxy_doubled(struct proxy *proxy);                     /* messages, by the weather */
uint64_t proxy_lost(struct proxy *proxy);                        /* requests and replies, likewise */
uint64_t proxy_late(struct proxy *proxy);                        /* requests, replies and messages, likewise */
size_t proxy_open(struct proxy *proxy);                          /* connections there are now */

#endif
