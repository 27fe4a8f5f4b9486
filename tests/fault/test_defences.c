/* Each defence is needed: with it taken out (lib/base/mutation.h) a named test fails, and for the reason that it is there for.
 *
 * That test is run in a process of its own with the shared library of the mutations in place of libleash.so: without a mutation it
 * passes, with it it does not, and says what belongs to it. Twice, since one failure may be that of a busy machine. Several are
 * run at a time: they wait more than they compute.
 *
 * With the argument --table this prints the table of docs/defences.md. */
#include "base/mutation.h"
#include "tests/support/child.h"
#include "tests/support/sanitizer.h"
#include "tests/support/server.h"
#include "tests/support/sweep.h"
#include "tests/support/test.h"
#include "tests/support/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_A_TIME = 4, LIMIT_S = 120 };

struct run {
	int status;    /* of waitpid */
	char *output;
	double lasted_s;
};

static struct defence {
	enum lsh_mutation mutation;
	const char *name;    /* of its sentence */
	const char *of;      /* the mutation */
	const char *what;    /* is taken out */
	const char *program; /* in tests/ */
	const char *test;
	const char *shows;   /* what it says, at least, when it fails */
	struct run without, with[2];
} defences[] = {
#define DEFENCE(mutation, what, program, test, shows) {mutation, #mutation "_is_noticed", #mutation, what, program, test, shows, {0, NULL, 0}, {{0, NULL, 0}, {0, NULL, 0}}}
	DEFENCE(LSH_SENT_WORDS_COUNT, "a claim counts from the last word that was answered, not from one that was sent", "fault/test_claims",
	        "a_claim_counts_from_the_last_word_that_was_answered", "two had it at once"),
	DEFENCE(LSH_CLAIMS_COUNT_FROM_NOW, "a claim counts from before the grant, not from when its message comes", "fault/test_claims",
	        "a_claim_counts_from_before_its_message_was_sent", "two had it at once"),
	DEFENCE(LSH_TOKENS_COME_BACK, "a token that the server did not know is dead", "fault/test_claims",
	        "a_token_that_was_unknown_is_not_asked_again", "two had it at once"),
	DEFENCE(LSH_REPEATED_ASKS_COUNT, "no word moves the claim of a token that was asked twice", "fault/test_claims",
	        "no_word_prolongs_the_claim_of_what_was_asked_twice", "two had it at once"),
	DEFENCE(LSH_FIRST_CANCEL_IS_ENOUGH, "a cancel is owed until no ask can come after it", "fault/test_ghosts",
	        "a_cancel_is_repeated_until_no_ask_can_come_after_it", "the lock was nobody's"),
	DEFENCE(LSH_ASKS_LIVE_FOREVER, "an ask that comes after its time does nothing", "fault/test_ghosts",
	        "an_ask_that_comes_after_its_time_does_nothing", "the lock was nobody's"),
	DEFENCE(LSH_GHOSTS_STAY, "a grant of which nobody here knows is canceled", "fault/test_ghosts",
	        "the_grant_of_a_place_that_nobody_waits_for_is_given_back", "the lock was nobody's"),
	DEFENCE(LSH_REPLIES_COUNT, "a lease counts from when it was asked for, not from the reply", "fault/test_claims",
	        "a_lease_counts_from_when_it_was_asked_for", "two had it at once"),
	DEFENCE(LSH_CLAIMS_LAST_A_LEASE, "a grant counts for its claim until it is renewed", "fault/test_claims",
	        "what_is_granted_is_renewed_before_its_claim_ends", "two had it at once"),
	DEFENCE(LSH_WORDS_ARE_NOT_SAID, "who waits asks from time to time how it stands", "fault/test_ghosts",
	        "who_waits_asks_how_it_stands_where_no_message_comes", "the lock was nobody's"),
	DEFENCE(LSH_RECONNECTS_ARE_IGNORED, "over a new connection all is said anew: renewals, words, cancels", "fault/test_ghosts",
	        "what_is_held_is_renewed_over_the_next_connection", "events.count[LEASH_EVENT_RECOVERED]"),
	DEFENCE(LSH_CANCELS_ARE_NOT_SENT, "who gives up cancels what the server may know of it", "fault/test_cut",
	        "a_caller_who_gave_up_before_the_answer_came_keeps_nobody_out", "leash_lock_acquire(other, 10000"),
	DEFENCE(LSH_RENEWALS_GO_ON, "the watchdog forgets what is released", "contract/test_lease", "no_renewal_follows_the_final_release",
	        "monitor_count(monitor, \"eval\"), 0"),
	DEFENCE(LSH_RENEWALS_SHORTEN, "no renewal shortens a lease (in the script)", "contract/test_limits",
	        "the_renewals_of_a_short_lease_leave_a_long_extension_alone", "place_left_ms(\"both\")"),
	DEFENCE(LSH_DEAD_ARE_SERVED, "a grant of which nobody heard goes on to the next (in the script)", "contract/test_plain",
	        "a_dead_first_waiter_is_passed_over_at_once", "2500e6"),
	DEFENCE(LSH_SCRIPTS_ARE_THERE, "what is refused with NOSCRIPT is sent again with the script's text", "fault/test_ghosts",
	        "a_renewal_whose_script_is_not_there_brings_it", "it was lost although"),
	DEFENCE(LSH_SILENCE_IS_BORNE, "a connection that is silent is broken when a renewal is overdue", "fault/test_connections",
	        "a_short_lease_is_renewed_over_a_new_connection_while_the_keeper_waits_for_another_answer", "LEASH_EVENT_LOST"),
	DEFENCE(LSH_ANSWERS_GO_ASTRAY, "the answer to a command whose caller gave up is dropped", "fault/test_claims",
	        "an_answer_whose_caller_gave_up_is_nobody_elses", "two had it at once"),
	DEFENCE(LSH_UNASKED_IS_ANSWER, "what came before a command was sent is no answer to it", "fault/test_ghosts",
	        "what_was_said_before_a_question_is_no_answer_to_it", "leash_lock_acquire(lock, 0, &err), LEASH_OK"),
	DEFENCE(LSH_TRIES_ARE_FORGOTTEN, "a release that is sent again knows that it may have been done", "fault/test_cut",
	        "a_release_whose_answer_is_lost_is_not_called_a_loss", "leash_lock_release(lock"),
	DEFENCE(LSH_RESTARTS_DO_NOT_COUNT, "after a restart restart_guard_ms is waited out", "fault/test_guard",
	        "no_word_grants_before_the_guard_is_over", "GUARD_MS - GRAIN_MS"),
	DEFENCE(LSH_FENCES_STAND_STILL, "a hold that is handed on has a fence of its own", "contract/test_handoff",
	        "within_a_turn_the_threads_follow_in_order_and_nothing_is_sent", "crew[i].fence"),
	DEFENCE(LSH_DEAD_THREADS_HOLD_ON, "what a thread holds when it ends is abandoned", "fault/test_ghosts",
	        "what_a_thread_held_goes_to_the_next_when_it_ends", "the lock was nobody's"),
	DEFENCE(LSH_CHILDREN_GO_ON, "a forked child leaves alone what is its parent's", "contract/test_forked",
	        "a_child_that_uses_what_is_its_parents_is_told_so_and_sends_not_a_byte", "instead of FORKED"),
	DEFENCE(LSH_ANSWERS_FIT_ANY_HOLD, "what becomes of a renewal concerns its own hold alone", "fault/test_ghosts",
	        "what_becomes_of_a_renewal_concerns_no_later_hold", "was told of the first"),
};

enum { DEFENCES = sizeof defences / sizeof *defences };

/* ---- running them ---- */

static char build[PATH_MAX]; /* where this was built: <build>/tests/fault/test_defences */

static void
find_build(void)
{
	ssize_t n = readlink("/proc/self/exe", build, sizeof build - 1);

	if (n < 0)
		trouble("cannot read /proc/self/exe: %s", strerror(errno));
	build[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(build, '/') = '\0';
}

struct errand {
	const struct defence *defence;
	enum lsh_mutation mutation;
	const char *file;
};

/* In the child: become the test program. */
static int
become(void *arg)
{
	const struct errand *errand = arg;
	char program[PATH_MAX + 100], libraries[PATH_MAX + 100], number[16];
	int fd = open(errand->file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	snprintf(program, sizeof program, "%s/tests/%s", build, errand->defence->program);
	snprintf(libraries, sizeof libraries, "%s/tests/fault/mutated/.libs", build);
	snprintf(number, sizeof number, "%d", (int)errand->mutation);
	setenv("LD_LIBRARY_PATH", libraries, 1);
	setenv("LEASH_MUTATION", number, 1);
	setenv("LEASH_TEST_FILTER", errand->defence->test, 1);
	setenv("CMOCKA_MESSAGE_OUTPUT", "TAP", 1);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	alarm((unsigned)(LIMIT_S * await_slowness())); /* outlives the exec */
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		return 1;
	execl(program, program, (char *)NULL);
	perror(program);
	return 1;
}

static char *
read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	struct stat st;
	char *text;
	size_t n;

	if (f == NULL || fstat(fileno(f), &st) != 0 || (text = malloc((size_t)st.st_size + 1)) == NULL)
		trouble("%s: %s", path, strerror(errno));
	n = fread(text, 1, (size_t)st.st_size, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void
run(const struct defence *defence, enum lsh_mutation mutation, unsigned time, const char *folder, struct run *out)
{
	char file[PATH_MAX];
	struct errand errand = {.defence = defence, .mutation = mutation, .file = file};
	int64_t begun = await_now_ns();

	snprintf(file, sizeof file, "%s/%s.%d.%u", folder, defence->of, (int)mutation, time);
	out->status = child_end(child_run(become, &errand));
	out->output = read_file(file);
	out->lasted_s = (double)(await_now_ns() - begun) / 1e9;
}

struct crew {
	const char *folder;
	_Atomic unsigned next;
};

static void *
run_some(void *arg)
{
	struct crew *crew = arg;
	unsigned i;

	while ((i = crew->next++) < 3 * DEFENCES) {
		struct defence *d = &defences[i / 3];

		if (i % 3 < 2)
			run(d, d->mutation, i % 3, crew->folder, &d->with[i % 3]);
		else
			run(d, LSH_NO_MUTATION, 0, crew->folder, &d->without);
	}
	return NULL;
}

static void
run_all(void)
{
	struct crew crew = {.folder = NULL};
	pthread_t thread[AT_A_TIME];
	char *folder;

	if (UNDER_TSAN)
		return;
	folder = sweep_folder();
	server_stop(server_start(NULL)); /* without a server this is skipped as a whole */
	find_build();
	crew.folder = folder;
	for (int i = 0; i < AT_A_TIME; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run_some, &crew), 0);
	for (int i = 0; i < AT_A_TIME; i++)
		pthread_join(thread[i], NULL);
	sweep_remove(folder);
}

static void
forget_all(void)
{
	for (size_t i = 0; i < DEFENCES; i++) {
		free(defences[i].without.output);
		for (int k = 0; k < 2; k++)
			free(defences[i].with[k].output);
	}
}

GROUP(run_all, forget_all);

/* ---- what came of it ---- */

/* "ok 1 - the_test", at the start of a line. */
static bool
says_ok(const struct run *run, const char *test)
{
	char line[200];
	const char *at;

	snprintf(line, sizeof line, "ok 1 - %s\n", test);
	at = strstr(run->output, line);
	return at != NULL && (at == run->output || at[-1] == '\n');
}

/* The line of source at "tests/...:<line>: error: Failure!" in what it said. False: it names none that can be read. */
static bool
failed_line(const char *said, char *line, size_t size)
{
	const char *source = getenv("LEASH_SRCDIR"), *mark = strstr(said, ": error: Failure!"), *at = mark, *begin;
	char path[PATH_MAX];
	bool there = false;
	FILE *f;

	while (at != NULL && at > said && at[-1] != ':')
		at--;
	if (at == NULL || at == said)
		return false;
	for (begin = at; begin > said && begin[-1] != '\n' && begin[-1] != ' ';)
		begin--;
	snprintf(path, sizeof path, "%.*s", (int)(at - 1 - begin), begin);
	f = fopen(path, "r");
	if (f == NULL && source != NULL && strstr(path, "tests/") != NULL) {
		char again[2 * PATH_MAX];

		snprintf(again, sizeof again, "%s/%s", source, strstr(path, "tests/"));
		f = fopen(again, "r");
	}
	for (long left = strtol(at, NULL, 10); f != NULL && left > 0; left--)
		there = fgets(line, (int)size, f) != NULL;
	if (f != NULL)
		fclose(f);
	return there;
}

/* A line with `shows` in it, of what it said or, then, of its source, where it failed; without spaces around. NULL: none. */
static const char *
evidence(const struct run *with, const char *shows, char *line, size_t size)
{
	const char *at = strstr(with->output, shows);

	if (at != NULL) {
		while (at > with->output && at[-1] != '\n')
			at--;
		snprintf(line, size, "%s", at);
	} else if (!failed_line(with->output, line, size) || strstr(line, shows) == NULL) {
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line + strspn(line, "# \t");
}

/* What a program said is TAP as well: as comments it disturbs nobody. */
static void
quote(const char *said)
{
	while (*said != '\0') {
		size_t n = strcspn(said, "\n");

		printf("# > %.*s\n", (int)n, said);
		said += n + (said[n] != '\0');
	}
}

SENTENCES(is_noticed, defences)
{
	const struct defence *d = given;
	char line[500];
	const char *shown = NULL;

	if (UNDER_TSAN) /* so slow that a scene may be another one */
		skip();
	if (strstr(d->without.output, "# SKIP ") != NULL) {
		printf("%s is skipped here\n", d->test);
		skip();
	}
	if (d->without.status != 0 || !says_ok(&d->without, d->test)) {
		quote(d->without.output);
		fail_msg("%s: %s does not pass without a mutation", d->program, d->test);
	}
	for (int i = 0; i < 2; i++) {
		const struct run *with = &d->with[i];

		shown = evidence(with, d->shows, line, sizeof line);
		if (with->status == 0 || says_ok(with, d->test) || shown == NULL) {
			quote(with->output);
			fail_msg("with %s %s: %s does not fail as it should", d->of, d->program, d->test);
		}
	}
	printf("# %s | %s | %s: %s | %.1f s, %.1f s without | %s\n", d->of, d->what, d->program, d->test, d->with[1].lasted_s, d->without.lasted_s,
	       shown);
}

static void
print_table(void)
{
	printf("| taken out | mutation | caught by | which says |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < DEFENCES; i++)
		printf("| %s | `%s` | `%s`: `%s` | `%s` |\n", defences[i].what, defences[i].of, defences[i].program, defences[i].test, defences[i].shows);
}

SENTENCE(every_defence_is_in_the_docs)
{
	const char *source = getenv("LEASH_SRCDIR");
	char path[PATH_MAX], row[400];
	char *text;

	if (source == NULL) {
		printf("LEASH_SRCDIR is not set\n");
		skip();
	}
	snprintf(path, sizeof path, "%s/docs/defences.md", source);
	text = read_file(path);
	for (size_t i = 0; i < DEFENCES; i++) {
		const struct defence *d = &defences[i];

		snprintf(row, sizeof row, "| %s | `%s` | `%s`: `%s` |", d->what, d->of, d->program, d->test);
		if (strstr(text, row) == NULL)
			fail_msg("%s: lacks: %s", path, row);
	}
	free(text);
}

static int
tell(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--table") != 0)
		return GO_ON;
	print_table();
	return 0;
}

PRELUDE(tell);
