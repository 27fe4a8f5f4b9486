#!/bin/sh
# Every source file is in a list of the build: one that is not would be compiled by nobody, and as a test never run.
set -u
cd "${LEASH_SRCDIR:-$(dirname "$0")/../..}" || exit 1

number=0
echo 1..2

named() { # a program's list names it without .c
	grep -qE "(^|[[:space:]])(${1}|${1%.c})([[:space:]]|\$)" Makefile.am ./*/local.mk ./*/*/local.mk
}
check() { # SENTENCE FOLDER... -- FIND-EXPRESSION
	sentence=$1
	shift
	number=$((number + 1))
	lost=$(find "$@" | sort | while read -r file; do
		named "$file" || echo "# in no local.mk: $file"
	done)
	if [ -z "$lost" ]; then
		echo "ok $number - $sentence"
	else
		echo "$lost"
		echo "not ok $number - $sentence"
	fi
}

check 'every source file is in a list' bench examples include lib tests tools watchdog -name '*.[ch]' -o -name '*.lua' -o -name '*.inc'
check 'every test script is in a list' tests -name '*.sh'
