#!/bin/sh
# Every source file is in a list of the build: one that is not would be compiled by nobody, and as a test never run.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1

lost() { # FOLDER... FIND-EXPRESSION: a program's list names it without .c
	find "$@" | sort | while read -r file; do
		grep -qE "(^|[[:space:]])(${file}|${file%.c})([[:space:]]|\$)" Makefile.am ./*/local.mk ./*/*/local.mk ||
			echo "in no local.mk: $file"
	done
}

check 'every source file is in a list' lost bench examples include lib tests tools watchdog \
	-name '*.[ch]' -o -name '*.lua' -o -name '*.inc'
check 'every test script is in a list' lost tests -name '*.sh'
finish
