#!/bin/sh
# The simulator finds nothing in new worlds, and in those in which it once did; and it finds what is broken on purpose.
#
# New worlds are drawn for LEASH_TEST_SIM_S seconds of each deployment, from a seed that is told. Seeds in which
# something was found are in tests/sim/seeds: they are other worlds once the simulator draws in another order.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

number_of() { # MUTATION
	grep -o '^	LSH_[A-Z_]*' "$source/lib/base/mutation.h" | grep -nx "	$1" | cut -d: -f1
}
finds_nothing() { # ARGUMENT...
	"$build/tests/sim/run" "$@" >"$dir/out" 2>&1 || cat "$dir/out"
	grep -v '^again' "$dir/out" | sed 's/^/# /' >&3
}
finds() { # MUTATION DEPLOYMENT SEED
	! LEASH_MUTATION=$(($(number_of "$1") - 1)) "$build/tests/sim/mutated" --deployment "$2" --seed "$3" >"$dir/out" 2>&1 ||
		echo 'nobody notices it'
}
exec 3>&1

for deployment in single replicas quorum; do
	check "$deployment: nothing is found in new worlds" \
		finds_nothing --deployment "$deployment" --seconds "${LEASH_TEST_SIM_S:-20}"
done
while read -r deployment seed steps rest; do
	check "$deployment, seed $seed: nothing is found any more: $rest" \
		finds_nothing --deployment "$deployment" --seed "$seed" --steps "$steps"
done <"$source/tests/sim/seeds"
while read -r mutation deployment seed; do
	check "$mutation is found in seed $seed of $deployment" finds "$mutation" "$deployment" "$seed"
done <<'END_OF_TABLE'
LSH_RENEWALS_GO_ON single 3
LSH_FENCES_STAND_STILL single 3
END_OF_TABLE
finish
