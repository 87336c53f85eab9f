#!/bin/sh
# Compares the decoder and disassembler with LLVM 15 or 17, that of hipcc (gfx940: LLVM 19): every opcode value of every format with randomised operand fields, at
# least 200,000 encodings a target, from a fixed seed that is printed. For GFX6 and GFX7, which LLVM assembles but does not
# disassemble, also every mnemonic of its assembler with every form of operands and modifiers that any generation has (4 million
# texts): what LLVM takes must be decoded. Usage: scripts/decode-sweep.sh [--seed N] [--count N] [--texts N]
# [target...]   (default: those of scripts/representatives.sh, and
# gfx940). Differences exit with 1; accepted ones are listed with their
# reasons in tests/isa_decode/exceptions.txt. BUILD_DIR chooses the build folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build/release}
if [ ! -f "$build/CMakeCache.txt" ]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
fi
cmake --build "$build" --target decode-sweep >&2
exec "$build/decode-sweep" "$@"
