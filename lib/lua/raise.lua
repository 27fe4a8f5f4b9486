-- Let one server of a quorum hear of a fence that others of it have issued: no fence that it issues later is smaller.
--
-- KEYS[1]  fence  string: the last fence issued or heard of
-- ARGV[1]  fence  1 to 2^53 - 2
--
-- Returns  the fence that is there now: this one, or a larger one that was there before
--
-- It may be sent again, and may come late: it only ever raises.

local call = redis.call
local fence = ARGV[1] + 0
local last = tonumber(call('SET', KEYS[1], fence, 'PX', '86400000', 'GET'))
if last and last > fence and last < 9007199254740991 then
	fence = last
	call('SET', KEYS[1], fence, 'PX', '86400000')
end
return fence
