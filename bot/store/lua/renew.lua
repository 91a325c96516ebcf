-- Prolongs a claim and reads the waiting inputs.
-- KEYS: 1 record, 2 inputs
-- ARGV: 1 owner, 2 ttl in ms
-- A claim that has run out may be renewed as long as nobody has taken the run:
-- taking it always changes the owner.
local r = redis.call('HMGET', KEYS[1], 'ver', 'owner', 'closed')
if not r[1] then return {'NOTFOUND'} end
if r[3] == '1' then return {'CLOSED'} end
if r[2] ~= ARGV[1] then return {'LOST'} end
local ttl = tonumber(ARGV[2])
if not ttl or ttl <= 0 then return redis.error_reply('labbot renew: bad ttl') end
local t = redis.call('TIME')
redis.call('HSET', KEYS[1], 'until', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ttl))
return {'OK', redis.call('LRANGE', KEYS[2], 0, -1)}
