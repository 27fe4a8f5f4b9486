-- Release, leave and cancel in one: after it the token holds nothing and waits for nothing. A lock that became free by
-- it, or was found free, is handed on.
--
-- KEYS[1]  lock   hash: owner token -> depth
-- KEYS[2]  fence  string: the last fence issued
-- KEYS[3]  queue  sorted set: places and waiting clients
-- ARGV[1]  token  <client uuid>:<n>
-- ARGV[2]  cfg    as at the ask of this token, since the claim is a part of its place; claim 0: at a server of a
--                 quorum, without a queue
-- ARGV[3]  watch  PUBLISH or SPUBLISH, if it may be watched as a leader: all who watch are told; else not there
--
-- Returns  1  it held the lock, which is released
--          2  it had a place in the queue, which is gone
--          0  nothing was known of it
--
-- HDEL is the first write: a full server lets it pass, and with it all that follow. Once it is done the answer must say
-- so: whatever is refused after it, and whatever becomes of the grant, is no error of this step.

local call = redis.call
local found = call('HDEL', KEYS[1], ARGV[1])
if string.byte(ARGV[2]) == 48 then return found end -- claim 0
local cmd = ARGV[3]
if cmd and found == 1 then
	--@include watched.inc
end
local places
if found == 1 then
	places = redis.pcall('ZRANGEBYSCORE', KEYS[3], '(0', '+inf', 'WITHSCORES', 'LIMIT', '0', '2')
	if not places[1] then return 1 end -- nobody waits, or that may not be known
	-- In a cluster's slot that is moving nobody would be heard to listen. There two keys at once are refused if one
	-- is missing.
	local publishes = string.find(ARGV[2], ' 1 PUBLISH ', 1, true)
	if not publishes and redis.pcall('EXISTS', KEYS[1], KEYS[3]) ~= 1 then return 1 end
else
	local there = call('EXISTS', KEYS[1], KEYS[3], KEYS[3]) -- 0, 1: there is no queue; 2: only that; 3: the lock, too
	if there < 2 then return 0 end
	if call('ZREM', KEYS[3], ARGV[1] .. ' ' .. string.match(ARGV[2], '^%d+')) == 1 then found = 2 end
	if there == 3 then
		if found == 2 and redis.pcall('ZCOUNT', KEYS[3], '(0', '+inf') == 0 then redis.pcall('DEL', KEYS[3]) end
		return found
	end
end

pcall(function()
	local t, cfg = call('TIME'), ARGV[2]
	local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, string.match(cfg, '^%d+ (%d+)'), nil
	--@include fence.inc
	--@include one.inc
	--@include hand_on.inc
	hand_on(#t[2] == 6 and t[1] .. t[2] or nil, nil, places)
end)
return found
