/* Texts as C wants them, with a NUL at the end and none before it. */
#ifndef LEASH_TEXT_HPP
#define LEASH_TEXT_HPP

#include <leash/error.hpp>
#include <leash/lock.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace leash {

namespace detail {

/* A text of up to `Most` bytes. If it is too long, enough is kept for the library to say so. */
template <std::size_t Most> class c_text {
public:
	explicit c_text(std::string_view text) noexcept
	{
		const std::string_view cut = text.substr(0, Most + 1);

		cut.copy(text_, cut.size());
		text_[cut.size()] = '\0';
		is_whole_ = cut.find('\0') == std::string_view::npos;
	}

	/* It has no NUL in it. With a NUL, C would see a shorter text than was given. */
	bool is_whole() const noexcept { return is_whole_; }
	const char *get() const noexcept { return text_; }

private:
	char text_[Most + 2];
	bool is_whole_;
};

/* As "a name". */
inline leash_error not_whole(const char *what) noexcept
{
	leash_error why = why_not(LEASH_INVALID, "");

	std::snprintf(why.text, sizeof why.text, "%s must not have a NUL byte in it", what);
	return why;
}

/* A T made of what a call yields that takes a name: like made(), but the call is given the name as well. */
template <class T, class Handle, class Call> result<T> named(std::string_view name, const Call &call) noexcept
{
	const c_text<LEASH_NAME_MAX> text(name);

	if (!text.is_whole())
		return not_whole("a name");
	return made<T, Handle>([&](Handle **out, leash_error *err) { return call(out, text.get(), err); });
}

/* The token of a lock or of permits. */
template <class Handle>
std::string token(const Handle *handle, std::size_t (*copy)(const Handle *, char *, std::size_t))
{
	char text[LEASH_TOKEN_MAX];

	return std::string(text, copy(handle, text, sizeof text));
}

} // namespace detail

} // namespace leash

#endif
