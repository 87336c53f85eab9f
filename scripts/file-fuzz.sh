#!/usr/bin/env bash
# Files that wavejit reads, of any contents: containers of code objects, code objects, their metadata, instructions, and
# translations on disk (tests/fuzz), with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer. Inputs that lead
# somewhere new are kept, and those that fail: a later call goes on from them.
#
#   scripts/file-fuzz.sh [--build DIR] [--state DIR] [--hours H | --runs N] [container|code_object|metadata|decoder|cache]...
#
# Defaults: build/fuzz (configured and built if need be), build/file-fuzz, 1 hour in all, all five one after the other.
# --runs is the number of inputs of each. Exit code 1 if one failed; its input is kept and named.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/fuzz state=build/file-fuzz hours=1 runs= kinds=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --state) state=$2; shift 2 ;;
    --hours) hours=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    container | code_object | metadata | decoder | cache) kinds+=("$1"); shift ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(container code_object metadata decoder cache)
if [ -n "$runs" ]; then
  limit=(-runs="$runs")
else
  limit=(-max_total_time="$(awk -v h="$hours" -v n=${#kinds[@]} 'BEGIN { s = int(h * 3600 / n); print (s > 1 ? s : 1) }')")
fi
export ASAN_OPTIONS=allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

scripts/fuzz-build.sh "$build" "${kinds[@]/#/fuzz_}"
failed=0
for kind in "${kinds[@]}"; do
  mkdir -p "$state/$kind"
  # An input takes microseconds; one that takes ten seconds hangs.
  if "$build/fuzz_$kind" "${limit[@]}" -max_len=12288 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$state/$kind-" "$state/$kind" "tests/fuzz/corpus/$kind" >"$state/$kind.log" 2>&1; then
    echo "file-fuzz: $kind: $(sed -n 's/^stat::number_of_executed_units: *//p' "$state/$kind.log") executions"
  else
    tail -40 "$state/$kind.log"
    echo "file-fuzz: $kind: failed, see $state/$kind.log"
    failed=1
  fi
done
exit $failed
