#!/usr/bin/env bash
# Fetches Apache Kafka, in the version that pom.xml names, with Maven into this user's cache, once for this machine.
# Installs neither Java nor Maven. Runs in a tenth of a second when nothing is to be done.
set -euo pipefail

JAVA_NEEDED=17

say() { printf 'kafka: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

check_java() {
  local version
  command -v java >/dev/null || die "java is missing: install Java $JAVA_NEEDED or newer and run this again"
  # macOS has a java in PATH that only tells where to get one.
  version=$(java -version 2>&1) || die "java in PATH does not run: install Java $JAVA_NEEDED or newer and run this again"
  version=$(sed -n 's/.* version "\([0-9]*\).*/\1/p' <<<"$version" | head -n 1)
  if [[ -n $version ]] && ((version < JAVA_NEEDED)); then
    die "the java in PATH is too old (major version $version): Kafka needs Java $JAVA_NEEDED or newer"
  fi
}

fetch() {
  local pom=$1 version=$2 folder=$3 temporary
  command -v mvn >/dev/null || die "mvn is missing: install Maven and run this again"
  mkdir -p "$(dirname "$folder")"
  temporary=$(mktemp -d "$(dirname "$folder")/.fetch-XXXXXX")
  # shellcheck disable=SC2064 # the folder's name is known now and not later
  trap "rm -rf '$temporary'" EXIT
  say "fetching Apache Kafka $version with Maven, about 45 MB, once for this machine"
  if ! mvn -q -B --strict-checksums -Dstyle.color=never -f "$pom" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$temporary/jars" >"$temporary/mvn.log" 2>&1; then
    tail -n 20 "$temporary/mvn.log" >&2
    die "Maven could not fetch Apache Kafka $version: see its message above. Check the network and Maven's settings, and run this again"
  fi
  [[ -f $temporary/jars/kafka_2.13-$version.jar ]] || die "Maven fetched no kafka_2.13-$version.jar"
  cp "$pom" "$temporary/jars/"
  # One rename inside one file system: others see all the jars or none.
  { rm -rf "$folder" && mv "$temporary/jars" "$folder"; } || die "cannot write $folder"
  say "Apache Kafka is at $folder"
}

check_java
pom=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/pom.xml
version=$(sed -n 's:.*<kafka\.version>\(.*\)</kafka\.version>.*:\1:p' "$pom")
[[ -n $version ]] || die "$pom names no version of Kafka"
folder=${XDG_CACHE_HOME:-$HOME/.cache}/linkstream/kafka/$version
# The pom.xml beside the jars tells what was fetched: another one of the same Kafka may want other jars.
if ! cmp -s "$pom" "$folder/pom.xml"; then fetch "$pom" "$version" "$folder"; fi
