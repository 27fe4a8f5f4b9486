/* Semaphores and permits, against a real server. */
#include "sentence.hpp"

#include <thread>
#include <vector>

using namespace std::chrono_literals;

SENTENCE(no_more_permits_are_out_than_there_are)
{
	leash::client ours, theirs;
	leash::semaphore cards(ours, "cards", 3), same(theirs, "cards", 3);
	{
		leash::permit two = cards.acquire(leash::forever, 2).value();
		const leash::result<leash::permit> one = same.acquire(5s);

		HOLDS(two.held() && two.count() == 2 && two.remaining() > 10s && !two.token().empty() && one && one->held());
		HOLDS(same.acquire({}).status() == LEASH_TIMEOUT && cards.acquire(1ms).error().text[0] != '\0');
		HOLDS(two.release_some(1).has_value() && two.count() == 1 && same.acquire({}).has_value());
	}
	HOLDS(cards.acquire({}, 3).has_value());
	HOLDS(cards.acquire({}, 4).status() == LEASH_INVALID);
}

SENTENCE(permits_move_and_any_thread_gives_them_back)
{
	leash::client client;
	leash::semaphore cards(client, "moving cards", 2);
	std::vector<leash::permit> kept;
	leash::permit one = cards.acquire({}).value(), none;

	kept.push_back(std::move(one));
	kept.push_back(*cards.acquire({}));
	HOLDS(!one.held() && one.count() == 0 && one.get() == nullptr && one.release().status() == LEASH_INVALID);
	HOLDS(kept[0].held() && !cards.acquire({}) && kept[0].extend(1min).has_value());
	std::thread([&] { kept.clear(); }).join();
	none = cards.acquire({}, 2).value();
	HOLDS(none.count() == 2 && none.release().has_value() && !none.held());
}

SENTENCE(lost_permits_are_told_by_release)
{
	leash::client client;
	leash::semaphore cards(client, "lost cards", 1);
	leash::permit card = cards.acquire({}).value();

	HOLDS(leash_semaphore_break(cards.get(), nullptr) == LEASH_OK && !card.held());
	HOLDS(card.release().status() == LEASH_LOST && card.get() == nullptr);
}

SENTENCE(a_limit_of_none_is_refused)
{
	leash::client client;

	try {
		leash::semaphore(client, "none", 0);
		HOLDS(false);
	} catch (const leash::error &e) {
		HOLDS(e.status() == LEASH_INVALID);
	}
}
