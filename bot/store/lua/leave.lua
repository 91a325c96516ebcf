-- Takes a run out of a namespace's line and returns who is first now.
-- KEYS: 1 line
-- ARGV: 1 run
redis.call('LREM', KEYS[1], 0, ARGV[1])
return redis.call('LINDEX', KEYS[1], 0) or ''
