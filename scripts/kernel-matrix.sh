#!/usr/bin/env bash
# Every OpenCL kernel of the suite, compiled by each clang of the release (Debian 12: 14, 15 and 19; Debian 13: 17 and 19) at -O0
# to -O3 (17: -O1 to -O3) for the five targets, on every engine. ctest runs a sample of this. Takes long: 20 variants of each kernel and compiler
# (clang 14 leaves out three that need the math library).
#   scripts/kernel-matrix.sh [PIECE]      PIECE limits the variants, e.g. gfx906-clang19 (a WAVEJIT_KERNEL_FILTER)
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/kernel-matrix
scripts/setup.sh
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWAVEJIT_KERNEL_MATRIX=ON >/dev/null
cmake --build "$build" -j "$(nproc)" --target kernel_test wavejit_command
# What no engine can do, by mnemonic, before anything runs.
find "$build/kernels" -path "*-clang*" -name "*.co" -print0 | xargs -0 -n 400 "$build/wavejit" coverage
WAVEJIT_KERNEL_FILTER=${1:--clang} "$build/kernel_test" --gtest_brief=1
