-- Records that a message is about to be posted; returns what was recorded before.
-- KEYS: 1 record, 2 slots
-- ARGV: 1 slot, 2 op
-- A re-sent command finds its own op and answers as it did the first time.
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTFOUND'} end
local old = redis.call('HGET', KEYS[2], ARGV[1])
if old then
  local p = cjson.decode(old)
  if p.op == ARGV[2] then return {'OK', ''} end
  return {'OK', old}
end
local t = redis.call('TIME')
local since = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
redis.call('HSET', KEYS[2], ARGV[1], cjson.encode({since = since, op = ARGV[2], ts = '', hash = ''}))
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then redis.call('PEXPIRE', KEYS[2], ttl) end
return {'OK', ''}
