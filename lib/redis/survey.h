/* A survey: what one node says of its cluster, read from its answers to CLUSTER SLOTS and CLUSTER INFO.
 *
 * Nothing is kept but where things stand in the answers, which must outlive it. One thread at a time. */
#ifndef LSH_REDIS_SURVEY_H
#define LSH_REDIS_SURVEY_H

#include "redis/slot.h"

#include <leash/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redisReply;

enum {
	LSH_SURVEYED = 2048,  /* nodes: first all masters; replicas that find no room are left out */
	LSH_SURVEY_PLACES = 2 * LSH_SURVEYED,
	LSH_HOST_SIZE = 254,  /* what DNS allows, and a NUL */
	LSH_NOBODY = -1,      /* has the slot */
	LSH_NOT_SAID = -2,    /* who has the slot: somebody whom the node has no address of */
};

struct lsh_surveyed {
	const char *host;
	uint16_t port;
	bool master;
	const char *id;       /* which no other node in the world has; "" if it was not said */
};

struct lsh_survey {
	bool healthy;         /* cluster_state:ok: it is in touch with most masters, and slots are served; true if that was not said */
	uint64_t epoch;       /* cluster_current_epoch: of the newest order of things that it has heard of; 0 if that was not said */
	unsigned served;      /* slots that somebody has */
	unsigned count;
	struct lsh_surveyed node[LSH_SURVEYED];
	uint32_t seed;
	int16_t place[LSH_SURVEY_PLACES]; /* a hash table: which of `node`, or LSH_NOBODY; each range names its nodes anew */
	int16_t at[LSH_SLOTS]; /* which of `node`, LSH_NOBODY or LSH_NOT_SAID */
};

/* Read the answer to CLUSTER SLOTS of a node that was reached by `asked`. False: that is not one; `*why` says what is wrong with it. */
bool lsh_survey_read(struct lsh_survey *survey, const struct redisReply *slots, const char *asked, const char **why);

/* And, afterwards, that to CLUSTER INFO. Anything else leaves what it would say unsaid. */
void lsh_survey_read_info(struct lsh_survey *survey, const struct redisReply *info);

/* Read "MOVED <slot> <host>:<port>", or "ASK ...", up to `verb` and all; `host` has room for LSH_HOST_SIZE bytes and is "" where none
 * was said: then it is that of whoever said it. False: it is nothing of the kind. */
bool lsh_redirection_read(const char *text, const char *verb, unsigned *slot, char *host, uint16_t *port);

#endif
