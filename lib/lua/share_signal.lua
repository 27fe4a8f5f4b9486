-- Wake who waits for a condition: up to so many, from the front of the queue. Each of them holds its "?" then, for its
-- claim, so that whoever missed the message learns of it by its word. There is room for "?" in no other step.
--
-- KEYS     as for share_acquire
-- ARGV[1]  most  1 to 1000
-- ARGV[2]  cfg   as for acquire
--
-- Returns  how many came in; 0: nobody waits who lives
--
-- Places of the dead are dropped, also where there are thousands: a signal is not lost while anybody waits who lives.
-- Once somebody is in the answer says so, whatever is refused after it. PEXPIRE is the first write: a full server lets
-- it pass, and with it all that follow.

local call = redis.call
local most = tonumber(ARGV[1])
if not (most and most >= 1 and most <= 1000) then return {err = 'ERR leash: a signal is for 1 to 1000'} end
call('ZCOUNT', KEYS[1], '0', '0')
if call('ZCOUNT', KEYS[3], '(0', '+inf') == 0 then return 0 end

local t, cfg = call('TIME'), ARGV[2]
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, string.match(cfg, '^%d+ (%d+)'), nil
--@include fence.inc
--@include many.inc
--@include hand_on.inc
look()
local before, ttl = used, call('PTTL', KEYS[3])
call('PEXPIRE', KEYS[3], ttl < 2 * alive and 2 * alive or ttl)
signaled = before + most
for _ = 1, 100 do
	local left, _, refused = hand_on()
	if refused and used == before then return refused end
	if left ~= false or refused or used >= signaled then break end
end
return used - before
