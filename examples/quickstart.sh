#!/bin/sh
# See leash at work: quickstart.sh
#
# Does all of its own set-up on a bare Debian 12 or 13, as root or with sudo: packages, build (in build/quickstart, or
# $LEASH_BUILD_DIR), a private redis-server on a unix socket in a temporary folder, which goes away at the end. Safe to
# run again, from any folder. Then two processes, called ann and bob, want one lock. The script checks in Redis whatever
# it says, and succeeds only if all of it is true.
#
# With LEASH_BY_HAND=PROGRAM it uses that by_hand, and builds nothing.
set -u

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 1
folder=${LEASH_BUILD_DIR:-$source/build/quickstart}

lease=3000 # ms
lock=orders
key="leash:{$lock}"

# The path of a socket must be short, and fit into a URI.
tmp=${TMPDIR:-/tmp}
case $tmp in *[!A-Za-z0-9/._-]* | [!/]*) tmp=/tmp ;; esac
[ ${#tmp} -le 60 ] || tmp=/tmp
dir=$(mktemp -d "$tmp/leash-quickstart.XXXXXX") || exit 1

redis='' ann='' bob=''
clean_up() {
	for pid in $ann $bob; do
		kill -KILL "$pid"
		wait "$pid"
	done
	if [ -n "$redis" ]; then
		kill "$redis"
		wait "$redis"
	fi
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'echo; echo "quickstart: interrupted"; exit 130' HUP INT TERM
trap 'exit 141' PIPE

# ---- saying and checking ----

say() {
	printf '%s\n' "$@"
}

give_up() {
	printf 'quickstart: %s\n' "$@" >&2
	exit 1
}

check() { # SENTENCE COMMAND...: the sentence is true if the command succeeds
	sentence=$1
	shift
	if ! "$@" >/dev/null; then
		say "   WRONG    $sentence"
		[ ! -s "$dir/redis.log" ] || tail -n 3 "$dir/redis.log"
		give_up 'this is not what leash promises'
	fi
	say "   ok       $sentence"
}

await() { # WHAT COMMAND...: wait until it succeeds. The limit promises nothing, it only ends an endless wait.
	what=$1
	shift
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 1200 ] || give_up "$what did not come about in a minute"
		sleep 0.05
	done
}

now_ms() {
	date +%s%3N
}

# ---- Redis ----

ask() {
	redis-cli -s "$dir/redis.sock" "$@"
}

holder() {
	ask HKEYS "$key"
}

show_redis() {
	# shellcheck disable=SC2046 # two words, or none
	set -- $(ask HGETALL "$key") "$(ask PTTL "$key")"
	if [ $# -eq 3 ]; then
		say "   redis    HGETALL $key  $1 -> $2" "            PTTL    $key  $3 ms"
	else
		say "   redis    HGETALL $key  (nothing)"
	fi
}

answers() {
	[ "$(ask PING)" = PONG ]
}

is() { # VALUE COMMAND...: the command prints this value
	value=$1
	shift
	[ "$("$@")" = "$value" ]
}

# ---- ann and bob: each reads commands from a pipe, and prints into a file ----

new_lines() { # WHO: printed since the last hear()
	tail -n "+$(($(cat "$dir/$1.heard") + 1))" "$dir/$1.said"
}

said() { # WHO PATTERN
	new_lines "$1" | grep -q "$2"
}

said_nothing() {
	[ -z "$(new_lines "$1")" ]
}

hear() { # WHO
	lines=$(wc -l <"$dir/$1.said")
	sed -n "$(($(cat "$dir/$1.heard") + 1)),${lines}{s/^ *//; s/^/   $1      /; p;}" "$dir/$1.said"
	echo "$lines" >"$dir/$1.heard"
}

hear_answer() { # WHO PATTERN: every answer ends with a line about what is held
	await "the answer of $1" said "$1" '^  held'
	right=no
	said "$1" "$2" && right=yes
	hear "$1"
	[ "$right" = yes ] || give_up "$1 did not say '$2'"
}

fence() { # WHO: of the last hold
	sed -n 's/.* fence \([1-9][0-9]*\),.*/\1/p' "$dir/$1.said" | tail -n 1
}

start() { # WHO
	echo 0 >"$dir/$1.heard"
	: >"$dir/$1.said"
	mkfifo "$dir/$1.told"
	# Not with the other's pipe: each ends when nobody can send it commands any more.
	"$program" "unix://$dir/redis.sock" "$lock" "$lease" <"$dir/$1.told" >"$dir/$1.said" 2>&1 3>&- &
}

greet() { # WHO
	await "$1" said "$1" "^lock '$lock'"
	wc -l <"$dir/$1.said" >"$dir/$1.heard"
}

# ---- set-up ----

program=${LEASH_BY_HAND-}
if [ -z "$program" ]; then
	say "Building leash in $folder"
	"$source/build-aux/packages.sh" || give_up 'packages are missing'
	{ "$source/build-aux/build.sh" "$folder" && make -C "$folder" examples/by_hand; } >"$dir/build.log" 2>&1 || {
		cat "$dir/build.log" >&2
		give_up 'the build failed'
	}
	program=$folder/examples/by_hand
fi
[ -x "$program" ] || give_up "there is no program $program"

redis-server --port 0 --unixsocket "$dir/redis.sock" --unixsocketperm 700 --save '' --appendonly no --dir "$dir" \
	--logfile "$dir/redis.log" >/dev/null 2>&1 &
redis=$!
await 'the redis-server' answers
start ann
ann=$!
exec 3>"$dir/ann.told"
start bob
bob=$!
exec 4>"$dir/bob.told"
greet ann
greet bob

# ---- the play ----

say '' "Two processes, ann and bob, want one lock, '$lock', in a Redis of their own. Its lease is $lease ms:" \
	'a lock that is not renewed is free after this time.'

say '' '1. ann takes the lock.' ''
say acquire >&3
hear_answer ann '^acquire: OK'
show_redis
check 'Redis has the lock: a hash of owner token -> depth, which expires by itself' [ "$(ask PTTL "$key")" -gt 0 ]
owner=$(holder)

say '' '2. bob also wants it, and has to wait.' ''
say acquire >&4
await 'bob in the queue' is 1 ask EXISTS "$key:queue"
check 'bob stands in the queue and says nothing' said_nothing bob

say '' '3. ann works for three leases. The watchdog in her process renews the lock; ^ marks where its TTL went up.' ''
printf '   PTTL   '
began=$(now_ms)
last=99999 rises=0 least=$lease column=0
while [ $(($(now_ms) - began)) -lt $((3 * lease)) ]; do
	ttl=$(ask PTTL "$key")
	mark=' '
	if [ "$ttl" -gt "$last" ]; then
		mark='^'
		rises=$((rises + 1))
	fi
	[ "$ttl" -ge "$least" ] || least=$ttl
	last=$ttl
	[ $((column % 14)) -ne 0 ] || [ "$column" -eq 0 ] || printf '\n          '
	column=$((column + 1))
	printf '%5d%s' "$ttl" "$mark"
	sleep 0.3
done
say ''
check "the lease was renewed: its TTL went up $rises times" [ "$rises" -ge 2 ]
check "the lease never ran out: the TTL was at least $least ms" [ "$least" -gt 0 ]
check 'ann still has the same hold' is "$owner" holder
check 'bob still waits' said_nothing bob

say '' '4. ann takes it again, like a function that is called with the lock held. This sends nothing to Redis.' ''
say acquire >&3
hear_answer ann 'depth 2'
await 'the depth of 2 in Redis' is 2 ask HGET "$key" "$owner"
show_redis
check 'Redis shows the depth after the next renewal' is 2 ask HGET "$key" "$owner"
say release >&3
hear_answer ann 'depth 1'
check 'the inner release did not free it: ann still has the same hold' is "$owner" holder
check 'bob still waits' said_nothing bob

say '' '5. ann releases it, and bob has it.' ''
say release >&3
hear_answer ann '^release: OK'
hear_answer bob '^acquire: OK'
show_redis
check 'the hold is another one' [ "$(holder)" != "$owner" ]
check 'the fence of bob is larger than that of ann was' [ "$(fence bob)" -gt "$(fence ann)" ]
owner=$(holder)
of_bob=$(fence bob)

say '' '6. ann wants it again, and waits. bob is killed with SIGKILL, so he cannot release it.' ''
say acquire >&3
await 'ann in the queue' is 1 ask EXISTS "$key:queue"
check 'ann waits, bob has it' is "$owner" holder
left=$(ask PTTL "$key")
began=$(now_ms)
kill -KILL "$bob"
wait "$bob" 2>/dev/null
bob=''
say "   kill     bob is dead; his lease lasts for another $left ms"
printf '   PTTL   '
column=0
while ! said ann '^  held'; do
	took=$(($(now_ms) - began))
	[ "$took" -lt 60000 ] || give_up 'ann did not get it in a minute'
	[ "$took" -lt $((300 * column)) ] || printf '%5d ' "$(ask PTTL "$key")"
	[ "$took" -lt $((300 * column)) ] || column=$((column + 1))
	sleep 0.05
done
took=$(($(now_ms) - began))
say ''
hear_answer ann '^acquire: OK'
show_redis
# leash promises the end of his lease. Another lease is added for a machine that is too busy to look in time.
check "ann has it, $took ms after the kill" [ "$took" -le $((left + lease)) ]
check 'the hold is another one' [ "$(holder)" != "$owner" ]
check 'the fence has grown again' [ "$(fence ann)" -gt "$of_bob" ]

say '' '7. ann releases it.' ''
say release >&3
hear_answer ann '^release: OK'
check 'nothing is left of it in Redis but the fence, for an hour' is "$key:fence" ask KEYS "$key*"
say quit >&3
wait "$ann" || give_up 'ann failed'
ann=''

say '' 'All checks passed.'
[ -n "${LEASH_BY_HAND-}" ] || say "To try it yourself, start a redis-server, and run $program in two terminals."
