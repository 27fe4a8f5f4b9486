# The watchdog: a layer of the library that knows no Redis.

leash_sources += watchdog/heap.c
leash_sources += watchdog/heap.h
leash_sources += watchdog/pace.c
leash_sources += watchdog/pace.h
leash_sources += watchdog/watchdog.c
leash_sources += watchdog/watchdog.h
