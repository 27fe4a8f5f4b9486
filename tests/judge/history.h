/* Histories: what each process of a run writes down of what it does to leash, for a judge that reads them all afterwards (verdict.h).
 *
 * A history is a file, <folder>/<name>.history, to which lines are appended, each by one write(2): so a process may be killed or
 * frozen anywhere, several threads may write, and what is there was written before whatever it did next. A line is
 *
 *     <ns of CLOCK_BOOTTIME> <kind> <words, one space between>
 *
 * The moment of an invocation ("ask", "give") is read before leash is called and that of a completion after it returned: what lies
 * between may have happened at any time in between, and the judge takes it so. Names of locks have no spaces.
 *
 * By a process that uses locks; <hold> is a number that the process uses once:
 *
 *     process <pid> <client's name>                       the first line
 *     ask  <hold> <lock> <wait ms, -1: for ever> <need>   what is needed: plain, fair (a lock), read, write (a read-write lock),
 *                                                         several (a lock of a set: while its owner waits for another one it may
 *                                                         have it, lose it, and have it again), <k>/<n> (k permits of n, or a lock
 *                                                         without fences), meet/<n> (n at a barrier), await/<n> (n arrivals at a latch)
 *     got  <hold> <status name> <fence> <token> <valid until, ns>   what came of it; the last three are "0 - 0" unless it is OK.
 *                                                         Permits have the fence 0. Who met, or awaited, has nothing: "0 - 0"
 *     trade <hold> <new hold> <need>                      the hold is about to become another one, without giving it up; what comes of it
 *                                                         is "got". Unless that is OK the first one goes on as it was
 *     wait <hold> <new hold> <need>                       likewise, but it is given up in between: its owner waits for a condition. With
 *                                                         CANCELED the first one was not given up, and goes on as it was
 *     look <hold> <valid until, ns>                       it is held, for so long at least; 0: leash_lock_held() says that it is not (what
 *                                                         remains is 0 ms for the last millisecond of a lease too)
 *     give <hold>                                         the release that ends it is about to be called
 *     gave <hold> <status name>
 *     lost <lock> <fence> [<hold>]                        LEASH_EVENT_LOST came; other events likewise. The hold, where several may
 *     event <type name> <lock, or -> <fence> [<hold>]     have one fence, is as it was asked for, or what became of it by trades
 *     wrote <hold> <lock> <fence> <taken|refused>         what the fenced register said to a write (register.h)
 *     arrive <latch>/<party>                              it is about to arrive at a latch
 *     leads <lock> <fence> <token> <name>/<hold>          it was told who leads, by what that one proclaimed: as whom, and by which hold.
 *                                                         The fence is that which its token had first
 *     still <ms>                                          this process stood still for so long, ending now: by its pulse, a thread that
 *                                                         sleeps 10 ms over and over
 *     end                                                 it closed its client and ends in good order: nothing follows but, perhaps, a
 *                                                         last "still"
 *
 * By the nemesis:
 *
 *     seed <n>
 *     fault <name> <words>      something was done, or begins
 *     over  <name>              ... and ended
 *     killed <pid>              it has gone: what it held or asked for nobody will complete
 *     frozen <pid>, thawed <pid>
 *     breach <why>              from now on until "mended" keys of locks may be lost, or expire early, by the nemesis's own doing.
 *     mended                    A hold that was valid at some moment of that time is not promised to anybody; all later ones are again.
 *                               Fences must grow all the same; but a token of that time may be handed on within its process for
 *                               a while, and is of that time whoever has it
 *     breach emptied            the same, but weaker: the server loses all its data, and those who use it grant nothing for so long
 *                               as a lease may last (restart_guard_ms). What was held is told lost, whatever its valid-until, but
 *                               until then nobody else has it: exclusion is promised all the same
 *
 * By the one who watches the server (MONITOR, KEYS):
 *
 *     renew <token> [late]      a renewal was executed, be it that it found nothing to renew. "late": it may have been sent long before,
 *                               by what the nemesis does to the server or to networks
 *     endless <key>             a key of leash without a TTL
 *     left <key>                a key other than a fence, when all was over and a lease had passed */
#pragma once

#include "tests/support/await.h"

#include <stdint.h>

struct history;

struct history *history_open(const char *folder, const char *name);   /* creates the file; a file that is there is trouble */
void history_close(struct history *history);                          /* NULL is allowed */

/* Append a line, with the present time, or with one that was read before. Threads: any. */
#define history_note(history, ...) history_note_at((history), await_now_ns(), __VA_ARGS__)
void history_note_at(struct history *history, int64_t ns, const char *format, ...) __attribute__((format(printf, 3, 4)));
