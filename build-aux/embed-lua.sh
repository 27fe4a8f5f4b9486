#!/bin/sh
# Embed Lua files in C: embed-lua.sh SRCDIR LIST FILE.lua... writes the C source to standard output.
#
# For each lib/lua/acquire.lua it defines `const struct lsh_script lsh_script_acquire` (lib/lua/scripts.h); and LIST, an
# array of all of them. A line "--@include FILE" is replaced by that file of the same folder. The server keeps and
# hashes what it is sent, so indentation, blank lines, trailing white space and comments that begin with -- and end with
# the line are left behind; bytes inside of a string, or of a long comment, stay as they are, whichever lines they span.
set -eu
export LC_ALL=C

srcdir=$1 list=$2
shift 2

text=$(mktemp "${TMPDIR:-/tmp}/leash-lua.XXXXXX")
trap 'rm -f "$text"' EXIT
trap 'exit 1' HUP INT TERM

# Lua in, Lua out: what is embedded.
strip() {
	awk '
	# Where the scan of a line stands at its end: 0 in code, 1 in a quoted string that goes on, 2 in long brackets. The
	# variable `code_end` is the last byte before a comment.
	function scan(line,   i, n, c, q, rest) {
		n = length(line)
		code_end = n
		i = 1
		if (state == 1)
			i = quoted(line, 1)
		else if (state == 2)
			i = bracketed(line, 1)
		while (i <= n) {
			c = substr(line, i, 1)
			rest = substr(line, i)
			if (c == "\"" || c == "\047") {
				quote = c
				i = quoted(line, i + 1)
			} else if (match(rest, /^\[=*\[/)) {
				close_ = "]" substr(rest, 2, RLENGTH - 2) "]"
				i = bracketed(line, i + RLENGTH)
			} else if (match(rest, /^--\[=*\[/)) {
				close_ = "]" substr(rest, 4, RLENGTH - 4) "]"
				i = bracketed(line, i + RLENGTH)
			} else if (substr(rest, 1, 2) == "--") {
				code_end = i - 1
				return
			} else {
				i++
			}
		}
	}
	# Both return where code goes on, or one past the end of the line with `state` saying what is still open.
	function quoted(line, i,   n, c) {
		n = length(line)
		state = 0
		while (i <= n) {
			c = substr(line, i, 1)
			if (c == "\\") {
				if (i == n) {
					state = 1
					return n + 1
				}
				i += 2
			} else if (c == quote) {
				return i + 1
			} else {
				i++
			}
		}
		fail("a string does not end")
		return n + 1
	}
	function bracketed(line, i,   at) {
		at = index(substr(line, i), close_)
		state = at == 0 ? 2 : 0
		return at == 0 ? length(line) + 1 : i + at - 1 + length(close_)
	}
	function fail(what) {
		printf "%s:%d: %s\n", where, number[depth], what | "cat >&2"
		failed = 1
		exit 1
	}
	function embed(file,   line, got, began, folder) {
		if (file in open)
			fail("includes " file ", which is being read")
		open[file] = 1
		number[++depth] = 0
		while ((got = (getline line < file)) > 0) {
			number[depth]++
			where = file
			began = state
			if (state == 0 && match(line, /^[ \t]*--@include[ \t]+/)) {
				line = substr(line, RLENGTH + 1)
				sub(/[ \t\r]+$/, "", line)
				folder = file
				sub(/[^\/]*$/, "", folder)
				embed(folder line)
				where = file
				continue
			}
			scan(line)
			if (state == 0) {
				line = substr(line, 1, code_end)
				sub(/[ \t\r]+$/, "", line)
			}
			if (began == 0)
				sub(/^[ \t]+/, "", line)
			if (began != 0 || state != 0 || line != "")
				print line
		}
		where = file
		if (got < 0)
			fail("cannot be read")
		if (state != 0)
			fail("a string or a comment does not end")
		close(file)
		delete open[file]
		depth--
	}
	BEGIN {
		embed(ARGV[1])
		exit
	}
	END {
		exit failed
	}' "$1"
}

echo '/* Made by build-aux/embed-lua.sh from .lua files: change those. */'
echo '#include "lua/scripts.h"'

for file; do
	name=$(basename "$file" .lua)
	strip "$srcdir/$file" >"$text"
	sha1=$(sha1sum "$text")
	size=$(wc -c <"$text")
	printf '\nconst struct lsh_script lsh_script_%s = {\n\t"%s",\n' "$name" "$name"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/	"/' -e 's/$/\\n"/' "$text"
	printf '\t,\n\t%d,\n\t"%s",\n};\n' "$size" "${sha1%% *}"
done

printf '\nconst struct lsh_script *const %s[] = {\n' "$list"
for file; do
	printf '\t&lsh_script_%s,\n' "$(basename "$file" .lua)"
done
printf '\tNULL,\n};\n'
