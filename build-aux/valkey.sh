#!/bin/sh
# Fetch Valkey from Debian without installing it, and print the path of its server: valkey.sh [FOLDER]
#
# Debian 12 has it in bookworm-backports, which few machines have among their sources, and a test is no reason
# to add it. So apt gets sources, lists and a cache of its own, for as long as this takes; it checks
# signatures with Debian's keyring as ever. What is fetched is unpacked in FOLDER (build/valkey unless given):
# the server, and those libraries that this system lacks, with which the server is then started by a small
# script. Needs neither root nor a change of the system.
#
# Safe to run again: what is there and runs is used. The path is all that goes to standard output.
#
# LEASH_DEBIAN_MIRROR: default http://deb.debian.org/debian
set -eu

# shellcheck disable=SC1007 # an empty CDPATH for this cd
source=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
folder=${1:-$source/build/valkey}
mirror=${LEASH_DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() { # TEXT...
	echo "valkey: $*" >&2
	[ ! -s "${log-}" ] || tail -5 "$log" >&2
	exit 1
}
runs() { # PROGRAM
	"$1" --version >/dev/null 2>&1
}
server() { # of those in FOLDER the one that can be started
	for program in "$folder/valkey-server" "$folder/usr/bin/valkey-server"; do
		[ ! -x "$program" ] || ! runs "$program" || echo "$program"
	done | head -1
}

mkdir -p "$folder" || fail "cannot write to $folder"
folder=$(cd "$folder" && pwd)
found=$(server)
if [ -n "$found" ]; then
	echo "$found"
	exit
fi

for command in apt-get dpkg-deb; do
	command -v "$command" >/dev/null ||
		fail "there is no $command: please install valkey-server by your system's own means"
done
[ -e "$keyring" ] || fail "$keyring is missing (Debian package debian-archive-keyring)"
# shellcheck disable=SC1091 # a file of the system
suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
case $suite in
bookworm) suites="bookworm bookworm-backports" wanted=valkey-server/bookworm-backports ;;
*) suites=$suite wanted=valkey-server ;;
esac

# Not in FOLDER: the user as whom apt fetches must be able to get there.
dir=$(mktemp -d "${TMPDIR:-/tmp}/leash-valkey.XXXXXX")
log=$dir/log
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$dir"
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"

cat >"$dir/debian.sources" <<END
Types: deb
URIs: $mirror
Suites: $suites
Components: main
Signed-By: $keyring
END
# Read after the system's own settings, a proxy among them. What packages hooked in there is for the system's lists.
cat >"$dir/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::CNF;
Dir::Etc::SourceList "$dir/debian.sources";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "$dir/lists";
Dir::State::extended_states "$dir/extended_states";
Dir::Cache "$dir/cache";
Acquire::Languages "none";
Acquire::Retries "2";
Debug::NoLocking "true";
END
apt() {
	LC_ALL=C apt-get -q -c "$dir/apt.conf" "$@" </dev/null >"$log" 2>&1
}

echo "valkey: fetching it from $mirror ($suites)" >&2
apt update || fail "no package lists from $mirror: is there a network?"
! grep -q '^[EW]:' "$log" || fail "no trustworthy package lists from $mirror: is there a network?"
# As if to install it: apt knows what this system lacks.
apt install --download-only --yes --no-install-recommends --no-remove "$wanted" ||
	fail "cannot fetch $wanted from $mirror"
# The program is in the other of the two, which may be installed, in whatever version.
(cd "$dir/cache/archives" && apt download "$wanted" "valkey-tools${wanted#valkey-server}") ||
	fail "cannot fetch valkey-tools from $mirror"
for package in "$dir"/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$folder" || fail "cannot unpack $package into $folder"
done
: >"$log"

program=$folder/usr/bin/valkey-server
if ! runs "$program"; then
	libraries=$(find "$folder/lib" "$folder/usr/lib" -name 'lib*.so.*' -exec dirname {} + 2>/dev/null |
		sort -u | paste -sd:)
	cat >"$folder/valkey-server" <<-END
		#!/bin/sh
		export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
		exec "$program" "\$@"
	END
	chmod 755 "$folder/valkey-server"
fi
found=$(server)
if [ -z "$found" ]; then
	ldd "$program" >"$log" 2>&1 || :
	"$folder/valkey-server" --version >>"$log" 2>&1 || :
	fail "what was fetched does not run: $program"
fi
echo "$found"
