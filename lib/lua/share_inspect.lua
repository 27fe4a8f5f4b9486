-- Look at what is shared: who holds how much, for how long still, and how many wait. Changes nothing.
--
-- KEYS     as for share_acquire
-- ARGV[1]  most  how many holds to tell of, 0 to 1000
--
-- Returns  {now, out, waiting, fence, limit, who, ttl, who, ttl...}
--          now: us of this server's TIME; out: how many permits, or shares, are out; waiting: places in the queue;
--          fence: 0 if it is not known; limit: -1 if there is none; then each hold, those whose leases end last first,
--          with ms until its lease ends
--
-- A hold of k permits has k members, so that it reads more than it tells of, by pages. What is not a lock is refused as
-- the server refuses a key of another type.

local call = redis.call
local most = ARGV[1] + 0
local t = call('TIME')
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, 0, nil
--@include fence.inc
local live = '(' .. string.format('%.0f', now)
local last, limit = tonumber(call('GET', KEYS[2])), tonumber(call('GET', KEYS[4]))
if not is_fence(last) then last = 0 end
if not (limit and limit >= 0 and limit <= 1000000) then limit = -1 end
local out = {now, call('ZCOUNT', KEYS[1], live, '+inf'), call('ZCOUNT', KEYS[3], '(0', '+inf'), last, limit}
local room = #out + 2 * math.min(most, 1000)
for from = 0, out[2] - 1, 200 do
	if #out >= room then break end
	local some = call('ZREVRANGE', KEYS[1], from, from + 199, 'WITHSCORES')
	for i = 1, #some, 2 do
		local who, left = some[i], some[i + 1] - now
		if string.byte(who, 37) ~= 58 then
			return {err = 'WRONGTYPE leash: the sorted set is not a lock: it holds what is no owner token'}
		end
		if left > 0 and #out < room and not string.find(who, '^%S+ %S+ ') then
			out[#out + 1], out[#out + 2] = who, math.ceil(left / 1000)
		end
	end
end
return out
