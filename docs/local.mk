# What people read. All of it is installed, the man page of the command only where the command is.

dist_man3_MANS = docs/leash.3

# That of the command is its prose with what the command says of its options.
man1_MANS =
if COMMAND_TEXTS
man1_MANS += docs/leash.1
endif
EXTRA_DIST += docs/leash.1.in docs/man1.awk
CLEANFILES += docs/leash.1
docs/leash.1: tools/leash docs/leash.1.in docs/man1.awk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && tools/leash help --table | \
	$(AWK) -f $(srcdir)/docs/man1.awk - $(srcdir)/docs/leash.1.in >$@.new && mv $@.new $@

# A man page for each call and type, made from the headers. Which ones there are, only the headers know.
EXTRA_DIST += docs/man3.awk
public_headers = $(include_HEADERS) $(leashinclude_HEADERS)
docs/man3/.made: docs/man3.awk docs/leash.3 $(public_headers)
	$(AM_V_GEN)rm -rf docs/man3 && $(MKDIR_P) docs/man3 && \
	date=$$(sed -n 's/^\.Dd //p' $(srcdir)/docs/leash.3) && \
	$(AWK) -f $(srcdir)/docs/man3.awk -v folder=docs/man3 -v date="$$date" $(srcdir)/include/leash/*.h && touch $@
all-local: docs/man3/.made
install-data-local: docs/man3/.made
	$(MKDIR_P) '$(DESTDIR)$(man3dir)'
	$(INSTALL_DATA) docs/man3/*.3 '$(DESTDIR)$(man3dir)'
uninstall-local: docs/man3/.made
	cd docs/man3 && for page in *.3; do rm -f '$(DESTDIR)$(man3dir)'/"$$page"; done

# All of this as a site.
EXTRA_DIST += docs/site/build.py docs/site/search.js docs/site/style.css
html-local: docs/man3/.made $(man1_MANS)
	@for python in python3 /usr/bin/python3 none; do ! $$python -c 'import markdown_it' 2>/dev/null || break; done; \
	if [ $$python = none ] || ! command -v mandoc >/dev/null; then \
		echo 'make html needs mandoc and markdown-it (Debian packages mandoc, python3-markdown-it)' >&2; \
		exit 1; \
	fi; \
	$$python $(srcdir)/docs/site/build.py $(srcdir) docs/man3 html && echo "the site is in $$PWD/html"

clean-local:
	rm -rf docs/man3 html

# README.md is installed, and these lie beside it as they do here, so that its links lead somewhere.
nobase_dist_doc_DATA =
nobase_dist_doc_DATA += bindings/python/README.md
nobase_dist_doc_DATA += bindings/python/examples/tasks.py
nobase_dist_doc_DATA += docs/architecture.md
nobase_dist_doc_DATA += docs/choosing.md
nobase_dist_doc_DATA += docs/command.md
nobase_dist_doc_DATA += docs/comparison.md
nobase_dist_doc_DATA += docs/compatibility.md
nobase_dist_doc_DATA += docs/cpp.md
nobase_dist_doc_DATA += docs/defences.md
nobase_dist_doc_DATA += docs/deployments.md
nobase_dist_doc_DATA += docs/event-loops.md
nobase_dist_doc_DATA += docs/examples.md
nobase_dist_doc_DATA += docs/faq.md
nobase_dist_doc_DATA += docs/faults.md
nobase_dist_doc_DATA += docs/guide.md
nobase_dist_doc_DATA += docs/how-it-works.md
nobase_dist_doc_DATA += docs/install.md
nobase_dist_doc_DATA += docs/kinds.md
nobase_dist_doc_DATA += docs/migration.md
nobase_dist_doc_DATA += docs/operations.md
nobase_dist_doc_DATA += docs/packages.md
nobase_dist_doc_DATA += docs/performance.md
nobase_dist_doc_DATA += docs/promises.md
nobase_dist_doc_DATA += docs/reference.md
nobase_dist_doc_DATA += docs/why-other-ways-break.md
nobase_dist_doc_DATA += docs/pictures/hand-off.svg
nobase_dist_doc_DATA += docs/pictures/hold.svg
nobase_dist_doc_DATA += docs/pictures/idea.svg
nobase_dist_doc_DATA += docs/pictures/leash-run.svg
nobase_dist_doc_DATA += docs/pictures/quorum.svg
nobase_dist_doc_DATA += lib/lua/README.md
nobase_dist_doc_DATA += examples/CMakeLists.txt
nobase_dist_doc_DATA += examples/all_done.c
nobase_dist_doc_DATA += examples/both_accounts.c
nobase_dist_doc_DATA += examples/bounded_queue.c
nobase_dist_doc_DATA += examples/by_hand.c
nobase_dist_doc_DATA += examples/crowd.h
nobase_dist_doc_DATA += examples/event_loop.c
nobase_dist_doc_DATA += examples/event_loop_event.c
nobase_dist_doc_DATA += examples/event_loop_uv.c
nobase_dist_doc_DATA += examples/fencing.c
nobase_dist_doc_DATA += examples/few_at_once.c
nobase_dist_doc_DATA += examples/first_lock.c
nobase_dist_doc_DATA += examples/hand_over.c
nobase_dist_doc_DATA += examples/in_step.c
nobase_dist_doc_DATA += examples/interrupt.c
nobase_dist_doc_DATA += examples/long_job.c
nobase_dist_doc_DATA += examples/loop_event.h
nobase_dist_doc_DATA += examples/loop_uv.h
nobase_dist_doc_DATA += examples/lost_lease.c
nobase_dist_doc_DATA += examples/many_readers.c
nobase_dist_doc_DATA += examples/metrics.c
nobase_dist_doc_DATA += examples/nested.c
nobase_dist_doc_DATA += examples/one_leads.c
nobase_dist_doc_DATA += examples/redis.h
nobase_dist_doc_DATA += examples/scoped.c
nobase_dist_doc_DATA += examples/scoped_lock.cpp
nobase_dist_doc_DATA += examples/systemd/job.service
nobase_dist_doc_DATA += examples/systemd/job.timer
nobase_dist_doc_DATA += examples/systemd/leader.service
nobase_dist_doc_DATA += examples/systemd/leash@.service
nobase_dist_doc_DATA += examples/transfer.c
nobase_dist_doc_DATA += examples/try_or_skip.c
nobase_dist_doc_DATA += examples/worker_pool.c
nobase_dist_doc_DATA += examples/wrong/compare_then_delete.c
nobase_dist_doc_DATA += examples/wrong/contest.c
nobase_dist_doc_DATA += examples/wrong/contest.h
nobase_dist_doc_DATA += examples/wrong/getset.c
nobase_dist_doc_DATA += examples/wrong/incr.c
nobase_dist_doc_DATA += examples/wrong/no_token.c
nobase_dist_doc_DATA += examples/wrong/setnx_expire.c
