#!/bin/sh
# What `make install` leaves is enough, and no more: programs in C and in C++ find it by pkg-config, shared and static; the command
# runs; the man pages and the completion are where they are looked for.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

root=$dir/root

# The flags of the make that runs this test are not for this one: its job server is out of reach here.
make_() { # ARGUMENT...
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$build" --no-print-directory "$@"
}
installs() {
	make_ install DESTDIR="$root" >"$dir/install.log" 2>&1 || tail -n 20 "$dir/install.log"
	[ -e "$pc" ] || echo "no $pc"
}

# As on a machine that has the development files of leash and of nothing else.
from_pc() { # FOLDER-OF-LEASH.PC ARGUMENT...
	folder=$1
	shift
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$folder "${PKG_CONFIG:-pkg-config}" "$@" leash
}
libdir=$(from_pc "$build/lib" --variable=libdir)
includedir=$(from_pc "$build/lib" --variable=includedir)
pc=$root$libdir/pkgconfig/leash.pc

folder() { # VARIABLE: where the build puts things of that kind; nothing if it has none
	# shellcheck disable=SC2016 # for make
	make_ -s --eval='.PHONY: leash-folder
leash-folder: ; @echo $($(leash_folder))' leash-folder leash_folder="$1"
}
bindir=$(folder bindir)
command=$root$bindir/leash

headers_are_the_public_ones() {
	(cd "$root$includedir" && find . -type f | sort) >"$dir/there"
	(cd "$source/include" && find . -name '*.h' -o -name '*.hpp' | sort) | diff - "$dir/there"
}
libraries_are_ours() {
	(cd "$root$libdir" && find . ! -type d ! -name 'libleash.so*' ! -path ./libleash.a ! -path ./libleash.la ! -path ./pkgconfig/leash.pc)
}

# All else that is there, one by one.
files_are_those() {
	{
		for page in CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md bindings/python/README.md bindings/python/examples/tasks.py \
			examples/CMakeLists.txt lib/lua/README.md; do
			echo "$(folder docdir)/$page"
		done
		(cd "$source" && ls docs/*.md docs/pictures/*.svg examples/*.[ch] examples/*.cpp examples/systemd/* examples/wrong/*.[ch]) | sed "s|^|$(folder docdir)/|"
		(cd "$build/docs/man3" && ls ./*.3) | sed "s|^\.|$(folder man3dir)|"
		echo "$(folder man3dir)/leash.3"
		if [ -e "$build/tools/leash" ]; then
			echo "$bindir/leash"
			echo "$(folder man1dir)/leash.1"
			[ ! -e "$build/tools/completion/leash" ] || echo "$(folder bashcompletiondir)/leash"
			[ ! -e "$build/tools/completion/_leash" ] || echo "$(folder zshcompletiondir)/_leash"
			[ ! -e "$build/tools/completion/leash.fish" ] || echo "$(folder fishcompletiondir)/leash.fish"
		fi
	} | sort >"$dir/wanted"
	find "$root" ! -type d ! -path "$root$libdir/*" ! -path "$root$includedir/*" | sed "s|^$root||" | sort >"$dir/there"
	diff "$dir/wanted" "$dir/there"
}
# Those with a scheme aside.
links_lead_somewhere() {
	find "$root$(folder docdir)" -name '*.md' | while read -r page; do
		grep -oE '\]\([^):#]+' "$page" | sed 's/^](//' | sort -u | while read -r link; do
			[ -e "$(dirname "$page")/$link" ] || echo "${page#"$root"} leads to $link, which is not there"
		done
	done
	# and what headers and man pages name
	cat "$root$includedir"/leash.h* "$root$includedir"/leash/*.h* "$root$(folder mandir)"/man?/* | grep -oE '[[:alnum:]_/-]+\.md' | sort -u | while read -r page; do
		[ -e "$root$(folder docdir)/$page" ] || echo "a header or a man page names $page, which is not there"
	done
}
command_runs() {
	said=$("$command" --version) || echo "status $?"
	[ "$said" = "leash $(from_pc "$build/lib" --modversion)" ] || echo "it says '$said'"
}
# It has the library in itself. A libleash.so beside that would be a second copy, with a state of its own.
command_has_one_library() {
	readelf -dW "$command" | grep -E 'RPATH|RUNPATH|NEEDED.*libleash'
	[ "$(readelf -dW "$command" | grep -c 'NEEDED')" -gt 0 ] || echo 'it needs no library'
}
goes_away() {
	make_ uninstall DESTDIR="$root" >"$dir/install.log" 2>&1 || tail -n 20 "$dir/install.log"
	find "$root" ! -type d
}

# ---- programs ----

# Goes as far as a program gets without a server: through the options, hiredis and libsodium, and all threads.
cat >"$dir/program.c" <<'END'
#include <leash.h>

#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	leash_client *client = NULL;
	leash_error err;
	leash_status st = leash_open(&client, LEASH_OPTIONS(.uri = argv[argc - 1], .timeout_ms = 100), &err);

	if (st != LEASH_UNAVAILABLE || strcmp(leash_version(), LEASH_VERSION) != 0) {
		printf("leash %s, made for %s: %s\n", leash_version(), LEASH_VERSION, leash_status_name(st));
		return 1;
	}
	leash_close(client);
	return 0;
}
END

# The tree in $root stands for the whole system, so its leash.pc is told where that is. Other libraries are where they are.
flags() { # ARGUMENT...
	[ -e "$dir/leash.pc" ] ||
		sed -e "s|^libdir=.*|libdir=$root$libdir|" -e "s|^includedir=.*|includedir=$root$includedir|" "$pc" >"$dir/leash.pc"
	from_pc "$dir" "$@"
}
# shellcheck disable=SC2086,SC2046 # words: compilers and flags
builds() { # LANGUAGE LINKER-FLAGS
	rm -f "$dir/program"
	case $1 in
	c) set -- "${CC:-cc} -std=c11" "$2" ;;
	c++) set -- "${CXX:-c++} -std=c++20 -include leash.hpp -x c++" "$2" ;;
	esac
	$1 ${LEASH_SANITIZE-} -Wall -Wextra -Werror $(flags --cflags) -o "$dir/program" "$dir/program.c" -x none $2
}
same() { # WANTED FLAGS: white space aside
	# shellcheck disable=SC2086 # words
	[ "$(echo $2)" = "$1" ] || echo "they are '$2', not '$1'"
}
flags_are_ours() {
	same "-I$root$includedir" "$(flags --cflags)"
	same "-L$root$libdir -lleash" "$(flags --libs)"
}
needs() { # LIBRARY
	readelf -dW "$dir/program" | grep -q "NEEDED.*\\[$1"
}
shared_runs() { # LANGUAGE
	builds "$1" "$(flags --libs)" || return
	needs libleash || echo 'the program is not linked with the shared library'
	! needs libhiredis || echo 'a program that is linked with leash has to be linked with hiredis'
	LD_LIBRARY_PATH=$root$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$dir/program" "unix://$dir/nowhere"
}
# Of what there is as an archive, that; but for what belongs to the C library.
archives() { # LINKER-FLAGS
	for flag in $1; do
		case $flag in
		-lc | -ldl | -lm | -lpthread) echo "$flag" ;;
		-lleash) echo "-l:libleash.a" ;;
		-l*)
			# shellcheck disable=SC2086 # words
			case $(${CC:-cc} -print-file-name="lib${flag#-l}.a") in
			/*) echo "-l:lib${flag#-l}.a" ;;
			*) echo "$flag" ;;
			esac
			;;
		*) echo "$flag" ;;
		esac
	done
}
static_runs() { # LANGUAGE
	builds "$1" "$(archives "$(flags --static --libs)")" || return
	! needs libleash || echo 'the program is linked with the shared library'
	"$dir/program" "unix://$dir/nowhere"
}

# The project of the examples, in C and in C++.
builds_by_cmake() {
	flags --cflags >"$dir/log" || return
	PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$dir CFLAGS=${LEASH_SANITIZE-} CXXFLAGS=${LEASH_SANITIZE-} \
		cmake -S "$source/examples" -B "$dir/cmake" >"$dir/log" 2>&1 &&
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$dir/cmake" >"$dir/log" 2>&1 || tail -n 20 "$dir/log"
	for program in first_lock scoped_lock; do
		"$dir/cmake/$program" "unix://$dir/nowhere" >"$dir/log" 2>&1 && echo "$program found a server"
		grep -q "$dir/nowhere" "$dir/log" || cat "$dir/log"
	done
}

# A system without cmocka, libuv and libevent, and without a C++ compiler.
builds_without_what_tests_need() {
	mkdir "$dir/bare" && cd "$dir/bare" || return
	cat >pkg-config <<-END
		#!/bin/sh
		case \$* in *cmocka* | *libevent* | *libuv*) exit 1 ;; esac
		exec ${PKG_CONFIG:-pkg-config} "\$@"
	END
	chmod +x pkg-config
	env -u CXX -u CMOCKA_LIBS -u LIBUV_LIBS -u LIBEVENT_LIBS "$source/configure" --quiet PKG_CONFIG="$dir/bare/pkg-config" ac_cv_prog_CXX='' >log 2>&1 || cat log
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -n all >log 2>&1 || tail -n 5 log
	grep -q 'lib/base/map\.c' log || echo 'make compiles no library'
	grep -oE '(tests|bench|examples)/[[:alnum:]_/]+\.c' log | sort -u
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -n check >log 2>&1 || tail -n 5 log
	grep -q 'make check and make bench need cmocka .* and a C++ compiler' log || tail -n 5 log
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -n examples >log 2>&1 || tail -n 5 log
	grep -q 'examples/event_loop\.c' log || echo 'make examples compiles no examples'
	grep -oE 'examples/event_loop_[a-z]+\.c' log | sort -u
	grep -q 'examples  *all but event_loop_uv.*libuv1-dev.*event_loop_event.*libevent-dev' config.log || echo 'configure does not say what is left out'
}

# Warnings are for the build that is tested.
builds_without_openssl() {
	mkdir "$dir/plain" && cd "$dir/plain" || return
	"$source/configure" --quiet --without-openssl --disable-command --disable-static --disable-werror CFLAGS=-O0 >log 2>&1 || cat log
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -j2 lib/libleash.la >log 2>&1 || tail -n 5 log
	! readelf -dW lib/.libs/libleash.so | grep -E 'NEEDED.*lib(ssl|crypto)'
	! grep -E 'ssl|crypto' lib/leash.pc
	${CC:-cc} -std=c11 -I"$source/include" -o refused -x c - -Llib/.libs -lleash -Wl,-rpath,"$PWD/lib/.libs" <<-END || return
		#include <leash.h>
		#include <stdio.h>
		int main(void)
		{
			leash_client *client;
			leash_error err = {0};
			leash_status status = leash_open(&client, LEASH_OPTIONS(.uri = "rediss://nowhere"), &err);
			return printf("%s %s\\n", leash_status_name(status), err.text) < 0;
		}
	END
	./refused >log
	grep -q '^UNSUPPORTED .*rediss://nowhere:6379: .*--without-openssl' log || cat log
}

check 'to build and install needs nothing that only tests need' builds_without_what_tests_need
check 'without OpenSSL there is a library that refuses TLS' builds_without_openssl
check 'make install succeeds' installs
check 'the headers that are installed are the public ones' headers_are_the_public_ones
check 'the libraries that are installed are ours' libraries_are_ours
check 'the command, man pages, completion and documents that are installed are ours' files_are_those
check 'what the installed documents point to is installed' links_lead_somewhere
if [ -e "$command" ]; then
	check 'the installed command runs, also without the library' command_runs
	check 'the installed command has one copy of leash, and searches no folder of its own' command_has_one_library
else
	skip 'the installed command runs' 'built with --disable-command'
fi
check 'pkg-config names the flags of leash and of nothing else' flags_are_ours
if [ -e "$root$libdir/libleash.so" ]; then
	check 'a C program is built with the shared library and runs' shared_runs c
	check 'a C++ program is built with the shared library and runs' shared_runs c++
	check 'CMake finds the shared library by pkg-config, for C and for C++' builds_by_cmake
else
	skip 'programs are built with the shared library' 'built with --disable-shared'
fi
if [ -e "$root$libdir/libleash.a" ]; then
	check 'a C program is built with the static library and runs' static_runs c
	check 'a C++ program is built with the static library and runs' static_runs c++
else
	skip 'programs are built with the static library' 'built with --disable-static'
fi
check 'make uninstall leaves no file' goes_away

finish
