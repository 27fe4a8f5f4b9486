#!/bin/sh
# Install the Debian packages that leash is built and tested with, as far as they are missing: packages.sh
#
# Says nothing and needs no privilege if all is there. Each thing is looked for itself, not its package, so that
# machines without apt are served too where everything has been installed by other means.
#
# Debian's redis-server package starts a service on port 6379 and at every boot. Nobody asked for one here: where this
# script is what installs it, the service is neither started nor enabled. One that was there is not touched.
set -eu

missing=
need() { # PACKAGE COMMAND...: missing unless the command succeeds
	package=$1
	shift
	"$@" >/dev/null 2>&1 || missing="$missing $package"
}
compiles() { # LANGUAGE COMPILER...
	language=$1
	shift
	echo '#include <stdio.h>' | "$@" -x "$language" -fsyntax-only -
}
python_has() { # MODULE: as tests/support/tap.sh finds it
	for python in python3 /usr/bin/python3; do
		! "$python" -c "import $1" || return 0
	done
	return 1
}

compiler=${CC:-gcc}

if [ "${1-}" != --install ]; then
	# shellcheck disable=SC2086 # words: CC may carry arguments
	need g++ compiles c++ ${CXX:-g++}
	# shellcheck disable=SC2086
	need libc6-dev compiles c $compiler
	need autoconf command -v autoreconf
	need automake command -v automake
	need bash-completion [ -r /usr/share/bash-completion/bash_completion ]
	need cmake command -v cmake
	need codespell command -v codespell
	need fish command -v fish
	need gcc command -v "${compiler%% *}"
	need groff-base command -v groff
	need libcmocka-dev pkg-config --exists cmocka
	need libevent-dev pkg-config --exists libevent
	need libhiredis-dev pkg-config --exists hiredis
	need libjansson-dev pkg-config --exists jansson
	need liblua5.1-0-dev pkg-config --exists lua5.1
	need libncurses-dev pkg-config --exists ncursesw
	need libsodium-dev pkg-config --exists libsodium
	need libssl-dev pkg-config --exists libssl libcrypto
	need libtool command -v libtoolize
	need libuv1-dev pkg-config --exists libuv
	need libzstd-dev pkg-config --exists libzstd # as zlib, for the static libcrypto of Debian 13
	need make command -v make
	need mandoc command -v mandoc
	need pmccabe command -v pmccabe
	need pkg-config command -v pkg-config
	need python3 command -v python3
	need python3-markdown-it python_has markdown_it
	need python3-prometheus-client python_has prometheus_client.parser
	need python3-proselint command -v proselint
	need python3-pytest python_has pytest
	need redis-server command -v redis-server
	need redis-tools command -v redis-cli
	need strace command -v strace
	need systemd command -v systemd-analyze
	need tmux command -v tmux
	need zlib1g-dev pkg-config --exists zlib
	need zsh command -v zsh

	[ -n "$missing" ] || exit 0

	if ! command -v apt-get >/dev/null 2>&1; then
		echo "packages: missing here are what Debian has in:$missing" >&2
		echo "packages: there is no apt-get, so please install them by your system's own means" >&2
		exit 1
	fi
	if [ "$(id -u)" = 0 ]; then
		sudo=
	elif command -v sudo >/dev/null 2>&1; then
		sudo=sudo
	else
		echo "packages: neither root nor sudo here; please have somebody run:  apt-get install$missing" >&2
		exit 1
	fi
	echo "packages: installing$missing"
	# shellcheck disable=SC2086 # words
	exec $sudo sh "$0" --install $missing
fi

# ---- as root ----
shift

policy=/usr/sbin/policy-rc.d
kept=$policy.before-leash
log=$(mktemp "${TMPDIR:-/tmp}/leash-packages.XXXXXX")

# A policy that somebody has set up goes on to decide about everything but redis-server.
forbid_service() {
	if [ -e "$policy" ] && ! grep -q 'Put here by leash' "$policy"; then
		mv "$policy" "$kept"
	fi
	cat >"$policy" <<-'END'
		#!/bin/sh
		# Put here by leash's build-aux/packages.sh while it installs, removed at its end.
		case $1 in redis-server*) exit 101 ;; esac
		[ ! -x "$0.before-leash" ] || exec "$0.before-leash" "$@"
		exit 0
	END
	chmod 755 "$policy"
}
allow_service() {
	if [ -e "$kept" ]; then
		mv "$kept" "$policy"
	else
		rm -f "$policy"
	fi
}
leave() {
	[ "$service" = no ] || allow_service
	rm -f "$log"
}

service=no
case " $* " in *" redis-server "*) service=yes ;; esac
trap leave EXIT
trap 'exit 1' HUP INT TERM
[ "$service" = no ] || forbid_service

export DEBIAN_FRONTEND=noninteractive
apt() {
	apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null >"$log" 2>&1
}

# Without a network the lists that are there may do.
apt update || { echo "packages: apt-get update failed:" >&2 && tail -5 "$log" >&2; }
if ! apt install -y --no-install-recommends --no-upgrade --no-remove "$@"; then
	cat "$log" >&2
	echo "packages: apt-get could not install: $*" >&2
	exit 1
fi

if [ "$service" = yes ]; then
	if [ -d /run/systemd/system ]; then
		systemctl --quiet disable redis-server.service >/dev/null 2>&1 || :
	elif command -v update-rc.d >/dev/null 2>&1; then
		update-rc.d redis-server disable >/dev/null 2>&1 || :
	fi
fi
