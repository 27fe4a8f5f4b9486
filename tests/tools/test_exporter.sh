#!/bin/sh
# leash exporter, and leash top --prometheus: what Prometheus' own parser reads in them, and how the exporter takes whatever is sent
# to it.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

leash=$build/tools/.libs/leash
[ -x "$leash" ] || leash=$build/tools/leash
if [ ! -x "$leash" ]; then
	echo 'built with --disable-command'
	exit 77
fi
python=$(python_with prometheus_client.parser) || exit 1
unset LEASH_PREFIX
export LEASH_URI="unix://$dir/redis.sock"

asks() { # SENTENCE OF exporter.py, and its arguments
	"$python" "$source/tests/tools/exporter.py" "$@"
}

has_locks() {
	start_redis || return
	for name in nightly 'two words' 'say "hi"' 'un\slashed' "$(printf 'new\nline')" "$(printf 'z\303\274rich')" "$(printf 'gr\374n')"; do
		"$leash" acquire -q --ttl 1h "$name" >"$dir/token" || echo "acquire '$name': status $?"
	done
	"$leash" acquire -q --ttl 1h --slots 3 --take 2 gpu >"$dir/token" || echo "status $?"
	"$leash" run -q nightly -- true &
	other="$other $!"
}
starts() { # OPTION...: $url is where it listens. With fewer descriptors than it has room for connections
	: >"$dir/listens"
	(ulimit -n 40 && exec "$leash" exporter --listen 127.0.0.1:0 "$@" 2>"$dir/listens") &
	exporter=$!
	other="$other $exporter"
	for try in 1 2 3 4 5 6 7 8; do
		url=$(sed -n 's|.*\(http://[0-9.:]*\)/metrics$|\1|p' "$dir/listens")
		[ -z "$url" ] || return 0
		sleep "0.$try"
	done
	cat "$dir/listens"
}
prints_the_same() {
	"$leash" top --prometheus >"$dir/page" || echo "status $?"
	asks page "$dir/page"
}
lint() {
	if command -v promtool >/dev/null; then
		promtool check metrics <"$dir/page"
	fi
}
counts_what_it_leaves_out() {
	"$leash" top --prometheus --rows 3 >"$dir/page" || echo "status $?"
	asks bounded "$dir/page" 3 8
}
says_that_the_server_is_away() {
	status=0
	"$leash" top --prometheus -r "unix://$dir/nowhere" >"$dir/page" 2>"$dir/said" || status=$?
	[ "$status" -eq 69 ] || echo "status $status"
	asks away "$dir/page"
}
outlives_the_server() {
	kill -KILL "$redis" && wait "$redis" 2>/dev/null
	asks down "$url"
	start_redis
	asks up "$url"
}
starts_before_the_server() {
	kill -KILL "$redis" && wait "$redis" 2>/dev/null
	starts
	asks down "$url"
	start_redis
	asks up "$url"
}
answers_while_the_server_hangs() {
	kill -STOP "$redis"
	asks health "$url"
	asks down "$url"
	kill -CONT "$redis"
}
refuses() { # OPTION...
	status=0
	"$leash" exporter "$@" >"$dir/said" 2>&1 || status=$?
	echo "$status"
}
refuses_what_is_no_address() {
	for address in '' 21637 host ':' 'host:' 'host:x' 'host:65536' 'host:123456' '::1:21637'; do
		[ "$(refuses --listen "$address")" -eq 64 ] || { echo "'$address'" && cat "$dir/said"; }
	done
	[ "$(refuses --listen "${url#http://}")" -eq 69 ] || { echo 'an address that is in use' && cat "$dir/said"; }
	[ "$(refuses --rows 0)" -eq 64 ] || cat "$dir/said"
	unset LEASH_URI
	[ "$(refuses)" -eq 64 ] && grep -q LEASH_URI "$dir/said" || cat "$dir/said"
}
ends_by_a_signal() {
	status=0
	kill -TERM "$exporter"
	wait "$exporter" 2>/dev/null || status=$?
	[ "$status" -eq 143 ] || echo "status $status"
}

check 'a server with locks in it' has_locks
check 'leash top --prometheus prints what the parser of Prometheus reads' prints_the_same
check 'promtool, where it is, finds nothing to improve' lint
check 'beyond the limit it counts what it leaves out' counts_what_it_leaves_out
check 'where the server is away it says so in the text, too' says_that_the_server_is_away
check 'the exporter listens' starts
check 'it answers with the same' asks scrape "$url"
check 'it is asked by many at once, and looks hardly more than once' asks crowd "$url"
check 'it answers what it does not understand, or not have, as HTTP wants it' asks strangers "$url"
check 'nobody keeps it from answering others' asks crowded "$url"
check 'it answers while the server hangs' answers_while_the_server_hangs
check 'it outlives the server' outlives_the_server
check 'it ends by a signal' ends_by_a_signal
check 'it can be started before the server' starts_before_the_server
check 'it refuses what is no address, one that is in use, and to have no server' refuses_what_is_no_address
finish
