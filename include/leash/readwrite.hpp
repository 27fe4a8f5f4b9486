/* A read-write lock as one object for reading and writing. */
#ifndef LEASH_READWRITE_HPP
#define LEASH_READWRITE_HPP

#include <leash/lock.hpp>
#include <leash/readwrite.h>

#include <chrono>
#include <shared_mutex>
#include <string_view>
#include <utility>

namespace leash {

/**
 * A read-write lock: a handle that reads and one that writes, in one object. Lockable, TimedLockable, SharedLockable
 * and SharedTimedLockable: std::shared_lock reads, std::unique_lock writes.
 *
 *     leash::read_write_lock config(client, "config");
 *     std::shared_lock reader(config);
 *
 * leash/readwrite.h says who comes in when, and what may be nested. A thread that reads and then locks to write is
 * refused (LEASH_DEADLOCK). A thread that writes may also read.
 */
class read_write_lock {
public:
	/** The lock called `name`; throws what make() returns. Since 0.1. */
	read_write_lock(client &from, std::string_view name, const lock_options &options = lock_options())
	    : read_write_lock(make(from, name, options).value())
	{
	}

	/** Make one, as leash_lock_new() for both modes; the `mode` of `options` is ignored. Since 0.1. */
	static result<read_write_lock>
	make(client &from, std::string_view name, lock_options options = lock_options()) noexcept
	{
		result<lock_handle> reads = lock_handle::make(from, name, options.mode(LEASH_READ));

		if (!reads)
			return reads.error();
		result<lock_handle> writes = lock_handle::make(from, name, options.mode(LEASH_WRITE));
		if (!writes)
			return writes.error();
		return read_write_lock(*std::move(reads), *std::move(writes));
	}

	/** The handle that reads, with its acquire(), release(), held(), fence() and so on. Since 0.1. */
	lock_handle &reads() noexcept { return reads_; }
	const lock_handle &reads() const noexcept { return reads_; }

	/** The handle that writes. Since 0.1. */
	lock_handle &writes() noexcept { return writes_; }
	const lock_handle &writes() const noexcept { return writes_; }

	/* As writes(), for std::unique_lock. */
	void lock() { writes_.lock(); }
	bool try_lock() { return writes_.try_lock(); }
	template <class Time> bool try_lock_for(const Time &time) { return writes_.try_lock_for(time); }
	template <class Time> bool try_lock_until(const Time &when) { return writes_.try_lock_until(when); }
	void unlock() noexcept { writes_.unlock(); }

	/* As reads(), for std::shared_lock. */
	void lock_shared() { reads_.lock(); }
	bool try_lock_shared() { return reads_.try_lock(); }
	template <class Time> bool try_lock_shared_for(const Time &time) { return reads_.try_lock_for(time); }
	template <class Time> bool try_lock_shared_until(const Time &when) { return reads_.try_lock_until(when); }
	void unlock_shared() noexcept { reads_.unlock(); }

	/**
	 * Go from reading to writing, at once, if no other owner reads it; as leash_lock_upgrade(). A std::unique_lock can
	 * take it over with std::adopt_lock, beside the std::shared_lock that exists.
	 *
	 * @return LEASH_TIMEOUT if others read it; the calling thread then still reads.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> upgrade() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_lock_upgrade(writes_.get(), err); });
	}

private:
	read_write_lock(lock_handle &&reads, lock_handle &&writes) noexcept
	    : reads_(std::move(reads)), writes_(std::move(writes))
	{
	}

	lock_handle reads_, writes_;
};

/** leash::release(guard) for a guard that writes. Since 0.1. */
inline result<void> release(std::unique_lock<read_write_lock> &guard) noexcept
{
	if (!guard.owns_lock())
		return detail::guard_has_none();
	return guard.release()->writes().release();
}

/** leash::release(guard) for a guard that reads. Since 0.1. */
inline result<void> release(std::shared_lock<read_write_lock> &guard) noexcept
{
	if (!guard.owns_lock())
		return detail::guard_has_none();
	return guard.release()->reads().release();
}

} // namespace leash

#endif
