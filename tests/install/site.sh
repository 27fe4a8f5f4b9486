#!/bin/sh
# The site that `make html` makes: each of its links leads somewhere, and each public call is there with what its header
# says.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

site=$build/html

is_made() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$build" --no-print-directory html >"$dir/log" 2>&1 || cat "$dir/log"
}
# From another machine, as a visitor's browser would.
fetches_nothing() {
	grep -rnoE '<(link|script|img)[^>]*(href|src)="[a-z]*:?//[^"]*"' "$site"
	grep -rnoE '@import.*|url\([^#)][^)]*\)' "$site"
	[ -s "$site/index.html" ] || echo 'there is no index.html'
}
a_dead_link_is_named() {
	cp -R "$source/README.md" "$source/include" "$dir"
	"$python" "$source/docs/site/build.py" "$dir" "$build/docs/man3" "$dir/html" 2>"$dir/said" && echo 'it succeeds'
	[ ! -e "$dir/html/index.html" ] || echo 'it is made all the same'
	grep -q 'README.md links to docs/guide.md, which is not there' "$dir/said" || cat "$dir/said"
}

if ! python=$(python_with markdown_it 2>/dev/null) || ! command -v mandoc >/dev/null; then
	skip 'the site is made' 'mandoc or python3-markdown-it is missing'
	finish
	exit
fi

check 'make html makes it' is_made
check 'it needs nothing from elsewhere' fetches_nothing
check 'all its links and anchors are there' "$python" "$source/tests/install/site.py" links "$site"
check 'each public call is there with what its header says' "$python" "$source/tests/install/site.py" calls "$site" "$source"
check 'a link to a file that is not there is named, and nothing is made' a_dead_link_is_named

finish
