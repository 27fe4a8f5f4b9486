#!/bin/sh
# A thousand tasks with `async with lock:`, in each of three programs at once: run.sh
#
# Does all of its own set-up on a bare Debian 12 or 13, as root or with sudo: packages, build (in build/python, or
# $LEASH_BUILD_DIR), a private redis-server on a unix socket in a temporary folder, which goes away at the end. Safe to
# run again, from any folder. Each task adds 1 to the number in a file; it succeeds if none of 3000 was lost.
set -u

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/../../.." && pwd) || exit 1
folder=${LEASH_BUILD_DIR:-$source/build/python}

"$source/build-aux/packages.sh" || exit 1
"$source/build-aux/build.sh" "$folder" --disable-command --disable-static || exit 1
folder=$(cd "$folder" && pwd) || exit 1

dir=$(mktemp -d /tmp/leash-python.XXXXXX) || exit 1
redis=''
clean_up() {
	[ -z "$redis" ] || { kill "$redis" && wait "$redis"; }
	rm -rf "$dir"
} 2>/dev/null
trap clean_up EXIT
trap 'exit 130' HUP INT PIPE TERM

redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" --logfile "$dir/redis.log" &
redis=$!
until redis-cli -s "$dir/redis.sock" PING >/dev/null 2>&1; do
	kill -0 "$redis" || exit 1
	sleep 0.05
done

export LEASH_LIBRARY="$folder/lib/.libs/libleash.so.0"
export PYTHONPATH="$source/bindings/python/src"
export PYTHONDONTWRITEBYTECODE=1
programs=''
for program in 1 2 3; do
	python3 "$source/bindings/python/examples/tasks.py" "$dir/counter" "unix://$dir/redis.sock" >"$dir/said.$program" &
	programs="$programs $!"
done
for program in $programs; do
	wait "$program" || exit
done
cat "$dir"/said.*
echo "the file says $(cat "$dir/counter")"
[ "$(cat "$dir/counter")" = 3000 ] && [ "$(cat "$dir"/said.* | grep -c ', 0 overlaps$')" = 3 ]
