#!/bin/sh
# The contract in the deployments that are more than one plain server, and on one server as the user with no more rights
# than docs/deployments.md says ("least"): the programs of tests/contract run once more there.
#
# All of them do, in all of these, but those that are listed here with the reason; so one that is new is run everywhere,
# or fails. What locks keep in each deployment is said by the laws (test_laws), and what a user of them may do by
# test_least. With LEASH_TEST_DEPLOYMENT: in that one alone, and all that can be. A program says itself which of its tests
# are not for a deployment, and why (place.h).
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

# Those for which fewer are enough: NAME  DEPLOYMENT,...  REASON; "-": it has its locks elsewhere
cat >"$dir/fewer" <<'END'
test_cancel          tls,sentinel,cluster,quorum  no rights of its own
test_close           tls,sentinel,cluster,quorum  no rights of its own
test_conditions      sentinel,cluster,least  a kind of its own: where its keys are, and with what rights
test_fair            -  what fair clients are promised besides; that they keep the laws everywhere is seen by test_laws
test_fields          -  asks no server
test_forked          tls,sentinel,cluster,quorum  no rights of its own
test_input           cluster,quorum        what a call says before anything is sent; keys and their slots
test_inspect         cluster,least,quorum  a question of its own: who is asked, and with what rights
test_introduce       cluster,least,quorum  a key of its own, and what is counted of several servers
test_leader          cluster,least         a question of its own: who is asked, and with what rights
test_least           -  goes through all deployments itself
test_loop            cluster,quorum        who reads for an op, and who ticks it, is one question; where its servers are is another
test_loop_conditions sentinel,cluster,least  as test_conditions
test_loop_kinds      cluster,quorum        the same; and where the keys of each kind are
test_manners         tls,sentinel,cluster,quorum  no rights of its own
test_metrics         cluster,quorum        who measures is above all deployments; what an answer is, differs
test_nowait          cluster,quorum        who waits for an answer is above all deployments; what is told differs
test_one_write       -  what one client writes to one server
test_owner           quorum                threads of one client
test_preloaded       -  each test has a server of its own whose scripts an administrator has loaded
test_readwrite       cluster,least,quorum  a kind of its own: where its keys are, and with what rights
test_resources       tls,sentinel,cluster,quorum  no rights of its own
test_scan            cluster,least,quorum  a question of its own: who is asked, and with what rights
test_scan_lies       -  the server is a fake, which answers what no server would
test_sharers         cluster               kinds of their own: where their keys are
test_takeover        cluster,least,quorum  a question of its own: who is asked, and with what rights
test_times           quorum                leases, which one server counts as any other does
test_tls             -  the certificates of one server
test_writers         cluster               a kind of its own: where its keys are
END

all() {
	for file in "$source"/tests/contract/test_*.c; do
		basename "$file" .c
	done
}

# Where it is enough; empty: everywhere.
where() { # PROGRAM
	sed -n "s/^$1  *\([^ ]*\) .*/\1/p" "$dir/fewer"
}

is_for() { # DEPLOYMENT PROGRAM
	[ -z "${LEASH_TEST_DEPLOYMENT:-}" ] || [ "$(where "$2")" = - ] || return 0
	case ,$(where "$2"), in
	,, | *",$1,"*) ;;
	*) return 1 ;;
	esac
}

each_for_which_fewer_are_enough_has_a_reason() {
	while read -r program where reason; do
		[ -e "$source/tests/contract/$program.c" ] || echo "$program is no program of the contract"
		[ -n "$reason" ] || echo "$program: why?"
		[ "$where" != - ] || ! grep -q 'support/place\.h' "$source/tests/contract/$program.c" ||
			echo "$program could be run everywhere"
		for deployment in $(echo "$where" | tr , ' '); do
			case " - $deployments " in *" $deployment "*) ;; *) echo "$program: '$deployment' is none" ;; esac
		done
	done <"$dir/fewer"
}

# What it printed is in $dir/DEPLOYMENT.PROGRAM, and in ....failed, too, if it is not as it should be.
run() { # DEPLOYMENT PROGRAM
	out=$dir/$1.$2 kind=$1 user=
	[ "$1" != least ] || kind=single user=least
	LEASH_TEST_LIMIT=900 LEASH_TEST_DEPLOYMENT=$kind LEASH_TEST_USER=$user \
		"$source/build-aux/tap.sh" "$build/tests/contract/$2" >"$out" 2>&1 || {
		cp "$out" "$out.failed"
		return
	}
	grep -q "^# in $kind\$" "$out" ||
		echo "not ok - $2 has its locks elsewhere, not where place.h says: it is to be listed with a reason" >>"$out"
	! grep -q '^not ok ' "$out" || cp "$out" "$out.failed"
}

# Each runs every fourth: they wait more than they compute.
lanes=4
lane() { # NUMBER
	awk -v lanes=$lanes -v n="$1" 'NR % lanes == n' "$dir/runs" | while read -r deployment program; do
		run "$deployment" "$program" </dev/null
	done
}

deployments="tls sentinel cluster least quorum"
check 'those for which fewer are enough are listed with the reason' each_for_which_fewer_are_enough_has_a_reason
for deployment in ${LEASH_TEST_DEPLOYMENT:-$deployments}; do
	for program in $(all); do
		! is_for "$deployment" "$program" || echo "$deployment $program"
	done
done >"$dir/runs"
for n in $(seq 0 $((lanes - 1))); do
	lane "$n" &
done
wait
while read -r deployment program; do
	out=$dir/$deployment.$program
	if [ -e "$out.failed" ] && grep -q '^1\.\.0 # SKIP' "$out"; then
		skip "$deployment: $program" "$(sed -n 's/^1\.\.0 # SKIP *//p' "$out")"
	elif [ -e "$out.failed" ]; then
		sed 's/^\(# \)*/# /' "$out"
		check "$deployment: $program" false
	else
		sed -n '/^# not in /p' "$out"
		check "$deployment: $program ($(grep -c '^ok ' "$out") tests)" true
	fi
done <"$dir/runs"
finish
