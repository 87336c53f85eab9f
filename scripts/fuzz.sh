#!/usr/bin/env bash
# Differential fuzz of all targets, in slices of sequences and programs, until the wanted number of instructions has been
# generated (each counted once, not per state, lane or engine), or for so many hours. Can be stopped and called again: seeds
# and counts are kept. Differences go to <state>/differences.log; a crash is one, too.
#
#   scripts/fuzz.sh [--build DIR] [--state DIR] [--instructions N | --hours H] [--slice SECONDS] [--seed S] [TARGET...]
#   scripts/fuzz.sh [--state DIR] --summary
#   scripts/fuzz.sh --programs [...]     whole programs instead: scripts/programs.sh with the arguments that follow
#   scripts/fuzz.sh --csmith [...]       programs of Csmith: scripts/csmith.sh with the arguments that follow
#   scripts/fuzz.sh --assembly [...]     whole kernels in assembly: scripts/assembly.sh with the arguments that follow
#   scripts/fuzz.sh --hostile [...]      calls that no program should make: scripts/hostile.sh with the arguments that follow
#   scripts/fuzz.sh --schedules [...]    kernels in drawn orders: scripts/schedules.sh with the arguments that follow
#   scripts/fuzz.sh --files [...]        files of any contents: scripts/file-fuzz.sh with the arguments that follow
#
# Defaults: build/release, build/fuzz, 10,000,000 in all, 30 seconds, 1, and the targets below. Exit code 1 if there was
# a difference.
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

[ "${1:-}" != --programs ] || exec scripts/programs.sh "${@:2}"
[ "${1:-}" != --csmith ] || exec scripts/csmith.sh "${@:2}"
[ "${1:-}" != --assembly ] || exec scripts/assembly.sh "${@:2}"
[ "${1:-}" != --hostile ] || exec scripts/hostile.sh "${@:2}"
[ "${1:-}" != --schedules ] || exec scripts/schedules.sh "${@:2}"
[ "${1:-}" != --files ] || exec scripts/file-fuzz.sh "${@:2}"

build=build/release state=build/fuzz instructions=10000000 hours= slice=30 seed=1 summary=0 targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    --state) state=$2; shift 2 ;;
    --instructions) instructions=$2; shift 2 ;;
    --hours) hours=$2; shift 2 ;;
    --slice) slice=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --summary) summary=1; shift ;;
    --help | -h) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
[ ${#targets[@]} -gt 0 ] || read -ra targets < <(scripts/representatives.sh)
mkdir -p "$state"
results=$state/results.log
touch "$results"

# Lines of results.log: target, kind, sequences or programs, instructions, executed, differences, next seed.
total() { awk '{ n += $4 } END { print n + 0 }' "$results"; }
print_summary() {
  awk '{ key = $1 " " $2; runs[key] += $3; made[key] += $4; ran[key] += $5; bad[key] += $6 }
       END { printf "%-8s %-10s %12s %14s %14s %12s\n", "target", "kind", "runs", "instructions", "executed", "differences"
             for (key in runs) { split(key, part, " ")
               line = sprintf("%-8s %-10s %12d %14d %14d %12d", part[1], part[2], runs[key], made[key], ran[key], bad[key])
               print line | "sort"
               r += runs[key]; m += made[key]; e += ran[key]; b += bad[key] }
             close("sort")
             printf "%-8s %-10s %12d %14d %14d %12d\n", "all", "", r, m, e, b }' "$results"
}
if [ "$summary" = 1 ]; then print_summary; exit 0; fi

one_slice() {  # target, kind, length of sequences
  local target=$1 kind=$2 length=$3 first output status=0 line
  first=$(awk -v t="$target" -v k="$kind" '$1 == t && $2 == k { s = $7 } END { print s }' "$results")
  local arguments=(--target "$target" --seed "${first:-$seed}" --count 1000000000 --seconds "$slice" --states 3
    --alternate 1 --switches random --failures 3)
  [ "$kind" = sequences ] && arguments+=(--length "$length") || arguments+=(--programs 1)
  output=$("$build/wavejit_diff_fuzz" "${arguments[@]}" 2>&1) || status=$?
  line=$(grep -E "^$target $kind: " <<<"$output" || true)
  if [ -z "$line" ]; then  # it crashed; go on behind the seed that did it
    local at
    at=$(sed -n 's/.*crash at seed \([0-9]*\).*/\1/p' <<<"$output")
    [ -n "$at" ] || { echo "$output" >&2; exit 2; }
    echo "$target $kind $((at - ${first:-$seed})) 0 0 1 $((at + 1))" >>"$results"
  else
    sed -E 's/[^0-9]*: ([0-9]+) [a-z]+, ([0-9]+) instructions, ([0-9]+) executed, ([0-9]+) differences, next seed ([0-9]+).*/ \1 \2 \3 \4 \5/' \
      <<<"${line#"$target" "$kind"}" | sed "s/^/$target $kind/" >>"$results"
  fi
  [ "$status" = 0 ] || printf '%s %s length %s\n%s\n' "$target" "$kind" "$length" "$output" >>"$state/differences.log"
}

started=$(date +%s) before=$(total) lengths=(20 40 60 6) round=0
wants_more() {
  if [ -n "$hours" ]; then
    awk -v h="$hours" -v s=$(($(date +%s) - started)) 'BEGIN { exit !(s < h * 3600) }'
  else
    [ "$(total)" -lt "$instructions" ]
  fi
}
while wants_more; do
  for target in "${targets[@]}"; do
    one_slice "$target" sequences "${lengths[round % 4]}"
    [ $((round % 4)) != 0 ] || one_slice "$target" programs 1
    wants_more || break
  done
  round=$((round + 1))
  now=$(($(date +%s) - started))
  echo "round $round: $(total) instructions, $((($(total) - before) / (now > 0 ? now : 1))) per second"
done
print_summary
[ "$(awk '{ n += $6 } END { print n + 0 }' "$results")" = 0 ]
