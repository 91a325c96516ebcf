-- Records a new run.
-- KEYS: 1 record
-- ARGV: 1 op, then field, value, …
-- The op makes a re-sent command the same as the first one.
local op = redis.call('HGET', KEYS[1], 'op')
if op == ARGV[1] then return {'OK'} end
if redis.call('EXISTS', KEYS[1]) == 1 then return {'EXISTS'} end
if (#ARGV - 1) % 2 ~= 0 then return redis.error_reply('labbot create: fields without value') end
redis.call('HSET', KEYS[1], 'op', ARGV[1], unpack(ARGV, 2))
return {'OK'}
