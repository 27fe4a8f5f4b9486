/* What goes out in one write: where a turn of a process ends, the release and the request of who is next; and all that
 * is asked for a set of locks. */
#include "tests/contract/interface.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/param.h>
#include <sys/socket.h>

/* With data, that this process has sent to the server: as the kernel counts them. */
static uint64_t
segments(struct server *to)
{
	uint64_t sum = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_in peer;
		struct tcp_info info = {0};
		socklen_t size = sizeof peer, info_size = sizeof info;

		if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
		    ntohs(peer.sin_port) == server_port(to) && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) == 0)
			sum += info.tcpi_data_segs_out - info.tcpi_total_retrans;
	}
	return sum;
}

SENTENCE(a_release_and_the_next_request_go_out_in_one_write)
{
	struct server *to = kept(server_start_tcp(NULL));
	leash_client *client = kept(leashed_open(server_uri_tcp(to), LEASH_OPTIONS(.lease_ms = 600000, .timeout_ms = 60000)));
	struct actor next;

	leash_lock *lock = kept(leashed_lock(client, "written", LEASH_LOCK_OPTIONS(.no_handoff = true)));
	uint64_t before = segments(to);
	take_and_give_back(lock);
	assert_true(segments(to) - before >= 2); /* two writes are told from one */
	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	begin_waiting(&next, lock, LEASH_FOREVER);
	await_true(stats_of(client).waiting == 1);
	before = segments(to);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	actor_hear(&next);
	assert_int_equal(segments(to) - before, 1);
	end_waiting(&next);
}

SENTENCE(all_locks_of_a_set_are_asked_for_in_one_write_and_released_in_one)
{
	struct server *to = kept(server_start_tcp(NULL));
	leash_client *client = kept(leashed_open(server_uri_tcp(to), LEASH_OPTIONS(.lease_ms = 600000, .timeout_ms = 60000)));
	leash_lock *locks[8];
	uint64_t before, asked = UINT64_MAX, released = UINT64_MAX;

	for (int i = 0; i < 8; i++)
		locks[i] = kept(leashed_lock(client, (char[]){(char)('a' + i), 0}, NULL));
	leash_multi *set = multi_of(locks, 8);
	/* the least: the first turn loads the scripts, and in any of them the client's thread may still be reading, and
	 * write what there is so far */
	for (int turn = 0; turn < 20; turn++) {
		before = segments(to);
		assert_status(LEASH_OK, leash_multi_acquire(set, LEASH_FOREVER, &err));
		asked = MIN(asked, segments(to) - before);
		before = segments(to);
		assert_status(LEASH_OK, leash_multi_release(set, &err));
		released = MIN(released, segments(to) - before);
	}
	assert_int_equal(asked, 1);
	assert_int_equal(released, 1);
}
