/* Locks of leash with the guards of the standard library: threads move money between two accounts, half of them one
 * way, half of them the other way, while others look at both.
 *
 *   scoped_lock [URI]
 *
 * std::scoped_lock acquires both locks or none, so it never deadlocks. With std::shared_lock several threads read
 * together. (If many want the same locks, use a leash::multi, which waits in their queues instead of retrying.) */
#include <leash.hpp>

#include <cstdio>
#include <exception>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct account {
	leash::lock lock;
	long balance; /* guarded by the lock */
};

void move_money(account &from, account &to, leash::read_write_lock &day)
{
	for (int i = 0; i < 20; i++) {
		const std::shared_lock is_open(day);
		const std::scoped_lock both(from.lock, to.lock);

		from.balance -= 1;
		to.balance += 1;
	}
}

/* Nobody moves money meanwhile, so the sum is right. */
long close_the_day(const account &ann, const account &bob, leash::read_write_lock &day)
{
	std::unique_lock alone(day, 10s);

	if (!alone)
		throw std::runtime_error("the day cannot be closed: it is used all the time");
	const long sum = ann.balance + bob.balance;
	leash::release(alone).value(); /* throws if the lock was lost meanwhile: then the sum may be wrong */
	return sum;
}

} // namespace

int main(int argc, char **argv)
try {
	leash::client_options options;
	if (argc > 1)
		options.uri(argv[1]);
	leash::client client(options);
	leash::read_write_lock day(client, "day");
	account ann{leash::lock(client, "account/ann"), 1000}, bob{leash::lock(client, "account/bob"), 0};
	std::vector<std::future<void>> tellers;

	for (int i = 0; i < 4; i++)
		tellers.push_back(std::async(std::launch::async, [&, i] {
			i % 2 == 0 ? move_money(ann, bob, day) : move_money(bob, ann, day);
		}));
	const long meanwhile = close_the_day(ann, bob, day);
	for (std::future<void> &teller : tellers)
		teller.get(); /* throws what it threw */
	std::printf("80 transfers, 4 threads: %ld in all, %ld meanwhile\n", ann.balance + bob.balance, meanwhile);
	return 0;
} catch (const std::exception &e) {
	std::fprintf(stderr, "scoped_lock: %s\n", e.what());
	return 1;
}
