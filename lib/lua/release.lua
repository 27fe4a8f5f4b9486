-- Release, leave and cancel in one: after it the token holds nothing and waits for nothing. A lock that became free by
-- it, or was found free, is handed on.
--
-- KEYS[1]  lock   hash: owner token -> depth
-- KEYS[2]  fence  string: the last fence issued
-- KEYS[3]  queue  sorted set: places and waiting clients
-- ARGV[1]  token  <client uuid>:<n>
-- ARGV[2]  cfg    as at the ask of this token, since the claim is a part of its place
--
-- Returns  1  it held the lock, which is released
--          2  it had a place in the queue, which is gone
--          0  nothing was known of it
--
-- HDEL is the first write: a full server lets it pass, and with it all that follow. Once it is done the answer must say
-- so: whatever is refused after it, and whatever becomes of the grant, is no error of this step.

local call = redis.call
local found = call('HDEL', KEYS[1], ARGV[1])
if found == 1 then
	-- Both: somebody else's field is in the lock. One: the queue; or the lock, and hand_on finds that nobody waits.
	if redis.pcall('EXISTS', KEYS[1], KEYS[3]) ~= 1 then return 1 end
elseif redis.pcall('EXISTS', KEYS[3]) == 0 then
	return 0
elseif call('ZREM', KEYS[3], ARGV[1] .. ' ' .. string.match(ARGV[2], '^%d+')) == 1 then
	found = 2
	if redis.pcall('ZCOUNT', KEYS[3], '(0', '+inf') == 0 then
		redis.pcall('DEL', KEYS[3])
		return 2
	end
end
if found ~= 1 and redis.pcall('EXISTS', KEYS[1]) ~= 0 then return found end

--@include hand_on.inc
pcall(function()
	local t = call('TIME')
	hand_on(t[1] * 1000000 + t[2], nil, #t[2] == 6 and t[1] .. t[2] or nil)
end)
return found
