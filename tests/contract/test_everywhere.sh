#!/bin/sh
# The contract in every deployment: each program of tests/contract runs once more in those that are more than one plain server, and on one
# server as the user with no more rights than docs/deployments.md says ("least").
#
# All of them do but those that are listed here with the reason; so one that is new is run everywhere, or fails. With
# LEASH_TEST_DEPLOYMENT: in that one alone. A program says itself which of its tests are not for a deployment, and why (place.h).
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

# Those that are not run here: NAME  REASON
cat >"$dir/alone" <<'END'
test_fair           a program of the laws: test_laws_* run them in each deployment
test_laws_cluster   a program of the laws
test_laws_least     a program of the laws
test_laws_quorum    a program of the laws
test_laws_sentinel  a program of the laws
test_laws_tls       a program of the laws
test_least          goes through all deployments itself
test_mixed          a program of the laws: test_laws_* run them in each deployment
test_plain          a program of the laws: test_laws_* run them in each deployment
test_preloaded      each test has a server of its own whose scripts an administrator has loaded
test_scan_lies      the server is a fake, which answers what no server would
test_tls            the certificates of one server
END

all() {
	for file in "$source"/tests/contract/test_*.c; do
		basename "$file" .c
	done
}

is_alone() { # PROGRAM
	grep -q "^$1 " "$dir/alone"
}

each_that_is_alone_is_one_with_a_reason() {
	while read -r program reason; do
		[ -e "$source/tests/contract/$program.c" ] || echo "$program is no program of the contract"
		[ -n "$reason" ] || echo "$program: why?"
		! grep -q 'support/place\.h' "$source/tests/contract/$program.c" || echo "$program could be run everywhere"
	done <"$dir/alone"
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
		echo "# $2 has its locks elsewhere: it is to have them where place.h says, or to be listed with a reason" >>"$out"
	if grep -q '^not ok ' "$out" || ! grep -q "^# in $kind\$" "$out"; then
		cp "$out" "$out.failed"
	fi
}

lane() { # DEPLOYMENT...
	for deployment; do
		for program in $programs; do
			run "$deployment" "$program"
		done
	done
}

check 'those that are for one server alone are listed with the reason' each_that_is_alone_is_one_with_a_reason
programs=$(for program in $(all); do is_alone "$program" || echo "$program"; done)
deployments=${LEASH_TEST_DEPLOYMENT:-tls sentinel cluster least quorum}
# They wait more than they compute, and for a quorum nearly as long as for all others.
case $deployments in
*' quorum')
	lane quorum &
	# shellcheck disable=SC2086 # words
	lane ${deployments% quorum}
	wait
	;;
*)
	lane "$deployments"
	;;
esac
for deployment in $deployments; do
	for program in $programs; do
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
	done
done
finish
