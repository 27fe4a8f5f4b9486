# The library, twice: libleash-internal.la has every object and every name, for the leash command and for the tests that
# look inside; libleash.la is linked from it, with the names of libleash.map only, and is what gets installed.

noinst_LTLIBRARIES += lib/libleash-internal.la
lib_LTLIBRARIES += lib/libleash.la

# Also grows in watchdog/local.mk.
leash_sources =
leash_sources += lib/admin/inspect.c
leash_sources += lib/admin/inspect.h
leash_sources += lib/admin/leader.c
leash_sources += lib/admin/leader.h
leash_sources += lib/admin/lock_line.c
leash_sources += lib/admin/lock_line.h
leash_sources += lib/admin/query.c
leash_sources += lib/admin/query.h
leash_sources += lib/admin/scan.c
leash_sources += lib/admin/scan.h
leash_sources += lib/admin/step.c
leash_sources += lib/admin/step.h
leash_sources += lib/admin/waiters.c
leash_sources += lib/admin/waiters.h
leash_sources += lib/base/clock.c
leash_sources += lib/base/clock.h
leash_sources += lib/base/courier.c
leash_sources += lib/base/courier.h
leash_sources += lib/base/descriptor.c
leash_sources += lib/base/descriptor.h
leash_sources += lib/base/error.c
leash_sources += lib/base/error.h
leash_sources += lib/base/figure.c
leash_sources += lib/base/figure.h
leash_sources += lib/base/list.h
leash_sources += lib/base/map.c
leash_sources += lib/base/map.h
leash_sources += lib/base/memory.c
leash_sources += lib/base/memory.h
leash_sources += lib/base/monitor.c
leash_sources += lib/base/monitor.h
leash_sources += lib/base/mutation.h
leash_sources += lib/base/mutex.h
leash_sources += lib/base/park.c
leash_sources += lib/base/park.h
leash_sources += lib/base/process.c
leash_sources += lib/base/process.h
leash_sources += lib/base/status.c
leash_sources += lib/base/text.c
leash_sources += lib/base/text.h
leash_sources += lib/base/thread.c
leash_sources += lib/base/thread.h
leash_sources += lib/base/token.c
leash_sources += lib/base/token.h
leash_sources += lib/client/cancel.c
leash_sources += lib/client/client.c
leash_sources += lib/client/client.h
leash_sources += lib/client/condition.c
leash_sources += lib/client/condition.h
leash_sources += lib/client/condition_wait.c
leash_sources += lib/client/fields.c
leash_sources += lib/client/gate.c
leash_sources += lib/client/groups.c
leash_sources += lib/client/groups.h
leash_sources += lib/client/handle.c
leash_sources += lib/client/handle.h
leash_sources += lib/client/inspect.c
leash_sources += lib/client/leader.c
leash_sources += lib/client/leader.h
leash_sources += lib/client/lock.c
leash_sources += lib/client/loop.c
leash_sources += lib/client/loop.h
leash_sources += lib/client/metrics.c
leash_sources += lib/client/multi.c
leash_sources += lib/client/multi.h
leash_sources += lib/client/opening.c
leash_sources += lib/client/options.c
leash_sources += lib/client/options.h
leash_sources += lib/client/owner.c
leash_sources += lib/client/scan.c
leash_sources += lib/client/scope.c
leash_sources += lib/client/scripts.c
leash_sources += lib/client/semaphore.c
leash_sources += lib/client/set.c
leash_sources += lib/client/start.c
leash_sources += lib/client/start_condition.c
leash_sources += lib/client/start_multi.c
leash_sources += lib/client/start_step.c
leash_sources += lib/client/start_watch.c
leash_sources += lib/client/times.c
leash_sources += lib/client/wait.c
leash_sources += lib/client/wait.h
leash_sources += lib/core/adopt.c
leash_sources += lib/core/break.c
leash_sources += lib/core/cancel.c
leash_sources += lib/core/cancel.h
leash_sources += lib/core/core.h
leash_sources += lib/core/engine.c
leash_sources += lib/core/engine.h
leash_sources += lib/core/extend.c
leash_sources += lib/core/hold.c
leash_sources += lib/core/lead.c
leash_sources += lib/core/op.c
leash_sources += lib/core/op.h
leash_sources += lib/core/release.c
leash_sources += lib/core/table.c
leash_sources += lib/core/trade.c
leash_sources += lib/kind/channel.c
leash_sources += lib/kind/condition.c
leash_sources += lib/kind/gate.c
leash_sources += lib/kind/kind.c
leash_sources += lib/kind/kind.h
leash_sources += lib/kind/mutex.c
leash_sources += lib/kind/redisson.c
leash_sources += lib/kind/shared.c
leash_sources += lib/kind/watch.c
leash_sources += lib/lease/backend.c
leash_sources += lib/lease/backend.h
leash_sources += lib/lease/batch.c
leash_sources += lib/lease/batch.h
leash_sources += lib/lease/electorate.c
leash_sources += lib/lease/electorate.h
leash_sources += lib/lease/host.c
leash_sources += lib/lease/host.h
leash_sources += lib/lease/lease.c
leash_sources += lib/lease/lease.h
leash_sources += lib/lease/lease_inside.h
leash_sources += lib/lease/presence.c
leash_sources += lib/lease/presence.h
leash_sources += lib/lease/quorum.c
leash_sources += lib/lease/replicas.c
leash_sources += lib/lease/replicas.h
leash_sources += lib/lease/resource.c
leash_sources += lib/lease/resource.h
leash_sources += lib/lease/round.c
leash_sources += lib/lease/round.h
leash_sources += lib/lease/single.c
leash_sources += lib/lease/subscription.c
leash_sources += lib/lease/subscription.h
leash_sources += lib/lease/tally.c
leash_sources += lib/lease/tally.h
leash_sources += lib/lease/vote.c
leash_sources += lib/lease/vote.h
leash_sources += lib/lease/wakeup.c
leash_sources += lib/lua/scripts.h
leash_sources += lib/redis/buffer.c
leash_sources += lib/redis/buffer.h
leash_sources += lib/redis/call.c
leash_sources += lib/redis/call.h
leash_sources += lib/redis/cluster.c
leash_sources += lib/redis/cluster.h
leash_sources += lib/redis/command.c
leash_sources += lib/redis/command.h
leash_sources += lib/redis/connection.c
leash_sources += lib/redis/connection.h
leash_sources += lib/redis/connector.c
leash_sources += lib/redis/connector.h
leash_sources += lib/redis/fault.c
leash_sources += lib/redis/fault.h
leash_sources += lib/redis/handshake.c
leash_sources += lib/redis/handshake.h
leash_sources += lib/redis/informant.c
leash_sources += lib/redis/informant.h
leash_sources += lib/redis/node.c
leash_sources += lib/redis/node.h
leash_sources += lib/redis/node_inside.h
leash_sources += lib/redis/node_keeper.c
leash_sources += lib/redis/node_place.c
leash_sources += lib/redis/pipeline.c
leash_sources += lib/redis/pipeline.h
leash_sources += lib/redis/pubsub.c
leash_sources += lib/redis/pubsub.h
leash_sources += lib/redis/reply.c
leash_sources += lib/redis/reply.h
leash_sources += lib/redis/resolve.c
leash_sources += lib/redis/resolve.h
leash_sources += lib/redis/router.c
leash_sources += lib/redis/router.h
leash_sources += lib/redis/script.c
leash_sources += lib/redis/script.h
leash_sources += lib/redis/secret.c
leash_sources += lib/redis/secret.h
leash_sources += lib/redis/sentinel.c
leash_sources += lib/redis/sentinel.h
leash_sources += lib/redis/sieve.c
leash_sources += lib/redis/sieve.h
leash_sources += lib/redis/slot.c
leash_sources += lib/redis/slot.h
leash_sources += lib/redis/slots.c
leash_sources += lib/redis/slots.h
leash_sources += lib/redis/stream.c
leash_sources += lib/redis/stream.h
leash_sources += lib/redis/tls.h
leash_sources += lib/redis/tls_context.h
leash_sources += lib/redis/uri.c
leash_sources += lib/redis/uri.h
leash_sources += lib/redis/whereabouts.c
leash_sources += lib/redis/whereabouts.h

if TLS_ENABLED
leash_sources += lib/redis/tls.c
leash_sources += lib/redis/tls_context.c
else
leash_sources += lib/redis/no_tls.c
endif

lib_libleash_internal_la_SOURCES = $(leash_sources)
lib_libleash_internal_la_LDFLAGS = $(SANITIZE_FLAGS)
lib_libleash_internal_la_LIBADD = $(HIREDIS_LIBS) $(OPENSSL_LIBS) $(SODIUM_LIBS)

# The SONAME is libleash.so.(current - age), by -version-info current:revision:age. For each release:
#   only the code has changed            revision + 1
#   names or trailing fields were added  current + 1, revision 0, age + 1, and a new node in libleash.map
#   anything was removed or changed      current + 1, revision 0, age 0: programs have to be built anew
libleash_version_info = 0:0:0

# Interfaces are added by libleash.map and structs grow by their size fields, so the last should never be needed after
# 1.0.
# nodelete: after a dlclose the watchdog would go on without its code.
lib_libleash_la_SOURCES =
lib_libleash_la_LIBADD = lib/libleash-internal.la
lib_libleash_la_LDFLAGS = -version-info $(libleash_version_info) -Wl,--version-script=$(srcdir)/lib/libleash.map \
	-Wl,-z,nodelete -pthread $(HARDEN_LDFLAGS) $(SANITIZE_FLAGS)
EXTRA_lib_libleash_la_DEPENDENCIES = $(srcdir)/lib/libleash.map
EXTRA_DIST += lib/libleash.map

# The run-time of a sanitizer is linked to programs and left open in libraries.
if !SANITIZED
lib_libleash_la_LDFLAGS += -no-undefined -Wl,--no-undefined
endif

pkgconfig_DATA = lib/leash.pc

# The server half, one step per file. Not called LUA_SCRIPTS: automake takes that for a place to install to.
LUA_FILES =
LUA_FILES += lib/lua/acquire.lua
LUA_FILES += lib/lua/gate_arrive.lua
LUA_FILES += lib/lua/heartbeat.lua
LUA_FILES += lib/lua/inspect.lua
LUA_FILES += lib/lua/proclaim.lua
LUA_FILES += lib/lua/raise.lua
LUA_FILES += lib/lua/redisson.lua
LUA_FILES += lib/lua/release.lua
LUA_FILES += lib/lua/renew.lua
LUA_FILES += lib/lua/share_acquire.lua
LUA_FILES += lib/lua/share_heartbeat.lua
LUA_FILES += lib/lua/share_limit.lua
LUA_FILES += lib/lua/share_trade.lua
LUA_FILES += lib/lua/share_release.lua
LUA_FILES += lib/lua/share_renew.lua
LUA_FILES += lib/lua/share_signal.lua
LUA_FILES += lib/lua/watch.lua

LUA_INCLUDES =
LUA_INCLUDES += lib/lua/fence.inc
LUA_INCLUDES += lib/lua/fences.inc
LUA_INCLUDES += lib/lua/hand_on.inc
LUA_INCLUDES += lib/lua/holder.inc
LUA_INCLUDES += lib/lua/issue.inc
LUA_INCLUDES += lib/lua/many.inc
LUA_INCLUDES += lib/lua/one.inc
LUA_INCLUDES += lib/lua/place.inc
LUA_INCLUDES += lib/lua/round.inc
LUA_INCLUDES += lib/lua/watched.inc

nodist_lib_libleash_internal_la_SOURCES = lib/lua/scripts.c

lib/lua/scripts.c: $(LUA_FILES) $(LUA_INCLUDES) build-aux/embed-lua.sh
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(SHELL) $(srcdir)/build-aux/embed-lua.sh $(srcdir) lsh_scripts $(LUA_FILES) \
		>$@.tmp && mv $@.tmp $@

CLEANFILES += lib/lua/scripts.c lib/lua/scripts.c.tmp
EXTRA_DIST += $(LUA_FILES) $(LUA_INCLUDES)
