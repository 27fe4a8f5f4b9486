#!/bin/sh
# The wrong locks of examples/wrong break as their first comments say, on a real server, and leash in their place does not.
#
#   test_wrong_locks.sh [--seconds N]     leash is watched for so long with each of them; default 2
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

programs=$build/examples/wrong
export LEASH_URI="unix://$dir/redis.sock"

seconds=2
[ "${1-}" != --seconds ] || seconds=$2

run() { # PROGRAM [ARGUMENT...]: what it prints goes to $dir/out; if it fails, that is what is wrong
	name=$1
	shift
	"$programs/$name" "$@" >"$dir/out" 2>&1 </dev/null || { echo "status $?" && cat "$dir/out"; }
}
prints() { # PATTERN, a whole line
	grep -qx -e "$1" "$dir/out" || { echo "it does not print: $1" && cat "$dir/out"; }
}

# It ends a second after it was seen. The limit is for machines that hardly move.
leaves_it_locked() { # PROGRAM
	run "$1" --seconds 120
	prints '  after [0-9]* ms the holder was killed, and nobody can get the lock any more: its key has no expiry'
	prints 'this lock is broken'
}
lets_in_two() { # PROGRAM
	run "$1" --seconds 120
	prints '  two had the lock at once, both within their leases: [1-9][0-9]* times'
	prints 'this lock is broken'
}
leash_holds() { # PROGRAM
	run "$1" --leash --seconds "$seconds"
	prints '  two had the lock at once, both within their leases: 0 times'
	prints 'leash held'
	sed -n '2,3s/^ */# /p' "$dir/out" >&3
}
is_told_of_a_pause() {
	grep -q '^  [1-9][0-9]* more jobs stopped, because leash said that the lock was lost$' "$dir/out" || cat "$dir/out"
}

# leash cannot hold where somebody deletes its key over and over. A judge that finds nothing there would find nothing anywhere.
a_deleted_lock_is_seen() {
	"$programs/no_token" --leash --seconds 5 >"$dir/out" 2>&1 &
	other=$!
	while kill -0 "$other" 2>/dev/null; do
		redis-cli -s "$dir/redis.sock" DEL 'leash:{wrong:no-token}' >/dev/null
		sleep 0.02
	done
	! wait "$other" || cat "$dir/out"
	other=''
	prints 'leash BROKE'
}

is_refused() { # ARGUMENT...: the last one is named
	"$programs/incr" "$@" >"$dir/out" 2>&1
	[ $? -eq 64 ] || echo "status is not 64: $*"
	for last; do :; done
	grep -qF -e "$last" "$dir/out" || cat "$dir/out"
}
bad_arguments_are_named() {
	is_refused --leesh
	is_refused --seconds
	is_refused --seconds 0
	is_refused --seconds 2s
	is_refused "$LEASH_URI" unix:///another
}
fails_without_a_server() { # PROGRAM
	! "$programs/$1" "unix://$dir/nowhere" >"$dir/out" 2>&1 && grep -q "$dir/nowhere" "$dir/out"
}

exec 3>&1
start_redis

for program in incr setnx_expire; do
	check "$program: a lock whose holder is killed stays locked for ever" leaves_it_locked $program
	check "$program: leash in its place lets the next one in" leash_holds $program
done
for program in getset no_token compare_then_delete; do
	check "$program: two have the lock at once" lets_in_two $program
	check "$program: leash in its place lets in one at a time" leash_holds $program
done
check 'a process that was paused past its lease is told by leash, and stops' is_told_of_a_pause
check 'what judges leash there sees a lock that somebody deletes' a_deleted_lock_is_seen
check 'an argument that is wrong is named' bad_arguments_are_named
for program in incr setnx_expire getset no_token compare_then_delete; do
	check "$program names the server that is not there" fails_without_a_server $program
done
finish
