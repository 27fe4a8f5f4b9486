/* Slots: which server of a cluster has which, as all threads see it; and what one of its nodes says of that. This is
 * the inside of a cluster: others know cluster.h.
 *
 * Nothing is decided here but what is too soon to be believed; cluster.c says why. Any thread reads, without a mutex,
 * and writes, with one. */
#ifndef LSH_REDIS_SLOTS_H
#define LSH_REDIS_SLOTS_H

#include "base/clock.h"
#include "redis/cluster.h"
#include "redis/informant.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- what a node says ---- */

enum {
	LSH_NOBODY = -1,      /* has the slot */
	LSH_NOT_SAID = -2,    /* who has the slot: somebody whom the node has no address of */
	LSH_NODE_ID = 40,
};

#define LSH_SLOT_STANDS (2 * LSH_S) /* what was learned of a slot, against the same rank */

/* A node that has a range of slots. Its texts are in the reply, which must outlive it. */
struct lsh_slot_node {
	const char *host;     /* NULL: it has no address that is known to who was asked */
	uint16_t port;
	const char *id;       /* LSH_NODE_ID bytes, which no other node in the world has; "" if it was not said */
};

/* What is wrong with the reply to CLUSTER SLOTS of a node that was reached by `asked`. NULL: nothing, and of so many
 * slots it is `served` that somebody has them. */
const char *lsh_slots_fault(const struct redisReply *slots, const char *asked, unsigned *served);

/* Of such a reply without a fault: where a range begins and ends; its master (n = 0), or one of its replicas. False:
 * there are no more. */
bool lsh_range_read(const struct redisReply *slots, size_t i, unsigned *first, unsigned *last);
bool lsh_range_node(const struct redisReply *slots, size_t i, size_t n, const char *asked, struct lsh_slot_node *node);

/* How much a node is to be believed, by its reply to CLUSTER INFO: more if it is in touch with most masters
 * (cluster_state:ok, or not said); then, the higher its cluster_current_epoch. */
uint64_t lsh_rank_read(const struct redisReply *info);

/* Read "MOVED <slot> <host>:<port>", or with another `verb`. Without a host it is that of `said_by`. False: it is
 * nothing of the kind. */
bool lsh_redirection_read(const char *text, const char *verb, const char *said_by, unsigned *slot,
                          struct lsh_whereabouts *to);

/* ---- what is believed ---- */

struct lsh_slot_server {
	struct lsh_uri *_Atomic uri; /* NULL: the number is free. Written with the mutex held, read without */
	atomic_uint users;           /* from 0 on, only with the mutex held */
	atomic_uint slots;           /* that it has; written with the mutex held. The rest: with the mutex held */
	bool surveyed;               /* the last map says that it has some */
	bool retiring;
	int64_t idle_since;          /* as far as it was looked at; 0: it is not idle */
};

struct lsh_cluster {
	const struct lsh_uri *uri;

	/* written with the mutex held, read without */
	_Atomic uint64_t version;
	_Atomic int16_t at[LSH_SLOTS];

	pthread_mutex_t mutex;         /* guards the above against other writers, and */
	int64_t learned_at[LSH_SLOTS]; /* when it was last taken from one server and given to another; 0: never */
	struct lsh_slot_server server[LSH_SERVERS];
};

/* `cluster` is zeroed; its URI must outlive it. */
void lsh_slots_open(struct lsh_cluster *cluster, const struct lsh_uri *uri);
void lsh_slots_close(struct lsh_cluster *cluster);

/* The number of the server there, in use; perhaps a new one. LSH_NO_SERVER: there is no memory, or there are too many
 * servers, or, if no map names it (`surveyed`), strangers. */
int lsh_slots_number(struct lsh_cluster *cluster, const char *host, uint16_t port, bool surveyed);

/* Give up each server that has had no slot and no use for some seconds, but for the last one: nobody finds it any more,
 * and its number is free when `given_up` has returned. Returns whether there may be some later. One thread. */
bool lsh_slots_give_up(struct lsh_cluster *cluster, void (*given_up)(void *ctx, int number), void *ctx);

/* The server of a slot said that it has moved to this number, which is in use. False: that is no news. */
bool lsh_slots_move(struct lsh_cluster *cluster, unsigned slot, int number);

/* Make the map what a node says: the number `at` each slot, in use, LSH_NOBODY or LSH_NOT_SAID. What was learned after
 * `begun`, when its look began, stands; without a `higher` rank than the map's also what was learned less than
 * LSH_SLOT_STANDS before. `*held_back`: something was left as it is for that. Returns how many slots are served now. */
unsigned lsh_slots_take(struct lsh_cluster *cluster, const int16_t at[static LSH_SLOTS], int64_t begun, bool higher,
                        bool *held_back);

#endif
