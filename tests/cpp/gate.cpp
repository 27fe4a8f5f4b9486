/* Latches and barriers, against a real server. */
#include "sentence.hpp"

#include <atomic>
#include <future>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;
using namespace std::string_view_literals;

SENTENCE(a_latch_opens_once_enough_have_arrived)
{
	leash::client ours, theirs;
	leash::latch latch(ours, "latch", 3), same(theirs, "latch", 3);

	HOLDS(!latch.try_wait() && latch.arrived().value() == 0);
	latch.count_down("worker-1");
	HOLDS(same.arrive("worker-1").has_value() && same.arrived().value() == 1);
	HOLDS(same.await(30ms).status() == LEASH_TIMEOUT && same.arrive().has_value());
	auto waiter = std::async(std::launch::async, [&] { same.wait(); });
	HOLDS(waiter.wait_for(30ms) == std::future_status::timeout);
	latch.count_down();
	waiter.get();
	HOLDS(latch.try_wait() && latch.await({}).has_value() && latch.arrived().value() == 3);
}

SENTENCE(who_arrives_and_waits_goes_on_with_the_last)
{
	leash::client client;
	leash::latch latch(client, "last", 2);
	auto first = std::async(std::launch::async, [&] { latch.arrive_and_wait("first"); });

	HOLDS(first.wait_for(30ms) == std::future_status::timeout);
	latch.arrive_and_wait();
	first.get();
	HOLDS(latch.arrived().value() == 2);
}

SENTENCE(a_cancel_ends_waits_at_gates)
{
	leash::client client;
	leash::latch latch(client, "canceled latch", 1);
	leash::barrier barrier(client, "canceled barrier", 2);
	leash::cancel stop;
	const auto until_stopped = leash::acquire_options(leash::forever).cancel(stop);
	auto at_latch = std::async(std::launch::async, [&] { return latch.await(until_stopped).status(); });
	auto at_barrier = std::async(std::launch::async, [&] { return barrier.await(until_stopped).status(); });

	HOLDS(at_latch.wait_for(30ms) == std::future_status::timeout);
	HOLDS(at_barrier.wait_for(0s) == std::future_status::timeout);
	stop.fire();
	HOLDS(at_latch.get() == LEASH_CANCELED && at_barrier.get() == LEASH_CANCELED);
}

SENTENCE(nobody_at_a_barrier_is_a_round_ahead)
{
	static constexpr int parties = 3, rounds = 5;
	leash::client ours, theirs;
	leash::barrier barrier(ours, "barrier", parties), same(theirs, "barrier", parties);
	std::atomic<int> done[rounds] = {}, early = 0;
	const auto go_on = [&](leash::barrier &at) {
		for (std::atomic<int> &round : done) {
			round++;
			at.arrive_and_wait();
			early += round < parties;
		}
	};
	std::vector<std::future<void>> tasks;

	for (int i = 0; i < parties; i++)
		tasks.push_back(std::async(std::launch::async, [&, i] { go_on(i == 0 ? same : barrier); }));
	for (std::future<void> &task : tasks)
		task.get();
	HOLDS(early == 0 && done[rounds - 1] == parties);
	HOLDS(barrier.await({}).status() == LEASH_TIMEOUT && barrier.await(30ms).status() == LEASH_TIMEOUT);
}

SENTENCE(a_gate_that_cannot_be_is_refused)
{
	leash::client client;
	leash::latch latch(client, "refused", 1), moved(std::move(latch));
	leash::barrier barrier(client, "refused too", 1), moved_barrier(std::move(barrier));

	HOLDS(leash::latch::make(client, "none", 0).status() == LEASH_INVALID);
	HOLDS(leash::latch::make(client, "a\0b"sv, 1).status() == LEASH_INVALID);
	HOLDS(leash::barrier::make(client, "none", LEASH_BARRIER_MAX + 1).status() == LEASH_INVALID);
	HOLDS(leash::barrier::make(client, "\0"sv, 1).status() == LEASH_INVALID);
	HOLDS(latch.get() == nullptr && latch.arrive().status() == LEASH_INVALID && !latch.arrived());
	HOLDS(barrier.get() == nullptr && barrier.await(1s).status() == LEASH_INVALID);
	for (const std::string &party : {std::string(), std::string("a\0b"sv), std::string(LEASH_NAME_MAX + 1, 'p')})
		HOLDS(moved.arrive(party).status() == LEASH_INVALID);
	HOLDS(moved.arrive(std::string(LEASH_NAME_MAX, 'p')).has_value() && moved_barrier.await({}).has_value());
	try {
		moved.count_down("");
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_INVALID);
	}
}
