/* Latches and barriers as objects. */
#ifndef LEASH_GATE_HPP
#define LEASH_GATE_HPP

#include <leash/client.hpp>
#include <leash/error.hpp>
#include <leash/gate.h>
#include <leash/lock_options.hpp>
#include <leash/text.hpp>
#include <leash/time.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace leash {

/**
 * A leash_latch: it opens for all waiters once `count` parties have arrived, across all machines, and stays open for a
 * day.
 *
 *     leash::latch migrated(client, "migrated-1234", 3);
 *     migrated.count_down("worker-2");  // each of the three
 *     migrated.wait();                  // those that need all of them
 *
 * Like a std::latch, except that an arrival can give a name: it then counts once, however often it arrives.
 */
class latch {
public:
	/** A handle of the latch called `name`; throws what make() returns. Since 0.1. */
	latch(client &from, std::string_view name, std::int64_t count) : latch(make(from, name, count).value()) {}

	/** Make one, as leash_latch_new(). LEASH_INVALID also for a name with a NUL byte in it. Since 0.1. */
	static result<latch> make(client &from, std::string_view name, std::int64_t count) noexcept
	{
		return detail::named<latch, leash_latch>(
		    name, [&](leash_latch **out, const char *text, leash_error *err) {
			    return leash_latch_new(out, from.get(), text, count, err);
		    });
	}

	/** Arrive; each call is another arrival; as leash_latch_count_down(). Threads: any; not from a leash callback.
	 * Since 0.1. */
	result<void> arrive() noexcept
	{
		return detail::done([&](leash_error *err) { return leash_latch_count_down(get(), nullptr, err); });
	}

	/**
	 * Arrive as `party`, such as "worker-3": it counts once, also after a restart. So you may call it again after
	 * LEASH_UNAVAILABLE, when the arrival may or may not count.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> arrive(std::string_view party) noexcept
	{
		const detail::c_text<LEASH_NAME_MAX> text(party);

		if (!text.is_whole())
			return detail::not_whole("a party");
		return detail::done([&](leash_error *err) { return leash_latch_count_down(get(), text.get(), err); });
	}

	/** How many have arrived? As leash_latch_arrived(), which asks the server. Since 0.1. */
	result<std::int64_t> arrived() noexcept
	{
		return detail::told<std::int64_t>(
		    [&](std::int64_t *count, leash_error *err) { return leash_latch_arrived(get(), count, err); });
	}

	/**
	 * Wait until enough have arrived: await(5s), await(leash::forever), await(leash::acquire_options(5s).cancel(stop)).
	 *
	 * @return as leash_latch_await_with(): LEASH_TIMEOUT if not enough had arrived by the end.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> await(const acquire_options &how) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_latch_await_with(get(), how.get(), err); });
	}

	/* The members of std::latch. They throw leash::error. Threads: any; not from a leash callback. Since 0.1. */

	/** arrive(), or arrive(party). */
	void count_down() { arrive().value(); }
	void count_down(std::string_view party) { arrive(party).value(); }

	/** Wait forever, also for a server that is away. */
	void wait() { await(forever).value(); }

	/** Have enough arrived? Asks the server, once. */
	bool try_wait() { return detail::in_time(await({})); }

	/** count_down(), or count_down(party), and wait(). */
	void arrive_and_wait() { count_down(), wait(); }
	void arrive_and_wait(std::string_view party) { count_down(party), wait(); }

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_latch *get() const noexcept { return latch_.get(); }

	explicit latch(leash_latch *handle) noexcept : latch_(handle) {}

private:
	std::unique_ptr<leash_latch, detail::freed_by<leash_latch_free>> latch_;
};

/**
 * A leash_barrier: its waiters are let in all at once, as soon as `parties` wait. The next waiter begins the next
 * round.
 *
 *     leash::barrier round(client, "round", 4);
 *     round.arrive_and_wait();
 *
 * Only waiting parties count, not one that gave up or died.
 */
class barrier {
public:
	/** A handle of the barrier called `name`; throws what make() returns. Since 0.1. */
	barrier(client &from, std::string_view name, std::int64_t parties) : barrier(make(from, name, parties).value()) {}

	/** Make one, as leash_barrier_new(). LEASH_INVALID also for a name with a NUL byte in it. Since 0.1. */
	static result<barrier> make(client &from, std::string_view name, std::int64_t parties) noexcept
	{
		return detail::named<barrier, leash_barrier>(
		    name, [&](leash_barrier **out, const char *text, leash_error *err) {
			    return leash_barrier_new(out, from.get(), text, parties, err);
		    });
	}

	/**
	 * Join the parties, and wait until all are there: await(5s), await(leash::acquire_options(5s).cancel(stop)). With
	 * await({}) only the last party gets in.
	 *
	 * @return as leash_barrier_wait_with(): LEASH_TIMEOUT if not all were there by the end, and this party was not
	 *         counted.
	 *
	 * Threads: any; not from a leash callback. Since 0.1.
	 */
	result<void> await(const acquire_options &how) noexcept
	{
		return detail::done([&](leash_error *err) { return leash_barrier_wait_with(get(), how.get(), err); });
	}

	/** The same as a std::barrier: wait forever. Throws leash::error if this party was not let in. Since 0.1. */
	void arrive_and_wait() { await(forever).value(); }

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_barrier *get() const noexcept { return barrier_.get(); }

	explicit barrier(leash_barrier *handle) noexcept : barrier_(handle) {}

private:
	std::unique_ptr<leash_barrier, detail::freed_by<leash_barrier_free>> barrier_;
};

} // namespace leash

#endif
