#!/usr/bin/env bash
# The programs of tests/rocprim with all types, for the targets of Debian's libraries, up to many elements. Compiling them takes most of the
# time. ctest runs samples of them.
#   scripts/rocprim-check.sh [BUILD] [ELEMENTS] [TARGET...]   defaults: build/release, 10,000,000, all targets
set -euo pipefail
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."
. scripts/boards.sh

build=${1:-build/release}
elements=${2:-10000000}
shift $(($# < 2 ? $# : 2))
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(packaged_processors)
programs=$build/rocprim-check
mkdir -p "$programs"
failed=0
for target in "${targets[@]}"; do
  for name in block reduce scan search select sort; do
    program=$programs/$name.$target
    source=tests/rocprim/$name.cpp
    if [[ ! $program -nt $source || ! $program -nt tests/rocprim/check.h ]]; then
      hipcc -std=c++17 -O2 -w --offload-arch="$target" "$source" -o "$program"
    fi
    printf '%s, %s: ' "$target" "$name"
    timeout 1800 "$build/wavejit" exec --target "$target" -- "$program" "$elements" || failed=1
  done
done
exit $failed
