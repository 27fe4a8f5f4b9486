#!/bin/sh
# Build leash and run every test: tests/run.sh [CONFIGURE-ARGUMENT...]     (--enable-sanitizers=thread, ...)
#
# Does all of its own set-up on a bare Debian 12 or 13, as root or with sudo: packages, build, servers. Safe to run again,
# from any folder. Ends with one line, "N passed, N failed, N skipped", and succeeds if nothing failed; with CI=true only
# if nothing was skipped either. The build is in build/test, or $LEASH_BUILD_DIR.
set -u

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
folder=${LEASH_BUILD_DIR:-$source/build/test}

finish() { # PASSED FAILED SKIPPED
	echo "$1 passed, $2 failed, $3 skipped"
	[ "$2" -eq 0 ] && [ "$1" -gt 0 ] && { [ "$3" -eq 0 ] || [ "${CI-}" != true ]; }
	exit
}

"$source/build-aux/packages.sh" || finish 0 1 0
"$source/build-aux/build.sh" "$folder" "$@" || finish 0 1 0
folder=$(cd "$folder" && pwd) || finish 0 1 0

echo "build: the tests"
make -C "$folder" -j"$(nproc)" --no-print-directory check TESTS= >"$folder/check-build.log" 2>&1 || {
	cat "$folder/check-build.log"
	finish 0 1 0
}

# Results of a test that has since been renamed would be counted for ever.
find "$folder" -name '*.trs' -delete

# Two at a time, even on one CPU: tests wait more than they compute.
make -C "$folder" -j"${LEASH_TEST_JOBS:-2}" --no-print-directory check
made=$?

results=$(find "$folder" -name '*.trs' -exec cat {} + | sed -n 's/^:test-result: //p')
count() {
	printf '%s\n' "$results" | grep -cE "^($1)\$"
}
passed=$(count 'PASS')
failed=$(count 'FAIL|ERROR|XPASS|XFAIL')
skipped=$(count 'SKIP')

find "$folder" -name '*.trs' -exec grep -lE '^:test-result: (FAIL|ERROR|XPASS|XFAIL)' {} + | sort | while read -r trs; do
	log=${trs%.trs}.log
	printf '\n==== %s\n' "${log#"$folder/"}"
	cat "$log"
done
if [ "$skipped" -gt 0 ]; then
	printf '\n==== skipped\n'
	find "$folder" -name '*.trs' -exec grep -l '^:test-result: SKIP' {} + | sort | while read -r trs; do
		grep '^SKIP: ' "${trs%.trs}.log"
	done
fi

if [ "$failed" -eq 0 ] && [ "$made" -ne 0 ]; then
	echo "make check ended with status $made although no test failed"
	failed=1
elif [ $((passed + failed + skipped)) -eq 0 ]; then
	echo "no test ran"
fi
finish "$passed" "$failed" "$skipped"
