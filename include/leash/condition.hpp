/* A condition of a lock as an object. */
#ifndef LEASH_CONDITION_HPP
#define LEASH_CONDITION_HPP

#include <leash/condition.h>
#include <leash/error.hpp>
#include <leash/lock.hpp>
#include <leash/lock_options.hpp>
#include <leash/text.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace leash {

/** How a condition waits: a leash_condition_options, in any order. A field that is not set, or 0, means the default. */
class condition_options {
public:
	condition_options &recheck(duration time) noexcept { return options_.recheck_ms = time.ms(), *this; }
	condition_options &reacquire(duration time) noexcept { return options_.reacquire_ms = time.ms(), *this; }

private:
	friend class condition;

	leash_condition_options options_ = detail::sized<leash_condition_options>();
};

/**
 * A leash_condition, across all machines, with the names of std::condition_variable_any. It knows its lock, so it takes
 * no guard; the waiter holds the lock.
 *
 *     leash::condition not_empty(orders, "not empty");
 *     std::unique_lock guard(orders);
 *     not_empty.wait([&] { return !queue_is_empty(); });
 *
 * After a wait the lock is held, at the same depth as before. If it was released meanwhile, the hold has a larger
 * fence. But a wait that throws, or returns an error other than LEASH_TIMEOUT and LEASH_CANCELED, leaves the lock NOT
 * held, and there is nothing to release. (With LEASH_INVALID, LEASH_FORKED and LEASH_IN_CALLBACK nothing was done.)
 *
 * A guard does not know that its lock is gone. Normally its end does no harm. But if the thread has locked again by
 * then, the guard releases that lock. So call guard.unlock(), which then releases nothing, before the thread locks
 * again.
 *
 * The lock must not be destroyed before the condition, but may be moved.
 */
class condition {
public:
	/** The condition `name` of `of`; throws what make() returns. For a read_write_lock pass writes(). Since 0.1. */
	condition(lock_handle &of, std::string_view name, const condition_options &options = condition_options())
	    : condition(make(of, name, options).value())
	{
	}

	/** Make one, as leash_condition_new(). LEASH_INVALID also for a name with a NUL byte in it. Since 0.1. */
	static result<condition>
	make(lock_handle &of, std::string_view name, const condition_options &options = condition_options()) noexcept
	{
		return detail::named<condition, leash_condition>(
		    name, [&](leash_condition **out, const char *text, leash_error *err) {
			    return leash_condition_new(out, of.get(), text, &options.options_, err);
		    });
	}

	/**
	 * Release the lock, wait for a signal, and acquire the lock again: await(5s), or with a cancel
	 * await(leash::acquire_options(5s).cancel(stop)). A wait may end without a signal, so check again.
	 *
	 * @return as leash_condition_wait_with(): with LEASH_TIMEOUT and LEASH_CANCELED the lock is held, too.
	 *
	 * Threads: the one that acquired, or any that acts for the `owner`; not from a leash callback. Since 0.1.
	 */
	result<void> await(const acquire_options &how) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_condition_wait_with(get(), how.get(), err); });
	}

	/**
	 * Wait until `is_so()`. It is called while the lock is held: at first, after each signal, and at the end. It may
	 * throw; the lock is held then.
	 *
	 * @return LEASH_OK if `is_so()`; LEASH_TIMEOUT or LEASH_CANCELED if it was still false at the end. Otherwise as
	 *         await(how).
	 *
	 * Threads: as await(how). Since 0.1.
	 */
	template <class Predicate> result<void> await(acquire_options how, Predicate is_so)
	{
		const auto begin = std::chrono::steady_clock::now();
		const std::int64_t wait_ms = how.get()->wait_ms;

		while (!is_so()) {
			const result<void> waited = await(how);

			if (!waited)
				return is_held_after(waited.status()) && is_so() ? result<void>() : waited;
			if (wait_ms != LEASH_FOREVER)
				how.wait(std::chrono::milliseconds(wait_ms) - passed_since(begin));
		}
		return {};
	}

	/** Wake the waiter that has waited longest, if there is one; as leash_condition_signal(). Threads: any; not from a
	 * leash callback. Since 0.1. */
	result<void> signal() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_condition_signal(get(), err); });
	}

	/** Wake all waiters; as leash_condition_broadcast(). Threads: as signal(). Since 0.1. */
	result<void> broadcast() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_condition_broadcast(get(), err); });
	}

	/* The members of std::condition_variable_any, without the guard. They throw leash::error. Threads: as await() and
	 * signal(). Since 0.1. */

	/** signal(). */
	void notify_one() { signal().value(); }

	/** broadcast(). */
	void notify_all() { broadcast().value(); }

	/** await(leash::forever); check again, in a loop. */
	void wait() { await(forever).value(); }

	/** Wait until `is_so()`. */
	template <class Predicate> void wait(Predicate is_so) { await(forever, std::move(is_so)).value(); }

	/** await(time); check again, whatever it returns. */
	template <class Rep, class Period> std::cv_status wait_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::in_time(await(time)) ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	/** Wait until `is_so()`, for up to `time`. Returns false if it is still not so. */
	template <class Rep, class Period, class Predicate>
	bool wait_for(const std::chrono::duration<Rep, Period> &time, Predicate is_so)
	{
		return detail::in_time(await(time, std::move(is_so)));
	}

	/** Wait until `Clock`, any clock, is at `when`. The clock is read before and after each wait. */
	template <class Clock, class Duration>
	std::cv_status wait_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		const auto now = Clock::now();
		const bool in_time = detail::in_time(now < when ? await(when - now) : await({}));

		return in_time || Clock::now() < when ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	/** Wait until `is_so()`, or until `Clock` is at `when`. Returns false if it is still not so. */
	template <class Clock, class Duration, class Predicate>
	bool wait_until(const std::chrono::time_point<Clock, Duration> &when, Predicate is_so)
	{
		while (!is_so())
			if (wait_until(when) == std::cv_status::timeout)
				return is_so();
		return true;
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_condition *get() const noexcept { return condition_.get(); }

	explicit condition(leash_condition *handle) noexcept : condition_(handle) {}

private:
	static bool is_held_after(leash_status status) noexcept
	{
		return status == LEASH_TIMEOUT || status == LEASH_CANCELED;
	}

	static std::chrono::milliseconds passed_since(std::chrono::steady_clock::time_point begin) noexcept
	{
		return std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
	}

	std::unique_ptr<leash_condition, detail::freed_by<leash_condition_free>> condition_;
};

} // namespace leash

#endif
