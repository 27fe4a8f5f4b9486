/* The checks, each of one server; each stands on those above it at most. What is not known is not judged. */
#ifndef LEASH_TOOLS_CHECKS_H
#define LEASH_TOOLS_CHECKS_H

#include "tools/doctor/report.h"

typedef void check_fn(struct doctor *d);

check_fn health_look;
check_fn health_tell_version, health_tell_mode, health_tell_eviction, health_tell_memory, health_tell_persistence,
	health_tell_replication, health_tell_limits;
void health_take_user(struct doctor *d, const char *user); /* d->user becomes "" if that is not fit for a command */
bool health_has_replicas(const struct doctor *d);

/* As INFO lists it; port 0: it names none. */
struct replica {
	char host[256];
	uint16_t port;
	bool online;
	uint64_t lag_s;
};
bool health_replica(const struct doctor *d, unsigned i, struct replica *out); /* false: there are not so many */

check_fn acl_look; /* also opens d->listener, where there is a queue */
check_fn acl_tell;
bool acl_is_sharded(const struct doctor *d);    /* does a client wait on d->shard? */
bool acl_suffices(const struct doctor *d);      /* for locks */
void acl_advise(struct doctor *d, bool all);    /* the ACL line for what is missing, or for all that leash needs */

check_fn connection_tell;
check_fn connection_tell_break;                 /* it ended while the server was looked at */

/* There is none. LEASH_OK: there was, but nothing else can be tried. */
leash_status connection_tell_failure(struct doctor *d);

check_fn smoke_look; /* acquire, wait, renew, hand over, release a lock; what fails is told */

check_fn timing_look;
check_fn timing_tell_clock, timing_tell_replicas, timing_tell_age, timing_tell_speed;

/* Each sentinel that the URI of the deployment names, for whoever has leases of `lease_ms`. LEASH_OK, or NO_MEMORY in
 * d->err. */
leash_status sentinels_examine(struct doctor *d, const struct lsh_uri *deployment, int64_t lease_ms);

#endif
