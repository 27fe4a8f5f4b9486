/* The tools of the tests: where one that did nothing would let a test pass. What would fail by itself is not tried here. */
#include "tests/support/asleep.h"
#include "tests/support/child.h"
#include "tests/support/deployment.h"
#include "tests/support/judge.h"
#include "tests/support/node.h"
#include "tests/support/sentinel_set.h"
#include "tests/support/server.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void
hush(void)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDERR_FILENO);
	close(null);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static int
return_five(void *arg)
{
	return arg == NULL ? 5 : 0;
}

static int
fail_somehow(void *how)
{
	hush();
	if (*(char *)how == 'a')
		assert_int_equal(1, 2);
	else if (*(char *)how == 'b')
		await_true_for(false, 0.01);
	else
		child_wait(child_run(return_five, NULL));
	return 0;
}

SENTENCE(a_failure_in_a_child_ends_the_child_and_waiting_for_it_demands_success)
{
	for (char how = 'a'; how <= 'c'; how++) {
		int status = child_end(child_run(fail_somehow, &how));

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	assert_int_equal(WEXITSTATUS(child_end(child_run(return_five, NULL))), 5);
}

struct estate {
	struct stage stage;
	pid_t server, child; /* told to its parent */
	char folder[128];
};

static int
sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg == NULL;
}

static void *
start_one(void *arg)
{
	*(struct server **)arg = server_start(NULL);
	return NULL;
}

static int
build_up_and_wait(void *arg)
{
	struct estate *e = arg;
	struct server *s;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, start_one, &s), 0); /* no signal at the death of that */
	pthread_join(thread, NULL);
	server_pause(s);
	e->server = server_pid(s);
	e->child = child_run(sleep_for_ever, NULL);
	snprintf(e->folder, sizeof e->folder, "%s", server_folder(s));
	stage_set(&e->stage, 1);
	return sleep_for_ever(NULL);
}

/* Neither running nor about to be. (Whoever adopts a dead process may take a while to reap it.) */
static bool
gone(pid_t pid)
{
	return strchr("ZX", state_of(pid)) != NULL;
}

SENTENCE(a_killed_process_leaves_nothing_behind)
{
	struct estate *e = child_share(sizeof *e);
	pid_t pid = child_run(build_up_and_wait, e);

	stage_await(&e->stage, 1);
	assert_int_equal(access(e->folder, F_OK), 0);
	child_kill(pid);
	await_true(gone(e->server) && gone(e->child) && access(e->folder, F_OK) != 0);
	child_unshare(e, sizeof *e);
}

static struct judge *court;

static int
enter_before_the_first_has_left(void *arg)
{
	judge_enter(court, 1, 2);
	judge_leave(court, 1);
	return arg != NULL;
}

SENTENCE(the_judge_reports_an_overlap_of_two_processes)
{
	court = judge_new(2);
	judge_enter(court, 1, 1);
	child_wait(child_run(enter_before_the_first_has_left, NULL));
	judge_leave(court, 1);
	assert_int_equal(judge_entries(court), 2);
	assert_int_equal(judge_violations(court), 1);
	judge_enter(court, 1, 3); /* nobody is inside */
	judge_enter(court, 0, 1); /* another lock */
	assert_int_equal(judge_violations(court), 1);
}

/* A digit enters with that fence and '.' leaves; s and ',' share. */
static const struct trial {
	const char *name, *steps, *violations; /* so many behind each */
} trials[] = {
	{"the_judge_lets_any_number_share_and_nobody_beside_them", "ss0s,,,.0", "001222222"},
	{"the_judge_reports_a_fence_that_does_not_grow", "5.6.7.7.3.", "0000001122"},
};

SENTENCES(is_judged_so, trials)
{
	const struct trial *trial = given;

	court = judge_new(1);
	for (const char *step = trial->steps, *wanted = trial->violations; *step != '\0'; step++, wanted++) {
		if (*step == '.')
			judge_leave(court, 0);
		else if (*step == 's')
			judge_enter_shared(court, 0);
		else if (*step == ',')
			judge_leave_shared(court, 0);
		else
			judge_enter(court, 0, (uint64_t)(*step - '0'));
		assert_int_equal(judge_violations(court), *wanted - '0');
	}
}

/* That a link was there to be held, in any deployment, is found by who holds it. */
SENTENCE(what_a_held_link_of_a_set_has_not_brought_is_lost_by_a_failover)
{
	struct sentinel_set *set = sentinel_set_start(&(struct nodes_options){ .doors = true, .fails_over = true });
	const struct node *nodes = sentinel_set_nodes(set);
	struct server *master = sentinel_set_master(set);

	server_text(master, "SET before kept");
	sentinel_set_await_synced(set);
	nodes_hold_link(nodes, 0, 1);
	server_text(master, "SET key late");
	assert_int_equal(server_integer(master, "WAIT 1 10000"), 1);
	assert_int_equal(server_integer(master, "WAIT 2 300"), 1);
	nodes_let_links_go(nodes, SENTINEL_SERVERS);
	sentinel_set_await_synced(set);
	nodes_hold_link(nodes, 0, 1);
	nodes_hold_link(nodes, 0, 2);
	server_text(master, "SET after lost");
	assert_int_equal(server_integer(master, "WAIT 1 300"), 0);
	server_kill(sentinel_set_server(set, 0));
	sentinel_set_await_failover(set, 0);
	assert_string_equal(server_text(sentinel_set_master(set), "GET before"), "kept");
	assert_null(server_text(sentinel_set_master(set), "GET after"));
	sentinel_set_stop(set);
}

SENTENCE(keys_are_counted_over_all_servers_of_any_deployment)
{
	static const size_t masters[] = {
		[DEPLOYMENT_SINGLE] = 1, [DEPLOYMENT_TLS] = 1, [DEPLOYMENT_SENTINEL] = 1, [DEPLOYMENT_CLUSTER] = 3, [DEPLOYMENT_QUORUM] = 5,
	};

	for (int kind = 0; kind < DEPLOYMENT_KINDS; kind++) {
		struct deployment *d = deployment_start_with((enum deployment_kind)kind, NULL);
		bool quorum = kind == DEPLOYMENT_QUORUM;

		assert_int_equal(deployment_kind(d), kind);
		assert_int_equal(deployment_masters(d), masters[kind]);
		for (size_t i = 0; quorum && i < 5; i++)
			server_text(deployment_master(d, i), "SET leash:{a} 1 PX 100000");
		deployment_text(d, "leash:{a}", "SET %s 1 PX 100000", "leash:{a}");
		deployment_text(d, "leash:{b}", "SET %s 2", "leash:{b}");
		assert_string_equal(deployment_text(d, "leash:{a}", "GET %s", "leash:{a}"), "1");
		assert_int_equal(deployment_keys(d, "leash:*"), quorum ? 6 : 2);
		assert_int_equal(deployment_lasting_keys(d, "leash:*"), 1);
		deployment_stop(d);
	}
}
