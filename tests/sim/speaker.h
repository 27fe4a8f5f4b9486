/* Speakers: what a server does with one connection. It reads commands, has them executed, and answers in their order;
 * it knows subscriptions, and waits for replicas. */
#pragma once

#include "redis/command.h"
#include "tests/sim/net.h"
#include "tests/sim/site.h"

struct sim_speaker;

void *sim_speaker_new(struct sim_host *host, struct sim_wire *wire);
void sim_speaker_hear(void *speaker, const char *bytes, size_t size);
void sim_speaker_gone(void *speaker);
bool sim_speaker_is_idle(const void *speaker);

/* How many of the instance's connections are subscribed to the channel; each is told. */
int64_t sim_speakers_publish(struct sim_instance *instance, const char *channel, size_t channel_size, const char *text,
                             size_t size);

/* The instance has no more to do with the slot: who is subscribed to one of its channels is told. */
bool sim_speakers_listen(const struct sim_instance *instance, const char *channel); /* does somebody? */
void sim_speakers_leave_slot(struct sim_instance *instance, unsigned slot);
