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

/** How a condition waits: a leash_condition_options, in any order. What is not named, and 0, is the default. */
class condition_options {
public:
	condition_options &recheck(duration time) noexcept { return options_.recheck_ms = time.ms(), *this; }
	condition_options &reacquire(duration time) noexcept { return options_.reacquire_ms = time.ms(), *this; }

private:
	friend class condition;

	leash_condition_options options_ = detail::sized<leash_condition_options>();
};

/**
 * A leash_condition, over all machines, with the words of std::condition_variable_any. It knows its lock, so no guard
 * is handed to it; who waits holds the lock.
 *
 *     leash::condition not_empty(orders, "not empty");
 *     std::unique_lock guard(orders);
 *     not_empty.wait([&] { return !queue_is_empty(); });
 *
 * After a wait the lock is held, as deep as before; if it was given up meanwhile, with a larger fence. But a wait that
 * throws, or returns another error than LEASH_TIMEOUT and LEASH_CANCELED, leaves it NOT held, and there is nothing to
 * release. (With LEASH_INVALID, LEASH_FORKED and LEASH_IN_CALLBACK nothing was done.)
 *
 * A guard does not know that its lock is gone. Its end does no harm; but if the thread locked again by then, that is
 * what it releases. So call guard.unlock(), which releases nothing, before the thread locks again.
 *
 * The lock must not be destroyed before the condition, but may be moved.
 */
class condition {
public:
	/** The condition `name` of `of`; throws what make() returns. Of a read_write_lock take writes(). Since 0.1. */
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
	 * Give the lock up, wait for a signal, and acquire it again: await(5s), or with a cancel
	 * await(leash::acquire_options(5s).cancel(stop)). It may end without a signal, so look again.
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
	 * Wait until `is_so()`, which is asked while the lock is held: at first, after each signal, and at the end. It may
	 * throw; the lock is held then.
	 *
	 * @return LEASH_OK if it is so; LEASH_TIMEOUT or LEASH_CANCELED if it was not by the end. All else as await(how).
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

	/** Wake who has waited longest, if anybody waits; as leash_condition_signal(). Threads: any; not from a leash
	 * callback. Since 0.1. */
	result<void> signal() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_condition_signal(get(), err); });
	}

	/** Wake all who wait; as leash_condition_broadcast(). Threads: as signal(). Since 0.1. */
	result<void> broadcast() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_condition_broadcast(get(), err); });
	}

	/* What a std::condition_variable_any has, without the guard. They throw leash::error. Threads: as await() and
	 * signal(). Since 0.1. */

	/** signal(). */
	void notify_one() { signal().value(); }

	/** broadcast(). */
	void notify_all() { broadcast().value(); }

	/** await(leash::forever); look again, in a loop. */
	void wait() { await(forever).value(); }

	/** Until `is_so()`. */
	template <class Predicate> void wait(Predicate is_so) { await(forever, std::move(is_so)).value(); }

	/** await(time); look again, whatever it returns. */
	template <class Rep, class Period> std::cv_status wait_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::in_time(await(time)) ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	/** Until `is_so()`, for up to `time`. False: it is not so. */
	template <class Rep, class Period, class Predicate>
	bool wait_for(const std::chrono::duration<Rep, Period> &time, Predicate is_so)
	{
		return detail::in_time(await(time, std::move(is_so)));
	}

	/** Likewise until `Clock`, any clock, is at `when`. It is looked at before and after each wait. */
	template <class Clock, class Duration>
	std::cv_status wait_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		const auto now = Clock::now();
		const bool in_time = detail::in_time(now < when ? await(when - now) : await({}));

		return in_time || Clock::now() < when ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	/** Until `is_so()`, or `Clock` is at `when`. False: it is not so. */
	template <class Clock, class Duration, class Predicate>
	bool wait_until(const std::chrono::time_point<Clock, Duration> &when, Predicate is_so)
	{
		while (!is_so())
			if (wait_until(when) == std::cv_status::timeout)
				return is_so();
		return true;
	}

	/** For calls of leash.h; stays this object's. */
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
