# The deterministic simulator: its servers, and tests that they do what real ones do.

test_programs += tests/sim/test_fuzz
test_programs += tests/sim/test_keyspace

sim_sources =
sim_sources += tests/sim/command_keys.c
sim_sources += tests/sim/command_keys.h
sim_sources += tests/sim/command_zsets.c
sim_sources += tests/sim/commands.c
sim_sources += tests/sim/commands.h
sim_sources += tests/sim/keyspace.c
sim_sources += tests/sim/keyspace.h
sim_sources += tests/sim/lua.c
sim_sources += tests/sim/lua.h
sim_sources += tests/sim/reply.c
sim_sources += tests/sim/reply.h
sim_sources += tests/sim/server.c
sim_sources += tests/sim/server.h

check_LTLIBRARIES += tests/sim/libsim.la
tests_sim_libsim_la_SOURCES = $(sim_sources)
tests_sim_libsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
tests_sim_libsim_la_LDFLAGS = $(SANITIZE_FLAGS)
tests_sim_libsim_la_LIBADD = $(LUA_LIBS) $(OPENSSL_LIBS) -lm

sim_libs = tests/sim/libsim.la $(LDADD)

tests_sim_test_fuzz_SOURCES = tests/sim/test_fuzz.c tests/sim/fuzz_steps.c tests/sim/fuzz_steps.h
tests_sim_test_fuzz_SOURCES += tests/sim/mirror.c tests/sim/mirror.h
tests_sim_test_fuzz_LDADD = $(sim_libs)
tests_sim_test_keyspace_SOURCES = tests/sim/test_keyspace.c $(scenes_sources)
tests_sim_test_keyspace_LDADD = $(sim_libs)

# The tests of the scripts once more: each step is a real server's and a simulated one's.
tests_sim_test_scripts_SOURCES = tests/sim/mirror.c tests/sim/mirror.h tests/sim/mirrored.c $(steps_sources)
tests_sim_test_scripts_SOURCES += tests/redis/test_gate.c
tests_sim_test_scripts_SOURCES += tests/redis/test_leader.c
tests_sim_test_scripts_SOURCES += tests/redis/test_model.c
tests_sim_test_scripts_SOURCES += tests/redis/test_rights.c
tests_sim_test_scripts_SOURCES += tests/redis/test_share.c
tests_sim_test_scripts_SOURCES += tests/redis/test_steps.c
tests_sim_test_scripts_LDADD = $(sim_libs)
tests_sim_test_scripts_LDFLAGS = $(AM_LDFLAGS)
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=redisCommand
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=redisCommandArgv
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=redisvCommand
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=server_start
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=server_stop

# The simulator: clients as they are, whose calls to the system --wrap brings to system.c.
world_of_sim =
world_of_sim += tests/sim/acts.c
world_of_sim += tests/sim/acts.h
world_of_sim += tests/sim/child.c
world_of_sim += tests/sim/child.h
world_of_sim += tests/sim/cluster.c
world_of_sim += tests/sim/cluster.h
world_of_sim += tests/sim/events.c
world_of_sim += tests/sim/faults.c
world_of_sim += tests/sim/faults.h
world_of_sim += tests/sim/fiber.c
world_of_sim += tests/sim/fiber.h
world_of_sim += tests/sim/gates.c
world_of_sim += tests/sim/gates.h
world_of_sim += tests/sim/judge.c
world_of_sim += tests/sim/judge.h
world_of_sim += tests/sim/judge_facts.c
world_of_sim += tests/sim/judge_parts.h
world_of_sim += tests/sim/judge_share.c
world_of_sim += tests/sim/net.c
world_of_sim += tests/sim/net.h
world_of_sim += tests/sim/people.c
world_of_sim += tests/sim/people.h
world_of_sim += tests/sim/run.c
world_of_sim += tests/sim/site.c
world_of_sim += tests/sim/site.h
world_of_sim += tests/sim/speaker.c
world_of_sim += tests/sim/speaker.h
world_of_sim += tests/sim/system.c
world_of_sim += tests/sim/world.h

sim_ldflags = $(AM_LDFLAGS)
sim_ldflags += -Wl,--wrap=clock_gettime,--wrap=randombytes_buf,--wrap=lsh_random32
sim_ldflags += -Wl,--wrap=lsh_self,--wrap=lsh_self_if_known
sim_ldflags += -Wl,--wrap=lsh_courier_in_callback,--wrap=lsh_thread_observe,--wrap=lsh_thread_start
sim_ldflags += -Wl,--wrap=pthread_join,--wrap=pthread_setname_np,--wrap=syscall
sim_ldflags += -Wl,--wrap=pthread_cond_wait,--wrap=pthread_cond_broadcast,--wrap=pthread_cond_signal
sim_ldflags += -Wl,--wrap=eventfd,--wrap=eventfd_read,--wrap=eventfd_write,--wrap=read,--wrap=write,--wrap=close
sim_ldflags += -Wl,--wrap=getpid,--wrap=gethostname
sim_ldflags += -Wl,--wrap=timerfd_create,--wrap=timerfd_settime,--wrap=poll,--wrap=ppoll
sim_ldflags += -Wl,--wrap=fcntl64,--wrap=socket,--wrap=connect,--wrap=setsockopt,--wrap=getsockopt,--wrap=getsockname
sim_ldflags += -Wl,--wrap=getpeername,--wrap=send,--wrap=recv,--wrap=shutdown

test_scripts += tests/sim/test_seeds.sh
check_PROGRAMS += tests/sim/run
tests_sim_run_SOURCES = $(world_of_sim)
tests_sim_run_LDFLAGS = $(sim_ldflags)
tests_sim_run_LDADD = $(sim_libs)

check_PROGRAMS += tests/sim/mutated
tests_sim_mutated_SOURCES = $(world_of_sim)
tests_sim_mutated_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
tests_sim_mutated_LDFLAGS = $(sim_ldflags)
tests_sim_mutated_LDADD = tests/sim/libsim.la tests/support/libsupport.la lib/libleash-mutations.la $(CMOCKA_LIBS)
