-- Renew or extend a hold, and mirror its depth.
--
-- KEYS[1]  lock   hash: owner token -> depth; its TTL is the lease
-- ARGV[1]  token  <client uuid>:<n>
-- ARGV[2]  lease  ms, 1 to a day
-- ARGV[3]  depth  reentry count, 1 or more
-- ARGV[4]  fence  ms, how long the fence is kept from now; at least for the lease
--
-- Returns  1  still held, for at least the lease from now
--          2  the same, and its key had no TTL: somebody made it persistent (PERSIST, or a restored copy); it has one again
--          0  not held, nothing was done
--
-- It never creates the lock and never shortens its TTL. One key, so it works in a cluster's slot that is moving, where a
-- script with a missing key is refused. PEXPIRE also where the TTL is long enough: without a write, a replica with old data
-- would say yes. PEXPIRE first, because a full server lets it pass, and HSET after it. HSET may be refused: the depth is
-- for people who look, the hold does not hang on it.
--
-- The fence of a hold is kept for as long as that is renewed. Its key is not named, for the reason above: where it is not here, or
-- not permitted, that is no error of the renewal. A key without a TTL is not ours.

local call = redis.call
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local depth = call('HGET', KEYS[1], ARGV[1])
if not depth then return 0 end
local ttl = call('PTTL', KEYS[1])
call('PEXPIRE', KEYS[1], ttl < lease and ARGV[2] or ttl)
if depth ~= ARGV[3] then redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[3]) end
local fence, keep = KEYS[1] .. ':fence', math.max(lease, ARGV[4] + 0)
local left = redis.pcall('PTTL', fence)
if type(left) == 'number' and left >= 0 and left < keep then redis.pcall('PEXPIRE', fence, keep) end
return ttl < 0 and 2 or 1
