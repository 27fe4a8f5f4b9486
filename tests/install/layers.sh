#!/bin/sh
# A folder is a layer, and includes only point down: base <- watchdog, redis <- kind <- lease <- core <- admin <- client. Also
# what else keeps the parts apart: tests of the interface use nothing but the interface, and each source says in its first line
# what it is for.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

cd "$source" || exit 1

includes() { # FOLDER...: in each line a file and what it includes, with the bracket or the quote that it began with
	grep -rE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' "$@" |
		sed -e 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/ /' -e 's/[">][^">]*$//'
}

layers='admin|base|bench|client|core|examples|kind|lease|lib|lua|redis|tests|tools|watchdog'

# Whatever is in quotes is ours, and a layer in brackets is too.
only() { # FOLDER PREFIX...: its own includes are of these folders alone
	includes "$1" | awk -v prefixes="$*" -v ours=" <($layers)/" '
		BEGIN { n = split(prefixes, allowed, " ") }
		/ "/ || $0 ~ ours {
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

# A part of the library, or what is under it, would be the inside whatever the brackets. The doctor may use it, and is
# used by nobody.
tools_use_the_interface() {
	includes --exclude-dir=doctor tools |
		grep -E " (\"|<(leash/|hiredis|openssl|sodium|($layers)/))" |
		grep -vE ' "tools/[a-z_]+\.h$' | sed 's/ [<"]/ includes /'
}
# What the headers do not say: names that are declared by hand.
# shellcheck disable=SC2086 # words: libtool's nm carries arguments
tools_name_nothing_inside() {
	${NM:-nm} -A -u "$build"/tools/*.o | sed -n 's|.*/\(tools/[^:]*\):.* \(lsh_.*\)|\1 uses \2|p'
}
links_the_inside() { # but tests
	grep -h '^[a-z_]*\(LDADD\|LIBADD\) *=.*libleash-internal' Makefile.am ./*/local.mk | grep -v '^LDADD' |
		sort >"$dir/links"
	# shellcheck disable=SC2016 # for make
	printf '%s\n' 'lib_libleash_la_LIBADD = lib/libleash-internal.la' \
		'tools_leash_LDADD = tools/doctor/libdoctor.la lib/libleash-internal.la $(JANSSON_LIBS) $(CURSES_LIBS)' |
		diff - "$dir/links"
}

# A kind is handed to them; none is known.
name_a_kind() {
	grep -rnE '\<lsh_mutex\>' lib/core lib/lease lib/redis lib/base watchdog || true
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
check 'kind stands on base, the scripts and redis' only lib/kind base/ lua/ redis/ kind/
check 'lease stands on base, watchdog, redis and kind' only lib/lease base/ watchdog/ redis/ kind/ lease/
check 'core stands on those and lease' only lib/core base/ watchdog/ redis/ kind/ lease/ core/
check 'admin stands on those and core' only lib/admin base/ watchdog/ redis/ kind/ lease/ core/ admin/
check 'client stands on all of them' only lib/client base/ watchdog/ lua/ redis/ kind/ lease/ core/ admin/ client/
check 'public headers include public headers' only include

check 'hiredis is known to redis alone' only_in hiredis/ lib/redis
check 'OpenSSL is known to redis alone' only_in openssl/ lib/redis
check 'libsodium is known to base, and to redis for its secrets' only_in sodium lib/base lib/redis
check 'the state of the locks is known to the core alone' only_in core/core.h lib/core
check 'the insides of a client are known to the client layer alone' only_in client/client.h lib/client

check 'no kind is known below admin and client' name_a_kind

check 'examples use the interface' only examples contest.h crowd.h loop_event.h loop_uv.h redis.h ../redis.h
check 'tests/contract uses the interface' only tests/contract tests/contract/ tests/support/
check 'tests/support uses the interface' only tests/support tests/support/
check 'bench uses the interface' only bench bench/ tests/support/
check 'tools use the interface, by leash.h' tools_use_the_interface
check 'but for the doctor, which stands on base, redis, the scripts, and how options are read' \
	only tools/doctor base/ client/options.h lua/ redis/ tools/cli.h tools/doctor/
check 'the leash command alone is linked with the inside, for its doctor' links_the_inside
if [ -e "$build/tools/leash" ]; then
	check 'nothing else in it uses a name of the inside' tools_name_nothing_inside
else
	skip 'what the leash command uses' 'built with --disable-command'
fi

check 'every source says what it is for' sources_say_what_for

finish
