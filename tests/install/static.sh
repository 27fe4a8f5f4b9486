#!/bin/sh
# `make static-command` makes a command that needs nothing but the C library, and the folder that becomes the image of the
# Containerfile has all that it needs.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

command=$build/tools/static/leash
image=$dir/image

# The flags of the make that runs this test are not for this one: its job server is out of reach here.
is_made() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$build" --no-print-directory static-command >"$dir/log" 2>&1 || cat "$dir/log"
}
needs_only_the_c_library() {
	readelf -dW "$command" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' >"$dir/needed"
	grep -vE '^(libc|ld-linux.*)\.so\.[0-9]+$' "$dir/needed"
	[ -s "$dir/needed" ] || echo 'it needs no library'
}
image_is_small() {
	"$source/build-aux/image.sh" "$command" "$image" || return
	size=$(du -sk "$image" | cut -f 1)
	[ "$size" -lt 16000 ] || echo "it has $size KiB"
}

# Who is not root may be it in a user namespace.
leash() {
	if [ "$(id -u)" = 0 ]; then
		env -i PATH="$PATH" chroot "$image" /usr/bin/leash "$@"
	else
		env -i PATH="$PATH" unshare --map-root-user chroot "$image" /usr/bin/leash "$@"
	fi
}
says_its_version() {
	[ "$(leash --version)" = "$("$build/tools/leash" --version)" ]
}
# A socket is reached by any of its names.
asks_a_server() {
	start_redis && ln "$dir/redis.sock" "$image/redis.sock" || return
	leash acquire --redis unix:///redis.sock job >"$dir/token" || return
	leash status --redis unix:///redis.sock job >"$dir/said" && grep -q 'held' "$dir/said" || cat "$dir/said"
}
looks_up_hosts() {
	mkdir -p "$image/etc" && echo '127.0.0.1 cache' >"$image/etc/hosts"
	leash status --redis redis://cache:1 job >"$dir/said" 2>&1 && echo 'a server is there'
	grep -q 'refused' "$dir/said" || cat "$dir/said"
}

if grep -q -- '-fsanitize=' "$build/config.status" || [ ! -e "$build/tools/leash" ]; then
	skip 'the static command is made' 'built with a sanitizer, or with --disable-command'
	finish
	exit
fi

check 'the static command is made' is_made
check 'it needs nothing but the C library' needs_only_the_c_library
check 'the folder of the image is small' image_is_small
check 'in that folder alone the command runs' says_its_version
check 'there it asks a server' asks_a_server
check 'there it looks up the names of hosts' looks_up_hosts

finish
