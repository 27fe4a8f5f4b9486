/* Servers that cannot, or not now, or not here, and those that let nobody in: what becomes of who asks, who holds, who
 * extends and who lets go. What the words mean: unit/test_fault. */
#include "tests/core/scene.h"

#include "tests/core/wire.h"

FIXTURE(world_begin, world_end);

static const struct refusal {
	const char *name, *says, *word;
	enum { STAYS, PASSES, LEAVES } then; /* until people do something; soon; or another server is to be asked */
} refusals[] = {
	{"a_full_server", "OOM command not allowed when used memory > 'maxmemory'.", "(OOM)", STAYS},
	{"a_server_that_cannot_save", "MISCONF Redis is configured to save RDB snapshots", "(MISCONF)", STAYS},
	{"a_master_with_too_few_replicas", "NOREPLICAS Not enough good replicas to write.", "(NOREPLICAS)", STAYS},
	{"a_server_that_loads_its_data", "LOADING Redis is loading the dataset in memory", "(LOADING)", PASSES},
	{"a_server_that_runs_a_long_script", "BUSY Redis is busy running a script.", "(BUSY)", PASSES},
	{"a_slot_that_moves", "TRYAGAIN Multiple keys request during rehashing of slot", "(TRYAGAIN)", PASSES},
	{"a_cluster_that_is_down", "CLUSTERDOWN Hash slot not served", "(CLUSTERDOWN)", PASSES},
	{"a_replica", "READONLY You can't write against a read only replica.", "(READONLY)", LEAVES},
	{"a_replica_without_its_master", "MASTERDOWN Link with MASTER is down", "(MASTERDOWN)", LEAVES},
};

static const struct refusal *row;

static int refused; /* so many commands were it just now */

/* For so long it refuses all that comes. */
VERB(refuse_for)
{
	refused = 0;
	for (int64_t end = world_ms() + number_of(rest, 0); world_ms() < end; pass(10)) {
		world_sent();
		if (wire_first(0) != NULL) {
			refuse(row->says);
			refused++;
		}
	}
}

static void
check_request(void)
{
	if (row->then == STAYS)
		play("ann acquires; refuse %s -> ann UNAVAILABLE, ann why %s", row->says, row->word);
	else
		play("ann acquires; refuse_for 60000 -> ann waits; cancel ann");
	play("bob acquires 1000; refuse_for 1000 -> bob UNAVAILABLE, bob why %s, bob left 0", row->word);
}

static void
check_hold(void)
{
	play("ann holds; ann extends 60000; refuse_for 10000 -> ann UNAVAILABLE");
	if (row->then != LEAVES) /* that is left, and may be left before it has said so */
		play("-> ann why %s", row->word);
	play("refuse_for 19600 -> told ann JEOPARDY, ann left 98");
	assert_true(refused < (row->then == LEAVES ? 2000 : 100));
	play("refuse_for 100 -> told ann LOST; ann releases -> ann LOST");
}

static void
check_release(void)
{
	play("ann holds; ann releases; refuse_for 10000 -> ann UNKNOWN, ann why %s, ann left 0", row->word);
	while (wire_first(0) == NULL)
		pass(10);
	play("RELEASED; forget_sent; pass 30000 -> nothing sent, nothing told");
}

SENTENCES(a_server_that_refuses_lets_leases_run_out_truthfully, refusals)
{
	static void (*const checks[])(void) = {check_request, check_hold, check_release};

	row = given;
	for (size_t i = 0; i < COUNT(checks); i++) {
		checks[i]();
		world_end();
		world_begin();
	}
}

SENTENCE(a_server_that_says_not_now_is_asked_again_in_a_moment)
{
	for (row = refusals; row < refusals + COUNT(refusals); row++)
		if (row->then == PASSES)
			play("ann acquires 1000; forget_sent; refuse %s; pass 49 -> nothing sent; pass 1; HELD -> ann OK;"
			     "ann releases; refuse %s -> ann waits; pass 1000; RELEASED -> ann OK", row->says, row->says);
}

/* ---- a key that is somebody else's by now ---- */

#define REPLACED "refuse WRONGTYPE Operation against a key holding the wrong kind of value -> ann left 0;"

SCENE(a_hold_whose_key_was_replaced_is_lost,
      "ann holds; pass 10000;" REPLACED "ann releases -> ann LOST, told ann LOST; serve; ann holds; ann extends 60000;"
      REPLACED "-> ann LOST, ann why lock 'orders'; ann releases -> ann LOST, told ann LOST; serve; ann holds;"
      "ann releases;" REPLACED "-> ann LOST, ann why lock 'orders', nothing told")

/* ---- shut out ---- */

#define WRONG "AUTH: WRONGPASS invalid username-password pair or user is disabled"
#define SHUT_OUT "shut_out " WRONG ";"
#define DENIED(name) "-> " name " DENIED, " name " why " WRONG ";"

SCENE(who_is_shut_out_holds_to_the_end_of_the_lease,
      "ann holds;" SHUT_OUT "-> ann left 29698; pass 29697 -> ann left 1, told ann JEOPARDY; pass 1 -> told ann LOST;"
      "ann releases -> ann LOST; carl acquires;" SHUT_OUT DENIED("carl") "reconnect; GONE; ann holds")
/* Nobody asks again for places that were taken when all was well. */
SCENE(all_who_wait_are_told_when_a_connection_is_denied, "ann acquires;"
      "QUEUED; bob acquires 600000 -> acquire 1;" SHUT_OUT DENIED("ann") DENIED("bob") "reconnect -> release 1;"
      "LEFT; make_fair; ann acquires; QUEUED; bob acquires 600000; QUEUED -> acquire 2, acquire 3;"
      SHUT_OUT DENIED("ann") DENIED("bob") "reconnect -> release 2, release 3; LEFT; LEFT")
SCENE(who_is_let_in_again_in_time_keeps_the_lock, "ann holds; bob acquires;" SHUT_OUT DENIED("bob") "pass 20000;"
      "reconnect -> renew 1; KEPT -> told ann JEOPARDY, told ann RECOVERED, ann left 29698")
