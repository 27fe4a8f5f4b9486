-- Redisson's RLock: all steps of it in one script. What is in the server afterwards, and what is published, is what
-- Redisson 3.x and 4.x leave there; our own side may do more: asked again with the same token it counts once, and what
-- comes too late does nothing.
--
-- KEYS[1]  lock      hash: its holder, "<uuid>:<number>" -> depth; its TTL is the lease. No other field, no other key
-- ARGV[1]  step      acquire, renew, heartbeat or release; a number: inspect
-- ARGV[2]  token     <client uuid>:<n>
-- ARGV[3]  lease     ms, 1 to a day; release: PUBLISH, or in a cluster of Redis 7 or later SPUBLISH
-- ARGV[4]  acquire: not_after, us of this server's TIME; renew: depth; release: the lock's channel
--
-- acquire    fence: held now; {0, ttl, now}: not held; {-1, 0, now}: too late, nothing was done
-- renew      1: still held; 2: the same, and its key had no TTL; 0: not held, nothing was done
-- heartbeat  to go on with the hold of another client: {now, ttl, fence}, or {now, ttl, -1} if the token has it not
-- release    1 and how many connections heard of it; 0: not held, nothing was done
-- inspect    {now, 1, 0, 0, -1, "<token> <depth>", ttl} or {now, 0, 0, 0, -1}, as inspect.lua
--
-- The fence is TIME in us: there is no key for one. PEXPIRE also where the TTL is long enough: without a write, a
-- replica with old data would say yes. HSET is the first write of an acquire, which a full server refuses.

local call = redis.call
local lock, step, token, lease = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

if step == 'release' then
	if call('HDEL', lock, token) == 0 then return 0 end
	return 1 + (tonumber(redis.pcall(ARGV[3], ARGV[4], '0')) or 0)
end

local t = call('TIME')
local now = t[1] * 1000000 + t[2]

if tonumber(step) then
	local fields = call('HLEN', lock)
	local hash = fields == 1 and call('HGETALL', lock) or {}
	local x = string.rep('%x', 4)
	local uuid = x .. x .. string.rep('%-' .. x, 4) .. x .. x
	if fields > 1 or fields == 1 and (#hash[1] > 57 or not string.match(hash[1], '^' .. uuid .. ':%d+$')) then
		return {err = 'WRONGTYPE leash: the hash is not a lock: its field is no owner, or not the only one'}
	end
	local depth = tonumber(hash[2])
	if not (depth and depth >= 1 and depth <= 65535) then depth = 1 end
	if fields == 0 then return {now, 0, 0, 0, -1} end
	local left = call('PTTL', lock)
	return {now, 1, 0, 0, -1, string.format('%s %.0f', hash[1], depth), left == 0 and 1 or left}
end

if not (lease and lease >= 1 and lease <= 86400000) then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
if step == 'acquire' and now > ARGV[4] + 0 then return {-1, 0, now} end
local ttl = call('PTTL', lock)

if ttl ~= -2 and call('HEXISTS', lock, token) == 1 then
	call('PEXPIRE', lock, ttl < lease and ARGV[3] or ttl)
	if step == 'acquire' then return now end
	if step == 'heartbeat' then return {now, math.max(ttl, lease), now} end
	if call('HGET', lock, token) ~= ARGV[4] then redis.pcall('HSET', lock, token, ARGV[4]) end
	return ttl < 0 and 2 or 1
end
if step == 'renew' then return 0 end
if step == 'heartbeat' then return {now, ttl == -2 and 0 or ttl, -1} end
if ttl ~= -2 then return {0, ttl, now} end

call('HSET', lock, token, '1')
local done = redis.pcall('PEXPIRE', lock, ARGV[3])
if done == 1 then return now end
redis.pcall('HDEL', lock, token)
return {err = done.err .. ' (PEXPIRE)'} -- what is raised says its line, what is returned has to say its command
