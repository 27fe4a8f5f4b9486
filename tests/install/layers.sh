#!/bin/sh
# A folder is a layer, and includes only point down: base <- watchdog, redis <- lock <- client. Also what else keeps the parts
# apart: tests of the interface use nothing but the interface, and each source says in its first line what it is for.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1

includes() { # FOLDER...: in each line a file and what it includes, with the bracket or the quote that it began with
	grep -rE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' "$@" |
		sed -e 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/ /' -e 's/[">][^">]*$//'
}

# Whatever is in quotes is ours, and a layer in brackets is too.
only() { # FOLDER PREFIX...: its own includes are of these folders alone
	includes "$1" | awk -v prefixes="$*" '
		BEGIN { n = split(prefixes, allowed, " ") }
		/ "/ || / <(base|bench|client|examples|lib|lock|lua|redis|tests|tools|watchdog)\// {
			for (i = 2; i <= n; i++)
				if (index(substr($2, 2), allowed[i]) == 1)
					next
			print $1 " includes " substr($2, 2)
		}'
}
only_in() { # HEADER FOLDER...: which of the library's folders may include it
	header=$1
	shift
	includes lib watchdog | grep "[\"<]$header" | while read -r file _; do
		for folder; do
			case $file in "$folder"/*) continue 2 ;; esac
		done
		echo "$file includes $header"
	done
}

# A part of the library, or what is under it, would be the inside whatever the brackets.
# shellcheck disable=SC2016 # for make
tools_use_the_interface() {
	only tools tools/
	includes tools | grep -E '[<"](leash/|hiredis|openssl|sodium)' | sed 's/ [<"]/ includes /'
	sed -n 's/^tools_leash_LDADD = *//p' tools/local.mk | grep -vx 'lib/libleash\.la \$(JANSSON_LIBS) \$(CURSES_LIBS)'
	return 0
}

first_line_is_comment() { # FILE
	head -n 1 "$1" | grep -qE '^(/\*|--)'
}
sources_say_what_for() {
	find lib tools watchdog -name '*.[ch]' -o -name '*.lua' -o -name '*.inc' | sort | while read -r file; do
		first_line_is_comment "$file" || { [ -e "${file%.c}.h" ] && first_line_is_comment "${file%.c}.h"; } ||
			echo "neither $file nor its header begins with a comment"
	done
}

check 'base stands on nothing' only lib/base base/
check 'watchdog stands on base' only watchdog base/ watchdog/
check 'redis stands on base and the scripts' only lib/redis base/ lua/ redis/
check 'lua is data' only lib/lua
check 'lock stands on base, watchdog and redis' only lib/lock base/ watchdog/ lua/ redis/ lock/
check 'client stands on all of them' only lib/client base/ watchdog/ lua/ redis/ lock/ client/
check 'public headers include public headers' only include

check 'hiredis is known to redis alone' only_in hiredis/ lib/redis
check 'OpenSSL is known to redis alone' only_in openssl/ lib/redis
check 'libsodium is known to base, and to redis for its secrets' only_in sodium lib/base lib/redis
check 'the state of the locks is known to the lock layer alone' only_in lock/state.h lib/lock
check 'the insides of a client are known to the client layer alone' only_in client/client.h lib/client

check 'examples use the interface' only examples redis.h
check 'tests/contract uses the interface' only tests/contract tests/contract/ tests/support/
check 'tests/support uses the interface' only tests/support tests/support/
check 'bench uses the interface' only bench bench/ tests/support/
check 'tools use the interface, by leash.h' tools_use_the_interface

check 'every source says what it is for' sources_say_what_for

finish
