#!/bin/sh
# Run one test program for automake's TAP driver: tap.sh PROGRAM [ARGUMENT...]
#
# cmocka writes TAP when asked, but neither its dialects (1.1.5 calls a skipped test "not ok") nor the end of a crashed
# program are what the driver expects. Here
#   - a test that was planned and did not run is a test that failed, with the reason;
#   - a skipped test carries as its reason the line that was printed before it;
#   - a program that exits with 77 is skipped as a whole, its last line being the reason;
#   - the exit status that only counts failed tests is swallowed, so that none counts twice.
# The output goes through a file and not a pipe: a server that a crashed test left behind would keep a pipe open.
set -u

# Not a limit for slow machines but the end of a test that hangs; the group gets SIGABRT, so that a core shows where.
limit=${LEASH_TEST_LIMIT:-900}

out=$(mktemp "${TMPDIR:-/tmp}/leash-tap.XXXXXX") || exit 99
child=
trap 'rm -f "$out"' EXIT
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 130' HUP INT TERM

CMOCKA_MESSAGE_OUTPUT=TAP timeout --signal=ABRT --kill-after=30 "$limit" "$@" </dev/null >"$out" 2>&1 &
child=$!
wait "$child"
status=$?
child=

LC_ALL=C awk -v status="$status" -v limit="$limit" '
	/^TAP version / && NR <= 2 { next }
	/^1\.\.[0-9]+/ { plan = substr($0, 4) + 0; planned = 1; print; next }
	/^(not )?ok [0-9]+ # SKIP / {
		match($0, /^(not )?ok [0-9]+ # SKIP /)
		seen++
		print "ok " seen " - " substr($0, RLENGTH + 1) " # SKIP " (last == "" ? "no reason given" : last)
		last = ""
		next
	}
	/^(not )?ok( |$)/ {
		seen++
		if ($1 == "not")
			failed++
		last = ""
		print
		next
	}
	{ if ($0 != "") last = $0; print }
	END {
		if (status == 124 || status == 137)
			why = "the program was ended after " limit " s, or killed"
		else if (status > 128)
			why = "the program died of signal " (status - 128)
		else
			why = "the program ended with status " status
		if (status == 77 && !planned) {
			print "1..0 # SKIP " (last == "" ? "no reason given" : last)
			exit 0
		}
		if (!planned) {
			print "1..1"
			print "not ok 1 - " why " before it told how many tests it has"
			exit 0
		}
		while (seen < plan) {
			seen++
			failed++
			print "not ok " seen " - did not run: " why
		}
		if (status != 0 && !failed) {
			print "# " why " although no test failed"
			exit 1
		}
	}' "$out"
