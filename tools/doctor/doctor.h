/* The doctor: is a server fit to keep locks, and if not, how is that fixed? One thread.
 *
 *   command.c     leash doctor: prints what is told
 *   doctor.c      each server, and all checks of it in order: a table
 *   targets.c     which servers of a deployment are looked at
 *   checks.h      the checks:
 *   health.c      what a server says about itself (INFO, CONFIG)
 *   acl.c         what it permits: each command is tried by itself, so that nothing is written
 *   connection.c  how it is reached, or why it is not
 *   smoke.c       a lock from its acquire to its release, by the scripts that all clients use
 *   timing.c      its clock, its age, its speed
 *   sentinels.c   the sentinels that name it
 *   report.c      on which they stand: asks a server, and tells what was found
 *
 * What a server answers is not trusted: nothing of it is shown that is not printable and short, nothing of it becomes
 * part of a command in a remedy that is not a plain word, and a password that it reads back to us is not shown. */
#ifndef LEASH_TOOLS_DOCTOR_H
#define LEASH_TOOLS_DOCTOR_H

#include "tools/doctor/report.h"

#include <leash/client.h>

/* Look at each server that `options` lead to, and at its sentinels. LEASH_OK: the findings say what there is to say.
 * UNAVAILABLE, DENIED, PROTOCOL: a server cannot be reached; that was told as a finding, too, unless there is none at
 * all. INVALID, UNSUPPORTED and NO_MEMORY as of leash_open(). Keys that the trial of a lock writes expire within a
 * minute, whatever happens. */
leash_status doctor_examine(const leash_options *options, finding_fn *told, void *arg, leash_error *err);

#endif
