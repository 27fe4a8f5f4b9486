#!/bin/sh
# What README.md and docs/ show is so: programs compile as they stand there, and run; links lead somewhere; every public call,
# option, command and exit status is named. And the example of leash(3) is a program, too.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

readme=$source/README.md reference=$source/docs/reference.md commands=$source/docs/command.md
pages="$readme $source/CONTRIBUTING.md $source/SECURITY.md $source/bindings/python/README.md $source/lib/lua/README.md $(echo "$source"/docs/*.md)"

# The lines of the first block of C, and the number of its last line.
awk '/^```c$/ { on = 1; next } on && /^```/ { print NR >last; exit } on' last="$dir/last" "$readme" >"$dir/first.c"

# The first block of C++.
awk '/^```cpp$/ { on = 1; next } on && /^```/ { exit } on' "$source/docs/cpp.md" >"$dir/cpp.cpp"

is_on_the_first_screen() {
	[ -s "$dir/first.c" ] && [ "$(cat "$dir/last")" -lt 40 ] && head -n 40 "$readme" | grep -q '^    leash run '
}
is_short() {
	[ "$(wc -l <"$readme")" -le 200 ] || echo 'more than 200 lines'
	grep -nE '^.{121}' "$readme"
	return 0
}

# The program under EXAMPLES.
awk '/^\.Sh / { on = $2 == "EXAMPLES" } /^\.Ed/ { text = 0 } on && text { print } on && /^\.Bd -literal/ { text = 1 }' \
	"$source/docs/leash.3" | sed 's/\\e/\\/g' >"$dir/example.c"

# All blocks of C of the guide, each a part of one program that is not run.
{
	printf '#include <leash.h>\n\n#include <signal.h>\n#include <stdio.h>\n#include <string.h>\n'
	awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/guide.md"
} >"$dir/guide.c"

compiles() { # PROGRAM STANDARD, as the compiler takes it
	[ -s "$dir/$1.c" ] || echo 'there is none'
	# shellcheck disable=SC2086 # flags
	${CC:-cc} "$2" -Wall -Wextra -Wpedantic -Werror ${LEASH_SANITIZE-} -I"$source/include" -o "$dir/$1" "$dir/$1.c" \
		-L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash
}

guide_compiles() {
	[ "$(grep -c '^```c$' "$source/docs/guide.md")" -ge 5 ] || echo 'few blocks of C'
	${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$source/include" -c -o "$dir/guide.o" "$dir/guide.c"
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
		[ "$(redis-cli -s "$dir/redis.sock" EXISTS 'leash:{orders}')" = 0 ]
}

says_what_is_wrong() { # PROGRAM
	! LEASH_URI="unix://$dir/nowhere" "$dir/$1" 2>"$dir/text" && grep -q "$dir/nowhere" "$dir/text"
}

# Folders of the map of the source tree, the commands that are run in it.
names_what_is_there() {
	{
		grep -o '^| .[a-z/-]*/' "$source/docs/architecture.md" | sed 's/^...//'
		# shellcheck disable=SC2086 # words
		grep -ohE '(^    |`|&& )\./[a-z_/-]*\.sh' $pages | sed 's/.*\.\///'
	} | sort -u >"$dir/names"
	[ "$(wc -l <"$dir/names")" -ge 20 ] || echo 'few names'
	while read -r name; do
		[ -e "$source/$name" ] || echo "not there: $name"
	done <"$dir/names"
}

# What a link to a heading ends with: small letters, dashes for spaces, nothing else but digits and underscores.
headings() { # PAGE
	awk '/^```/ { code = !code } !code' "$1" | sed -n 's/^##* //p' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}
# Those with a scheme aside.
links_lead_somewhere() {
	for page in $pages; do
		awk '/^```/ { code = !code } !code' "$page" | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' |
			sort -u | while IFS='#' read -r file heading; do
			target=${file:+$(dirname "$page")/$file}
			target=${target:-$page}
			echo "$target" >>"$dir/targets"
			if [ ! -e "$target" ]; then
				echo "${page#"$source/"} leads to $file, which is not there"
			elif [ -n "$heading" ] && ! headings "$target" | grep -qxF -- "$heading"; then
				echo "${page#"$source/"} leads to #$heading, which is no heading of ${target#"$source/"}"
			fi
		done
	done
	[ "$(wc -l <"$dir/targets")" -ge 100 ] || echo 'few links'
}
every_page_is_linked() {
	for page in "$source"/docs/*.md; do
		grep -qF "](docs/${page##*/})" "$readme" || echo "the README does not link to docs/${page##*/}"
	done
}
pictures_are_shown() {
	python=$(python_with xml.dom.minidom) || return
	for picture in "$source"/docs/pictures/*.svg; do
		"$python" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$picture"
		# shellcheck disable=SC2086 # words
		grep -qE "^!\\[[^]]+\\]\\([a-z/]*pictures/${picture##*/}\\)" $pages || echo "no page shows ${picture##*/}"
	done
}

all_named() { # FILE PAGE: of expressions, each of which the page has somewhere
	[ -s "$1" ] || return
	while read -r name; do
		grep -qE -- "$name" "$2" || echo "not named: $name"
	done <"$1"
}
# By name, or as one of a row (`_depth`).
names_every_call() {
	sed -nE 's/^[[:space:]]*(leash_lock(_[a-z_]*));$/`(\1|\2)[`(]/p; s/^[[:space:]]*(leash_[a-z_]*);$/`\1[`(]/p' \
		"$source/lib/libleash.map" >"$dir/calls"
	all_named "$dir/calls" "$reference"
}
names_every_option() {
	cat "$source"/include/leash/client.h "$source"/include/leash/lock*.h |
		awk '/^typedef struct leash_(lock_)?options \{|^typedef struct leash_acquire \{/ { on = 1 } /^}/ { on = 0 }
			on && !/^\t / && match($0, /[a-z_]+;/) && $2 != "size;" { print "^\\| ([^|]* )?`" substr($0, RSTART, RLENGTH - 1) "`[ ,]" }' >"$dir/options"
	[ "$(wc -l <"$dir/options")" -ge 30 ] || echo 'few options'
	all_named "$dir/options" "$reference"
}
names_every_event() {
	sed -n 's/^[[:space:]]*LEASH_EVENT_\([A-Z_]*\) = .*/^| `\1` /p' "$source/include/leash/event.h" | sed 's/|/\\|/' >"$dir/events"
	all_named "$dir/events" "$reference"
}
names_every_command() {
	sed -n 's/^const struct command command_\([a-z]*\) = {$/`leash \1`/p' "$source"/tools/*.c >"$dir/commands"
	all_named "$dir/commands" "$commands"
}

# How the guide keeps out who comes too late: of these fences the third and the last are refused.
fences='999 459721652887234305 459721652887234304 459721652887234305 1000'
shell_refuses_who_is_late() {
	awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/guide.md" >"$dir/guide.sh"
	. "$dir/guide.sh"
	for LEASH_FENCE in $fences; do
		echo "$LEASH_FENCE" | write_fenced "$dir/fenced" 2>"$dir/refused" || cat "$dir/fenced.fence" >"$dir/by"
	done
	[ "$(cat "$dir/by")" = "$(cat "$dir/fenced")" ] && [ "$(cat "$dir/fenced")" = 459721652887234305 ]
}
script_refuses_who_is_late() {
	awk '/^```lua$/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/guide.md" >"$dir/guide.lua"
	for fence in $fences; do
		redis-cli -s "$dir/redis.sock" --eval "$dir/guide.lua" guide , "$fence" value | grep -c '^value$'
	done | tr -d '\n' >"$dir/written"
	[ "$(cat "$dir/written")" = 11010 ]
}
# The first has read, the second reads, and the first writes: the second must not lose that.
script_refuses_who_is_late_since_the_read() {
	for call in '1' '1 old' '2' '1 late' '2 new'; do
		# shellcheck disable=SC2086 # words
		redis-cli -s "$dir/redis.sock" --eval "$dir/guide.lua" read , $call | sed 's/^FENCED.*/FENCED/'
	done | tr '\n' ' ' >"$dir/read"
	[ "$(tr -s ' ' <"$dir/read")" = ' old old FENCED new ' ] || cat "$dir/read"
}

# What the guide says that an event says.
causes_are_told() {
	awk '/^\| the event says/ { on = 1; next } !/^\|/ { on = 0 } on { print $0 }' "$source/docs/guide.md" | cut -d'|' -f2 |
		grep -o '`[^`]*`' | tr -d '`' >"$dir/causes"
	[ "$(wc -l <"$dir/causes")" -ge 5 ] || echo 'few causes'
	while read -r cause; do
		grep -rqF "\"$cause\"" "$source/lib" || echo "no event says: $cause"
	done <"$dir/causes"
}

# The numbers of the table that begins with "exit status"; a row may have several.
has_every_exit_status() {
	sed -n 's/^[[:space:]]*EXIT_[A-Z_]* = \([1-9][0-9]*\),.*/\1/p' "$source/tools/command.h" | sort >"$dir/exits"
	awk -F'|' '/^\| exit status/ { on = 1; next } !/^\|/ { on = 0 } on { gsub(/[^0-9]+/, "\n", $2); print $2 }' "$commands" |
		grep . | sort >"$dir/said"
	diff "$dir/exits" "$dir/said"
}

check 'a whole program and a command stand on the first screen' is_on_the_first_screen
check 'the README has at most 200 lines of at most 120 characters' is_short
check 'its program compiles without a warning and links with nothing but leash' compiles first -std=c11
check 'it runs and gives its lock back' runs first 'no other thread, process or machine holds'
check 'without a server it says what is wrong' says_what_is_wrong first
check 'the first program of docs/cpp.md compiles without a warning' compiles_as_cpp cpp
check 'it runs and gives back what it had' runs cpp 'nobody else has'
check 'without a server it says what is wrong' says_what_is_wrong cpp
check 'the C of docs/guide.md compiles without a warning' guide_compiles
check 'its shell function refuses a smaller fence' shell_refuses_who_is_late
check 'its Lua script refuses a smaller fence' script_refuses_who_is_late
check 'it refuses it from the read of a larger one on' script_refuses_who_is_late_since_the_read
check 'the library says what the guide says that events say' causes_are_told
check 'the example of leash(3) compiles and links with nothing but leash' compiles example -std=gnu11
check 'it says what is wrong without a server' says_what_is_wrong example
check 'folders and scripts that the documents name are there' names_what_is_there
check 'every link in them leads to a file, and to a heading of it' links_lead_somewhere
check 'the README links to every page of docs/' every_page_is_linked
check 'every picture is well-formed and shown' pictures_are_shown
check 'docs/reference.md names every public call' names_every_call
check 'it names every option' names_every_option
check 'it names every event' names_every_event
check 'the exit statuses of docs/command.md are those of tools/command.h' has_every_exit_status
check 'it names every command' names_every_command
finish
