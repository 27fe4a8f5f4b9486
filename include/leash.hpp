/**
 * leash for C++17 and later: what leash.h has, with objects that give back what they have, the standard's guards and
 * times.
 *
 *     leash::client client; // $LEASH_URI, else redis://127.0.0.1:6379
 *     leash::lock orders(client, "orders");
 *     std::unique_lock guard(orders, 5s);
 *
 * Header only; a program links with libleash, as one in C does. docs/cpp.md is the tour, and the documentation of a
 * call stands where it is declared. What a class here does not have is in leash.h: get() of each yields the handle for
 * that (of a read_write_lock: of reads() and writes()). And each but the client and the read_write_lock can be made of
 * such a handle, which it frees then.
 *
 * - **Errors.** What has a name of the standard library's (a constructor, lock(), wait_for(), count_down(), ...) throws
 *   leash::error. What has a name of leash's own (open(), make(), acquire(), release(), await(), ...) throws nothing
 *   and returns a leash::result, which must be looked at. See leash/error.hpp.
 * - **Times** are std::chrono's, of any unit. leash counts whole milliseconds, to which each is rounded up.
 * - **Ends.** A destructor never throws. Objects can be moved, and not be copied. One that was moved from has nothing;
 *   its calls answer LEASH_INVALID, or that nothing is held. Neither move nor destroy one that another thread uses, or
 *   that a guard refers to.
 * - **Threads** are as with the call of leash.h that is named; a function that is about the memory of an option may
 *   throw std::bad_alloc, too.
 */
#ifndef LEASH_HPP
#define LEASH_HPP

#include <leash.h>

#include <leash/error.hpp>
#include <leash/time.hpp>
#include <leash/event.hpp>
#include <leash/cancel.hpp>
#include <leash/client.hpp>
#include <leash/owner.hpp>
#include <leash/lock_options.hpp>
#include <leash/text.hpp>
#include <leash/lockable.hpp>
#include <leash/lock.hpp>
#include <leash/readwrite.hpp>
#include <leash/multi.hpp>
#include <leash/semaphore.hpp>
#include <leash/condition.hpp>
#include <leash/gate.hpp>
#include <leash/leader.hpp>

#endif
