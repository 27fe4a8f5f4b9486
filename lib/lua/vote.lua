-- Ask one server of a quorum for the lock, or ask again: idempotent for its token. There is no queue.
--
-- KEYS[1]  lock       hash: owner token -> depth; its TTL is the lease
-- KEYS[2]  fence      string: the last fence issued or heard of
-- ARGV[1]  token      <client uuid>:<n>
-- ARGV[2]  lease      ms, 1 to a day
-- ARGV[3]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[4]  proposal   the fence that the client would like, 1 or more; about the time in us
-- ARGV[5]  fence ms   how long the fence is kept from now; at least for the lease
--
-- Returns  fence          this server's vote is the token's, for at least the lease from now; asked again while it is: the same fence
--          {0, ttl, now}  it is another's; ttl: ms left to that one, -1 if its key has no TTL; now: us of this server's TIME
--          {-1, 0, now}   too late, nothing was done; aim better with now
--
-- The fence is the proposal, so that all servers answer the same, or last + 1 where that is larger. It is at most an hour ahead
-- of this server's clock, so that one client whose clock is wrong does not use up the numbers of all. Nor is it further behind the
-- clock than the last one is kept: what has ended here was smaller than that. What is no fence is replaced, and one that is ahead of
-- the clock stays longer, as in hand_on.inc. What follows SET is done as in acquire.lua: HSET before PEXPIRE, and where that is refused
-- the lock goes again.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[3] + 0 then return {-1, 0, now} end
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end

local function is_fence(n) return n and n >= 1 and n <= now + 31536000000000 end
local function ttl_of(fence) return math.max(lease, ARGV[5] + 0) + math.max(0, math.ceil((fence - now) / 1000)) end

local function next_fence()
	local fence = math.max(math.min(ARGV[4] + 0, now + 3600000000), now - ARGV[5] * 1000 + 1)
	local last = tonumber(call('SET', KEYS[2], fence, 'PX', ttl_of(fence), 'GET'))
	if is_fence(last) and last >= fence then
		fence = last + 1
		call('SET', KEYS[2], fence, 'PX', ttl_of(fence))
	end
	return fence
end

local ttl = call('PTTL', KEYS[1])
if ttl == -2 then
	local fence = next_fence()
	call('HSET', KEYS[1], ARGV[1], '1')
	local done = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
	if done == 1 then return fence end
	if redis.pcall('HDEL', KEYS[1], ARGV[1]) ~= 1 then redis.pcall('SET', KEYS[1], '', 'PX', '1') end
	return {err = done.err .. ' (PEXPIRE)'}
end

-- Always a write, so that a replica with old data cannot say yes.
if call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	local fence = tonumber(call('GET', KEYS[2]))
	call('PEXPIRE', KEYS[1], ttl < lease and ARGV[2] or ttl)
	return is_fence(fence) and fence or next_fence()
end
return {0, ttl, now}
