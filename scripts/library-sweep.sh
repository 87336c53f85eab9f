#!/usr/bin/env bash
# Decodes, lifts and compiles every kernel of Debian's rocRAND and rocSPARSE for five targets; fails if anything is unsupported. Takes
# hours (rocSPARSE has 88,000 kernels), shows progress, and goes on where it was broken off: what has been done is in
# build/library-sweep/*.log, one line a code object. Time and the most memory that was resident are printed at the end.
#   scripts/library-sweep.sh [--every N]      only each N-th kernel (not resumed)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/boards.sh

scripts/setup.sh libraries
build=${BUILD_DIR:-build/release}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$build" -j "$(nproc)" --target wavejit_command

mkdir -p build/library-sweep
targets=()
for target in $(packaged_processors); do targets+=(--target "$target"); done
status=0
for library in librocrand.so.1 librocsparse.so.0; do
  # A sample is quick; only whole sweeps are worth resuming.
  log=()
  [ $# -gt 0 ] || log=(--log "build/library-sweep/$library.log")
  echo "== $library"
  /usr/bin/time -f "%e s, %M KiB resident at most" \
    "$build/wavejit" coverage "/usr/lib/x86_64-linux-gnu/$library" --strict "${targets[@]}" "${log[@]}" "$@" || status=$?
done
exit $status
