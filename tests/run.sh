#!/bin/sh
# Build leash and run every test: tests/run.sh [--all] [CONFIGURE-ARGUMENT...]     (--enable-sanitizers=thread, ...)
#
# Does all of its own set-up on a bare Debian 12 or 13, as root or with sudo: packages, build, servers. Safe to run again,
# from any folder. Ends with one line, "N passed, N failed, N skipped", and succeeds if nothing failed; with CI=true only
# if nothing was skipped either. The build is in build/test, or $LEASH_BUILD_DIR.
#
# --all: after that the nemesis in each deployment (single, TLS, sentinel, cluster, quorum) for ten minutes, and the same tests
# again with Valkey 8, which is fetched for it (build-aux/valkey.sh). Takes about two hours, of which the nemesis has fifty
# minutes. And where there are a JDK and Maven, one lock is shared with real Redisson for five minutes by two versions of it
# (redisson/run.sh); in CI also without --all, for half a minute.
set -u

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
folder=${LEASH_BUILD_DIR:-$source/build/test}
passed=0 failed=0 skipped=0

all=no
if [ "${1-}" = --all ]; then
	all=yes
	shift
fi

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ] && { [ "$skipped" -eq 0 ] || [ "${CI-}" != true ]; }
	exit
}
give_up() {
	failed=$((failed + 1))
	finish
}

"$source/build-aux/packages.sh" || give_up
"$source/build-aux/build.sh" "$folder" "$@" || give_up
folder=$(cd "$folder" && pwd) || give_up

echo "build: the tests"
make -C "$folder" -j"$(nproc)" --no-print-directory check TESTS= >"$folder/check-build.log" 2>&1 || {
	cat "$folder/check-build.log"
	give_up
}

count() { # RESULTS PATTERN
	printf '%s\n' "$1" | grep -cE "^($2)\$"
}

# All tests of the build, with the server that is chosen.
suite() {
	# Results of a test that has since been renamed would be counted for ever.
	find "$folder" -name '*.trs' -delete

	# Five at a time, even on two CPUs: tests wait more than they compute.
	make -C "$folder" -j"${LEASH_TEST_JOBS:-5}" --no-print-directory check
	made=$?

	results=$(find "$folder" -name '*.trs' -exec cat {} + | sed -n 's/^:test-result: //p')
	failures=$(count "$results" 'FAIL|ERROR|XPASS|XFAIL')
	skips=$(count "$results" 'SKIP')

	find "$folder" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR|XPASS|XFAIL)' {} + | sort | while read -r trs; do
		log=${trs%.trs}.log
		printf '\n==== %s\n' "${log#"$folder/"}"
		cat "$log"
	done
	if [ "$skips" -gt 0 ]; then
		printf '\n==== skipped\n'
		find "$folder" -name '*.trs' -exec grep -l '^:test-result: SKIP' {} + | sort | while read -r trs; do
			grep '^SKIP: ' "${trs%.trs}.log"
		done
	fi

	if [ -z "$results" ]; then
		echo "no test ran"
		failures=$((failures + 1))
	elif [ "$failures" -eq 0 ] && [ "$made" -ne 0 ]; then
		echo "make check ended with status $made although no test failed"
		failures=1
	fi
	passed=$((passed + $(count "$results" 'PASS')))
	failed=$((failed + failures))
	skipped=$((skipped + skips))
}

nemesis() { # DEPLOYMENT
	printf '\n==== the nemesis, %s\n' "$1"
	if (cd "$folder" && LEASH_SRCDIR=$source LEASH_BUILDDIR=$folder ./tests/fault/nemesis --deployment "$1" --seconds 600); then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

# With real Redisson, where that can be had: a JDK and Maven are not fetched for it.
redisson() { # SECONDS
	command -v javac >/dev/null && command -v mvn >/dev/null || return 0
	printf '\n==== Redisson\n'
	if LEASH_SRCDIR=$source LEASH_BUILDDIR=$folder "$source/tests/redisson/run.sh" "$1"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

suite
if [ "$all" = no ]; then
	[ "${CI-}" != true ] || redisson 30
	finish
fi

redisson 300
for deployment in single tls sentinel cluster quorum; do
	nemesis "$deployment"
done

printf '\n==== Valkey\n'
if LEASH_TEST_SERVER=$("$source/build-aux/valkey.sh" "$folder/valkey"); then
	export LEASH_TEST_SERVER
	"$LEASH_TEST_SERVER" --version
	suite
else
	echo "skipped: the tests with Valkey"
	skipped=$((skipped + 1))
fi
finish
