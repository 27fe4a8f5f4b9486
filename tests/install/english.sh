#!/bin/sh
# What users read is in plain English: the pages, the man pages, the comments of the headers, the helps and messages of the
# command, and the errors of the library. Spelling is codespell's, style is proselint's, and phrases are our own list.
#
# words: English to us, though codespell takes it for a mistake. phrases: what our texts do without. proselint.json: of what
# proselint knows, what is not for texts like these.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

here=$source/tests/install
python=$(python_with json)

cd "$source" || exit 1
find CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md bench/README.md bindings/python/README.md docs include lib tools \
	-name '*.md' -o -name 'leash.1.in' -o -name 'leash.3' -o -path 'include/*.h' -o -path 'include/*.hpp' -o -path 'lib/*.c' -o -path 'tools/*.c' |
	sort >"$dir/files"
grep -vE '^(bench|lib)/|^docs/(architecture|defences|faults)|^CHANGELOG' "$dir/files" >"$dir/files.of.users"

# shellcheck disable=SC2046 # words
phrases() { # LIST OF FILES
	"$python" "$here/prose.py" "$here/phrases" "$dir/text" $(cat "$1")
	[ "$(wc -l <"$1")" -ge 100 ] || echo 'this script finds few files'
}
# shellcheck disable=SC2046 # words
spelling() {
	(cd "$dir/text" && codespell --ignore-words "$here/words" --builtin clear,rare,en-GB_to_en-US $(cat "$dir/files"))
}
# The file of its options has two names, in Debian 12 and 13. Its memory of what it has seen would be kept.
# shellcheck disable=SC2046 # words
style() {
	mkdir -p "$dir/config/proselint"
	cp "$here/proselint.json" "$dir/config/proselint/config"
	cp "$here/proselint.json" "$dir/config/proselint/config.json"
	(cd "$dir/text" && XDG_CONFIG_HOME=$dir/config XDG_CACHE_HOME=$dir/cache proselint $(cat "$dir/files.of.users")) |
		sed "s|^$dir/text/||"
}

# A table may be wider, and so may a picture's text.
long_lines() {
	grep -E '\.md$' "$dir/files.of.users" | xargs awk '
		FNR == 1 { code = 0 }
		/^```/ { code = !code }
		length > 120 && !code && !/^(\||    |!\[)/ { print FILENAME ":" FNR ": has " length " columns, more than 120" }'
}

# A mistake of each sort is found, in each sort of file.
finds() { # FILE CHECK
	mkdir -p "$dir/wrong.d/text"
	(cd "$dir/wrong.d" && "$python" "$here/prose.py" "$here/phrases" "$dir/wrong.d/text" "$1") >"$dir/found" || return
	grep -q "'be had'" "$dir/found" || echo "no phrase is found in $1"
	(cd "$dir/wrong.d/text" && codespell "$1") >"$dir/found"
	grep -q 'recieve' "$dir/found" || echo "no mistake in spelling is found in $1"
	! grep -q 'teh' "$dir/found" || echo "what is code in $1 is taken for English"
}
mistakes_are_found() {
	mkdir -p "$dir/wrong.d"
	(
		cd "$dir/wrong.d" || exit
		printf 'It is to\nbe had, to recieve `teh`.\n\n```c\nteh\n```\n\n    teh\n' >page.md
		printf '.Sh NAME\nIt is to\nbe had, to recieve\n.Fl teh\n.Bd -literal\nteh\n.Ed\n' >page.3
		printf '/* It is to\n * be had, to recieve `teh`. */\nint teh;\n' >header.h
		printf 'static char teh[] = "It is to "\n\t"be had, to recieve"; /* teh */\n' >code.c
	)
	for file in page.md page.3 header.h code.c; do
		finds $file
	done
	(cd "$dir/wrong.d" && echo 'It is kept for ever.' >style.md && XDG_CACHE_HOME=$dir/cache proselint style.md) | grep -q archaism ||
		echo 'proselint finds no mistake in style'
}

check 'what users read has none of the phrases that we do without' phrases "$dir/files"
check 'its spelling is right' spelling
check 'its style is plain' style
check 'its lines have at most 120 columns' long_lines
check 'a mistake of each sort would be found' mistakes_are_found
finish
