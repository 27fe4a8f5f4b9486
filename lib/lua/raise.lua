-- Let one server of a quorum hear of a fence that others of it have issued: no fence that it issues later is smaller.
--
-- KEYS[1]  lock      not touched
-- KEYS[2]  fence     string: the last fence issued or heard of
-- ARGV[1]  fence     1 or more; at most a year ahead of this server's TIME
-- ARGV[2]  fence ms  how long it is kept from now
--
-- Returns  the fence that is there now: this one, or a larger one that was there before
--
-- It may be sent again, and may come late: it only ever raises.

local call = redis.call
local t = call('TIME')
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, ARGV[2], nil
--@include fence.inc
local text, step = ARGV[1], 0
fence = text + 0
if not is_fence(fence) then return {err = 'ERR leash: a fence is at most a year ahead of the server\'s clock'} end
--@include issue.inc
return fence
