#!/bin/sh
# How the library and the programs are built: what makes an attacker's work hard must be in each of them.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

shared=$build/lib/.libs/libleash.so

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

if [ -e "$shared" ]; then
	check 'the shared library is hardened' is_hardened "$shared"
else
	skip 'the shared library is hardened' 'built with --disable-shared'
fi
# A sanitizer links as it needs, and without optimization there are no checks of the C library.
if grep -q '^S\["SANITIZED_TRUE"\]="#"' "$build/config.status" && grep -q '^S\["CFLAGS"\]=".*-O[1-9s]' "$build/config.status"; then
	check 'the programs are hardened' programs_are_hardened
	check 'the library and the leash command have the checks of the compiler and of the C library' have_checks
else
	skip 'the programs are hardened' 'built with a sanitizer, or without optimization'
fi
finish
