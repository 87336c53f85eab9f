#!/usr/bin/env bash
# clang-format over all sources, clang-tidy (.clang-tidy) over a sample of them.
#   scripts/lint.sh [N]      every N-th source for clang-tidy, default 12, which takes minutes; 1 for all
#   scripts/lint.sh format   clang-format only
# Needs a configured build folder for the compile commands: BUILD_DIR, default build/release.
set -euo pipefail
cd "$(dirname "$0")/.."

every=${1:-12}
build=${BUILD_DIR:-build/release}
mapfile -t formatted < <(git ls-files '*.cpp' '*.h' '*.hpp' ':!tests/fixtures')
clang-format-14 --dry-run --Werror "${formatted[@]}"
echo "lint: ${#formatted[@]} files are formatted"
[[ $every != format ]] || exit 0

[[ -f $build/compile_commands.json ]] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
mapfile -t sample < <(git ls-files 'frontend/*.cpp' 'ir/*.cpp' 'backend-x86/*.cpp' 'runtime/*.cpp' 'tools/*.cpp' |
                      awk -v n="$every" 'NR % n == 1 || n == 1')
echo "lint: clang-tidy on ${#sample[@]} sources"
printf '%s\n' "${sample[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option
echo "lint: no findings"
