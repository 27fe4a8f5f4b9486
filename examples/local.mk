# One idea per file, each a program that links the library as any other program does, and is not installed. Each has two
# lines here, one in either list. Those that talk to Redis themselves, by redis.h, need $(HIREDIS_LIBS) as well.

example_libs = lib/libleash.la

noinst_PROGRAMS += examples/all_done
noinst_PROGRAMS += examples/both_accounts
noinst_PROGRAMS += examples/bounded_queue
noinst_PROGRAMS += examples/by_hand
noinst_PROGRAMS += examples/fencing
noinst_PROGRAMS += examples/few_at_once
noinst_PROGRAMS += examples/first_lock
noinst_PROGRAMS += examples/hand_over
noinst_PROGRAMS += examples/in_step
noinst_PROGRAMS += examples/interrupt
noinst_PROGRAMS += examples/long_job
noinst_PROGRAMS += examples/lost_lease
noinst_PROGRAMS += examples/many_readers
noinst_PROGRAMS += examples/nested
noinst_PROGRAMS += examples/one_leads
noinst_PROGRAMS += examples/scoped
noinst_PROGRAMS += examples/transfer
noinst_PROGRAMS += examples/try_or_skip
noinst_PROGRAMS += examples/worker_pool

examples_all_done_LDADD = $(example_libs)
examples_both_accounts_LDADD = $(example_libs)
examples_bounded_queue_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_by_hand_LDADD = $(example_libs)
examples_fencing_LDADD = $(example_libs)
examples_few_at_once_LDADD = $(example_libs)
examples_first_lock_LDADD = $(example_libs)
examples_hand_over_LDADD = $(example_libs)
examples_in_step_LDADD = $(example_libs)
examples_interrupt_LDADD = $(example_libs)
examples_long_job_LDADD = $(example_libs)
examples_lost_lease_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_many_readers_LDADD = $(example_libs)
examples_nested_LDADD = $(example_libs)
examples_one_leads_LDADD = $(example_libs)
examples_scoped_LDADD = $(example_libs)
examples_transfer_LDADD = $(example_libs) $(HIREDIS_LIBS)
examples_try_or_skip_LDADD = $(example_libs)
examples_worker_pool_LDADD = $(example_libs)

EXTRA_DIST += examples/quickstart.sh
EXTRA_DIST += examples/redis.h
