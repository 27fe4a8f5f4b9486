#!/bin/sh
# leash.hpp: in C++17, 20 and 23 it compiles without a warning, by each compiler that is here, and its types are what
# they claim; in C++17 so does each of its parts alone, and the programs here do what their sentences say.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror'

# shellcheck disable=SC2086 # words: a compiler may carry arguments
compile() { # STANDARD ARGUMENT...
	standard=$1
	shift
	$compiler "-std=c++$standard" $warnings -I"$source/include" "$@" || echo "$compiler: status $?"
}

types_hold() { # STANDARD
	for compiler in "${CXX:-c++}" g++ clang++; do
		command -v "${compiler%% *}" >/dev/null && printf '%s\n' "$compiler"
	done | sort -u >"$dir/compilers"
	[ -s "$dir/compilers" ] || echo 'no compiler'
	while read -r compiler; do
		compile "$1" -fsyntax-only "$source/tests/cpp/types.cpp" </dev/null
	done <"$dir/compilers"
}

compiles_alone() { # HEADER
	echo "#include <$1>" >"$dir/alone.cpp"
	compile 17 -fsyntax-only "$dir/alone.cpp"
}

# Each field of a struct of options is a call of the class of that name, without `_ms`.
fields_are_calls() { # STRUCT HEADER CLASS HEADER
	sed -n "/^typedef struct $1 {/,/^} $1;/s/^	[a-z0-9_ ]*[ *]\([a-z_]*\);.*/\1/p" "$source/include/leash/$2" |
		sed -e '/^size$/d' -e '/_arg$/d' -e 's/_ms$//' >"$dir/fields"
	[ -s "$dir/fields" ] || echo "no fields of $1"
	while read -r field; do
		grep -q "$3 &$field(" "$source/include/leash/$4" || echo "a $3 has no $field()"
	done <"$dir/fields"
}

builds() { # PROGRAM
	# shellcheck disable=SC2086 # flags
	compile 17 ${LEASH_SANITIZE-} -pthread -o "$dir/$1" "$source/tests/cpp/$1.cpp" \
		-L"$build/lib/.libs" -Wl,-rpath,"$build/lib/.libs" -lleash
}

for standard in 17 20 2b; do # 2b: what the compilers of Debian 12 call 23
	check "the types are what they claim in C++$standard" types_hold $standard
done

compiler=${CXX:-c++}
for header in $(cd "$source/include" && ls leash/*.hpp); do
	check "$header compiles alone" compiles_alone "$header"
done

check 'how to open can be said in full' fields_are_calls leash_options client.h client_options client.hpp
check 'how a lock behaves, likewise' fields_are_calls leash_lock_options lock_options.h lock_options lock_options.hpp
check 'how to acquire, likewise' fields_are_calls leash_acquire lock.h acquire_options lock_options.hpp
check 'how a condition waits, likewise' fields_are_calls leash_condition_options condition.h condition_options \
	condition.hpp

start_redis
export LEASH_URI="unix://$dir/redis.sock?timeout=10000" # the machine may stand still for a second
# as a program that is not leash might
redis-cli -s "$dir/redis.sock" HSET 'leash:{endless}' 00000000-0000-4000-8000-000000000000:1 1 >/dev/null
for program in condition errors gate leader lock readwrite semaphore; do
	check "$program.cpp compiles without a warning" builds $program
	for sentence in $("$dir/$program" --list); do
		check "$program: $(echo "$sentence" | tr _ ' ')" "$dir/$program" "$sentence"
	done
done
finish
