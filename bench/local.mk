# What leash claims about its speed, measured: see docs/performance.md. Built by make bench, and by make check so that
# it does not rot; run by hand.

EXTRA_DIST += bench/README.md

.PHONY: bench

# The server and the proxy are those of the tests.
if TESTS_ENABLED

bench_programs =
bench_programs += bench/kinds
bench_programs += bench/local
bench_programs += bench/loop
bench_programs += bench/memory
bench_programs += bench/pair
bench_programs += bench/scripts
bench_programs += bench/turns

check_PROGRAMS += $(bench_programs)
bench: $(bench_programs)

bench_kinds_SOURCES =
bench_kinds_SOURCES += bench/crew.c
bench_kinds_SOURCES += bench/crew.h
bench_kinds_SOURCES += bench/crowd.c
bench_kinds_SOURCES += bench/crowd.h
bench_kinds_SOURCES += bench/kinds.c
bench_kinds_SOURCES += bench/kinds.h
bench_kinds_SOURCES += bench/kinds_apart.c
bench_kinds_SOURCES += bench/kinds_share.c
bench_kinds_SOURCES += bench/program.c
bench_kinds_SOURCES += bench/program.h
bench_kinds_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_local_SOURCES =
bench_local_SOURCES += bench/local.c
bench_local_SOURCES += bench/program.c
bench_local_SOURCES += bench/program.h
bench_local_SOURCES += bench/team.c
bench_local_SOURCES += bench/team.h
bench_local_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_loop_SOURCES =
bench_loop_SOURCES += bench/async.c
bench_loop_SOURCES += bench/async.h
bench_loop_SOURCES += bench/loop.c
bench_loop_SOURCES += bench/pending.c
bench_loop_SOURCES += bench/pending.h
bench_loop_SOURCES += bench/program.c
bench_loop_SOURCES += bench/program.h
bench_loop_SOURCES += bench/side.c
bench_loop_SOURCES += bench/side.h
bench_loop_SOURCES += bench/team.c
bench_loop_SOURCES += bench/team.h
bench_loop_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_memory_SOURCES =
bench_memory_SOURCES += bench/memory.c
bench_memory_SOURCES += bench/program.c
bench_memory_SOURCES += bench/program.h
bench_memory_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_pair_SOURCES =
bench_pair_SOURCES += bench/pair.c
bench_pair_SOURCES += bench/program.c
bench_pair_SOURCES += bench/program.h
bench_pair_SOURCES += bench/side.c
bench_pair_SOURCES += bench/side.h
bench_pair_SOURCES += bench/team.c
bench_pair_SOURCES += bench/team.h
bench_pair_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_scripts_SOURCES =
bench_scripts_SOURCES += bench/program.c
bench_scripts_SOURCES += bench/program.h
bench_scripts_SOURCES += bench/scripts.c
bench_scripts_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

bench_turns_SOURCES =
bench_turns_SOURCES += bench/arrivals.c
bench_turns_SOURCES += bench/arrivals.h
bench_turns_SOURCES += bench/crowd.c
bench_turns_SOURCES += bench/crowd.h
bench_turns_SOURCES += bench/program.c
bench_turns_SOURCES += bench/program.h
bench_turns_SOURCES += bench/turns.c
bench_turns_LDADD = lib/libleash.la tests/support/libsupport.la $(HIREDIS_LIBS)

endif
