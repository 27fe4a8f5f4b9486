#!/bin/sh
# What the library shows to a program: the names that the headers declare and no other, an SONAME that follows the rule in
# lib/local.mk, how it was linked, and one version, however it is asked for (of the library: install/installed.sh). In
# it and in the programs must be what makes an attacker's work hard.
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

# ---- how it and the programs are hardened ----

is_hardened() { # FILE
	readelf -hldW "$1" >"$dir/elf" || return
	grep -qE 'Type: +DYN' "$dir/elf" || echo "$1: not independent of its position"
	grep -q GNU_RELRO "$dir/elf" || echo "$1: no RELRO"
	grep -qE '\(FLAGS\).*BIND_NOW|\(BIND_NOW\)|FLAGS_1.*NOW' "$dir/elf" || echo "$1: symbols are not bound at the start"
	grep -q 'GNU_STACK.* RW ' "$dir/elf" || echo "$1: its stack can be executed"
	! grep -E ' RWE |TEXTREL' "$dir/elf" || echo "$1: memory that can be written and executed"
}
has_checks() { # FILE
	readelf --dyn-syms -W "$1" >"$dir/elf" || return
	for name in __stack_chk_fail __snprintf_chk __vsnprintf_chk; do
		grep -q " ${name}[@ ]" "$dir/elf" || echo "$1: without $name, a check of the compiler or of the C library"
	done
}
programs_are_hardened() {
	find "$build/examples" "$build/bench" "$build/tools" -maxdepth 1 -type f -perm -u+x ! -name '*.*' >"$dir/programs"
	[ -s "$dir/programs" ] || echo 'there are no programs'
	while read -r program; do
		is_hardened "$program"
	done <"$dir/programs"
}
have_checks() {
	for file in "$shared" "$build/tools/leash"; do
		[ ! -e "$file" ] || has_checks "$file"
	done
}

# ---- the version ----

version=$(sed -n 's/^AC_INIT(\[leash\], \[\([^]]*\)\].*/\1/p' "$source/configure.ac")
header=$source/include/leash/version.h

says() { # WHERE WHAT IT SAYS
	[ "$2" = "$version" ] || echo "$1 says '$2', and configure.ac '$version'"
}
numbers_agree() {
	echo "$version" | grep -qE '^[0-9]+\.[0-9]+\.[0-9]+$' || echo "configure.ac says '$version'"
	says "$header" "$(sed -n 's/^#define LEASH_VERSION "\(.*\)"$/\1/p' "$header")"
	for part in MAJOR MINOR PATCH; do
		sed -n "s/^#define LEASH_VERSION_$part \\([0-9]*\\)\$/\\1/p" "$header"
	done >"$dir/parts"
	says "$header in three numbers" "$(paste -sd. "$dir/parts")"
}
pkg_config_agrees() {
	says leash.pc "$(PKG_CONFIG_PATH=$build/lib${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} "${PKG_CONFIG:-pkg-config}" --modversion leash)"
}

changes_are_told() {
	grep -qE "^## $(echo "$version" | sed 's/\./\\./g')(,|\$)" "$source/CHANGELOG.md" || echo "CHANGELOG.md has no '## $version'"
}

check 'configure.ac and version.h have the same numbers' numbers_agree
check 'leash.pc has them too' pkg_config_agrees
check 'CHANGELOG.md tells what is new in it' changes_are_told
check 'the headers declare what libleash.map lists' header_is_map

if [ -e "$shared" ]; then
	check 'the shared library exports what libleash.map lists, each in its node, and nothing else' map_is_library
	check 'the SONAME and the file follow the version-info' soname_follows_version_info
	check 'dlclose leaves the shared library where it is' stays_loaded
	check 'the shared library has no search path of its own' searches_nowhere
	check 'the shared library is hardened' is_hardened "$shared"
else
	skip 'the shared library shows what it should' 'built with --disable-shared'
fi

if [ -e "$static" ]; then
	check 'the static library has no global name but leash_ and lsh_' archive_keeps_to_itself
else
	skip 'the static library shows what it should' 'built with --disable-static'
fi

# A sanitizer links as it needs, and without optimization there are no checks of the C library.
if grep -q '^S\["SANITIZED_TRUE"\]="#"' "$build/config.status" && grep -q '^S\["CFLAGS"\]=".*-O[1-9s]' "$build/config.status"; then
	check 'the programs are hardened' programs_are_hardened
	check 'the library and the leash command have the checks of the compiler and of the C library' have_checks
else
	skip 'the programs are hardened' 'built with a sanitizer, or without optimization'
fi

finish
