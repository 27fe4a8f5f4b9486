-- Renew or extend a hold of what is shared; or many.
--
-- KEYS[1]  lock   sorted set: who -> the moment at which its lease ends
-- ARGV[1]  who    "<token> <need>"
-- ARGV[2]  lease  ms, 1 to a day
-- ARGV[3]  fence  ms, how long the fence is kept from now, at least for the lease; 0: it is left alone
--
-- Returns  1  still held, for at least the lease from now
--          2  the same, and its key had no TTL (after PERSIST, or in a restored copy); it has one again
--          0  not held, nothing was done
--
-- Many: no KEYS; ARGV[1] is fence, for all, and then come lock, who and lease of one after the other. Returns these
-- answers in their order, where -1 says that this one was refused: renewed by itself, it is told why.
--
-- It never creates a hold and never shortens one. What has ended stays so, also where nobody has swept it yet. For the
-- rest see renew.lua: one key, or none that is named; PEXPIRE first, which a full server lets pass, and always; then
-- ZADD; and the fence last, whose key is not named.

local call, try, gt = redis.call, redis.pcall, redis.REDIS_VERSION_NUM and 'GT'
local t = call('TIME')
local now = t[1] * 1000000 + t[2]

local function renew(KEYS, who, lease, keep)
	local ms, ttl = lease + 0, 0
	if ms < 1 or ms > 86400000 then return -1 end
	local moment = call('ZSCORE', KEYS[1], who)
	if not moment or moment + 0 <= now then return 0 end
	if not gt or call('PEXPIRE', KEYS[1], lease, gt) == 0 then
		ttl = call('PTTL', KEYS[1])
		call('PEXPIRE', KEYS[1], ttl < ms and lease or ttl)
	end
	moment = math.max(moment, now + ms * 1000)
	local k = string.match(who, ' ([1-9]%d*)/', 38)
	if k and k ~= '1' then
		local m = {moment, who}
		for i = 2, math.min(k + 0, 1000) do
			m[#m + 1] = moment
			m[#m + 1] = who .. ' ' .. i
		end
		call('ZADD', KEYS[1], unpack(m))
	else
		call('ZADD', KEYS[1], moment, who)
	end
	if keep ~= '0' then
		if ms > keep + 0 then keep = lease end
		local left = try('PTTL', KEYS[1] .. ':fence')
		if type(left) == 'number' and left >= 0 and left <= keep / 2 then try('PEXPIRE', KEYS[1] .. ':fence', keep) end
	end
	return ttl < 0 and 2 or 1
end

if #KEYS == 1 then
	local answer = renew(KEYS, ARGV[1], ARGV[2], ARGV[3])
	return answer >= 0 and answer or {err = 'ERR leash: a lease has 1 to 86400000 ms'}
end

local key, answers, at = {}, {}, 2
-- From the one at ARGV[at] on, until one is refused.
local function renew_others()
	local args, keep = ARGV, ARGV[1]
	for i = at, #args, 3 do
		at, key[1] = i, args[i]
		answers[(i + 1) / 3] = renew(key, args[i + 1], args[i + 2], keep)
	end
end
while not pcall(renew_others) do
	answers[(at + 1) / 3] = -1
	at = at + 3
end
return answers
