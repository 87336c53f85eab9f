#!/usr/bin/env bash
# Runs all kernels of kernel_test in orders of their work-groups and waves that seeds draw, on all engines: each must leave the
# same bytes in every order.
#
#   scripts/schedules.sh [--build DIR] [--hours H] [--seed S]
#
# Defaults: build/release, 1 hour, a fresh seed, which is printed. Exit code 1 if a kernel differed; its seed is printed.
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

build=build/release hours=1 seed=$(date +%s)
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --hours) hours=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "unknown argument $1" >&2; exit 2 ;;
  esac
done
each=8 done=0 started=$SECONDS
seconds=$(awk -v h="$hours" 'BEGIN { s = int(h * 3600); print (s > 1 ? s : 1) }')
while [ $((SECONDS - started)) -lt "$seconds" ]; do
  if ! output=$(WAVEJIT_SCHEDULES=$each WAVEJIT_SEED=$((seed + done)) "$build/kernel_test" --gtest_brief=1 \
    --gtest_filter='*Schedules*' 2>&1); then
    tail -60 <<<"$output"
    echo "schedules: failed: WAVEJIT_SCHEDULES=$each WAVEJIT_SEED=$((seed + done)) $build/kernel_test --gtest_filter='*Schedules*'"
    exit 1
  fi
  done=$((done + each))
done
echo "schedules: $done orders of every kernel from seed $seed, no difference"
