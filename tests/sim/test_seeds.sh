#!/bin/sh
# The simulator finds nothing in new worlds, and in those in which it once did.
#
# New worlds are drawn for LEASH_TEST_SIM_S seconds of each deployment, from a seed that the name of the test tells: of
# what fails elsewhere that may be all that one gets to see. Seeds in which something was found are in tests/sim/seeds:
# they are other worlds once the simulator draws in another order.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

finds_nothing() { # ARGUMENT...
	"$build/tests/sim/run" "$@" >"$dir/out" 2>&1 || cat "$dir/out"
	grep -v '^again' "$dir/out" | sed 's/^/# /' >&3
}
exec 3>&1

if is_under_tsan; then
	skip 'the simulator finds nothing' 'a thread sanitizer'
	finish
	exit
fi

for deployment in single replicas sentinel cluster quorum; do
	seed=$(date +%s)000
	check "$deployment, seeds from $seed on: nothing is found in new worlds" \
		finds_nothing --deployment "$deployment" --seed "$seed" --seconds "${LEASH_TEST_SIM_S:-12}"
done
while read -r deployment seed steps rest; do
	check "$deployment, seed $seed: nothing is found any more: $rest" \
		finds_nothing --deployment "$deployment" --seed "$seed" --steps "$steps"
done <"$source/tests/sim/seeds"
finish
