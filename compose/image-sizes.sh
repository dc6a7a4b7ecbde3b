#!/usr/bin/env bash
# Builds every program as compose/Dockerfile does and adds up what its image would hold.
# Fails when one is above 30 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=30000000 # bytes, uncompressed; registries send about a third
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

build() { # MODULE PROGRAM
  (cd "$1" && GOWORK=off CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags='-s -w' -o "$out/" "./cmd/$2")
}
size() { wc -c <"$1" | tr -d ' '; }

build compose/local ready
extra=$(size "$out/ready")
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then extra=$((extra + $(size /etc/ssl/certs/ca-certificates.crt))); else extra=$((extra + 220000)); fi

fail=0
check() { # MODULE PROGRAM
  build "$1" "$2"
  local sum=$(($(size "$out/$2") + extra))
  printf '%-14s %5.1f MB\n' "$2" "$(awk "BEGIN { print $sum / 1e6 }")"
  if [ "$sum" -gt "$limit" ]; then echo "$2 is above 30 MB" >&2; fail=1; fi
}
for p in links cacheupdater redirect clicks analytics dashboard webhooks canary; do check "services/$p" "$p"; done
check migrations migrate
exit $fail
