#!/bin/sh
# What the library shows to a program: the names that the headers declare and no other, an SONAME that follows the rule in
# lib/local.mk, and the flags that it was to be linked with; but for those that harden it (hardened.sh).
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

shared=$build/lib/.libs/libleash.so
static=$build/lib/.libs/libleash.a

# ---- three lists of names ----

# Each name before a parenthesis, without comments and macros.
(cd "$source/include" && printf '#include <%s>\n' leash.h leash/*.h) | ${CC:-cc} -E -P -I"$source/include" -x c - |
	grep -oE '\<leash_[a-z0-9_]*[a-z0-9] *\(' | tr -d ' (' | sort >"$dir/declared"

# With the node that each is in: name@@node.
awk '
	/^[A-Z].*\{/ { node = $1; next }
	/^global:/ { global = 1; next }
	/^local:/ || /^}/ { global = 0; next }
	global && $1 ~ /;$/ { print substr($1, 1, length($1) - 1) "@@" node }
	' "$source/lib/libleash.map" | sort >"$dir/mapped"

nm=${NM:-nm}

# shellcheck disable=SC2086 # words: libtool's nm carries arguments
exported() { # without the nodes themselves, which nm shows as absolute
	$nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sort
}

header_is_map() {
	uniq -d "$dir/declared" | sed 's/^/declared twice: /'
	sed 's/@@.*//' "$dir/mapped" | sort >"$dir/names"
	differ 'the headers' "$dir/declared" 'libleash.map' "$dir/names"
}
map_is_library() {
	exported >"$dir/exported"
	differ 'libleash.map' "$dir/mapped" 'libleash.so' "$dir/exported"
}

# Hidden names are global in the objects of an archive. The instrumentation of a sanitizer has names of its own.
# shellcheck disable=SC2086
archive_keeps_to_itself() {
	$nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | sort -u >"$dir/archived"
	allowed='leash_|lsh_'
	[ -z "${LEASH_SANITIZE-}" ] || allowed="$allowed|__odr_asan"
	grep -vE "^($allowed)" "$dir/archived"
	grep '^leash_' "$dir/archived" | comm -3 - "$dir/declared" |
		sed 's/^[[:space:]]*/not in both headers and archive: /'
}

# ---- how it was linked ----

dynamic() {
	readelf -dW "$shared"
}
soname_follows_version_info() {
	rule=$(sed -n 's/^libleash_version_info = //p' "$source/lib/local.mk")
	current=${rule%%:*}
	age=${rule##*:}
	revision=${rule#*:}
	revision=${revision%:*}
	soname=libleash.so.$((current - age))
	dynamic | grep -qF "soname: [$soname]" || { echo "the SONAME is not $soname:" && dynamic | grep SONAME; }
	[ -e "$build/lib/.libs/$soname.$age.$revision" ] || echo "no file $soname.$age.$revision"
}
stays_loaded() {
	dynamic | grep -qE 'FLAGS_1.*NODELETE' || echo 'no NODELETE'
}
searches_nowhere() {
	! dynamic | grep -E 'RPATH|RUNPATH'
}

check 'the headers declare what libleash.map lists' header_is_map

if [ -e "$shared" ]; then
	check 'the shared library exports what libleash.map lists, each in its node, and nothing else' map_is_library
	check 'the SONAME and the file follow the version-info' soname_follows_version_info
	check 'dlclose leaves the shared library where it is' stays_loaded
	check 'the shared library has no search path of its own' searches_nowhere
else
	skip 'the shared library shows what it should' 'built with --disable-shared'
fi

if [ -e "$static" ]; then
	check 'the static library has no global name but leash_ and lsh_' archive_keeps_to_itself
else
	skip 'the static library shows what it should' 'built with --disable-static'
fi

finish
