/* What each program here is written with: SENTENCE(what_is_so) { ... HOLDS(condition); ... }, as in
 * tests/support/test.h.
 *
 * `program --list` names its sentences, `program NAME` runs one: it says nothing and succeeds if that is so. The server
 * is that of $LEASH_URI. Sentences share it, so their locks have names of their own. */
#pragma once

#include <leash.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <ratio>
#include <stdexcept>
#include <string>

struct sentence {
	sentence(const char *its_name, void (*its_body)()) : name(its_name), body(its_body)
	{
		*end = this;
		end = &next;
	}

	const char *name;
	void (*body)();
	sentence *next = nullptr;

	static inline sentence *first = nullptr, **end = &first; /* in the order of the file */
};

#define SENTENCE(title) \
	static void title(); \
	static const sentence title##_sentence(#title, title); \
	static void title()

#define HOLDS(what) holds((what), #what, __LINE__)

inline void holds(bool so, const char *what, int line)
{
	if (!so)
		throw std::runtime_error("line " + std::to_string(line) + ": not so: " + what);
}

/* Half as fast as the world's, in steps of 100 ms. */
struct slow_clock {
	using duration = std::chrono::duration<std::int64_t, std::deci>;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<slow_clock>;
	static constexpr bool is_steady = true;

	static time_point now()
	{
		return time_point(std::chrono::floor<duration>(std::chrono::steady_clock::now().time_since_epoch() / 2));
	}
};

/* Does a short try fail, as somebody has the lock? Made again where the server answers later than that. */
template <class Try> bool fails(const Try &attempt)
{
	for (;;)
		try {
			return !attempt();
		} catch (const leash::error &e) {
			if (e.status() != LEASH_UNAVAILABLE)
				throw;
		}
}

int main(int argc, char **argv)
try {
	for (const sentence *s = sentence::first; s != nullptr; s = s->next)
		if (argc < 2 || std::strcmp(argv[1], "--list") == 0)
			std::puts(s->name);
		else if (std::strcmp(argv[1], s->name) == 0)
			return s->body(), 0;
	return argc < 2 || std::strcmp(argv[1], "--list") != 0;
} catch (const std::exception &e) {
	std::puts(e.what());
	return 1;
}
