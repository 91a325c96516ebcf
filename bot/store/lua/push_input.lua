-- Leaves an act of a person for the run's next step, once per id.
-- KEYS: 1 record, 2 inputs, 3 seen
-- ARGV: 1 input id, 2 input, 3 most that may wait
local r = redis.call('HMGET', KEYS[1], 'ver', 'owner', 'until', 'closed', 'cluster', 'namespace', 'channel')
if not r[1] then return {'NOTFOUND'} end
if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then
  if r[4] == '1' then return {'CLOSED'} end
  if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'FULL'} end
  redis.call('SADD', KEYS[3], ARGV[1])
  redis.call('RPUSH', KEYS[2], ARGV[2])
end
local t = redis.call('TIME')
return {'OK', r[1], r[2] or '', r[3] or '0', r[5] or '', r[6] or '', r[7] or '',
  redis.call('LLEN', KEYS[2]), string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))}
