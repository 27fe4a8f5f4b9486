/* Events and log lines as C++ functions receive them. */
#ifndef LEASH_EVENT_HPP
#define LEASH_EVENT_HPP

#include <leash/event.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

namespace leash {

/** An event, as leash_event. Its texts are valid only during the call. */
struct event {
	leash_event_type type;
	std::string_view lock;               /**< the lock's name; empty for an event of the client */
	std::uint64_t fence;                 /**< of the hold; 0 for an event of the client, or of permits */
	std::chrono::milliseconds remaining; /**< what was left of the lease when the event was raised; 0 if nothing */
	std::string_view text;               /**< why, in one line of printable characters */
	const leash_permit *permit;          /**< the permits of a semaphore that the event is about. Only compare it with
	                                          get() of a permit. nullptr for an event of a lock or of the client */
};

/**
 * Receives events, one at a time, in order for each lock, on a thread of the client. It never runs on a thread of the
 * program, so data that it shares with those needs a mutex or atomics.
 *
 * It may take any time: renewals do not wait for it, only later events do. It may check locks (held() and the like);
 * calls that may wait return LEASH_IN_CALLBACK. Do not destroy a client, a permit or a held lock in it. An exception
 * that leaves it ends the program (std::terminate).
 *
 * leash keeps one copy of the function until the client is closed, however many locks were made with its options.
 */
using event_function = std::function<void(const event &)>;

/** Receives log lines, without a line end, on the same thread and under the same rules. */
using log_function = std::function<void(leash_log_level, std::string_view)>;

namespace detail {

inline void tell_event(void *arg, const leash_event *e) noexcept
{
	const event told{e->type,
	                 e->lock != nullptr ? std::string_view(e->lock) : std::string_view(),
	                 e->fence,
	                 std::chrono::milliseconds(e->remaining_ms),
	                 e->text,
	                 e->permit};

	(*static_cast<const event_function *>(arg))(told);
}

inline void tell_line(void *arg, leash_log_level level, const char *line) noexcept
{
	(*static_cast<const log_function *>(arg))(level, line);
}

} // namespace detail

} // namespace leash

#endif
