/* How a lock behaves, and how it is acquired: options in any order. */
#ifndef LEASH_LOCK_OPTIONS_HPP
#define LEASH_LOCK_OPTIONS_HPP

#include <leash/cancel.hpp>
#include <leash/event.hpp>
#include <leash/lock.h>
#include <leash/owner.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace leash {

/**
 * How a lock behaves: a leash_lock_options. Each field is set by a call of its name (without `_ms`), in any order.
 *
 *     leash::lock orders(client, "orders", leash::lock_options().fair().lease(10s));
 *
 * A field that is not set, or a time or a number of 0, means the default. A value out of range is refused when a lock
 * is made with these options: LEASH_INVALID. Since 0.1.
 */
class lock_options {
public:
	lock_options &lease(duration time) noexcept { return options_.lease_ms = time.ms(), *this; }
	lock_options &max_hold(duration time) noexcept { return options_.max_hold_ms = time.ms(), *this; }
	lock_options &alive(duration time) noexcept { return options_.alive_ms = time.ms(), *this; }
	lock_options &restart_guard(duration time) noexcept { return options_.restart_guard_ms = time.ms(), *this; }
	lock_options &handoff(duration time) noexcept { return options_.handoff_ms = time.ms(), *this; }
	lock_options &replicas(duration time) noexcept { return options_.replicas_ms = time.ms(), *this; }

	lock_options &no_renew(bool on = true) noexcept { return options_.no_renew = on, *this; }
	lock_options &fair(bool on = true) noexcept { return options_.fair = on, *this; }
	lock_options &no_handoff(bool on = true) noexcept { return options_.no_handoff = on, *this; }
	lock_options &fsynced(bool on = true) noexcept { return options_.fsynced = on, *this; }
	lock_options &release_nowait(bool on = true) noexcept { return options_.release_nowait = on, *this; }
	lock_options &mode(leash_mode value) noexcept { return options_.mode = value, *this; }
	lock_options &handoffs(std::int64_t count) noexcept { return options_.handoffs = count, *this; }
	lock_options &min_replicas(std::int64_t count) noexcept { return options_.min_replicas = count, *this; }

	/** Times are also counted under this name; the text must live until the lock is made. */
	lock_options &group(const char *name) noexcept { return options_.group = name, *this; }

	/** The owner for whom calls through the lock are made; it must outlive them. */
	lock_options &owner(const leash::owner &value) noexcept { return options_.owner = value.get(), *this; }

	/** Fired when a hold through the lock is lost; may be destroyed before the lock. */
	lock_options &on_lost(const leash::cancel &value) noexcept { return options_.on_lost = value.get(), *this; }

	/** Events of holds through the lock; see event_function for the thread, and for how long it is kept. */
	lock_options &on_event(event_function function)
	{
		return on_event_ = std::make_shared<event_function>(std::move(function)), *this;
	}

private:
	friend class lock_handle;
	friend class semaphore;

	/* Valid as long as this object exists and is not changed. */
	leash_lock_options c() const noexcept
	{
		leash_lock_options all = options_;

		if (on_event_ != nullptr && *on_event_) {
			all.on_event = detail::tell_event;
			all.event_arg = on_event_.get();
		}
		return all;
	}

	leash_lock_options options_ = detail::sized<leash_lock_options>();
	std::shared_ptr<event_function> on_event_;
};

/**
 * How to acquire: a leash_acquire, in any order. A plain time is enough: `orders.acquire(5s)` waits for up to 5 s.
 *
 *     orders.acquire(leash::acquire_options(5s).cancel(stop).lease(2s))
 *
 * Since 0.1.
 */
class acquire_options {
public:
	/** Try once. */
	acquire_options() noexcept = default;

	/** Wait for at most this long; leash::forever means without limit; 0 or less tries once. */
	template <class Rep, class Period> acquire_options(const std::chrono::duration<Rep, Period> &time) noexcept
	{
		wait(time);
	}

	acquire_options &wait(duration time) noexcept { return how_.wait_ms = time.wait_ms(), *this; }

	/** The lease of this hold. */
	acquire_options &lease(duration time) noexcept { return how_.lease_ms = time.ms(), *this; }

	/** Fire it to end the wait; it must outlive the call. */
	acquire_options &cancel(const leash::cancel &value) noexcept { return how_.cancel = value.get(), *this; }

	/** The C struct, for calls of leash.h. */
	const leash_acquire *get() const noexcept { return &how_; }

private:
	leash_acquire how_ = detail::sized<leash_acquire>();
};

} // namespace leash

#endif
