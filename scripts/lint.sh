#!/usr/bin/env bash
# clang-format over all sources, clang-tidy (.clang-tidy) over a sample of them.
#   scripts/lint.sh [N]      every N-th source for clang-tidy, default 12, which takes minutes; 1 for all
#   scripts/lint.sh format   clang-format only
#   scripts/lint.sh changed  clang-tidy only, over the sources that differ from the commit BASE, default HEAD~1; the first 12,
#                            without the headers that they include
# clang-tidy has the compile commands of build/lint, which is configured for it: without precompiled headers, so that a source
# that does not include what it uses is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-12}
build=build/lint
sources=('frontend/*.cpp' 'ir/*.cpp' 'backend-x86/*.cpp' 'runtime/*.cpp' 'tools/*.cpp')

format() {
  local files
  mapfile -t files < <(git ls-files '*.cpp' '*.h' '*.hpp' ':!tests/fixtures')
  clang-format-19 --dry-run --Werror "${files[@]}"
  echo "lint: ${#files[@]} files are formatted"
}

tidy() {  # HEADERS FILE...: findings in headers whose names match HEADERS (none: those of .clang-tidy) count, too
  local options=()
  [[ -z $1 ]] || options=("--header-filter=$1")
  shift
  [[ $# -gt 0 ]] || { echo "lint: no sources for clang-tidy"; return; }
  cmake -S . -B "$build" -G Ninja --toolchain cmake/toolchains/clang.cmake -DCMAKE_BUILD_TYPE=Release -DWAVEJIT_PRECOMPILE=OFF \
    -DWAVEJIT_BUILD_TESTS=OFF -DWAVEJIT_BUILD_PERF=OFF >/dev/null
  echo "lint: clang-tidy on $# sources"
  printf '%s\n' "$@" |
    xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet "${options[@]}" --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option
  echo "lint: no findings"
}

case $what in
  format) format ;;
  changed)
    base=${BASE:-HEAD~1}
    git rev-parse --verify --quiet "$base^{commit}" >/dev/null || { echo "lint: no commit $base to compare with"; exit 0; }
    mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- "${sources[@]}")
    [[ ${#changed[@]} -le 12 ]] || echo "lint: ${#changed[@]} sources changed since $base; the first 12 of them are looked at"
    tidy '^$' "${changed[@]:0:12}"
    ;;
  *)
    [[ $what =~ ^[1-9][0-9]*$ ]] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
    format
    mapfile -t sample < <(git ls-files "${sources[@]}" | awk -v n="$what" 'NR % n == 1 || n == 1')
    tidy "" "${sample[@]}"
    ;;
esac
