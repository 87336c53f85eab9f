#!/usr/bin/env bash
# Builds libFuzzer targets with clang, AddressSanitizer and UndefinedBehaviorSanitizer. Configures the folder if need be.
#   scripts/fuzz-build.sh DIR TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
# Programs pass any number for a C enumeration.
[ -f "$build/build.ninja" ] || cmake -S . -B "$build" -G Ninja --toolchain cmake/toolchains/clang.cmake -DCMAKE_BUILD_TYPE=Release \
  -DWAVEJIT_BUILD_FUZZERS=ON -DWAVEJIT_BUILD_PERF=OFF -DWAVEJIT_SANITIZE=address,undefined,fuzzer-no-link \
  -DCMAKE_CXX_FLAGS=-fno-sanitize=enum >/dev/null
cmake --build "$build" -j "$(nproc)" --target "$@" >/dev/null
