-- One decision of a token bucket (package ratelimit). The same arithmetic in Go is
-- step in bucket.go; a test compares the two.
--
-- KEYS[1]  the bucket
-- ARGV     capacity in tokens, then `tokens` that come back in `period` microseconds,
--          then the cost of this call in tokens; below 0 it gives tokens back
-- answer   {1 if allowed, tokens left, microseconds until the cost is there,
--          microseconds until the bucket is full}
--
-- A token is `period` parts, and `tokens` parts come back each microsecond, so that
-- everything is a whole number. Lua's numbers are doubles: the caller sees to it that
-- capacity * period is at most 2^53, and what may be larger is only compared.
local exact = 9007199254740992 -- 2^53

local capacity, tokens, period, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local full = capacity * period
local left = full -- a bucket that is not there is full
local changed = false
local stored = redis.call('GET', KEYS[1])
local l, a, n, p = string.match(stored or '', '^(%d+) (%d+) (%d+) (%d+)$')
if l then
  local at, old_tokens, old_period = tonumber(a), tonumber(n), tonumber(p)
  left = tonumber(l)
  changed = now < at or old_tokens ~= tokens or old_period ~= period
  local passed = math.max(now - at, 0) -- a clock that was set back gives nothing, and takes nothing
  if old_period == period then
    -- The comparison is right where the product is too large to be exact, too.
    if passed * old_tokens >= full - left then left = full else left = left + passed * old_tokens end
  else
    -- What came back until now came at the old rate. Whole tokens stay what they are,
    -- the rest is written in parts of the new size, rounded down.
    left = math.min(left + passed * old_tokens, exact)
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
local allowed, retry = 0, 0
if left >= price then
  allowed = 1
  left = math.min(left - price, full)
else
  retry = math.ceil((price - left) / tokens)
end
local reset = math.ceil((full - left) / tokens)

-- A refusal changes nothing that the time does not say anyway.
if changed or (allowed == 1 and cost ~= 0) then
  -- An absolute time: a relative one would count from when the script began, which may
  -- be before `now`, and a bucket that is forgotten too early is full too early.
  redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f %.0f', left, now, tokens, period),
    'PXAT', string.format('%.0f', math.ceil((now + reset) / 1000) + 1))
end
return {allowed, math.floor(left / period), retry, reset}
