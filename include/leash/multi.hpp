/* A set of locks as an object. */
#ifndef LEASH_MULTI_HPP
#define LEASH_MULTI_HPP

#include <leash/lock.hpp>
#include <leash/multi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace leash {

/**
 * A leash_multi: all of its locks are acquired, or none, and never in a circle. It is Lockable and TimedLockable
 * itself.
 *
 *     leash::multi both({ann, bob});
 *     std::unique_lock guard(both, 5s);
 *
 * For several locks it is better than std::scoped_lock: one round trip if all are free, and a place in the queue of the
 * lock that it waits for. The locks must not be destroyed before the set, but may be moved.
 */
class multi : public lockable<multi> {
public:
	/** A set of {ann, bob}, or a std::vector of std::reference_wrapper; throws what make() returns. Since 0.1. */
	explicit multi(const std::vector<std::reference_wrapper<lock_handle>> &locks) : multi(make(locks).value()) {}

	/** Make one, as leash_multi_new(). Since 0.1. */
	static result<multi> make(const std::vector<std::reference_wrapper<lock_handle>> &locks) noexcept
	{
		std::array<leash_lock *, LEASH_MULTI_MAX> handles{};

		for (std::size_t i = 0; i < locks.size() && i < handles.size(); i++)
			handles[i] = locks[i].get().get();
		return detail::made<multi, leash_multi>([&](leash_multi **out, leash_error *err) {
			return leash_multi_new(out, handles.data(), locks.size(), err); /* which refuses too many unseen */
		});
	}

	/** Acquire all of them; as leash_multi_acquire_with(). Threads: any; not from a leash callback. Since 0.1. */
	result<void> acquire(const acquire_options &how) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_multi_acquire_with(get(), how.get(), err); });
	}

	/** Undo one acquire of each, and return the result; as leash_multi_release(). Since 0.1. */
	result<void> release() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_multi_release(get(), err); });
	}

	/** Does the calling thread hold all of them now? This and the next read memory only. Since 0.1. */
	bool held() const noexcept { return leash_multi_held(get()); }

	/** For how long all of them are valid without another renewal; 0: they are not all held. Since 0.1. */
	std::chrono::milliseconds remaining() const noexcept
	{
		return std::chrono::milliseconds(leash_multi_remaining_ms(get()));
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_multi *get() const noexcept { return multi_.get(); }

	/* A template, so that an empty list, {}, is not taken for a null handle. */
	template <class Handle, class = std::enable_if_t<std::is_same_v<Handle, leash_multi>>>
	explicit multi(Handle *handle) noexcept : multi_(handle)
	{
	}

private:
	std::unique_ptr<leash_multi, detail::freed_by<leash_multi_free>> multi_;
};

} // namespace leash

#endif
