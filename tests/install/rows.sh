#!/bin/sh
# docs/faults.md: the tests that it names exist and are run, and every case has one, or says why not.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

page=$source/docs/faults.md

rows() { # of all tables: the case, a tab, and the column of its tests
	sed -n 's/^| \([A-Z]*[0-9][0-9]*\) | .* | .* | \(.*\) |$/\1	\2/p' "$page"
}
named() { # the tests: case, program, test
	rows | awk -F'\t' '{
		n = split($2, part, "`")
		for (i = 2; i <= n; i += 2)
			if (split(part[i], test, ": ") == 2)
				print $1 "\t" test[1] "\t" test[2]
			else
				print $1 "\t" part[i] "\t"
	}'
}

# In a program a test is a SENTENCE(), in its file or in one that several programs share. In a script it is a sentence,
# and in a text that is played (tests/tools/play.h) a scene.
is_run() { # PROGRAM TEST
	case $1 in
	*.sh) grep -qF -- "$2" "$source/tests/$1" 2>/dev/null ;;
	*.txt) grep -qxF -- "== $2" "$source/tests/$1" 2>/dev/null ;;
	*)
		[ -e "$source/tests/$1.c" ] || return 1
		shared=$(find "$source/tests/${1%/*}" -name '*.c' ! -name 'test_*')
		# shellcheck disable=SC2086 # words
		cat "$source/tests/$1.c" $shared | grep -qE "^[A-Z_]+\($2[,)]"
		;;
	esac
}
tests_exist() {
	named | while IFS='	' read -r row program test; do
		[ -n "$test" ] && is_run "$program" "$test" || echo "$row: '$program: $test' is not a test that is run"
	done
	[ "$(named | wc -l)" -ge 100 ] || echo "this script finds few tests in $page: has it changed its form?"
}
rows_have_tests() {
	rows | while IFS='	' read -r row tests; do
		case $tests in
		*'`'*': '*'`'*) ;;
		'none: '?*) ;;
		*) echo "$row: neither a test nor 'none: ' and a reason" ;;
		esac
	done
	[ "$(rows | wc -l)" -eq "$(grep -c '^| [A-Z]*[0-9]' "$page")" ] || echo "a row of a table in $page is not of its form"
}
rows_are_one() {
	rows | cut -f1 | sort | uniq -d | sed 's/$/ is there twice/'
}

check 'every test that docs/faults.md names exists and is run' tests_exist
check 'every case in it has a test, or a reason why not' rows_have_tests
check 'every case is in it once' rows_are_one
finish
