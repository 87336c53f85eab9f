#!/usr/bin/env bash
# rocSPARSE and hipSPARSE with larger matrices (up to 40,000 rows): every test on the five targets, and with ctest's sizes on each
# translator and on the interpreter. ctest runs all of it on gfx906 and a few tests on the other targets.
#   scripts/rocsparse-check.sh [BUILD] [TARGET...]   defaults: build/release, all targets
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."
. scripts/boards.sh

build=${1:-build/release}
shift $(($# < 1 ? $# : 1))
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(packaged_processors)
failed=0
# check TARGET ENGINE SIZES
check() {
  for area in conversion hipsparse spgemm spmm spmv triangular vector; do
    echo "== $area, $1, $2, $3 sizes"
    if ! ROCSPARSE_SIZES=$3 timeout 3600 "$build/wavejit" exec --target "$1" --engine "$2" -- \
        "$build/rocsparse_${area}_test" --gtest_brief=1; then
      failed=1
    fi
  done
}
engines=(avx2)
grep -q avx512dq /proc/cpuinfo && engines+=(avx512)
for target in "${targets[@]}"; do
  check "$target" auto full
  for engine in "${engines[@]}" interp; do check "$target" "$engine" small; done
done
exit $failed
