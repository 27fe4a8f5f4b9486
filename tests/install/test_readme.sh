#!/bin/sh
# What README.md shows is so: its first programs in C and in C++ compile as they stand there, and run; what it names is there.
# And the example of leash(3) is a program, too, and so is the first one of docs/cpp.md.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

readme=$source/README.md

# The lines of the first block of C, and the number of its last line.
awk '/^```c$/ { on = 1; next } on && /^```/ { print NR >last; exit } on' last="$dir/last" "$readme" >"$dir/first.c"

# The first block of C++ of each page.
for page in README docs/cpp; do
	awk '/^```cpp$/ { on = 1; next } on && /^```/ { exit } on' "$source/$page.md" >"$dir/$(basename "$page").cpp"
done

is_on_the_first_screen() {
	[ -s "$dir/first.c" ] && [ "$(cat "$dir/last")" -lt 40 ]
}

# The program under EXAMPLES.
awk '/^\.Sh / { on = $2 == "EXAMPLES" } /^\.Ed/ { text = 0 } on && text { print } on && /^\.Bd -literal/ { text = 1 }' \
	"$source/docs/leash.3" | sed 's/\\e/\\/g' >"$dir/example.c"

compiles() { # PROGRAM STANDARD, as the compiler takes it
	[ -s "$dir/$1.c" ] || echo 'there is none'
	# shellcheck disable=SC2086 # flags
	${CC:-cc} "$2" -Wall -Wextra -Wpedantic -Werror ${LEASH_SANITIZE-} -I"$source/include" -o "$dir/$1" "$dir/$1.c" \
		-L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash
}

compiles_as_cpp() { # PROGRAM
	[ -s "$dir/$1.cpp" ] || echo 'there is none'
	# shellcheck disable=SC2086 # flags
	${CXX:-c++} -std=c++17 -Wall -Wextra -Wpedantic -Werror ${LEASH_SANITIZE-} -I"$source/include" -o "$dir/$1" "$dir/$1.cpp" \
		-L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash
}

runs() { # PROGRAM TEXT: it prints that, and leaves none of its locks behind
	[ -n "$redis" ] || start_redis || return
	LEASH_URI="unix://$dir/redis.sock" "$dir/$1" >"$dir/text" && grep -q "^$2" "$dir/text" &&
		[ "$(redis-cli -s "$dir/redis.sock" EXISTS 'leash:{orders}' 'leash:{account/ann}' 'leash:{account/bob}')" = 0 ]
}

says_what_is_wrong() { # PROGRAM
	! LEASH_URI="unix://$dir/nowhere" "$dir/$1" 2>"$dir/text" && grep -q "$dir/nowhere" "$dir/text"
}

# Files that it links to, folders of its map, the two commands.
names_what_is_there() {
	{
		grep -o '](\([^):]*\))' "$readme" | sed 's/^](//; s/)$//; s/#.*//' | grep .
		grep -o '^| .[a-z/-]*/' "$readme" | sed 's/^...//'
		grep -o '^    \./[a-z_-]*/[a-z.]*sh' "$readme" | sed 's/^ *//'
	} | sort -u >"$dir/names"
	[ "$(wc -l <"$dir/names")" -ge 20 ] || return
	while read -r name; do
		[ -e "$source/$name" ] || echo "not there: $name"
	done <"$dir/names"
}

# A link within the page is a heading in small letters, with dashes for spaces.
links_lead_somewhere() {
	sed -n 's/^##* //p' "$readme" | tr 'A-Z ' 'a-z-' >"$dir/headings"
	grep -o '](#[^)]*)' "$readme" | sed 's/^](#//; s/)$//' | while read -r heading; do
		grep -qxF -- "$heading" "$dir/headings" || echo "no heading for #$heading"
	done
}

all_named() { # FILE: of expressions, each of which the README has somewhere
	[ -s "$1" ] || return
	while read -r name; do
		grep -qE -- "$name" "$readme" || echo "not named: $name"
	done <"$1"
}
# By name, or as one of a row (`_depth`).
names_every_call() {
	sed -nE 's/^[[:space:]]*(leash_lock(_[a-z_]*));$/`(\1|\2)[`(]/p; s/^[[:space:]]*(leash_[a-z_]*);$/`\1[`(]/p' \
		"$source/lib/libleash.map" >"$dir/calls"
	all_named "$dir/calls"
}
names_every_command() {
	sed -n 's/^const struct command command_\([a-z]*\) = {$/`leash \1`/p' "$source"/tools/*.c >"$dir/commands"
	all_named "$dir/commands"
}

# The numbers of the table that begins with "exit status"; a row may have several.
has_every_exit_status() {
	sed -n 's/^[[:space:]]*EXIT_[A-Z_]* = \([1-9][0-9]*\),.*/\1/p' "$source/tools/command.h" | sort >"$dir/exits"
	awk -F'|' '/^\| exit status/ { on = 1; next } !/^\|/ { on = 0 } on { gsub(/[^0-9]+/, "\n", $2); print $2 }' "$readme" |
		grep . | sort >"$dir/said"
	diff "$dir/exits" "$dir/said"
}

check 'a whole program stands on the first screen' is_on_the_first_screen
check 'it compiles without a warning and links with nothing but leash' compiles first -std=c11
check 'it runs and gives its lock back' runs first 'nobody else has the lock'
check 'without a server it says what is wrong' says_what_is_wrong first
for page in README cpp; do
	check "the first program in C++ of $page.md compiles without a warning" compiles_as_cpp $page
	check 'it runs and gives back what it had' runs $page 'nobody else has'
	check 'without a server it says what is wrong' says_what_is_wrong $page
done
check 'the example of leash(3) compiles and links with nothing but leash' compiles example -std=gnu11
check 'it says what is wrong without a server' says_what_is_wrong example
check 'what the README names is there' names_what_is_there
check 'a link within it leads to a heading' links_lead_somewhere
check 'the README names every public call' names_every_call
check 'its table of exit statuses is that of tools/command.h' has_every_exit_status
check 'the README names every command' names_every_command
finish
