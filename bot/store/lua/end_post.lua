-- Records a message and its content. A slot keeps its first ts.
-- KEYS: 1 record, 2 slots
-- ARGV: 1 slot, 2 ts, 3 hash
if redis.call('EXISTS', KEYS[1]) == 0 then return {'NOTFOUND'} end
if ARGV[2] == '' then return redis.error_reply('labbot end_post: ts is empty') end
local old = redis.call('HGET', KEYS[2], ARGV[1])
local p = old and cjson.decode(old) or {}
if p.ts and p.ts ~= '' and p.ts ~= ARGV[2] then return {'OK', old} end
if not p.since then
  local t = redis.call('TIME')
  p.since = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
end
local new = cjson.encode({since = p.since, op = p.op or '', ts = ARGV[2], hash = ARGV[3]})
redis.call('HSET', KEYS[2], ARGV[1], new)
local ttl = redis.call('PTTL', KEYS[1])
if ttl > 0 then redis.call('PEXPIRE', KEYS[2], ttl) end
return {'OK', new}
