-- Makes an owner the holder of a run and raises the version.
-- KEYS: 1 record, 2 inputs
-- ARGV: 1 version or -1, 2 owner "instance/boot", 3 ttl in ms, 4 op
local r = redis.call('HMGET', KEYS[1], 'ver', 'owner', 'until', 'op', 'closed')
local ver, owner, till, op, closed = r[1], r[2], r[3], r[4], r[5]
if not ver then return {'NOTFOUND'} end
if op ~= ARGV[4] then
  if closed == '1' then return {'CLOSED'} end
  if ARGV[1] ~= '-1' and ver ~= ARGV[1] then return {'LOST'} end
  local ttl = tonumber(ARGV[3])
  if not ttl or ttl <= 0 then return redis.error_reply('labbot claim: bad ttl') end
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.floor(t[2] / 1000)
  local instance = function(o) return string.match(o, '^[^/]*') end
  -- Another boot of the same instance cannot be alive: its claim is void.
  if owner and owner ~= '' and tonumber(till) > now and instance(owner) ~= instance(ARGV[2]) then
    return {'HELD', owner}
  end
  redis.call('HSET', KEYS[1], 'ver', string.format('%.0f', ver + 1), 'owner', ARGV[2],
    'until', string.format('%.0f', now + ttl), 'op', ARGV[4])
end
return {'OK', redis.call('HGETALL', KEYS[1]), redis.call('LRANGE', KEYS[2], 0, -1)}
