# What shell tests share: sourced by them, not run.
#
#   check SENTENCE COMMAND...   one test. It is so if the command succeeds and says nothing: what it says is what is wrong
#   skip SENTENCE REASON        one test that cannot be made here
#   finish                      at the end of each script: how many there were
#
# Sets $source and $build, the two trees, and $dir, a fresh folder that is removed at the end.
# shellcheck shell=sh

set -u
export LC_ALL=C

source=${LEASH_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck disable=SC2034 # for the tests
build=${LEASH_BUILDDIR:-$source/build/test}

dir=$(mktemp -d "${TMPDIR:-/tmp}/leash-test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM

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

# A thread sanitizer does not follow the simulator's fibers, and makes scenes so slow that they are others.
is_under_tsan() {
	grep -q -- '-fsanitize=thread' "$build/config.status"
}

finish() {
	echo "1..$number"
}
