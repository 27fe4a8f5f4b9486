-- Ask for the lock, ask again, take a place in its queue: one step, idempotent for its token.
--
-- KEYS[1]  lock       hash: owner token -> depth; its TTL is the lease
-- KEYS[2]  fence      string: the last fence issued
-- KEYS[3]  queue      sorted set: places and waiting clients; exists only while somebody waits
-- ARGV[1]  token      <client uuid>:<n>
-- ARGV[2]  lease      ms, 1 to a day
-- ARGV[3]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[4]  cfg        "<claim ms> <fence ms> <alive ms> <exact> <PUBLISH|SPUBLISH> <channel prefix>"; claim 0: only try, take no place
--
-- Returns  fence          held now, for at least the lease from now
--          {0, ttl, now}  not held, and queued unless claim is 0; ttl: ms left to the holder, -1 if its key has no TTL, 0
--                         if there is none yet and one should ask again at once; now: us of this server's TIME
--          {-1, 0, now}   too late, nothing was done; aim better with now
--
-- The uncontended way comes first and creates no closure. Its first write is one that a full server refuses (SET). Redis up
-- to 7.0 takes 0.5 us to print a number as an argument, so the time is put together from its texts where that is right.
-- HSET before PEXPIRE, because only a key can have a TTL. Where PEXPIRE is refused the lock goes again, if need be by a
-- command that is known to be permitted: SET ran a few lines before.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[3] + 0 then return {-1, 0, now} end
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end

if call('EXISTS', KEYS[1], KEYS[3]) == 0 then
	-- As fence_for() in hand_on.inc.
	local us, keep = #t[2] == 6 and t[1] .. t[2] or now, string.match(ARGV[4], '^%d+ (%d+)')
	if lease > keep + 0 then keep = ARGV[2] end
	local last = tonumber(call('SET', KEYS[2], us, 'PX', keep, 'GET'))
	if last and last >= now and last <= now + 31536000000000 then
		call('SET', KEYS[2], last + 1, 'PX', keep + math.ceil((last + 1 - now) / 1000))
		now = last + 1
	end
	call('HSET', KEYS[1], ARGV[1], '1')
	local done = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
	if done == 1 then return now end
	if redis.pcall('HDEL', KEYS[1], ARGV[1]) ~= 1 then redis.pcall('SET', KEYS[1], '', 'PX', '1') end
	return {err = done.err .. ' (PEXPIRE)'} -- what is raised says its line, what is returned has to say its command
end

--@include hand_on.inc
if lease > keep + 0 then keep = ARGV[2] end
local me = ARGV[1]
local ttl = call('PTTL', KEYS[1])

-- Asked again, or granted meanwhile. Always a write, so that a replica with old data cannot say yes.
if ttl ~= -2 and call('HEXISTS', KEYS[1], me) == 1 then
	local fence = tonumber(call('GET', KEYS[2]))
	call('PEXPIRE', KEYS[1], ttl < lease and ARGV[2] or ttl)
	return fence_there(now, fence)
end

if claim ~= '0' then
	-- Place and client in one ZADD, the first write: a full server refuses it, and there is never one without the other.
	-- A place that is there already keeps its rank; a new one comes last, also when the clock went back.
	local client, place, until_us = string.sub(me, 1, 36), me .. ' ' .. claim, now + alive * 1000
	local left = call('PTTL', KEYS[3])
	local placed = call('ZSCORE', KEYS[3], place)
	if placed then
		call('ZADD', KEYS[3], -until_us, client)
	else
		local tail = tonumber(call('ZREVRANGE', KEYS[3], '0', '0', 'WITHSCORES')[2] or 0)
		call('ZADD', KEYS[3], tail < now and now or tail + 1, place, -until_us, client)
	end
	local done = redis.pcall('PEXPIRE', KEYS[3], math.max(left, 2 * alive))
	if done ~= 1 then
		-- A queue that was there before has a TTL. A new one goes again.
		if left == -2 and redis.pcall('ZREM', KEYS[3], place, client) ~= 2 then
			redis.pcall('SET', KEYS[3], '', 'PX', '1')
		end
		return {err = done.err .. ' (PEXPIRE)'}
	end
end

if ttl == -2 then
	-- Free, but others were first: the holder's lease ran out, or the client that released may not hand on.
	local token, fence = hand_on(now, me)
	if token == me then return fence end
	if token == nil then
		-- None of them lives, and this caller only tries.
		fence = fence_for(now)
		return give(me, ARGV[2]) or fence
	end
	if token == false then return fence or {0, 0, now} end
	ttl = call('PTTL', KEYS[1])
end
return {0, ttl, now}
