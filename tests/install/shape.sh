#!/bin/sh
# The shape of the code: no circle among the files of a folder, and no function, header or line longer than one can read.
#
# What breaks a rule today is in shape.known, a rule and a name in each line. That list can only get shorter: a line that
# is not needed any more fails the test, too.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1

most_lines=31615 # of C in lib/; to be lowered as it shrinks
folders="lib watchdog tools"
[ -e "$build/tools/leash" ] || folders="lib watchdog" # --disable-command

# From each command comes a line for each thing that breaks the rule: its name, a tab, what is wrong with it.
only_known() { # RULE COMMAND...
	rule=$1
	shift
	"$@" >"$dir/found"
	awk -F '\t' -v rule="$rule" '
		FILENAME ~ /known$/ { if (index($0, rule " ") == 1) known[substr($0, length(rule) + 2)]; next }
		$1 in known { needed[$1]; next }
		{ print $1 ": " $2 }
		END { for (name in known) if (!(name in needed)) print name ": not needed any more in shape.known: " rule }
	' tests/install/shape.known "$dir/found"
}

# What each file of a folder defines (T, D, B, R, ...) and needs (U): FILE SYMBOL TYPE
symbols() { # FOLDER
	for file in "$1"/*.c; do
		name=$(basename "$file" .c)
		object=$(find "$build/$1/.libs" "$build/$1" -maxdepth 1 \( -name "$name.o" -o -name "*-$name.o" \) 2>/dev/null | head -n 1)
		[ -z "$object" ] || nm -P -g "$object" | sed "s|^|$file |"
	done
}
# tsort names those of a loop.
circles() {
	# shellcheck disable=SC2086 # words
	find $folders -name '*.c' -exec dirname {} + | sort -u | while read -r folder; do
		symbols "$folder" >"$dir/symbols"
		[ -s "$dir/symbols" ] || printf '%s\thas no objects in this build\n' "$folder"
		awk 'FNR == NR { if ($3 != "U") home[$2] = $1; next } $3 == "U" && $2 in home { print $1, home[$2] }' \
			"$dir/symbols" "$dir/symbols" | tsort 2>&1 >"$dir/sorted" | sed -n 's/^tsort: \(.*\.c\)$/\1\tis in a circle/p'
	done
}

# Of pmccabe: complexity with each case of a switch, number of lines, FILE FUNCTION
measure() {
	find lib watchdog tools -name '*.c' | sort | xargs pmccabe | awk '{ sub(/\(.*/, "", $6); print $2, $5, $6 " " $7 }'
}
tangled_functions() {
	measure | awk '$1 > 15 { print $3 " " $4 "\thas a complexity of " $1 }'
}
long_functions() {
	measure | awk '$2 > 60 { print $3 " " $4 "\thas " $2 " lines" }'
}
long_headers() {
	find include lib watchdog tools -name '*.h' -o -name '*.hpp' | xargs wc -l | awk '$2 != "total" && $1 > 260 { print $2 "\thas " $1 " lines" }'
}

# Of folders, not of single files. A tab counts for four.
long_lines() {
	find bench bindings build-aux docs examples include lib tests tools watchdog -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.bash' -o -name '*.inc' \
		-o -name '*.lua' -o -name '*.mk' -o -name '*.py' -o -name '*.sh' ! -name ltmain.sh | sort | xargs awk '
		{ gsub(/\t/, "    ") }
		length > 120 { folder = FILENAME; sub(/\/[^\/]*$/, "", folder); print folder "\t" FILENAME ":" FNR " has " length }'
}

# Not by a second call: a program that another thread executes in between would have it.
inherited_descriptors() {
	makes='socket|socketpair|accept4?|open|openat|fopen|eventfd|timerfd_create|signalfd|pipe2?|dup3?|memfd_create'
	grep -rnE "(^|[^>._[:alnum:]])($makes)\\([^)]|F_DUPFD|F_SETFD" --include='*.[ch]' lib tools watchdog | sed /CLOEXEC/d
}

lines=$(find lib -name '*.[ch]' -exec cat {} + | wc -l)
not_more_lines() {
	[ "$lines" -le "$most_lines" ] || echo "lib/ has $lines lines of C, more than $most_lines"
}

check 'no file needs one that needs it' only_known circle circles
check 'no function has a complexity of more than 15' only_known tangled tangled_functions
check 'no function has more than 60 lines' only_known long long_functions
check 'no header has more than 260 lines' only_known header long_headers
check 'no line has more than 120 characters' only_known wide long_lines
check 'every descriptor is born so that exec closes it' inherited_descriptors
check 'the library does not grow' not_more_lines
echo "# lib/ has $lines lines of C, of at most $most_lines"

finish
