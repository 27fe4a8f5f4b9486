# The Debian packages. tests/install/debian.sh makes and tries them.

EXTRA_DIST += debian/changelog
EXTRA_DIST += debian/control
EXTRA_DIST += debian/copyright
EXTRA_DIST += debian/leash-doc.install
EXTRA_DIST += debian/leash-doc.links
EXTRA_DIST += debian/leash.install
EXTRA_DIST += debian/libleash-dev.install
EXTRA_DIST += debian/libleash0.install
EXTRA_DIST += debian/libleash0.symbols
EXTRA_DIST += debian/not-installed
EXTRA_DIST += debian/python3-leash.install
EXTRA_DIST += debian/rules
EXTRA_DIST += debian/source/format
EXTRA_DIST += debian/tests/command
EXTRA_DIST += debian/tests/control
EXTRA_DIST += debian/tests/documents
EXTRA_DIST += debian/tests/library
EXTRA_DIST += debian/tests/python
EXTRA_DIST += debian/tests/server
