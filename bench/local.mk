# What the README claims, measured. `make check` builds it, so that it does not rot, and it is run by hand. It starts its
# servers and proxies as the tests do, by tests/support.

bench_programs =
bench_programs += bench/pair

# What all of them share.
bench_sources =
bench_sources += bench/side.c
bench_sources += bench/side.h
bench_sources += bench/team.c
bench_sources += bench/team.h

bench_libs = tests/support/libsupport.la lib/libleash.la $(HIREDIS_LIBS)

bench_pair_SOURCES = bench/pair.c $(bench_sources)
bench_pair_LDADD = $(bench_libs)

if TESTS_ENABLED
check_PROGRAMS += $(bench_programs)
endif
