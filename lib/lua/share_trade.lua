-- Hold something else in place of what is held, at once or not at all: to write in place of to read, if nobody else is
-- in; to read in place of to write; fewer permits, or more. Nobody waits in it: two who waited here would wait for each
-- other for ever.
--
-- KEYS     as for share_acquire
-- ARGV[1]  old        "<token> <need>", which holds
-- ARGV[2]  new        "<token> <need>", with a token that nothing was asked for before
-- ARGV[3]  lease      ms, 1 to a day
-- ARGV[4]  not_after  us of this server's TIME; a command that comes later does nothing
-- ARGV[5]  cfg        as for acquire
--
-- Returns  fence        new is held, for at least the lease from now, and old is not
--          {0, ttl, now} there is no room: old is held on; ttl: ms until the next lease ends
--          {-1, 0, now} too late, nothing was done
--          -1           neither of them is held
--
-- Once it is done a copy that comes late finds nothing to trade: that is what the new token is for. Who is in already
-- goes before all who wait, but not to have more permits. Those at the front of the queue come in for whom there is
-- room then.
--
-- What is new is written first, by a write that a full server refuses; so is ZREM of what is old, or the new is taken
-- back. Whatever is refused behind that is no error of this step.

local call = redis.call
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
if now > ARGV[4] + 0 then return {-1, 0, now} end
local lease = ARGV[3] + 0
if lease < 1 or lease > 86400000 then return {err = 'ERR leash: a lease has 1 to 86400000 ms'} end
local old, new, cfg, wanted = ARGV[1], ARGV[2], ARGV[5], nil
local keep = string.match(cfg, '^%d+ (%d+)')
--@include fence.inc
--@include many.inc
--@include hand_on.inc
local had, of = need(old)
local wants, below = need(new)
if not had or not wants or use_of(old) ~= 'w' or use_of(new) ~= 'w' then
	return {err = 'ERR leash: what is traded is w, or 1 to 1000 permits of no fewer'}
end
local mine = keep_on(new, ARGV[3])
if mine then return mine end
if tonumber(call('ZSCORE', KEYS[1], old) or 0) <= now then return -1 end
look()
used = used - had
if used == 0 then alone = false end
local less = below and (not of or wants <= had)
if not less and (not room(new) or of and below and call('EXISTS', KEYS[3]) == 1) then
	return {0, next_end(), now}
end

local us = #t[2] == 6 and t[1] .. t[2] or nil
local refused, fence_of_new = give(new, ARGV[3], us)
if refused then return refused end
local gone = redis.pcall('ZREM', KEYS[1], members(old))
if type(gone) ~= 'number' then
	take_back(new)
	return {err = gone.err .. ' (ZREM)'}
end
if not alone then pcall(function() if call('EXISTS', KEYS[3]) == 1 then hand_on() end end) end
return fence_of_new
