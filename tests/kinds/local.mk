# A kind of lock that only tests have: what it takes to add one.

test_programs += tests/kinds/test_laws
test_programs += tests/kinds/test_plain

plain_sources = tests/kinds/plain.c tests/kinds/plain.h

tests_kinds_test_laws_SOURCES = tests/kinds/test_laws.c $(plain_sources)
tests_kinds_test_laws_LDADD = tests/contract/libcontract.la $(LDADD)
nodist_tests_kinds_test_laws_SOURCES = tests/kinds/scripts.c
tests_kinds_test_plain_SOURCES = tests/kinds/test_plain.c $(plain_sources)
nodist_tests_kinds_test_plain_SOURCES = tests/kinds/scripts.c

tests/kinds/scripts.c: tests/kinds/plain.lua build-aux/embed-lua.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(srcdir)/build-aux/embed-lua.sh $(srcdir) plain_scripts \
		tests/kinds/plain.lua >$@.tmp && mv $@.tmp $@

CLEANFILES += tests/kinds/scripts.c tests/kinds/scripts.c.tmp
