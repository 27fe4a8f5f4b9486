#!/bin/sh
# Contenders under faults in each deployment: what they did stands before the judge. For $LEASH_TEST_NEMESIS_SECONDS each, under whatever
# comes by $LEASH_TEST_SEED (1). Without the former it is 20 s on a single server, and elsewhere less, under those few faults
# that make a deployment what it is; tests/run.sh --all has ten minutes of each.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

nemesis=$build/tests/fault/nemesis
seed=${LEASH_TEST_SEED:-1}

# So long that all of the important ones come by seed 1.
short() { # DEPLOYMENT
	case $1 in
	single) echo --seconds 20 ;;
	tls) echo --seconds 5 --only kill,hold,reset,client-kill-normal,server-stop ;;
	sentinel) echo --seconds 12 --only master-kill,master-stop,failover ;;
	cluster) echo --seconds 15 --only master-kill,failover,slots-move,slots-stay,slots-wander ;;
	quorum) echo --seconds 8 --only kill,nodes-kill-empty,nodes-kill-in-turn,nodes-hold,majority-stop,reset ;;
	esac
}

is_repeatable() {
	"$nemesis" --list --seconds 600 --seed 7 >"$dir/one" && "$nemesis" --list --seconds 600 --seed 7 >"$dir/other" &&
		"$nemesis" --list --seconds 600 --seed 8 >"$dir/third" || return
	[ -s "$dir/one" ] && cmp "$dir/one" "$dir/other" && ! cmp -s "$dir/one" "$dir/third"
}

# As long as the longest run that is shown.
every_fault_comes() { # DEPLOYMENT
	"$nemesis" --deployment "$1" --list --seconds 600 --seed "$seed" >"$dir/list"
	"$nemesis" --deployment "$1" --help | sed '1,/The faults of/d' | tr -s ' ' '\n' | sed '/^$/d' >"$dir/faults"
	[ "$(wc -l <"$dir/faults")" -ge 20 ] || echo 'the faults are not told'
	while read -r fault; do
		grep -q ": $fault " "$dir/list" || echo "$fault does not come"
	done <"$dir/faults"
}

unknown_ones_are_refused() {
	! "$nemesis" --deployment clustre --list >"$dir/out" 2>&1 && grep -q "no deployment 'clustre'" "$dir/out" &&
		! "$nemesis" --only kill,kil --list >"$dir/out" 2>&1 && grep -q "no fault 'kil'" "$dir/out"
}

# A judge that is shown nothing finds nothing. Half a minute in which a master is replaced leaves time for little, so
# not all kinds of holds are to be seen in each deployment.
sees_something() {
	grep -q '[^0-9][1-9][0-9]* renewals seen' "$dir/run" && grep -q '^taken  *[1-9]' "$dir/run"
}
sees_all_kinds() {
	[ "$(grep -ohE '^(beside|trades|met|news)  *[1-9]' "$dir"/run.* | cut -d ' ' -f 1 | sort -u | wc -l)" -eq 4 ]
}

fight() { # DEPLOYMENT
	if [ -n "${LEASH_TEST_NEMESIS_SECONDS:-}" ]; then
		set -- "$1" --seconds "$LEASH_TEST_NEMESIS_SECONDS"
	else
		# shellcheck disable=SC2046 # words
		set -- "$1" $(short "$1")
	fi
	"$nemesis" --seed "$seed" --deployment "$@"
}

check 'the faults follow from the seed' is_repeatable
check 'a deployment or a fault that is not known is refused' unknown_ones_are_refused
for deployment in single tls sentinel cluster quorum; do
	check "$deployment: every fault comes in ten minutes" every_fault_comes "$deployment"
	sentence="$deployment: under faults the judge finds nothing"
	fight "$deployment" >"$dir/run" 2>&1
	status=$?
	sed 's/^\(# \)*/# /' "$dir/run"
	if [ "$status" -eq 77 ]; then
		skip "$sentence" "$(tail -n 1 "$dir/run")"
		continue
	fi
	check "$sentence" test "$status" -eq 0
	check "$deployment: the watchers see renewals, and the registers take writes" sees_something
	cp "$dir/run" "$dir/run.$deployment"
done
check 'in one or another it is shared, traded, met and led' sees_all_kinds
finish
