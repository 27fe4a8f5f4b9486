#!/bin/sh
# Nothing in the tree is unfinished, nothing is of one machine only, and nothing is left out of the build.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1

# What git has or would take; where it cannot be asked, as in a release tarball, what people write.
if [ ! -e .git ] || ! git ls-files --cached --others --exclude-standard >"$dir/files" 2>/dev/null; then
	find . \( -name build -o -name _build -o -name _inst -o -name .git \) -prune -o -type f \( -name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.lua' -o \
		-name '*.inc' -o -name '*.sh' -o -name '*.md' -o -name '*.mk' -o -name '*.map' -o -name '*.pc.in' -o -name '*.py' -o -name configure.ac -o \
		-name Makefile.am -o -name leash.m4 \) ! -name ltmain.sh ! -name tap-driver.sh -print | sed 's|^\./||' >"$dir/files"
fi
while read -r file; do
	[ ! -f "$file" ] || echo "$file"
done <"$dir/files" >"$dir/files.here"

in_no_file() { # GREP-OPTION... PATTERN
	[ -s "$dir/files.here" ] || echo 'no files'
	tr '\n' '\0' <"$dir/files.here" | xargs -0 grep -HnIE "$@" | grep -v '^tests/install/clean\.sh:'
	return 0
}

# What is in no list would be compiled by nobody, and as a test never run. A program's list names it without .c.
lost() { # FOLDER... FIND-EXPRESSION
	find "$@" | sort | while read -r file; do
		grep -qE "(^|[[:space:]])(${file}|${file%.c})([[:space:]]|\$)" Makefile.am ./*/local.mk ./*/*/local.mk ||
			echo "in no local.mk: $file"
	done
}

check 'nothing is marked as unfinished' in_no_file -wi \
	'TODO|FIXME|XXX|TBD|WIP|HACK|stub(s|bed)?|placeholder|for now|(not (yet )?|un)implemented'

# Of the folders that are a person's or a machine's own. Addresses and paths inside of something have a letter before the slash.
check 'no path leads to a folder of one machine' in_no_file \
	'(^|[^[:alnum:]_.)}*/])/(home|root|work|workspace|builds?|Users|mnt|media|srv|opt|var/tmp)/[[:alnum:]_.]'

check 'no line ends in white space' in_no_file '[[:space:]]$'
check 'no file has the line ends of another system' in_no_file "$(printf '\r')"

check 'every source file is in a list' lost bench examples include lib tests tools watchdog \
	-name '*.[ch]' -o -name '*.[ch]pp' -o -name '*.lua' -o -name '*.inc'
check 'every file of the Python package is in a list' lost bindings -name '*.py' -o -name '*.sh' -o -name '*.toml' -o -name py.typed
check 'every test script is in a list' lost tests -name '*.sh'
check 'every page and picture is in a list' lost docs -name '*.md' -o -name '*.svg'

finish
