#!/bin/sh
# There is one version, however it is asked for; of the library see unit/test_status.c.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

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

finish
