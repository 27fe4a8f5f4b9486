#!/bin/sh
# Contenders under faults for $LEASH_TEST_NEMESIS_SECONDS (20), by $LEASH_TEST_SEED (1): what they did stands before the judge.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

nemesis=$build/tests/fault/nemesis
seconds=${LEASH_TEST_NEMESIS_SECONDS:-20}
seed=${LEASH_TEST_SEED:-1}

is_repeatable() {
	"$nemesis" --list --seconds 600 --seed 7 >"$dir/one" && "$nemesis" --list --seconds 600 --seed 7 >"$dir/other" &&
		"$nemesis" --list --seconds 600 --seed 8 >"$dir/third" || return
	[ -s "$dir/one" ] && cmp "$dir/one" "$dir/other" && ! cmp -s "$dir/one" "$dir/third"
}

# As long as the longest run that is shown.
every_fault_comes() {
	"$nemesis" --list --seconds 600 --seed "$seed" >"$dir/list"
	"$nemesis" --help | sed '1,/The faults of/d' | tr -s ' ' '\n' | sed '/^$/d' >"$dir/faults"
	[ "$(wc -l <"$dir/faults")" -ge 40 ] || echo 'the faults are not told'
	while read -r fault; do
		grep -q ": $fault " "$dir/list" || echo "$fault does not come"
	done <"$dir/faults"
}

unknown_faults_are_refused() {
	! "$nemesis" --only kill,kil --list >"$dir/out" 2>&1 && grep -q "no fault 'kil'" "$dir/out"
}

# A judge that is shown nothing finds nothing.
sees_something() {
	grep -q '[^0-9][1-9][0-9]* renewals seen' "$dir/run" && grep -q 'registers refused [1-9]' "$dir/run"
}

check 'the faults follow from the seed' is_repeatable
check 'every fault comes in ten minutes' every_fault_comes
check 'a fault that is not known is refused' unknown_faults_are_refused

sentence='under faults the judge finds nothing'
"$nemesis" --seconds "$seconds" --seed "$seed" >"$dir/run" 2>&1
status=$?
sed 's/^\(# \)*/# /' "$dir/run"
if [ "$status" -eq 77 ]; then
	skip "$sentence" "$(tail -n 1 "$dir/run")"
else
	check "$sentence" test "$status" -eq 0
	check 'the watcher sees renewals, and the registers refuse writes' sees_something
fi
finish
