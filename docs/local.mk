# What people read. The man pages are installed, that of the command only where the command is.

dist_man3_MANS = docs/leash.3

dist_man1_MANS =
if COMMAND_ENABLED
dist_man1_MANS += docs/leash.1
endif

EXTRA_DIST += docs/defences.md
EXTRA_DIST += docs/deployments.md
EXTRA_DIST += docs/faults.md
