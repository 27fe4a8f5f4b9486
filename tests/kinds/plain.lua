-- The plain lock of tests/kinds/plain.c: not reentrant, its keys are others, and one script does all steps.
--
-- KEYS[1]  lock   string: "<token> <fence>"; its TTL is the lease
-- KEYS[2]  queue  sorted set: "<token> <claim ms>" at its arrival, us; exists only while somebody waits
-- ARGV[1]  step   acquire, renew, release or heartbeat; a number: inspect
-- ARGV[2]  cfg    "<claim ms> <fence ms> <alive ms> <exact> PUBLISH <channel prefix>"; claim 0: take no place
-- ARGV[3]  lease  ms
-- ARGV[4]  acquire: not_after, us of this server's TIME
-- ARGV[5]  token; more may follow for a heartbeat
--
-- Returns what the step of the same name in lib/lua returns. The fence is this server's TIME, which does not go back in
-- tests.

local call = redis.call
local lock, queue, step, lease = KEYS[1], KEYS[2], ARGV[1], ARGV[3]
local t = call('TIME')
local now = t[1] * 1000000 + t[2]
local claim, prefix = string.match(ARGV[2] or '', '^(%d+) .* (%S+)$')

local function holder()
	local token, fence = string.match(call('GET', lock) or '', '^(%S+) (%d+)$')
	return token, tonumber(fence)
end

local function give(token, ms)
	call('SET', lock, string.format('%s %.0f', token, now), 'PX', ms)
end

-- Give the free lock to the first who hears of it.
local function hand_on()
	local place = call('ZRANGE', queue, 0, 0)[1]
	while place do
		local token, ms = string.match(place, '^(%S+) (%d+)$')
		call('ZREM', queue, place)
		give(token, ms)
		if call('PUBLISH', prefix .. string.sub(token, 1, 36), string.format('g %s %.0f %s', token, now, lock)) > 0 then
			return
		end
		call('DEL', lock)
		place = call('ZRANGE', queue, 0, 0)[1]
	end
end

-- The lease of who has it is at least `lease` from now.
local function keep()
	if call('PTTL', lock) < lease + 0 then call('PEXPIRE', lock, lease) end
end

local token = ARGV[5]
local has, fence = holder()

if tonumber(step) then
	local told = {now, has and 1 or 0, call('ZCARD', queue), fence or 0, -1}
	if has then told[6], told[7] = has .. ' 1', call('PTTL', lock) end
	return told
end

if step == 'renew' then
	if has ~= token then return 0 end
	keep()
	return 1
end

if step == 'release' then
	local found = has == token and call('DEL', lock) or 2 * call('ZREM', queue, token .. ' ' .. claim)
	if not holder() then hand_on() end
	return found
end

if step == 'acquire' and now > ARGV[4] + 0 then return {-1, 0, now} end
if not has then
	hand_on()
	has, fence = holder()
end

if step == 'heartbeat' then
	local out = {now, 0}
	call('PEXPIRE', queue, 60000)
	for i = 5, #ARGV do
		local s = -1
		if has == ARGV[i] then
			keep()
			s = fence
		elseif call('ZSCORE', queue, ARGV[i] .. ' ' .. claim) then
			s = 0
		end
		out[#out + 1] = s
	end
	out[2] = math.max(call('PTTL', lock), 0)
	return out
end

if has == token then
	keep()
	return fence
elseif not has then
	give(token, lease)
	return now
elseif claim ~= '0' then
	call('ZADD', queue, 'NX', now, token .. ' ' .. claim)
	call('PEXPIRE', queue, 60000)
end
return {0, call('PTTL', lock), now}
