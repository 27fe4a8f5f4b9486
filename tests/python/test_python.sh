#!/bin/sh
# The Python package, bindings/python: what its pytest suite says is so, with the library of this build and a server of
# its own.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

package=$source/bindings/python
library=$build/lib/.libs/libleash.so.0

if [ -n "${LEASH_SANITIZE-}" ]; then
	skip 'the Python package' 'a sanitizer must be in the program from its start, and python3 has none'
	finish
	exit
elif [ ! -e "$library" ]; then
	skip 'the Python package' 'built with --disable-shared'
	finish
	exit
fi

# Whatever file is in the source tree, as a tarball may be one that nobody can write to.
files() {
	find "$source/bindings" | sort
}
leaves_nothing() {
	files | diff "$dir/files" -
}
ends_well() {
	[ "$status" -eq 0 ] || cat "$dir/log"
}

python=$(python_with pytest) || exit
files >"$dir/files"
: >"$dir/results"
mkdir "$dir/tmp"
TMPDIR=$dir/tmp LEASH_LIBRARY=$library LEASH_TEST_RESULTS=$dir/results PYTHONDONTWRITEBYTECODE=1 \
	"$python" -m pytest -q --color=no -c "$package/pyproject.toml" "$package/tests" >"$dir/log" 2>&1
status=$?

while IFS='	' read -r outcome sentence reason; do
	case $outcome in
	passed) check "$sentence" true ;;
	skipped) skip "$sentence" "$reason" ;;
	*) check "$sentence" false ;;
	esac
done <"$dir/results"
check 'the suite comes to its end, and nothing else goes wrong in it' ends_well
check 'it leaves no file in the source' leaves_nothing
finish
