#!/bin/sh
# The Debian packages, made and tried on bare Debians: debian.sh [SUITE...]     (default: bookworm trixie)
#
# mmdebstrap makes a bare root folder of each suite. In copies of it the packages are built and pass lintian without an
# error; they are installed, and purged without leaving a file; autopkgtest runs debian/tests; and in the suite that the
# Containerfile names, what it runs is run. The first commands of the README are tried, too. This takes five to ten
# minutes for each suite, so it is not part of make check.
#
# Takes the files of a git checkout that git has or would take. Needs root, mmdebstrap and a Debian mirror. All is done in
# a temporary folder of up to 4 GB, which is removed. Stops at the first failure, and shows the end of what was said.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^AC_INIT(\[leash\], \[\(.*\)\])$/\1/p' "$source/configure.ac")

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null || [ ! -e "$source/.git" ]; then
	echo "debian.sh: needs root, mmdebstrap (Debian package mmdebstrap), and a git checkout" >&2
	exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/leash-debian.XXXXXX")
chmod 755 "$dir"
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0

step() { # SENTENCE COMMAND...
	sentence=$1
	shift
	if ! "$@" >"$dir/log" 2>&1; then
		tail -n 60 "$dir/log"
		echo "not ok - $suite: $sentence"
		echo "$passed passed, 1 failed"
		exit 1
	fi
	passed=$((passed + 1))
	echo "ok $passed - $suite: $sentence"
}

# In the home of the user who makes the packages. Whatever is mounted or started for a command is gone when it ends.
inside() { # ROOT USER COMMAND...
	root=$dir/$1 user=$2
	shift 2
	# shellcheck disable=SC2016 # for those shells
	unshare --mount --pid --fork --kill-child sh -c '
		mount -t proc proc "$0/proc" && mount -t devpts devpts "$0/dev/pts" && mount -t tmpfs tmpfs "$0/dev/shm" &&
		user=$1 && shift &&
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/made LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			chroot --userspec="$user" "$0" sh -c "cd && exec \"\$@\"" sh "$@"' "$root" "$user" "$@"
}
install() { # ROOT PACKAGE...
	root=$1
	shift
	inside "$root" root apt-get install -y --no-install-recommends "$@"
}

bare_root() {
	mmdebstrap --variant=minbase "$suite" "$dir/bare" &&
		printf '#!/bin/sh\nexit 101\n' >"$dir/bare/usr/sbin/policy-rc.d" &&
		chmod 755 "$dir/bare/usr/sbin/policy-rc.d" &&
		chroot "$dir/bare" /usr/sbin/useradd --create-home --home-dir /made maker &&
		inside bare root apt-get update
}

files() { # [PATHSPEC]: their names, each ended by NUL
	git -C "$source" ls-files -z --cached --others --exclude-standard -- "$@"
}
pack() { # TAR-OPTION...: the files whose names come in
	tar -C "$source" --null --no-recursion --ignore-failed-read -T - --transform "s,^,leash-$version/," "$@"
}
source_package() (
	cp -a "$dir/bare" "$dir/maker" && cd "$dir/maker/made" &&
		files ':!debian' | pack -cJf "leash_$version.orig.tar.xz" &&
		files | pack -cf - | tar -xf - &&
		chown -R --reference=. .
)
builds() {
	install maker build-essential &&
		inside maker root apt-get build-dep -y --no-install-recommends "./leash-$version/" &&
		inside maker maker sh -c "cd leash-$version && dpkg-buildpackage -us -uc"
}
passes_lintian() {
	install maker lintian &&
		inside maker maker sh -c 'lintian --fail-on error --tag-display-limit 0 *.changes >lintian'
}

# Caches, logs and the lists of the package manager itself aside. (Python is there before: its packages leave some.)
files_of() { # ROOT
	(cd "$dir/$1" && find . -path ./proc -prune -o -path ./var/cache -prune -o -path ./var/log -prune -o \
		-path ./var/lib/apt -prune -o -path ./var/lib/dpkg -prune -o -print | sort)
}
comes_and_goes() {
	cp -a "$dir/bare" "$dir/user" && mkdir "$dir/user/debs" && cp "$dir"/maker/made/*.deb "$dir/user/debs" &&
		install user python3 &&
		files_of user >"$dir/before" &&
		inside user root sh -c 'apt-get install -y --no-install-recommends /debs/*.deb' &&
		[ "$(inside user maker leash --version)" = "leash $version" ] &&
		inside user root sh -c 'apt-get purge -y --auto-remove leash leash-doc "libleash*" python3-leash' &&
		files_of user | diff "$dir/before" -
}
passes_autopkgtest() {
	cp -a "$dir/bare" "$dir/tester" && mkdir "$dir/tester/made/packages" &&
		find "$dir/maker/made" -maxdepth 1 -type f -exec cp {} "$dir/tester/made/packages" \; &&
		install tester autopkgtest dpkg-dev &&
		inside tester root sh -c 'autopkgtest packages/*.changes -- null'
}

# Without a container engine: COPY is a copy, RUN lines are run, and the image is a folder.
image_is_made() (
	cp -a "$dir/bare" "$dir/image" && cd "$dir/image" &&
		files | pack -cf - | tar -xf - && mv "leash-$version" leash &&
		awk 'sub(/^RUN /, "") { on = 1 } on; !/\\$/ { on = 0 }' "$source/Containerfile" >steps &&
		inside image root sh -ex /steps
)
image_runs() {
	[ "$(chroot "$dir/image/image" /usr/bin/leash --version)" = "leash $version" ]
}

# As root, and so without sudo. The first command of the README needs a server, which the second one needs as well.
readme_is_so() (
	cp -a "$dir/bare" "$dir/reader" && cd "$dir/reader/made" &&
		files | pack -cf - | tar -xf - &&
		{
			echo 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
			sed -n '/^    \.\/build-aux\/packages\.sh/s/sudo //gp' "leash-$version/README.md"
			echo 'redis-server --port 0 --unixsocket /made/redis.sock --save "" --daemonize yes'
			sed -n 's|^    leash run --redis redis://cache\(.* -- \).*|leash run --redis unix:///made/redis.sock\1echo done|p' \
				"leash-$version/README.md"
			echo 'redis-cli -s /made/redis.sock SHUTDOWN NOSAVE'
			echo ./examples/quickstart.sh
		} >steps &&
		[ "$(wc -l <steps)" -eq 6 ] &&
		inside reader root sh -exc "cd leash-$version && . /made/steps"
)

for suite in ${*:-bookworm trixie}; do
	step 'a bare root folder is made' bare_root
	step 'what the README says first installs leash, runs a command under a lock, and shows it at work' readme_is_so
	step 'the source package is put together' source_package
	step 'the packages are built, and pass the quick tests' builds
	step 'lintian finds no error' passes_lintian
	sed 's/^/# /' "$dir/maker/made/lintian"
	step 'they are installed and purged without leaving a file' comes_and_goes
	step 'autopkgtest passes' passes_autopkgtest
	if grep -q "^FROM debian:$suite" "$source/Containerfile"; then
		step 'what the Containerfile runs makes the image' image_is_made
		step 'its command runs' image_runs
	fi
	find "$dir" -mindepth 1 -delete
done
echo "$passed passed, 0 failed"
