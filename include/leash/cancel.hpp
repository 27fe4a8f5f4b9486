/* A switch that ends waits, as an object. */
#ifndef LEASH_CANCEL_HPP
#define LEASH_CANCEL_HPP

#include <leash/cancel.h>
#include <leash/error.hpp>

#include <memory>

namespace leash {

/** A leash_cancel: pass it to acquires with acquire_options::cancel(). It must outlive those that use it. */
class cancel {
public:
	/** A switch that has not been fired; throws what make() returns. Since 0.1. */
	cancel() : cancel(make().value()) {}

	/** As leash_cancel_new(). Since 0.1. */
	static result<cancel> make() noexcept
	{
		return detail::made<cancel, leash_cancel>(leash_cancel_new);
	}

	/** End all waits with it, now and later, with LEASH_CANCELED; as leash_cancel_fire(), also in a signal handler. */
	void fire() noexcept { leash_cancel_fire(get()); }

	/** Has it been fired? Also in a signal handler. */
	bool is_fired() const noexcept { return leash_cancel_is_fired(get()); }

	/** A descriptor that is readable while it is fired, for poll(); this object keeps it. As leash_cancel_fd(). */
	result<int> fd() noexcept
	{
		return detail::told<int>([&](int *out, leash_error *err) { return leash_cancel_fd(get(), out, err); });
	}

	/** Undo a fire, so that it can be fired again; as leash_cancel_reset(). */
	void reset() noexcept { leash_cancel_reset(get()); }

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_cancel *get() const noexcept { return cancel_.get(); }

	explicit cancel(leash_cancel *handle) noexcept : cancel_(handle) {}

private:
	std::unique_ptr<leash_cancel, detail::freed_by<leash_cancel_free>> cancel_;
};

} // namespace leash

#endif
