#!/usr/bin/env bash
# Installs what building needs, builds, and runs a ray tracer compiled for an AMD GPU on this CPU: a picture, and the engines'
# speed side by side. Then builds the rest: the command `wavejit`, which shows the disassembly of the kernel's first
# instructions, and the HSA runtime, with which `wavejit exec` runs HIP programs.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

build() { cmake --build --preset release -j "$jobs" "$@"; }

scripts/setup.sh build
cmake --preset release -DWAVEJIT_BUILD_TESTS=OFF -DWAVEJIT_BUILD_PERF=OFF >/dev/null
build --target wavejit-render

object=examples/render/raytracer-gfx906.co
picture=build/raytracer.png
echo
build/release/wavejit-render "$object" "$picture"
echo "demo: the picture is there after $SECONDS seconds"

echo
echo "demo: building the command wavejit, and the HSA runtime, with which 'wavejit exec' runs HIP programs"
build
echo
build/release/wavejit info "$object"
echo
build/release/wavejit disasm "$object" --kernel raytracer --gcn | sed -n 1,12p
echo "  ..."
echo
echo "demo: everything is there after $SECONDS seconds"
