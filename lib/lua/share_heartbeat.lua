-- The heartbeat (word) of a client that waits: its places stay alive, all at the front of the queue for whom there is
-- room come in, and each of its asks learns where it stands. It makes no place, and takes nothing for a token that has
-- none: a late word does nothing for a dead token.
--
-- KEYS        as for share_acquire
-- ARGV[1]     client  uuid, 36 characters
-- ARGV[2]     lease   ms, 1 to a day
-- ARGV[3]...  who     "<token> <need>" of this client, one or more
-- ARGV[last]  cfg     as at the asks of these tokens, since the claim is a part of their places
--
-- Returns  {now, ttl, s...}  now: us of this server's TIME; ttl: ms until the next lease ends, by what was there before
--                            this word, -1 if none does, 0 if one should come again at once; for each who s > 0: held,
--                            for at least the lease from now, and s is the fence; 0: queued; -1: unknown, the token
--                            is dead
--
-- ZSCORE comes first to refuse a key that is not a queue, to which PEXPIRE would give a TTL. PEXPIRE is the first
-- write: a full server lets it pass, and with it all that follow.

local call = redis.call
local lease = ARGV[2] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local cfg, wanted = ARGV[#ARGV], nil
local claim, keep = string.match(cfg, '^(%d+) (%d+)')
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
--@include fence.inc
--@include many.inc
--@include hand_on.inc
--@include round.inc

call('ZSCORE', KEYS[3], ARGV[1])
look()
local ttl, left, _, refused = call('PTTL', KEYS[3]), nil, nil, nil
if call('PEXPIRE', KEYS[3], ttl < 2 * alive and 2 * alive or ttl) == 1 then
	call('ZADD', KEYS[3], -now, ARGV[1])
	if not alone then left, _, refused = let_in() end
	if refused then return refused end
end

local out = {now, left == false and 0 or next_end()}
for i = 3, #ARGV - 1 do
	local s = need(ARGV[i]) and keep_on(ARGV[i], ARGV[2])
	if not s then s = call('ZSCORE', KEYS[3], ARGV[i] .. ' ' .. claim) and 0 or -1 end
	out[#out + 1] = s
end
return out
