/* Forked children: what is their parent's is not theirs, and they may have a client of their own. */
#include "tests/contract/interface.h"
#include "tests/support/sanitizer.h"

#include <unistd.h>

/* What a child finds of its parent's. */
static struct {
	leash_client *client;
	leash_lock *held, *unheld;
	struct callee callee;
	char token[LEASH_TOKEN_MAX];
} parents;

static void
open_for_children(leash_client *client)
{
	parents.client = client;
	parents.held = leashed_lock(parents.client, "parent's", NULL);
	parents.unheld = leashed_lock(parents.client, "nobody's", NULL);
	assert_status(LEASH_OK, leash_lock_acquire(parents.held, 0, &err));
	assert_true(leash_lock_token(parents.held, parents.token, sizeof parents.token) > 0);
	callee_open(&parents.callee, client, parents.held);
}

static void
close_after_children(void)
{
	assert_true(leash_lock_held(parents.held) && leash_multi_held(parents.callee.multi));
	assert_int_equal(leash_permit_held(parents.callee.permit), parents.callee.permit != NULL);
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	callee_close(&parents.callee);
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
}

static void
check_refused_in_child(leash_lock *lock)
{
	struct callee callee = parents.callee;

	callee.lock = lock;
	assert_string_equal(calls_not_refused(&callee, LEASH_FORKED), "");
	assert_holds_nothing(lock);
	assert_false(leash_permit_held(callee.permit) || leash_multi_held(callee.multi));
	leash_lock_alive(lock);
	assert_string_equal(leash_lock_name(lock), lock == parents.held ? "parent's" : "nobody's");
	assert_ptr_equal(leash_lock_client(lock), parents.client);
}

static int
use_all_in_child(void *arg)
{
	(void)arg;
	check_refused_in_child(parents.held);
	check_refused_in_child(parents.unheld);
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
	check_refused_in_child(parents.held);
	callee_close(&parents.callee);
	leash_lock_free(parents.held);
	return 0;
}

FIXTURE(note_what_there_is, nothing_is_left);
PLACE(life_open);

SENTENCE(a_child_that_uses_what_is_its_parents_is_told_so_and_sends_not_a_byte, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	uint64_t bytes;

	/* so that there is no renewal meanwhile */
	open_for_children(leashed_open(proxy_uri(proxy), LEASH_OPTIONS(.lease_ms = 86400000)));
	bytes = proxy_counts(proxy).bytes;
	for (int i = 0; i < 3; i++)
		child_wait(child_run(use_all_in_child, NULL));
	assert_int_equal(proxy_counts(proxy).bytes, bytes);
	assert_int_equal(proxy_open(proxy), 2);
	/* and the parent's connections have come to no harm */
	assert_status(LEASH_OK, leash_lock_extend(parents.held, 86400000, &err));
	assert_int_equal(proxy_accepted(proxy), 2);
	close_after_children();
}

/* It returns, exits, frees the locks before that, or closes the client as well. */
static int
end_child(void *arg)
{
	int how = *(int *)arg;

	if (how >= 2) {
		leash_lock_free(parents.held);
		leash_lock_free(parents.unheld);
	}
	if (how >= 3)
		leash_close(parents.client);
	if (how >= 1 && !UNDER_ASAN)
		exit(0);
	return 0;
}

SENTENCE(a_parent_keeps_its_lock_whatever_its_children_do)
{
	leash_lock *wanted = kept(leashed_lock(kept(open_client()), "parent's", NULL));

	open_for_children(place_client(LEASH_OPTIONS(.lease_ms = 3000)));
	for (int how = 0; how < 4; how++) {
		child_wait(child_run(end_child, &how));
		int64_t before = await_now_ns();
		assert_status(LEASH_TIMEOUT, leash_lock_acquire(wanted, 3100, &err)); /* longer than the lease */
		assert_true(await_now_ns() - before >= 3090 * MS);
		assert_true(leash_lock_held(parents.held));
		assert_int_equal(leash_lock_depth(parents.held), 1);
	}
	close_after_children();
}

/* Until no connection is just being made, as one now and then is to look at a deployment: whoever forks meanwhile may
 * copy that too. */
static void
let_connections_rest(void)
{
	int n;

	do {
		n = count_fds(false);
		await_ms(20);
	} while (count_fds(false) != n);
}

/* Descriptors: those that are no eventfds, and those that are. */
static int
count_in_child(void *counts)
{
	((int *)counts)[0] = count_fds(false);
	((int *)counts)[1] = count_fds(true);
	return 0;
}

/* Before it closes the client, and behind that. */
static int
close_in_child(void *counts)
{
	count_in_child(counts);
	leash_close(parents.client);
	return count_in_child((int *)counts + 2);
}

SENTENCE(close_in_a_child_closes_all_copies_of_the_descriptors)
{
	int before = count_fds(false), *counts = child_share(6 * sizeof *counts), *least = &counts[4];

	child_wait(child_run(count_in_child, least)); /* what a child has of a parent without a client */
	leash_close(open_client()); /* has all the eventfds made that one client needs */
	int events = count_fds(true);
	open_for_children(open_client());
	let_connections_rest();
	child_wait(child_run(close_in_child, counts));
	assert_true(counts[0] > *least);
	assert_int_equal(counts[2], *least);
	assert_true(counts[1] > counts[3]);
	close_after_children();
	assert_int_equal(count_fds(false), before);
	assert_true(count_fds(true) <= events);
}

SENTENCE(close_in_a_child_closes_copies_of_connections_that_are_being_made, .but = PLACE_ONE_SOCKET)
{
	struct proxy *proxy = kept(proxy_start(server_socket(server)));
	int *counts = child_share(8 * sizeof *counts), *again = counts + 4;

	open_for_children(leashed_open(proxy_uri(proxy), NULL));
	await_true(proxy_open(proxy) == 2);
	child_wait(child_run(close_in_child, counts));
	assert_true(counts[0] - counts[2] > 2);
	proxy_hold(proxy, PROXY_BOTH); /* so that nobody answers to a hello */
	proxy_reset_all(proxy);
	for (int i = 0; i < 20 && again[0] - again[2] != counts[0] - counts[2]; i++) { /* else it was forked between two attempts */
		await_true(proxy_open(proxy) == 2);
		child_wait(child_run(close_in_child, again));
	}
	assert_int_equal(again[0] - again[2], counts[0] - counts[2]);
	proxy_release(proxy);
	await_true(leash_lock_extend(parents.held, 30000, NULL) == LEASH_OK);
	close_after_children();
}

static int
open_in_child(void *arg)
{
	struct stage *stage = arg;
	leash_client *client = open_client();
	leash_lock *mine = leashed_lock(client, "child's", NULL), *theirs = leashed_lock(client, "parent's", NULL);
	char token[LEASH_TOKEN_MAX];

	assert_status(LEASH_OK, leash_lock_acquire(mine, 0, &err));
	assert_true(leash_lock_token(mine, token, sizeof token) > 0);
	assert_int_not_equal(strncmp(token, parents.token, 36), 0); /* a client of its own */
	assert_status(LEASH_TIMEOUT, leash_lock_acquire(theirs, 0, &err));
	check_refused_in_child(parents.held);
	stage_set(stage, 1);
	assert_status(LEASH_OK, leash_lock_acquire(theirs, LEASH_FOREVER, &err));
	check_refused_in_child(parents.held);
	leash_close(parents.client);
	assert_true(leash_lock_held(theirs));
	assert_status(LEASH_OK, leash_lock_release(theirs, &err));
	assert_status(LEASH_OK, leash_lock_release(mine, &err));
	leash_lock_free(theirs);
	leash_lock_free(mine);
	leash_close(client);
	return 0;
}

SENTENCE(a_child_can_open_a_client_of_its_own)
{
	struct stage *stage = child_share(sizeof *stage);

	if (UNDER_TSAN)
		return;
	open_for_children(open_client());
	pid_t pid = child_run(open_in_child, stage);
	stage_await(stage, 1);
	place_await_waiting("parent's", 1);
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	child_wait(pid);
	assert_status(LEASH_OK, leash_lock_acquire(parents.held, 5000, &err));
	close_after_children();
}

static int
look_about_in_child(void *arg)
{
	alarm(60); /* or a mutex that nobody will ever unlock would stay unnoticed */
	check_refused_in_child(parents.held);
	if (*(int *)arg % 8 == 0 && !UNDER_TSAN && !UNDER_ASAN)
		use_own_client();
	leash_lock_free(parents.unheld);
	leash_close(parents.client);
	return 0;
}

SENTENCE(children_that_are_forked_amid_calls_of_other_threads_do_not_hang)
{
	struct busy busy[3];

	open_for_children(open_client());
	busy_begin(busy, COUNT(busy), parents.client);
	for (int i = 0; i < 80; i++)
		child_wait(child_run(look_about_in_child, &i));
	assert_status(LEASH_OK, leash_lock_release(parents.held, &err));
	leash_close(parents.client);
	busy_end(busy, COUNT(busy));
	callee_close(&parents.callee);
	leash_lock_free(parents.held);
	leash_lock_free(parents.unheld);
}

/* ---- children of callbacks ---- */

static int
use_leash(void *arg)
{
	leash_client *client = NULL;

	(void)arg;
	/* that is looked at next */
	assert_status(LEASH_INVALID, leash_open(&client, LEASH_OPTIONS(.uri = "nowhere://"), &err));
	if (!UNDER_TSAN)
		use_own_client();
	return 0;
}

struct birth {
	_Atomic bool over;
	int status;
	leash_status parent;
};

static void
fork_a_child(void *arg, const leash_event *event)
{
	struct birth *birth = arg;
	leash_client *client = NULL;

	(void)event;
	birth->parent = leash_open(&client, LEASH_OPTIONS(.uri = place_uri()), NULL);
	birth->status = child_end(child_run(use_leash, NULL));
	birth->over = true;
}

SENTENCE(a_child_that_was_forked_in_a_callback_is_in_no_callback)
{
	struct birth birth = {.parent = LEASH_OK};
	const leash_lock_options *how = LEASH_LOCK_OPTIONS(.on_event = fork_a_child, .event_arg = &birth);
	leash_lock *lock = leashed_lock(kept(place_client(NULL)), "parent", how);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 0, &err));
	leash_lock_free(lock); /* abandoned: that is an event */
	await_true(birth.over);
	assert_int_equal(birth.parent, LEASH_IN_CALLBACK);
	assert_int_equal(birth.status, 0);
}
