# With real Redisson, where there are a JDK and Maven: tests/redisson/run.sh. Not among the tests of `make check`.

EXTRA_DIST += tests/redisson/Agent.java
EXTRA_DIST += tests/redisson/pom.xml
EXTRA_DIST += tests/redisson/run.sh

check_PROGRAMS += tests/redisson/with_java
tests_redisson_with_java_SOURCES = tests/redisson/with_java.c
