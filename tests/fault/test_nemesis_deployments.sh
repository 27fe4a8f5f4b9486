#!/bin/sh
# Contenders under faults on deployments of several servers, and by TLS: for $LEASH_TEST_NEMESIS_SECONDS each, under whatever comes by
# $LEASH_TEST_SEED (1). Without the former it is 5 s under those few faults that make a deployment what it is.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

nemesis=$build/tests/fault/nemesis
seed=${LEASH_TEST_SEED:-1}

few() { # DEPLOYMENT
	case $1 in
	tls) echo kill,hold,reset,client-kill-normal,server-stop ;;
	sentinel) echo freeze,master-kill,master-stop,sentinel-kill,client-kill-pubsub ;;
	cluster) echo freeze,master-kill,slots-move,slots-stay,slots-wander,client-kill-pubsub ;;
	quorum) echo kill,nodes-kill-empty,nodes-kill-in-turn,nodes-hold,majority-stop,reset ;;
	esac
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
	! "$nemesis" --deployment clustre --list >"$dir/out" 2>&1 && grep -q "no deployment 'clustre'" "$dir/out"
}

# A judge that is shown nothing finds nothing.
sees_something() {
	grep -q '[^0-9][1-9][0-9]* renewals seen' "$dir/run" && grep -q 'registers:  [1-9][0-9]* writes taken' "$dir/run"
}

fight() { # DEPLOYMENT
	if [ -n "${LEASH_TEST_NEMESIS_SECONDS:-}" ]; then
		"$nemesis" --deployment "$1" --seed "$seed" --seconds "$LEASH_TEST_NEMESIS_SECONDS"
	else
		"$nemesis" --deployment "$1" --seed "$seed" --seconds 5 --only "$(few "$1")"
	fi
}

check 'a deployment that is not known is refused' unknown_ones_are_refused
for deployment in tls sentinel cluster quorum; do
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
done
finish
