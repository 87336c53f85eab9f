#!/usr/bin/env bash
# Installs what is needed, builds with gcc and clang (warnings are errors), and passes all tests.
#   scripts/test.sh [ctest arguments]      e.g. scripts/test.sh -R kernels
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
jobs=$(nproc)
cmake --preset ci
cmake --build --preset ci -j "$jobs"
# clang is the second compiler: the library and the command, warnings as errors too.
cmake --preset ci-clang
cmake --build --preset ci-clang -j "$jobs"
ctest --preset ci -j "$jobs" "$@"
