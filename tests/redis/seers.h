/* Seers: sentinels, and the URI that names the first of them, s0 to s2; s3 is not in it. They are fakes (fakes.h),
 * honest, and name 127.0.0.1:1000 of epoch 7 for "main". Words for scenes, at any time:
 *
 *     is SEER MOOD                 honest, or one of those in seers.c
 *     names SEER PORT EPOCH [HOST] the master; all for SEER, here and with asked: each of them
 *     role SEER MS                 for which it has been that
 *     knows SEER SEER              another sentinel
 *     asked SEER                   how often, since forget SEER
 *     switch SEER [NAME]           it publishes that another one is master
 *     hears SEER                   has been subscribed to, that often */
#pragma once

#include "redis/uri.h"
#include "tests/redis/fakes.h"

enum { SEERS = 3 };

void start_seers(void);
void stop_seers(void);

extern struct lsh_uri uri; /* of the first seers, for the master "main" */
extern leash_error err;
void write_uri(int count, const char *query);
