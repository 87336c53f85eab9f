#!/usr/bin/env bash
# Calls of the HSA library and of the C API that no program should make, and packets of any contents (tests/hostile), with
# libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer. Inputs that lead somewhere new are kept, and those that fail:
# a later call goes on from them.
#
#   scripts/hostile.sh [--build DIR] [--state DIR] [--hours H] [--seeds] [hsa|packets|c_api]...
#
#   --seeds   random bytes instead of libFuzzer, on a build of any kind: its programs hostile_hsa_test and hostile_c_api_test
#
# Defaults: build/fuzz (configured and built if need be), build/hostile, 1 hour in all, all three one after the other. Exit
# code 1 if one failed; its input, or its seed, is printed.
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
export WAVEJIT_CACHE=off WAVEJIT_HSA_QUIET=1
cd "$(dirname "$0")/.."

build=build/fuzz state=build/hostile hours=1 seeds=0 drivers=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --state) state=$2; shift 2 ;;
    --hours) hours=$2; shift 2 ;;
    --seeds) seeds=1; shift ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    hsa | packets | c_api) drivers+=("$1"); shift ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
[ ${#drivers[@]} -gt 0 ] || drivers=(hsa packets c_api)
seconds=$(awk -v h="$hours" -v n=${#drivers[@]} 'BEGIN { s = int(h * 3600 / n); print (s > 1 ? s : 1) }')
mkdir -p "$state"

# Kernels fault on purpose, and the library handles that. What is allocated when a thread ends in a signal handler is its own.
export ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_sigfpe=0:allow_user_segv_handler=1:use_sigaltstack=0:detect_stack_use_after_return=0:detect_leaks=0:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

with_seeds() {  # driver
  local test program=hostile_hsa_test
  case $1 in
    hsa) test=HsaCalls ;;
    packets) test=HsaPackets ;;
    c_api) test=CApiCalls program=hostile_c_api_test ;;
  esac
  local first=0
  [ ! -f "$state/$1.next" ] || first=$(cat "$state/$1.next")
  local output
  if ! output=$(WAVEJIT_HOSTILE_SEED=$first WAVEJIT_HOSTILE_SECONDS=$seconds WAVEJIT_HOSTILE_LOG=$state/$1.seed \
    "$build/$program" --gtest_filter="*.$test" 2>&1); then
    tail -40 <<<"$output"
    echo "hostile: $1: failed at seed $(cat "$state/$1.seed"): WAVEJIT_HOSTILE_SEED=$(cat "$state/$1.seed") $build/$program --gtest_filter='*.$test'"
    echo $(($(cat "$state/$1.seed") + 1)) >"$state/$1.next"
    return 1
  fi
  sed -n 's/.*next seed //p' <<<"$output" >"$state/$1.next"
  echo "hostile: $1: $(grep ' sequences, ' <<<"$output")"
}

with_libfuzzer() {  # driver
  mkdir -p "$state/$1"
  # Each input takes milliseconds; one that takes a minute hangs.
  if ! "$build/fuzz_$1" -max_total_time="$seconds" -max_len=4096 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="$state/$1-" "$state/$1" >"$state/$1.log" 2>&1; then
    tail -40 "$state/$1.log"
    echo "hostile: $1: failed, see $state/$1.log"
    return 1
  fi
  echo "hostile: $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$state/$1.log") executions"
}

[ "$seeds" = 1 ] || scripts/fuzz-build.sh "$build" "${drivers[@]/#/fuzz_}"
failed=0
for driver in "${drivers[@]}"; do
  if [ "$seeds" = 1 ]; then with_seeds "$driver" || failed=1; else with_libfuzzer "$driver" || failed=1; fi
done
exit $failed
