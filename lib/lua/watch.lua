-- Who leads, and what it says of itself; or whether that is another one than before. Changes nothing.
--
-- KEYS[1]  lock   hash: owner token -> "<depth>" or "<depth> <value>"; its TTL is the lease
-- KEYS[2]  fence  string: the last fence issued
-- ARGV[1]  most   of how many leaders to tell; 0: only whether the state is another one
-- ARGV[2]  known  a state that was answered before; 0: none
--
-- Returns  {now, state, fence, ttl, token, value}  now: us of this server's TIME; fence: 0 if it is not known; ttl: ms
--                         until its lease ends, -1 if nobody leads or the key has no TTL; token: empty if nobody leads
--          now            most is 0, and the state is another one
--          {0, ttl, now}  most is 0, and it is `known`
--
-- The state is a number of 52 bits that follows from token and value: 1 where nobody leads. What is not a lock is
-- refused as the server refuses a key of another type.

local call = redis.call
local t = call('TIME')
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, 0, nil
--@include fence.inc
--@include holder.inc
local fields, token, value, state = call('HLEN', KEYS[1]), '', '', 1
if fields > 0 then
	local depth
	token, depth, value = read_holder(fields)
	if not token then return depth end
	state = 2 + tonumber(string.sub(redis.sha1hex(token .. ' ' .. value), 1, 13), 16)
end
local ttl = fields > 0 and call('PTTL', KEYS[1]) or -1
if ttl == 0 then ttl = 1 end
if ARGV[1] == '0' then
	if tonumber(ARGV[2]) ~= state then return now end
	return {0, ttl, now}
end
local last = tonumber(call('GET', KEYS[2]))
return {now, state, is_fence(last) and last or 0, ttl, token, value}
