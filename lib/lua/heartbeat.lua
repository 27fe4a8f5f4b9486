-- The heartbeat (word) of a client that waits: its places stay alive, a free lock moves on, and each of its tokens
-- learns where it stands. It makes no place, and takes no lock for a token that has none: a late word does nothing
-- for a dead token.
--
-- KEYS[1]     lock    hash: owner token -> depth; its TTL is the lease
-- KEYS[2]     fence   string: the last fence issued
-- KEYS[3]     queue   sorted set: places and waiting clients
-- ARGV[1]     client  uuid, 36 characters
-- ARGV[2]     lease   ms, 1 to a day
-- ARGV[3]...  tokens  of this client, one or more
-- ARGV[...]   cfg     as at the asks of these tokens, since the claim is a part of their places; claim 0: at a server
--                     of a quorum, without a queue
-- ARGV[last]  wanted  optional, with claim 0: the fence, as for acquire, where the server knows none any more
--
-- Returns  {now, ttl, s...}  now: us of this server's TIME; ttl: ms left to the holder, -1 if its key has no TTL, 0 if
--                            there is none; for each token s > 0: held, for at least the lease from now, and s is the
--                            fence; 0: queued; -1: unknown, the token is dead
--
-- ZSCORE comes first to refuse a key that is not a queue, to which PEXPIRE would give a TTL. PEXPIRE is the first
-- write: a full server lets it pass, and with it all that follow.

local call = redis.call
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local wanted = tonumber(ARGV[#ARGV])
local tokens = wanted and #ARGV - 2 or #ARGV - 1
local cfg = ARGV[tokens + 1]
local claim, keep = string.match(cfg, '^(%d+) (%d+)')
local queues = claim ~= '0'
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
--@include fence.inc
--@include one.inc
--@include hand_on.inc

if queues then
	call('ZSCORE', KEYS[3], ARGV[1])
	local left = call('PTTL', KEYS[3])
	if call('PEXPIRE', KEYS[3], left < 2 * alive and 2 * alive or left) == 1 then
		call('ZADD', KEYS[3], -now, ARGV[1])
	end
end

local ttl = call('PTTL', KEYS[1])
if ttl == -2 then
	local left, _, refused
	if queues then left, _, refused = hand_on() end
	if refused then return refused end
	ttl = left and call('PTTL', KEYS[1]) or 0
end

local out = {now, ttl}
for i = 3, tokens do
	local s = -1
	if call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
		local last = tonumber(call('GET', KEYS[2]))
		out[2] = math.max(ttl, lease)
		call('PEXPIRE', KEYS[1], out[2])
		s = fence_there(last)
	elseif queues and call('ZSCORE', KEYS[3], ARGV[i] .. ' ' .. claim) then
		s = 0
	end
	out[#out + 1] = s
end
return out
