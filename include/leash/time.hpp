/* Times: std::chrono's on the outside, whole milliseconds for the library. */
#ifndef LEASH_TIME_HPP
#define LEASH_TIME_HPP

#include <leash/api.h>

#include <chrono>
#include <cstdint>

namespace leash {

/** As a wait: do not give up. So does a wait of more than 30,000 years. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

/**
 * A time as calls here take it: any duration of std::chrono, rounded up to whole milliseconds. So a short wait does not
 * become none, and no lease is shorter than was asked for.
 */
class duration {
public:
	template <class Rep, class Period>
	constexpr duration(const std::chrono::duration<Rep, Period> &time) noexcept : ms_(round_up(time))
	{
	}

	/* As a number of leash.h. What is negative, or too long to be converted, is one that no range there has in it. */
	constexpr std::int64_t ms() const noexcept { return ms_; }

	/* Likewise of a wait: a negative one is none, as the standard has it. */
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
