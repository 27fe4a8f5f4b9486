/* What all kinds of locks have for the guards of the standard library. */
#ifndef LEASH_LOCKABLE_HPP
#define LEASH_LOCKABLE_HPP

#include <leash/error.hpp>
#include <leash/lock_options.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <mutex>

namespace leash {

/**
 * Lockable and TimedLockable, by the acquire() and release() of `Lock`: for std::unique_lock, std::lock_guard and
 * std::scoped_lock. It nests, as a std::recursive_timed_mutex.
 *
 * std::scoped_lock and std::lock of several locks try, give back and try again, which is a trip to the server for each
 * lock and each time, and nobody has a place in a queue while it is tried. That never deadlocks; a leash::multi does
 * not either, is one trip where all are free, and waits in queues.
 */
template <class Lock> class lockable {
public:
	/**
	 * Wait for the lock forever. Throws leash::error: not held, and why; a server that is away is waited for, too.
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	void lock() { self().acquire(forever).value(); }

	/** Try once. False: another owner has it. Throws leash::error for all else. Threads: as lock(). Since 0.1. */
	bool try_lock() { return detail::in_time(self().acquire({})); }

	/**
	 * Wait for up to `time`, rounded up to milliseconds; 0 and less tries once. False: another owner had it to the end.
	 * Throws leash::error for all else, a server that could not be asked in time (LEASH_UNAVAILABLE) among it.
	 *
	 * Threads: as lock(). Since 0.1.
	 */
	template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::in_time(self().acquire(time));
	}

	/**
	 * Likewise until `Clock`, any clock, is at `when`. It is looked at before and after each wait: one that is set back
	 * meanwhile makes the wait longer, and one that is set forward does not make it shorter.
	 *
	 * Threads: as lock(). Since 0.1.
	 */
	template <class Clock, class Duration> bool try_lock_until(const std::chrono::time_point<Clock, Duration> &when)
	{
		do {
			const auto now = Clock::now();

			if (now < when ? try_lock_for(when - now) : try_lock())
				return true;
		} while (Clock::now() < when);
		return false;
	}

	/**
	 * Undo one lock(), whether it succeeds or not: it throws nothing, as guards call it in their destructors.
	 *
	 * A lock that was lost meanwhile is none of theirs any more, so nothing is left to do: what another owner holds by
	 * now is not touched. One that the server could not be told of is free when its lease ends, and earlier if it can
	 * be told before. Who has to know what was found (LEASH_LOST: another owner may have worked meanwhile) calls
	 * release(), or leash::release() of the guard, before the guard ends.
	 *
	 * Threads: the one that locked; not from a leash callback, where it does nothing. Since 0.1.
	 */
	void unlock() noexcept { static_cast<void>(self().release()); }

protected:
	lockable() = default;
	lockable(lockable &&) noexcept = default;
	lockable &operator=(lockable &&) noexcept = default;
	~lockable() = default;

private:
	Lock &self() noexcept { return static_cast<Lock &>(*this); }
};

namespace detail {

inline leash_error guard_has_none() noexcept
{
	return why_not(LEASH_NOT_HELD, "the guard holds no lock");
}

} // namespace detail

/**
 * Unlock what `guard` holds, and say what was found, which guard.unlock() does not: leash::release(guard). The guard
 * has nothing any more then, whatever the result is.
 *
 * @return what release() of its lock returns; LEASH_NOT_HELD if the guard holds nothing.
 *
 * Threads: as release() of the lock. Since 0.1.
 */
template <class Lock> result<void> release(std::unique_lock<Lock> &guard) noexcept
{
	if (!guard.owns_lock())
		return detail::guard_has_none();
	return guard.release()->release();
}

} // namespace leash

#endif
