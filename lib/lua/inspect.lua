-- Look at a lock: who has it, for how long still, and how many wait. Changes nothing.
--
-- KEYS[1]  lock   hash: owner token -> depth; its TTL is the lease
-- KEYS[2]  fence  string: the last fence issued
-- KEYS[3]  queue  sorted set: places and waiting clients
--
-- Returns  "<token> <depth> <ttl> <fence> <waiting> <now>"
--          token: "-" if nobody has it, and then depth is 0 and ttl -2; ttl: ms, -1 if the key has no TTL;
--          fence: 0 if it is not known; waiting: places in the queue; now: us of this server's TIME
--
-- One line, because a string costs less than a table. HLEN comes before HGETALL, because a hash that is not ours may
-- be of any size. What is not a lock is refused as the server refuses a key of another type.

local call = redis.call
local fields = call('HLEN', KEYS[1])
local token, depth, ttl = '-', 0, -2
if fields == 1 then
	local x, rest = '%x%x%x%x', '%-%x%x%x%x'
	local hash = call('HGETALL', KEYS[1])
	token, depth = hash[1], tonumber(hash[2])
	if #token > 57 or not string.match(token, '^' .. x .. x .. rest .. rest .. rest .. rest .. x .. x .. ':%d+$') then
		fields = 2
	end
	-- the hold does not hang on its depth: what is there and cannot be one counts as the least
	if not (depth and depth >= 1 and depth <= 65535) then depth = 1 end
	ttl = call('PTTL', KEYS[1])
end
if fields > 1 then
	return {err = 'WRONGTYPE leash: the hash is not a lock: its field is no owner token, or not the only one'}
end

local t = call('TIME')
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, 0, nil
--@include fence.inc
local last = tonumber(call('GET', KEYS[2]))
if not is_fence(last) then last = 0 end
local waiting = call('ZCOUNT', KEYS[3], '(0', '+inf')
return string.format('%s %.0f %.0f %.0f %.0f %.0f', token, depth, ttl, last, waiting, now)
