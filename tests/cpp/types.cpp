/* What the types claim to be, at compile time, in each standard and by each compiler. */
#include <leash.hpp>

#include <ratio>

namespace {

template <class T>
constexpr bool is_handle = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                           std::is_nothrow_destructible_v<T> && !std::is_copy_constructible_v<T> &&
                           !std::is_copy_assignable_v<T> && sizeof(T) == sizeof(void *);

static_assert(is_handle<leash::client> && is_handle<leash::lock> && is_handle<leash::multi>);
static_assert(is_handle<leash::semaphore> && is_handle<leash::permit> && is_handle<leash::owner>);
static_assert(is_handle<leash::cancel> && is_handle<leash::condition> && is_handle<leash::watch>);
static_assert(is_handle<leash::latch> && is_handle<leash::barrier>);
static_assert(std::is_nothrow_move_constructible_v<leash::read_write_lock>);
static_assert(std::is_nothrow_move_assignable_v<leash::read_write_lock>);
static_assert(!std::is_copy_constructible_v<leash::read_write_lock>);

/* An exception is copied while it is thrown. */
static_assert(std::is_base_of_v<std::system_error, leash::error> && std::is_nothrow_copy_constructible_v<leash::error>);
static_assert(std::is_error_code_enum_v<leash_status>);

static_assert(std::is_default_constructible_v<leash::client> && std::is_nothrow_default_constructible_v<leash::permit>);
static_assert(!std::is_convertible_v<leash_lock *, leash::lock> && !std::is_convertible_v<leash_multi *, leash::multi>);
static_assert(std::is_constructible_v<leash::multi, leash_multi *>);
static_assert(std::is_convertible_v<std::chrono::seconds, leash::acquire_options>);

/* Guards call these in destructors. */
static_assert(noexcept(std::declval<leash::lock &>().unlock()) && noexcept(std::declval<leash::multi &>().unlock()));
static_assert(noexcept(std::declval<leash::read_write_lock &>().unlock_shared()));

/* What throws nothing says so. */
static_assert(noexcept(std::declval<leash::lock &>().acquire({})) && noexcept(std::declval<leash::lock &>().release()));
static_assert(noexcept(std::declval<leash::condition &>().await({})));
static_assert(noexcept(std::declval<leash::watch &>().next({})) && noexcept(std::declval<leash::watch &>().look()));
static_assert(noexcept(std::declval<leash::latch &>().await({})));
static_assert(noexcept(std::declval<leash::barrier &>().await({})));

/* Times are rounded up; none overflows. */
using namespace std::chrono_literals;
[[maybe_unused]] constexpr std::int64_t whole_ms(leash::duration time)
{
	return time.ms();
}
[[maybe_unused]] constexpr std::int64_t wait_ms(leash::duration time)
{
	return time.wait_ms();
}
static_assert(whole_ms(1500ms) == 1500 && whole_ms(2min) == 120000 && whole_ms(1us) == 1 && whole_ms(1000001ns) == 2);
static_assert(whole_ms(0.0001s) == 1 && whole_ms(2.5ms) == 3 && whole_ms(0s) == 0 && whole_ms(-1ns) == -1);
static_assert(whole_ms(std::chrono::hours::max()) == INT64_MAX && whole_ms(std::chrono::hours::min()) == -1);
static_assert(whole_ms(std::chrono::nanoseconds::max()) == INT64_MAX / 1000000 + 1);
static_assert(whole_ms(std::chrono::duration<float, std::ratio<1, 60>>(1)) == 17);
static_assert(wait_ms(-5s) == 0 && wait_ms(1ns) == 1 && wait_ms(leash::forever) == LEASH_FOREVER);
static_assert(wait_ms(std::chrono::hours::max()) == LEASH_FOREVER && wait_ms(std::chrono::hours::min()) == 0);

/* Each guard of the standard, with each kind of lock, as its template is instantiated in whole. */
template <class Lock> [[maybe_unused]] void guards(Lock &one, Lock &other)
{
	const std::lock_guard nested(one);
	const std::scoped_lock both(one, other);
	std::unique_lock timed(one, 1s);
	std::unique_lock until(one, std::chrono::system_clock::now() + 1s);
	const leash::result<void> found = leash::release(timed);

	timed.swap(until);
	static_cast<void>(std::try_lock(one, other) + found.status());
}

template void guards(leash::lock &, leash::lock &);
template void guards(leash::multi &, leash::multi &);
template void guards(leash::read_write_lock &, leash::read_write_lock &);

[[maybe_unused]] void mixed(leash::lock &lock, leash::multi &multi, leash::read_write_lock &config)
{
	const std::scoped_lock all(lock, multi, config);
}

/* As with std::condition_variable_any, any function without arguments is a predicate: also one that only moves. */
[[maybe_unused]] void predicates(leash::condition &changed, const std::unique_ptr<int> &number)
{
	const auto moves_only = [&] {
		return [copy = std::make_unique<int>(*number)] { return copy.get(); };
	};

	changed.wait(moves_only());
	static_cast<void>(changed.wait_for(1s, moves_only()));
	static_cast<void>(changed.wait_until(std::chrono::system_clock::now(), moves_only()));
	static_cast<void>(changed.await(leash::acquire_options(1min), moves_only()));
}

} // namespace

template class std::shared_lock<leash::read_write_lock>;
template class std::unique_lock<leash::lock>;
