-- Say what others may know of who holds a lock: it leads. The value stands behind the depth, so it has the lease of the
-- hold and goes with it, and nobody is ever seen with another one's.
--
-- KEYS[1]  lock       hash: owner token -> "<depth>" or "<depth> <value>"
-- ARGV[1]  token      <client uuid>:<n>
-- ARGV[2]  value      any text, 1 to 4096 bytes
-- ARGV[3]  PUBLISH, or in a cluster of Redis 7 or later SPUBLISH
-- ARGV[4]  not_after  us of this server's TIME; a command that comes later does nothing
--
-- Returns  1    said
--          0    the token does not hold the lock, nothing was done
--          now  us of this server's TIME: too late, nothing was done; aim better with it
--
-- All who watch are told to look. Who does not hear that looks once a second.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[4] + 0 then return now end
local was = call('HGET', KEYS[1], ARGV[1])
if not was then return 0 end
call('HSET', KEYS[1], ARGV[1], (string.match(was, '^%d+') or '1') .. ' ' .. ARGV[2])
local cmd = ARGV[3]
--@include watched.inc
return 1
