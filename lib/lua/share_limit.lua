-- For a while, let no more than so many be out, whatever the asks say; 0: nobody comes in any more. Who is in stays,
-- and all at the front of the queue for whom there is room then come in.
--
-- KEYS     as for share_acquire
-- ARGV[1]  limit      0 to 1000000
-- ARGV[2]  ms         for how long, 1 to a day; 0: it ends now
-- ARGV[3]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[4]  cfg        as for acquire
--
-- Returns  1    it is set, or has ended
--          now  us of this server's TIME: too late, nothing was done; aim better with it
--
-- What is no lock, no limit or no queue, or a gate, is refused first, as the server refuses a key of another type. Once
-- SET or DEL is done the answer must say so: whatever is refused after it is no error of this step.

local call = redis.call
local most, ms = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (most and most >= 0 and most <= 1000000) then return {err = 'ERR leash: a limit is 0 to 1000000'} end
if not (ms and ms >= 0 and ms <= 86400000) then return {err = 'ERR leash: a limit is for 0 to 86400000 ms'} end
local t, cfg = call('TIME'), ARGV[4]
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, string.match(cfg, '^%d+ (%d+)'), nil
if now > ARGV[3] + 0 then return now end
--@include fence.inc
--@include many.inc
look()
local last = call('ZREVRANGE', KEYS[3], '0', '0', 'WITHSCORES')
local waits = last[1] and last[2] + 0 > 0
agree(' w', waits and last[1])
if ms > 0 then call('SET', KEYS[4], ARGV[1], 'PX', ARGV[2]) else call('DEL', KEYS[4]) end
if not waits or alone then return 1 end
limit = ms > 0 and most or nil
pcall(function()
	--@include hand_on.inc
	hand_on()
end)
return 1
