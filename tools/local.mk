# The leash command. It uses the public interface only, as any other program does.

bin_PROGRAMS =

if COMMAND_ENABLED

noinst_PROGRAMS += tools/leash

# -no-fast-install: tests run tools/.libs/leash itself, without the shell script that libtool puts before it.
# Each command has a file of its own; what several share stands in files named for it.
tools_leash_SOURCES =
tools_leash_SOURCES += tools/acquire.c
tools_leash_SOURCES += tools/bench.c
tools_leash_SOURCES += tools/bench_parts.c
tools_leash_SOURCES += tools/bench_parts.h
tools_leash_SOURCES += tools/break.c
tools_leash_SOURCES += tools/cli.c
tools_leash_SOURCES += tools/cli.h
tools_leash_SOURCES += tools/clock.c
tools_leash_SOURCES += tools/clock.h
tools_leash_SOURCES += tools/command.h
tools_leash_SOURCES += tools/doctor.c
tools_leash_SOURCES += tools/environment.c
tools_leash_SOURCES += tools/environment.h
tools_leash_SOURCES += tools/guard.c
tools_leash_SOURCES += tools/guard.h
tools_leash_SOURCES += tools/histogram.c
tools_leash_SOURCES += tools/histogram.h
tools_leash_SOURCES += tools/hold.c
tools_leash_SOURCES += tools/hold.h
tools_leash_SOURCES += tools/holder_watch.c
tools_leash_SOURCES += tools/holder_watch.h
tools_leash_SOURCES += tools/job.c
tools_leash_SOURCES += tools/job.h
tools_leash_SOURCES += tools/json.c
tools_leash_SOURCES += tools/json.h
tools_leash_SOURCES += tools/leash.c
tools_leash_SOURCES += tools/list.c
tools_leash_SOURCES += tools/lock_wait.c
tools_leash_SOURCES += tools/lock_wait.h
tools_leash_SOURCES += tools/moment.c
tools_leash_SOURCES += tools/moment.h
tools_leash_SOURCES += tools/name.c
tools_leash_SOURCES += tools/name.h
tools_leash_SOURCES += tools/open.c
tools_leash_SOURCES += tools/open.h
tools_leash_SOURCES += tools/process.c
tools_leash_SOURCES += tools/process.h
tools_leash_SOURCES += tools/process_tree.c
tools_leash_SOURCES += tools/process_tree.h
tools_leash_SOURCES += tools/ranking.c
tools_leash_SOURCES += tools/ranking.h
tools_leash_SOURCES += tools/release.c
tools_leash_SOURCES += tools/renew.c
tools_leash_SOURCES += tools/run.c
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
tools_leash_SOURCES += tools/value.h
tools_leash_SOURCES += tools/wait.c

tools_leash_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CURSES_CFLAGS)
tools_leash_LDFLAGS = -no-fast-install $(HARDEN_LDFLAGS) $(SANITIZE_FLAGS)
tools_leash_LDADD = lib/libleash.la $(JANSSON_LIBS) $(CURSES_LIBS)

# What is installed is linked once more, of the same objects: of a program that runs in the build folder, as the one
# above, libtool installs below DESTDIR a copy that would search the build folder for the library.
bin_PROGRAMS += tools/installed/leash
tools_installed_leash_SOURCES =
tools_installed_leash_LDFLAGS = $(HARDEN_LDFLAGS) $(SANITIZE_FLAGS)
tools_installed_leash_LDADD = $(tools_leash_OBJECTS) $(tools_leash_LDADD)
EXTRA_tools_installed_leash_DEPENDENCIES = $(tools_leash_OBJECTS)

endif

# bash looks for a file of the command's name.
EXTRA_DIST += tools/leash.bash
if COMPLETION_ENABLED
bashcompletion_DATA = tools/completion/leash
CLEANFILES += tools/completion/leash
endif
tools/completion/leash: tools/leash.bash
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cp $(srcdir)/tools/leash.bash $@.new && mv $@.new $@
