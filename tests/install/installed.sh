#!/bin/sh
# What `make install` leaves is enough, and no more: programs in C and C++ find it by pkg-config, shared and static.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

root=$dir/root

# Not the flags of the make that runs this test: its job server is none of ours.
installs() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$build" install DESTDIR="$root" >"$dir/install.log" 2>&1 ||
		{ tail -n 20 "$dir/install.log" && return 1; }
}
check 'make install succeeds' installs

pc=$(cd "$root" 2>/dev/null && find . -name leash.pc)
pc=$root${pc#.}

# The folder stands for the root of the system, in which other libraries are where they always are.
# shellcheck disable=SC2086 # words
pkg_config() { # ARGUMENT... of leash
	PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} "${PKG_CONFIG:-pkg-config}" "$@" leash
}
variable() { # NAME
	echo "$root$(pkg_config --variable="$1")"
}
flags() { # ARGUMENT...
	pkg_config "$@" | sed -e "s|-I$prefix|-I$root$prefix|g" -e "s|-L$prefix|-L$root$prefix|g"
}
