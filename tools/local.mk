# The leash command. Its doctor (tools/doctor) uses the inside of the library, so the command is linked with the objects
# that libleash.so is made of, and not with libleash.so: that would be a second copy, with a state of its own. All other
# parts of the command use the public interface only, as any program does; tests/install/layers.sh checks both.

bin_PROGRAMS =

if COMMAND_ENABLED

bin_PROGRAMS += tools/leash

# A library of its own, for its tests.
noinst_LTLIBRARIES += tools/doctor/libdoctor.la
tools_doctor_libdoctor_la_SOURCES =
tools_doctor_libdoctor_la_SOURCES += tools/doctor/acl.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/checks.h
tools_doctor_libdoctor_la_SOURCES += tools/doctor/connection.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/doctor.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/doctor.h
tools_doctor_libdoctor_la_SOURCES += tools/doctor/health.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/report.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/report.h
tools_doctor_libdoctor_la_SOURCES += tools/doctor/sentinels.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/smoke.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/targets.c
tools_doctor_libdoctor_la_SOURCES += tools/doctor/targets.h
tools_doctor_libdoctor_la_SOURCES += tools/doctor/timing.c
tools_doctor_libdoctor_la_LDFLAGS = $(SANITIZE_FLAGS)

# Each command has a file of its own; what several share stands in files named for it.
tools_leash_SOURCES =
tools_leash_SOURCES += tools/acquire.c
tools_leash_SOURCES += tools/arrive.c
tools_leash_SOURCES += tools/await.c
tools_leash_SOURCES += tools/bench.c
tools_leash_SOURCES += tools/bench_parts.c
tools_leash_SOURCES += tools/bench_parts.h
tools_leash_SOURCES += tools/break.c
tools_leash_SOURCES += tools/circle.c
tools_leash_SOURCES += tools/circle.h
tools_leash_SOURCES += tools/caller.c
tools_leash_SOURCES += tools/caller.h
tools_leash_SOURCES += tools/cli.c
tools_leash_SOURCES += tools/cli.h
tools_leash_SOURCES += tools/clock.c
tools_leash_SOURCES += tools/clock.h
tools_leash_SOURCES += tools/command.h
tools_leash_SOURCES += tools/config.c
tools_leash_SOURCES += tools/config.h
tools_leash_SOURCES += tools/doctor/command.c
tools_leash_SOURCES += tools/elect.c
tools_leash_SOURCES += tools/environment.c
tools_leash_SOURCES += tools/environment.h
tools_leash_SOURCES += tools/exporter.c
tools_leash_SOURCES += tools/exposition.c
tools_leash_SOURCES += tools/exposition.h
tools_leash_SOURCES += tools/grace.c
tools_leash_SOURCES += tools/grace.h
tools_leash_SOURCES += tools/guard.c
tools_leash_SOURCES += tools/guard.h
tools_leash_SOURCES += tools/guess.c
tools_leash_SOURCES += tools/guess.h
tools_leash_SOURCES += tools/help.c
tools_leash_SOURCES += tools/help.h
tools_leash_SOURCES += tools/histogram.c
tools_leash_SOURCES += tools/histogram.h
tools_leash_SOURCES += tools/history.c
tools_leash_SOURCES += tools/history.h
tools_leash_SOURCES += tools/hold.c
tools_leash_SOURCES += tools/hold.h
tools_leash_SOURCES += tools/hold_set.c
tools_leash_SOURCES += tools/hold_set.h
tools_leash_SOURCES += tools/holder_report.c
tools_leash_SOURCES += tools/holder_report.h
tools_leash_SOURCES += tools/holding.c
tools_leash_SOURCES += tools/holding.h
tools_leash_SOURCES += tools/http.c
tools_leash_SOURCES += tools/http.h
tools_leash_SOURCES += tools/inquiry.c
tools_leash_SOURCES += tools/inquiry.h
tools_leash_SOURCES += tools/job.c
tools_leash_SOURCES += tools/job.h
tools_leash_SOURCES += tools/json.c
tools_leash_SOURCES += tools/json.h
tools_leash_SOURCES += tools/keep.c
tools_leash_SOURCES += tools/keep.h
tools_leash_SOURCES += tools/leash.c
tools_leash_SOURCES += tools/leader.c
tools_leash_SOURCES += tools/leading.c
tools_leash_SOURCES += tools/leading.h
tools_leash_SOURCES += tools/letter.c
tools_leash_SOURCES += tools/letter.h
tools_leash_SOURCES += tools/limit.c
tools_leash_SOURCES += tools/list.c
tools_leash_SOURCES += tools/lock_wait.c
tools_leash_SOURCES += tools/lock_wait.h
tools_leash_SOURCES += tools/log.c
tools_leash_SOURCES += tools/log.h
tools_leash_SOURCES += tools/look.c
tools_leash_SOURCES += tools/look.h
tools_leash_SOURCES += tools/moment.c
tools_leash_SOURCES += tools/moment.h
tools_leash_SOURCES += tools/name.c
tools_leash_SOURCES += tools/name.h
tools_leash_SOURCES += tools/nesting.c
tools_leash_SOURCES += tools/nesting.h
tools_leash_SOURCES += tools/notify.c
tools_leash_SOURCES += tools/notify.h
tools_leash_SOURCES += tools/open.c
tools_leash_SOURCES += tools/open.h
tools_leash_SOURCES += tools/option.c
tools_leash_SOURCES += tools/option.h
tools_leash_SOURCES += tools/paint.c
tools_leash_SOURCES += tools/paint.h
tools_leash_SOURCES += tools/process.c
tools_leash_SOURCES += tools/process.h
tools_leash_SOURCES += tools/process_tree.c
tools_leash_SOURCES += tools/process_tree.h
tools_leash_SOURCES += tools/ranking.c
tools_leash_SOURCES += tools/ranking.h
tools_leash_SOURCES += tools/release.c
tools_leash_SOURCES += tools/renew.c
tools_leash_SOURCES += tools/run.c
tools_leash_SOURCES += tools/run.h
tools_leash_SOURCES += tools/run_report.c
tools_leash_SOURCES += tools/run_report.h
tools_leash_SOURCES += tools/run_request.c
tools_leash_SOURCES += tools/run_request.h
tools_leash_SOURCES += tools/sample.c
tools_leash_SOURCES += tools/sample.h
tools_leash_SOURCES += tools/sampler.c
tools_leash_SOURCES += tools/sampler.h
tools_leash_SOURCES += tools/say.c
tools_leash_SOURCES += tools/say.h
tools_leash_SOURCES += tools/screen.c
tools_leash_SOURCES += tools/screen.h
tools_leash_SOURCES += tools/scripts.c
tools_leash_SOURCES += tools/show.c
tools_leash_SOURCES += tools/show.h
tools_leash_SOURCES += tools/status.c
tools_leash_SOURCES += tools/stderr_writer.c
tools_leash_SOURCES += tools/stderr_writer.h
tools_leash_SOURCES += tools/supervisor.c
tools_leash_SOURCES += tools/supervisor.h
tools_leash_SOURCES += tools/table.c
tools_leash_SOURCES += tools/table.h
tools_leash_SOURCES += tools/thread.c
tools_leash_SOURCES += tools/thread.h
tools_leash_SOURCES += tools/top.c
tools_leash_SOURCES += tools/value.c
tools_leash_SOURCES += tools/wait.c
tools_leash_SOURCES += tools/watch.c

tools_leash_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURSES_CFLAGS)
tools_leash_LDFLAGS = $(HARDEN_LDFLAGS) $(SANITIZE_FLAGS)
tools_leash_LDADD = tools/doctor/libdoctor.la lib/libleash-internal.la $(JANSSON_LIBS) $(CURSES_LIBS)

# For images, and for machines that have none of the libraries. The C library stays shared: a static one cannot look up
# host names as the system is configured to. Debian's -dev packages have the static libraries; that of OpenSSL needs
# those of zlib and zstd on Debian 13.
CLEANFILES += tools/static/leash
.PHONY: static-command
static-command: tools/static/leash
tools/static/leash: $(tools_leash_OBJECTS) $(tools_leash_DEPENDENCIES)
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(AM_CFLAGS) $(CFLAGS) $(HARDEN_LDFLAGS) $(LDFLAGS) -static-libgcc -o $@ \
		$(tools_leash_OBJECTS) tools/doctor/.libs/libdoctor.a lib/.libs/libleash-internal.a \
		-Wl,-Bstatic $(COMMAND_STATIC_LIBS) -Wl,-Bdynamic -lm

endif

# Completions, made of what the command itself says, each in a file of the name that its shell looks for.
completions = tools/completion/leash tools/completion/_leash tools/completion/leash.fish
EXTRA_DIST += tools/completion/generate.sh
EXTRA_DIST += tools/completion/leash.bash.in
EXTRA_DIST += tools/completion/leash.fish.in
EXTRA_DIST += tools/completion/leash.zsh.in
CLEANFILES += $(completions)
if BASH_COMPLETION
bashcompletion_DATA = tools/completion/leash
endif
if ZSH_COMPLETION
zshcompletion_DATA = tools/completion/_leash
endif
if FISH_COMPLETION
fishcompletion_DATA = tools/completion/leash.fish
endif
GENERATE_COMPLETION = $(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(srcdir)/tools/completion/generate.sh
tools/completion/leash: tools/leash tools/completion/leash.bash.in tools/completion/generate.sh
	$(GENERATE_COMPLETION) bash tools/leash >$@.new && mv $@.new $@
tools/completion/_leash: tools/leash tools/completion/leash.zsh.in tools/completion/generate.sh
	$(GENERATE_COMPLETION) zsh tools/leash >$@.new && mv $@.new $@
tools/completion/leash.fish: tools/leash tools/completion/leash.fish.in tools/completion/generate.sh
	$(GENERATE_COMPLETION) fish tools/leash >$@.new && mv $@.new $@
