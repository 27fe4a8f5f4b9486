# The tests. Each is a cmocka program, or a shell script that prints TAP, and runs through build-aux/tap.sh.
#
# A program is linked with the inside of the library, unless it says otherwise: a test that meets what an application
# meets (all of tests/contract) says so below, and tests/support, which both kinds use, must do without internal names.
#
# Tests that measure time wait for those that load the machine, or the other way round, by a line
#   tests/contract/test_times.log: tests/contract/test_resources.log

EXTRA_DIST += build-aux/valkey.sh tests/fault/run.sh tests/fault/servers.txt tests/kinds/plain.lua tests/run.sh
EXTRA_DIST += tests/sim/seeds
EXTRA_DIST += tests/tools/acknowledged.txt tests/tools/bench.txt tests/tools/break.txt tests/tools/circles.txt
EXTRA_DIST += tests/tools/cli.txt tests/tools/config.txt tests/tools/doctor.txt tests/tools/end.txt
EXTRA_DIST += tests/tools/gates.txt tests/tools/hold.txt tests/tools/keep.txt tests/tools/kinds.txt
EXTRA_DIST += tests/tools/leader.txt tests/tools/list.txt tests/tools/log.txt tests/tools/passwords.txt tests/tools/permits.txt
EXTRA_DIST += tests/tools/run.txt tests/tools/screen.txt tests/tools/scripts.txt tests/tools/several.txt
EXTRA_DIST += tests/tools/service.txt tests/tools/shared.txt tests/tools/signals.txt tests/tools/status.txt tests/tools/terminal.txt
EXTRA_DIST += tests/tools/top.txt tests/tools/wait.txt

test_scripts =
test_scripts += tests/contract/test_everywhere.sh tests/contract/test_examples.sh tests/contract/test_wrong_locks.sh
test_scripts += tests/cpp/test_cpp.sh
test_scripts += tests/fault/test_defences.sh tests/fault/test_nemesis.sh tests/install/clean.sh tests/install/exports.sh tests/install/header.sh
test_scripts += tests/install/english.sh tests/install/installed.sh tests/install/layers.sh tests/install/man.sh
test_scripts += tests/install/operations.sh tests/install/rows.sh
test_scripts += tests/install/shape.sh tests/install/site.sh tests/install/static.sh tests/install/test_readme.sh tests/install/units.sh
test_scripts += tests/python/test_python.sh
test_scripts += tests/tools/test_completion.sh tests/tools/test_exporter.sh

# What they share.
EXTRA_DIST += $(test_scripts)
EXTRA_DIST += tests/cpp/condition.cpp tests/cpp/errors.cpp tests/cpp/gate.cpp tests/cpp/leader.cpp tests/cpp/lock.cpp
EXTRA_DIST += tests/cpp/readwrite.cpp tests/cpp/semaphore.cpp tests/cpp/sentence.hpp tests/cpp/types.cpp
EXTRA_DIST += tests/install/debian.sh tests/install/phrases tests/install/prose.py tests/install/proselint.json tests/install/shape.known
EXTRA_DIST += tests/install/site.py tests/install/words
EXTRA_DIST += tests/contract/metrics.py tests/support/tap.sh tests/tools/exporter.py

if TESTS_ENABLED

test_programs =
# It computes for a hundred seconds, on one processor: so it comes first.
test_programs += tests/sim/test_scripts
# These run the command, or have its doctor; some read its JSON. They take long, too, and only wait: so the
# others compute beside them.
if COMMAND_ENABLED
test_programs += tests/tools/test_jobs tests/tools/test_commands tests/tools/test_run_frozen
test_programs += tests/doctor/test_deployments tests/doctor/test_health tests/doctor/test_strangers
endif
test_programs += tests/contract/test_takeover tests/contract/test_cancel tests/contract/test_close tests/contract/test_fields
test_programs += tests/contract/test_fair tests/contract/test_forked tests/contract/test_gates tests/contract/test_input
test_programs += tests/contract/test_inspect tests/contract/test_introduce tests/contract/test_laws
test_programs += tests/contract/test_leader tests/contract/test_least tests/contract/test_manners tests/contract/test_metrics
test_programs += tests/contract/test_conditions tests/contract/test_multi tests/contract/test_nowait \
	tests/contract/test_one_write
test_programs += tests/contract/test_loop tests/contract/test_loop_conditions tests/contract/test_loop_kinds
test_programs += tests/contract/test_owner tests/contract/test_preloaded tests/contract/test_redisson
test_programs += tests/contract/test_resources tests/contract/test_scan tests/contract/test_scan_lies tests/contract/test_scope
test_programs += tests/contract/test_readwrite tests/contract/test_semaphore tests/contract/test_sharers
test_programs += tests/contract/test_times tests/contract/test_tls tests/contract/test_writers tests/fault/test_cluster
test_programs += tests/fault/test_cut tests/fault/test_failovers tests/fault/test_guard tests/fault/test_hostile_input
test_programs += tests/fault/test_nonsense tests/fault/test_others_bugs tests/fault/test_quorum tests/fault/test_many
test_programs += tests/fault/test_replicas tests/fault/test_secrets tests/fault/test_signals tests/fault/test_starved
test_programs += tests/fault/test_time tests/fault/test_tls_deployments tests/fault/test_unreachable
test_programs += tests/judge/test_register tests/judge/test_verdict tests/redis/test_cluster tests/redis/test_connector
test_programs += tests/redis/test_gate tests/redis/test_hello tests/redis/test_informant tests/redis/test_model
test_programs += tests/redis/test_leader tests/redis/test_pipeline tests/redis/test_pipeline_waits
test_programs += tests/redis/test_redisson tests/redis/test_resolve tests/redis/test_rights tests/redis/test_sentinel
test_programs += tests/redis/test_share tests/redis/test_sharded tests/redis/test_steps tests/redis/test_tls
test_programs += tests/redis/test_tls_bytes tests/tools/test_guard tests/tools/test_histogram tests/tools/test_notify tests/tools/test_ranking
test_programs += tests/unit/test_command tests/unit/test_courier tests/unit/test_descriptor tests/unit/test_error
test_programs += tests/unit/test_fault tests/unit/test_figure tests/unit/test_heap tests/unit/test_list tests/unit/test_lock_line
test_programs += tests/unit/test_map tests/unit/test_memory tests/unit/test_monitor tests/unit/test_pace
test_programs += tests/unit/test_proxy tests/unit/test_reply tests/unit/test_script tests/unit/test_support
test_programs += tests/unit/test_survey tests/unit/test_tally tests/unit/test_text tests/unit/test_thread
test_programs += tests/unit/test_token tests/unit/test_uri tests/unit/test_watchdog

tests_contract_test_takeover_LDADD = $(contract_libs)
tests_contract_test_cancel_LDADD = $(contract_libs)
tests_contract_test_close_LDADD = $(contract_libs)
tests_contract_test_fair_LDADD = $(contract_libs)
tests_contract_test_fields_LDADD = $(public_libs)
tests_contract_test_forked_LDADD = $(contract_libs)
tests_contract_test_gates_LDADD = $(contract_libs)
tests_contract_test_input_LDADD = $(contract_libs)
tests_contract_test_inspect_LDADD = $(contract_libs)
tests_contract_test_introduce_LDADD = $(contract_libs)
tests_contract_test_laws_LDADD = $(contract_libs)
tests_contract_test_least_LDADD = $(contract_libs)
tests_contract_test_manners_LDADD = $(contract_libs)
tests_contract_test_metrics_LDADD = $(contract_libs)
tests_contract_test_conditions_LDADD = $(contract_libs)
tests_contract_test_multi_LDADD = $(contract_libs)
tests_contract_test_nowait_LDADD = $(contract_libs)
tests_contract_test_one_write_LDADD = $(contract_libs)
tests_contract_test_loop_LDADD = $(contract_libs)
tests_contract_test_loop_conditions_LDADD = $(contract_libs)
tests_contract_test_loop_kinds_LDADD = $(contract_libs)
tests_contract_test_owner_LDADD = $(contract_libs)
tests_contract_test_preloaded_LDADD = $(public_libs)
tests_contract_test_leader_LDADD = $(contract_libs)
tests_contract_test_redisson_LDADD = $(contract_libs)
tests_contract_test_resources_LDADD = $(contract_libs)
tests_contract_test_readwrite_LDADD = $(contract_libs)
tests_contract_test_semaphore_LDADD = $(contract_libs)
tests_contract_test_scan_LDADD = $(contract_libs)
tests_contract_test_scan_lies_LDADD = $(public_libs)
tests_contract_test_scope_LDADD = $(contract_libs)
tests_contract_test_times_LDADD = $(contract_libs)
tests_contract_test_tls_LDADD = $(contract_libs)
tests_contract_test_sharers_LDADD = $(contract_libs)
tests_contract_test_writers_LDADD = $(contract_libs)
tests_doctor_test_deployments_LDADD = tools/doctor/libdoctor.la $(LDADD)
tests_doctor_test_health_LDADD = tools/doctor/libdoctor.la $(LDADD)
tests_doctor_test_strangers_LDADD = tools/doctor/libdoctor.la $(LDADD)
tests_fault_test_cluster_LDADD = $(public_libs)
tests_fault_test_cut_LDADD = $(public_libs)
tests_fault_test_guard_LDADD = $(public_libs)
tests_fault_test_nonsense_LDADD = $(public_libs)
tests_fault_test_others_bugs_LDADD = $(public_libs)
tests_fault_test_quorum_LDADD = $(public_libs)
tests_fault_test_many_LDADD = $(public_libs)
tests_fault_test_replicas_LDADD = $(public_libs)
tests_fault_test_secrets_LDADD = $(public_libs)
tests_fault_test_signals_LDADD = $(public_libs)
tests_fault_test_starved_LDADD = $(public_libs)
tests_fault_test_time_LDADD = $(public_libs)
tests_fault_test_tls_deployments_LDADD = $(public_libs)
tests_fault_test_unreachable_LDADD = $(public_libs)
tests_tools_test_commands_LDADD = $(public_libs) $(JANSSON_LIBS)
tests_tools_test_jobs_LDADD = $(public_libs) $(JANSSON_LIBS)
tests_tools_test_guard_LDADD = $(trial_libs)
tests_tools_test_histogram_LDADD = $(trial_libs)
tests_tools_test_ranking_LDADD = $(trial_libs)
tests_tools_test_run_frozen_LDADD = $(public_libs)

tests_tools_test_commands_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DSOURCE_FOLDER='"$(abs_top_srcdir)"'
tests_tools_test_jobs_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -DSOURCE_FOLDER='"$(abs_top_srcdir)"'

# What several of them share, and nobody else.
refused_sources = tests/fault/refused.c tests/fault/refused.h
findings_sources = tests/doctor/findings.c tests/doctor/findings.h
scenes_sources = tests/redis/scenes.c tests/redis/scenes.h
connects_sources = tests/redis/connects.c tests/redis/connects.h $(scenes_sources)
fakes_sources = tests/redis/fakes.c tests/redis/fakes.h $(scenes_sources)

caller_sources = tests/redis/caller.c tests/redis/caller.h
steps_sources = tests/redis/steps.c tests/redis/steps.h $(scenes_sources)
play_sources =
play_sources += tests/tools/play.c tests/tools/play.h tests/tools/play_block.c tests/tools/play_mailbox.c
play_sources += tests/tools/play_parts.h
play_sources += tests/tools/play_people.c tests/tools/play_run.c tests/tools/play_said.c tests/tools/play_servers.c
play_sources += tests/tools/play_state.c tests/tools/play_system.c tests/tools/play_variable.c
play_sources += tests/tools/play_window.c tests/tools/play_words.c

# What those write with who are judged.
history_sources =
history_sources += tests/judge/history.c tests/judge/history.h tests/judge/register.c tests/judge/register.h

# The judge of histories believes nothing of leash, and has nothing of it.
judge_sources =
judge_sources += tests/judge/account.c tests/judge/account.h tests/judge/gates.c tests/judge/leaders.c
judge_sources += tests/judge/scribe.c tests/judge/verdict.c tests/judge/verdict.h

# The nemesis, and those whom it runs under faults. The contenders know what any application knows of leash; the nemesis, nothing.
check_PROGRAMS += tests/fault/contender tests/fault/nemesis
tests_fault_contender_SOURCES = tests/fault/contender.c tests/fault/contender_gates.c tests/fault/contender_loop.c \
	tests/fault/contender_turn.c
tests_fault_contender_SOURCES += tests/fault/contender.h $(history_sources)
tests_fault_contender_LDADD = tests/support/libsupport.la lib/libleash.la $(HIREDIS_LIBS)
failover_sources = $(history_sources)
failover_sources += tests/fault/faults.c tests/fault/faults.h tests/fault/faults_cluster.c tests/fault/faults_sentinel.c
failover_sources += tests/fault/nemesis.h tests/fault/nemesis_crew.c tests/fault/nemesis_plan.c
failover_sources += tests/fault/nemesis_watch.c
tests_fault_nemesis_SOURCES = $(failover_sources) $(judge_sources)
tests_fault_nemesis_SOURCES += tests/fault/faults_quorum.c tests/fault/faults_single.c tests/fault/nemesis.c
tests_fault_nemesis_LDADD = tests/support/libsupport.la $(HIREDIS_LIBS)
tests_fault_test_failovers_SOURCES = tests/fault/test_failovers.c $(failover_sources)
tests_fault_test_failovers_LDADD = tests/support/libsupport.la $(HIREDIS_LIBS) $(CMOCKA_LIBS)

trial_libs = tests/support/libsupport.la $(CMOCKA_LIBS)
tests_judge_test_register_SOURCES = tests/judge/test_register.c $(history_sources)
tests_judge_test_register_LDADD = $(trial_libs)
tests_judge_test_verdict_SOURCES = tests/judge/test_verdict.c $(judge_sources) $(history_sources)
tests_judge_test_verdict_LDADD = $(trial_libs)

# What the programs of the contract have in common; others may have laws, too.
contract_sources =
contract_sources += tests/contract/calls.c tests/contract/laws.c tests/contract/laws.h tests/contract/interface.c
contract_sources += tests/contract/interface.h tests/contract/loop.c tests/contract/loop.h

check_LTLIBRARIES += tests/contract/libcontract.la
tests_contract_libcontract_la_SOURCES = $(contract_sources)
tests_contract_libcontract_la_LDFLAGS = $(SANITIZE_FLAGS)

tests_doctor_test_deployments_SOURCES = tests/doctor/test_deployments.c $(findings_sources)
tests_doctor_test_health_SOURCES = tests/doctor/test_health.c $(findings_sources)
tests_doctor_test_strangers_SOURCES = tests/doctor/test_strangers.c $(findings_sources)

tests_fault_test_hostile_input_SOURCES = tests/fault/test_hostile_input.c $(refused_sources)
tests_fault_test_nonsense_SOURCES = tests/fault/test_nonsense.c $(refused_sources)

tests_fault_test_replicas_SOURCES = tests/fault/test_replicas.c $(refused_sources)
tests_fault_test_secrets_SOURCES = tests/fault/test_secrets.c $(refused_sources)
tests_fault_test_tls_deployments_SOURCES = tests/fault/test_tls_deployments.c $(refused_sources)
tests_fault_test_unreachable_SOURCES = tests/fault/test_unreachable.c $(refused_sources)

tests_redis_test_cluster_SOURCES = tests/redis/test_cluster.c $(fakes_sources)
tests_redis_test_connector_SOURCES = tests/redis/test_connector.c $(connects_sources)
tests_redis_test_gate_SOURCES = tests/redis/test_gate.c $(steps_sources)
tests_redis_test_hello_SOURCES = tests/redis/test_hello.c $(connects_sources)
tests_redis_test_informant_SOURCES = tests/redis/test_informant.c $(fakes_sources)
tests_redis_test_model_SOURCES = tests/redis/test_model.c $(steps_sources)
tests_redis_test_pipeline_SOURCES = tests/redis/test_pipeline.c $(caller_sources) $(scenes_sources)
tests_redis_test_pipeline_waits_SOURCES = tests/redis/test_pipeline_waits.c $(caller_sources) $(scenes_sources)
tests_redis_test_resolve_SOURCES = tests/redis/test_resolve.c $(connects_sources)
tests_redis_test_rights_SOURCES = tests/redis/test_rights.c $(steps_sources)
tests_redis_test_sentinel_SOURCES = tests/redis/test_sentinel.c $(fakes_sources)
tests_redis_test_leader_SOURCES = tests/redis/test_leader.c $(steps_sources)
tests_redis_test_redisson_SOURCES = tests/redis/test_redisson.c $(steps_sources)
tests_redis_test_share_SOURCES = tests/redis/test_share.c $(steps_sources)
tests_redis_test_sharded_SOURCES = tests/redis/test_sharded.c $(fakes_sources)
tests_redis_test_steps_SOURCES = tests/redis/test_steps.c $(steps_sources)
tests_redis_test_tls_SOURCES = tests/redis/test_tls.c $(connects_sources)
tests_redis_test_tls_bytes_SOURCES = tests/redis/test_tls_bytes.c $(scenes_sources)
tests_redis_test_tls_bytes_LDADD = $(LDADD) $(OPENSSL_LIBS)

tests_tools_test_commands_SOURCES = tests/tools/test_commands.c $(play_sources)
tests_tools_test_jobs_SOURCES = tests/tools/test_jobs.c $(play_sources)
tests_tools_test_guard_SOURCES = tests/tools/test_guard.c
tests_tools_test_guard_SOURCES += tools/clock.c tools/clock.h tools/guard.c tools/guard.h tools/process.c
tests_tools_test_guard_SOURCES += tools/process.h tools/process_tree.c tools/process_tree.h
tests_tools_test_histogram_SOURCES = tests/tools/test_histogram.c tools/histogram.c tools/histogram.h
tests_tools_test_notify_SOURCES = tests/tools/test_notify.c tools/clock.c tools/clock.h tools/notify.c tools/notify.h
tests_tools_test_notify_SOURCES += tools/thread.c tools/thread.h
tests_tools_test_ranking_SOURCES = tests/tools/test_ranking.c tools/ranking.c tools/ranking.h

# The library with its mutations (lib/base/mutation.h), which nothing else has.
check_LTLIBRARIES += lib/libleash-mutations.la
lib_libleash_mutations_la_SOURCES = $(leash_sources) lib/base/mutation.c tests/fault/mutated.c
nodist_lib_libleash_mutations_la_SOURCES = lib/lua/scripts.c
lib_libleash_mutations_la_CPPFLAGS = $(AM_CPPFLAGS) -DLSH_MUTATIONS
lib_libleash_mutations_la_LDFLAGS = $(SANITIZE_FLAGS)
lib_libleash_mutations_la_LIBADD = $(HIREDIS_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS)

# The same in place of the libleash.so that a test program was linked with, which is found first (LD_LIBRARY_PATH). Shared for
# its -rpath, which is not used otherwise: it is not installed.
check_LTLIBRARIES += tests/fault/mutated/libleash.la
tests_fault_mutated_libleash_la_SOURCES = tests/fault/filter.c
tests_fault_mutated_libleash_la_LIBADD = lib/libleash-mutations.la $(CMOCKA_LIBS)
tests_fault_mutated_libleash_la_LDFLAGS = -shared -rpath /nowhere -version-info $(libleash_version_info) \
	-Wl,--version-script=$(srcdir)/lib/libleash.map -Wl,-z,nodelete -pthread $(SANITIZE_FLAGS)
EXTRA_tests_fault_mutated_libleash_la_DEPENDENCIES = $(srcdir)/lib/libleash.map

include tests/core/local.mk
include tests/kinds/local.mk
include tests/redisson/local.mk
include tests/sim/local.mk

check_PROGRAMS += $(test_programs)
TESTS += $(test_programs) $(test_scripts)

support_sources = tests/support/actor.c tests/support/actor.h tests/support/asleep.c tests/support/asleep.h
support_sources += tests/support/await.c tests/support/await.h tests/support/certs.c tests/support/certs.h
support_sources += tests/support/child.c tests/support/child.h tests/support/clock_shim.h tests/support/cluster.c
support_sources += tests/support/cluster.h tests/support/counted.c tests/support/counted.h tests/support/deployment.c
support_sources += tests/support/deployment.h tests/support/descriptors.c tests/support/descriptors.h
support_sources += tests/support/fake.c tests/support/fake.h tests/support/frame.c tests/support/frame.h
support_sources += tests/support/judge.c tests/support/judge.h tests/support/kept.c tests/support/kept.h
support_sources += tests/support/knob.h tests/support/leashed.c tests/support/leashed.h tests/support/least.c
support_sources += tests/support/least.h tests/support/monitor.c tests/support/monitor.h tests/support/node.c
support_sources += tests/support/node.h tests/support/one_server.c tests/support/one_server.h tests/support/place.c
support_sources += tests/support/place.h tests/support/proxy.c tests/support/proxy.h tests/support/proxy_link.c
support_sources += tests/support/proxy_link.h tests/support/quorum.c tests/support/quorum.h tests/support/random.h
support_sources += tests/support/resident.h tests/support/sanitizer.h tests/support/sentinel_set.c
support_sources += tests/support/sentinel_set.h tests/support/server.c tests/support/server.h tests/support/socket.c
support_sources += tests/support/socket.h tests/support/sweep.c tests/support/sweep.h tests/support/test.c
support_sources += tests/support/test.h tests/support/tool.c tests/support/tool.h tests/support/trouble.c
support_sources += tests/support/trouble.h

check_LTLIBRARIES += tests/support/libsupport.la
tests_support_libsupport_la_SOURCES = $(support_sources)
tests_support_libsupport_la_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DBUILD_FOLDER='"$(abs_top_builddir)"' \
	-DCLOCK_SHIM='"$(abs_top_builddir)/tests/support/.libs/clock_shim.so"'
tests_support_libsupport_la_LDFLAGS = $(SANITIZE_FLAGS)
tests_support_libsupport_la_LIBADD = $(OPENSSL_LIBS)

# Preloaded into servers, which have no sanitizer.
check_LTLIBRARIES += tests/support/clock_shim.la
tests_support_clock_shim_la_SOURCES = tests/support/clock_shim.c tests/support/clock_shim.h
tests_support_clock_shim_la_CFLAGS = -std=gnu11 $(WARN_CFLAGS)
tests_support_clock_shim_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere $(HARDEN_LDFLAGS)

AM_CPPFLAGS += $(CMOCKA_CFLAGS)
LDADD = tests/support/libsupport.la lib/libleash-internal.la $(CMOCKA_LIBS)
contract_libs = tests/contract/libcontract.la $(public_libs)
public_libs = tests/support/libsupport.la lib/libleash.la $(CMOCKA_LIBS) $(HIREDIS_LIBS)

else

bench: check-local

check-local:
	@echo 'make check and make bench need $(TESTS_LACK); install that, and configure again' >&2
	@exit 1

endif

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = $(SHELL) $(top_srcdir)/build-aux/tap.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(LOG_COMPILER)

# Most of the contract, four times.
tests/contract/test_everywhere.log: export LEASH_TEST_LIMIT = 7200
# Each defence is taken out, and worlds are simulated until one notices.
tests/fault/test_defences.log: export LEASH_TEST_LIMIT = 7200

# What a test may want to know of the build. Settings of the caller come last, so they win.
AM_TESTS_ENVIRONMENT = \
	LEASH_SRCDIR='$(abs_top_srcdir)'; export LEASH_SRCDIR; \
	LEASH_BUILDDIR='$(abs_top_builddir)'; export LEASH_BUILDDIR; \
	LEASH_SANITIZE='$(SANITIZE_FLAGS)'; export LEASH_SANITIZE; \
	CC='$(CC)'; export CC; \
	CXX='$(CXX)'; export CXX; \
	NM='$(NM)'; export NM; \
	PKG_CONFIG='$(PKG_CONFIG)'; export PKG_CONFIG; \
	ASAN_OPTIONS="detect_stack_use_after_return=1:$$ASAN_OPTIONS"; export ASAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS"; export UBSAN_OPTIONS; \
	TSAN_OPTIONS="die_after_fork=0:second_deadlock_stack=1:$$TSAN_OPTIONS"; export TSAN_OPTIONS;
