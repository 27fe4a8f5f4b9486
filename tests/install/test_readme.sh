#!/bin/sh
# What README.md shows is so: its first program compiles as it stands there, and runs; what it names is there.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

readme=$source/README.md

redis=''
clean_up() {
	[ -z "$redis" ] || kill -KILL "$redis"
	wait
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'exit 1' PIPE

# The lines of the first block of C, and the number of its last line.
awk '/^```c$/ { on = 1; next } on && /^```/ { print NR >last; exit } on' last="$dir/last" "$readme" >"$dir/first.c"

is_on_the_first_screen() {
	[ -s "$dir/first.c" ] && [ "$(cat "$dir/last")" -lt 40 ]
}

compiles() {
	# shellcheck disable=SC2086 # flags
	${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror ${LEASH_SANITIZE-} -I"$source/include" -o "$dir/first" "$dir/first.c" \
		-L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash
}

runs() {
	redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" --logfile "$dir/redis.log" >/dev/null 2>&1 &
	redis=$!
	until redis-cli -s "$dir/redis.sock" PING 2>/dev/null | grep -q PONG; do
		kill -0 "$redis" || return
		sleep 0.05
	done
	LEASH_URI="unix://$dir/redis.sock" "$dir/first" >"$dir/text" && [ "$(redis-cli -s "$dir/redis.sock" EXISTS 'leash:{orders}')" = 0 ]
}

says_what_is_wrong() {
	! LEASH_URI="unix://$dir/nowhere" "$dir/first" 2>"$dir/text" && grep -q "$dir/nowhere" "$dir/text"
}

# Files that it links to, folders of its map, the two commands.
names_what_is_there() {
	{
		grep -o '](\([^):]*\))' "$readme" | sed 's/^](//; s/)$//'
		grep -o '^| .[a-z/-]*/' "$readme" | sed 's/^...//'
		grep -o '^    \./[a-z_-]*/[a-z.]*sh' "$readme" | sed 's/^ *//'
	} | sort -u >"$dir/names"
	[ "$(wc -l <"$dir/names")" -ge 20 ] || return
	while read -r name; do
		[ -e "$source/$name" ] || echo "not there: $name"
	done <"$dir/names"
}

# By name, or as one of a row (`_depth`).
names_every_call() {
	grep -o 'leash_[a-z_]*;' "$source/lib/libleash.map" | tr -d ';' >"$dir/calls"
	[ -s "$dir/calls" ] || return
	while read -r call; do
		grep -qE "\`(${call}|_${call#leash_lock_})[\`(]" "$readme" || echo "not named: $call"
	done <"$dir/calls"
}

check 'a whole program stands on the first screen' is_on_the_first_screen
check 'it compiles without a warning and links with nothing but leash' compiles
check 'it runs and gives its lock back' runs
check 'without a server it says what is wrong' says_what_is_wrong
check 'what the README names is there' names_what_is_there
check 'the README names every public call' names_every_call
finish
