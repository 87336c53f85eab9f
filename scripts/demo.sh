#!/usr/bin/env bash
# Installs what building needs, builds, and runs a ray tracer compiled for an AMD GPU on this CPU: a picture, and the engines'
# speed side by side. Ends with the disassembly of the kernel's first instructions, and builds what `wavejit exec` needs.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

scripts/setup.sh build
cmake --preset release -DWAVEJIT_BUILD_TESTS=OFF -DWAVEJIT_BUILD_PERF=OFF >/dev/null
cmake --build --preset release -j "$jobs" --target wavejit_command wavejit-render

object=examples/render/raytracer-gfx906.co
picture=build/raytracer.png
echo
build/release/wavejit info "$object"
echo
build/release/wavejit disasm "$object" --kernel raytracer --gcn | sed -n 1,12p
echo "  ..."
echo
build/release/wavejit-render "$object" "$picture"

echo
echo "demo: building the HSA runtime, with which 'wavejit exec' runs HIP programs"
cmake --build --preset release -j "$jobs"
