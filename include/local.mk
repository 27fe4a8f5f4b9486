# The public headers.

include_HEADERS = include/leash.h

leashincludedir = $(includedir)/leash
leashinclude_HEADERS =
leashinclude_HEADERS += include/leash/api.h
leashinclude_HEADERS += include/leash/cancel.h
leashinclude_HEADERS += include/leash/client.h
leashinclude_HEADERS += include/leash/condition.h
leashinclude_HEADERS += include/leash/event.h
leashinclude_HEADERS += include/leash/gate.h
leashinclude_HEADERS += include/leash/inspect.h
leashinclude_HEADERS += include/leash/leader.h
leashinclude_HEADERS += include/leash/lock.h
leashinclude_HEADERS += include/leash/lock_options.h
leashinclude_HEADERS += include/leash/memory.h
leashinclude_HEADERS += include/leash/multi.h
leashinclude_HEADERS += include/leash/owner.h
leashinclude_HEADERS += include/leash/readwrite.h
leashinclude_HEADERS += include/leash/redisson.h
leashinclude_HEADERS += include/leash/scope.h
leashinclude_HEADERS += include/leash/scripts.h
leashinclude_HEADERS += include/leash/semaphore.h
leashinclude_HEADERS += include/leash/status.h
leashinclude_HEADERS += include/leash/takeover.h
leashinclude_HEADERS += include/leash/version.h
