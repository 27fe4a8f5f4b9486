#!/bin/sh
# One lock, taken by C and by Java with real Redisson from Maven Central: tests/redisson/run.sh [SECONDS]
#
# Two versions of Redisson, on one server and in a cluster each; in all four the last sentence lets both sides contend,
# for so long in sum: 300, unless it is said. Needs a build with its tests (tests/run.sh), a JDK, Maven, and what that
# fetches. Where one of these three is missing it says so, and that is no failure.
set -eu

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=${LEASH_SRCDIR:-$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)}
build=${LEASH_BUILDDIR:-$source/build/test}
seconds=$((${1:-300} / 4))

for tool in javac mvn; do
	if ! command -v "$tool" >/dev/null; then
		echo "redisson: nothing to run, there is no $tool"
		exit 0
	fi
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/leash-redisson.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM

make -C "$build" --no-print-directory tests/redisson/with_java >"$dir/log" 2>&1 || {
	cat "$dir/log"
	exit 1
}
for version in ${LEASH_TEST_REDISSON:-3.52.0 4.7.0}; do
	mvn -q -B -f "$source/tests/redisson/pom.xml" -Dredisson="$version" dependency:build-classpath \
		-Dmdep.outputFile="$dir/classpath" >"$dir/log" 2>&1 || {
		cat "$dir/log"
		echo "redisson: nothing to run, Maven has no Redisson $version"
		exit 0
	}
	javac -cp "$(cat "$dir/classpath")" -d "$dir" "$source/tests/redisson/Agent.java"
	for deployment in ${LEASH_TEST_DEPLOYMENT:-single cluster}; do
		echo "redisson: $version, $deployment"
		CLASSPATH=$dir:$(cat "$dir/classpath") LEASH_TEST_SECONDS=$seconds LEASH_TEST_DEPLOYMENT=$deployment \
			"$build/tests/redisson/with_java"
	done
done
