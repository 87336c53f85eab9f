#!/usr/bin/env bash
# rocRAND with many numbers: every generator and distribution on the five targets, on either translator and, with fewer numbers,
# on the interpreter; each number against the host's own. ctest does it with 200,000 numbers a call and the default engine.
#   scripts/rocrand-check.sh [BUILD] [NUMBERS]   defaults: build/release, 3,000,000 numbers in each of 106 calls
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."
. scripts/boards.sh

build=${1:-build/release}
numbers=${2:-3000000}
failed=0
check() {
  echo "== $1, $2, $3 numbers a call"
  if ! timeout 3600 "$build/wavejit" exec --target "$1" --engine "$2" -- "$build/rocrand_check" --numbers "$3" |
      { grep -v ' 0 wrong, ' || true; }; then
    failed=1
  fi
}
engines=(avx2)
grep -q avx512dq /proc/cpuinfo && engines+=(avx512)
for target in $(packaged_processors); do
  for engine in "${engines[@]}"; do check "$target" "$engine" "$numbers"; done
  check "$target" interp 20001
done
exit $failed
