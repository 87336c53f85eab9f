#!/bin/sh
# Compares the engines with the model of arithmetic instructions (tests/model): vector and scalar ALU and matrix products, every class of modifiers,
# 102,400 values of each opcode and class, and of each MODE (of matrix products, each form) in a class, on all processors. The seed is printed;
# another one with --seed.
# Usage: scripts/model-check.sh [arguments of wavejit_model]. BUILD_DIR chooses the build folder.
set -eu
# shellcheck source=scripts/strict.sh
. "$(dirname "$0")/strict.sh"
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build/release}
if [ ! -f "$build/CMakeCache.txt" ]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
fi
cmake --build "$build" --target wavejit_model >&2
exec "$build/wavejit_model" --targets "$("$root/scripts/representatives.sh" ,)" --each-mode "$@"
