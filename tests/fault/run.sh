#!/bin/sh
# Run contenders under faults and judge what they did: tests/fault/run.sh [--seconds N] [--seed S] [ARGUMENT...]
#
# Builds what is needed, on a bare Debian 12 or 13 too, as tests/run.sh does, and in the same folder: build/test, or
# $LEASH_BUILD_DIR. The server is redis-server, or $LEASH_TEST_SERVER. Arguments are those of the nemesis: see its --help.
# Succeeds if the judge finds nothing; else it says where the histories are.
set -u

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd) || exit 1
folder=${LEASH_BUILD_DIR:-$source/build/test}

"$source/build-aux/packages.sh" || exit 1
"$source/build-aux/build.sh" "$folder" || exit 1
folder=$(cd "$folder" && pwd) || exit 1

echo "build: the nemesis"
make -C "$folder" -j"$(nproc)" --no-print-directory tests/fault/nemesis tests/fault/contender tests/support/clock_shim.la \
	>"$folder/nemesis-build.log" 2>&1 || {
	cat "$folder/nemesis-build.log"
	exit 1
}
exec "$folder/tests/fault/nemesis" "$@"
