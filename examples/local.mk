# One idea per file, each a program that links the library as any other program does, and is not installed. Each has two
# lines here:
#   noinst_PROGRAMS += examples/nested
#   examples_nested_LDADD = $(example_libs)
# transfer keeps its account in Redis itself, and needs $(HIREDIS_LIBS) as well.

example_libs = lib/libleash.la

