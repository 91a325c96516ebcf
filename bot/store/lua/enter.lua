-- Puts a run at the end of a namespace's line, once, and returns its place.
-- KEYS: 1 line
-- ARGV: 1 run, 2 most that may stand in line
local line = redis.call('LRANGE', KEYS[1], 0, -1)
for i, id in ipairs(line) do
  if id == ARGV[1] then return i - 1 end
end
if #line >= tonumber(ARGV[2]) then return -1 end
redis.call('RPUSH', KEYS[1], ARGV[1])
return #line
