-- Let one server of a quorum hear of a fence that others of it have issued: no fence that it issues later is smaller.
--
-- KEYS[1]  fence     string: the last fence issued or heard of
-- ARGV[1]  fence     1 or more; at most a year ahead of this server's TIME
-- ARGV[2]  fence ms  how long it is kept from now
--
-- Returns  the fence that is there now: this one, or a larger one that was there before
--
-- It may be sent again, and may come late: it only ever raises. What is no fence is replaced, and one that is ahead of the clock stays
-- longer, as in hand_on.inc.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local fence = ARGV[1] + 0
if fence > now + 31536000000000 then return {err = 'ERR leash: a fence is at most a year ahead of the server\'s clock'} end

local function ttl_of(fence) return ARGV[2] + math.max(0, math.ceil((fence - now) / 1000)) end

local last = tonumber(call('SET', KEYS[1], fence, 'PX', ttl_of(fence), 'GET'))
if last and last > fence and last <= now + 31536000000000 then
	fence = last
	call('SET', KEYS[1], fence, 'PX', ttl_of(fence))
end
return fence
