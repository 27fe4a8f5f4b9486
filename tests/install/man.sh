#!/bin/sh
# The man pages say what is so: leash(3) what the headers say, leash(1) what the command itself says, and both in clean mdoc. So are
# the pages of the calls, which are made from the headers; site.sh compares what those say.
#
# What they must have in common with the source is found by their form: the entries of a list begin with .It and name an option
# by Fl, a field by Fa, a function by Fn, a constant by Dv and its number in parentheses. A section whose title ends in
# ": leash_options" is about that struct.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

library=$source/docs/leash.3
command=$source/docs/leash.1.in
leash=$build/tools/leash

twice() { # WHERE FILE
	uniq -d "$2" | sed "s|^|twice in $1: |"
}

# ---- what is in the headers ----

# All of them without preprocessor lines; of a constant, a field or a function there is no more than one in a line.
cat "$source"/include/leash.h "$source"/include/leash/*.h >"$dir/headers"

# Without comments, the prototypes: each on a line, with one space where there is space.
awk '
	{ text = text $0 "\n" }
	END {
		gsub(/\\\n/, " ", text)
		while ((at = index(text, "/*")) > 0) {
			rest = substr(text, at)
			text = substr(text, 1, at - 1) " " substr(rest, index(rest, "*/") + 2)
		}
		gsub(/(^|\n)[ \t]*#[^\n]*/, " ", text)
		gsub(/[ \t\n]+/, " ", text)
		n = split(text, statement, ";")
		for (i = 1; i <= n; i++) {
			s = statement[i]
			if (!sub(/^.*LEASH_API /, "", s))
				continue
			sub(/^LEASH_MUST_CHECK /, "", s)
			gsub(/\* /, "*", s)
			print s
		}
	}' "$dir/headers" | sort >"$dir/prototypes"

# Of each struct: it, a field, and what the header says of that, with tabs. Those that hold functions only are not for users to fill in
# by a table.
awk '
	function flush() {
		gsub(/\/\*\*<|\*\/|\t/, " ", said)
		if (field != "" && field != "size" && field != "reserved_")
			print type "\t" field "\t" said
		field = ""
	}
	/^typedef struct leash_[a-z_]* \{/ { type = $3; next }
	/^}/ { flush(); type = ""; next }
	type == "" || type == "leash_memory" { next }
	/^\t / && field != "" { said = said " " $0; next }
	match($0, /[a-z_][a-z0-9_]*(\[[^]]*\])?;/) {
		flush()
		field = substr($0, RSTART, RLENGTH - 1)
		sub(/\[.*/, "", field)
		said = substr($0, RSTART + RLENGTH)
	}' "$dir/headers" | sort >"$dir/fields"

# Constants of all enums but the statuses.
awk '/^(typedef )?enum/ { on = 1 } /^}/ { on = 0 } on && match($0, /LEASH_[A-Z_]+ = [0-9]+,/) {
		split(substr($0, RSTART, RLENGTH - 1), part, " = ")
		print part[1] " " part[2]
	}' "$dir/headers" | sort >"$dir/constants"

# And those.
sed -n 's/^[[:space:]]*X(\([A-Z_]*\), \([0-9]*\), "\(.*\)").*/LEASH_\1 \2 \3/p' "$source/include/leash/status.h" | sort >"$dir/statuses"

# ---- leash(3) ----

awk '
	/^\.Sh / { on = $2 == "SYNOPSIS" }
	on && /^\.Ft / { type = substr($0, 5) }
	on && /^\.Fn / {
		n = split(substr($0, 5), word, "\"")
		name = word[1]
		sub(/ +$/, "", name)
		list = ""
		for (i = 2; i <= n; i += 2)
			list = list (list == "" ? "" : ", ") word[i]
		line = type " " name "(" list ")"
		gsub(/\* /, "*", line)
		print line
	}' "$library" | sort >"$dir/page.prototypes"

prototypes_agree() {
	differ 'the headers' "$dir/prototypes" 'the page' "$dir/page.prototypes"
}
functions_are_told() {
	sed -n 's/^[[:space:]]*\(leash_[a-z_]*\);$/\1/p' "$source/lib/libleash.map" | sort >"$dir/functions"
	awk '/^\.Sh / { on = $2 == "FUNCTIONS" } on && /^\.It Fn / { print $3 }' "$library" | sort >"$dir/page.functions"
	differ 'libleash.map' "$dir/functions" 'the list of functions' "$dir/page.functions"
	twice 'the list of functions' "$dir/page.functions"
}
statuses_agree() {
	awk '
		/^\.S[hs] / { on = /: leash_status$/ }
		on && /^\.It Dv LEASH_[A-Z_]* Pq [0-9]*$/ { status = $3 " " $5; next }
		status != "" { sub(/\.$/, ""); print status " " $0; status = "" }' "$library" | sort >"$dir/page.statuses"
	differ 'status.h' "$dir/statuses" 'the table of statuses' "$dir/page.statuses"
}
constants_agree() {
	awk '
		/^\.S[hs] / { off = /: leash_status$/ }
		!off && /^\.It Dv LEASH_[A-Z_]* Pq [0-9]*$/ { print $3 " " $5 }' "$library" | sort >"$dir/page.constants"
	differ 'the headers' "$dir/constants" 'the page' "$dir/page.constants"
	twice 'the page' "$dir/page.constants"
}

# As $dir/fields, from the page; an entry may be of several fields.
awk '
	function flush() {
		n = split(names, name, " ")
		for (i = 1; i <= n; i++)
			print type "\t" name[i] "\t" said
		names = said = ""
	}
	/^\.S[hs] / {
		flush()
		type = /: leash_[a-z_]*$/ ? $NF : ""
		next
	}
	type == "" || type == "leash_status" { next }
	/^\.It Fa / {
		flush()
		names = substr($0, 8)
		gsub(/,/, " ", names)
		next
	}
	{ said = said " " $0 }
	END { flush() }' "$library" | sort >"$dir/page.fields"

fields_agree() {
	cut -f1,2 "$dir/fields" | tr '\t' '.' | sort >"$dir/fields.names"
	cut -f1,2 "$dir/page.fields" | tr '\t' '.' | sort >"$dir/page.fields.names"
	differ 'the headers' "$dir/fields.names" 'the page' "$dir/page.fields.names"
	twice 'the page' "$dir/page.fields.names"
}
numbers_agree() {
	awk -F'\t' '
		FNR == NR { page[$1 "." $2] = $3; next }
		{
			field = $1 "." $2
			said = $3
			while (match(said, /[0-9]+/)) {
				number = substr(said, RSTART, RLENGTH)
				said = substr(said, RSTART + RLENGTH)
				numbers++
				if (page[field] !~ "(^|[^0-9])" number "([^0-9]|$)")
					print field ": the header says " number " of it, and the page does not"
			}
		}
		END { if (numbers < 30) print "few numbers in the headers: have they changed their form?" }
		' "$dir/page.fields" "$dir/fields"
}

# ---- a page for each call ----

calls_have_pages() {
	while read -r name; do
		[ -e "$build/docs/man3/$name.3" ] || echo "$name has none: is there a comment in front of it?"
	done <"$dir/functions"
}
are_clean() { # PAGE...
	mandoc -T lint -W warning "$@"
	for page; do
		groff -z -ww -mandoc -Tutf8 "$page"
	done 2>&1
}

# ---- leash(1) ----

# Its synopsis and its options are made of the table that --help is made of.
refused() { # SAID, SED: a page of which that is said, made of ours by sed
	sed "$2" "$command" >"$dir/prose"
	! "$leash" help --table | awk -f "$source/docs/man1.awk" - "$dir/prose" >"$dir/page" 2>"$dir/said" || echo "it is made after $2"
	grep -q -e "$1" "$dir/said" || cat "$dir/said"
}
mistakes_are_refused() {
	refused 'leash run has no option --wiat' 's/^\.It Fl -wait/.It Fl -wiat/'
	refused '--ttl is described twice' 's/^\.It Fl -fair/.It Fl -ttl/'
	refused 'there is no leash tpo' 's/^\.Ss leash top/.Ss leash tpo/'
	refused 'the options of leash break have no list' '/^\.Ss leash break/,/^\.Ss/s/^\.Bl -options/.Bl -tag/'
}
options_are_there() {
	"$leash" help --table | awk -F '\t' '
		$1 == "group" { common = $3 == "Common options" }
		$1 == "option" && !common { print $2 " -" $4 }' | sort >"$dir/options"
	awk '
		/^\.S[hs] / { command = /^\.Ss leash / ? $3 : "" }
		command != "" && /^\.It .*Fl -/ { sub(/.*Fl -/, "-"); print command " " $1 }' "$build/docs/leash.1" | sort >"$dir/page.options"
	comm -23 "$dir/options" "$dir/page.options"
	[ -s "$dir/options" ] || echo 'there are no options'
}
exit_statuses_agree() {
	sed -n 's/^[[:space:]]*EXIT_[A-Z_]* = \([0-9]*\),.*/\1/p' "$source/tools/command.h" | sort >"$dir/exits"
	awk '/^\.Sh / { on = $2 == "EXIT" } on && /^\.It [0-9]/ { print $2 }' "$command" | sed 's/+$//' | sort >"$dir/page.exits"
	differ 'tools/command.h' "$dir/exits" 'the table' "$dir/page.exits"
}
variables_agree() { # what log.c names so are fields of the journal
	find "$source/tools" -name '*.c' ! -name log.c -exec cat {} + | grep -oE '"(LEASH_[A-Z_]+|NO_COLOR|NOTIFY_SOCKET)(=[^"]*)?"' | tr -d '"' | sed 's/=.*//' | sort -u >"$dir/variables"
	echo LEASH_URI | sort -u - "$dir/variables" -o "$dir/variables" # which the library reads
	awk '/^\.Sh / { on = $2 == "ENVIRONMENT" } on && /^\.It Ev / { print $3 }' "$command" | sort -u >"$dir/page.variables"
	differ 'the source' "$dir/variables" 'the page' "$dir/page.variables"
}
# uri, prefix and the parameters of a URI.
keys_agree() {
	{ echo uri && echo prefix && sed -n '/^static const struct parameter/,/^}/s/^	{"\([a-z_]*\)",.*/\1/p' "$source/lib/redis/uri.c"; } | sort >"$dir/keys"
	sed -n '/^static const char .const keys/,/^}/p' "$source/tools/config.c" | grep -oE '"[a-z_]+"' | tr -d '"' | sort >"$dir/taken"
	differ 'lib/redis/uri.c' "$dir/keys" 'tools/config.c' "$dir/taken"
	awk '/^\.Sh / { on = $2 == "FILES" } on && /^\.Li [a-z]/' "$command" | tr -s ' ,;' '\n' | grep -xE '[a-z_]{2,}' | sort >"$dir/page.keys"
	differ 'lib/redis/uri.c' "$dir/keys" 'the page' "$dir/page.keys"
}

check 'leash(3) is clean for mandoc and groff' are_clean "$library"
check 'the synopsis of leash(3) has the prototypes of the headers' prototypes_agree
check 'its list of functions has every function that is exported, once' functions_are_told
check 'its table of statuses is that of status.h' statuses_agree
check 'it has every constant, with its number' constants_agree
check 'its tables have every field of every struct, and none else' fields_agree
check 'of each field they have every number that the header has' numbers_agree

check 'every function that is exported has a man page of its own' calls_have_pages
check 'those pages are clean for mandoc and groff' are_clean "$build"/docs/man3/*.3

if [ -x "$leash" ]; then
	check 'leash(1) is clean for mandoc and groff' are_clean "$build/docs/leash.1"
	check 'it has every option of every command' options_are_there
	check 'options that the command does not have, and a command that is left out, are refused' mistakes_are_refused
else
	skip 'leash(1) is made' 'built with --disable-command'
fi
check 'its table of exit statuses is that of tools/command.h' exit_statuses_agree
check 'it has every variable that the source has' variables_agree
check 'a configuration file has the keys that it lists, and these are those of a URI' keys_agree

finish
