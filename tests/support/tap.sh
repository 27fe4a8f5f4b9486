# What shell tests share: sourced by them, not run.
#
#   check SENTENCE COMMAND...   one test. It is so if the command succeeds and says nothing: what it says is what is wrong
#   skip SENTENCE REASON        one test that cannot be made here
#   finish                      at the end of each script: how many there were
#   python_with MODULE          the first python3 that has it, the PATH's or else the system's; false: none has
#   start_redis                 a server on $dir/redis.sock, which is ended at the end; false: it does not start
#
# Sets $source and $build, the two trees, and $dir, a fresh folder that is removed at the end. A process of a test's own
# that is in $other then is ended, too.
# shellcheck shell=sh

set -u
export LC_ALL=C

source=${LEASH_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck disable=SC2034 # for the tests
build=${LEASH_BUILDDIR:-$source/build/test}

dir=$(mktemp -d "${TMPDIR:-/tmp}/leash-test.XXXXXX") || exit 1
redis='' other=''
clean_up() {
	for pid in $other $redis; do
		kill -KILL "$pid" && wait "$pid"
	done
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'exit 1' HUP INT PIPE TERM

python_with() {
	for python in python3 /usr/bin/python3; do
		"$python" -c "import $1" 2>/dev/null && echo "$python" && return
	done
	echo "no python3 has $1" >&2
	return 1
}

number=0

check() {
	sentence=$1
	shift
	number=$((number + 1))
	if "$@" >"$dir/wrong" 2>&1 && [ ! -s "$dir/wrong" ]; then
		echo "ok $number - $sentence"
	else
		sed 's/^/# /' "$dir/wrong"
		echo "not ok $number - $sentence"
	fi
}

skip() {
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

differ() { # WHAT FILE WHAT FILE: sorted ones, that have something in them
	[ -s "$2" ] || echo "nothing in $1: has it changed its form?"
	comm -23 "$2" "$4" | sed "s|^|only in $1: |"
	comm -13 "$2" "$4" | sed "s|^|only in $3: |"
}

start_redis() {
	redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" --logfile "$dir/redis.log" >/dev/null 2>&1 &
	redis=$!
	until redis-cli -s "$dir/redis.sock" PING 2>/dev/null | grep -q PONG; do
		kill -0 "$redis" || return
		sleep 0.05
	done
}

# A thread sanitizer does not follow the simulator's fibers, and makes scenes so slow that they are others.
is_under_tsan() {
	grep -q -- '-fsanitize=thread' "$build/config.status"
}

finish() {
	echo "1..$number"
}
