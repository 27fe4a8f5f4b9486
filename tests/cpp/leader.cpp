/* Who leads, and who watches, against a real server. */
#include "sentence.hpp"

#include <future>
#include <mutex>
#include <string_view>

using namespace std::chrono_literals;
using namespace std::string_view_literals;

SENTENCE(who_watches_hears_of_each_change)
{
	leash::client ours, theirs;
	leash::lock post(ours, "post");
	leash::watch watch(theirs, "post");
	leash::leader who = watch.next({}).value();

	HOLDS(!who.leads && who.token.empty() && who.fence == 0 && who.remaining == 0s && who.value.empty());
	HOLDS(watch.next({}).status() == LEASH_TIMEOUT && !watch.look().value().leads);
	post.lock();
	HOLDS(post.proclaim("10.0.0.7:8080").has_value());
	while (who.value.empty())
		who = watch.next(leash::forever).value();
	HOLDS(who.leads && who.value == "10.0.0.7:8080" && who.token == post.token() && who.fence == post.fence());
	HOLDS(who.remaining > 10s && who.remaining <= 30s && watch.look()->value == who.value);
	HOLDS(post.proclaim("elsewhere").has_value() && watch.next(leash::forever)->value == "elsewhere");
	post.unlock();
	HOLDS(!watch.next(leash::forever)->leads);
}

/* test_cpp.sh has made it. */
SENTENCE(a_leader_whose_lease_has_no_end_leads_for_ever)
{
	leash::client client;
	const leash::leader who = leash::watch(client, "endless").look().value();

	HOLDS(who.leads && who.remaining == leash::forever && who.value.empty());
}

SENTENCE(a_cancel_ends_a_watch)
{
	leash::client client;
	leash::watch watch(client, "canceled watch");
	leash::cancel stop;

	HOLDS(watch.next({}).has_value());
	auto news = std::async(std::launch::async, [&] {
		return watch.next(leash::acquire_options(leash::forever).cancel(stop)).status();
	});
	HOLDS(news.wait_for(30ms) == std::future_status::timeout);
	stop.fire();
	HOLDS(news.get() == LEASH_CANCELED);
}

SENTENCE(what_cannot_be_proclaimed_or_watched_is_refused)
{
	leash::client client;
	leash::lock post(client, "refused post");
	leash::watch from(client, "refused post"), watch(std::move(from));

	HOLDS(post.proclaim("nobody leads").status() == LEASH_NOT_HELD);
	const std::lock_guard guard(post);
	HOLDS(post.proclaim("").status() == LEASH_INVALID && post.proclaim("a\0b"sv).status() == LEASH_INVALID);
	HOLDS(post.proclaim(std::string(LEASH_VALUE_MAX + 1, 'v')).status() == LEASH_INVALID);
	HOLDS(post.proclaim(std::string(LEASH_VALUE_MAX, 'v')).has_value());
	HOLDS(watch.look()->value.size() == LEASH_VALUE_MAX);
	HOLDS(from.get() == nullptr && from.next(1s).status() == LEASH_INVALID && !from.look());
	HOLDS(leash::watch::make(client, "a\0b"sv).status() == LEASH_INVALID);
	HOLDS(leash::watch::make(client, "").status() == LEASH_INVALID);
}
