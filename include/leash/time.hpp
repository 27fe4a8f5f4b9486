/* Times: std::chrono outside, whole milliseconds inside. */
#ifndef LEASH_TIME_HPP
#define LEASH_TIME_HPP

#include <leash/api.h>

#include <chrono>
#include <cstdint>

namespace leash {

/** A wait without limit. A wait of more than 30,000 years has no limit either. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

/**
 * A time as calls here take it: any duration of std::chrono, rounded up to whole milliseconds. So a short wait does not
 * become 0, and no lease is shorter than you asked for.
 */
class duration {
public:
	template <class Rep, class Period>
	constexpr duration(const std::chrono::duration<Rep, Period> &time) noexcept : ms_(round_up(time))
	{
	}

	/* As a number of leash.h. A time that is negative, or too long to be converted, becomes a number that is out of
	 * every range. */
	constexpr std::int64_t ms() const noexcept { return ms_; }

	/* The same for a wait: a negative wait is 0, as the standard has it. */
	constexpr std::int64_t wait_ms() const noexcept { return ms_ == INT64_MAX ? LEASH_FOREVER : ms_ < 0 ? 0 : ms_; }

private:
	template <class Rep, class Period>
	static constexpr std::int64_t round_up(const std::chrono::duration<Rep, Period> &time) noexcept
	{
		const double about = std::chrono::duration<double, std::milli>(time).count();

		if (!(about > 0))
			return about < 0 ? -1 : 0;
		if (about > 1e15)
			return INT64_MAX;
		return std::chrono::ceil<std::chrono::milliseconds>(time).count();
	}

	std::int64_t ms_;
};

} // namespace leash

#endif
