#!/usr/bin/env bash
# Soaks the HSA runtime: one process with many dispatches over eight streams (it fails if a result is wrong or it keeps
# growing), then many short processes, each of which must end well and soon. Needs a build with tests.
#   scripts/hip-soak.sh [--build DIR] [--dispatches N] [--starts N]      defaults: build/ci, 100,000 and 200
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

build=build/ci dispatches=100000 starts=200
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --dispatches) dispatches=$2; shift 2 ;;
    --starts) starts=$2; shift 2 ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
done

"$build/wavejit" exec -- "$build/tests/hip/soak" "$dispatches"
begin=$(date +%s.%N)
for ((i = 1; i <= starts; ++i)); do
  timeout 60 "$build/wavejit" exec -- "$build/tests/hip/soak" 64 >/dev/null || { echo "start $i: exit code $?" >&2; exit 1; }
done
awk -v n="$starts" -v begin="$begin" -v end="$(date +%s.%N)" \
  'BEGIN { printf "%d processes with 64 dispatches each, %.3f s a process\n", n, (end - begin) / n }'
