/* Conditions, with the words of std::condition_variable_any, against a real server. */
#include "sentence.hpp"

#include <atomic>
#include <future>
#include <mutex>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using std::chrono::steady_clock;

/* So that nothing but a signal ends a wait here. */
static leash::condition_options only_signals()
{
	return leash::condition_options().recheck(24h);
}

SENTENCE(all_who_wait_are_woken_and_have_the_lock_again)
{
	leash::client ours, theirs;
	leash::lock lock(ours, "woken"), same(theirs, "woken");
	leash::condition go(lock, "go", only_signals()), there(lock, "there", only_signals());
	leash::condition same_go(same, "go", only_signals()), same_there(same, "there", only_signals());
	std::atomic<int> waiting = 0, woken = 0;
	std::atomic<bool> may_go = false;
	const auto wait = [&] {
		const std::lock_guard outer(lock);
		const std::lock_guard inner(lock);
		const std::uint64_t fence = lock.fence();

		waiting++;
		there.notify_one();
		go.wait([&] { return may_go.load(); });
		HOLDS(lock.held() && lock.depth() == 2 && lock.fence() > fence);
		woken++;
	};
	std::vector<std::future<void>> waiters;

	for (int i = 0; i < 3; i++)
		waiters.push_back(std::async(std::launch::async, wait));
	{
		const std::lock_guard guard(same);

		same_there.wait([&] { return waiting == 3; });
		HOLDS(same.held() && woken == 0);
		may_go = true;
		same_go.notify_all();
	}
	for (std::future<void> &waiter : waiters)
		waiter.get();
	HOLDS(woken == 3 && same.try_lock());
	same.unlock();
}

SENTENCE(a_wait_that_is_over_holds_the_lock)
{
	leash::client client;
	leash::lock lock(client, "over");
	leash::condition never(lock, "never");
	const std::lock_guard guard(lock);
	const steady_clock::time_point begin = steady_clock::now();
	const auto no = [] { return false; };
	int asked = 0;

	HOLDS(never.wait_for(30ms) == std::cv_status::timeout && lock.held() && steady_clock::now() >= begin + 30ms);
	HOLDS(!never.wait_for(30ms, no) && lock.held() && steady_clock::now() >= begin + 60ms);
	HOLDS(never.wait_until(steady_clock::now() + 30ms) == std::cv_status::timeout && lock.held());
	HOLDS(!never.wait_until(std::chrono::system_clock::now() + 30ms, no) && lock.held());
	HOLDS(steady_clock::now() >= begin + 90ms); /* the clock of the system may be set */
	HOLDS(!never.wait_until(slow_clock::now() + 300ms, no) && steady_clock::now() >= begin + 490ms);
	HOLDS(never.wait_for(-1s) == std::cv_status::timeout && !never.wait_until(steady_clock::time_point::min(), no));
	HOLDS(never.await(0s).status() == LEASH_TIMEOUT && never.await(30ms, no).status() == LEASH_TIMEOUT);
	HOLDS(never.wait_for(30ms, [&] { return ++asked == 2; }) && asked == 2); /* so at the end of the time */
	HOLDS(never.wait_for(24h, [] { return true; }) && never.wait_until(begin, [] { return true; }) && lock.held());
}

SENTENCE(to_look_again_is_within_the_time_of_a_wait)
{
	leash::client client;
	leash::lock lock(client, "again");
	leash::condition never(lock, "never", leash::condition_options().recheck(100ms));
	const std::lock_guard guard(lock);
	const steady_clock::time_point begin = steady_clock::now();
	int asked = 0;
	const auto no = [&] { return asked++ < 0; };

	HOLDS(!never.wait_for(250ms, no) && steady_clock::now() >= begin + 250ms && asked >= 3);
	asked = 0;
	HOLDS(!never.wait_until(steady_clock::now() + 250ms, no) && steady_clock::now() >= begin + 500ms && asked >= 3);
	HOLDS(never.wait_for(leash::forever) == std::cv_status::no_timeout && lock.held());
	asked = 0;
	never.wait([&] { return ++asked == 3; });
	HOLDS(lock.held());
}

SENTENCE(a_cancel_ends_a_wait_and_the_lock_is_held)
{
	leash::client client;
	leash::lock lock(client, "canceled");
	leash::condition never(lock, "never", only_signals());
	leash::cancel stop;
	const auto until_stopped = leash::acquire_options(leash::forever).cancel(stop);
	std::promise<void> holds_it;
	auto waiter = std::async(std::launch::async, [&] {
		const std::lock_guard guard(lock);

		holds_it.set_value();
		HOLDS(never.await(until_stopped, [] { return false; }).status() == LEASH_CANCELED && lock.held());
		HOLDS(never.await(until_stopped, [] { return true; }).has_value());
		HOLDS(never.await(until_stopped, [n = 0]() mutable { return ++n == 2; }).has_value() && lock.held());
	});

	holds_it.get_future().get();
	lock.lock(); /* it waits */
	lock.unlock();
	stop.fire();
	waiter.get();
}

SENTENCE(where_a_wait_throws_the_lock_is_not_held)
{
	leash::client ours, theirs;
	leash::lock lock(ours, "thrown"), same(theirs, "thrown");
	leash::condition soon(lock, "soon", leash::condition_options().reacquire(1ms).recheck(100ms));
	const auto thrown = [&](auto wait) {
		try {
			wait();
			return LEASH_OK;
		} catch (const leash::error &e) {
			return e.status();
		}
	};

	HOLDS(thrown([&] { soon.wait(); }) == LEASH_NOT_HELD);
	std::unique_lock guard(lock);
	HOLDS(leash_lock_break(lock.get(), nullptr) == LEASH_OK);
	HOLDS(thrown([&] { soon.wait([] { return false; }); }) == LEASH_LOST && !lock.held() && lock.depth() == 0);
	guard.unlock(); /* does no harm */
	guard.lock();

	std::promise<void> over;
	auto other = std::async(std::launch::async, [&] {
		const std::lock_guard theirs_now(same);

		over.get_future().get();
	});
	const leash_status status = thrown([&] { soon.wait_for(24h, [] { return false; }); });
	over.set_value();
	other.get();
	HOLDS(status == LEASH_UNAVAILABLE && !lock.held() && guard.release() == &lock && lock.try_lock());
	lock.unlock();
}

SENTENCE(what_a_predicate_throws_leaves_the_lock_held)
{
	leash::client client;
	leash::lock lock(client, "predicate");
	leash::condition some(lock, "some");
	const std::lock_guard guard(lock);

	try {
		some.wait([]() -> bool { throw 1; });
		HOLDS(false);
	} catch (int) {
		HOLDS(lock.held());
	}
}

SENTENCE(it_is_of_a_lock_that_excludes_all_others)
{
	leash::client client;
	leash::lock lock(client, "of");
	leash::read_write_lock config(client, "of/rw");
	leash::condition changed(config.writes(), "changed");
	{
		const std::unique_lock writer(config);

		HOLDS(changed.signal().has_value() && changed.broadcast().has_value());
		HOLDS(changed.wait_for(1ms) == std::cv_status::timeout && config.writes().held());
	}
	HOLDS(leash::condition::make(config.reads(), "changed").status() == LEASH_INVALID);
	HOLDS(leash::condition::make(lock, "what?").status() == LEASH_INVALID);
	HOLDS(leash::condition::make(lock, "a\0b"sv).status() == LEASH_INVALID);
	for (const auto &options : {leash::condition_options().recheck(1ms), leash::condition_options().recheck(-1ms),
	                            leash::condition_options().recheck(leash::forever),
	                            leash::condition_options().reacquire(-1ms)})
		HOLDS(leash::condition::make(lock, "range", options).status() == LEASH_INVALID);
	HOLDS(leash::condition::make(lock, "for ever", leash::condition_options().reacquire(leash::forever)).has_value());

	leash::condition from(lock, "moved"), moved(std::move(from));
	HOLDS(from.get() == nullptr && from.signal().status() == LEASH_INVALID && moved.signal().has_value());
	HOLDS(from.await(1s).status() == LEASH_INVALID);
}
