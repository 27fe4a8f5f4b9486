/* A proxy that does to connections what networks do: delays, holds, cuts, resets, drips, and loses messages.
 *
 * It stands between its clients and a target, a path or "127.0.0.1:<port>", which need not be there yet. One thread moves
 * the bytes. All knobs may be turned at any time, from any thread; when a knob function returns, it is so.
 *
 * Over a unix socket (proxy_start) a reset looks like an end to the client; over TCP (proxy_start_tcp) it is a RST. */
#pragma once

#include "tests/support/await.h"

struct proxy;

enum proxy_way { PROXY_TO_SERVER = 1, PROXY_TO_CLIENT = 2, PROXY_BOTH = 3 };

struct proxy *proxy_start_with(const char *target, bool tcp);
#define proxy_start(target) proxy_start_with((target), false)
#define proxy_start_tcp(target) proxy_start_with((target), true)
void proxy_stop(struct proxy *proxy);   /* resets what is open; NULL is allowed */

const char *proxy_uri(const struct proxy *proxy);      /* "unix:///..." or "redis://127.0.0.1:<port>" */
const char *proxy_target(const struct proxy *proxy);   /* what another proxy takes to stand before this one */

/* ---- what is done to all ---- */

enum proxy_knob {
	PROXY_DELAYED,       /* every byte arrives so many us after it was sent; many may be under way at once. For bytes from now on */
	PROXY_DRIPPED,       /* one byte at a time, each so many us after the one before; 0: no longer */
	PROXY_HELD,          /* 1: nothing arrives, not even an end, as if the other host had vanished. What is sent is kept */
	PROXY_REFUSED,       /* 1: connections are taken and closed at once */
	PROXY_DROPPED,       /* so many of a hundred pub/sub messages are lost (replies that are arrays starting with message,
	                      * smessage or pmessage) */
	PROXY_MESSAGES_HELD, /* 1: no message arrives that comes from now on, nor what follows on its connection */
	PROXY_KNOBS
};

/* The last three are of the way to the client. */
void proxy_turn(struct proxy *proxy, enum proxy_way way, enum proxy_knob knob, int64_t value);

#define proxy_delay(proxy, way, us) proxy_turn((proxy), (way), PROXY_DELAYED, (us))
#define proxy_drip(proxy, way, us_per_byte) proxy_turn((proxy), (way), PROXY_DRIPPED, (us_per_byte))
#define proxy_hold(proxy, way) proxy_turn((proxy), (way), PROXY_HELD, 1)
#define proxy_let_go(proxy, way) proxy_turn((proxy), (way), PROXY_HELD, 0)
#define proxy_refuse(proxy, refuse) proxy_turn((proxy), PROXY_TO_CLIENT, PROXY_REFUSED, (refuse))
#define proxy_drop_messages(proxy, percent) proxy_turn((proxy), PROXY_TO_CLIENT, PROXY_DROPPED, (percent))
#define proxy_hold_messages(proxy, hold) proxy_turn((proxy), PROXY_TO_CLIENT, PROXY_MESSAGES_HELD, (hold))

void proxy_release(struct proxy *proxy); /* whatever is held goes on: by a knob, from an address, or by a fault */

/* On the connections that there are from `address`, "127.0.1.2", nothing arrives, either way, until that is undone or
 * proxy_release; how many those are. So a proxy that replicas and clients share can hold the replicas' alone, also where
 * TLS hides from those in between what is said. */
size_t proxy_set_held_from(struct proxy *proxy, const char *address, bool held);

/* Reset every connection there is; new ones are taken. What was under way in them is lost. */
void proxy_reset_all(struct proxy *proxy);

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

/* ---- what is done to one request ---- */

/* A fault is armed for one request, the next whole one on any connection that contains a text, letter case aside (NULL: any).
 * There is one fault at a time: arming replaces one that was not hit yet. */
enum proxy_fault {
	PROXY_NO_FAULT,
	PROXY_CUT_REQUEST,    /* the request never reaches the server: both sides are reset instead */
	PROXY_CUT_REPLY,      /* the server executes it; `bytes` bytes of its answer reach the client, then both sides are reset */
	PROXY_HOLD_REPLY,     /* the server executes it; its answer and all after it on that connection are held */
	PROXY_STRAND_REQUEST, /* the client's connection ends there, but the request is kept, and executed after proxy_release */
};

void proxy_arm(struct proxy *proxy, enum proxy_fault fault, const char *text, size_t bytes);

#define proxy_cut_request(proxy, text) proxy_arm((proxy), PROXY_CUT_REQUEST, (text), 0)
#define proxy_cut_reply(proxy, text, bytes) proxy_arm((proxy), PROXY_CUT_REPLY, (text), (bytes))
#define proxy_hold_reply(proxy, text) proxy_arm((proxy), PROXY_HOLD_REPLY, (text), 0)
#define proxy_strand_request(proxy, text) proxy_arm((proxy), PROXY_STRAND_REQUEST, (text), 0)
#define proxy_disarm(proxy) proxy_arm((proxy), PROXY_NO_FAULT, NULL, 0)

void proxy_skip(struct proxy *proxy, unsigned n); /* the fault that is armed next lets `n` such requests pass first */

/* ---- what has been ---- */

struct proxy_counts {
	bool hit;             /* the fault that was armed last has happened: the request is not delivered (yet), resp. the server
	                       * has answered it and the answer is cut or held */
	size_t open;          /* connections there are now; and since the start: */
	size_t accepted;      /* connections, refused ones too */
	uint64_t bytes;       /* sent either way, whether they arrived or not */
	uint64_t requests;
	uint64_t dropped;     /* messages */
	uint64_t doubled;     /* messages, by the weather */
	uint64_t lost;        /* requests and replies, likewise */
	uint64_t late;        /* requests, replies and messages, likewise */
};

struct proxy_counts proxy_counts(struct proxy *proxy);

#define proxy_hit(proxy) (proxy_counts(proxy).hit)
#define proxy_open(proxy) (proxy_counts(proxy).open)
#define proxy_accepted(proxy) (proxy_counts(proxy).accepted)
#define proxy_wait_hit(proxy) await_true(proxy_hit(proxy))
