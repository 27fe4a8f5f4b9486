/* Who leads, as an object. To lead, hold a leash::lock, which has proclaim(). */
#ifndef LEASH_LEADER_HPP
#define LEASH_LEADER_HPP

#include <leash/client.hpp>
#include <leash/error.hpp>
#include <leash/leader.h>
#include <leash/lock_options.hpp>
#include <leash/text.hpp>
#include <leash/time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace leash {

/** Who leads, as leash_leader. It may be out of date when you read it. */
struct leader {
	bool leads;                          /**< there is a leader; if not, all other fields are empty, or 0 */
	std::string token;                   /**< of its hold */
	std::uint64_t fence;                 /**< of its hold, as fence() first returned it; 0: not known */
	std::chrono::milliseconds remaining; /**< rest of its lease if not renewed; leash::forever: no end, so not by
	                                          leash */
	std::string value;                   /**< what it proclaimed; empty: nothing yet */
};

/**
 * A leash_watch: it reports who leads, which means who holds the lock of that name. One thread at a time may use it.
 *
 *     leash::lock post(client, "scheduler");                 leash::watch watch(client, "scheduler");
 *     std::unique_lock leads(post);                          while (auto who = watch.next(leash::forever))
 *     post.proclaim("10.0.0.7:8080").value();                        route_to(who->value);
 */
class watch {
public:
	/** A watch of the lock called `name`; throws what make() returns. Since 0.1. */
	watch(client &from, std::string_view name) : watch(make(from, name).value()) {}

	/** Make one, as leash_watch_new(). LEASH_INVALID also for a name with a NUL byte in it. Since 0.1. */
	static result<watch> make(client &from, std::string_view name) noexcept
	{
		return detail::named<watch, leash_watch>(
		    name, [&](leash_watch **out, const char *text, leash_error *err) {
			    return leash_watch_new(out, from.get(), text, err);
		    });
	}

	/**
	 * Wait until the leader, or its value, differs from what was reported last, and report it. The first call reports
	 * the present state at once.
	 *
	 * @return as leash_watch_next_with(): LEASH_TIMEOUT if nothing changed. LEASH_NO_MEMORY also if there was no memory
	 *         to keep the news: look() then reports it.
	 *
	 * Threads: any, one at a time; not from a leash callback. Since 0.1.
	 */
	result<leader> next(const acquire_options &how) noexcept
	{
		return who_leads([&](leash_leader *who, leash_error *err) {
			return leash_watch_next_with(get(), how.get(), who, err);
		});
	}

	/** Report who leads now, whatever was reported before; as leash_watch_look(). Threads: as next(). Since 0.1. */
	result<leader> look() noexcept
	{
		return who_leads([&](leash_leader *who, leash_error *err) { return leash_watch_look(get(), who, err); });
	}

	/** The C handle, for calls of leash.h; this object keeps it. */
	leash_watch *get() const noexcept { return watch_.get(); }

	explicit watch(leash_watch *handle) noexcept : watch_(handle) {}

private:
	template <class Call> static result<leader> who_leads(const Call &call) noexcept
	try {
		leash_leader who = detail::sized<leash_leader>();
		leash_error why;

		if (call(&who, &why) != LEASH_OK)
			return why;
		return leader{who.leads, who.token, who.fence,
		              who.remaining_ms < 0 ? forever : std::chrono::milliseconds(who.remaining_ms), who.value};
	} catch (const std::bad_alloc &) {
		return detail::why_not(LEASH_NO_MEMORY, "out of memory for a leader");
	}

	std::unique_ptr<leash_watch, detail::freed_by<leash_watch_free>> watch_;
};

} // namespace leash

#endif
