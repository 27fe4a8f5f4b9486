/* What all kinds of locks offer to the guards of the standard library. */
#ifndef LEASH_LOCKABLE_HPP
#define LEASH_LOCKABLE_HPP

#include <leash/error.hpp>
#include <leash/lock_options.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <mutex>

namespace leash {

/**
 * Lockable and TimedLockable, made of the acquire() and release() of `Lock`: for std::unique_lock, std::lock_guard and
 * std::scoped_lock. It nests, like a std::recursive_timed_mutex.
 *
 * For several locks, std::scoped_lock and std::lock try each lock, release, and retry. Each try is a round trip to the
 * server for each lock, and has no place in a queue. That never deadlocks. A leash::multi never deadlocks either; it
 * takes one round trip if all locks are free, and waits in queues.
 */
template <class Lock> class lockable {
public:
	/**
	 * Wait for the lock forever, also for a server that is away. Throws leash::error if it is not held, with the
	 * reason. Threads: any; not from a leash callback. Since 0.1.
	 */
	void lock() { self().acquire(forever).value(); }

	/** Try once. Returns false if another owner has it. Throws leash::error for anything else. Threads: as lock().
	 * Since 0.1. */
	bool try_lock() { return detail::in_time(self().acquire({})); }

	/**
	 * Wait for up to `time`, rounded up to milliseconds; 0 or less tries once. Returns false if another owner had it to
	 * the end. Throws leash::error for anything else, also if the server could not be asked in time
	 * (LEASH_UNAVAILABLE).
	 *
	 * Threads: as lock(). Since 0.1.
	 */
	template <class Rep, class Period> bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::in_time(self().acquire(time));
	}

	/**
	 * The same until `Clock`, any clock, is at `when`. The clock is read before and after each wait: if it is set back
	 * during a wait, the wait gets longer; if it is set forward, the wait does not get shorter.
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
	 * Undo one lock(), whether that succeeds or not. It throws nothing, because guards call it in their destructors.
	 *
	 * If the lock was lost meanwhile, there is nothing left to do, and a new owner's lock is not touched. If the server
	 * does not answer, the lock is free when its lease ends, or earlier if the server answers before. If you must know
	 * the result (LEASH_LOST: another owner may have worked meanwhile), call release(), or leash::release() of the
	 * guard, before the guard ends.
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
 * Unlock what `guard` holds, and return the result, which guard.unlock() does not: leash::release(guard). Afterwards
 * the guard holds nothing, whatever the result is.
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
