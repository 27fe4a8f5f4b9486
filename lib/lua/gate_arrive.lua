-- Arrive at a latch. Idempotent for its token: who says it twice has arrived once.
--
-- KEYS     as for share_acquire
-- ARGV[1]  token
-- ARGV[2]  lease  ms, 1 to a day: for how long it counts
-- ARGV[3]  cfg    as for acquire
--
-- Returns  how many have arrived
--
-- All at the front of the queue for whom that is enough then come in; whatever is refused in that is no error of this
-- step. ZADD is the first write, which a full server refuses; said again it is PEXPIRE.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local lease, me, cfg, wanted = ARGV[2] + 0, ARGV[1] .. ' +', ARGV[3], nil
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local keep = string.match(cfg, '^%d+ (%d+)')
--@include fence.inc
--@include many.inc
--@include hand_on.inc
--@include round.inc
if not need(me) then return {err = 'ERR leash: who arrives has a token'} end
look()
agree(me, call('ZREVRANGE', KEYS[3], '0', '0')[1])
if not keep_on(me, ARGV[2]) then
	local refused = give(me, ARGV[2])
	if refused then return refused end
end
pcall(function()
	if call('EXISTS', KEYS[3]) == 1 then let_in(#t[2] == 6 and t[1] .. t[2] or nil) end
end)
return used
