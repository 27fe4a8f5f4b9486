-- See whether a token has the vote of one server of a quorum, prolong that, and learn its fence. It gives no vote.
--
-- KEYS[1]  lock      hash: owner token -> depth; its TTL is the lease
-- KEYS[2]  fence     string: the last fence issued or heard of
-- ARGV[1]  token     <client uuid>:<n>
-- ARGV[2]  lease     ms, 1 to a day
-- ARGV[3]  proposal  the fence, 1 or more, where the server knows none any more; about the time in us
-- ARGV[4]  fence ms  how long that is kept from now; at least for the lease
--
-- Returns  {fence, ttl, now}  fence: this server's vote is the token's, for at least the lease from now; ttl: ms left
--          {0, 0, now}        it is not; now: us of this server's TIME
--
-- For who goes on with the hold of another client. As in renew.lua it never shortens the TTL, and writes also where that is
-- long enough, so that a replica with old data cannot say yes. The proposal is heeded as in vote.lua.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
if call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0, 0, now} end

local fence = tonumber(call('GET', KEYS[2]))
local ttl = call('PTTL', KEYS[1])
if ttl < lease then ttl = lease end
call('PEXPIRE', KEYS[1], ttl)
local left, keep = call('PTTL', KEYS[2]), math.max(lease, ARGV[4] + 0)
if not (fence and fence >= 1 and fence <= now + 31536000000000) then
	fence = math.max(math.min(ARGV[3] + 0, now + 3600000000), now - ARGV[4] * 1000 + 1)
	call('SET', KEYS[2], fence, 'PX', keep + math.max(0, math.ceil((fence - now) / 1000)))
elseif left >= 0 and left < keep then
	call('PEXPIRE', KEYS[2], keep)
end
return {fence, ttl, now}
