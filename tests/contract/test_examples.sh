#!/bin/sh
# The examples do what their first comments say, against a server of their own.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

programs=$build/examples

redis='' other=''
clean_up() {
	for pid in $other $redis; do
		kill -KILL "$pid"
		wait "$pid"
	done
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'exit 1' PIPE

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

so() { # COMMAND...: if it fails, what the last example printed is what is wrong
	"$@" && return
	cat "$dir/out"
	return 1
}

first_lock() {
	run first_lock && prints 'got the lock, fence [1-9][0-9]*' && prints 'released it' && is_gone first
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

both_accounts() {
	run both_accounts && prints '200 transfers, 4 threads: 1000 in all' && is_gone account:ann && is_gone account:bob
}

long_job() {
	run long_job && prints 'step 10 of 10: the lease has [1-9][0-9]* ms left' && prints 'the job is done' && is_gone long-job
}

long_job_hangs() {
	! run long_job "$LEASH_URI" hang && prints 'step 3 of 10: .*' && ! prints 'step 10 of 10: .*' &&
		prints 'the lock is lost: the job stops here' && grep -q "^long_job: lock 'long-job': it was lost" "$dir/out" && is_gone long-job
}

lost_lease() {
	run lost_lease && prints "event LOST of 'work': ..*" && prints 'acquire: LOST' && prints 'release: LOST' &&
		prints 'got the lock again' && is_gone work
}

fencing() {
	run fencing && prints 'second writes with fence [0-9]*: accepted' && prints 'first writes with fence [0-9]*: REFUSED' &&
		prints 'first releases: LOST' && prints "the resource holds what 'second' wrote" && is_gone resource
}

worker_pool() {
	run worker_pool && prints 'customer 2: balance 610, expected 610' && prints '60 jobs by 8 workers, 0 failed' &&
		is_gone customer:0 && is_gone customer:1 && is_gone customer:2
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

hand_over() {
	run hand_over && prints 'the second thread has the lock' && prints 'served' && is_gone account
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
		prints 'All of it was so.' && ! grep -q 'NOT SO' "$dir/out" && [ -z "$(ls -A "$dir/tmp")" ]
}

# But for what is known for a while of bob, whom the quickstart kills.
only_fences() {
	ask KEYS '*' >"$dir/out"
	[ -s "$dir/out" ] && ! grep -qv ':fence$\|^leash:client:' "$dir/out" && [ "$(grep -c '^leash:client:' "$dir/out")" -le 1 ]
}

none_works_without_a_server() {
	for example in both_accounts by_hand fencing first_lock hand_over interrupt long_job lost_lease nested transfer try_or_skip worker_pool; do
		"$programs/$example" "unix://$dir/nowhere" >"$dir/out" 2>&1 </dev/null
		status=$?
		if [ "$status" -ne 1 ] || ! grep -q "$dir/nowhere" "$dir/out"; then
			echo "$example: status $status" >>"$dir/out"
			return 1
		fi
	done
}

redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --appendonly no --dir "$dir" --logfile "$dir/redis.log" >/dev/null 2>&1 &
redis=$!
await "$redis" ask PING

check 'first_lock gets the lock and gives it back' so first_lock
check 'try_or_skip does the job if nobody else does' so try_or_skip_does_it
check 'try_or_skip skips the job, and succeeds, while another process does it' so try_or_skip_skips
check 'nested takes one lock in functions that call each other' so nested
check 'long_job holds a lease of 1.5 s for 5 s' so long_job
check 'long_job loses its lock when it hangs' so long_job_hangs
check 'lost_lease is told of its loss, unwinds it and begins again' so lost_lease
check 'fencing refuses the write of the holder that was stopped past its lease' so fencing
check 'worker_pool loses no update and fails no job' so worker_pool
check 'both_accounts moves money both ways, and nobody waits in a circle' so both_accounts
check 'transfer loses an update without the lock, and none with it' so transfer
check 'interrupt leaves the queue at Ctrl-C' so interrupt
check 'hand_over releases in one thread what another one acquired' so hand_over
check 'by_hand obeys' so by_hand
check 'the examples leave nothing behind but fences' so only_fences
check 'quickstart sees all that it says, and leaves nothing behind' so quickstart
check 'without a server each example fails and names it' so none_works_without_a_server
finish
