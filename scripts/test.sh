#!/usr/bin/env bash
# Installs what is needed, builds with gcc and clang (warnings are errors), and passes all tests (with gcc; some with both).
# Ends with what each phase took, and ctest's summary.
#   scripts/test.sh [ctest arguments]      e.g. scripts/test.sh -R kernels
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

phases=()
# phase NAME COMMAND...: runs it and notes the minutes that it took, by the clock and of all cores together.
phase() {
  local name=$1 status=0 began=$SECONDS before after
  shift
  before=$(cpu_seconds)
  "$@" || status=$?
  after=$(cpu_seconds)
  phases+=("$(awk -v name="$name" -v wall=$((SECONDS - began)) -v cpu=$((after - before)) \
    'BEGIN { printf "  %-30s %6.1f min %6.1f CPU min", name, wall / 60, cpu / 60 }')")
  return $status
}

# User and system seconds of all children that have ended.
cpu_seconds() {
  local ticks
  read -r -a ticks <"/proc/$$/stat"
  echo $(((ticks[15] + ticks[16]) / $(getconf CLK_TCK)))
}

build() { cmake --preset "$@" && cmake --build --preset "$1" -j "$jobs"; }

# asmjit of Debian 13 says other things of some instructions than that of Debian 12. gcc's build has this system's; clang's
# has Debian 13's if the mirror serves it, so that each change is tested with both.
build_with_clang() {
  local root=$PWD/build/asmjit-trixie options=()
  local folder=$root/usr/lib/x86_64-linux-gnu/cmake/asmjit
  if dpkg --compare-versions "$(dpkg-query -W -f='${Version}' libasmjit-dev)" lt 0.0~git20230101; then
    if [[ ! -f $folder/asmjit-config.cmake ]]; then
      rm -rf "$root"
      mmdebstrap --quiet --variant=extract --include=libasmjit-dev trixie "$root" ${WAVEJIT_MIRROR:+"$WAVEJIT_MIRROR"} || true
    fi
    if [[ -f $folder/asmjit-config.cmake ]]; then
      echo "test: clang's build has the asmjit of Debian 13"
      options+=(-Dasmjit_DIR="$folder")
    else
      echo "test: the asmjit of Debian 13 is not to be had; clang's build has this system's (reported only)"
    fi
  fi
  build ci-clang "${options[@]}"
}

# What the check of the newest ROCm said, and whether it counts.
newest_rocm() {
  local status=0
  trap - EXIT
  wait "$checking" || status=$?
  cat build/ci/newest-rocm.log
  case $status in
    124 | 137) echo "test: the newest ROCm's check is cut off after 8 minutes (reported only)" ;;
    *) return "$status" ;;
  esac
}

# 300 kernels of a seed that is another one for each commit, and the same whoever runs them.
generated_programs() {
  local log=build/ci/programs.log tree
  tree=$(git rev-parse --short=7 'HEAD^{tree}' 2>/dev/null || true)
  scripts/programs.sh --build build/ci --state build/ci/programs --one --quick --count 300 --jobs "$jobs" --reduce 0 \
    ${tree:+--seed $((16#$tree + 1))} | tee "$log"
}

phase "packages" scripts/setup.sh
# The root of the newest ROCm: installing packages leaves cores idle, so that it goes beside the builds. Its CPU minutes count for
# the phase in which it ends.
mkdir -p build/ci
timeout -k 30 1200 scripts/suites.sh --build build/ci ci --prepare &
preparing=$!
trap 'kill "$preparing" 2>/dev/null || true' EXIT
phase "format" scripts/lint.sh format
phase "build, gcc" build ci
phase "build, clang" build_with_clang
# The newest ROCm that the mirror serves, in a root of its own, beside the tests with AddressSanitizer: each takes little more than
# one core.
wait "$preparing" || echo "test: the root of the newest ROCm could not be prepared; the check makes it itself"
timeout -k 30 480 scripts/suites.sh --build build/ci ci >build/ci/newest-rocm.log 2>&1 &
checking=$!
trap 'kill "$checking" 2>/dev/null && wait "$checking" || true' EXIT
# Also: the code that is made of guest code must not depend on the compiler. Files say what it is.
status=0  # of the checks: each runs whatever the others found
phase "clang's tests, AddressSanitizer" scripts/sanitize.sh sample || status=$?
phase "newest ROCm, the rest" newest_rocm || status=$?
phase "clang-tidy of what changed" scripts/lint.sh changed || status=$?
phase "300 generated programs" generated_programs || status=$?
# What the tests that failed printed, at most 40 lines of each.
failures() {
  awk '/^ *Start +[0-9]+: |^ *[0-9]+\/[0-9]+ Test +#|tests passed, .* out of/ { shown = /\*\*\*/ && !/Skipped/ ? 40 : 0 } shown-- > 0' "$1"
}

# One more than there are cores: some tests wait.
phase "ctest" ctest --preset ci -j $((jobs + 1)) --output-log "$PWD/build/ctest.log" "$@" || status=$?
printf '\n%s\n' "test: minutes on $jobs cores"
printf '%s\n' "${phases[@]}"
grep -Ev "^programs: file [0-9:]+: [0-9]+ kernels" build/ci/programs.log || true  # the seed, and what differs
failures build/ctest.log
sed -n '/tests passed, .* out of/,$p' build/ctest.log
exit $status
