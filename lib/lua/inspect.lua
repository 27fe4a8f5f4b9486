-- Look at a lock of whatever kind: who has it, for how long still, and how many wait. Changes nothing.
--
-- KEYS[1]  lock   hash: owner token -> depth; its TTL is the lease. Or sorted set, as for share_acquire
-- KEYS[2]  fence  string: the last fence issued
-- KEYS[3]  queue  sorted set: places and waiting clients
-- KEYS[4]  limit  string: an operator's, of what is shared
-- ARGV[1]  most   how many holds to tell of, 0 to 1000
--
-- Returns  {now, out, waiting, fence, limit, who, ttl, who, ttl...}
--          now: us of this server's TIME; out: how many permits, or shares, are out, and 1 of a mutex that is held;
--          waiting: places in the queue; fence: 0 if it is not known; limit: -1 if there is none; then each hold,
--          those whose leases end last first, with ms until its lease ends. who: "<token> <depth>" of a mutex, whose
--          ttl is -1 if the key has no TTL; else "<token> <need>". Of a gate where nobody is in: the first who waits,
--          with a ttl of 0
--
-- HLEN says by its error that the key is no hash. A hold of k permits has k members, so that it reads more than it
-- tells of, by pages. What is not a lock is refused as the server refuses a key of another type.

local call = redis.call
local t = call('TIME')
local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, 0, nil
--@include fence.inc
--@include holder.inc
local fields = redis.pcall('HLEN', KEYS[1])
local is_hash = type(fields) == 'number'
if not is_hash and not string.find(fields.err, 'WRONGTYPE', 1, true) then
	return {err = fields.err .. ' (HLEN)'}
end
local last, limit = tonumber(call('GET', KEYS[2])), tonumber(call('GET', KEYS[4]))
if not is_fence(last) then last = 0 end
if not (limit and limit >= 0 and limit <= 1000000) then limit = -1 end
local live = '(' .. string.format('%.0f', now)
local members = is_hash and 0 or call('ZCOUNT', KEYS[1], live, '+inf')
local out = {now, members, call('ZCOUNT', KEYS[3], '(0', '+inf'), last, limit}
local room = #out + 2 * math.min(ARGV[1] + 0, 1000)

if is_hash and fields > 0 then
	local token, depth = read_holder(fields)
	if not token then return depth end
	local ttl = call('PTTL', KEYS[1])
	out[2] = 1
	if room > #out then out[6], out[7] = string.format('%s %.0f', token, depth), ttl == 0 and 1 or ttl end
end

for from = 0, members - 1, 200 do
	if from > 0 and (#out >= room or members == 0) then break end
	local some = call('ZREVRANGE', KEYS[1], from, from + 199, 'WITHSCORES')
	for i = 1, #some, 2 do
		local who, left = some[i], some[i + 1] - now
		if string.byte(who, 37) ~= 58 then
			return {err = 'WRONGTYPE leash: the sorted set is not a lock: it holds what is no owner token'}
		end
		if string.find(who, ' =', 38, true) then -- nobody has a barrier
			members, out[2] = 0, 0
			break
		end
		if left > 0 and #out < room and not string.find(who, '^%S+ %S+ ') then
			out[#out + 1], out[#out + 2] = who, math.ceil(left / 1000)
		end
	end
end
if out[2] == 0 and out[3] > 0 and #out < room then
	local place = redis.pcall('ZRANGEBYSCORE', KEYS[3], '(0', '+inf', 'LIMIT', '0', '1')[1]
	local who = place and string.match(place, '^(%S+ [>=]%d+) ')
	if who and string.byte(who, 37) == 58 then out[6], out[7] = who, 0 end
end
return out
