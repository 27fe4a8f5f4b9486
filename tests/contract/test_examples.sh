#!/bin/sh
# The examples do what their first comments say, against a server of their own.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

programs=$build/examples
export LEASH_URI="unix://$dir/redis.sock"

mkfifo "$dir/pipe"
ask() {
	redis-cli -s "$dir/redis.sock" "$@"
}
await() { # PID COMMAND...: until it succeeds, or the process has ended; a test that hangs is ended from outside
	pid=$1
	shift
	until "$@" >/dev/null 2>&1; do
		kill -0 "$pid" || return
		sleep 0.05
	done
}
run() { # EXAMPLE [ARGUMENT...]: what it prints goes to $dir/out
	program=$programs/$1
	shift
	"$program" "$@" >"$dir/out" 2>&1 </dev/null
}
prints() { # PATTERN, a whole line
	grep -qx -e "$1" "$dir/out"
}
is_gone() { # LOCK
	[ "$(ask EXISTS "leash:{$1}" "leash:{$1}:queue")" = 0 ]
}

does() { # EXAMPLE "LOCK..." PATTERN...: it prints such lines, and leaves these locks free
	example=$1 locks=$2
	shift 2
	run "$example" || return
	for pattern; do
		prints "$pattern" || return
	done
	for lock in $locks; do
		is_gone "$lock" || return
	done
}

so() { # COMMAND...: if it fails, what the last example printed is what is wrong
	"$@" && return
	cat "$dir/out"
	return 1
}

try_or_skip_does_it() {
	run try_or_skip "$LEASH_URI" 0 && prints 'doing the nightly report' && prints 'done' && is_gone nightly-report
}

try_or_skip_skips() {
	"$programs/try_or_skip" "$LEASH_URI" 600 >"$dir/other" 2>&1 &
	other=$!
	await "$other" grep -q doing "$dir/other" || return
	run try_or_skip
	status=$?
	kill -KILL "$other"
	wait "$other" 2>/dev/null
	other=''
	ask DEL 'leash:{nightly-report}' >/dev/null
	[ "$status" -eq 0 ] && prints '.*: skipped' && ! prints 'doing .*'
}

nested() {
	run nested && prints ' transfer 100: depth 1' && [ "$(grep -c '^  add .*: depth 2$' "$dir/out")" = 2 ] &&
		prints 'balances 300 and 100: depth 0' && is_gone accounts
}

long_job_hangs() {
	! run long_job "$LEASH_URI" hang && prints 'step 3 of 10: .*' && ! prints 'step 10 of 10: .*' &&
		prints 'the lock is lost: the job stops here' && grep -q "^long_job: lock 'long-job': it was lost" "$dir/out" && is_gone long-job
}

transfer() {
	run transfer || return
	sums=$(sed -n 's/^  400 + 100 + 200 = //p' "$dir/out" | tr '\n' ' ')
	{ [ "$sums" = '500 700 ' ] || [ "$sums" = '600 700 ' ]; } && is_gone account && [ "$(ask EXISTS example:account)" = 0 ]
}

interrupt() {
	"$programs/by_hand" "$LEASH_URI" interrupt 20000 <"$dir/pipe" >"$dir/other" 2>&1 &
	other=$!
	exec 3>"$dir/pipe"
	echo acquire >&3
	await "$other" grep -q 'acquire: OK' "$dir/other"
	"$programs/interrupt" >"$dir/out" 2>&1 &
	waiter=$!
	await "$waiter" is_queued interrupt
	kill -INT "$waiter"
	wait "$waiter"
	status=$?
	echo release >&3
	exec 3>&-
	wait "$other"
	other=''
	[ "$status" -eq 0 ] && prints 'interrupted: it was not acquired' && ! prints 'got it.*' && is_gone interrupt
}
is_queued() {
	[ "$(ask EXISTS "leash:{$1}:queue")" = 1 ]
}

by_hand() {
	printf '%s\n' acquire try release release release nonsense acquire |
		"$programs/by_hand" "$LEASH_URI" by-hand 5000 >"$dir/out" 2>&1 || return
	[ "$(grep -c '^acquire: OK$' "$dir/out")" = 2 ] && prints 'try: OK' && prints '  held yes, depth 2, fence [1-9].*' &&
		[ "$(grep -c '^release: OK$' "$dir/out")" = 2 ] && prints 'release: NOT_HELD: ..*' && prints '  the commands are: .*' &&
		is_gone by-hand
}

quickstart() {
	mkdir "$dir/tmp"
	TMPDIR=$dir/tmp LEASH_BY_HAND=$programs/by_hand "$source/examples/quickstart.sh" >"$dir/out" 2>&1 &&
		prints 'All checks passed.' && ! grep -q 'WRONG' "$dir/out" && [ -z "$(ls -A "$dir/tmp")" ]
}

# But for what is known for a while of bob, whom the quickstart kills.
only_fences() {
	ask KEYS '*' >"$dir/out"
	[ -s "$dir/out" ] && ! grep -qv ':fence$\|^leash:client:' "$dir/out" && [ "$(grep -c '^leash:client:' "$dir/out")" -le 1 ]
}

fails_without_a_server() { # EXAMPLE
	"$programs/$1" "unix://$dir/nowhere" >"$dir/out" 2>&1 </dev/null
	status=$?
	[ "$status" -eq 1 ] && grep -q "$dir/nowhere" "$dir/out" && return
	echo "$1: status $status" >>"$dir/out"
	return 1
}

metrics_is_read() {
	"$programs/metrics" >"$dir/page" && python=$(python_with prometheus_client.parser) &&
		"$python" "$source/tests/contract/metrics.py" <"$dir/page" >"$dir/out" 2>&1
}

# In C++, and so the one that make did not build.
scoped_lock() (
	programs=$dir
	# shellcheck disable=SC2086 # flags
	${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -pthread ${LEASH_SANITIZE-} -I"$source/include" \
		-o "$dir/scoped_lock" "$source/examples/scoped_lock.cpp" -L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash &&
		so does scoped_lock 'day account/ann account/bob' '80 transfers, 4 threads: 1000 in all, 1000 meanwhile' &&
		so fails_without_a_server scoped_lock
)

# Those that stand on a library which the build had, or not.
optional='event_loop_event event_loop_uv'
is_built() { # EXAMPLE
	[ -e "$programs/$1" ]
}
serves_a_crowd() { # EXAMPLE
	so does "$1" "$(seq -f crowd:%g 0 49)" '1000 under way at once, 0 overlaps' || return
	[ "$(tail -n 1 "$dir/out")" = '1000 acquired, 1000 released' ] || cat "$dir/out"
}
in_cpp() { # HEADER MODULE
	echo "#include \"$1.h\"" >"$dir/header.cpp"
	# shellcheck disable=SC2086,SC2046 # flags
	${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only -I"$source/include" \
		-I"$source/examples" $("${PKG_CONFIG:-pkg-config}" --cflags "$2") "$dir/header.cpp"
}

none_works_without_a_server() {
	for example in $optional; do
		! is_built $example || fails_without_a_server $example || return
	done
	for example in all_done both_accounts bounded_queue by_hand event_loop fencing few_at_once first_lock hand_over in_step interrupt long_job lost_lease many_readers metrics nested one_leads scoped transfer try_or_skip worker_pool; do
		fails_without_a_server $example || return
	done
}

start_redis

check 'first_lock gets the lock and gives it back' so does first_lock first \
	'got the lock, fence [1-9][0-9]*' 'released it'
check 'try_or_skip does the job if nobody else does' so try_or_skip_does_it
check 'try_or_skip skips the job, and succeeds, while another process does it' so try_or_skip_skips
check 'nested takes one lock in functions that call each other' so nested
check 'scoped releases what a block and a function acquired' so does scoped shelf \
	'sold one: released' 'none left: released' '3 more: released'
check 'long_job holds a lease of 1.5 s for 5 s' so does long_job long-job \
	'step 10 of 10: the lease has [1-9][0-9]* ms left' 'the job is done'
check 'long_job loses its lock when it hangs' so long_job_hangs
check 'lost_lease is woken by its loss, unwinds it and begins again' so does lost_lease work \
	'lost: stop' 'acquire: LOST' 'release: LOST' 'got the lock again'
check 'fencing refuses the write of the holder that was stopped past its lease' so does fencing resource \
	'second writes with fence [0-9]*: accepted' 'first writes with fence [0-9]*: REFUSED' 'first releases: LOST' \
	"the resource holds what 'second' wrote"
check 'worker_pool loses no update and fails no job' so does worker_pool 'customer:0 customer:1 customer:2' \
	'customer 2: balance 610, expected 610' '60 jobs by 8 workers, 0 failed'
check 'both_accounts moves money both ways, and nobody waits in a circle' so does both_accounts 'account:ann account:bob' \
	'200 transfers, 4 threads: 1000 in all'
check 'many_readers reads what is whole, and who writes gets in' so does many_readers prices \
	'20 changes, read meanwhile, 0 times torn; in the end 240'
check 'metrics writes what the parser of Prometheus reads, with the times of a known load' so metrics_is_read
check 'event_loop serves all by one thread, and no two of an account at once' so does event_loop \
	'account:0 account:1 account:2 account:3 account:4 account:5 account:6 account:7 account:8 account:9' \
	'100 requests by one thread, 0 overlaps, 0 failed'
for library in libevent libuv; do
	loop=${library#lib}
	if is_built event_loop_$loop; then
		check "event_loop_$loop serves a thousand owners at once in the loop of $library" serves_a_crowd event_loop_$loop
		check "loop_$loop.h is for C++, too" in_cpp loop_$loop $library
	else
		skip "event_loop_$loop serves a thousand owners at once" "$library was not found by configure"
	fi
done
check 'few_at_once lets in as many as there are cards' so does few_at_once 'graphics%20cards' \
	'40 jobs, at most [1-3] of 3 cards in use at once'
check 'bounded_queue consumes what was produced' so does bounded_queue 'queue queue?not%20empty queue?not%20full' \
	'produced 10100, consumed 10100'
check 'one_leads tells of each leader, one after the other' so does one_leads scheduler \
	'host-[1-3]:8080 leads' '3 have led'
check 'all_done goes on when all workers have arrived, and counts none twice' so does all_done 'all%20done' \
	'4 of 4 workers are done'
check 'in_step lets nobody begin a round before all are there' so does in_step 'in%20step' \
	'20 rounds of 4 parties, 0 of them early'
check 'transfer loses an update without the lock, and none with it' so transfer
check 'interrupt leaves the queue at Ctrl-C' so interrupt
check 'hand_over releases in one thread what another one acquired' so does hand_over account \
	'the second thread has the lock' 'served'
check 'scoped_lock moves money both ways under the guards of C++, and sees 1000 in all' scoped_lock
check 'by_hand obeys' so by_hand
check 'the examples leave nothing behind but fences' so only_fences
check 'quickstart sees all that it says, and leaves nothing behind' so quickstart
check 'without a server each example fails and names it' so none_works_without_a_server
finish
