/* The lock as an object. */
#ifndef LEASH_LOCK_HPP
#define LEASH_LOCK_HPP

#include <leash/client.hpp>
#include <leash/error.hpp>
#include <leash/leader.h>
#include <leash/lock.h>
#include <leash/lock_options.hpp>
#include <leash/lockable.hpp>
#include <leash/text.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace leash {

/**
 * A leash_lock: this program's view of one lock. Any number of threads may share one. A hold is owned by the thread
 * that acquired it, or by the `owner` of its options.
 *
 *     leash::lock orders(client, "orders");
 *     std::unique_lock guard(orders, 5s);  // for up to 5 s
 *     if (!guard)
 *             ...                          // another owner had it to the end
 *     write(orders.fence(), ...);          // the resource refuses a smaller fence than it has seen
 *     leash::release(guard).value();       // throws if it was lost meanwhile
 *
 * The destructor frees the handle, as leash_lock_free(). What another handle of the name holds is not released.
 *
 * Use it as leash::lock. The class has another name because C++ takes a member with the name of its class for a
 * constructor.
 */
class lock_handle : public lockable<lock_handle> {
public:
	/** A handle for the lock called `name`; throws what make() returns. Since 0.1. */
	lock_handle(client &from, std::string_view name, const lock_options &options = lock_options())
	    : lock_handle(make(from, name, options).value())
	{
	}

	/** Make one, as leash_lock_new(); sends nothing. LEASH_INVALID also for a NUL byte in the name. Since 0.1. */
	static result<lock_handle>
	make(client &from, std::string_view name, const lock_options &options = lock_options()) noexcept
	try {
		const leash_lock_options all = options.c();

		from.keep(options.on_event_);
		return detail::named<lock_handle, leash_lock>(name, [&](leash_lock **out, const char *text, leash_error *err) {
			return leash_lock_new(out, from.get(), text, &all, err);
		});
	} catch (const std::bad_alloc &) {
		return detail::why_not(LEASH_NO_MEMORY, "out of memory for a lock");
	}

	/**
	 * Acquire it: acquire(5s), acquire(leash::forever), acquire(leash::acquire_options(5s).cancel(stop)). A guard can
	 * then take it over with std::adopt_lock.
	 *
	 * @return as leash_lock_acquire_with(): LEASH_TIMEOUT if another owner had it to the end.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> acquire(const acquire_options &how) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_lock_acquire_with(get(), how.get(), err); });
	}

	/**
	 * Undo one acquire, and return the result, as leash_lock_release(): LEASH_LOST if another owner may have held the
	 * lock meanwhile. Whatever the result is, there is one acquire less to undo.
	 *
	 * Threads: the one that acquired, or any that acts for the `owner`; not from a leash callback. Since 0.1.
	 */
	result<void> release() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_lock_release(get(), err); });
	}

	/** The same, but wait for the answer at most `time`, and with 0 not at all: leash_lock_release_within(). Threads:
	 * as release(). Since 0.1. */
	result<void> release_within(duration time) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_lock_release_within(get(), time.ms(), err); });
	}

	/** Make sure that the lease lasts at least `lease` from now; as leash_lock_extend(). Since 0.1. */
	result<void> extend(duration lease) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_lock_extend(get(), lease.ms(), err); });
	}

	/**
	 * Let all watchers of the leader know `value`, such as an address; as leash_lock_proclaim(). See leash::watch.
	 * LEASH_INVALID also for a NUL byte in it.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> proclaim(std::string_view value) noexcept
	{
		const detail::c_text<LEASH_VALUE_MAX> text(value);

		if (!text.is_whole())
			return detail::not_whole("a value");
		return detail::done([&](leash_error *err) { return leash_lock_proclaim(get(), text.get(), err); });
	}

	/** Does the calling thread hold it, and is the lease still valid? As leash_lock_held(). This and the next five read
	 * memory only; any thread may call them, also in callbacks. Since 0.1. */
	bool held() const noexcept { return leash_lock_held(get()); }

	/** For how long it is valid without another renewal; 0: not held. Since 0.1. */
	std::chrono::milliseconds remaining() const noexcept
	{
		return std::chrono::milliseconds(leash_lock_remaining_ms(get()));
	}

	/** How deep the calling thread has nested it; a lost hold counts until it is released. Since 0.1. */
	unsigned depth() const noexcept { return leash_lock_depth(get()); }

	/** The fence of the hold, to hand to the resource; 0: not held. Since 0.1. */
	std::uint64_t fence() const noexcept { return leash_lock_fence(get()); }

	/** The owner token of the hold, with which another process can adopt it; empty: not held. Since 0.1. */
	std::string token() const { return detail::token(get(), leash_lock_token); }

	/** Tell the watchdog that the work is making progress; see lock_options::alive(). Since 0.1. */
	void alive() noexcept { leash_lock_alive(get()); }

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_lock *get() const noexcept { return lock_.get(); }

	explicit lock_handle(leash_lock *handle) noexcept : lock_(handle) {}

private:
	std::unique_ptr<leash_lock, detail::freed_by<leash_lock_free>> lock_;
};

/** See lock_handle. */
using lock = lock_handle;

} // namespace leash

#endif
