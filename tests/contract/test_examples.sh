#!/bin/sh
# The examples do what their first comments say, against a server of their own.
set -u

source=${LEASH_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
programs=${LEASH_BUILDDIR:-$source/build/test}/examples

if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
	echo 'redis-server or redis-cli is missing'
	exit 77
fi

# Not $TMPDIR: the path of a socket must be short.
dir=$(mktemp -d /tmp/leash-examples.XXXXXX) || exit 1
redis='' other=''
clean_up() {
	for pid in $other $redis; do
		kill -KILL "$pid"
		wait "$pid"
	done
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

export LEASH_URI="unix://$dir/redis.sock"

ask() {
	redis-cli -s "$dir/redis.sock" "$@"
}
await() { # COMMAND...; a test that hangs is ended from outside
	until "$@" >/dev/null 2>&1; do sleep 0.05; done
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

number=0
check() { # SENTENCE COMMAND...
	sentence=$1
	shift
	number=$((number + 1))
	: >"$dir/out"
	if "$@"; then
		echo "ok $number - $sentence"
	else
		sed 's/^/# /' "$dir/out"
		echo "not ok $number - $sentence"
	fi
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
	await grep -q doing "$dir/other"
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

only_fences() {
	ask KEYS '*' >"$dir/out"
	[ -s "$dir/out" ] && ! grep -qv ':fence$' "$dir/out"
}

none_works_without_a_server() {
	for example in by_hand fencing first_lock long_job lost_lease nested transfer try_or_skip worker_pool; do
		"$programs/$example" "unix://$dir/nowhere" >"$dir/out" 2>&1 </dev/null
		status=$?
		if [ "$status" -ne 1 ] || ! grep -q "$dir/nowhere" "$dir/out"; then
			echo "$example: status $status" >>"$dir/out"
			return 1
		fi
	done
}

echo 1..14
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --appendonly no --dir "$dir" --logfile "$dir/redis.log" >/dev/null 2>&1 &
redis=$!
await ask PING

check 'first_lock gets the lock and gives it back' first_lock
check 'try_or_skip does the job if nobody else does' try_or_skip_does_it
check 'try_or_skip skips the job, and succeeds, while another process does it' try_or_skip_skips
check 'nested takes one lock in functions that call each other' nested
check 'long_job holds a lease of 1.5 s for 5 s' long_job
check 'long_job loses its lock when it hangs' long_job_hangs
check 'lost_lease is told of its loss, unwinds it and begins again' lost_lease
check 'fencing refuses the write of the holder that was stopped past its lease' fencing
check 'worker_pool loses no update and fails no job' worker_pool
check 'transfer loses an update without the lock, and none with it' transfer
check 'by_hand obeys' by_hand
check 'the examples leave nothing behind but fences' only_fences
check 'quickstart sees all that it says, and leaves nothing behind' quickstart
check 'without a server each example fails and names it' none_works_without_a_server
