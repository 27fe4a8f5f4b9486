# The core over a scripted world (world.h): linked with the archive as it is, but for what lies below a call (wire.c)
# and the functions that --wrap names.

test_programs += tests/core/test_conditions tests/core/test_counts tests/core/test_gates tests/core/test_handoff
test_programs += tests/core/test_limits tests/core/test_memory tests/core/test_owner tests/core/test_quorum
test_programs += tests/core/test_readwrite tests/core/test_redisson tests/core/test_refusals tests/core/test_shared
test_programs += tests/core/test_single

world_sources = tests/core/scene.c tests/core/scene.h tests/core/wire.c tests/core/wire.h
world_sources += tests/core/world.c tests/core/world.h

world_ldflags = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime,--wrap=lsh_park,--wrap=lsh_random32,--wrap=lsh_thread_start
world_ldflags += -Wl,--wrap=pthread_cond_wait,--wrap=pthread_create,--wrap=pthread_join,--wrap=socket

tests_core_test_conditions_SOURCES = tests/core/test_conditions.c $(world_sources)
tests_core_test_conditions_LDFLAGS = $(world_ldflags)
tests_core_test_counts_SOURCES = tests/core/test_counts.c $(world_sources)
tests_core_test_counts_LDFLAGS = $(world_ldflags)
tests_core_test_gates_SOURCES = tests/core/test_gates.c $(world_sources)
tests_core_test_gates_LDFLAGS = $(world_ldflags)
tests_core_test_handoff_SOURCES = tests/core/test_handoff.c $(world_sources)
tests_core_test_handoff_LDFLAGS = $(world_ldflags)
tests_core_test_limits_SOURCES = tests/core/test_limits.c $(world_sources)
tests_core_test_limits_LDFLAGS = $(world_ldflags)
tests_core_test_memory_SOURCES = tests/core/test_memory.c $(world_sources)
tests_core_test_memory_LDFLAGS = $(world_ldflags)
tests_core_test_owner_SOURCES = tests/core/test_owner.c $(world_sources)
tests_core_test_owner_LDFLAGS = $(world_ldflags)
tests_core_test_quorum_SOURCES = tests/core/test_quorum.c $(world_sources)
tests_core_test_quorum_LDFLAGS = $(world_ldflags)
tests_core_test_readwrite_SOURCES = tests/core/test_readwrite.c $(world_sources)
tests_core_test_readwrite_LDFLAGS = $(world_ldflags)
tests_core_test_redisson_SOURCES = tests/core/test_redisson.c $(world_sources)
tests_core_test_redisson_LDFLAGS = $(world_ldflags)
tests_core_test_refusals_SOURCES = tests/core/test_refusals.c $(world_sources)
tests_core_test_refusals_LDFLAGS = $(world_ldflags)
tests_core_test_shared_SOURCES = tests/core/test_shared.c $(world_sources)
tests_core_test_shared_LDFLAGS = $(world_ldflags)
tests_core_test_single_SOURCES = tests/core/test_single.c $(world_sources)
tests_core_test_single_LDFLAGS = $(world_ldflags)

# The same with its mutations (lib/base/mutation.h): fault/test_defences.sh shows that the sentences notice them.
check_PROGRAMS += tests/core/mutated_gates tests/core/mutated_quorum
check_PROGRAMS += tests/core/mutated_readwrite tests/core/mutated_single
mutated_world_libs = tests/support/libsupport.la lib/libleash-mutations.la $(CMOCKA_LIBS)

tests_core_mutated_gates_SOURCES = tests/core/test_gates.c $(world_sources)
tests_core_mutated_gates_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
tests_core_mutated_gates_LDFLAGS = $(world_ldflags)
tests_core_mutated_gates_LDADD = $(mutated_world_libs)
tests_core_mutated_quorum_SOURCES = tests/core/test_quorum.c $(world_sources)
tests_core_mutated_quorum_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
tests_core_mutated_quorum_LDFLAGS = $(world_ldflags)
tests_core_mutated_quorum_LDADD = $(mutated_world_libs)
tests_core_mutated_readwrite_SOURCES = tests/core/test_readwrite.c $(world_sources)
tests_core_mutated_readwrite_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
tests_core_mutated_readwrite_LDFLAGS = $(world_ldflags)
tests_core_mutated_readwrite_LDADD = $(mutated_world_libs)
tests_core_mutated_single_SOURCES = tests/core/test_single.c $(world_sources)
tests_core_mutated_single_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
tests_core_mutated_single_LDFLAGS = $(world_ldflags)
tests_core_mutated_single_LDADD = $(mutated_world_libs)
