"""What must happen in one step on the server, as Lua.

Scripts rather than WATCH: the check of life and fencing number and the change itself are one step in one round
trip, in the slot of that life, and two writers never make each other begin again. A frame's bytes never pass
through Lua: they are SET under a staged key, and the script renames it, or removes it where the write is refused.

Each script gets ``LifeKeys.all_declared()`` as its keys and the life's root as ARGV[1]; frame keys are made from
that root, so they lie in the same slot. Times are printed with ``%.0f``: Lua's own conversion loses digits.
"""

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Script:
    """One script and the name the server keeps it under."""

    text: str
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


_COMMON = """
local life, index, gone = KEYS[1], KEYS[2], KEYS[3]
local records, starts, ends = KEYS[4], KEYS[5], KEYS[6]
local root = ARGV[1]

local function whole(n) return string.format('%.0f', n) end
local function size_of(entry) return tonumber(string.match(entry, '^(%d+):')) or 0 end

local function refusal(fence)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local kept = redis.call('HGET', life, 'fence')
  if not kept then return 'missing' end
  if fence and tonumber(kept) ~= tonumber(fence) then return 'fenced' end
  return nil
end

local function state(word, count, records_gone)
  local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
  return {word, count, tonumber(redis.call('HGET', life, 'bytes') or '0'), redis.call('ZCARD', index),
          first[2] and whole(tonumber(first[2])) or '', records_gone or 0}
end

local function forget(pairs_, moves_mark)
  local freed, newest = 0, nil
  for i = 1, #pairs_, 2 do
    local t = whole(tonumber(pairs_[i + 1]))
    redis.call('UNLINK', root .. 'f:' .. t)
    redis.call('ZREM', index, pairs_[i])
    freed, newest = freed + size_of(pairs_[i]), t
  end
  if newest then
    redis.call('HINCRBY', life, 'bytes', whole(-freed))
    if moves_mark then redis.call('HSET', life, 'mark', whole(tonumber(newest) + 1)) end
  end
  return freed
end

local function forget_record(key)
  redis.call('HDEL', records, key)
  redis.call('ZREM', starts, key)
  redis.call('ZREM', ends, key)
end

local function age(before)
  local old = redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. before, 'WITHSCORES')
  forget(old, true)
  local dropped = 0
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', before)) do
    local start = redis.call('ZSCORE', starts, key)
    if not start or tonumber(start) < tonumber(before) then
      forget_record(key)
      dropped = dropped + 1
    end
  end
  return #old / 2, dropped
end

local function renew(ttl_ms)
  for i = 1, 6 do if i ~= 3 then redis.call('PEXPIRE', KEYS[i], ttl_ms) end end
end
"""


def _write(body: str) -> Script:
    return Script(f"#!lua flags=allow-oom\n{_COMMON}{body}")


def _read(body: str) -> Script:
    return Script(f"#!lua flags=no-writes,allow-stale\n{_COMMON}{body}")


BEGIN = _write(
    """
-- root, fence (0: take the next), ttl_ms
if redis.call('EXISTS', gone) == 1 then return {'gone', 0} end
local kept = tonumber(redis.call('HGET', life, 'fence') or '0')
local mine = tonumber(ARGV[2])
if mine == 0 then mine = kept + 1 end
if mine < kept then return {'fenced', kept} end
redis.call('HSET', life, 'fence', whole(mine))
renew(ARGV[3])
return {'ok', mine}
"""
)

COMMIT = _write(
    """
-- root, fence, staged token, t_us, entry, seq, retention_us, ttl_ms
local staged, t, entry = root .. 's:' .. ARGV[3], ARGV[4], ARGV[5]
local why = refusal(ARGV[2])
if why then
  redis.call('UNLINK', staged)
  return {why}
end
if redis.call('EXISTS', staged) == 0 then return {'unstaged'} end
if tonumber(ARGV[6]) >= tonumber(redis.call('HGET', life, 'next_seq') or '0') then
  redis.call('HSET', life, 'next_seq', whole(tonumber(ARGV[6]) + 1))
end
local mark = redis.call('HGET', life, 'mark')
if mark and tonumber(t) < tonumber(mark) then
  redis.call('UNLINK', staged)
  return state('late', 0)
end
forget(redis.call('ZRANGEBYSCORE', index, t, t, 'WITHSCORES'), false)
redis.call('RENAME', staged, root .. 'f:' .. t)
redis.call('PEXPIRE', root .. 'f:' .. t, ARGV[8])
redis.call('ZADD', index, t, entry)
redis.call('HINCRBY', life, 'bytes', whole(size_of(entry)))
local newest = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')
local evicted, dropped = age(whole(tonumber(newest[2]) - tonumber(ARGV[7])))
renew(ARGV[8])
return state('ok', evicted, dropped)
"""
)

EVICT = _write(
    """
-- root, fence, bytes to free, bytes to leave at least, time up to which frames may go
local why = refusal(ARGV[2])
if why then return {why} end
local need, level, limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local held, count = tonumber(redis.call('HGET', life, 'bytes') or '0'), 0
while need > 0 and held > level do
  local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('HSET', life, 'bytes', '0')
    break
  end
  if count > 0 and tonumber(first[2]) > limit then break end
  local freed = forget(first, true)
  need, held, count = need - freed, held - freed, count + 1
end
return state('ok', count)
"""
)

TRIM = _write(
    """
-- root, before_us
local why = refusal(nil)
if why then return {why} end
local evicted, dropped = age(ARGV[2])
return state('ok', evicted, dropped)
"""
)

RECORD = Script(
    f"""#!lua
{_COMMON}
-- root, fence, key, value, start, end or +inf, most records, ttl_ms
local why = refusal(ARGV[2])
if why then return {{why}} end
redis.call('HSET', records, ARGV[3], ARGV[4])
redis.call('ZADD', starts, ARGV[5], ARGV[3])
redis.call('ZADD', ends, ARGV[6], ARGV[3])
local excess, dropped, at = redis.call('HLEN', records) - tonumber(ARGV[7]), 0, 0
while dropped < excess do
  local key = redis.call('ZRANGE', starts, at, at)[1]
  if not key then break end
  if redis.call('ZSCORE', ends, key) == 'inf' then
    at = at + 1
  else
    forget_record(key)
    dropped = dropped + 1
  end
end
renew(ARGV[8])
return {{'ok', dropped}}
"""
)

BURY = _write(
    """
-- root, ttl_ms of the mark; afterwards nothing of this life can be written, or begun again
local count = redis.call('ZCARD', index)
redis.call('SET', gone, '1', 'PX', ARGV[2])
for _, t in ipairs(redis.call('ZRANGE', index, 0, -1, 'WITHSCORES')) do
  local number = tonumber(t)
  if number then redis.call('UNLINK', root .. 'f:' .. whole(number)) end
end
redis.call('UNLINK', life, index, records, starts, ends)
return {'ok', count}
"""
)

MEND = _write(
    """
-- root, times whose frames a reader did not find
if refusal(nil) then return {'ok', 0} end
local mended = 0
for i = 2, #ARGV do
  if redis.call('EXISTS', root .. 'f:' .. ARGV[i]) == 0 then
    local stale = redis.call('ZRANGEBYSCORE', index, ARGV[i], ARGV[i], 'WITHSCORES')
    if stale[1] then
      forget(stale, false)
      mended = mended + 1
    end
  end
end
return {'ok', mended}
"""
)

HEAD = _read(
    """
-- root
if refusal(nil) then return {'missing'} end
local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
local last = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')
local kept = redis.call('HMGET', life, 'mark', 'bytes', 'next_seq')
return {'ok', first[2] and whole(tonumber(first[2])) or '', last[2] and whole(tonumber(last[2])) or '',
        kept[1] or '', redis.call('ZCARD', index), kept[2] or '0', kept[3] or '0'}
"""
)

POINT = Script(
    """#!lua flags=allow-oom
-- the camera's key; the life seen there ('' for none), the life to put there ('' to remove the key), ttl_ms
local seen = redis.call('GET', KEYS[1]) or ''
if seen ~= ARGV[1] then return seen end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return ARGV[2]
"""
)
