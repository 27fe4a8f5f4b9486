#!/bin/sh
# Build leash in a folder of its own: build.sh FOLDER [CONFIGURE-ARGUMENT...]
#
# For the commands that do all of their own set-up. Safe to run again: what is there and still right is used. A folder
# that this script made is emptied when the arguments differ from those of last time; any other is left alone.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift

if [ -e "$source/config.status" ]; then
	echo "build: the source folder itself is configured; run 'make distclean' in $source first" >&2
	exit 1
fi

# Where configure exists make takes care of what is older than its source.
if [ ! -e "$source/configure" ] || [ ! -e "$source/Makefile.in" ] || [ ! -e "$source/config.h.in" ]; then
	echo "build: autoreconf"
	(cd "$source" && autoreconf -fi >autoreconf.log 2>&1 && rm autoreconf.log) || {
		cat "$source/autoreconf.log" >&2
		rm -f "$source/autoreconf.log"
		exit 1
	}
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
mark=$folder/.leash-build
key="$source $* CC=${CC-} CFLAGS=${CFLAGS-} CPPFLAGS=${CPPFLAGS-} LDFLAGS=${LDFLAGS-}"

if [ ! -e "$folder/config.status" ] || [ "$(cat "$mark" 2>/dev/null)" != "$key" ]; then
	if [ -e "$mark" ]; then
		find "$folder" -mindepth 1 -delete
	elif [ -n "$(ls -A "$folder")" ]; then
		echo "build: $folder is not empty, and not by this script" >&2
		exit 1
	fi
	echo "build: configure $*"
	printf '%s\n' "$key" >"$mark"
	(cd "$folder" && "$source/configure" --quiet "$@")
fi

echo "build: make"
make -C "$folder" -j"$(nproc)" --no-print-directory
