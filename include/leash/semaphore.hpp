/* The semaphore and its permits as objects. */
#ifndef LEASH_SEMAPHORE_HPP
#define LEASH_SEMAPHORE_HPP

#include <leash/lock.hpp>
#include <leash/semaphore.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace leash {

/**
 * A leash_permit: one or several permits that were acquired together. Any thread may use and release them, one at a
 * time.
 *
 * The destructor gives them back, whether that succeeds or not. Permits that were lost belong to others already; if the
 * server does not answer, the permits are free when their lease ends. If you must know the result, call release()
 * before.
 */
class permit {
public:
	/** No permits; assign some to it. Since 0.1. */
	permit() noexcept = default;

	/**
	 * Give them back, and return the result, as leash_permit_release(): LEASH_LOST if they had been lost. The object
	 * then has no permits, whatever the result is, except LEASH_IN_CALLBACK.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> release() noexcept
	{
		const result<void> found =
		    detail::done([&](leash_error *err) { return leash_permit_release(get(), err); });

		if (found.status() != LEASH_IN_CALLBACK)
			static_cast<void>(permit_.release()); /* freed by that */
		return found;
	}

	/** Give back `count` of them, which must be fewer than it has; as leash_permit_release_some(). Since 0.1. */
	result<void> release_some(std::int64_t count) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_permit_release_some(get(), count, err); });
	}

	/** Make sure that their lease lasts at least `lease` from now; as leash_permit_extend(). Since 0.1. */
	result<void> extend(duration lease) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_permit_extend(get(), lease.ms(), err); });
	}

	/** Are they held, and is their lease still valid? This and the next five read memory only, by any thread. Since
	 * 0.1. */
	bool held() const noexcept { return leash_permit_held(get()); }

	/** For how long they are valid without another renewal; 0: not held. Since 0.1. */
	std::chrono::milliseconds remaining() const noexcept
	{
		return std::chrono::milliseconds(leash_permit_remaining_ms(get()));
	}

	/** How many permits it has; 0: none. Since 0.1. */
	std::int64_t count() const noexcept { return leash_permit_count(get()); }

	/** Their token, with which another process can adopt them; empty: not held. Since 0.1. */
	std::string token() const { return detail::token(get(), leash_permit_token); }

	/** Tell the watchdog that the work is making progress; see lock_options::alive(). Since 0.1. */
	void alive() noexcept { leash_permit_alive(get()); }

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_permit *get() const noexcept { return permit_.get(); }

	/** Takes over permits that a call of leash.h acquired, such as leash_semaphore_adopt(). Since 0.1. */
	explicit permit(leash_permit *handle) noexcept : permit_(handle) {}

private:
	struct gives_back {
		void operator()(leash_permit *permit) const noexcept { leash_permit_release(permit, nullptr); }
	};

	std::unique_ptr<leash_permit, gives_back> permit_;
};

/**
 * A leash_semaphore: at most `limit` permits are out at once, across all machines.
 *
 *     leash::semaphore cards(client, "graphics cards", 3);
 *     leash::permit card = cards.acquire(leash::forever).value();
 */
class semaphore {
public:
	/** A handle of the semaphore called `name`; throws what make() returns. Since 0.1. */
	semaphore(client &from, std::string_view name, std::int64_t limit, const lock_options &options = lock_options())
	    : semaphore(make(from, name, limit, options).value())
	{
	}

	/** Make one, as leash_semaphore_new(). LEASH_INVALID also for a name with a NUL byte in it. Since 0.1. */
	static result<semaphore>
	make(client &from, std::string_view name, std::int64_t limit, const lock_options &options = lock_options()) noexcept
	try {
		const leash_lock_options all = options.c();

		from.keep(options.on_event_);
		return detail::named<semaphore, leash_semaphore>(
		    name, [&](leash_semaphore **out, const char *text, leash_error *err) {
			    return leash_semaphore_new(out, from.get(), text, limit, &all, err);
		    });
	} catch (const std::bad_alloc &) {
		return detail::why_not(LEASH_NO_MEMORY, "out of memory for a semaphore");
	}

	/**
	 * Acquire `count` permits, all or none; as leash_semaphore_acquire_with(): LEASH_TIMEOUT if too many were out until
	 * the end.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<permit> acquire(const acquire_options &how, std::int64_t count = 1) noexcept
	{
		return detail::made<permit, leash_permit>([&](leash_permit **out, leash_error *err) {
			return leash_semaphore_acquire_with(get(), count, how.get(), out, err);
		});
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_semaphore *get() const noexcept { return semaphore_.get(); }

	explicit semaphore(leash_semaphore *handle) noexcept : semaphore_(handle) {}

private:
	std::unique_ptr<leash_semaphore, detail::freed_by<leash_semaphore_free>> semaphore_;
};

} // namespace leash

#endif
