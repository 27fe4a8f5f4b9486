-- Ask for a share of a lock, for permits, or for all of it; ask again; take a place: one step, idempotent for its
-- token.
--
-- KEYS[1]  lock       sorted set: who -> the moment at which its lease ends; see many.inc
-- KEYS[2]  fence      string: the last fence issued
-- KEYS[3]  queue      sorted set: places and waiting clients; exists only while somebody waits
-- KEYS[4]  limit      string: how many may be out, whatever the asks say; rarely there
-- ARGV[1]  who        "<token> <need>"; need: "w", "<k>/<n>", ">n" or "=n"
-- ARGV[2]  lease      ms, 1 to a day
-- ARGV[3]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[4]  cfg        as for acquire; claim 0: only try, take no place
--
-- Returns  fence          held now, for at least the lease from now
--          {0, ttl, now}  not held, and queued unless claim is 0; ttl: ms until the next lease ends, -1 if none does; 0
--                         if there is none yet and one should ask again at once; now: us of this server's TIME
--          {-1, 0, now}   too late, nothing was done; aim better with now
--
-- The two short ways come first: nobody is in, and nobody waits; and others share, nobody waits, and there is room for
-- one more. Both begin with a write that a full server refuses (SET; ZADD), and take back what they wrote where PEXPIRE
-- is refused, as acquire does. More than one permit goes the long way.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[3] + 0 then return {-1, 0, now} end
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local me, cfg, wanted = ARGV[1], ARGV[4], nil
local keep, step = string.match(cfg, '^%d+ (%d+)'), 1
--@include fence.inc
local us = #t[2] == 6 and t[1] .. t[2] or nil
local text = us or fence

local n = string.match(me, ' 1/(%d+)$', 38)
if n or string.sub(me, -2) == ' w' then
	local there = call('EXISTS', KEYS[1], KEYS[3], KEYS[4])
	if there == 0 then
		--@include issue.inc
		call('ZADD', KEYS[1], now + lease * 1000, me)
		local done = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
		if done == 1 then return fence end
		if redis.pcall('ZREM', KEYS[1], me) ~= 1 then redis.pcall('SET', KEYS[1], '', 'PX', '1') end
		return {err = done.err .. ' (PEXPIRE)'}
	end
	-- If there is a first holder, the one key that is there is the lock. If that lives nobody is to be swept.
	local first = n and there == 1
		and call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1') or {}
	if first[1] and first[2] + 0 > now and string.find(first[1], '/', 38, true) and string.byte(first[1], 37) == 58
		and (n == '0' or call('ZCOUNT', KEYS[1], '-inf', '+inf') < n + 0) then
		local last, left = tonumber(call('GET', KEYS[2])), call('PTTL', KEYS[2])
		local ttl = call('PTTL', KEYS[1])
		-- NX: who is a member already asks again. The fence of the others is ours; where it is gone the long way issues
		-- one, and to keep it is a matter of theirs, too.
		if is_fence(last) and call('ZADD', KEYS[1], 'NX', now + lease * 1000, me) == 1 then
			local done = ttl >= lease and 1 or redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
			if done == 1 then
				if left >= 0 and left < math.max(kept / 2, lease) then redis.pcall('PEXPIRE', KEYS[2], kept) end
				return last
			end
			if redis.pcall('ZREM', KEYS[1], me) ~= 1 then redis.pcall('ZADD', KEYS[1], '1', me) end
			return {err = done.err .. ' (PEXPIRE)'}
		end
	end
end

local claim, alive = string.match(cfg, '^(%d+) %d+ (%d+)')
--@include many.inc
--@include hand_on.inc
--@include round.inc
if not need(me) or string.sub(me, -2) == ' +' then
	return {err = 'ERR leash: a need is w, 1 to 1000 permits of no fewer, or what a gate wants'}
end
look()
local last = call('ZREVRANGE', KEYS[3], '0', '0', 'WITHSCORES')
agree(me, last[1])
local mine = keep_on(me, ARGV[2])
if mine then return mine end
local tail = tonumber(last[2])
local left, refused, both, ttl = nil, nil, true, 0 -- look() has seen to who holds
if not tail and room(me) then
	refused, mine = give(me, ARGV[2], us)
	return refused or mine
end
local waits = tail
tail = tail or 0
if claim ~= '0' then
	--@include place.inc
end
if not waits or alone then return {0, next_end(), now} end
left, mine, refused = let_in(us, me, nil, claim == '0')
if left == nil and not mine and room(me) then -- none of them lives, and this caller only tries
	refused, mine = give(me, ARGV[2], us)
end
if mine or refused then return mine or refused end
return {0, left == false and 0 or next_end(), now}
