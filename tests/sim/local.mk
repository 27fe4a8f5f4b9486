# The deterministic simulator: its servers, and tests that they do what real ones do.

test_programs += tests/sim/test_fuzz tests/sim/test_keyspace

check_LTLIBRARIES += tests/sim/libsim.la
tests_sim_libsim_la_SOURCES = tests/sim/commands.c tests/sim/commands.h tests/sim/keyspace.c tests/sim/keyspace.h
tests_sim_libsim_la_SOURCES += tests/sim/lua.c tests/sim/lua.h tests/sim/reply.c
tests_sim_libsim_la_SOURCES += tests/sim/reply.h tests/sim/server.c tests/sim/server.h
tests_sim_libsim_la_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
tests_sim_libsim_la_LDFLAGS = $(SANITIZE_FLAGS)
tests_sim_libsim_la_LIBADD = $(LUA_LIBS) $(OPENSSL_LIBS) -lm

sim_libs = tests/sim/libsim.la $(LDADD)

tests_sim_test_fuzz_SOURCES = tests/sim/test_fuzz.c tests/sim/mirror.c tests/sim/mirror.h
tests_sim_test_fuzz_LDADD = $(sim_libs)
tests_sim_test_keyspace_SOURCES = tests/sim/test_keyspace.c $(scenes_sources)
tests_sim_test_keyspace_LDADD = $(sim_libs)

# The tests of the scripts once more: each step is a real server's and a simulated one's.
tests_sim_test_scripts_SOURCES = tests/sim/mirror.c tests/sim/mirror.h tests/sim/mirrored.c $(steps_sources)
tests_sim_test_scripts_SOURCES += tests/redis/test_gate.c tests/redis/test_leader.c tests/redis/test_model.c
tests_sim_test_scripts_SOURCES += tests/redis/test_rights.c tests/redis/test_share.c
tests_sim_test_scripts_SOURCES += tests/redis/test_steps.c
tests_sim_test_scripts_LDADD = $(sim_libs)
tests_sim_test_scripts_LDFLAGS = $(AM_LDFLAGS)
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=redisCommand,--wrap=redisCommandArgv,--wrap=redisvCommand
tests_sim_test_scripts_LDFLAGS += -Wl,--wrap=server_start,--wrap=server_stop

# The simulator: clients as they are, whose calls to the system --wrap brings to system.c.
world_of_sim = tests/sim/acts.c tests/sim/cluster.c tests/sim/events.c tests/sim/faults.c tests/sim/faults.h
world_of_sim += tests/sim/fiber.c tests/sim/fiber.h tests/sim/gates.c tests/sim/judge.c tests/sim/judge.h
world_of_sim += tests/sim/judge_facts.c tests/sim/judge_parts.h tests/sim/judge_share.c tests/sim/meddle.c
world_of_sim += tests/sim/net.c tests/sim/net.h tests/sim/people.c tests/sim/people.h tests/sim/run.c tests/sim/site.c
world_of_sim += tests/sim/site.h tests/sim/speaker.c tests/sim/system.c tests/sim/world.h

sim_ldflags = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime,--wrap=randombytes_buf,--wrap=lsh_random32,--wrap=lsh_self
sim_ldflags += -Wl,--wrap=lsh_self_if_known,--wrap=lsh_courier_in_callback,--wrap=lsh_thread_observe
sim_ldflags += -Wl,--wrap=lsh_thread_start,--wrap=pthread_join,--wrap=pthread_setname_np,--wrap=syscall
sim_ldflags += -Wl,--wrap=pthread_cond_wait,--wrap=pthread_cond_broadcast,--wrap=pthread_cond_signal,--wrap=eventfd
sim_ldflags += -Wl,--wrap=eventfd_read,--wrap=eventfd_write,--wrap=read,--wrap=write,--wrap=close,--wrap=getpid
sim_ldflags += -Wl,--wrap=gethostname,--wrap=timerfd_create,--wrap=timerfd_settime,--wrap=poll,--wrap=ppoll
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
