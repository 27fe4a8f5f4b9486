-- Ask for the lock, ask again, take a place in its queue: one step, idempotent for its token.
--
-- KEYS[1]  lock       hash: owner token -> depth; its TTL is the lease
-- KEYS[2]  fence      string: the last fence issued
-- KEYS[3]  queue      sorted set: places and waiting clients; exists only while somebody waits
-- ARGV[1]  token      <client uuid>:<n>
-- ARGV[2]  lease      ms, 1 to a day
-- ARGV[3]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[4]  cfg        "<claim ms> <fence ms> <alive ms> <exact> <PUBLISH|SPUBLISH> <channel prefix>"; claim 0: only
--                     try, take no place
-- ARGV[5]  wanted     optional, with claim 0: at a server of a quorum, where there is no queue, the fence that the
--                     client would like
--
-- Returns  fence          held now, for at least the lease from now
--          {0, ttl, now}  not held, and queued unless claim is 0; ttl: ms left to the holder, -1 if its key has no TTL,
--                         or if others came a moment ago, who know it; 0 if there is none yet and one should ask again
--                         at once; now: us of this server's TIME
--          {-1, 0, now}   too late, nothing was done; aim better with now
--
-- The uncontended way comes first. Its first write is one that a full server refuses (SET). HSET before PEXPIRE,
-- because only a key can have a TTL. Where PEXPIRE is refused the lock goes again, if need be by a command that is
-- known to be permitted: SET ran a few lines before.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[3] + 0 then return {-1, 0, now} end
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local cfg, wanted = ARGV[4], ARGV[5] and ARGV[5] + 0
local keep, step = string.match(cfg, '^%d+ (%d+)'), 1
--@include fence.inc
local us = #t[2] == 6 and t[1] .. t[2] or nil
local text = not wanted and us or fence
local ttl = wanted and call('PTTL', KEYS[1])
local there = ttl and (ttl == -2 and 0 or 1) or not ttl and call('EXISTS', KEYS[1], KEYS[3])

if there == 0 then
	--@include issue.inc
	call('HSET', KEYS[1], ARGV[1], '1')
	local done = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
	if done == 1 then return fence end
	if redis.pcall('HDEL', KEYS[1], ARGV[1]) ~= 1 then redis.pcall('SET', KEYS[1], '', 'PX', '1') end
	return {err = done.err .. ' (PEXPIRE)'} -- what is raised says its line, what is returned has to say its command
end

local me = ARGV[1]
local claim, alive = string.match(cfg, '^(%d+) %d+ (%d+)')
-- Whose lease ends when is for the first in the queue to know, and for who tries; what others have who come now, see
-- below.
local both = there == 2
if not ttl and (not both or claim == '0') then ttl = call('PTTL', KEYS[1]) end
local free = ttl == -2
-- Asked again, or granted meanwhile?
local holds = not free and call('HEXISTS', KEYS[1], me) == 1

if claim ~= '0' and not holds then
	local last = call('ZREVRANGE', KEYS[3], '0', '0', 'WITHSCORES')
	local tail = tonumber(last[2] or 0)
	-- The place of who wants another kind of it: refused like a key of another type.
	if string.find(last[1] or '', ' %d*[w?>=/]%d* %d', 37) then call('HEXISTS', KEYS[3], '') end
	--@include place.inc
end
if not free and not holds then return {0, ttl or -1, now} end

--@include one.inc
--@include hand_on.inc
if holds then
	-- Always a write, so that a replica with old data cannot say yes.
	local last = tonumber(call('GET', KEYS[2]))
	ttl = ttl or call('PTTL', KEYS[1])
	call('PEXPIRE', KEYS[1], ttl < lease and ARGV[2] or ttl)
	return wanted and is_fence(last) and last or fence_there(last)
end

-- Free, but others were first: the holder's lease ran out, or the client that released may not hand on.
local left, mine, refused = hand_on(us, me)
if mine then return mine end
if left == nil then -- none of them lives, and this caller only tries
	refused, mine = give(me, ARGV[2], us)
	return refused or mine
end
if left == false then return refused or {0, 0, now} end
return {0, call('PTTL', KEYS[1]), now}
