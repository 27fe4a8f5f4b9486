#!/bin/sh
# The headers are for every program: each compiles alone, without a warning, in C11 and C++20, by each compiler that is here
# (leash.hpp: see tests/cpp/test_cpp.sh); the option macros do the same in both languages; and structs are laid out so that
# they can grow.
# shellcheck source=tests/support/tap.sh
. "${LEASH_SRCDIR:-$(dirname "$0")/../..}/tests/support/tap.sh"

here() { # COMPILER...: those that are here, each once
	for compiler; do
		! command -v "${compiler%% *}" >/dev/null || printf '%s\n' "$compiler"
	done | sort -u
}
here "${CC:-cc}" gcc clang >"$dir/c.compilers"
here "${CXX:-c++}" g++ clang++ >"$dir/cpp.compilers"

warnings='-Wall -Wextra -pedantic -Wshadow -Wconversion -Wundef -Werror'

by_all() { # LANGUAGE COMMAND...: the command with each $compiler, whose name stands before all that it says
	list=$dir/$1.compilers
	case $1 in
	c) options='-std=c11 -x c -Wstrict-prototypes -Wmissing-prototypes' ;;
	cpp) options='-std=c++20 -x c++' ;;
	esac
	shift
	[ -s "$list" ] || echo 'no compiler'
	while read -r compiler; do
		"$@" </dev/null 2>&1 | sed "s|^|$compiler: |"
	done <"$list"
}
# shellcheck disable=SC2086 # words: a compiler may carry arguments
compile() { # ARGUMENT...
	$compiler $options $warnings -I"$source/include" "$@" || echo "status $?"
}

# ---- alone ----

compiles_alone() { # LANGUAGE HEADER
	echo "#include <$2>" >"$dir/alone.c"
	by_all "$1" compile -fsyntax-only "$dir/alone.c"
}

# ---- layout and values ----

cat >"$dir/structs.c" <<'END'
#include <leash.h>

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#define HOLDS(what) static_assert(what, #what)
#else
#define HOLDS(what) _Static_assert(what, #what)
#endif

/* A struct with a hole at its end could not grow: the new field would lie in it, and the size would not tell. */
#define CAN_GROW(type, last)                                                        \
	HOLDS(offsetof(type, size) == 0);                                           \
	HOLDS(offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type))

CAN_GROW(leash_options, open_cancel);
CAN_GROW(leash_lock_options, group);
CAN_GROW(leash_acquire, cancel);
CAN_GROW(leash_event, permit);
CAN_GROW(leash_lock_info, limit);
CAN_GROW(leash_waiter_info, limit);
CAN_GROW(leash_stats, reserved_);
CAN_GROW(leash_hold_info, remaining_ms);
CAN_GROW(leash_leader, value);
CAN_GROW(leash_times, max_ns);

HOLDS(sizeof(leash_error) == 256 && offsetof(leash_error, status) == 0 && offsetof(leash_error, sys_errno) == 4);
HOLDS(offsetof(leash_error, text) == 8 && sizeof(((leash_error *)0)->text) == 248);

#define SAME(seen, type, ...) same(#type "(" #__VA_ARGS__ ")", seen, type(__VA_ARGS__), sizeof(*type()))

static int failed;

static void
same(const char *what, const void *wanted, const void *made, size_t size)
{
	if (memcmp(wanted, made, size) != 0) {
		printf("%s is not what it says\n", what);
		failed = 1;
	}
}

int
main(void)
{
	static leash_options options;
	static leash_lock_options lock_options;
	static leash_acquire how;
	static const char uri[] = "redis://cache";

	options.size = sizeof(options);
	lock_options.size = sizeof(lock_options);
	how.size = sizeof(how);
	SAME(&options, LEASH_OPTIONS, );
	SAME(&lock_options, LEASH_LOCK_OPTIONS, );
	SAME(&how, LEASH_ACQUIRE, );

	options.uri = uri;
	lock_options.no_renew = true;
	how.lease_ms = 2000;
	SAME(&options, LEASH_OPTIONS, .uri = uri);
	SAME(&lock_options, LEASH_LOCK_OPTIONS, .no_renew = true);
	SAME(&how, LEASH_ACQUIRE, .lease_ms = 2000);

	options.lease_ms = 10000;
	options.log_arg = &failed;
	lock_options.alive_ms = 100;
	how.wait_ms = LEASH_FOREVER;
	SAME(&options, LEASH_OPTIONS, .uri = uri, .lease_ms = 10000, .log_arg = &failed);
	SAME(&lock_options, LEASH_LOCK_OPTIONS, .alive_ms = 100, .no_renew = true);
	SAME(&how, LEASH_ACQUIRE, .wait_ms = LEASH_FOREVER, .lease_ms = 2000);
	leash_options kept = *LEASH_OPTIONS(.uri = uri, .lease_ms = 10000, .log_arg = &failed);
	same("a copy of options", &options, &kept, sizeof(kept));
	return failed;
}
END

run_structs() {
	rm -f "$dir/structs"
	compile -O2 -o "$dir/structs" "$dir/structs.c"
	"$dir/structs" || echo "status $?"
}
structs_hold() { # LANGUAGE
	by_all "$1" run_structs
}

# ---- results that must be looked at ----

# -S, because gcc finds unused results after it has checked the syntax.
drop() { # CALL
	cat >"$dir/drop.c" <<-END
		#include <leash.h>
		void drop(leash_client **client, leash_lock **lock);
		void drop(leash_client **client, leash_lock **lock) { (void)client, (void)lock; $1; }
	END
	compile -S -o /dev/null "$dir/drop.c"
}
drop_is_told() { # CALL
	drop "$1" >"$dir/dropped" 2>&1
	grep -q 'unused-result' "$dir/dropped" || { echo "said nothing of $1" && cat "$dir/dropped"; }
}
drops_are_told() { # LANGUAGE
	by_all "$1" drop_is_told 'leash_open(client, NULL, NULL)'
	by_all "$1" drop_is_told 'leash_lock_new(lock, *client, "orders", NULL, NULL)'
	by_all "$1" drop_is_told 'leash_lock_acquire(*lock, 0, NULL)'
	by_all "$1" drop_is_told 'leash_lock_acquire_with(*lock, NULL, NULL)'
	by_all "$1" drop 'leash_lock_release(*lock, NULL)'
}

# ---- blocks that hold a lock ----

cat >"$dir/scopes.c" <<'END'
#include <leash.h>

int scopes(leash_lock *lock, leash_error *err);

int
scopes(leash_lock *lock, leash_error *err)
{
	for (int i = 0; i < 3; i++)
		if (i > 0)
			LEASH_SCOPED(lock, i, err) LEASH_SCOPED(lock, 0, NULL) {
				LEASH_SCOPED(i == 1 ? lock : lock, i == 1 ? 0 : LEASH_FOREVER, err)
					if (leash_lock_depth(lock) == 3)
						break;
				if (leash_lock_depth(lock) > 2)
					return 1;
			}
		else
			goto out;
out:
	return 0;
}
END

for language in c cpp; do
	[ $language = c ] && name=C11 || name=C++20
	echo "# $name by $(tr '\n' ' ' <"$dir/$language.compilers")"
	for header in leash.h $(cd "$source/include" && ls leash/*.h); do
		check "$header compiles alone as $name" compiles_alone $language "$header"
	done
	check "structs can grow, and the option macros set what they name and nothing else, in $name" structs_hold $language
	check "in $name a block that holds a lock compiles without a warning, also in another one" \
		by_all $language compile -O2 -S -o /dev/null "$dir/scopes.c"
	check "in $name a dropped result of open, new and acquire is a warning, and one of release is not" drops_are_told $language
done

finish
