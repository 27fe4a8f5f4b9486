/* Read-write locks under std::shared_lock and std::unique_lock, against a real server. */
#include "sentence.hpp"

#include <future>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

template <class Act> static auto elsewhere(Act act)
{
	return std::async(std::launch::async, act).get();
}

SENTENCE(many_read_or_one_writes)
{
	leash::client ours, theirs;
	leash::read_write_lock config(ours, "rw"), same(theirs, "rw");
	const auto past = std::chrono::steady_clock::now();
	{
		const std::shared_lock reader(config);

		HOLDS(config.reads().held() && !config.writes().held());
		HOLDS(same.try_lock_shared());
		same.unlock_shared();
		HOLDS(!same.try_lock() && fails([&] { return same.try_lock_for(30ms); }));
		HOLDS(elsewhere([&] { return std::shared_lock(config, 5s).owns_lock(); }));
	}
	{
		const std::unique_lock writer(config, 5s);

		HOLDS(writer && config.writes().held() && config.writes().fence() > 0);
		HOLDS(!same.try_lock_shared() && !same.try_lock() && fails([&] { return same.try_lock_shared_for(30ms); }));
		HOLDS(!same.try_lock_shared_until(past) && !same.try_lock_until(past));
	}
	HOLDS(same.try_lock());
	same.unlock();
}

SENTENCE(who_reads_and_wants_to_write_is_refused_or_upgraded)
{
	leash::client client;
	leash::read_write_lock config(client, "upgrade", leash::lock_options().lease(10s));
	std::shared_lock reader(config);

	try {
		config.lock();
		HOLDS(false);
	} catch (const std::system_error &e) {
		HOLDS(e.code() == std::errc::resource_deadlock_would_occur && e.code() == LEASH_DEADLOCK);
	}
	HOLDS(config.upgrade().has_value());
	std::unique_lock writer(config, std::adopt_lock);
	HOLDS(config.writes().held() && config.writes().remaining() <= 10s);
	HOLDS(leash::release(writer).has_value() && !config.writes().held() && config.reads().held());
	HOLDS(leash::release(reader).has_value() && !config.reads().held());
	HOLDS(leash::release(reader).status() == LEASH_NOT_HELD && leash::release(writer).status() == LEASH_NOT_HELD);
}

SENTENCE(of_a_name_that_is_another_kind_it_says_so)
{
	leash::client client;
	leash::lock lock(client, "mutex");

	HOLDS(leash::read_write_lock::make(client, "mutex").status() == LEASH_INVALID);
}
