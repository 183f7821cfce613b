"""What must happen in one step on the server, as Lua.

Scripts rather than WATCH: the check of life and fencing number and the change itself are one step in one round
trip, in the slot of that life, and two writers never make each other begin again. A frame's bytes never pass
through Lua: they are SET under a staged key, and the script renames it, or removes it where the write is refused.

Each script gets ``LifeKeys.all_declared()`` as its keys and the life's root as ARGV[1]; frame keys are made from
that root, so they lie in the same slot. Times are printed with ``%.0f``: Lua's own conversion loses digits.

The index is of the whole window; ``held`` is of the frames whose value lies here. A frame in the index and not in
``held`` is spilled: its owner alone has it.
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
local records, starts, ends, held = KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local root = ARGV[1]

local function whole(n) return string.format('%.0f', n) end
local function size_of(entry) return tonumber(string.match(entry, '^(%d+):')) or 0 end
local function add(counter, n) redis.call('HINCRBY', life, counter, whole(n)) end

local function refusal(fence)
  if redis.call('EXISTS', gone) == 1 then return 'gone' end
  local kept = redis.call('HGET', life, 'fence')
  if not kept then return 'missing' end
  if fence and tonumber(kept) ~= tonumber(fence) then return 'fenced' end
  return nil
end

local function state(word, count, records_gone, marks)
  local first = redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')
  return {word, count, tonumber(redis.call('HGET', life, 'bytes') or '0'), redis.call('ZCARD', held),
          first[2] and whole(tonumber(first[2])) or '', records_gone or 0, marks or ''}
end

local function release(t)
  local member = redis.call('ZRANGEBYSCORE', held, t, t)[1]
  redis.call('UNLINK', root .. 'f:' .. t)
  if not member then return 0 end
  redis.call('ZREM', held, member)
  add('bytes', -size_of(member))
  return size_of(member)
end

local function forget(pairs_, moves_mark)
  local freed, listed, newest = 0, 0, nil
  for i = 1, #pairs_, 2 do
    local t = whole(tonumber(pairs_[i + 1]))
    redis.call('ZREM', index, pairs_[i])
    freed, listed, newest = freed + release(t), listed + size_of(pairs_[i]), t
  end
  if newest then
    add('total', -listed)
    if moves_mark then redis.call('HSET', life, 'mark', whole(tonumber(newest) + 1)) end
  end
  return freed
end

local function list(t, entry)
  local old = redis.call('ZRANGEBYSCORE', index, t, t)
  if #old == 1 and old[1] == entry then return end
  for _, one in ipairs(old) do
    redis.call('ZREM', index, one)
    add('total', -size_of(one))
  end
  redis.call('ZADD', index, t, entry)
  add('total', size_of(entry))
end

local function forget_record(key)
  redis.call('HDEL', records, key)
  redis.call('ZREM', starts, key)
  redis.call('ZREM', ends, key)
end

local function age_frames(before)
  local old = redis.call('ZRANGEBYSCORE', index, '-inf', '(' .. before, 'WITHSCORES')
  forget(old, true)
  return #old / 2
end

local function age_records(before)
  local dropped = 0
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', before)) do
    local start = redis.call('ZSCORE', starts, key)
    if not start or tonumber(start) < tonumber(before) then
      forget_record(key)
      dropped = dropped + 1
    end
  end
  return dropped
end

local function renew(ttl_ms)
  for i = 1, 7 do if i ~= 3 then redis.call('PEXPIRE', KEYS[i], ttl_ms) end end
end
"""


def _write(body: str) -> Script:
    return Script(f"#!lua flags=allow-oom\n{_COMMON}{body}")


def _read(body: str) -> Script:
    return Script(f"#!lua flags=no-writes,allow-stale\n{_COMMON}{body}")


BEGIN = _write(
    """
-- root, fence (0: take the next), ttl_ms, owner, tier of what is spilled ('': nothing is)
if redis.call('EXISTS', gone) == 1 then return {'gone', 0} end
local kept = tonumber(redis.call('HGET', life, 'fence') or '0')
local mine = tonumber(ARGV[2])
if mine == 0 then mine = kept + 1 end
if mine < kept then return {'fenced', kept} end
redis.call('HSET', life, 'fence', whole(mine), 'owner', ARGV[4], 'behind', ARGV[5])
renew(ARGV[3])
return {'ok', mine}
"""
)

COMMIT = _write(
    """
-- root, fence, retention_us, ttl_ms, then of each frame: staged token, t_us, entry, seq
-- says of each frame: k kept, l late, u no longer staged
local why = refusal(ARGV[2])
if why then
  for i = 5, #ARGV, 4 do redis.call('UNLINK', root .. 's:' .. ARGV[i]) end
  return {why}
end
local mark = tonumber(redis.call('HGET', life, 'mark') or '0')
local next_seq, said = tonumber(redis.call('HGET', life, 'next_seq') or '0'), {}
for i = 5, #ARGV, 4 do
  local staged, t, entry = root .. 's:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2]
  next_seq = math.max(next_seq, tonumber(ARGV[i + 3]) + 1)
  if tonumber(t) < mark then
    redis.call('UNLINK', staged)
    said[#said + 1] = 'l'
  elseif redis.call('EXISTS', staged) == 0 then
    said[#said + 1] = 'u'
  else
    release(t)
    redis.call('RENAME', staged, root .. 'f:' .. t)
    redis.call('PEXPIRE', root .. 'f:' .. t, ARGV[4])
    redis.call('ZADD', held, t, size_of(entry) .. ':' .. t)
    add('bytes', size_of(entry))
    list(t, entry)
    said[#said + 1] = 'k'
  end
end
redis.call('HSET', life, 'next_seq', whole(next_seq))
local newest, evicted, dropped = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')[2], 0, 0
if newest then
  local before = whole(tonumber(newest) - tonumber(ARGV[3]))
  evicted, dropped = age_frames(before), age_records(before)
end
renew(ARGV[4])
return state('ok', evicted, dropped, table.concat(said))
"""
)

LIST = _write(
    """
-- root, fence, ttl_ms, then of each frame: t_us, entry
local why = refusal(ARGV[2])
if why then return {why} end
local mark = tonumber(redis.call('HGET', life, 'mark') or '0')
for i = 4, #ARGV, 2 do
  if tonumber(ARGV[i]) >= mark then list(ARGV[i], ARGV[i + 1]) end
end
renew(ARGV[3])
return state('ok', 0)
"""
)

LEND = _write(
    """
-- root, fence, ttl_ms, then of each frame: staged token, t_us, entry; their values stay for the time given only
-- says of each frame: l lent, h held anyway, x neither
local why, said = refusal(ARGV[2]), {}
local mark = tonumber(redis.call('HGET', life, 'mark') or '0')
for i = 4, #ARGV, 3 do
  local staged, t, word = root .. 's:' .. ARGV[i], ARGV[i + 1], 'x'
  if not why and tonumber(t) >= mark then
    if redis.call('ZCOUNT', held, t, t) > 0 then
      word = 'h'
    elseif redis.call('EXISTS', staged) == 1 then
      redis.call('RENAME', staged, root .. 'f:' .. t)
      redis.call('PEXPIRE', root .. 'f:' .. t, ARGV[3])
      list(t, ARGV[i + 2])
      word = 'l'
    end
  end
  if word ~= 'l' then redis.call('UNLINK', staged) end
  said[#said + 1] = word
end
return {why or 'ok', table.concat(said)}
"""
)

FORGET = _write(
    """
-- root, fence, times of frames that nobody holds
local why = refusal(ARGV[2])
if why then return {why} end
local count = 0
for i = 3, #ARGV do
  local stale = redis.call('ZRANGEBYSCORE', index, ARGV[i], ARGV[i], 'WITHSCORES')
  forget(stale, false)
  count = count + #stale / 2
end
return state('ok', count)
"""
)

EVICT = _write(
    """
-- root, fence, bytes to free, bytes to leave at least, time up to which frames may go, '1': they stay in the index
local why = refusal(ARGV[2])
if why then return {why} end
local need, level, limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local bytes, count = tonumber(redis.call('HGET', life, 'bytes') or '0'), 0
while need > 0 and bytes > level do
  local first = redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')
  if not first[2] then
    redis.call('HSET', life, 'bytes', '0')
    break
  end
  if count > 0 and tonumber(first[2]) > limit then break end
  local t = whole(tonumber(first[2]))
  local freed = release(t)
  if ARGV[6] ~= '1' then
    forget(redis.call('ZRANGEBYSCORE', index, '-inf', t, 'WITHSCORES'), true)
  end
  need, bytes, count = need - freed, bytes - freed, count + 1
end
return state('ok', count)
"""
)

TRIM = _write(
    """
-- root, time before which frames go, and records; '1': that is the eviction mark too
local why = refusal(nil)
if why then return {why} end
local gone = age_frames(ARGV[2])
if ARGV[4] == '1' and tonumber(ARGV[2]) > tonumber(redis.call('HGET', life, 'mark') or '0') then
  redis.call('HSET', life, 'mark', ARGV[2])
end
return state('ok', gone, age_records(ARGV[3]))
"""
)

RECORD = _write(
    """
-- root, fence, most records, ttl_ms, then of each record: key, value, start, end or +inf
local why = refusal(ARGV[2])
if why then return {why} end
for i = 5, #ARGV, 4 do
  redis.call('HSET', records, ARGV[i], ARGV[i + 1])
  redis.call('ZADD', starts, ARGV[i + 2], ARGV[i])
  redis.call('ZADD', ends, ARGV[i + 3], ARGV[i])
end
local excess, dropped, at = redis.call('HLEN', records) - tonumber(ARGV[3]), 0, 0
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
renew(ARGV[4])
return {'ok', dropped}
"""
)

TELL = _write(
    """
-- root, fence, ttl_ms, what there is to tell of the camera
local why = refusal(ARGV[2])
if why then return {why} end
local now = redis.call('TIME')
redis.call('HSET', life, 'bulletin', ARGV[4], 'told', whole(now[1] * 1000000 + now[2]))
renew(ARGV[3])
return {'ok'}
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
redis.call('UNLINK', life, index, records, starts, ends, held)
return {'ok', count}
"""
)

MEND = _write(
    """
-- root, times whose frames a reader did not find; where an owner keeps what is spilled they stay in the index
if refusal(nil) then return {'ok', 0} end
local behind, mended = redis.call('HGET', life, 'behind') or '', 0
for i = 2, #ARGV do
  if redis.call('EXISTS', root .. 'f:' .. ARGV[i]) == 0 then
    if behind == '' then
      local stale = redis.call('ZRANGEBYSCORE', index, ARGV[i], ARGV[i], 'WITHSCORES')
      forget(stale, false)
      mended = mended + #stale / 2
    elseif release(ARGV[i]) > 0 then
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
local kept = redis.call('HMGET', life, 'mark', 'total', 'next_seq')
return {'ok', first[2] and whole(tonumber(first[2])) or '', last[2] and whole(tonumber(last[2])) or '',
        kept[1] or '', redis.call('ZCARD', index), kept[2] or '0', kept[3] or '0'}
"""
)

LOOK = _read(
    """
-- root; the server's time in seconds and microseconds, and the life's fencing number
return {redis.call('TIME'), redis.call('HGET', life, 'fence') or ''}
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

ASK = Script(
    """#!lua flags=allow-oom
-- the owner's alive and wanted keys; the request, how long it may wait (ms), how many may wait
if redis.call('EXISTS', KEYS[1]) == 0 then return 'away' end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[3]) then return 'busy' end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 'asked'
"""
)

ENLIST = Script(
    """#!lua flags=allow-oom
-- the list of cameras; for how long one stays on it unheard of (s), cameras
local now = tonumber(redis.call('TIME')[1])
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
"""
)

ROLL = Script(
    "#!lua flags=no-writes,allow-stale\nreturn {redis.call('TIME'), redis.call('ZRANGE', KEYS[1], 0, -1)}"
)
