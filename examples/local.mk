# One idea per file, each a program that links the library as any other program does, and is not installed. They are
# built by make examples, and by make check. Each has two lines here, one in either list. Those that talk to Redis
# themselves, by redis.h, need $(HIREDIS_LIBS) as well.

example_libs = lib/libleash.la

example_programs =
example_programs += examples/all_done
example_programs += examples/both_accounts
example_programs += examples/bounded_queue
example_programs += examples/by_hand
example_programs += examples/fencing
example_programs += examples/event_loop
example_programs += examples/few_at_once
example_programs += examples/first_lock
example_programs += examples/hand_over
example_programs += examples/in_step
example_programs += examples/interrupt
example_programs += examples/long_job
example_programs += examples/lost_lease
example_programs += examples/many_readers
example_programs += examples/metrics
example_programs += examples/nested
example_programs += examples/one_leads
example_programs += examples/scoped
example_programs += examples/transfer
example_programs += examples/try_or_skip
example_programs += examples/worker_pool

# Each stands on a library that nothing else needs, and is left out where that is missing: configure says so.
if LIBUV_FOUND
example_programs += examples/event_loop_uv
endif
if LIBEVENT_FOUND
example_programs += examples/event_loop_event
endif

# Locks that are not right, and what shows it: each beside leash, in one contest.
example_programs += examples/wrong/compare_then_delete
example_programs += examples/wrong/getset
example_programs += examples/wrong/incr
example_programs += examples/wrong/no_token
example_programs += examples/wrong/setnx_expire

check_PROGRAMS += $(example_programs)

.PHONY: examples
examples: $(example_programs)

examples_all_done_LDADD = $(example_libs)
examples_both_accounts_LDADD = $(example_libs)
examples_bounded_queue_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_by_hand_LDADD = $(example_libs)
examples_fencing_LDADD = $(example_libs)
examples_event_loop_LDADD = $(example_libs)
examples_few_at_once_LDADD = $(example_libs)
examples_first_lock_LDADD = $(example_libs)
examples_hand_over_LDADD = $(example_libs)
examples_in_step_LDADD = $(example_libs)
examples_interrupt_LDADD = $(example_libs)
examples_long_job_LDADD = $(example_libs)
examples_lost_lease_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_many_readers_LDADD = $(example_libs)
examples_metrics_LDADD = $(example_libs)
examples_nested_LDADD = $(example_libs)
examples_one_leads_LDADD = $(example_libs)
examples_scoped_LDADD = $(example_libs)
examples_transfer_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_try_or_skip_LDADD = $(example_libs)
examples_worker_pool_LDADD = $(example_libs)

examples_event_loop_uv_CPPFLAGS = $(AM_CPPFLAGS) $(LIBUV_CFLAGS)
examples_event_loop_uv_LDADD = $(example_libs) $(LIBUV_LIBS)
examples_event_loop_event_CPPFLAGS = $(AM_CPPFLAGS) $(LIBEVENT_CFLAGS)
examples_event_loop_event_LDADD = $(example_libs) $(LIBEVENT_LIBS)

contest_sources = examples/wrong/contest.c examples/wrong/contest.h
examples_wrong_compare_then_delete_SOURCES = examples/wrong/compare_then_delete.c $(contest_sources)
examples_wrong_compare_then_delete_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_wrong_getset_SOURCES = examples/wrong/getset.c $(contest_sources)
examples_wrong_getset_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_wrong_incr_SOURCES = examples/wrong/incr.c $(contest_sources)
examples_wrong_incr_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_wrong_no_token_SOURCES = examples/wrong/no_token.c $(contest_sources)
examples_wrong_no_token_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_wrong_setnx_expire_SOURCES = examples/wrong/setnx_expire.c $(contest_sources)
examples_wrong_setnx_expire_LDADD = $(example_libs) $(HIREDIS_LIBS)

EXTRA_DIST += examples/quickstart.sh
EXTRA_DIST += examples/redis.h

# In C++, which automake does not know of: tests/contract/test_examples.sh builds it.
EXTRA_DIST += examples/scoped_lock.cpp
