#!/bin/sh
# Prints one processor of each meaning of instructions (frontend/isa/tables/representatives.def), oldest first.
# Usage: scripts/representatives.sh [SEPARATOR], default a space.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
sed -n 's/^WAVEJIT_REPRESENTATIVE(\(gfx[0-9a-f]*\))$/\1/p' "$root/frontend/isa/tables/representatives.def" | paste -sd "${1:- }" -
