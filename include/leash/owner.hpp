/* An owner that is not a thread, as an object. */
#ifndef LEASH_OWNER_HPP
#define LEASH_OWNER_HPP

#include <leash/error.hpp>
#include <leash/owner.h>

#include <memory>

namespace leash {

/**
 * A leash_owner, for holds that move between threads: pass it to lock_options::owner(). A hold that one thread acquires
 * through such a lock may be released by another one. Only one thread at a time may use it.
 *
 * The destructor frees it, as leash_owner_free(): everything that it still holds is released in the background.
 */
class owner {
public:
	/** An owner that holds nothing; throws what make() returns. Since 0.1. */
	owner() : owner(make().value()) {}

	/** As leash_owner_new(). Since 0.1. */
	static result<owner> make() noexcept
	{
		return detail::made<owner, leash_owner>(leash_owner_new);
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_owner *get() const noexcept { return owner_.get(); }

	explicit owner(leash_owner *handle) noexcept : owner_(handle) {}

private:
	std::unique_ptr<leash_owner, detail::freed_by<leash_owner_free>> owner_;
};

} // namespace leash

#endif
