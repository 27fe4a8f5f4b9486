/* Locks and sets of them under the standard's guards, against a real server. */
#include "sentence.hpp"

#include <poll.h>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using std::chrono::steady_clock;

SENTENCE(a_guard_holds_the_lock_and_gives_it_back)
{
	leash::client ours, theirs;
	leash::lock lock(ours, "guard"), same(theirs, "guard");
	{
		std::unique_lock guard(lock);

		HOLDS(lock.held() && lock.fence() > 0 && lock.depth() == 1 && !lock.token().empty());
		HOLDS(lock.remaining() > 10s && lock.remaining() <= 30s);
		HOLDS(!same.try_lock() && !same.held() && same.fence() == 0 && same.token().empty() && same.remaining() == 0s);
		guard.unlock();
		HOLDS(same.try_lock());
		HOLDS(fails([&] { return guard.try_lock_for(30ms); }) && !guard);
		same.unlock();
		guard.lock();
	}
	HOLDS(!lock.held() && same.try_lock());
	same.unlock();
}

SENTENCE(it_nests)
{
	leash::client client;
	leash::lock lock(client, "nests");
	const std::lock_guard outer(lock);
	const std::uint64_t fence = lock.fence();
	{
		const std::lock_guard inner(lock);

		HOLDS(lock.depth() == 2 && lock.fence() == fence);
	}
	HOLDS(lock.held() && lock.depth() == 1);
}

SENTENCE(it_is_waited_for_as_long_as_any_clock_says)
{
	leash::client ours, theirs;
	leash::lock lock(ours, "clocks"), same(theirs, "clocks");
	const std::lock_guard guard(lock);
	const steady_clock::time_point begin = steady_clock::now();

	HOLDS(fails([&] { return same.try_lock_for(30ms); }) && steady_clock::now() >= begin + 30ms);
	HOLDS(fails([&] { return same.try_lock_until(steady_clock::now() + 30ms); }));
	HOLDS(steady_clock::now() >= begin + 60ms);
	HOLDS(fails([&] { return same.try_lock_until(slow_clock::now() + 300ms); }));
	HOLDS(steady_clock::now() >= begin + 460ms);
	HOLDS(fails([&] { return same.try_lock_until(std::chrono::system_clock::now() + 30ms); }));
	HOLDS(!same.try_lock_until(std::chrono::system_clock::time_point::min()) && !same.try_lock_for(-1s));
}

SENTENCE(several_are_taken_together_in_any_order)
{
	leash::client client;
	leash::lock a(client, "several/a"), b(client, "several/b"), c(client, "several/c");
	int count = 0;
	const auto work = [&](leash::lock &first, leash::lock &second, leash::lock &third) {
		for (int i = 0; i < 20; i++) {
			const std::scoped_lock all(first, second, third);

			HOLDS(a.held() && b.held() && c.held());
			count++;
		}
	};
	auto forwards = std::async(std::launch::async, [&] { work(a, b, c); });
	auto backwards = std::async(std::launch::async, [&] { work(c, b, a); });

	forwards.get();
	backwards.get();
	HOLDS(count == 40 && !a.held() && !b.held() && !c.held());
}

SENTENCE(a_set_is_taken_as_one)
{
	leash::client ours, theirs;
	leash::lock ann(ours, "set/ann"), bob(ours, "set/bob"), same(theirs, "set/bob");
	leash::multi both({ann, bob});
	{
		const std::unique_lock guard(both, 5s);

		HOLDS(guard && both.held() && ann.held() && bob.held() && both.remaining() > 10s && !same.try_lock());
	}
	HOLDS(!both.held() && same.try_lock());
	HOLDS(!both.try_lock() && !ann.held());
	same.unlock();
	HOLDS(both.acquire(leash::forever).has_value() && both.release().has_value());
	try {
		leash::multi none({});
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_INVALID);
	}
	HOLDS(leash::multi::make(std::vector(LEASH_MULTI_MAX + 1, std::ref(ann))).status() == LEASH_INVALID);
}

static void take_from_its_owner(leash::lock &lock)
{
	HOLDS(leash_lock_break(lock.get(), nullptr) == LEASH_OK && !lock.held());
}

SENTENCE(who_asks_is_told_of_a_loss_and_a_guard_passes_over_it)
{
	leash::client client;
	leash::lock lock(client, "loss");
	std::unique_lock guard(lock);

	take_from_its_owner(lock);
	try {
		lock.lock();
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_LOST && e.code() == LEASH_LOST && std::strstr(e.what(), "loss") != nullptr);
	}
	HOLDS(leash::release(guard).status() == LEASH_LOST && !guard.owns_lock() && lock.depth() == 0);
	HOLDS(leash::release(guard).status() == LEASH_NOT_HELD);
	guard = std::unique_lock(lock);
	take_from_its_owner(lock);
	guard.unlock();
	guard.lock();
	HOLDS(lock.held() && leash::release(guard).has_value() && !lock.held());
}

SENTENCE(events_come_on_another_thread_and_outlive_the_lock)
{
	std::promise<std::thread::id> thread;
	std::atomic<int> jeopardies = 0;
	std::string name;
	leash::client opened(leash::client_options().on_event([&](const leash::event &) { jeopardies++; }));
	leash::client client(std::move(opened));
	{
		leash::lock lock(client, "events", leash::lock_options().on_event([&](const leash::event &e) {
			name = e.lock;
			if (e.type == LEASH_EVENT_LOST && e.fence > 0 && !e.text.empty() && e.permit == nullptr)
				thread.set_value(std::this_thread::get_id());
		}));
		const std::lock_guard guard(lock);

		take_from_its_owner(lock);
	}
	HOLDS(thread.get_future().get() != std::this_thread::get_id() && name == "events" && jeopardies == 0);
}

SENTENCE(options_that_were_moved_from_have_no_function)
{
	std::promise<const char *> told;
	leash::client client(leash::client_options().on_event([&](const leash::event &) { told.set_value("client"); }));
	leash::lock_options from = leash::lock_options().on_event([&](const leash::event &) { told.set_value("options"); });
	const leash::lock_options options = std::move(from);
	leash::lock lock(client, "moved options", from);
	const std::lock_guard guard(lock);

	take_from_its_owner(lock);
	HOLDS(told.get_future().get() == std::string("client"));
}

SENTENCE(a_cancel_has_a_descriptor)
{
	leash::cancel stop, from, moved(std::move(from));
	pollfd waiting{stop.fd().value(), POLLIN, 0};

	HOLDS(poll(&waiting, 1, 0) == 0);
	stop.fire();
	HOLDS(poll(&waiting, 1, 0) == 1 && stop.fd().value() == waiting.fd && moved.fd().value() != waiting.fd);
	HOLDS(from.fd().status() == LEASH_INVALID);
}

SENTENCE(a_cancel_ends_a_wait)
{
	leash::client ours, theirs;
	leash::lock lock(ours, "cancel"), same(theirs, "cancel");
	leash::cancel stop;
	const std::lock_guard guard(lock);
	auto waiter = std::async(std::launch::async, [&] {
		return same.acquire(leash::acquire_options().cancel(stop).wait(leash::forever)).status();
	});

	HOLDS(waiter.wait_for(30ms) == std::future_status::timeout && !stop.is_fired());
	stop.fire();
	HOLDS(waiter.get() == LEASH_CANCELED && stop.is_fired());
}

SENTENCE(an_owner_goes_from_thread_to_thread)
{
	leash::client client;
	leash::owner task;
	leash::lock lock(client, "owner", leash::lock_options().owner(task)), mine(client, "owner");

	std::thread([&] { lock.lock(); }).join();
	HOLDS(lock.held() && !mine.held() && !mine.try_lock());
	std::unique_lock guard(lock, std::adopt_lock);
	HOLDS(leash::release(guard).has_value() && mine.try_lock());
	mine.unlock();
}

SENTENCE(a_lease_can_be_chosen_and_be_extended)
{
	leash::client client(leash::client_options().lease(20s).timeout(10s));
	leash::lock lock(client, "lease", leash::lock_options().no_renew().lease(10s));

	HOLDS(lock.acquire(leash::forever).has_value() && lock.remaining() <= 10s);
	HOLDS(lock.extend(1h).has_value() && lock.remaining() > 50min);
	HOLDS(lock.extend(leash::forever).status() == LEASH_INVALID);
	lock.alive();
	HOLDS(lock.release().has_value() && lock.acquire(leash::acquire_options(5s).lease(8s)).has_value());
	HOLDS(lock.remaining() <= 8s && lock.release().has_value());
	HOLDS(lock.release().status() == LEASH_NOT_HELD && lock.extend(1s).status() == LEASH_NOT_HELD);
}

SENTENCE(what_was_moved_from_has_nothing)
{
	leash::client client;
	leash::lock from(client, "moved");
	const std::unique_lock guard(from);
	leash::lock lock(std::move(from));

	HOLDS(lock.held() && lock.get() != nullptr);
	HOLDS(from.get() == nullptr && from.acquire(1s).status() == LEASH_INVALID && !from.held() && from.token().empty());
	lock.unlock();
	leash::client other(std::move(client));
	HOLDS(leash::lock::make(client, "moved").status() == LEASH_INVALID && lock.try_lock());
	client = std::move(other);
	lock.unlock();
}

SENTENCE(a_lock_outlives_its_client)
{
	std::optional<leash::client> client(std::in_place);
	leash::lock lock(*client, "closed");
	const std::unique_lock guard(lock);

	client.reset();
	HOLDS(!lock.held() && lock.acquire(1s).status() == LEASH_CLOSED);
}
