-- Release, leave and cancel in one: after it `who` holds nothing and waits for nothing, and all at the front of the
-- queue for whom there is room then have come in.
--
-- KEYS     as for share_acquire; or the lock only, in a slot that moves: then nobody comes in, and a place stays
-- ARGV[1]  who  "<token> <need>"
-- ARGV[2]  cfg  as at the ask of this token, since the claim is a part of its place
--
-- Returns  1  it held, which is released
--          2  it had a place in the queue, which is gone
--          0  nothing was known of it
--
-- ZREM is the first write: a full server lets it pass, and with it all that follow. Once it is done the answer must say
-- so: whatever is refused after it, and whatever becomes of the grants, is no error of this step.

local call = redis.call
local me, found, places = ARGV[1], nil, nil
local k = string.match(me, ' ([1-9]%d*)/', 38)
if k and k ~= '1' then
	local m = {me}
	for i = 2, math.min(k + 0, 1000) do m[i] = me .. ' ' .. i end
	found = call('ZREM', KEYS[1], unpack(m)) > 0 and 1 or 0
else
	found = call('ZREM', KEYS[1], me)
end
if not KEYS[2] then return found end
if found == 1 then
	places = redis.pcall('ZRANGEBYSCORE', KEYS[3], '(0', '+inf', 'WITHSCORES', 'LIMIT', '0', '2')
	if not places[1] then return 1 end -- nobody waits, or that may not be known
elseif call('EXISTS', KEYS[3]) == 0 then
	return 0
end
-- Whose lease has ended may be a member still, and have a place again.
local left = redis.pcall('ZREM', KEYS[3], me .. ' ' .. string.match(ARGV[2], '^%d+'))
if found == 0 and left ~= 0 and left ~= 1 then return left end
if left == 1 then
	found = 2
	places = redis.pcall('ZRANGEBYSCORE', KEYS[3], '(0', '+inf', 'WITHSCORES', 'LIMIT', '0', '2')
	if not places[1] then
		if not places.err then redis.pcall('DEL', KEYS[3]) end
		return 2
	end
end

pcall(function()
	local t, cfg = call('TIME'), ARGV[2]
	local now, lease, keep, wanted = t[1] * 1000000 + t[2], 0, string.match(cfg, '^%d+ (%d+)'), nil
	--@include fence.inc
	--@include many.inc
	--@include hand_on.inc
	--@include round.inc
	look()
	if not alone then let_in(#t[2] == 6 and t[1] .. t[2] or nil, nil, places) end
end)
return found
