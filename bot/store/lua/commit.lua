-- Applies one change to a run and raises its version.
-- KEYS: 1 record, 2 inputs, 3 facts, 4 slots, 5 seen
-- ARGV: 1 version, 2 op, 3 release 0|1, 4 time to live in ms when the run ends, else 0,
--       5 number of fields, 6 number of facts, 7 number of consumed inputs,
--       then field, value, …; fact, …; input id, …
local r = redis.call('HMGET', KEYS[1], 'ver', 'op', 'closed')
if not r[1] then return {'NOTFOUND'} end
if r[2] == ARGV[2] then return {'OK', r[1]} end
if r[3] == '1' then return {'CLOSED'} end
if r[1] ~= ARGV[1] then return {'LOST'} end
local ttl, nfields, nfacts, ngone = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if #ARGV ~= 7 + 2 * nfields + nfacts + ngone then
  return redis.error_reply('labbot commit: wrong number of arguments')
end
local gone = {}
for i = 8 + 2 * nfields + nfacts, #ARGV do gone[ARGV[i]] = true end
local taken = {}
if ngone > 0 then
  for _, raw in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
    if gone[cjson.decode(raw).id] then taken[#taken + 1] = raw end
  end
end

-- Everything is checked: only writes from here.
local ver = string.format('%.0f', r[1] + 1)
for i = 8, 7 + 2 * nfields, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], 'ver', ver, 'op', ARGV[2])
for i = 8 + 2 * nfields, 7 + 2 * nfields + nfacts do redis.call('RPUSH', KEYS[3], ARGV[i]) end
for _, raw in ipairs(taken) do redis.call('LREM', KEYS[2], 1, raw) end
if ARGV[3] == '1' or ttl > 0 then redis.call('HSET', KEYS[1], 'owner', '', 'until', '0') end
if ttl > 0 then
  redis.call('HSET', KEYS[1], 'closed', '1')
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ttl) end
end
return {'OK', ver}
