/* Who stands still: a process, one thread of it, or somebody between two steps that belong together. Time goes on
 * meanwhile, on the server and for everybody else; whoever goes on must see that before it sees anything else. */
#include "tests/support/child.h"
#include "tests/support/leashed.h"
#include "tests/support/monitor.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static _Thread_local leash_error err; /* what the last call said */

/* ---- a process, or a thread of it ---- */

struct held_up {
	char uri[256];
	int64_t lease_ms;
	unsigned min_replicas;
	struct stage stage;                /* 1: held, and looking */
	_Atomic bool goes_on, enough;      /* the test lets it go on; it has looked enough */
	_Atomic int64_t last_true;         /* a moment before the last look that said held */
	_Atomic int64_t false_at;          /* a moment after the first one that did not; 0: none yet */
	/* looks that said held, after one that did not, and after the test let it go on */
	_Atomic int revived, after;
	_Atomic int lost;                  /* events */
	_Atomic int64_t lost_at;
	_Atomic int release, total;
	_Atomic uint64_t fence;
};

/* Holds a lock and looks at it all the time, which needs nobody but this thread. */
static int
hold_and_look(void *arg)
{
	struct held_up *h = arg;
	struct leashed_events events = {0};
	leash_client *client =
		leashed_open(h->uri, LEASH_OPTIONS(.lease_ms = h->lease_ms, .timeout_ms = 60000, .on_event = leashed_note_event,
		                                   .event_arg = &events));
	leash_lock *lock = leashed_lock(client, "held up", LEASH_LOCK_OPTIONS(.min_replicas = h->min_replicas));

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	h->fence = leash_lock_fence(lock);
	while (!h->enough) {
		bool goes_on = h->goes_on;
		int64_t before = await_now_ns();

		if (leash_lock_held(lock)) {
			h->last_true = before;
			h->revived += h->false_at != 0;
			h->after += goes_on;
		} else if (h->false_at == 0) {
			h->false_at = await_now_ns();
		}
		h->lost_at = events.at_ns[LEASH_EVENT_LOST];
		h->lost = events.count[LEASH_EVENT_LOST];
		stage_set(&h->stage, 1);
	}
	h->release = (int)leash_lock_release(lock, &err);
	leash_lock_free(lock);
	leash_close(client);
	h->lost = events.count[LEASH_EVENT_LOST];
	h->total = events.total;
	return 0;
}

static struct held_up *
begin_holding_at(const char *at, unsigned min_replicas, int64_t lease_ms, pid_t *pid)
{
	struct held_up *h = child_share(sizeof *h);

	snprintf(h->uri, sizeof h->uri, "%s", at);
	h->min_replicas = min_replicas;
	h->lease_ms = lease_ms;
	*pid = child_run(hold_and_look, h);
	stage_await(&h->stage, 1);
	return h;
}

static struct held_up *
begin_holding(int64_t lease_ms, pid_t *pid)
{
	return begin_holding_at(server_uri(server), 0, lease_ms, pid);
}

/* It was told of the loss once, and what was lost stayed so. */
static void
end_having_lost(struct held_up *h, pid_t pid)
{
	h->enough = true;
	child_wait(pid);
	assert_int_equal(h->revived, 0);
	assert_int_equal(h->release, LEASH_LOST);
	assert_int_equal(h->lost, 1);
}

FIXTURE(start_server, stop_server);

SENTENCE(a_process_that_stood_still_for_two_leases_sees_it_before_anything_else)
{
	int64_t lease_ms = slow_ms(1000);
	pid_t pid;
	struct held_up *h = begin_holding(lease_ms, &pid);
	leash_client *client;
	leash_lock *lock;

	assert_int_equal(h->false_at, 0);
	child_pause(pid);
	client = leashed_open(server_uri(server), NULL);
	lock = leashed_lock(client, "held up", NULL);
	await_ms(2 * lease_ms);
	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_true(leash_lock_fence(lock) > h->fence);
	h->goes_on = true;
	child_resume(pid);
	await_true(h->lost == 1);
	end_having_lost(h, pid);
	printf("# lost was told %.1f ms after the first look that said so\n", (double)(h->lost_at - h->false_at) / 1e6);
	assert_int_equal(h->after, 0);
	assert_true(leash_lock_held(lock));
	assert_int_equal(server_integer(server, "HLEN leash:{held%%20up}"), 1);
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	leash_lock_free(lock);
	leash_close(client);
	child_unshare(h, sizeof *h);
}

/* The thread of that name; it sleeps at the moment. 0: not now. */
static pid_t
find_thread(pid_t pid, const char *name)
{
	char path[300], line[128];
	struct dirent *entry;
	pid_t found = 0;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	folder = opendir(path);
	assert_non_null(folder);
	while (found == 0 && (entry = readdir(folder)) != NULL) {
		char state = '\0';
		bool is_it = false;
		FILE *file;

		snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		if (entry->d_name[0] == '.' || (file = fopen(path, "re")) == NULL)
			continue;
		while (fgets(line, sizeof line, file) != NULL) {
			char *value = strchr(line, '\t');

			if (strncmp(line, "Name:", 5) == 0 && value != NULL)
				is_it = strncmp(value + 1, name, strlen(name)) == 0 && value[1 + strlen(name)] == '\n';
			sscanf(line, "State: %c", &state);
		}
		fclose(file);
		if (is_it && state == 'S')
			found = (pid_t)atoi(entry->d_name);
	}
	closedir(folder);
	return found;
}

/* One thread of a process stands still, as if the scheduler had forgotten it. It blocks all signals; a tracer needs
 * none. */
static pid_t
hold_up(pid_t pid, const char *name)
{
	pid_t tid = 0;
	int status;

	await_true((tid = find_thread(pid, name)) != 0);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		fail_msg("ptrace: %s", strerror(errno));
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	assert_true(WIFSTOPPED(status));
	return tid;
}

static void
let_go_on(pid_t tid)
{
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
}

/* By when the server will have dropped the lease, unless it is renewed. */
static int64_t
ends_on_the_server(void)
{
	int64_t ttl = server_integer(server, "PTTL leash:{held%%20up}");

	return await_now_ns() + ttl * MS;
}

SENTENCE(without_its_watchdog_a_hold_ends_with_the_lease_by_arithmetic)
{
	pid_t pid, tid;
	struct held_up *h = begin_holding(slow_ms(1500), &pid);
	int64_t ends;

	await_ms(slow_ms(1000)); /* it was renewed */
	assert_int_equal(h->false_at, 0);
	tid = hold_up(pid, "leash-watchdog");
	await_ms(20);            /* what it had begun is over: from here on nobody renews */
	ends = ends_on_the_server();
	await_true(h->false_at != 0);
	printf("# the last look that said held was %.1f ms before the server let go\n",
	       (double)(ends - h->last_true) / 1e6);
	assert_true(h->last_true < ends);
	await_true(server_integer(server, "EXISTS leash:{held%%20up}") == 0);
	assert_int_equal(h->lost, 0); /* nobody is there to tell */
	let_go_on(tid);
	await_true(h->lost == 1);
	end_having_lost(h, pid);
	child_unshare(h, sizeof *h);
}

SENTENCE(without_the_keeper_a_loss_is_told_when_the_lease_ends)
{
	pid_t pid, tid;
	struct held_up *h = begin_holding(slow_ms(1500), &pid);
	int64_t ends;

	await_ms(slow_ms(1000));
	assert_int_equal(h->false_at, 0);
	tid = hold_up(pid, "leash-keeper");
	await_ms(20);
	ends = ends_on_the_server();
	await_true(h->lost == 1); /* while it stands still */
	printf("# the last look that said held was %.1f ms, the event %.1f ms before the server let go\n",
	       (double)(ends - h->last_true) / 1e6,
	       (double)(ends - h->lost_at) / 1e6);
	assert_true(h->last_true < ends);
	assert_true(h->false_at != 0);
	let_go_on(tid);
	end_having_lost(h, pid);
	child_unshare(h, sizeof *h);
}

SENTENCE(without_the_thread_that_delivers_events_renewals_go_on)
{
	int64_t lease_ms = slow_ms(900);
	pid_t pid, tid;
	struct held_up *h = begin_holding(lease_ms, &pid);

	tid = hold_up(pid, "leash-courier");
	await_ms(4 * lease_ms);
	assert_int_equal(h->false_at, 0);
	let_go_on(tid);
	h->enough = true;
	child_wait(pid);
	assert_int_equal(h->release, LEASH_OK);
	assert_int_equal(h->lost, 0);
	child_unshare(h, sizeof *h);
}

/* The thread that asks the replicas hears of it before the watchdog does. */
SENTENCE(what_too_few_replicas_acknowledge_past_the_lease_is_lost_also_without_the_watchdog)
{
	struct server *master = server_start_tcp((const char *const[]){"--repl-diskless-sync-delay", "0", NULL}), *replica;
	char port[8];
	struct held_up *h;
	pid_t pid, tid;

	snprintf(port, sizeof port, "%d", server_port(master));
	replica = server_start((const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
	h = begin_holding_at(server_uri_tcp(master), 1, slow_ms(1500), &pid);
	server_pause(replica);
	await_true(strstr(server_text(master, "INFO clients"), "blocked_clients:1") != NULL); /* a WAIT is on its way */
	server_pause(master);
	tid = hold_up(pid, "leash-watchdog");
	await_true(h->false_at != 0);
	server_resume(master); /* 0 replicas, and too late */
	await_true(h->lost == 1);
	let_go_on(tid);
	end_having_lost(h, pid);
	child_unshare(h, sizeof *h);
	server_resume(replica);
	server_stop(replica);
	server_stop(master);
}

/* ---- between the arrival of an answer and its reading ---- */

struct late_reader {
	char uri[256];
	int64_t wait_ms;
	struct stage stage; /* 1: warm. 2, by the test: ask. 3: done, 4, by the test: release */
	_Atomic int status, held, released;
	_Atomic uint64_t fence;
};

enum { READ_LATE_MS = 800 }; /* a lease */

static int
ask_and_read_late(void *arg)
{
	struct late_reader *r = arg;
	leash_client *client = leashed_open(r->uri, LEASH_OPTIONS(.lease_ms = READ_LATE_MS, .timeout_ms = 60000));
	leash_lock *lock = leashed_lock(client, "late", NULL);

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	assert_status(LEASH_OK, leash_lock_release(lock, &err));
	stage_set(&r->stage, 1);
	stage_await(&r->stage, 2);
	r->status = (int)leash_lock_acquire(lock, r->wait_ms, &err);
	r->held = leash_lock_held(lock);
	r->fence = leash_lock_fence(lock);
	stage_set(&r->stage, 3);
	stage_await(&r->stage, 4);
	if (r->status == LEASH_OK)
		r->released = (int)leash_lock_release(lock, &err);
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

/* Stop it when the answer "held" has been executed, let the answer arrive, and let it go on when the lease is over. */
static char *
read_late(struct late_reader *r, struct proxy *proxy, pid_t pid)
{
	char *token;

	stage_await(&r->stage, 1);
	proxy_hold_reply(proxy, "evalsha");
	stage_set(&r->stage, 2);
	proxy_wait_hit(proxy);
	child_pause(pid);
	token = strdup(server_text(server, "HKEYS leash:{late}"));
	proxy_release(proxy);
	await_ms(20); /* it lies in the socket now */
	await_true(server_integer(server, "EXISTS leash:{late}") == 0);
	return token;
}

SENTENCE(an_answer_that_is_read_when_the_lease_is_over_holds_nothing)
{
	static const int64_t waits[] = {300, LEASH_FOREVER}; /* over meanwhile, or not */
	struct proxy *proxy;

	if (UNDER_TSAN) /* the proxy and the clients have threads in this process */
		skip();
	proxy = proxy_start(server_socket(server));
	for (int i = 0; i < 2; i++) {
		struct late_reader *r = child_share(sizeof *r);
		struct monitor *monitor = monitor_start(server);
		leash_client *client;
		leash_lock *lock;
		uint64_t fence;
		char *token, ask_again[128];
		pid_t pid;

		snprintf(r->uri, sizeof r->uri, "%s", proxy_uri(proxy));
		r->wait_ms = waits[i];
		pid = child_run(ask_and_read_late, r);
		token = read_late(r, proxy, pid);
		assert_true(strlen(token) > 36);
		client = leashed_open(server_uri(server), NULL);
		lock = leashed_lock(client, "late", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
		fence = leash_lock_fence(lock);
		child_resume(pid);
		if (i == 0) {
			stage_await(&r->stage, 3);
			assert_int_not_equal(r->status, LEASH_OK);
			assert_int_equal(r->held, 0);
		} else {
			await_true(server_integer(server, "ZCOUNT leash:{late}:queue (0 +inf") == 1); /* it asks anew */
			assert_int_equal(stage_now(&r->stage), 2);
		}
		assert_true(leash_lock_held(lock));
		/* of that token nothing is ever asked again; a cancel of it is sent */
		snprintf(ask_again, sizeof ask_again, "\"%s\" \"%d\"", token, READ_LATE_MS);
		monitor_await(monitor, token, 2);
		assert_int_equal(monitor_count(monitor, ask_again), 1);
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		stage_await(&r->stage, 3);
		if (i == 1) {
			assert_int_equal(r->status, LEASH_OK);
			assert_int_equal(r->held, 1);
			assert_true(r->fence > fence);
		}
		stage_set(&r->stage, 4);
		child_wait(pid);
		assert_int_equal(r->released, LEASH_OK);
		assert_int_equal(server_integer(server, "EXISTS leash:{late} leash:{late}:queue"), 0);
		free(token);
		monitor_stop(monitor);
		leash_lock_free(lock);
		leash_close(client);
		child_unshare(r, sizeof *r);
	}
	proxy_stop(proxy);
}

/* ---- between a look and a write ---- */

struct resource {
	_Atomic uint64_t value;  /* who wrote last, by its fence */
	_Atomic uint64_t fence;  /* the largest that it has seen; 0: it does not look at fences */
	_Atomic int corrupted;   /* writes by a hold that was older than the one before */
	_Atomic int refused;
};

static void
write_to(struct resource *r, uint64_t fence, bool fenced)
{
	if (fenced && fence < r->fence) {
		r->refused++;
		return;
	}
	if (fenced)
		r->fence = fence;
	r->corrupted += fence < r->value;
	r->value = fence;
}

struct writer {
	char uri[256];
	struct stage stage; /* 1: has looked. 2, by the test: write */
	_Atomic int looked, looks_again;
	struct resource plain, fenced;
};

static int
look_pause_and_write(void *arg)
{
	struct writer *w = arg;
	leash_client *client = leashed_open(w->uri, LEASH_OPTIONS(.lease_ms = 800));
	leash_lock *lock = leashed_lock(client, "resource", NULL);
	uint64_t fence;

	assert_status(LEASH_OK, leash_lock_acquire(lock, 30000, &err));
	fence = leash_lock_fence(lock);
	w->looked = leash_lock_held(lock);
	stage_set(&w->stage, 1);
	stage_await(&w->stage, 2); /* it stands still in here, between its look and its write */
	write_to(&w->plain, fence, false);
	write_to(&w->fenced, fence, true);
	w->looks_again = leash_lock_held(lock);
	leash_lock_release(lock, &err);
	leash_lock_free(lock);
	leash_close(client);
	return 0;
}

SENTENCE(who_stood_still_between_look_and_write_is_stopped_by_a_fence_and_by_nothing_else)
{
	enum { ROUNDS = 3 };
	int corrupted = 0, refused = 0;

	if (UNDER_TSAN) /* the clients have threads in this process */
		skip();
	for (int i = 0; i < ROUNDS; i++) {
		struct writer *w = child_share(sizeof *w);
		leash_client *client;
		leash_lock *lock;
		uint64_t fence;
		pid_t pid;

		snprintf(w->uri, sizeof w->uri, "%s", server_uri(server));
		pid = child_run(look_pause_and_write, w);
		stage_await(&w->stage, 1);
		child_pause(pid);
		client = leashed_open(server_uri(server), NULL);
		lock = leashed_lock(client, "resource", NULL);
		assert_status(LEASH_OK, leash_lock_acquire(lock, LEASH_FOREVER, &err));
		fence = leash_lock_fence(lock);
		write_to(&w->plain, fence, false);
		write_to(&w->fenced, fence, true);
		stage_set(&w->stage, 2);
		child_resume(pid);
		child_wait(pid);
		assert_int_equal(w->looked, 1);
		assert_int_equal(w->looks_again, 0);
		assert_true(w->plain.value < fence); /* as the first page of the README says */
		assert_true(w->fenced.value == fence);
		assert_int_equal(w->fenced.corrupted, 0);
		corrupted += w->plain.corrupted;
		refused += w->fenced.refused;
		assert_true(leash_lock_held(lock));
		assert_status(LEASH_OK, leash_lock_release(lock, &err));
		leash_lock_free(lock);
		leash_close(client);
		child_unshare(w, sizeof *w);
	}
	printf("# %d pauses: %d corrupt writes without a fence, %d refused with one\n", ROUNDS, corrupted, refused);
	assert_int_equal(corrupted, ROUNDS);
	assert_int_equal(refused, ROUNDS);
}
