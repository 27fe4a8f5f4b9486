/**
 * leash for C++17 and later: the calls of leash.h as objects that release what they hold, with the guards and the times
 * of the standard library.
 *
 *     leash::client client; // $LEASH_URI, else redis://127.0.0.1:6379
 *     leash::lock orders(client, "orders");
 *     std::unique_lock guard(orders, 5s);
 *
 * It is header only; a program links with libleash, as in C. docs/cpp.md is the tour, and each call is documented where
 * it is declared. For what a class here does not offer, use leash.h: get() of each object returns the C handle (of a
 * read_write_lock: get() of reads() and writes()). Each class except the client and the read_write_lock can also be
 * made of such a handle, which it then frees.
 *
 * - **Errors.** A function with a name of the standard library (a constructor, lock(), wait_for(), count_down(), ...)
 *   throws leash::error. A function with a name of leash's own (open(), make(), acquire(), release(), await(), ...)
 *   throws nothing and returns a leash::result, which must be checked. See leash/error.hpp.
 * - **Times** are std::chrono durations of any unit. leash counts whole milliseconds and rounds up.
 * - **Ends.** A destructor never throws. Objects can be moved, but not copied. A moved-from object has nothing: its
 *   calls return LEASH_INVALID, or that nothing is held. Do not move or destroy an object that another thread uses, or
 *   that a guard refers to.
 * - **Threads** are as with the call of leash.h that is named. A function that copies an option may also throw
 *   std::bad_alloc.
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
