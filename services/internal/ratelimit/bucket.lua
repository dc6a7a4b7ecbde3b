-- One decision of a token bucket (package ratelimit). The same arithmetic in Go is
-- step in bucket.go; a test compares the two.
--
-- KEYS[1]  the bucket
-- ARGV     capacity in tokens, then `tokens` that come back in `period` microseconds,
--          then the cost of this call in tokens; below 0 it gives tokens back
-- answer   what is left, in parts of a token (see below); a call that is refused gets
--          -1 less that
--
-- A token is `period` parts, and `tokens` parts come back each microsecond, so that
-- everything is a whole number. Lua's numbers are doubles: the caller sees to it that
-- capacity * period is at most 2^53, and what may be larger is only compared.
--
-- A bucket is four big-endian doubles, which hold whole numbers up to 2^53 exactly: the
-- parts left, the time they were left at in microseconds, tokens and period. Text would
-- take longer to write and to read than all the rest.
local exact = 9007199254740992 -- 2^53

local capacity, tokens, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local full = capacity * period
local left = full -- a bucket that is not there is full
local changed = false
local stored = redis.call('GET', KEYS[1])
if stored and #stored == 32 then
  local at, old_tokens, old_period
  left, at, old_tokens, old_period = struct.unpack('>dddd', stored)
  local passed = now - at
  if passed < 0 then -- a clock that was set back gives nothing, and takes nothing
    passed = 0
    changed = true
  end
  local back = passed * old_tokens -- where this is too large to be exact, it is only compared
  if old_period == period then
    if back >= full - left then left = full else left = left + back end
    changed = changed or old_tokens ~= tokens
  else
    -- What came back until now came at the old rate. Whole tokens stay what they are,
    -- the rest is written in parts of the new size, rounded down.
    changed = true
    left = math.min(left + back, exact)
    local whole = math.floor(left / old_period)
    if whole >= capacity then
      left = full
    else
      local unit = math.floor(old_period * period / exact) + 1
      local rest = math.floor((left - whole * old_period) / unit)
      left = whole * period + math.floor(rest * period / math.ceil(old_period / unit))
    end
  end
end

local price = cost * period
local allowed = left >= price
if allowed then
  left = left - price
  if left > full then left = full end -- given back
end

-- A refusal changes nothing that the time does not say anyway.
if changed or (allowed and cost ~= 0) then
  -- The bucket is forgotten when it is full. An absolute time: a relative one would count
  -- from when the script began, which may be before `now`, and a bucket that is forgotten
  -- too early is full too early. (%d is a long here, and several times as fast as what
  -- Redis does to a number.)
  redis.call('SET', KEYS[1], struct.pack('>dddd', left, now, tokens, period),
    'PXAT', string.format('%d', (now + (full - left) / tokens) / 1000 + 2))
end
if allowed then return left end
return -1 - left
