/* Results, exceptions and codes, and options that are not valid. */
#include "sentence.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

using namespace std::chrono_literals;
using namespace std::string_view_literals;

SENTENCE(what_is_wrong_is_thrown_or_returned_in_the_same_words)
{
	const leash::result<leash::client> none = leash::client::open(leash::client_options().uri("gopher://cache"));

	HOLDS(!none && !none.has_value() && none.status() == LEASH_INVALID && none.error().status == LEASH_INVALID);
	try {
		leash::client client(leash::client_options().uri("gopher://cache"));
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_INVALID && std::strcmp(e.what(), none.error().text) == 0);
		HOLDS(std::strstr(e.what(), "redis://") != nullptr);
	}
	try {
		static_cast<void>(none.value());
		HOLDS(false);
	} catch (const std::system_error &e) {
		HOLDS(e.code() == LEASH_INVALID && e.code() == std::errc::invalid_argument && e.code() != LEASH_TIMEOUT);
		HOLDS(e.code().category() == leash::category() && e.code().message() == leash_status_text(LEASH_INVALID));
	}
}

SENTENCE(a_server_that_is_not_there_is_unavailable)
{
	try {
		leash::client client(leash::client_options().timeout(100ms).uri("unix:///nowhere/redis.sock"));
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_UNAVAILABLE && e.sys_errno() == ENOENT);
		HOLDS(std::strstr(e.what(), "/nowhere") != nullptr);
	}
}

SENTENCE(a_server_that_is_not_there_is_waited_for)
{
	const auto away = leash::client_options().uri("unix:///nowhere/redis.sock");
	const auto begin = std::chrono::steady_clock::now();
	leash::cancel stop;

	HOLDS(leash::client::open(leash::client_options(away).open_wait(30ms)).status() == LEASH_UNAVAILABLE);
	HOLDS(std::chrono::steady_clock::now() >= begin + 30ms);
	stop.fire();
	HOLDS(leash::client::open(leash::client_options(away).open_cancel(stop).open_wait(leash::forever)).status() ==
	      LEASH_CANCELED);
}

SENTENCE(statuses_are_conditions_of_the_standard)
{
	const std::error_code timeout = LEASH_TIMEOUT, ok = LEASH_OK;

	HOLDS(!ok && timeout && timeout == std::errc::timed_out && timeout.category().name() == "leash"sv);
	HOLDS(make_error_code(LEASH_DENIED) == std::errc::permission_denied);
	HOLDS(make_error_code(LEASH_CANCELED) == std::errc::operation_canceled);
	HOLDS(make_error_code(LEASH_LOST) != std::errc::timed_out);
}

SENTENCE(a_text_that_c_would_cut_off_is_refused)
{
	leash::client client;

	HOLDS(leash::lock::make(client, "a\0b"sv).status() == LEASH_INVALID);
	HOLDS(leash::semaphore::make(client, "a\0"sv, 1).status() == LEASH_INVALID);
	HOLDS(leash::lock::make(client, std::string(LEASH_NAME_MAX + 1, 'n')).status() == LEASH_INVALID);
	HOLDS(leash::lock::make(client, std::string(LEASH_NAME_MAX, 'n')).has_value());
	HOLDS(leash::lock::make(client, "").status() == LEASH_INVALID);
	HOLDS(leash::lock::make(client, "name and more"sv.substr(0, 4)).has_value());
	HOLDS(leash::client::open(leash::client_options().prefix("a\0b"sv)).status() == LEASH_INVALID);
	HOLDS(leash::client::open(leash::client_options().client_name("\0"sv)).status() == LEASH_INVALID);
	HOLDS(leash::client::open(leash::client_options().uri("redis://a\0b"sv)).status() == LEASH_INVALID);
	HOLDS(leash::client::open(leash::client_options().prefix("")).status() == LEASH_INVALID);
}

SENTENCE(options_out_of_range_are_refused)
{
	leash::client client;

	for (const auto &options : {leash::lock_options().lease(-1ns), leash::lock_options().lease(99ms),
	                            leash::lock_options().lease(leash::forever), leash::lock_options().handoffs(256),
	                            leash::lock_options().alive(1ms), leash::lock_options().max_hold(1ms),
	                            leash::lock_options().handoff(2min), leash::lock_options().min_replicas(17)})
		HOLDS(leash::lock::make(client, "range", options).status() == LEASH_INVALID);
	HOLDS(leash::client::open(leash::client_options().fence_ttl(1ms)).status() == LEASH_INVALID);
}

SENTENCE(options_are_named_in_any_order)
{
	std::atomic<int> lines = 0;
	leash::client_options logged;
	logged.on_log([&](leash_log_level, std::string_view line) { lines += !line.empty(); });
	leash::client one(leash::client_options(logged).prefix("order").lease(10s));
	leash::client other(leash::client_options().lease(10s).prefix("order"));
	leash::lock lock(one, "order", leash::lock_options().fair().lease(5s));
	leash::lock same(other, "order", leash::lock_options().lease(5s).fair());

	HOLDS(lock.acquire({}).has_value() && lock.remaining() <= 5s && same.acquire({}).status() == LEASH_TIMEOUT);
	HOLDS(lock.release().has_value() && same.acquire(leash::forever).has_value() && same.remaining() <= 5s);
	same.unlock();
	one = leash::client();
	HOLDS(lines > 0);
}

/* The memory of C++, which runs out for a thread at will; leash itself has that of malloc(). */
static thread_local bool no_memory;

void *operator new(std::size_t size)
{
	if (void *memory = no_memory ? nullptr : std::malloc(size); memory != nullptr)
		return memory;
	throw std::bad_alloc();
}
void operator delete(void *memory) noexcept
{
	std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept
{
	std::free(memory);
}

template <class Act> static leash_status without_memory(const Act &act)
{
	no_memory = true;
	const leash_status status = act();
	no_memory = false;
	return status;
}

SENTENCE(memory_that_runs_out_is_an_error_where_nothing_is_thrown)
{
	leash::client client;
	leash::watch watch(client, "memory");
	leash::lock lock(client, "memory");
	const auto options = leash::lock_options().on_event([](const leash::event &) {});

	lock.lock();
	HOLDS(without_memory([&] { return watch.look().status(); }) == LEASH_NO_MEMORY && watch.look()->leads);
	HOLDS(without_memory([&] { return leash::lock::make(client, "memory", options).status(); }) == LEASH_NO_MEMORY);
	HOLDS(without_memory([&] { return leash::semaphore::make(client, "permits", 1, options).status(); }) ==
	      LEASH_NO_MEMORY);
	HOLDS(without_memory([&] { return leash::client::open().status(); }) == LEASH_NO_MEMORY);
	HOLDS(without_memory([&] { return lock.release().status(); }) == LEASH_OK);
}
