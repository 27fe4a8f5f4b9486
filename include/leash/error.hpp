/* What a call returns in C++: a result, or an exception. */
#ifndef LEASH_ERROR_HPP
#define LEASH_ERROR_HPP

#include <leash/api.h>
#include <leash/status.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

/* A leash_status converts to a std::error_code: `e.code() == LEASH_TIMEOUT`. */
template <> struct std::is_error_code_enum<leash_status> : std::true_type {};

namespace leash {

namespace detail {

class status_category final : public std::error_category {
public:
	const char *name() const noexcept override { return "leash"; }

	std::string message(int code) const override { return leash_status_text(static_cast<leash_status>(code)); }

	std::error_condition default_error_condition(int code) const noexcept override
	{
		switch (code) {
		case LEASH_TIMEOUT: return std::errc::timed_out;
		case LEASH_NOT_HELD: return std::errc::operation_not_permitted;
		case LEASH_CANCELED: return std::errc::operation_canceled;
		case LEASH_INVALID: return std::errc::invalid_argument;
		case LEASH_NO_MEMORY: return std::errc::not_enough_memory;
		case LEASH_DENIED: return std::errc::permission_denied;
		case LEASH_UNSUPPORTED: return std::errc::not_supported;
		case LEASH_DEADLOCK: return std::errc::resource_deadlock_would_occur;
		default: return {code, *this};
		}
	}
};

} // namespace detail

/**
 * The category of statuses as codes. These codes match conditions of the standard: timed_out (TIMEOUT),
 * operation_not_permitted (NOT_HELD), operation_canceled (CANCELED), invalid_argument (INVALID), not_enough_memory
 * (NO_MEMORY), permission_denied (DENIED), not_supported (UNSUPPORTED), resource_deadlock_would_occur (DEADLOCK). The
 * others match none.
 *
 * Threads: any. Since 0.1.
 */
LEASH_API inline const std::error_category &category() noexcept
{
	static const detail::status_category instance;

	return instance;
}

/**
 * What is thrown: a leash_error as an exception. It is a std::system_error, as std::mutex throws.
 *
 * what() is the text of the leash_error: one line that names the lock and the server, and never contains a secret.
 *
 * It is one class for all libraries of a program, even if they hide their symbols, and category() is one object.
 */
class LEASH_API error : public std::system_error {
public:
	explicit error(const leash_error &why) : std::system_error(static_cast<int>(why.status), category()), why_(why) {}

	const char *what() const noexcept override { return why_.text; }

	/** What the call of leash.h returned: never LEASH_OK. code() is the same. */
	leash_status status() const noexcept { return why_.status; }

	/** The system's error that caused it, or 0. */
	int sys_errno() const noexcept { return why_.sys_errno; }

private:
	leash_error why_;
};

/**
 * The result of a call that does not throw: the value, or why there is none. Like std::expected of C++23.
 *
 *     leash::result<leash::permit> card = cards.acquire(10s);
 *     if (!card)
 *             return complain(card.error().text);
 *     use(*card);
 *
 * or, if you prefer exceptions, `leash::permit card = cards.acquire(10s).value();`.
 */
template <class T> class [[nodiscard]] result {
	static_assert(std::is_nothrow_move_constructible_v<T>);

public:
	result(T &&value) noexcept : value_(std::move(value)) {}
	result(const leash_error &why) noexcept : why_(why) {}

	bool has_value() const noexcept { return value_.has_value(); }
	explicit operator bool() const noexcept { return has_value(); }

	/** LEASH_OK, or what error() says. */
	leash_status status() const noexcept { return why_.status; }

	/** Why there is no value; all zero if there is one. */
	const leash_error &error() const noexcept { return why_; }

	/** The value; throws leash::error if there is none. */
	T &value() & { return check(), *value_; }
	const T &value() const & { return check(), *value_; }
	T &&value() && { return check(), *std::move(value_); }

	/** The same, unchecked: there must be a value. */
	T &operator*() & noexcept { return *value_; }
	const T &operator*() const & noexcept { return *value_; }
	T &&operator*() && noexcept { return *std::move(value_); }
	T *operator->() noexcept { return &*value_; }
	const T *operator->() const noexcept { return &*value_; }

private:
	void check() const
	{
		if (!has_value())
			throw leash::error(why_);
	}

	std::optional<T> value_;
	leash_error why_{};
};

/** The result of a call that has no value. value() throws leash::error if the call failed. */
template <> class [[nodiscard]] result<void> {
public:
	result() noexcept = default;
	result(const leash_error &why) noexcept : why_(why) {}

	bool has_value() const noexcept { return why_.status == LEASH_OK; }
	explicit operator bool() const noexcept { return has_value(); }
	leash_status status() const noexcept { return why_.status; }
	const leash_error &error() const noexcept { return why_; }

	void value() const
	{
		if (!has_value())
			throw leash::error(why_);
	}

private:
	leash_error why_{};
};

namespace detail {

/* Frees what a handle of leash.h refers to, at the end of a std::unique_ptr. */
template <auto Free> struct freed_by {
	template <class T> void operator()(T *handle) const noexcept { Free(handle); }
};

/* The result of a call of leash.h without a value; the call is given a place for its error. */
template <class Call> result<void> done(const Call &call) noexcept
{
	leash_error why;

	return call(&why) == LEASH_OK ? result<void>() : result<void>(why);
}

/* The same for a call that yields a handle: it is given a place for that, too. A T is made of the handle. */
template <class T, class Handle, class Call> result<T> made(const Call &call) noexcept
{
	leash_error why;
	Handle *handle = nullptr;

	return call(&handle, &why) == LEASH_OK ? result<T>(T(handle)) : result<T>(why);
}

/* The same for a call that yields a number: it is given a place for that. */
template <class T, class Call> result<T> told(const Call &call) noexcept
{
	leash_error why;
	T number{};

	return call(&number, &why) == LEASH_OK ? result<T>(std::move(number)) : result<T>(why);
}

/* Was it done in time? Throws leash::error for any other failure. */
inline bool in_time(const result<void> &outcome)
{
	if (outcome.status() != LEASH_TIMEOUT)
		outcome.value();
	return outcome.has_value();
}

/* A struct of options of leash.h, all of which begin with their size. */
template <class T> T sized() noexcept
{
	T options{};

	options.size = sizeof options;
	return options;
}

/* An error that is found here, not by the library. */
inline leash_error why_not(leash_status status, const char *text) noexcept
{
	leash_error why{};

	why.status = status;
	std::snprintf(why.text, sizeof why.text, "%s", text);
	return why;
}

} // namespace detail

} // namespace leash

/** A status as a code of leash::category(). Threads: any. Since 0.1. */
inline std::error_code make_error_code(leash_status status) noexcept
{
	return {static_cast<int>(status), leash::category()};
}

#endif
