#!/bin/sh
# Each defence is needed: with it taken out (lib/base/mutation.h) what docs/defences.md names notices it.
#
# Its table says what is run: a sentence of the scripted world (core/test_*), which fails; or a test of another
# program, which is run with the shared library of the mutations in place of libleash.so, passes without the mutation and
# fails with it; and a deployment of the simulator, in which one of so many seeds ends with a breach.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

page=$source/docs/defences.md

rows() { # mutation, program, test, deployment and seeds
	sed -n 's/^| .* | `\(LSH_[A-Z_]*\)` | `\([a-z_/]*\)`: `\([A-Za-z_]*\)` | \([a-z0-9 ]*\) | .* |$/\1 \2 \3 \4/p' "$page"
}
mutations() {
	grep -o '^	LSH_[A-Z_]*' "$source/lib/base/mutation.h" | tr -d '\t'
}
number_of() { # MUTATION
	echo $(($(mutations | grep -nx "$1" | cut -d: -f1) - 1))
}

passes() { # NUMBER PROGRAM TEST: with this mutation; 0: with none
	program=$(echo "$2" | sed 's|^core/test_|core/mutated_|')
	LD_LIBRARY_PATH=$build/tests/fault/mutated/.libs LEASH_TEST_FILTER=$3 LEASH_MUTATION=$1 CMOCKA_MESSAGE_OUTPUT=TAP \
		"$build/tests/$program" >"$dir/out" 2>&1
	grep -q "^ok [0-9]* - $3\$" "$dir/out"
}
is_noticed() { # MUTATION PROGRAM TEST
	passes 0 "$2" "$3" || { cat "$dir/out"; echo "without it $3 does not pass"; }
	! passes "$(number_of "$1")" "$2" "$3" || echo "with it $3 passes, too"
}
is_found() { # MUTATION DEPLOYMENT SEEDS
	! LEASH_MUTATION=$(number_of "$1") "$build/tests/sim/mutated" --deployment "$2" --seed 1 --seeds "$3" \
		>"$dir/out" 2>&1 || echo 'there is no breach'
}
all_have_rows() {
	rows | cut -d' ' -f1 >"$dir/rows"
	mutations | sed 1d | diff "$dir/rows" -
}

if is_under_tsan; then
	skip 'each defence is needed' 'a thread sanitizer'
	finish
	exit
fi
check 'docs/defences.md has a row for each mutation, in their order' all_have_rows
rows >"$dir/table"
while read -r mutation program test deployment seeds; do
	check "$mutation: $program notices it" is_noticed "$mutation" "$program" "$test"
	check "$mutation: $deployment finds it within $seeds seeds" is_found "$mutation" "$deployment" "$seeds"
done <"$dir/table"
finish
