-- Renew or extend a hold, and mirror its depth; or many.
--
-- KEYS[1]  lock   hash: owner token -> depth, and a leader's value behind it, which stays; its TTL is the lease
-- ARGV[1]  token  <client uuid>:<n>
-- ARGV[2]  lease  ms, 1 to a day
-- ARGV[3]  depth  reentry count, 1 or more
-- ARGV[4]  fence  ms, how long the fence is kept from now, at least for the lease; 0: it is left alone
--
-- Returns  1  still held, for at least the lease from now
--          2  the same, and its key had no TTL (after PERSIST, or in a restored copy); it has one again
--          0  not held, nothing was done
--
-- Many: no KEYS; ARGV[1] is fence, for all, and then come lock, token, lease and depth of one after the other.
-- Returns these answers in their order, where -1 says that this one was refused: renewed by itself, it is told why.
--
-- It never creates the lock and never shortens its TTL. One key, so it works in a cluster's slot that is moving,
-- where a script with a missing key is refused; of many no key is named, as one that is not permitted would keep all
-- from being renewed. PEXPIRE also where the TTL is long enough: without a write, a replica with old data would say
-- yes. PEXPIRE first, because a full server lets it pass, and HSET after it. HSET may be refused: the depth is for
-- people who look, the hold does not hang on it. GT, which Redis before 7.0 does not know, is for the usual case,
-- that the TTL grows, where one command will do.
--
-- The fence of a hold is kept for as long as that is renewed, and touched when half of that time is over. Its key is
-- not named, for the reason above: where it is not here, or not permitted, that is no error of the renewal. A key
-- without a TTL is not ours.

local call, try, gt = redis.call, redis.pcall, redis.REDIS_VERSION_NUM and 'GT'

local function renew(KEYS, token, lease, depth, keep)
	local ms, ttl = lease + 0, 0
	if ms < 1 or ms > 86400000 then return -1 end
	local was = call('HGET', KEYS[1], token)
	if not was then return 0 end
	if not gt or call('PEXPIRE', KEYS[1], lease, gt) == 0 then
		ttl = call('PTTL', KEYS[1])
		call('PEXPIRE', KEYS[1], ttl < ms and lease or ttl)
	end
	if was ~= depth then
		local number, value = string.match(was, '^(%d+)( .*)$')
		if number ~= depth then try('HSET', KEYS[1], token, depth .. (value or '')) end
	end
	if keep ~= '0' then
		if ms > keep + 0 then keep = lease end
		local left = try('PTTL', KEYS[1] .. ':fence')
		if type(left) == 'number' and left >= 0 and left <= keep / 2 then try('PEXPIRE', KEYS[1] .. ':fence', keep) end
	end
	return ttl < 0 and 2 or 1
end

if #KEYS == 1 then
	local answer = renew(KEYS, ARGV[1], ARGV[2], ARGV[3], ARGV[4])
	return answer >= 0 and answer or {err = 'ERR leash: a lease has 1 to 86400000 ms'}
end

local key, answers, at = {}, {}, 2
-- From the one at ARGV[at] on, until one is refused.
local function renew_others()
	local args, keep = ARGV, ARGV[1]
	for i = at, #args, 4 do
		at, key[1] = i, args[i]
		answers[(i + 2) / 4] = renew(key, args[i + 1], args[i + 2], args[i + 3], keep)
	end
end
while not pcall(renew_others) do
	answers[(at + 2) / 4] = -1
	at = at + 4
end
return answers
